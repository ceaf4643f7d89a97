/* The page that searches: the places that search_ranking.js finds. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const { element } = Elements;
  const MOST = 30; // results on the page
  const results = document.querySelector("#search-results");
  const query = new URLSearchParams(location.search).get("q")?.trim();
  if (!results || !query) {
    return;
  }

  for (const field of document.querySelectorAll('input[name="q"]')) {
    field.value = query;
  }
  BookSearch.remember(query);
  const found = BookSearch.find(query);
  const count = found.length === 1 ? "one place" : `${found.length} places`;
  const list = element("ul", { class: "search" });
  results.append(
    element("h2", {}, "Search Results"),
    element("p", { class: "search-summary" }, found.length
      ? `Search finished, found ${count}${found.length > MOST ? `; these are the first ${MOST}` : ""}.`
      : "Search finished, found nothing. Try other words, or fewer letters of them."),
    list,
  );
  for (const { address, title, pageTitle } of found.slice(0, MOST)) {
    const name = title === pageTitle ? title : `${pageTitle} > ${title}`;
    list.append(element("li", {}, element("a", { href: address }, name)));
  }
});
