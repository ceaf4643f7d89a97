/* Which sections, exercises and terms answer a question, best first, with the index that
   tools/pages/search.py wrote and the stems of Sphinx's language_data.js. */
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

  /** The weight of a word for each place, by its number, and those that it is a title of. */
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

  const EXACTLY = 5, BEGUN = 2;

  /** How a place was typed, whatever its words say: 5 the title of a section, perhaps with
      that of its page; 4 a term that it explains; 3 the title or the name of an exercise or
      a term; 2 the beginning of a title; 1 a part of it; 0 none. The last word may be begun. */
  function typedOf([, , title, pageTitle, isSection, names], typed) {
    const [alone, whole] = [title, `${title} ${pageTitle}`].map((t) => allWordsOf(t).join(" "));
    if (typed === alone || typed === whole) {
      return isSection ? EXACTLY : 3;
    }
    if (names.includes(typed)) {
      return isSection ? 4 : 3;
    }
    return whole.startsWith(typed) ? BEGUN : Number(` ${alone}`.includes(` ${typed}`));
  }

  const addressOf = ([page, anchor]) =>
    page + DOCUMENTATION_OPTIONS.LINK_SUFFIX + (anchor && `#${anchor}`);

  /** Places by how they were typed, and of sections with one title that of this page first;
      then those with all that was asked for in their titles; then the others by their
      weight. Pages for teachers come last, unless it was their title or its beginning.
      @returns {{address: string, title: string, pageTitle: string}[]}  from the first page */
  BookSearch.find = (query) => {
    const typed = allWordsOf(query).join(" ");
    if (!typed) {
      return [];
    }
    const words = wordsOf(query).map(placesOf).filter(({ weights }) => weights.size);
    const total = new Map();
    for (const [number, weight] of words.flatMap(({ weights }) => [...weights])) {
      total.set(number, (total.get(number) ?? 0) + weight);
    }
    const enough = WORSE * Math.max(...total.values());
    const named = (number) =>
      Number(words.length > 0 && words.every(({ titles }) => titles.has(number)));
    const here = ([page]) => location.pathname.endsWith(`/${page}${DOCUMENTATION_OPTIONS.LINK_SUFFIX}`);
    return searchSections.places
      .map((place, number) => {
        const weight = total.get(number) ?? 0, rank = typedOf(place, typed) || named(number);
        const isTitle = rank === EXACTLY;
        const late = rank < BEGUN && searchSections.last.includes(place[0]);
        return { place, number, weight, rank, late, here: isTitle && here(place) };
      })
      .filter(({ weight, rank }) => rank || (weight && weight >= enough))
      .sort((a, b) => a.late - b.late || b.rank - a.rank || b.here - a.here
        || b.weight - a.weight || a.number - b.number)
      .map(({ place }) => ({ address: addressOf(place), title: place[2], pageTitle: place[3] }));
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
