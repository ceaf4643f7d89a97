/* A cell of the page that runs: its code becomes an editor, with an output.

   Nothing here knows what is right. Python is asked, and answers with HTML. */
"use strict";

globalThis.InPage ??= {};
{
  const { element } = Elements;
  const ESCAPE = "Escape, then Tab, leaves the editor.";

  class Cell {
    #code; // as the reader has it
    #ticket = null; // of the question that Python answers

    /** @param {HTMLElement} region  around the cell
        @param {string} name  of the cell, for Python and for screen readers
        @param {string} version  of the book's code; work is kept for it
        @param {string} keptAs  the name under which work is kept */
    constructor(region, name, version, keptAs = name) {
      this.region = region;
      this.name = name;
      this.version = version;
      this.keptAs = keptAs;
      this.cell = region.querySelector(".cell");
      this.place = this.cell.querySelector(".cell_input");
      this.book = region.dataset.stub ?? this.place.querySelector("pre").textContent;
      this.#code = this.book;
      this.editor = null;
      this.buttons = {};
      this.status = element("p", { class: "in-page-status", role: "status" });
      this.output = element("div", {
        class: "in-page-output cell_output", role: "group",
        "aria-label": `What came out of ${this.name}`,
      });
      region.classList.add("is-live");
    }

    get code() {
      return this.#code;
    }

    set code(text) {
      this.#code = text;
      if (this.editor) {
        this.editor.text = text.replace(/\n$/, "");
      } else {
        this.place.querySelector("pre").textContent = text;
      }
    }

    /** The cell as Python takes it. */
    get asked() {
      return { name: this.name, kind: this.kind, source: this.#code };
    }

    /** Put other code in the place of the present one. */
    take(code) {
      this.code = code;
      this.changed(code);
    }

    tell(words) {
      this.status.textContent = words;
    }

    /** Put an editor in the place of the code. */
    open() {
      this.opening ??= this.#open();
      return this.opening;
    }

    async #open() {
      const hadFocus = this.place.contains(document.activeElement);
      const text = this.place.querySelector("pre");
      const place = element("div", { class: "in-page-editor" });
      place.append(text.cloneNode(true)); // until the editor is there
      text.closest(".highlight").replaceChildren(place);
      const label = `${this.label}. ${ESCAPE}`;
      const changed = (code) => this.changed(code);
      try {
        this.editor = await InPage.openEditor(place, this.#code, label, changed, this.keys);
      } catch {
        this.editor = plainEditor(place, this.#code, label, changed);
      }
      this.editor.text = this.#code.replace(/\n$/, "");
      if (hadFocus && document.activeElement === document.body) {
        this.editor.focus(); // it was on the code, which is gone
      }
    }

    /** @returns {Promise<object | null>}  what Python answers; null when it was stopped */
    async run() {
      const answer = await this.ask("run");
      if (answer) {
        this.output.innerHTML = answer.page;
        this.tell(answer.failed ? "It stopped with an error." : "Done.");
      }
      return answer;
    }

    stop() {
      InPage.python.stop(this.#ticket);
    }

    /** Give the book's code back, and offer to take that back. */
    reset() {
      const before = this.#code;
      this.take(this.book);
      this.cleared();
      const click = () => {
        this.take(before);
        this.tell("Your code is back.");
        (this.buttons.check ?? this.buttons.reset).focus();
      };
      const back = element("button", { click }, "Take it back");
      this.status.replaceChildren("The code is that of the book again. ", back);
    }

    /** A button that calls the method of its name. */
    button(action, words) {
      const attributes = { "aria-label": `${words}: ${this.name}`, click: () => this[action]() };
      this.buttons[action] = element("button", attributes, words);
      return this.buttons[action];
    }

    /** Ask Python to do something with this cell.

        @returns {Promise<object | null>}  its answer; null when it was stopped */
    async ask(what, more = {}) {
      const question = {
        do: what,
        with: { cell: this.asked, above: InPage.above(this), ...more },
      };
      this.#ticket = {};
      this.busy(true);
      try {
        const say = (words, share) => this.progress(words, share);
        const answer = await InPage.python.ask(question, say, this.#ticket);
        InPage.work.rememberRun();
        this.tell("");
        return answer;
      } catch (error) {
        this.tell(error.message);
        return null;
      } finally {
        this.busy(false);
      }
    }

    /** Say what is being waited for. */
    progress(words) {
      this.tell(words);
    }

    busy(is) {
      this.region.setAttribute("aria-busy", is);
      const focused = this.region.contains(document.activeElement);
      for (const [action, button] of Object.entries(this.buttons)) {
        button.disabled = is && action !== "stop";
      }
      this.buttons.stop.hidden = !is;
      if (focused && !this.region.contains(document.activeElement)) {
        (is ? this.buttons.stop : (this.buttons.check ?? this.buttons.run)).focus();
      }
    }

    /** The reader has changed the code. */
    changed(code) {
      this.#code = code;
      this.keep({ code });
    }

    /** Keep the work on this cell in the browser. */
    keep(entry) {
      InPage.work.keep(this.keptAs, this.version, entry);
    }
  }

  /** What is used where CodeMirror cannot be loaded. */
  function plainEditor(place, text, label, changed) {
    const rows = text.split("\n").length + 6;
    const area = element("textarea", { "aria-label": label, spellcheck: "false", rows });
    area.value = text;
    area.addEventListener("input", () => changed(area.value));
    place.replaceChildren(area);
    return {
      get text() {
        return area.value;
      },
      set text(wanted) {
        area.value = wanted;
      },
      focus: () => area.focus(),
      select(words) {
        const start = area.value.indexOf(words);
        if (start >= 0) {
          area.setSelectionRange(start, start + words.length);
        }
      },
    };
  }

  InPage.Cell = Cell;
}
