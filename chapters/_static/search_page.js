/* Finds the sections that answer a question, best first, with the index that
   tools/search_sections.py wrote and the stems of Sphinx's language_data.js. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const MOST = 30; // results
  const WORSE = 0.25; // of the best result's weight is too little
  const results = document.querySelector("#search-results");
  const query = new URLSearchParams(location.search).get("q")?.trim();
  if (!results || !query) {
    return;
  }
  const { sections, stems } = searchSections;
  const words = query.match(/[\p{L}\p{N}_]+/gu) ?? [];

  /** Pairs of a section's number and its weight for a word, or for what begins with it. */
  function places(word) {
    const stem = new Stemmer().stemWord(word.toLowerCase());
    if (Object.hasOwn(stems, stem)) {
      return stems[stem];
    }
    const longer = stem.length < 3 ? [] : Object.keys(stems).filter((s) => s.startsWith(stem));
    return longer.flatMap((s) => stems[s]);
  }

  function find() {
    const weights = new Map();
    for (const word of words) {
      const found = places(word);
      for (let n = 0; n < found.length; n += 2) {
        weights.set(found[n], (weights.get(found[n]) ?? 0) + found[n + 1]);
      }
    }
    const ordered = [...weights].sort(([a, x], [b, y]) => y - x || a - b);
    return ordered
      .filter(([, weight]) => weight >= WORSE * ordered[0][1])
      .slice(0, MOST)
      .map(([number]) => sections[number]);
  }

  function element(tag, attributes, ...children) {
    const made = Object.assign(document.createElement(tag), attributes);
    made.append(...children);
    return made;
  }

  for (const field of document.querySelectorAll('input[name="q"]')) {
    field.value = query;
  }
  if (SPHINX_HIGHLIGHT_ENABLED) { // sphinx_highlight.js marks them where a link leads
    localStorage.setItem("sphinx_highlight_terms", words.join(" ").toLowerCase());
  }
  const found = find();
  const count = found.length === 1 ? "one section" : `${found.length} sections`;
  const list = element("ul", { className: "search" });
  results.append(
    element("h2", {}, "Search Results"),
    element("p", { className: "search-summary" }, found.length
      ? `Search finished, found ${count}.`
      : "Search finished, found nothing. Try other words, or fewer letters of them."),
    list,
  );
  for (const [page, anchor, title, pageTitle] of found) {
    const href = page + DOCUMENTATION_OPTIONS.LINK_SUFFIX + (anchor && `#${anchor}`);
    const name = title === pageTitle ? title : `${pageTitle} > ${title}`;
    list.append(element("li", {}, element("a", { href }, name)));
  }
});
