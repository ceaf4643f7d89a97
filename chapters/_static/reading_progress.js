/* Which chapters were read, kept in this browser and nowhere else. A chapter counts as
   read once its end was on the screen, unless the reader takes the tick away; links to it
   are marked. tools/reading_time.py writes the box that is ticked. */
"use strict";

{
  const KEY = "attention-from-scratch-read";
  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href);
  const nameOf = (address) => address.split(/[?#]/)[0].slice(root.href.length);
  const here = nameOf(location.href);
  const place = document.querySelector(".chapter-read");
  const box = place?.querySelector("input");

  /** True or false by page; a reader who took a tick away said false. */
  function recall() {
    try {
      const kept = JSON.parse(localStorage.getItem(KEY));
      return kept && typeof kept === "object" ? kept : {};
    } catch {
      return {}; // storage is forbidden, or somebody else wrote there
    }
  }

  function keep(isRead) {
    try {
      localStorage.setItem(KEY, JSON.stringify({ ...recall(), [here]: isRead }));
    } catch {
      // then it lasts as long as the page
    }
    show({ ...recall(), [here]: isRead });
  }

  function show(kept = recall()) {
    const links = document.querySelectorAll(".bd-links a.reference, .map-title a");
    for (const link of links) {
      mark(link, kept[nameOf(link.href)] === true);
    }
    if (place) {
      const count = Object.values(kept).filter((isRead) => isRead === true).length;
      const all = Number(place.dataset.chapters);
      box.checked = kept[here] === true;
      place.querySelector("[role=status]").textContent =
        `${Math.min(count, all)} of ${all} chapters read in this browser.`;
    }
  }

  function mark(link, isRead) {
    link.querySelector(".chapter-is-read")?.remove();
    if (isRead) {
      const words = document.createElement("span");
      words.className = "chapter-is-read";
      words.append(Object.assign(document.createElement("span"), { textContent: " (read)" }));
      link.append(words);
    }
  }

  if (box) {
    box.addEventListener("change", () => keep(box.checked));
    const end = new IntersectionObserver((changes) => {
      if (changes.some((change) => change.isIntersecting)) {
        end.disconnect();
        if (recall()[here] === undefined) {
          keep(true);
        }
      }
    });
    end.observe(place);
  }
  show();
  addEventListener("storage", (event) => event.key === KEY && show());
  addEventListener("pageshow", (event) => event.persisted && show());
}
