/* All cells of a page that run: their order, how far the reader is, and the notebook. */
"use strict";

globalThis.InPage ??= {};
{
  const { element, Demo, Exercise } = InPage;
  const chapter = location.pathname.split("/").pop().replace(/\.html$/, "");
  InPage.chapter = chapter;
  const STAYS = 1000; // milliseconds in view until Python starts for who ran it before
  const cells = new Map(); // what runs, by its element
  const exercises = [];
  const bar = bringBarToLife();
  for (const region of document.querySelectorAll(".in-page")) {
    const isExercise = "exercise" in region.dataset;
    const made = isExercise ? new Exercise(region, showProgress) : new Demo(region);
    cells.set(made.cell, made);
    if (isExercise) {
      exercises.push(made);
    }
  }
  showProgress();
  if (InPage.work.ranBefore() && !navigator.connection?.saveData) {
    startInTime();
  }

  /** The cells above one, as Python takes them. */
  InPage.above = (below) => {
    const before = [];
    let number = 0;
    for (const cell of document.querySelectorAll("article .cell")) {
      if (cell === below.cell) {
        break;
      }
      if (cells.has(cell)) {
        before.push(cells.get(cell).asked);
      } else if (!/\btag_(?!hide-|scroll)/.test(cell.className)) {
        number += 1;
        const source = cell.querySelector(".cell_input pre").textContent;
        before.push({ name: `setup ${number}`, kind: "setup", source });
      }
    }
    return before;
  };

  /** Run some cells in the order of the page, up to one that does not come to its end.

      @param {string[]} names
      @returns {Promise<boolean>}  whether all did */
  InPage.runAll = async (names) => {
    for (const cell of cells.values()) {
      if (names.includes(cell.name)) {
        const answer = await cell.run();
        if (!answer || answer.failed) {
          return false;
        }
      }
    }
    return true;
  };

  /** The next exercise that is not solved, if there is one. */
  InPage.next = (exercise) => {
    const from = exercises.indexOf(exercise) + 1;
    return exercises.slice(from).find((other) => !other.solved);
  };

  /** The line below the title, which was written with the page. */
  function bringBarToLife() {
    const place = document.querySelector(".in-page-bar");
    const file = place.querySelector("input[type=file]");
    file.addEventListener("change", () => load(file));
    const does = { check: checkAll, download, load: () => file.click() };
    for (const button of place.querySelectorAll("button")) {
      button.addEventListener("click", does[button.dataset.does]);
      button.disabled = false;
    }
    return {
      progress: place.querySelector(".in-page-progress"),
      status: place.querySelector("[role=status]"),
    };
  }

  /** Start Python while the reader looks at the first exercise and not at its check. */
  function startInTime() {
    const waits = new Map();
    const watch = new IntersectionObserver((changes) => {
      for (const { target, isIntersecting } of changes) {
        clearTimeout(waits.get(target));
        if (isIntersecting) {
          waits.set(target, setTimeout(start, STAYS));
        }
      }
    });
    const start = () => {
      watch.disconnect();
      InPage.python.prepare();
    };
    exercises.forEach(({ region }) => watch.observe(region));
  }

  function showProgress() {
    const solved = exercises.filter((exercise) => exercise.solved).length;
    bar.progress.textContent = `${solved} of ${exercises.length} exercises solved`;
  }

  async function checkAll() {
    for (const exercise of exercises) {
      if (!(await exercise.check())) {
        bar.status.textContent = `Not all were checked: ${exercise.status.textContent}`;
        return;
      }
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
