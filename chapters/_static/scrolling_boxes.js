/* Boxes that can be scrolled can be reached by keyboard, and only those. The theme has a
   script for this, too: it has the page laid out anew for each box, again and again, so
   tools/light_scripts.py takes it out. */
"use strict";

{
  const WIDE = [
    ".figure-box", ".interactive-chart-view", ".pst-scrollable-table-container", "div.math",
    "div.math mjx-container",
  ].join();
  const CODE = "pre, .cell_output > .output"; // text is read out, and needs no name
  const BOXES = `${WIDE}, ${CODE}`;
  const NAME = { role: "group", "aria-label": "Wider than the page: scrolls sideways" };

  /** Whether there is more in a box than can be seen. */
  function scrolls(box) {
    return (
      box.scrollWidth > box.clientWidth + 1 ||
      (box.matches(CODE) && box.scrollHeight > box.clientHeight + 1)
    );
  }

  function mark(box, isStop) {
    if (isStop === box.hasAttribute("tabindex")) {
      return;
    }
    box.toggleAttribute("tabindex", isStop);
    if (isStop) {
      box.tabIndex = 0;
    }
    for (const [name, value] of box.matches(WIDE) ? Object.entries(NAME) : []) {
      isStop ? box.setAttribute(name, value) : box.removeAttribute(name);
    }
  }

  const sizes = new ResizeObserver((changes) => {
    const near = changes.flatMap(({ target }) => [target, target.parentElement]);
    const boxes = [...new Set(near)].filter((box) => box?.matches(BOXES));
    // All are looked at before the first is changed: after that, layout is out of date.
    const stops = boxes.map(scrolls);
    boxes.forEach((box, n) => mark(box, stops[n]));
  });

  function watch(boxes) {
    for (const box of boxes) {
      sizes.observe(box);
      for (const child of box.matches("pre") ? [] : box.children) {
        sizes.observe(child); // a chart is drawn after the page
      }
    }
    // What is closed has no size yet. Nobody can reach it until it is opened and measured.
    const closed = [...boxes].filter((box) => box.matches(CODE) && !box.checkVisibility());
    closed.forEach((box) => mark(box, true));
  }

  /** Boxes that come later, and code of which there is more now. */
  const later = new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) {
      const code = target.closest(CODE);
      if (code) {
        sizes.unobserve(code); // so that it is looked at again
        watch([code]);
      }
      for (const added of addedNodes) {
        if (added instanceof Element) {
          watch(added.querySelectorAll(BOXES));
          watch(added.matches(BOXES) ? [added] : []);
        }
      }
    }
  });

  function begin() {
    watch(document.querySelectorAll(BOXES));
    later.observe(document.body, { childList: true, subtree: true });
  }

  addEventListener("load", () => {
    // See rest_of_page.js.
    if ("arriving" in document.documentElement.dataset) {
      addEventListener("arrived", begin);
    } else {
      begin();
    }
  });
}
