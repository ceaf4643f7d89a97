/* Below the field that Ctrl-K opens, places that answer what was typed so far: a combo
   box with a list, as the ARIA Authoring Practices describe it. The index is loaded when
   the dialog opens for the first time. Enter without a choice searches as without us. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const { element } = Elements;
  const MOST = 8; // results
  const PAUSE = 400; // ms after which a screen reader may speak
  const FILES = ["language_data.js", "search_sections.js", "search_ranking.js"];
  const HELP = matchMedia("(hover: none)").matches
    ? "Tap a place. The search key opens the search page."
    : "Choose with the arrow keys and Enter. Enter alone opens the search page.";
  const dialog = document.querySelector("#pst-search-dialog");
  const field = dialog?.querySelector('input[name="q"]');
  if (!field) {
    return;
  }
  const root = document.documentElement.dataset.content_root ?? "./";

  const list = element("div", {
    id: "search-choices", class: "search-choices", role: "listbox", "aria-label": "Places",
    hidden: "",
  });
  const status = element("p", { class: "search-status", role: "status" }, HELP);
  dialog.append(list, status);
  dialog.setAttribute("aria-label", "Search");
  field.type = "text"; // the browser's own key for Escape would empty the field first
  for (const [name, value] of Object.entries({
    role: "combobox", enterkeyhint: "search", "aria-autocomplete": "list",
    "aria-controls": list.id, "aria-expanded": "false",
  })) {
    field.setAttribute(name, value);
  }

  let chosen = -1, speaking = 0;

  function say(words) {
    clearTimeout(speaking);
    speaking = setTimeout(() => {
      status.textContent = words;
      reveal(); // longer words may leave less room for the list
    }, PAUSE);
  }

  function choose(number) {
    list.children[chosen]?.setAttribute("aria-selected", "false");
    chosen = number;
    const option = list.children[number];
    option?.setAttribute("aria-selected", "true");
    reveal();
    field.setAttribute("aria-activedescendant", option?.id ?? "");
  }

  const reveal = () => list.children[chosen]?.scrollIntoView({ block: "nearest" });

  async function show() {
    try {
      await Promise.all(FILES.map((file) => Loader.script(`${root}_static/${file}`)));
    } catch { // the next letter tries again
      say("The index could not be loaded. Enter opens the search page.");
      return;
    }
    const query = field.value.trim();
    const found = query ? BookSearch.find(query) : [];
    list.replaceChildren(...found.slice(0, MOST).map(({ address, title, pageTitle }, n) =>
      element("a", {
        id: `search-choice-${n}`, href: root + address, role: "option", tabindex: "-1",
        "aria-selected": "false",
      }, element("span", { class: "search-choice-title" }, title),
      title === pageTitle ? "" : element("span", { class: "search-choice-page" }, ` ${pageTitle}`),
      )));
    choose(-1);
    list.hidden = !found.length;
    field.setAttribute("aria-expanded", String(found.length > 0));
    const count = found.length === 1 ? "1 place" : `${found.length} places`;
    say(query ? (found.length ? `${count}. ${HELP}` : "Nothing found. Try other words.") : HELP);
  }

  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    const count = list.children.length;
    if (event.isComposing) {
      return; // these keys choose letters
    }
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && count) {
      const step = event.key === "ArrowDown" ? 1 : -1;
      // After the last one, and before the first one, the field itself.
      choose((chosen + 1 + step + count + 1) % (count + 1) - 1);
      event.preventDefault();
    } else if (event.key === "Enter" && list.children[chosen]) {
      event.preventDefault();
      list.children[chosen].click();
    }
  });
  list.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) {
      return; // opened elsewhere
    }
    if (link.pathname !== location.pathname) {
      BookSearch.remember(field.value);
    }
    dialog.close();
  });
  new MutationObserver(() => dialog.open && show()).observe(dialog, {
    attributes: true, attributeFilter: ["open"],
  });
});
