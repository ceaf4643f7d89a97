/* All cells of a page that run: their order, how far the reader is, and the notebook. */
"use strict";

globalThis.InPage ??= {};
{
  const { Demo, Exercise } = InPage;
  const { element } = Elements;
  const chapter = location.pathname.split("/").pop().replace(/\.html$/, "");
  InPage.chapter = chapter;
  const STAYS = 1000; // milliseconds in view until Python starts for who ran it before
  const NEAR = 600; // pixels from the window: an editor is there before Tab reaches its code
  const MOVES = ["scroll", "keydown", "pointerdown"];
  const cells = new Map(); // what runs, by its element
  const exercises = [];
  const progress = document.querySelector(".in-page-progress");
  for (const region of document.querySelectorAll(".in-page")) {
    const isExercise = "exercise" in region.dataset;
    const made = isExercise ? new Exercise(region, showProgress) : new Demo(region);
    cells.set(made.cell, made);
    if (isExercise) {
      exercises.push(made);
    }
  }
  showProgress();
  openInTime();
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
        const other = cells.get(cell);
        before.push(other.fromBelow ?? other.asked);
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

  /** The next exercise that is not solved, or else the first one; none when all are. */
  InPage.next = (exercise) => {
    const from = exercises.indexOf(exercise) + 1;
    const order = [...exercises.slice(from), ...exercises.slice(0, from)];
    return order.find((other) => other !== exercise && !other.solved);
  };

  /** What a reader meets below a card: a paragraph, a heading or the next card. */
  InPage.below = ({ region }) =>
    [...document.querySelectorAll("article :is(h2, h3, h4, p, .in-page[data-exercise])")].find(
      (other) => region.compareDocumentPosition(other) === Node.DOCUMENT_POSITION_FOLLOWING
        && other.checkVisibility(),
    );

  /** What stands below the last exercise that was open. */
  InPage.theEnd = () => {
    const number = document.querySelector("h1 .section-number")?.textContent.trim();
    const chapter = number ? `Chapter ${number.replace(/\.$/, "")}` : "This chapter";
    const parts = [element("strong", {}, `${chapter} is yours: all exercises are solved.`)];
    const quiz = document.querySelector(".quiz")?.closest("section");
    const next = document.querySelector("a.right-next");
    if (quiz) {
      parts.push(" ", element("a", { href: `#${quiz.id}` }, "The quiz"));
    }
    if (next) {
      const words = next.querySelector(".prev-next-title").textContent.trim();
      parts.push(" ", element("a", { href: next.href, class: "in-page-next" }, `${words} →`));
    }
    return parts;
  };

  /** Give the notebook of the chapter, with the answers of this page, to the reader.

      @returns {Promise<string>}  what to say */
  InPage.download = async () => {
    const answers = new Map(
      exercises.filter(({ code, book }) => code !== book).map(({ name, code }) => [name, code]),
    );
    try {
      const text = await InPage.notebook.fill(chapter, answers);
      const address = URL.createObjectURL(new Blob([text], { type: "application/x-ipynb+json" }));
      element("a", { href: address, download: `${chapter}.ipynb` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      return `${chapter}.ipynb has your answers: open it with Jupyter.`;
    } catch (error) {
      return error.message;
    }
  };

  /** Put an editor in the place of each exercise that comes near, once the reader moves:
      a page has little to load for who only looks at its beginning. */
  function openInTime() {
    const begin = () => {
      MOVES.forEach((move) => removeEventListener(move, begin));
      Loader.whenNear(exercises.map(({ region }) => region), NEAR, (near) =>
        exercises.find(({ region }) => region === near).open());
    };
    MOVES.forEach((move) => addEventListener(move, begin));
    if (scrollY > 0) { // by an address with a place in it, or a reload
      begin();
    }
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
    progress.textContent = `${solved} of ${exercises.length} exercises solved`;
    for (const { dots } of exercises) {
      const marks = exercises.map((other) => {
        const kind = `${other.solved ? "solved" : ""} ${other.dots === dots ? "here" : ""}`;
        return element("span", { class: kind.trim() });
      });
      dots.replaceChildren(...marks);
    }
  }
}
