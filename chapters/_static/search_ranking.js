/* Which sections answer a question, best first, with the index that
   tools/search_sections.py wrote and the stems of Sphinx's language_data.js. */
"use strict";

globalThis.BookSearch ??= {};
{
  const MOST = 30; // results
  const WORSE = 0.25; // of the best result's weight is too little
  const PREFIX = 3; // letters with which a word can be begun
  const STEM = 4; // letters that are left of a word whose ending is not all typed

  /** The words of a question that say what is asked for. */
  function wordsOf(query) {
    const words = query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
    return words.filter((w) => !stopwords.includes(w) && !searchSections.ignored.includes(w));
  }

  /** The stems of the book that a word may mean, all of it or not yet all of it. */
  function stemsOf(word) {
    const { stems } = searchSections, stem = new Stemmer().stemWord(word);
    if (Object.hasOwn(stems, stem)) {
      return [stem];
    }
    const known = Object.keys(stems);
    const longer = stem.length < PREFIX ? [] : known.filter((s) => s.startsWith(stem));
    return longer.length ? longer : known
      .filter((s) => s.length >= Math.max(STEM, word.length / 2) && word.startsWith(s))
      .sort((a, b) => b.length - a.length)
      .slice(0, 1);
  }

  /** The weight of a word for each section, by its number, and those that it is a title of. */
  function placesOf(word) {
    const weights = new Map(), titles = new Set();
    for (const stem of stemsOf(word)) {
      const found = searchSections.stems[stem];
      for (let n = 0; n < found.length; n += 2) {
        weights.set(found[n], Math.max(found[n + 1], weights.get(found[n]) ?? 0));
      }
      searchSections.titles[stem]?.forEach((number) => titles.add(number));
    }
    return { weights, titles };
  }

  /** Sections with all the words in their titles, then the others, each by their weight.
      @returns {{address: string, title: string, pageTitle: string}[]}  from the first page */
  BookSearch.find = (query) => {
    const places = wordsOf(query).map(placesOf).filter(({ weights }) => weights.size);
    const total = new Map();
    for (const [number, weight] of places.flatMap(({ weights }) => [...weights])) {
      total.set(number, (total.get(number) ?? 0) + weight);
    }
    const named = (number) => Number(places.every(({ titles }) => titles.has(number)));
    const enough = WORSE * Math.max(...total.values());
    return [...total]
      .filter(([number, weight]) => weight >= enough || named(number))
      .sort(([a, x], [b, y]) => named(b) - named(a) || y - x || a - b)
      .slice(0, MOST)
      .map(([number]) => {
        const [page, anchor, title, pageTitle] = searchSections.sections[number];
        const address = page + DOCUMENTATION_OPTIONS.LINK_SUFFIX + (anchor && `#${anchor}`);
        return { address, title, pageTitle };
      });
  };

  /** Have sphinx_highlight.js mark the words on the page that is opened next. */
  BookSearch.remember = (query) => {
    if (!SPHINX_HIGHLIGHT_ENABLED) {
      return;
    }
    try {
      localStorage.setItem("sphinx_highlight_terms", wordsOf(query).join(" "));
    } catch {
      // storage is forbidden: nothing is marked
    }
  };
}
