"""Sphinx extension: while a long page arrives, only what is seen is laid out.

A chapter comes in pieces, and a browser would style and lay out each as it comes: on a
slow processor, that keeps it from answering for half a second and more. Meanwhile, what
is far from the window has about its height (``house.css``). Once the page is there,
``rest_of_page.js`` has the rest laid out piece by piece, and then the page is as ever.

As soon as all has been loaded, the theme asks each box with code whether it scrolls and
writes down the answer, in turn, for which the browser would lay out one piece of the
page after the other at once. Until then, there is only the top of a chapter, unless the
reader does something or a file is late.

A reader who follows a link to a section, comes back or reloads starts further down, so
there the browser has to know the heights above at once.
"""

from __future__ import annotations

from sphinx.application import Sphinx

ARRIVING = """{
  const { dataset } = document.documentElement;
  const goOn = () => {
    if (dataset.arriving === "top") dataset.arriving = "rest";
  };
  const [{ type } = {}] = performance.getEntriesByType("navigation");
  if (type === "navigate" && !location.hash) {
    dataset.arriving = "top";
    const once = { capture: true, once: true, passive: true };
    for (const act of ["keydown", "pointerdown", "hashchange"])
      addEventListener(act, goOn, once);
    // Of the page alone: the theme scrolls the sidebar to where this chapter is listed.
    addEventListener("scroll", goOn, { once: true, passive: true });
    addEventListener("DOMContentLoaded", () => setTimeout(goOn, 2000));
    addEventListener("load", () => setTimeout(goOn)); // after the theme
  }
}"""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_js_file(None, body=ARRIVING)
    app.add_js_file("rest_of_page.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
