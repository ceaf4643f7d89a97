/* The workbench of the capstone: a reader's functions and known mistakes in the model.

   Texts and numbers of mistakes come with the page. Python is only asked to run functions
   that the reader has solved. */
"use strict";
{
  const { element, withCode } = Elements;
  const { start, loadWeights } = Playground;
  const CHOICES = 4; // of a riddle
  const MEANS = {
    rots: "It rots: every line shows it.",
    "goes off": "It goes off: words fall apart, and you might blame the model’s size.",
    hides: "It hides. You would not have noticed. The tests did.",
    "text only":
      "The perplexity cannot show it: it is computed from given tokens to logits. The text " +
      "is all the evidence there is.",
  };

  start("yours", () => JSON.parse(document.querySelector("#yours-data").textContent), run);

  function run(data, board) {
    const { InPage } = globalThis; // not there in a book without Python
    const part = (name) => board.querySelector(`#yours-${name}`);
    const exercises = InPage?.chapters ? exercisesOf(data.blocks, InPage.chapters) : new Map();
    let dice = 0; // which of the random numbers
    let mistake = null;
    let mine = null; // what Python made of the reader's functions
    const refused = new Map(); // why a solved function is not used

    for (const block of data.blocks) {
      const known = data.mistakes.filter((other) => other.block === block);
      if (known.length > 0) {
        const options = known.map((other) =>
          element("option", { value: data.mistakes.indexOf(other) }, other.title),
        );
        part("mistake").append(element("optgroup", { label: block }, ...options));
      }
    }
    part("mistake").addEventListener("change", () => {
      mistake = data.mistakes[part("mistake").value] ?? null;
      show();
    });
    part("dice").addEventListener("click", () => {
      dice = (dice + 1) % data.dice.length;
      show();
      part("status").textContent = `Random numbers ${dice + 1} of ${data.dice.length}.`;
    });
    part("run").hidden = !InPage?.python;
    part("run").addEventListener("click", runMine);
    part("py").addEventListener("click", () =>
      save("my_transformer.py", mine.program, "text/x-python"),
    );
    part("json").addEventListener("click", () =>
      save("my_transformer.json", JSON.stringify(Playground.files.yours), "application/json"),
    );
    addEventListener("pageshow", showBlocks); // solved on a page that one comes back from
    show();
    showRiddle();

    /** The functions that are solved in this browser, with their code. */
    function solved() {
      const found = new Map();
      for (const [name, { version }] of exercises) {
        const code = InPage.work.recall(name, version)?.best;
        if (code !== undefined) {
          found.set(name, code);
        }
      }
      return found;
    }

    /** Whether all that is kept answers an exercise that has changed since. */
    function isOutdated(name) {
      const { version } = exercises.get(name) ?? {};
      return Boolean(version && InPage.work.recall(name, version)?.old);
    }

    function show() {
      showBlocks();
      showStairs();
      showSheets();
    }

    function showBlocks() {
      const own = solved();
      const items = data.blocks.map((block) => {
        const isYours = own.has(block) && !refused.has(block);
        const kind = mistake?.block === block ? "mistake" : isYours ? "yours" : "ours";
        const item = element(
          "li", {}, link(block), element("span", { class: `yours-tag is-${kind}` }, kind),
        );
        if (refused.has(block)) {
          item.append(element("small", {}, `Yours does not pass here: ${refused.get(block)}`));
        } else if (isOutdated(block)) {
          item.append(element("small", {}, "Yours is to an earlier version: check it again."));
        }
        return item;
      });
      part("blocks").replaceChildren(...items);
      const count = [...own.keys()].filter((name) => !refused.has(name)).length;
      const next = [...exercises.keys()].find((name) => !own.has(name)); // as in the book
      part("count").replaceChildren(`${count} of ${data.blocks.length} are yours.`);
      if (next) {
        part("count").append(" Next: ", link(next));
      }
      part("run").textContent = own.size > 0 ? "Run with my functions" : "Run it in Python";
    }

    /** The name of a block; it leads to its exercise, if that is known. */
    function link(block) {
      const code = element("code", {}, block);
      const found = exercises.get(block);
      const href = `${found?.chapter}.html#exercise-${block}`;
      return found ? element("a", { href }, code) : code;
    }

    function showStairs() {
      const steps = Object.entries(data.stairs);
      if (mistake) {
        steps.push(["with the mistake", mistake.perplexity]);
      }
      const most = Math.log(Math.max(...steps.map(([, value]) => value)));
      const items = steps.map(([name, value], n) => {
        const bar = element("span", { class: "yours-bar", "aria-hidden": "true" });
        bar.style.setProperty("--share", Math.log(value) / most);
        const kind = n >= Object.keys(data.stairs).length ? { class: "is-mistake" } : {};
        return element(
          "li", kind, element("span", {}, `${n > 0 && n < 6 ? "+ " : ""}${name}`), bar,
          element("span", { class: "yours-number" }, number(value)),
        );
      });
      part("stairs").replaceChildren(...items);
    }

    function showSheets() {
      part("right-head").textContent = `all blocks right · ${number(data.right)}`;
      write(part("right"), data.texts[dice]);
      part("other").classList.toggle("is-mistake", mistake !== null);
      if (mistake) {
        const found = number(mistake.perplexity);
        part("other-head").textContent = `${mistake.title} · ${found} · ${mistake.verdict}`;
        write(part("other"), mistake.texts[dice]);
        const same = mistake.texts[dice] === data.texts[dice];
        const letters = same ? " The two texts are the same, letter for letter." : "";
        part("why").replaceChildren(
          element("strong", {}, MEANS[mistake.verdict]), `${letters} The check says: “`,
          ...withCode(mistake.hint), "”",
        );
      } else if (mine) {
        part("other-head").textContent = `${whose(mine.own)} · ${number(mine.perplexity)}`;
        write(part("other"), mine.texts[dice]);
        part("why").textContent = "";
      } else {
        part("other-head").textContent = "the other text";
        part("other").textContent = "Swap in a mistake, or run the model yourself.";
        part("why").textContent = "";
      }
    }

    function whose(own) {
      return own.length === 0 ? "run in your browser" : `${own.length} blocks yours`;
    }

    /** A text with what it began from; what cannot be printed is shown as one character. */
    function write(place, text) {
      const shown = text.replace(/[^\P{C}\n]/gu, "\ufffd");
      const given = shown.startsWith(data.prompt) ? data.prompt : "";
      place.replaceChildren(
        element("span", { class: "yours-given" }, given), shown.slice(given.length),
      );
    }

    async function runMine() {
      const tell = (words) => {
        part("status").textContent = words;
      };
      part("run").disabled = true;
      refused.clear();
      mine = null;
      try {
        await loadWeights();
        for (const [name, source] of solved()) {
          const cell = { name, kind: "exercise", source };
          const said = await ask("block", { cell }, (words) => tell(`${name}: ${words}`));
          if (said.report.score < said.report.max_score) {
            refused.set(name, said.headline);
          }
        }
        const { prompt, ids } = data;
        const file = Playground.files.yours;
        mine = await ask("transformer", { file, prompt, ids, dice: data.dice }, tell);
        tell(verdict(mine));
        part("mistake").value = "";
        mistake = null;
      } catch (error) {
        tell(error.message);
      } finally {
        part("run").disabled = false;
        part("py").hidden = part("json").hidden = mine === null;
        show();
      }
    }

    async function ask(what, asked, tell) {
      InPage.work.rememberRun();
      const answer = await InPage.python.ask({ do: what, with: asked }, tell);
      if (answer.failed) {
        const page = new DOMParser().parseFromString(answer.page, "text/html");
        throw new Error(page.body.textContent.trim());
      }
      return answer;
    }

    function verdict({ own, texts, perplexity }) {
      const same = texts.every((text, n) => text === data.texts[n]);
      const whole = own.length === data.blocks.length;
      const some = own.length === 1 ? "Your function gives" : `Your ${own.length} functions give`;
      const who = whole ? "All blocks are yours, and they give" : some;
      const found = same
        ? `the same text, letter for letter, and the perplexity ${number(perplexity)}.`
        : `another text, and the perplexity ${number(perplexity)}.`;
      const end = whole ? " Nothing in this model is ours but its numbers and the class." : "";
      return own.length === 0
        ? "None of the functions is yours yet: this is the book’s model, run in your browser."
        : `${who} ${found}${end}`;
    }

    /** A mistake is drawn; which block is it in? */
    function showRiddle() {
      const told = data.mistakes.filter(({ texts, verdict: kind }) =>
        kind !== "hides" && texts.every((text, n) => text !== data.texts[n]));
      const secret = drawn(told);
      const blocks = [...new Set(told.map(({ block }) => block))];
      const wrong = shuffled(blocks.filter((block) => block !== secret.block));
      const offered = new Set([secret.block, ...wrong.slice(0, CHOICES - 1)]);
      const text = element("pre", {});
      write(text, drawn(secret.texts));
      const said = element("p", { role: "status" });
      const buttons = data.blocks.filter((block) => offered.has(block)).map((block) => {
        const button = element("button", {}, element("code", {}, block));
        button.addEventListener("click", () => {
          const right = block === secret.block;
          said.replaceChildren(
            element("strong", {}, right ? "Right. " : `No, it was ${secret.block}. `),
            `${secret.title[0].toUpperCase()}${secret.title.slice(1)}: `, ...withCode(secret.hint),
          );
          buttons.forEach((other) => {
            other.disabled = true;
          });
          again.hidden = false;
          again.focus();
        });
        return button;
      });
      const again = element("button", { hidden: "" }, "another one");
      again.addEventListener("click", () => {
        showRiddle();
        part("riddle").querySelector("button").focus();
      });
      part("riddle").replaceChildren(
        element(
          "p", {}, `Somebody has swapped one block. The perplexity is ${
            number(secret.perplexity)}, where ${number(data.right)} is right, and the model writes:`,
        ),
        text,
        element("div", { class: "playground-controls" }, ...buttons, again),
        said,
      );
    }
  }

  /** Where the exercises of the blocks are, and in which version. */
  function exercisesOf(blocks, chapters) {
    const found = new Map();
    for (const [chapter, versions] of Object.entries(chapters)) {
      for (const block of blocks) {
        if (versions[block]) {
          found.set(block, { chapter, version: versions[block] });
        }
      }
    }
    return found;
  }

  const number = (value) => value.toFixed(value < 1000 ? 1 : 0);
  const drawn = (list) => list[Math.floor(Math.random() * list.length)];
  const shuffled = (list) =>
    list.map((one) => [Math.random(), one]).sort(([a], [b]) => a - b).map(([, one]) => one);

  function save(name, text, type) {
    const href = URL.createObjectURL(new Blob([text], { type }));
    element("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  }
}
