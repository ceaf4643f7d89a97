/* An exercise of the page: one card with the task, an editor and the verdict. */
"use strict";

globalThis.InPage ??= {};
{
  const { Cell } = InPage;
  const { element } = Elements;
  const TO_WRITE = "raise NotImplementedError";
  const EFFORT = /^\s*([★☆]+ · \d+ minutes?(?: · core)?)\.\s*/u;

  class Exercise extends Cell {
    kind = "exercise";
    #best; // the code that had all points, if there is one
    #rungs; // of the ladder of hints, by what shows them

    /** @param {HTMLElement} region  with data-exercise, data-version and data-stub
        @param {() => void} progressed  called when an exercise is solved */
    constructor(region, progressed) {
      super(region, region.dataset.exercise, region.dataset.version);
      this.progressed = progressed;
      this.label = `Your ${this.name}`;
      this.keys = { "Mod-Enter": () => this.check(), "Shift-Enter": () => this.run() };
      this.#build();
      const kept = InPage.work.recall(this.name, this.version);
      if (kept) {
        this.#restore(kept);
        if (kept.old) {
          this.tell("This answer is to an earlier version of the exercise.");
        }
      } else {
        this.code = this.book; // without its docstring
      }
      InPage.work.watch(this.name, this.version, (entry) => this.#restore(entry));
    }

    /** Whether a version of the reader's had all points, whatever became of it. */
    get solved() {
      return this.#best !== undefined;
    }

    /** What cells below use: what works, rather than what is being changed. */
    get fromBelow() {
      return { ...this.asked, source: this.#best ?? this.code };
    }

    /** Open the editor, with the line to write selected. */
    async open() {
      const isNew = !this.editor;
      await super.open();
      if (isNew) {
        this.editor.select(TO_WRITE);
      }
    }

    /** Check the code as it is.

        @returns {Promise<boolean>}  whether it came to its end */
    async check() {
      const { code } = this;
      const found = await this.ask("check");
      if (!found) {
        return false;
      }
      if (code === this.code) {
        this.#show(found);
      }
      return true;
    }

    async run() {
      const answer = await super.run();
      this.#mark(0);
      this.output.classList.remove("is-old");
      return answer;
    }

    /** The next rung of the ladder; those before it stay. */
    async stuck() {
      if (await this.#add(this.#rungs[0])) {
        this.#rungs.shift();
        this.#nameStuck(this.#hasSolution && this.#rungs.length === 1
          ? "Show the solution" : "Still stuck?");
        this.buttons.stuck.hidden = !this.#rungs.length;
      }
    }

    /** Show a rung below those that were shown before.

        @returns {Promise<boolean>}  whether it could be had */
    async #add(rung) {
      const shown = await rung();
      if (shown) {
        const item = element("li", { tabindex: "-1" }, ...shown);
        this.ladder.append(item);
        item.focus({ preventScroll: true });
        reveal(item);
      }
      return Boolean(shown);
    }

    /** Take the ladder away; the next time it begins with the first rung. */
    #climbDown() {
      this.ladder.replaceChildren();
      this.#rungs = this.#ladder();
      this.#nameStuck("Stuck?");
      this.buttons.stuck.hidden = false;
    }

    #nameStuck(words) {
      this.buttons.stuck.textContent = words;
      this.buttons.stuck.setAttribute("aria-label", `${words}: ${this.name}`);
    }

    get #hasSolution() {
      return document.getElementById(`solution-${this.name}`) !== null;
    }

    restore() {
      this.take(this.#best);
      this.tell("Your solved version is back.");
      this.buttons.check.focus();
    }

    async copy() {
      try {
        await navigator.clipboard.writeText(this.code);
        this.tell("Copied.");
      } catch {
        this.tell("This browser lets no page copy: select the code and copy it.");
      }
    }

    async notebook() {
      this.tell(await InPage.download());
    }

    progress(words, share) {
      const isRunning = /unning/.test(words); // a check says so, the button is enough
      this.buttons.check.querySelector("span").textContent = isRunning ? "Checking …" : words;
      this.buttons.check.style.setProperty("--done", share ?? 1);
      if (words.startsWith("Still")) {
        this.tell("It still runs: is there a loop that never ends?");
      }
    }

    busy(is) {
      super.busy(is);
      if (!is) {
        this.buttons.check.querySelector("span").textContent = "Check";
        this.buttons.check.style.removeProperty("--done");
      }
    }

    cleared() {
      this.output.replaceChildren();
      this.#mark(0);
    }

    changed(code) {
      super.changed(code);
      this.#score(null);
      this.buttons.stuck.hidden = !this.#rungs.length;
      this.region.querySelectorAll(".in-page-output, .in-page-call").forEach(({ classList }) =>
        classList.add("is-old"));
      this.#mark(0);
      InPage.python.prepare();
    }

    /** The best version is kept beside the draft. */
    keep({ code }) {
      super.keep({ code, best: this.#best });
      this.#sayWhetherSolved();
    }

    #restore({ code, best }) {
      this.#best = best;
      this.code = code;
      this.#score(null);
      this.#sayWhetherSolved();
    }

    #build() {
      const title = this.region.querySelector(".admonition-title");
      this.chip = element("span", { class: "in-page-chip" });
      this.dots = element("span", { class: "in-page-dots", "aria-hidden": "true" });
      this.#head(title);
      const shapes = this.region.querySelector(".in-page-shapes");
      const contract = this.#contract();
      this.cell.before(...[this.#prediction(), shapes, contract].filter(Boolean));

      const check = this.button("check", "");
      check.className = "in-page-check";
      check.append(element("span", {}, "Check"));
      check.setAttribute("aria-label", `Check: ${this.name}`);
      const key = element("kbd", {}, "Ctrl ↵");
      const stop = this.button("stop", "Stop");
      stop.hidden = true;
      const back = this.button("restore", "Put the solved version back");
      back.hidden = true;
      const stuck = this.button("stuck", "Stuck?");
      stuck.className = "in-page-stuck";
      const parts = [check, key, stop, back, stuck, this.#menu()];
      const bar = element("div", { class: "in-page-buttons", role: "group" }, ...parts);
      bar.setAttribute("aria-label", this.name);
      this.style = element("style");
      this.ladder = element("ol", { class: "in-page-ladder" });
      this.region.append(bar, this.status, this.output, this.ladder, this.style);
      this.#climbDown();
      this.place.addEventListener("click", () => this.#firstClick(), { once: true });
    }

    /** Title, number, effort, and dots for the exercises of the chapter. */
    #head(title) {
      const number = title.querySelector(".caption-number")?.textContent.trim() ?? "";
      const name = title.textContent.replace(number, "").trim().replace(/^\((.*)\)$/s, "$1");
      const text = this.region.querySelector(".exercise section p")?.firstChild;
      const [begin, effort] = EFFORT.exec(text?.data ?? "") ?? [""];
      if (begin) {
        text.data = text.data.slice(begin.length);
      }
      const about = [number, effort].filter(Boolean).join(" · ");
      title.replaceChildren(
        element("strong", {}, name), element("span", {}, about), this.chip, this.dots,
      );
    }

    /** A field where the task asks for a prediction, which stays in this browser. */
    #prediction() {
      const words = [...this.region.querySelectorAll(".exercise section > p:first-child strong")];
      if (!words.some(({ textContent }) => textContent.startsWith("Predict"))) {
        return null;
      }
      const key = `attention-from-scratch-predictions/${InPage.chapter}`;
      const input = ({ target: { value } }) =>
        Kept.keep(key, { ...Kept.recall(key), [this.name]: value });
      const value = Kept.recall(key)?.[this.name] ?? "";
      this.predicted = element("input", { autocomplete: "off", value, input });
      const label = { class: "in-page-predict noprint" };
      return element("label", label, "Your prediction", this.predicted);
    }

    /** What the stub promises, and what else the task says but for code, folded. */
    #contract() {
      const rest = ".exercise section > p:first-child ~ :not([class^='highlight'])";
      const more = [...this.region.querySelectorAll(rest)];
      const stub = element("div", { class: "highlight" });
      stub.append(this.place.querySelector("pre").cloneNode(true));
      const summary = element("summary", {}, "The whole contract");
      return element("details", { class: "in-page-contract" }, summary, ...more, stub);
    }

    #menu() {
      const named = {
        run: "Run", reset: "Reset", copy: "Copy", notebook: "Open in the notebook",
      };
      const items = Object.entries(named).map(([action, words]) => this.button(action, words));
      this.buttons.run.title = "Shift-Enter in the editor";
      const summary = element("summary", { "aria-label": `More: ${this.name}` }, "⋯");
      const list = element("div", {}, ...items);
      const menu = element("details", { class: "in-page-menu" }, summary, list);
      const close = () => menu.removeAttribute("open");
      list.addEventListener("click", close);
      menu.addEventListener("focusout", ({ relatedTarget }) => {
        if (relatedTarget && !menu.contains(relatedTarget)) {
          close();
        }
      });
      addEventListener("click", ({ target }) => menu.contains(target) || close());
      menu.addEventListener("keydown", ({ key }) => {
        if (key === "Escape") {
          close();
          summary.focus();
        }
      });
      return menu;
    }

    /** What is written, what goes wrong, then the book's answer with blanks, and whole. */
    #ladder() {
      const written = [...this.region.querySelectorAll(".in-page-hints > li")];
      const rungs = written.map((hint) => () => [...hint.childNodes]);
      if (!written.length) {
        rungs.push(() => this.#readAgain());
      }
      rungs.push(() => this.#told("example", this.#offer.bind(this)));
      if (this.#hasSolution) {
        rungs.push(() => this.#told("skeleton"));
        rungs.push(() => this.#solution());
      }
      return rungs;
    }

    #readAgain() {
      const section = this.region.closest("section");
      const heading = section.querySelector("h1, h2, h3, h4").cloneNode(true);
      heading.querySelectorAll(".headerlink, .section-number").forEach((e) => e.remove());
      const link = element("a", { href: `#${section.id}` }, heading.textContent.trim());
      return ["Read the section again: ", link, "."];
    }

    /** What Python has to show, or null if it could not be asked.

        @param {(shown: HTMLElement, answer: object) => void} add  more to it */
    async #told(question, add = () => {}) {
      const answer = await this.ask(question);
      if (!answer) {
        return null;
      }
      const shown = element("div");
      shown.innerHTML = answer.page;
      add(shown, answer);
      return [shown];
    }

    #offer(shown, { code }) {
      if (code) {
        shown.className = "in-page-call"; // that goes wrong with the code as it is
        const words = "Put it below my code and run it";
        const click = () => {
          this.take(`${this.code.trimEnd()}\n\n${code}\n`);
          this.run();
        };
        shown.append(element("button", { click }, words));
      }
    }

    #solution() {
      return this.#told("solution", (shown) => {
        const book = document.querySelector(`#solution-${this.name} section`);
        const explained = [...book.children].filter((e) => !e.querySelector(".highlight"));
        shown.append(...explained.map((part) => part.cloneNode(true)));
      });
    }

    /** The first click into a stub is for the line that is to be written. */
    async #firstClick() {
      await this.open();
      if (this.code === this.book) {
        this.editor.select(TO_WRITE);
        this.editor.focus();
      }
    }

    #show({ page, report, headline, line }) {
      const { score, max_score: of, mistake } = report;
      this.output.innerHTML = page;
      this.output.classList.remove("is-old");
      this.#score(score, of, mistake);
      this.#mark(line);
      if (score === of) {
        const isFirst = !this.solved;
        this.#best = this.code;
        this.#climbDown();
        this.buttons.stuck.hidden = true;
        this.#celebrate();
        if (isFirst) {
          this.progressed();
        }
      }
      this.keep({ code: this.code });
      this.tell(headline);
      this.status.classList.add("is-said"); // the verdict shows it
      reveal(this.output);
    }

    tell(words) {
      this.status.classList.remove("is-said");
      super.tell(words);
    }

    /** Where to go from here, below what a right answer is good for: to what follows in
        the page, so that nobody jumps over what the next exercise needs. */
    async #celebrate() {
      const verdict = this.output.querySelector(".attention-verdict");
      const next = InPage.next(this);
      const end = element("p", { class: "in-page-end" });
      if (this.predicted?.value) {
        verdict.append(element("p", {}, `You predicted: “${this.predicted.value}”.`));
      }
      if (next) {
        const below = InPage.below(this);
        const isText = below && below !== next.region;
        const link = element("a", { href: `#${next.id}`, class: isText ? "" : "in-page-next" });
        link.textContent = `Next exercise: ${next.title} →`;
        link.addEventListener("click", (event) => {
          event.preventDefault(); // it would take the focus away again
          history.pushState(null, "", link.href);
          next.go();
        });
        const read = () => {
          below.tabIndex = -1;
          below.focus({ preventScroll: true });
          below.scrollIntoView();
        };
        end.append(
          isText ? element("button", { class: "in-page-next", click: read }, "Read on ↓") : "",
          link,
        );
      } else {
        end.append(...InPage.theEnd());
      }
      if (this.#hasSolution) {
        const compare = element("button", {}, "Compare with the solution");
        compare.addEventListener("click", () => {
          compare.remove();
          this.#add(() => this.#solution());
        });
        end.append(" ", compare);
      }
      verdict.append(end);
      if (this.region.dataset.model) {
        verdict.querySelector(".attention-payoff").append(await this.#inModel());
      }
    }

    /** The reader's function at work in a trained model. */
    async #inModel() {
      const shown = element("div");
      const { model } = this.region.dataset;
      try {
        await InPage.addScript(`../playground/${model}.weights.js`);
        const above = InPage.above(this);
        const question = { cell: this.asked, above, file: Playground.files[model] };
        const answer = await InPage.python.ask({ do: "model", with: question }, () => {});
        shown.innerHTML = answer.page;
      } catch {
        // without it the answer is as right
      }
      return shown;
    }

    get title() {
      return this.region.querySelector(".admonition-title strong").textContent;
    }

    get id() {
      return this.region.querySelector(".exercise")?.id ?? "";
    }

    /** Bring the reader here. */
    async go() {
      this.region.scrollIntoView();
      await this.open();
      this.editor.focus();
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
    }

    #sayWhetherSolved() {
      const isEdited = this.solved && this.#best.trim() !== this.code.trim();
      this.region.classList.toggle("is-solved", this.solved);
      const words = isEdited ? "✓ solved, edited since" : "✓ solved";
      this.chip.textContent = this.solved ? words : "";
      this.buttons.restore.hidden = !isEdited;
    }

    /** Mark a line of the reader's; none if it is 0. */
    #mark(line) {
      const where = `[data-exercise="${this.name}"] .cm-line:nth-child(${line})`;
      this.style.textContent = line ? `${where} { background: var(--verdict-wrong-soft); }` : "";
    }
  }

  /** Scroll until something can be seen: as far as it fits, and no further. */
  function reveal(what) {
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    what.scrollIntoView({ block: "nearest", behavior });
  }

  InPage.Exercise = Exercise;
}
