/* What scripts add to a page: elements, and words in which code is marked. */
"use strict";

globalThis.Elements = (() => {
  /** An element with its attributes and children; strings become text. An attribute that is
      a function is called at the event of its name. */
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    if (tag === "button") {
      made.type = "button";
    }
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") {
        made.addEventListener(name, value);
      } else {
        made.setAttribute(name, value);
      }
    }
    made.append(...children);
    return made;
  }

  /** The parts of a text in which `code` is marked. */
  const withCode = (text) =>
    text.split("`").map((part, n) => (n % 2 ? element("code", {}, part) : part));

  return { element, withCode };
})();
