/* How far the reader is, on a page that leads to the chapters: links to those whose
   exercises are solved in the page say how many are. A link is found by its address,
   whatever it looks like, unless it stands in the middle of a sentence; anything else, if
   it has the attribute data-chapter. */
"use strict";

{
  const { chapters, work } = InPage; // versions of stubs, by chapter and exercise
  const PLACES = "[data-chapter], article a, nav a";
  const MARK = "in-page-solved";

  const kept = (exercises) =>
    Object.entries(exercises).map(([name, version]) => work.recall(name, version));

  function show() {
    document.querySelectorAll(`.${MARK}`).forEach((mark) => mark.remove());
    if (!Object.values(chapters).some((exercises) => kept(exercises).some(Boolean))) {
      return; // nothing to say to somebody who has not begun
    }
    for (const place of document.querySelectorAll(PLACES)) {
      const exercises = chapters[chapterOf(place)];
      if (exercises && !isInSentence(place)) {
        const entries = kept(exercises);
        const solved = entries.filter((entry) => entry?.best !== undefined);
        say(place, solved.length, entries.length);
      }
    }
  }

  /** The chapter that something leads to; undefined for links into the middle of one. */
  function chapterOf(place) {
    if (place.dataset.chapter) {
      return place.dataset.chapter;
    }
    const href = place.getAttribute("href") ?? place.getAttribute("xlink:href") ?? "#";
    const [, chapter] = /^(?:[\w./-]*\/)?(\w+)\.html$/.exec(href) ?? [];
    return chapter;
  }

  function isInSentence(place) {
    const around = place.closest("p")?.textContent.trim();
    return around !== undefined && !around.startsWith(place.textContent.trim());
  }

  function say(place, solved, of) {
    place.dataset.solved = `${solved}/${of}`;
    const text = place instanceof SVGElement ? place.querySelector("text") : null;
    const mark = text
      ? document.createElementNS(text.namespaceURI, "tspan")
      : document.createElement("small");
    mark.setAttribute("class", MARK);
    mark.textContent = ` ${solved} of ${of} solved`;
    (text ?? place).append(mark);
  }

  show();
  addEventListener("storage", show);
  addEventListener("pageshow", (event) => event.persisted && show());
}
