/* What a reader wrote, kept in the browser and nowhere else.

   An entry belongs to an exercise and the version of its stub. When the stub changes, the
   answer to the old one is still found. */
"use strict";

globalThis.InPage ??= {};
{
  const PREFIX = "attention-from-scratch/";

  const RAN = "attention-from-scratch-ran"; // Python ran in this browser

  const key = (name, version) => `${PREFIX}${name}/${version}`;

  /** The entry of an exercise: {code, best, old}; null if there is none.

      `code` is the draft, and `best` the code that had all points, if there is one. */
  function recall(name, version) {
    try {
      const own = localStorage.getItem(key(name, version));
      if (own !== null) {
        return { ...read(own), old: false };
      }
      const other = Object.keys(localStorage).find((k) => k.startsWith(key(name, "")));
      return other ? { code: read(localStorage.getItem(other)).code, old: true } : null;
    } catch {
      return null; // storage is forbidden, or somebody else wrote there
    }
  }

  /** What is kept; entries of the second edition had {code, score, of}. */
  function read(text) {
    const { code, best, score, of } = JSON.parse(text);
    const isSolved = typeof score === "number" && score === of;
    return { code, best: best ?? (isSolved ? code : undefined) };
  }

  /** Keep an entry. @returns {boolean}  whether the browser has it */
  function keep(name, version, entry) {
    try {
      localStorage.setItem(key(name, version), JSON.stringify(entry));
      return true;
    } catch {
      return false;
    }
  }

  /** Forget the work on an exercise, of all versions. */
  function forget(name) {
    try {
      for (const found of Object.keys(localStorage)) {
        if (found.startsWith(key(name, ""))) {
          localStorage.removeItem(found);
        }
      }
    } catch {
      // nothing was kept
    }
  }

  /** Remember that the reader has run something, and so agreed to load Python. */
  function rememberRun() {
    try {
      localStorage.setItem(RAN, "yes");
    } catch {
      // then the next page waits for its first run
    }
  }

  /** @returns {boolean}  whether something ran on a page of the book before */
  function ranBefore() {
    try {
      return localStorage.getItem(RAN) !== null;
    } catch {
      return false;
    }
  }

  /** Call back when another tab changes the work on an exercise. */
  function watch(name, version, changed) {
    addEventListener("storage", (event) => {
      if (event.key === key(name, version) && event.newValue !== null) {
        changed(read(event.newValue));
      }
    });
  }

  InPage.work = { recall, keep, forget, rememberRun, ranBefore, watch };
}
