/* What a reader writes, solves and answers, kept in this browser and nowhere else; and
   all of it as one file, for another browser. Whatever a browser does not take lasts as
   long as the page, and one line says so. */
"use strict";

globalThis.Kept = (() => {
  const MINE = "attention-from-scratch"; // how the names of all entries begin
  const WITHIN = "This page works on, but what you do is lost when you leave it.";
  const unkept = new Map(); // texts that the browser did not take

  const isObject = (value) => value !== null && typeof value === "object";

  function parsed(text) {
    try {
      const found = JSON.parse(text);
      return isObject(found) ? found : null;
    } catch {
      return null;
    }
  }

  function textOf(name) {
    try {
      return unkept.get(name) ?? localStorage.getItem(name);
    } catch {
      return null; // storage is forbidden
    }
  }

  /** What is kept under a name; null if that is nothing, or nothing that can be read. */
  const recall = (name) => parsed(textOf(name));

  /** The names of all entries that begin so. */
  function names(start = MINE) {
    try {
      const all = [...Object.keys(localStorage), ...unkept.keys()];
      return [...new Set(all)].filter((name) => name.startsWith(start));
    } catch {
      return [...unkept.keys()].filter((name) => name.startsWith(start));
    }
  }

  /** Keep an object. What stood there and cannot be read is put aside, not lost.
      @param {{quietly?: boolean}} how  quietly: a reader would not miss it */
  function keep(name, value, { quietly = false } = {}) {
    const before = textOf(name), text = JSON.stringify(value);
    unkept.delete(name);
    try {
      if (before !== null && !parsed(before)) {
        localStorage.setItem(`unreadable ${name}`, before);
        say("What this browser had kept here cannot be read. It is put aside, not deleted.");
      }
      localStorage.setItem(name, text);
    } catch (error) {
      unkept.set(name, text);
      if (!quietly) {
        const why = error.name === "QuotaExceededError"
          ? "The storage of this browser is full." : "This browser keeps nothing of this page.";
        say(`${why} ${WITHIN}`);
      }
    }
  }

  function forget(name) {
    unkept.delete(name);
    try {
      localStorage.removeItem(name);
    } catch {
      // nothing was kept
    }
  }

  /** Call back when another tab changes an entry, or the page comes back. */
  function watch(start, changed) {
    addEventListener("storage", ({ key }) => (key ?? start).startsWith(start) && changed());
    addEventListener("pageshow", ({ persisted }) => persisted && changed());
  }

  let line;

  /** Say something below the page, in the place of what was said before. */
  function say(words) {
    if (!line) {
      line = document.createElement("p");
      line.className = "kept-message noprint";
      line.setAttribute("role", "status");
      document.body.append(line);
    }
    line.textContent = words;
  }

  /** All entries, as the text of a file. */
  const all = () =>
    JSON.stringify({ book: MINE, kept: Object.fromEntries(names().map((n) => [n, recall(n)])) });

  /** Add what a file has. What this browser has already stays.
      @returns {string}  what to say */
  function add(text) {
    const file = parsed(text);
    const found = Object.entries((file?.book === MINE && file.kept) || {})
      .filter(([name, value]) => name.startsWith(MINE) && isObject(value));
    for (const [name, value] of found) {
      keep(name, joined(recall(name), value));
    }
    return found.length
      ? "Your work is loaded. What was in this browser before has stayed."
      : "There is no work on this book in this file: choose one that was saved here.";
  }

  /** Two values as one: where both say something, the first is right. */
  function joined(here, there) {
    if (here === null || here === undefined) {
      return there;
    }
    if (Array.isArray(here) && Array.isArray(there) && typeof there[0] === "string") {
      return [...new Set([...here, ...there])];
    }
    if (![here, there].every((value) => isObject(value) && !Array.isArray(value))) {
      return here;
    }
    const both = [...new Set([...Object.keys(here), ...Object.keys(there)])];
    return Object.fromEntries(both.map((key) => [key, joined(here[key], there[key])]));
  }

  return { recall, names, keep, forget, watch, all, add };
})();
