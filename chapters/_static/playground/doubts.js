/* Reasons to doubt a date that the model wrote. The model is nearly always sure, also
   where it is wrong; these rules look at what stands in the line and know no more. */
"use strict";

globalThis.Playground ??= {};
{
  const [FIRST_YEAR, LAST_YEAR] = [1930, 2069]; // of the dates in training
  const LANGUAGES = ["en", "de", "es", "fr", "el", "fi", "hu", "lv"];
  const PLACES = { year: [0, 4], month: [5, 7], day: [8, 10] };

  /** Letters without accents, so that they can be compared. */
  const plain = (text) =>
    text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

  let months = null; // the first letters of each, in all languages and forms -> months

  /** Find these letters in steps, one for each language, because a browser takes its time.
      Otherwise the first answer would wait for all of them at once. */
  function* learnMonths() {
    const learned = new Map();
    for (const language of LANGUAGES) {
      for (const day of [{}, { day: "numeric" }]) {
        const form = new Intl.DateTimeFormat(language, {
          month: "long", timeZone: "UTC", ...day,
        });
        for (let month = 1; month <= 12; month++) {
          const parts = form.formatToParts(Date.UTC(2024, month - 1, 1));
          const name = plain(parts.find((part) => part.type === "month").value);
          for (const length of [3, 4]) {
            const begin = name.slice(0, length);
            learned.set(begin, (learned.get(begin) ?? new Set()).add(month));
          }
        }
      }
      yield;
    }
    months = learned;
  }

  /** The months that the words of a line may name. */
  function monthsNamed(line) {
    if (!months) {
      [...learnMonths()];
    }
    const named = new Set();
    for (const word of plain(line).match(/\p{L}{3,}/gu) ?? []) {
      const found = months.get(word.slice(0, 4)) ?? months.get(word.slice(0, 3));
      found?.forEach((month) => named.add(month));
    }
    return named;
  }

  /** What speaks against an answer.

      @param {string} line  what the model has read
      @param {string} answer  what it wrote
      @returns {Array<{from: number, to: number, why: string}>} places of the answer,
          and why they may be wrong; the whole answer where it is no date at all */
  function doubts(line, answer) {
    const date = /^(\d{4})-(\d\d)-(\d\d)$/.exec(answer);
    const [year, month, day] = date ? date.slice(1).map(Number) : [];
    const exists = date && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
    if (!exists || month < 1 || month > 12) {
      return [{ from: 0, to: answer.length, why: "there is no such day" }];
    }
    const numbers = (line.match(/\d+/g) ?? []).map(Number);
    const named = monthsNamed(line);
    const found = [];
    const doubt = (part, why) => {
      const [from, to] = PLACES[part];
      found.push({ from, to, why });
    };
    const beyond = numbers.find((n) => n > 999 && (n < FIRST_YEAR || n > LAST_YEAR));
    if (beyond !== undefined) {
      doubt("year", `training had the years ${FIRST_YEAR} to ${LAST_YEAR}, not ${beyond}`);
    } else if (!numbers.includes(year)) {
      doubt("year", `${year} does not stand in the line`);
    }
    if (named.size > 0 ? !named.has(month) : !numbers.includes(month)) {
      doubt("month", "the line names another month, or none");
    }
    if (!numbers.includes(day)) {
      doubt("day", `${day} does not stand in the line`);
    }
    return found;
  }

  Object.assign(Playground, { doubts, learnMonths });
}
