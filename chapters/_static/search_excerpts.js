/* Below each result of a search, the paragraph that answers best: prose, without code and
   without the source of formulas. Sphinx's own summaries are switched off. */
"use strict";

(() => {
  const results = document.querySelector("#search-results");
  if (!results || location.protocol === "file:") {
    return; // browsers let no page read the files beside it
  }
  const LONGEST = 240; // characters
  const NO_PROSE = "pre, .math, mjx-container, .headerlink, script, style, table, .noprint, "
    + ".cell_output, .in-page, .admonition-title, .quiz, nav";
  const query = new URLSearchParams(location.search).get("q") ?? "";
  const terms = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) ?? [])];
  const pages = new Map(); // by address: a promise of the page, parsed

  function parsed(address) {
    if (!pages.has(address)) {
      pages.set(address, fetch(address).then(async (answer) =>
        answer.ok
          ? new DOMParser().parseFromString(await answer.text(), "text/html")
          : null));
    }
    return pages.get(address);
  }

  /** The words of a paragraph; a formula in it becomes an ellipsis. */
  function prose(paragraph) {
    const copy = paragraph.cloneNode(true);
    copy.querySelectorAll(NO_PROSE).forEach((e) => e.replaceWith(" … "));
    return copy.textContent.replace(/\s+/g, " ").replace(/ …(?= ?[.,;:)])/g, "…").trim();
  }

  /** The paragraph with the most terms, the earliest of several. */
  function best(place) {
    let found = { score: -1, text: "" };
    for (const paragraph of place.querySelectorAll("p, dd, li")) {
      const around = paragraph.closest(NO_PROSE); // an exercise is in one, as a whole
      if ((around && place.contains(around)) || paragraph.querySelector("p, ul, ol")) {
        continue;
      }
      const text = prose(paragraph), lower = text.toLowerCase();
      const score = terms.filter((term) => lower.includes(term)).length
        - 0.25 * (text.split("…").length - 1) - (text.length < 40 ? 0.5 : 0);
      if (score > found.score) {
        found = { score, text };
      }
    }
    return found.text;
  }

  /** As much as fits, around the first term, cut between words. */
  function shortened(text) {
    if (text.length <= LONGEST) {
      return text;
    }
    const places = terms.map((t) => text.toLowerCase().indexOf(t)).filter((i) => i >= 0);
    const first = Math.max(0, Math.min(...places, text.length) - LONGEST / 3);
    const start = first < LONGEST / 3 ? 0 : text.indexOf(" ", first) + 1;
    const end = text.lastIndexOf(" ", start + LONGEST);
    const stop = start + LONGEST >= text.length ? text.length : end;
    return (start ? "… " : "") + text.slice(start, stop) + (stop < text.length ? " …" : "");
  }

  /** A paragraph in which the terms are marked. */
  function marked(text) {
    const shown = document.createElement("p");
    shown.className = "context";
    const escaped = terms.map((t) => t.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const pieces = terms.length
      ? text.split(new RegExp(`(${escaped.join("|")})`, "giu")) : [text];
    pieces.forEach((piece, n) => {
      if (n % 2) {
        const mark = document.createElement("span");
        mark.className = "highlighted";
        mark.textContent = piece;
        shown.append(mark);
      } else {
        shown.append(piece);
      }
    });
    return shown;
  }

  async function excerpt(item) {
    const link = item.querySelector("a[href]");
    if (!link) {
      return;
    }
    const address = new URL(link.href);
    const page = await parsed(address.pathname);
    const article = page?.querySelector("article");
    const id = decodeURIComponent(address.hash.slice(1));
    const found = (id && article?.querySelector(`#${CSS.escape(id)}`)) || article;
    const place = found?.matches("dt") ? found.nextElementSibling : found;
    const text = place ? best(place) || best(article) : "";
    if (text) {
      item.append(marked(shortened(text)));
    }
  }

  new MutationObserver((changes) => {
    for (const change of changes) {
      for (const item of change.addedNodes) {
        if (item.nodeName === "LI") {
          excerpt(item).catch((error) => console.error(error));
        }
      }
    }
  }).observe(results, { childList: true, subtree: true });
})();
