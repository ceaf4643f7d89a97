/* Lays out what was left out while the page arrived, a little at a time, so that the page
   can answer in between: see the template layout.html. What is near the window is laid out by
   the browser itself. */
"use strict";

{
  const { dataset } = document.documentElement;
  const AT_ONCE = 5; // milliseconds, after which a part may take as long
  // As in house.css; parts come after what they are in.
  const LEFT_OUT = `.bd-article section > :not(section, h1, h2, h3, h4, h5, h6),
    .bd-article :is(pre, .cell_output > .output, .pst-scrollable-table-container)`;
  // The theme decides once for the whole page whether the keyboard can reach these.
  const CODE = "pre, .cell_output > .output";
  let parts, next = 0;

  // Once all is loaded, it asks each of them, and writes down its answer before it asks the
  // next one. An answer that stands there already changes nothing, and then the browser
  // need not lay out the page again for each question.
  for (const code of document.querySelectorAll(CODE)) {
    code.tabIndex = -1;
  }

  function layOutSome() {
    const end = performance.now() + AT_ONCE;
    while (next < parts.length && performance.now() < end) {
      layOut(parts[next++]);
    }
    if (next < parts.length) {
      later(layOutSome);
      return;
    }
    // What the root was marked with stays there: without it, the browser would style every
    // part again, all of them at once.
    dataset.arrived = "";
  }

  function layOut(part) {
    part.style.contentVisibility = "visible";
    const scrolls =
      part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight;
    if (part.matches(CODE)) {
      part.tabIndex = scrolls ? 0 : -1;
    }
  }

  /** After whatever the reader does meanwhile. */
  function later(work) {
    const idle = globalThis.requestIdleCallback ?? setTimeout;
    idle(() => work());
  }

  addEventListener("load", () => {
    if ("arriving" in dataset) {
      later(() => {
        dataset.arriving = "rest"; // whatever came first
        parts = document.querySelectorAll(LEFT_OUT);
        layOutSome();
      });
    }
  });
}
