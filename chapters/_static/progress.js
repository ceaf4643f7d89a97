/* How far the reader is: beside links to chapters, in the sidebar and on the start page,
   how many of their exercises are solved; on the first button of the start page, the
   chapter to go on with. There, all work can be saved as a file and loaded from one. */
"use strict";

{
  const PLACE = "attention-from-scratch-place"; // the chapter that was opened last
  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href);
  const nameOf = (address) =>
    address.split(/[?#]/)[0].slice(root.href.length).replace(/\.html$/, "");
  const here = nameOf(location.href);
  const chapters = new Map(); // their links in the sidebar, by the names of their pages
  for (const link of document.querySelectorAll(".bd-links a.reference")) {
    if (/^\d+\./.test(link.textContent)) {
      chapters.set(nameOf(link.href), link);
    }
  }

  /** {name of a page: [exercises solved, exercises]}; none for who has not begun. */
  async function counted() {
    if (!Kept.names("attention-from-scratch/").length) {
      return {};
    }
    const folder = `${root.href}_static/in_page/`;
    globalThis.InPage ??= {};
    const scripts = [InPage.work ? [] : "work", InPage.chapters ? [] : "chapters"].flat();
    await Promise.all(scripts.map((name) => Loader.script(`${folder}${name}.js`)));
    return Object.fromEntries(Object.entries(InPage.chapters).map(([chapter, exercises]) => {
      const isSolved = ([name, version]) =>
        InPage.work.recall(name, version)?.best !== undefined;
      const all = Object.entries(exercises);
      return [`chapters/${chapter}`, [all.filter(isSolved).length, all.length]];
    }));
  }

  async function show() {
    const counts = await counted().catch(() => ({})); // a book without exercises in pages
    document.querySelectorAll(".solved-count").forEach((mark) => mark.remove());
    for (const link of document.querySelectorAll(".bd-links a.reference, .map-title a")) {
      const [solved, of] = counts[nameOf(link.href)] ?? [0];
      if (solved) {
        link.append(ring(solved, of));
      }
    }
    goOn(counts);
  }

  function ring(solved, of) {
    const mark = document.createElement("span");
    mark.className = "solved-count";
    mark.style.setProperty("--solved", solved / of);
    const spoken = Object.assign(document.createElement("span"), {
      className: "visually-hidden", textContent: `, ${solved} of ${of} exercises solved`,
    });
    const seen = Object.assign(document.createElement("span"), { textContent: `${solved}/${of}` });
    seen.setAttribute("aria-hidden", "true");
    mark.append(spoken, seen);
    return mark;
  }

  /** Lead to the chapter that was opened last; once it is solved, to the one after it. */
  function goOn(counts) {
    const button = document.querySelector(".start-lead p:last-child a");
    const names = [...chapters.keys()];
    let number = names.indexOf(Kept.recall(PLACE)?.page);
    if (!button || number < 0) {
      return;
    }
    const [solved, of] = counts[names[number]] ?? [0];
    number += Number(solved > 0 && solved === of && number + 1 < names.length);
    const link = chapters.get(names[number]);
    const title = link.firstChild.textContent.replace(/^\d+\. /, "");
    button.textContent = `Continue: chapter ${number + 1}, ${title}`;
    button.href = link.href;
  }

  /** The buttons below "Your work". */
  function offerFile(place) {
    const [save, load] = place.querySelectorAll("button");
    const chooser = place.querySelector("input");
    const status = place.querySelector("[role=status]");
    save.addEventListener("click", () => {
      const href = URL.createObjectURL(new Blob([Kept.all()], { type: "application/json" }));
      const download = "attention-from-scratch.json";
      Object.assign(document.createElement("a"), { href, download }).click();
      setTimeout(() => URL.revokeObjectURL(href), 60_000);
      status.textContent = `Saved as ${download}. Load it in the other browser.`;
    });
    load.addEventListener("click", () => chooser.click());
    chooser.addEventListener("change", async () => {
      const [file] = chooser.files;
      if (file) {
        status.textContent = Kept.add(await file.text());
        chooser.value = ""; // so that the same file can be chosen again
        show();
      }
    });
  }

  if (chapters.has(here)) {
    Kept.keep(PLACE, { page: here }, { quietly: true });
  }
  document.querySelectorAll(".kept-work").forEach(offerFile);
  show();
  Kept.watch("attention-from-scratch/", show);
}
