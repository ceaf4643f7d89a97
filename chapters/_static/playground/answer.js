/* What the translator wrote for a line: its text, how sure the model was of each
   character, and what speaks against it. */
"use strict";

globalThis.Playground ??= {};
{
  const { UnknownCharacters, row, softmax, percent, doubts } = Playground;

  const SURE = 0.9; // a character of less probability looks unsure

  class Answer {
    /** @param {Playground.Translator} model
        @param done  as its translate() returns it
        @param {string|null} line  what was read; null under teacher forcing, where the
            answer is not about the line alone */
    constructor(model, done, line) {
      this.text = model.text(done.written);
      this.found = line !== null && this.text ? doubts(line, this.text) : [];
      this.shares = done.written.map((id, t) => softmax(row(done.logits, t))[id]);
    }

    /** The reasons to doubt it, in one sentence; nothing if there are none. */
    get reasons() {
      const reasons = this.found.map(({ why }) => why);
      const least = Math.min(...this.shares.slice(0, this.text.length));
      if (least < SURE) {
        reasons.push(`its least sure character had a probability of ${percent(least)}`);
      }
      return reasons.length ? `Doubtful: ${reasons.join("; ")}.` : "";
    }

    /** The class of the character at a position: how it looks, if there is doubt. */
    looks(t) {
      if (this.found.some(({ from, to }) => from <= t && t < to)) {
        return "is-doubted";
      }
      return this.shares[t] < SURE ? "is-unsure" : "";
    }
  }

  /** What to tell the reader about a text that the model cannot read, or nothing. */
  function problemWith(model, text, vocabulary) {
    if (text === "" && vocabulary === model.source) {
      return "Type a date.";
    }
    try {
      model.ids(text, vocabulary);
      return "";
    } catch (error) {
      if (!(error instanceof UnknownCharacters)) {
        throw error;
      }
      const quoted = error.characters.map((c) => `“${c}”`).join(", ");
      const known = runs(vocabulary.filter((c) => c.trim().length === 1)).join(" ");
      return `The model has no ids for ${quoted}. It knows the space and ${known}`;
    }
  }

  /** Characters in their order, of which neighbours are shortened: "a–f", "h". */
  function runs(characters) {
    const found = [];
    for (const character of [...characters].sort()) {
      const run = found.at(-1);
      if (run && character.codePointAt() === run.at(-1).codePointAt() + 1) {
        run.push(character);
      } else {
        found.push([character]);
      }
    }
    return found.flatMap((run) => run.length < 3 ? run : [`${run[0]}–${run.at(-1)}`]);
  }

  Object.assign(Playground, { Answer, problemWith });
}
