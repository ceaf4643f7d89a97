/* All exercises of a page: their order, how far the reader is, and the notebook. */
"use strict";

globalThis.InPage ??= {};
{
  const { element, Exercise } = InPage;
  const chapter = location.pathname.split("/").pop().replace(/\.html$/, "");
  const exercises = [];
  const bar = makeBar();
  for (const region of document.querySelectorAll(".in-page[data-exercise]")) {
    exercises.push(new Exercise(region, showProgress));
  }
  exercises[0].region.closest("article").querySelector("h1").after(bar.place);
  showProgress();

  /** The cells above an exercise, as Python takes them. */
  InPage.above = (exercise) => {
    const before = [];
    let number = 0;
    for (const cell of document.querySelectorAll("article .cell")) {
      if (cell === exercise.cell) {
        break;
      }
      const mine = exercises.find((other) => other.cell === cell);
      if (mine) {
        before.push({ name: mine.name, kind: "exercise", source: mine.code });
      } else if (!/\btag_(?!hide-|scroll)/.test(cell.className)) {
        number += 1;
        const source = cell.querySelector(".cell_input pre").textContent;
        before.push({ name: `setup ${number}`, kind: "setup", source });
      }
    }
    return before;
  };

  /** The next exercise that is not solved, if there is one. */
  InPage.next = (exercise) => {
    const from = exercises.indexOf(exercise) + 1;
    return exercises.slice(from).find((other) => !other.solved);
  };

  function makeBar() {
    const button = (words, does) => {
      const made = element("button", { type: "button" }, words);
      made.addEventListener("click", does);
      return made;
    };
    const progress = element("span", { class: "in-page-progress" });
    const status = element("span", { role: "status" });
    const file = element("input", { type: "file", accept: ".ipynb", hidden: "" });
    file.addEventListener("change", () => load(file));
    const place = element(
      "div",
      { class: "in-page-bar noprint", role: "group", "aria-label": "Your work on this page" },
      progress,
      button("Check all", checkAll),
      button("Download as notebook", download),
      button("Load notebook", () => file.click()),
      file,
      status,
    );
    return { place, progress, status };
  }

  function showProgress() {
    const solved = exercises.filter((exercise) => exercise.solved).length;
    bar.progress.textContent = `${solved} of ${exercises.length} exercises solved`;
  }

  async function checkAll() {
    for (const exercise of exercises) {
      await exercise.check();
    }
    bar.status.textContent = `Checked. ${bar.progress.textContent}.`;
  }

  async function download() {
    const answers = new Map(exercises.map(({ name, code }) => [name, code]));
    try {
      const text = await InPage.notebook.fill(chapter, answers);
      const address = URL.createObjectURL(new Blob([text], { type: "application/x-ipynb+json" }));
      element("a", { href: address, download: `${chapter}.ipynb` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      bar.status.textContent = `${chapter}.ipynb has your answers.`;
    } catch (error) {
      bar.status.textContent = error.message;
    }
  }

  async function load(file) {
    try {
      const answers = InPage.notebook.answers(await file.files[0].text());
      const mine = exercises.filter(({ name }) => answers.has(name));
      for (const exercise of mine) {
        exercise.take(answers.get(exercise.name));
      }
      bar.status.textContent = mine.length
        ? `${mine.length} answers were taken from the notebook.`
        : "This notebook has no answers to the exercises of this page.";
    } catch (error) {
      bar.status.textContent = error.message;
    }
    file.value = "";
  }
}
