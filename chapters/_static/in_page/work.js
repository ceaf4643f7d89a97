/* What a reader wrote, as kept.js keeps it.

   An entry belongs to an exercise and the version of its stub. When the stub changes, the
   answer to the old one is still found. */
"use strict";

globalThis.InPage ??= {};
{
  const RAN = "attention-from-scratch-ran"; // Python ran in this browser

  const key = (name, version) => `attention-from-scratch/${name}/${version}`;

  /** The entry of an exercise: {code, best, old}; null if there is none.

      `code` is the draft, and `best` the code that had all points, if there is one. */
  function recall(name, version) {
    const own = Kept.recall(key(name, version));
    if (own) {
      return { ...read(own), old: false };
    }
    const other = Kept.names(key(name, "")).map(Kept.recall).find(Boolean);
    return other ? { code: other.code, old: true } : null;
  }

  /** An entry; those of the second edition had {code, score, of}. */
  function read({ code, best, score, of }) {
    const isSolved = typeof score === "number" && score === of;
    return { code, best: best ?? (isSolved ? code : undefined) };
  }

  /** Whether an answer had all points, to whichever version of the exercise. */
  const wasSolved = (name) =>
    Kept.names(key(name, "")).some((entry) => read(Kept.recall(entry) ?? {}).best !== undefined);

  const keep = (name, version, entry) => Kept.keep(key(name, version), entry);

  /** Forget the work on an exercise, of all versions. */
  const forget = (name) => Kept.names(key(name, "")).forEach(Kept.forget);

  /** @returns {boolean}  whether something ran on a page of the book before */
  const ranBefore = () => Kept.names(RAN).length > 0;

  /** Remember that the reader has run something, and so agreed to load Python. */
  function rememberRun() {
    if (!ranBefore()) {
      Kept.keep(RAN, {}, { quietly: true });
    }
  }

  /** Call back when another tab changes the work on an exercise. */
  function watch(name, version, changed) {
    Kept.watch(key(name, version), () => {
      const entry = Kept.recall(key(name, version));
      if (entry) {
        changed(read(entry));
      }
    });
  }

  InPage.work = { recall, wasSolved, keep, forget, rememberRun, ranBefore, watch };
}
