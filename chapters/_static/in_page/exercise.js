/* An exercise of the page: a cell that is checked, with hints and a solution. */
"use strict";

globalThis.InPage ??= {};
{
  const { Cell, element } = InPage;

  class Exercise extends Cell {
    kind = "exercise";
    #hints = 0;
    #tried = false;

    /** @param {HTMLElement} region  with data-exercise and data-version
        @param {() => void} progressed  called when a score changes */
    constructor(region, progressed) {
      super(region, region.dataset.exercise, region.dataset.version);
      this.progressed = progressed;
      this.label = `Your ${this.name}`;
      this.keys = { "Mod-Enter": () => this.check(), "Shift-Enter": () => this.run() };
      this.#build();
      const kept = InPage.work.recall(this.name, this.version);
      if (kept) {
        this.code = kept.code;
        this.#score(kept.score, kept.of);
        if (kept.old) {
          this.tell("This answer is to an earlier version of the exercise.");
        }
      }
      InPage.work.watch(this.name, this.version, (entry) => {
        this.code = entry.code;
        this.#score(entry.score, entry.of);
      });
    }

    /** The points of the last check of the code as it is; undefined without one. */
    get score() {
      const { score, maxScore } = this.region.dataset;
      return score === undefined ? undefined : { score: Number(score), of: Number(maxScore) };
    }

    get solved() {
      return this.score !== undefined && this.score.score === this.score.of;
    }

    /** Check the code as it is.

        @returns {Promise<boolean>}  whether it came to its end */
    async check(draw = false) {
      const { code } = this;
      const found = await this.ask("check", { draw });
      if (!found) {
        return false;
      }
      if (code === this.code) {
        this.#show(found);
      }
      return true;
    }

    hint() {
      this.#hints += 1;
      return this.ask("hint", { count: this.#hints });
    }

    /** Run a trained model of the book with the reader's function. */
    async model() {
      const { model } = this.region.dataset;
      try {
        await InPage.addScript(`../playground/${model}.weights.js`);
      } catch (error) {
        this.tell(error.message);
        return;
      }
      const answer = await this.ask("model", { file: Playground.files[model] });
      if (answer) {
        this.tell(answer.failed ? "It stopped with an error." : "Done.");
      }
    }

    solution() {
      if (!this.#tried && !this.solved) {
        this.#tried = true;
        this.tell("You have not tried it yet. Press Solution once more to see it all the same.");
        return;
      }
      const solution = document.getElementById(`solution-${this.name}`);
      if (solution.classList.contains("toggle-hidden")) {
        solution.querySelector(".toggle-button").click();
      }
      solution.scrollIntoView({ block: "nearest" });
      this.tell("The solution is below.");
    }

    cleared() {
      this.#score(null);
      this.output.replaceChildren();
    }

    changed(code) {
      this.#score(null);
      super.changed(code);
    }

    #build() {
      const actions = {
        edit: "Edit",
        check: "Check",
        run: "Run",
        model: "Run a model with it",
        hint: "Hint",
        solution: "Solution",
        reset: "Reset",
        stop: "Stop",
      };
      if (!document.getElementById(`solution-${this.name}`)) {
        delete actions.solution;
      }
      if (!this.region.dataset.model) {
        delete actions.model;
      }
      this.region.append(...this.build(actions));
      this.buttons.check.title = "Ctrl-Enter in the editor";
      const size = InPage.megabytes(InPage.python.size);
      this.tell(`The first run loads Python into this page, ${size}.`);
    }

    #show({ report, drawable }) {
      const { score, max_score: of, mistake } = report;
      this.#tried ||= this.code.trim() !== this.book.trim();
      this.#hints = 0;
      if (drawable) {
        this.#offerPicture();
      }
      this.#score(score, of, mistake);
      this.keep({ code: this.code, score, of });
      this.tell(score < of ? `${score} of ${of} points.` : `All ${of} points.`);
      if (this.solved) {
        this.#offerNext();
      }
    }

    #score(score, of, mistake) {
      const data = this.region.dataset;
      delete data.score;
      delete data.maxScore;
      delete data.mistake;
      if (typeof score === "number") {
        data.score = score;
        data.maxScore = of;
      }
      if (mistake) {
        data.mistake = mistake;
      }
      this.region.classList.toggle("is-solved", this.solved);
      this.progressed();
    }

    #offerPicture() {
      const size = InPage.megabytes(InPage.python.sizeOf("matplotlib"));
      const words = `Draw yours beside the expected one (loads matplotlib, ${size})`;
      const button = element("button", { type: "button" }, words);
      button.addEventListener("click", () => this.check(true));
      this.output.append(button);
    }

    #offerNext() {
      const next = InPage.next(this);
      if (next) {
        const link = element("a", { href: `#exercise-${next.name}` }, "Next exercise");
        this.status.append(" ", link);
      }
    }
  }

  InPage.Exercise = Exercise;
}
