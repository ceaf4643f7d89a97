/* A card beside a link to the glossary or to the bibliography: while the pointer rests on
   the link or on the card, while the link has the focus, and at the first tap, so that the
   second one follows the link. Escape closes it. tools/reader_cards.py wrote the terms. */
"use strict";

{
  const LINKS = "a.reference.internal:has(.std-term), a.reference.internal[title], a[data-card]";
  const REST = 250; // ms on a link until its card is shown, and off both until it goes
  const GAP = 6; // pixels between link and card, and to the edge of the window
  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href);
  const card = document.createElement("div");
  card.id = "reader-card";
  card.className = "reader-card noprint";
  card.setAttribute("role", "tooltip");
  card.hidden = true;
  (document.querySelector("main") ?? document.body).append(card); // inside a landmark

  let shown = null; // the link that the card is about
  let wanted = null; // the link that it will be about
  let waiting = 0;

  /** What a card says: [its title, its text]; undefined if there is nothing to say. */
  async function wordsFor(link) {
    if (link.title) {
      link.dataset.card = link.title; // the browser would show it as well
      link.removeAttribute("title");
    }
    if (link.dataset.card) {
      return ["", link.dataset.card];
    }
    await Loader.script(`${root.href}_static/glossary_terms.js`);
    const address = link.href.slice(root.href.length);
    return Object.hasOwn(glossaryTerms, address) ? glossaryTerms[address] : undefined;
  }

  async function show(link) {
    clearTimeout(waiting);
    wanted = link;
    const words = await wordsFor(link).catch(() => undefined);
    if (wanted !== link) {
      return; // another one meanwhile, or none
    }
    hide();
    if (words) {
      const title = document.createElement("strong");
      title.textContent = words[0];
      card.replaceChildren(...(words[0] ? [title, ": "] : []), words[1]);
      card.hidden = false;
      place(link);
      link.setAttribute("aria-describedby", card.id);
      shown = link;
    }
  }

  /** Below the line of the link where there is room, or else above it. */
  function place(link) {
    card.style.left = card.style.top = "0";
    const around = link.getClientRects()[0], own = card.getBoundingClientRect();
    const widest = document.documentElement.clientWidth - own.width - GAP;
    const below = around.bottom + GAP, above = around.top - GAP - own.height;
    const fits = below + own.height <= innerHeight || above < 0;
    card.style.left = `${Math.max(GAP, Math.min(around.left, widest)) - own.left}px`;
    card.style.top = `${(fits ? below : above) - own.top}px`;
  }

  function hide() {
    clearTimeout(waiting);
    card.hidden = true;
    shown?.removeAttribute("aria-describedby");
    shown = wanted = null;
  }

  function later(action) {
    clearTimeout(waiting);
    waiting = setTimeout(action, REST);
  }

  const linkAt = (event) => event.target.closest?.(LINKS) ?? null;

  document.addEventListener("pointerover", (event) => {
    const link = linkAt(event);
    if (event.pointerType !== "mouse") {
      return;
    }
    if (link && link !== shown) {
      later(() => show(link));
    } else if (link || card.contains(event.target)) {
      clearTimeout(waiting);
    } else if (shown && shown !== document.activeElement) {
      later(hide);
    } else if (!shown) {
      clearTimeout(waiting); // it only passed over a link
    }
  });
  document.addEventListener("focusin", (event) => {
    const link = linkAt(event);
    if (link?.matches(":focus-visible")) {
      show(link);
    }
  });
  document.addEventListener("focusout", (event) => linkAt(event) && hide());
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("click", (event) => {
    const link = linkAt(event);
    if (event.pointerType === "touch" && link && link !== shown) {
      event.preventDefault();
      show(link);
    } else if (!card.contains(event.target)) {
      hide();
    }
  });
}
