/* Which sections answer a question, best first, with the index that
   tools/search_sections.py wrote and the stems of Sphinx's language_data.js. */
"use strict";

globalThis.BookSearch ??= {};
{
  const WORSE = 0.25; // of the best result's weight is too little
  const PREFIX = 3; // letters with which a word can be begun
  const STEM = 4; // letters that are left of a word whose ending is not all typed

  const allWordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];

  /** The words of a question that say what is asked for. */
  function wordsOf(query) {
    return allWordsOf(query).filter((word) =>
      !stopwords.includes(word) && !searchSections.ignored.includes(word));
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
      if (Object.hasOwn(searchSections.titles, stem)) {
        searchSections.titles[stem].forEach((number) => titles.add(number));
      }
    }
    return { weights, titles };
  }

  /** How a title was typed, word by word, whatever the words say: 3 all of it, perhaps with
      that of its page; 2 its beginning; 1 a part of it; 0 none. The last word may be begun. */
  function typedOf([, , title, pageTitle], typed) {
    const [alone, whole] = [title, `${title} ${pageTitle}`].map((t) => allWordsOf(t).join(" "));
    if (typed === alone || typed === whole) {
      return 3;
    }
    return whole.startsWith(typed) ? 2 : Number(` ${alone}`.includes(` ${typed}`));
  }

  const addressOf = ([page, anchor]) =>
    page + DOCUMENTATION_OPTIONS.LINK_SUFFIX + (anchor && `#${anchor}`);

  /** Sections whose title was typed, and of those with one title the one of this page; then
      those with all that was asked for in their titles; then the others by their weight.
      @returns {{address: string, title: string, pageTitle: string}[]}  from the first page */
  BookSearch.find = (query) => {
    const { sections } = searchSections, typed = allWordsOf(query).join(" ");
    if (!typed) {
      return [];
    }
    const places = wordsOf(query).map(placesOf).filter(({ weights }) => weights.size);
    const total = new Map();
    for (const [number, weight] of places.flatMap(({ weights }) => [...weights])) {
      total.set(number, (total.get(number) ?? 0) + weight);
    }
    const enough = WORSE * Math.max(...total.values());
    const named = (number) =>
      Number(places.length > 0 && places.every(({ titles }) => titles.has(number)));
    const here = ([page]) => location.pathname.endsWith(`/${page}${DOCUMENTATION_OPTIONS.LINK_SUFFIX}`);
    return sections
      .map((section, number) => {
        const weight = total.get(number) ?? 0, rank = typedOf(section, typed) || named(number);
        return { section, number, weight, rank, here: rank === 3 && here(section) };
      })
      .filter(({ weight, rank }) => rank || (weight && weight >= enough))
      .sort((a, b) =>
        b.rank - a.rank || b.here - a.here || b.weight - a.weight || a.number - b.number)
      .map(({ section }) =>
        ({ address: addressOf(section), title: section[2], pageTitle: section[3] }));
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
