/* Cards for five minutes: dealt here, made by autograder/practice.py. What is due, and
   which chapters were opened, stays in this browser. A card with the code of an exercise
   waits until that is solved: here, or in a notebook, as the reader says. */
"use strict";

{
  const { element, withCode } = Elements;
  const KEY = "attention-from-scratch-practice";
  const DAYS = [1, 3, 7, 21, 60]; // until a card comes again, by how often it was known
  const ROUND = 6; // cards
  const DAY = 86_400_000; // milliseconds
  const SCRIPT = document.currentScript.src;
  const HAVE_NO_CODE = ["predict", "which"];
  const KINDS = {
    line: "Find the line",
    order: "Put in order",
    shape: "Follow the shapes",
    predict: "Predict",
    which: "Which mistake?",
  };

  /** {opened: [chapter], solved: [chapter], cards: {id: [box, day when it is due]}} */
  const recall = () => ({ opened: [], solved: [], cards: {}, ...Kept.recall(KEY) });

  /** The cards of a chapter. */
  async function load(name) {
    await Loader.script(new URL(`practice/${name}.js`, SCRIPT));
    const { title, cards } = globalThis.Practice.chapters[name];
    return cards.map((card) => ({ ...card, chapter: name, title }));
  }

  /** Cards that may be shown, and those that would give an exercise away. */
  async function parted(cards) {
    if (!globalThis.InPage?.work) {
      await Loader.script(new URL("in_page/work.js", SCRIPT));
    }
    const kept = recall();
    const isOpen = ({ id, kind, chapter, exercise }) => HAVE_NO_CODE.includes(kind)
      || kept.cards[id] || kept.solved.includes(chapter) || InPage.work.wasSolved(exercise);
    return [cards.filter(isOpen), cards.filter((card) => !isOpen(card))];
  }

  function shuffled(list) {
    const mixed = [...list];
    for (let last = mixed.length - 1; last > 0; last -= 1) {
      const other = Math.floor(Math.random() * (last + 1));
      [mixed[last], mixed[other]] = [mixed[other], mixed[last]];
    }
    return mixed;
  }

  /** Cards to deal now: those that are due, then new ones, of different kinds. */
  function dealt(cards, today) {
    const kept = recall().cards;
    const due = shuffled(cards.filter(({ id }) => kept[id] && kept[id][1] <= today));
    const fresh = shuffled(cards.filter(({ id }) => !kept[id]));
    const seen = new Map();
    for (const card of fresh) {
      seen.set(card.kind, (seen.get(card.kind) ?? 0) + 1);
      card.turn = seen.get(card.kind);
    }
    fresh.sort((one, other) => one.turn - other.turn);
    return [...due, ...fresh].slice(0, ROUND);
  }

  class Round {
    constructor(place) {
      this.place = place;
      this.message = place.querySelector(".practice-message");
      this.board = element("div", { class: "practice-board" });
      place.append(this.board);
      this.welcome();
    }

    get chapters() {
      const own = this.place.dataset.chapter;
      return own ? [own] : recall().opened;
    }

    welcome() {
      if (!this.chapters.length) {
        const first = element("a", { href: "simplified_attention.html" }, "a chapter");
        this.message.replaceChildren("Open ", first, " first."); // one line on a phone
        return;
      }
      this.message.textContent = "";
      this.board.replaceChildren(this.button("Start", () => this.start()));
    }

    button(words, press, kind = "practice-go") {
      return element("button", { class: kind, click: press }, words);
    }

    async start() {
      this.message.textContent = "Loading the cards …";
      try {
        const loaded = await Promise.all(this.chapters.map(load));
        const [open, waiting] = await parted(loaded.flat());
        this.cards = dealt(open, Math.floor(Date.now() / DAY));
        this.waiting = waiting;
      } catch (error) {
        this.message.textContent = error.message;
        return;
      }
      this.message.textContent = "";
      this.number = 0;
      this.known = 0;
      this.next();
    }

    next() {
      if (this.number === this.cards.length) {
        this.finish();
        return;
      }
      this.card = this.cards[this.number];
      this.number += 1;
      this.missed = false;
      const { id, kind, title, ask } = this.card;
      const count = `${this.number} of ${this.cards.length}`;
      this.task = element("div", { class: "practice-task", "data-card": id });
      const head = element("p", { class: "practice-head", tabindex: "-1" },
        `${KINDS[kind]} · ${title} · ${count}`);
      this.board.replaceChildren(head, element("p", { class: "practice-ask" }, ask), this.task);
      this.message.textContent = "";
      head.focus({ preventScroll: this.number === 1 });
      const show = { line: "tapLine", order: "putInOrder" }[kind] ?? "look";
      this[show]();
    }

    /** Code to look at, then options. */
    look() {
      this.task.append(this.code());
      this.choose();
    }

    code() {
      return element("pre", { tabindex: "0" }, (this.card.code ?? []).join("\n"));
    }

    tapLine() {
      const list = element("ol", { class: "practice-lines" });
      const buttons = this.card.code.map((text, number) =>
        this.button(text || " ", () => {
          if (number === this.card.line) {
            buttons.forEach((one) => { one.disabled = true; });
            buttons[number].classList.add("practice-found");
            this.tell("That is the line.");
            this.choose();
          } else {
            buttons[number].disabled = true;
            this.miss("Not this line. Read on.");
          }
        }, "practice-line"));
      list.append(...buttons.map((button) => element("li", {}, button)));
      this.task.append(list);
    }

    choose() {
      const { choose, options, says } = this.card;
      const right = options[0];
      const made = shuffled(options).map((text) => {
        const inside = this.card.kind === "which" ? text : element("code", {}, text);
        const button = this.button("", () => {
          if (text === right) {
            made.forEach((one) => { one.disabled = true; });
            button.classList.add("practice-found");
            this.done(says);
          } else {
            button.disabled = true;
            button.classList.add("practice-not");
            this.miss("Not this one.");
          }
        }, "practice-option");
        button.append(inside);
        return button;
      });
      const group = element("div", { class: "practice-options", role: "group", "aria-label": choose },
        element("p", {}, choose), ...made);
      this.task.append(group);
      if (this.card.kind === "line") {
        made[0].focus();
      }
    }

    putInOrder() {
      const { code, order, extra, needs = [], says } = this.card;
      const chosen = [];
      const above = element("ol", { class: "practice-lines" });
      const below = element("div", { class: "practice-options" });
      const check = this.button("Check", () => {
        const numbers = chosen.map((text) => order.indexOf(text));
        const whole = numbers.length === order.length && !numbers.includes(-1);
        const inOrder = needs.every(([a, b]) => numbers.indexOf(a) < numbers.indexOf(b));
        if (whole && inOrder) {
          above.querySelectorAll("button").forEach((one) => { one.disabled = true; });
          check.remove();
          below.remove();
          this.done(says);
        } else {
          this.miss(whole ? "These are the lines; something is used before it is made."
            : "A line is wrong, or one is missing. Tap a line to put it back.");
        }
      });
      const lines = shuffled([...order, ...extra]);
      const draw = () => {
        above.replaceChildren(...chosen.map((text) => element("li", {},
          this.button(text, () => { chosen.splice(chosen.indexOf(text), 1); draw(); }, "practice-line"))));
        below.replaceChildren(...lines.filter((text) => !chosen.includes(text)).map((text) =>
          this.button(text, () => { chosen.push(text); draw(); }, "practice-line practice-loose")));
      };
      draw();
      this.task.append(element("pre", { tabindex: "0" }, code.join("\n")), above, below, check);
    }

    tell(words) {
      this.message.textContent = words;
    }

    miss(words) {
      this.missed = true;
      this.tell(words);
    }

    /** Say what there is to say, and remember how it went. */
    done(says) {
      this.tell(this.missed ? "Now it is right." : "Right.");
      this.known += Number(!this.missed);
      const kept = recall();
      const today = Math.floor(Date.now() / DAY);
      const box = this.missed ? 0 : Math.min((kept.cards[this.card.id]?.[0] ?? 0) + 1, DAYS.length);
      kept.cards[this.card.id] = [box, today + DAYS[Math.max(box - 1, 0)]];
      Kept.keep(KEY, kept);
      const go = this.button("Next", () => this.next());
      this.task.append(element("p", { class: "practice-says" }, ...withCode(says)), go);
      go.focus();
    }

    finish() {
      const all = this.cards.length;
      this.message.textContent = all
        ? `${this.known} of ${all} at the first try. The others come back tomorrow.`
        : "Nothing is due today. Open another chapter for new cards, or come back tomorrow.";
      this.board.replaceChildren(
        ...(all ? [this.button("More cards", () => this.start())] : []),
        ...(this.waiting.length ? this.whatWaits() : []),
      );
      this.board.querySelector("button")?.focus();
    }

    /** Which exercise to solve for more cards. */
    whatWaits() {
      const [{ chapter, exercise }] = this.waiting;
      const page = this.place.dataset.chapter ? "" : `${chapter}.html`;
      const link = element("a", { href: `${page}#exercise-${exercise}` }, exercise);
      const unlock = () => {
        const solved = this.waiting.map((card) => card.chapter);
        Kept.keep(KEY, { ...recall(), solved: [...new Set([...recall().solved, ...solved])] });
        this.start();
      };
      return [
        element("p", {}, "Other cards show the code of exercises. They come as you solve these: ",
          "the next is ", link, "."),
        this.button("I have solved them in a notebook", unlock, "practice-option"),
      ];
    }
  }

  for (const place of document.querySelectorAll(".practice")) {
    const { chapter } = place.dataset;
    const kept = recall();
    if (chapter && !kept.opened.includes(chapter)) {
      Kept.keep(KEY, { ...kept, opened: [...kept.opened, chapter] }, { quietly: true });
    }
    new Round(place);
  }
}
