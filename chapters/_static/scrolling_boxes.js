/* Boxes that can be scrolled sideways can be reached by keyboard, and only those. */
"use strict";

const BOXES = [
  ".figure-box", ".interactive-chart-view", ".pst-scrollable-table-container", "div.math",
  "div.math mjx-container",
].join();

function nameBox(box) {
  const scrolls = box.scrollWidth > box.clientWidth + 1;
  if (scrolls && !(box.tabIndex === 0 && box.hasAttribute("role"))) { // the theme sets -1
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Wider than the page: scrolls sideways");
  } else if (!scrolls && box.hasAttribute("role")) {
    for (const name of ["tabindex", "role", "aria-label"]) {
      box.removeAttribute(name);
    }
  }
}

addEventListener("load", () => {
  const observer = new ResizeObserver((changes) => {
    for (const change of changes) {
      nameBox(change.target.closest(BOXES));
    }
  });
  for (const box of document.querySelectorAll(BOXES)) {
    observer.observe(box);
    for (const child of box.children) {
      observer.observe(child); // a chart is drawn after the page
    }
  }
});
