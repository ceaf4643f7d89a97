/* A demonstration of the page, which can be run and changed. What comes out of it takes
   the place of the book's output until it is reset. */
"use strict";

globalThis.InPage ??= {};
{
  const { Cell } = InPage;
  const { element } = Elements;

  class Demo extends Cell {
    kind = "demo";

    /** @param {HTMLElement} region  with data-cell */
    constructor(region) {
      const code = region.querySelector(".cell_input pre").textContent;
      const keptAs = `${InPage.chapter}/${digest(code)}`;
      super(region, `cell ${region.dataset.cell}`, "", keptAs);
      this.label = `Code of ${this.name}`;
      this.keys = { "Mod-Enter": () => this.run(), "Shift-Enter": () => this.run() };
      this.printed = this.cell.querySelector(".cell_output");
      this.#build();
      const take = (entry) => {
        this.code = entry.code;
        this.buttons.reset.hidden = false;
      };
      const kept = InPage.work.recall(keptAs, "");
      if (kept) {
        take(kept);
      }
      InPage.work.watch(keptAs, "", take);
    }

    /** Buttons stand below the code, so with code that is folded away they are too. */
    #build() {
      const actions = { run: "Run", edit: "Edit", reset: "Reset", stop: "Stop" };
      const bar = element("div", { class: "in-page-buttons", role: "group" });
      bar.setAttribute("aria-label", this.name);
      for (const [action, words] of Object.entries(actions)) {
        bar.append(this.button(action, words));
      }
      this.buttons.run.title = "Shift-Enter in the editor";
      this.buttons.reset.hidden = true;
      this.buttons.stop.hidden = true;
      this.place.addEventListener("click", () => this.buttons.edit.hidden || this.edit());
      bar.append(this.status); // beside them, where it moves nothing
      this.place.after(bar);
      this.printed ? this.printed.before(this.output) : this.cell.append(this.output);
    }

    async edit() {
      this.buttons.edit.hidden = true;
      await this.open();
      this.editor.focus();
    }

    /** Run the cell; offer to run those above when it needs them. */
    async run() {
      const answer = await super.run();
      if (answer) {
        this.region.classList.add("has-run");
        this.#describe();
        if (answer.first.length) {
          this.tell("It needs cells above.");
          this.#offerAbove(answer.first);
        }
      }
      return answer;
    }

    changed(code) {
      this.buttons.reset.hidden = false;
      super.changed(code);
    }

    cleared() {
      InPage.work.forget(this.keptAs);
      this.region.classList.remove("has-run");
      this.output.replaceChildren();
    }

    /** The book describes its own picture: it is this one while the code is the book's. */
    #describe() {
      const pictures = this.output.querySelectorAll("img");
      const books = this.printed?.querySelectorAll("img:not(.only-dark)") ?? [];
      if (this.code.trim() === this.book.trim() && pictures.length === books.length) {
        pictures.forEach((picture, number) => {
          picture.alt = books[number].alt;
        });
      }
    }

    #offerAbove(names) {
      const click = async () => {
        if (await InPage.runAll(names)) {
          await this.run();
        }
      };
      this.output.append(element("button", { click }, "Run all above"));
    }
  }

  /** A short name for a text. */
  function digest(text) {
    const add = (sum, letter) => (Math.imul(sum, 31) + letter.codePointAt(0)) | 0;
    return ([...text].reduce(add, 7) >>> 0).toString(36);
  }

  InPage.Demo = Demo;
}
