/* An exercise of the page: its stub becomes an editor, with buttons and a report below.

   Nothing here knows what is right. Python is asked, and answers with HTML. */
"use strict";

globalThis.InPage ??= {};
{
  const ESCAPE = "Escape, then Tab, leaves the editor.";

  /** An element with its attributes and children; strings become text. */
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  class Exercise {
    #code; // as the reader has it
    #editor = null;
    #hints = 0;
    #tried = false;

    /** @param {HTMLElement} region  with data-exercise and data-version
        @param {() => void} progressed  called when a score changes */
    constructor(region, progressed) {
      this.region = region;
      this.name = region.dataset.exercise;
      this.version = region.dataset.version;
      this.progressed = progressed;
      this.cell = region.querySelector(".cell.tag_exercise");
      this.place = this.cell.querySelector(".cell_input");
      this.stub = this.place.querySelector("pre").textContent;
      this.#code = this.stub;
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

    get code() {
      return this.#code;
    }

    set code(text) {
      this.#code = text;
      if (this.#editor) {
        this.#editor.text = text.replace(/\n$/, "");
      } else {
        this.place.querySelector("pre").textContent = text;
      }
    }

    /** The points of the last check of the code as it is; undefined without one. */
    get score() {
      const { score, maxScore } = this.region.dataset;
      return score === undefined ? undefined : { score: Number(score), of: Number(maxScore) };
    }

    get solved() {
      return this.score !== undefined && this.score.score === this.score.of;
    }

    /** Put another answer in the place of the present one. */
    take(code) {
      this.code = code;
      this.#changed(code);
    }

    tell(words) {
      this.status.textContent = words;
    }

    /** Open the editor. */
    async edit() {
      this.buttons.edit.hidden = true;
      const text = this.place.querySelector("pre");
      const place = element("div", { class: "in-page-editor" });
      text.closest(".highlight").replaceChildren(place);
      const keys = {
        "Mod-Enter": () => this.check(),
        "Shift-Enter": () => this.run(),
      };
      const label = `Your ${this.name}. ${ESCAPE}`;
      const changed = (code) => this.#changed(code);
      try {
        this.#editor = await InPage.openEditor(place, this.#code, label, changed, keys);
      } catch {
        this.#editor = plainEditor(place, this.#code, label, changed);
      }
      this.#editor.focus();
    }

    run() {
      return this.#ask("run");
    }

    /** Check the code as it is. */
    async check(draw = false) {
      const code = this.#code;
      const found = await this.#ask("check", { draw });
      if (!found || code !== this.#code) {
        return;
      }
      const { score, max_score: of, mistake } = found.report;
      this.#tried ||= code.trim() !== this.stub.trim();
      this.#hints = 0;
      if (found.drawable) {
        this.#offerPicture();
      }
      this.#score(score, of, mistake);
      this.#keep();
      this.tell(score < of ? `${score} of ${of} points.` : `All ${of} points.`);
      if (this.solved) {
        this.#offerNext();
      }
    }

    hint() {
      this.#hints += 1;
      return this.#ask("hint", { count: this.#hints });
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

    reset() {
      const before = this.#code;
      InPage.work.forget(this.name);
      this.code = this.stub;
      this.#score(null);
      this.output.replaceChildren();
      const back = element("button", { type: "button" }, "Take it back");
      back.addEventListener("click", () => {
        this.take(before);
        this.tell("Your code is back.");
        this.buttons.reset.focus();
      });
      this.status.replaceChildren("The stub as it was. ", back);
    }

    #build() {
      const actions = {
        edit: "Edit",
        check: "Check",
        run: "Run",
        hint: "Hint",
        solution: "Solution",
        reset: "Reset",
        stop: "Stop",
      };
      this.buttons = {};
      for (const [action, words] of Object.entries(actions)) {
        const button = element("button", { type: "button" }, words);
        button.setAttribute("aria-label", `${words}: ${this.name}`);
        button.addEventListener("click", () => this[action]());
        this.buttons[action] = button;
      }
      this.buttons.check.title = "Ctrl-Enter in the editor";
      this.buttons.run.title = "Shift-Enter in the editor";
      this.buttons.stop.hidden = true;
      if (!document.getElementById(`solution-${this.name}`)) {
        this.buttons.solution.remove();
        delete this.buttons.solution;
      }
      this.status = element("p", { class: "in-page-status", role: "status" });
      this.output = element("div", { class: "in-page-output cell_output" });
      this.output.setAttribute("role", "group");
      this.output.setAttribute("aria-label", `What came out of ${this.name}`);
      const bar = element("div", { class: "in-page-buttons" }, ...Object.values(this.buttons));
      bar.setAttribute("role", "group");
      bar.setAttribute("aria-label", this.name);
      this.region.append(bar, this.status, this.output);
      this.region.classList.add("is-live");
      this.place.addEventListener("click", () => this.#editor ?? this.#editOnce());
      const size = InPage.megabytes(InPage.python.size);
      this.tell(`The first run loads Python into this page, ${size}.`);
    }

    #editOnce() {
      if (!this.buttons.edit.hidden) {
        this.edit();
      }
    }

    stop() {
      InPage.python.stop();
    }

    async #ask(what, more = {}) {
      const question = {
        do: what,
        with: { cell: this.#cell(), above: InPage.above(this), ...more },
      };
      this.#busy(true);
      try {
        const answer = await InPage.python.ask(question, (words) => this.tell(words));
        this.output.innerHTML = answer.page;
        this.tell("");
        return answer;
      } catch (error) {
        this.tell(error.message);
        return null;
      } finally {
        this.#busy(false);
      }
    }

    #cell() {
      return { name: this.name, kind: "exercise", source: this.#code };
    }

    #busy(is) {
      this.region.setAttribute("aria-busy", is);
      const focused = this.region.contains(document.activeElement);
      for (const [action, button] of Object.entries(this.buttons)) {
        if (["check", "run", "hint"].includes(action)) {
          button.disabled = is;
        }
      }
      this.buttons.stop.hidden = !is;
      if (focused && !this.region.contains(document.activeElement)) {
        (is ? this.buttons.stop : this.buttons.check).focus();
      }
    }

    #changed(code) {
      this.#code = code;
      this.#score(null);
      this.#keep();
    }

    #keep() {
      const entry = { code: this.#code, score: this.score?.score, of: this.score?.of };
      if (!InPage.work.keep(this.name, this.version, entry)) {
        this.tell("This browser keeps nothing of this page: download the notebook in time.");
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

  /** What is used where CodeMirror cannot be loaded. */
  function plainEditor(place, text, label, changed) {
    const area = element("textarea", { "aria-label": label, spellcheck: "false", rows: 24 });
    area.value = text;
    area.addEventListener("input", () => changed(area.value));
    place.append(area);
    return {
      get text() {
        return area.value;
      },
      set text(wanted) {
        area.value = wanted;
      },
      focus: () => area.focus(),
    };
  }

  Object.assign(InPage, { Exercise, element });
}
