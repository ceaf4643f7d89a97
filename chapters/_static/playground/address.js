/* What a scene shows is kept in the address of its page, after the "#", so that it can be
   sent to somebody else; and a reader who does not see it is told, in one place. Both
   wait until a reader pauses: typing would be read out letter by letter. */
"use strict";

globalThis.Playground ??= {};
{
  const PAUSE = 400; // milliseconds

  /** A function that runs once nobody has called it for a moment. */
  function settled(run) {
    let waiting = 0;
    return (...values) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => run(...values), PAUSE);
    };
  }

  /** Put fields into the address; those that are null are left out. */
  function write(fields) {
    const kept = Object.entries(fields).filter(([, value]) => value !== null);
    history.replaceState(history.state, "", `#${new URLSearchParams(kept)}`);
  }

  /** Bring a scene from the address, now and whenever the reader changes it.

      @param {string} mark  the field without which the address is about something else
      @param {(fields: URLSearchParams) => void} restore  anybody may have written them
      @returns a function that keeps fields in the address */
  function shareScene(mark, restore) {
    const recall = () => {
      const fields = new URLSearchParams(location.hash.slice(1));
      if (fields.has(mark)) {
        restore(fields);
      }
    };
    recall();
    addEventListener("hashchange", recall);
    return settled(write);
  }

  /** A whole number among the fields, or what to take if there is none from 0 to below
      the limit. It is counted from 1 in the address. */
  function fieldNumber(fields, name, limit, otherwise) {
    const value = /^\d{1,4}$/.test(fields.get(name) ?? "") ? fields.get(name) - 1 : -1;
    return value >= 0 && value < limit ? value : otherwise;
  }

  /** The entries of a list among the fields that look as they should. */
  function fieldList(fields, name, pattern) {
    return (fields.get(name) ?? "").split(",").filter((entry) => pattern.test(entry));
  }

  Object.assign(Playground, { settled, shareScene, fieldNumber, fieldList });
}
