/* What the pages need to show numbers: bars, shades, and clear messages. */
"use strict";

globalThis.Playground ??= {};
{
  const { element } = Elements;
  const NEAR = 400; // pixels
  const PAUSE = 400; // milliseconds

  /** Start the playground of a page, or say in the page why it cannot start.

      The board has its room before that, so that nothing moves when it is shown. Its
      model is loaded once somebody comes near it.

      @param {string} name  as in data-playground="dates"
      @param {(pause) => object} load  makes the model, or promises it; may throw a
          WeightsError
      @param {(model, board, pause) => void} run  brings the board to life, or promises
          to */
  async function start(name, load, run) {
    const place = document.querySelector(`[data-playground="${name}"]`);
    const message = place.querySelector(".playground-message");
    const board = place.querySelector(".playground-board");
    try {
      message.textContent = "Loading the model …";
      await new Promise((near) => Loader.whenNear([place], NEAR, near));
      const model = await load(pause);
      await pause();
      await run(model, board, pause);
      message.hidden = true;
      place.classList.add("is-live");
    } catch (error) {
      board.hidden = true;
      place.classList.add("has-failed");
      message.textContent =
        error instanceof Playground.WeightsError
          ? error.message
          : `The playground stopped: ${error.message}`;
      if (!(error instanceof Playground.WeightsError)) {
        throw error;
      }
    }
  }

  /** Load the weights of the page's model; their reader finds out what is wrong with them. */
  async function loadWeights() {
    const { weights } = document.querySelector("[data-weights]").dataset;
    await Loader.script(weights).catch(() => {});
    await pause(); // the script took its time
  }

  /** Let the page answer its reader before the work goes on. */
  function pause() {
    return new Promise((resume) => setTimeout(resume));
  }

  /** A share as all pages show it, without decimals where they say nothing. */
  function percent(share, decimals = share > 0.0005 && share < 0.995 ? 1 : 0) {
    return `${(100 * share).toFixed(decimals)} %`;
  }

  /** A row for each name: its bar and its share, if there are any. The largest is marked. */
  function showBars(table, names, shares) {
    const largest = shares ? shares.indexOf(Math.max(...shares)) : -1;
    const rows = names.map((name, i) => {
      const bar = element("span", { class: "playground-bar" });
      bar.style.setProperty("--share", shares ? shares[i] : 0);
      const tr = element(
        "tr", {},
        element("th", { scope: "row" }, name),
        element("td", { "aria-hidden": "true" }, bar),
        element("td", {}, shares ? percent(shares[i]) : "–"),
      );
      tr.classList.toggle("is-largest", i === largest);
      return tr;
    });
    table.replaceChildren(...rows);
  }

  /** Shade an element by a weight from 0 to 1. */
  function shade(cell, weight) {
    const shown = Math.min(1, weight);
    cell.style.setProperty("--weight", shown.toFixed(3));
    cell.classList.toggle("is-strong", shown > 0.75);
  }

  /** The three that are read most, in words. */
  function largestOf(names, weights) {
    const order = weights.map((_, t) => t).sort((a, b) => weights[b] - weights[a]);
    return order
      .slice(0, 3)
      .map((t) => `${names[t] === " " ? "space" : names[t]} ${percent(weights[t])}`)
      .join(", ");
  }

  /** Put a question to the model many times without freezing the page.

      @param {Array} questions
      @param {(question) => boolean} isRight
      @param {{button, progress, result}} parts  of the page
      @param {() => string} conditions  what to say beside the score */
  function offerExam(questions, isRight, { button, progress, result }, conditions) {
    button.addEventListener("click", async () => {
      button.disabled = true;
      progress.hidden = false;
      progress.max = questions.length;
      const said = conditions();
      let right = 0;
      for (const [i, question] of questions.entries()) {
        right += isRight(question);
        if (i % 10 === 9) {
          progress.value = i + 1;
          await pause();
        }
      }
      const share = percent(right / questions.length, 1);
      result.textContent = `${right} of ${questions.length} right, ${share}, ${said}.`;
      progress.hidden = true;
      button.disabled = false;
    });
  }

  /** A function that runs once nobody has called it for a moment: typing would be read
      out letter by letter. */
  function settled(run) {
    let waiting = 0;
    return (...values) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => run(...values), PAUSE);
    };
  }

  Object.assign(Playground, {
    start, loadWeights, percent, showBars, shade, largestOf, offerExam, settled,
  });
}
