/* The page on which a date is read: its controls, and what they change. */
"use strict";
{
  const { element } = Elements;
  const {
    Weights, Translator, Answer, problemWith, learnMonths, row, softmax, start, loadWeights,
    percent, showBars, largestOf, offerExam, Scene, Pair, numbersOfPair, Heads, paintStrip,
    settled,
  } = Playground;

  const OUTPUT = "Queries: the output (small: the decoder's input)";
  const KINDS = {
    cross: { keys: "Keys: the source", queries: OUTPUT },
    decoder: { keys: "Keys: what the decoder has read so far", queries: OUTPUT },
    encoder: { keys: "Keys: the source", queries: "Queries: the source as well" },
  };
  const STEP = 900; // milliseconds from one position to the next, while it plays
  const SPOKEN = { " ": "space", "-": "hyphen", ".": "full stop", ",": "comma" };
  const spoken = (character) => SPOKEN[character] ?? character;
  const largest = (numbers) => numbers.indexOf(Math.max(...numbers));

  const heads = new Heads("dates", { layers: 2, heads: 4 });
  start("dates", load, run);

  async function load(pause) {
    await loadWeights();
    const weights = new Weights("dates", "Translator");
    const model = new Translator(weights);
    model.heldOut = weights.facts.held_out; // pairs of source and target
    // What a browser does for the first time takes it long: here in steps, for a line
    // that nobody asked for, and then at once.
    const [[source]] = model.heldOut;
    for (const work of [model.translating(source), learnMonths()]) {
      for (const _ of work) {
        await pause();
      }
    }
    return model;
  }

  async function run(model, board, pause) {
    const part = (name) => board.querySelector(`#dates-${name}`);
    const off = new Set(); // heads switched off, such as "cross 0 3"
    const shown = {
      kind: "cross", layer: 0, head: 0,
      position: 5, // the first character of the month
      letter: 0, // the query where the encoder reads the source
      key: null, // null: the one that the query reads most
    };
    let done = null; // what the model did with the source
    let answer = null; // what it wrote
    let playing = null;
    const scene = new Scene(part("scene"), "dates", {
      query: (n) => choose({ [queryName()]: n }),
      key: (t) => choose({ key: t }),
    });
    const pair = new Pair(part("pair"));
    const say = settled((text) => (part("said").textContent = text));

    for (const [source] of model.heldOut.slice(0, 24)) {
      part("example").append(element("option", {}, source));
    }
    heads.chosen = (layer, head) => choose({ layer, head });
    part("example").addEventListener("change", () => {
      const source = part("example").value;
      part("source").value = source;
      part("truth").value = new Map(model.heldOut).get(source) ?? part("truth").value;
      readAnew();
    });
    part("source").addEventListener("input", () => {
      part("example").selectedIndex = 0;
      readAnew();
    });
    part("truth").addEventListener("input", readAnew);
    part("forcing").addEventListener("change", () => {
      if (part("forcing").checked && part("truth").value === "") {
        part("truth").value = model.text(done.written);
      }
      readAnew();
    });
    part("kind").addEventListener("change", ({ target }) =>
      choose({ kind: target.value, key: null }),
    );
    part("back").addEventListener("click", () => step(-1));
    part("forward").addEventListener("click", () => step(1));
    part("play").addEventListener("click", () => play(playing === null));
    part("temperature").addEventListener("input", showNext);
    part("on").addEventListener("change", () => {
      off[part("on").checked ? "delete" : "add"](headName());
      readAnew();
    });
    part("all-on").addEventListener("click", () => {
      off.clear();
      readAnew();
    });
    offerExam(
      model.heldOut,
      ([source, target]) => model.text(model.translate(source, { off }).written) === target,
      { button: part("exam"), progress: part("progress"), result: part("score") },
      () => (off.size ? `with ${off.size} of 24 heads switched off` : "with all heads"),
    );
    if (translate()) {
      await pause();
      showAnswer();
      await pause();
      show();
    }

    /* What is shown. */

    function queryName() {
      return shown.kind === "encoder" ? "letter" : "position";
    }

    function headName(layer = shown.layer, head = shown.head) {
      return `${shown.kind} ${layer} ${head}`;
    }

    /** The reader chose something: show it. */
    function choose(changes) {
      play(false);
      Object.assign(shown, changes);
      show();
    }

    /** The reader changed what the model reads, or its heads. */
    function readAnew() {
      play(false);
      read();
    }

    function step(by) {
      const name = queryName();
      choose({ [name]: shown[name] + by });
      say(part("status").textContent);
    }

    /** Step through the queries, from the first after the last, until stopped. */
    function play(isWanted) {
      clearInterval(playing);
      playing = null;
      part("play").textContent = isWanted ? "pause" : "play";
      if (isWanted) {
        const name = queryName();
        const advance = () => {
          shown[name] += 1;
          show();
          if (shown[name] === count() - 1) {
            play(false);
            say(part("status").textContent);
          }
        };
        if (shown[name] >= count() - 1) {
          shown[name] = -1;
          advance();
        }
        playing = setInterval(advance, STEP);
      }
    }

    function count() {
      return shown.kind === "encoder" ? done.source.length : done.prefix.length;
    }

    /** Translate what is in the field, and show what comes of it. */
    function read() {
      if (translate()) {
        showAnswer();
        show();
      }
    }

    /** Translate what is in the field, or say what is wrong with it and return false. */
    function translate() {
      const source = part("source").value.normalize("NFC");
      const truth = part("forcing").checked ? part("truth").value : null;
      part("truth").disabled = truth === null;
      const problem =
        problemWith(model, source, model.source) ||
        problemWith(model, truth ?? "", model.target);
      const last = done ? `Below is still what it wrote for “${done.source.join("")}”. ` : "";
      part("problem").textContent = problem && last + problem;
      part("answer").classList.toggle("is-stale", problem !== "");
      if (problem) {
        say(part("problem").textContent);
        return false;
      }
      if (done?.source.join("") !== source) {
        shown.key = null;
      }
      done = { ...model.translate(source, { off, truth }), source: [...source] };
      part("all-on").disabled = off.size === 0;
      answer = new Answer(model, done, truth === null ? source : null);
      return true;
    }

    /** The answer in one piece, and the reasons to doubt it. */
    function showAnswer() {
      const { text, reasons } = answer;
      const characters = [...text].map((character, t) =>
        element("span", { class: answer.looks(t) }, character),
      );
      part("result").replaceChildren(...(text ? characters : ["nothing"]));
      part("doubts").textContent = reasons;
      say(`It writes ${text || "nothing"}. ${reasons}`);
    }

    /** Name of an id of the target, to be seen; a space would not be. */
    function symbol(id) {
      return model.name(id) === " " ? "␣" : model.name(id);
    }

    /** Everything that depends on what is chosen. */
    function show() {
      const last = done.prefix.length - 1;
      shown.position = Math.max(0, Math.min(shown.position, last));
      shown.letter = Math.max(0, Math.min(shown.letter, done.source.length - 1));
      const query = shown[queryName()];
      const weights = seenBy(done[shown.kind][shown.layer][shown.head]);
      const read = weights[query];
      if (shown.key >= read.length) {
        shown.key = null;
      }
      const key = shown.key ?? largest(read);
      const keys = keysOf(query);
      board.querySelector(`[name=dates-kind][value=${shown.kind}]`).checked = true;
      scene.show(KINDS[shown.kind], keys, queries(weights, keys), weights, query, key);
      heads.show(paintHead, shown, (layer, head) => off.has(headName(layer, head)));
      part("on").checked = !off.has(headName());
      part("back").disabled = query === 0;
      part("forward").disabled = query === count() - 1;
      showPair(query, key, keys, read);
      showNext();
    }

    /** The weights of each query on the keys that it can see. */
    function seenBy(weights) {
      return shown.kind === "decoder" ? weights.map((read, n) => read.slice(0, n + 1)) : weights;
    }

    function keysOf(query) {
      if (shown.kind === "decoder") {
        return done.prefix.map((id, t) => ({
          text: symbol(id), spoken: spoken(model.name(id)), off: t > query,
          kind: id === done.prefix[0] ? "is-word" : "",
        }));
      }
      return done.source.map((character) => ({ text: character, spoken: spoken(character) }));
    }

    function queries(weights, keys) {
      const names = keys.map(({ spoken }) => spoken);
      const most = (n) => `reads most: ${largestOf(names.slice(0, weights[n].length), weights[n])}`;
      if (shown.kind === "encoder") {
        return keys.map((cell, n) => ({ ...cell, spoken: `${cell.spoken}, ${most(n)}` }));
      }
      return done.written.map((id, t) => ({
        text: symbol(id),
        note: symbol(done.prefix[t]),
        kind: `${id < 3 ? "is-word" : ""} ${answer.looks(t)} ${t > shown.position ? "is-later" : ""}`,
        spoken:
          `position ${t + 1}: has read ${spoken(model.name(done.prefix[t]))}, ` +
          `writes ${spoken(model.name(id))}, ${most(t)}`,
      }));
    }

    function paintHead(picture, layer, head) {
      const query = shown[queryName()];
      const weights = seenBy(done[shown.kind][layer][head])[query];
      paintStrip(picture, weights);
      const names = keysOf(query).map(({ spoken }) => spoken);
      return `reads most: ${largestOf(names.slice(0, weights.length), weights)}`;
    }

    /** The numbers behind one weight. */
    function showPair(query, key, keys, read) {
      const seen = (character) => `“${character === " " ? "␣" : character}”`;
      const asks =
        shown.kind === "encoder"
          ? `${seen(done.source[query])} (${query + 1})`
          : `position ${query + 1}`;
      const name = seen(keys[key].text);
      const parts = done.parts[shown.kind][shown.layer];
      const numbers = numbersOfPair(parts, shown.head, query, key, read.length);
      pair.show(
        `Head ${shown.layer + 1}.${shown.head + 1}: query of ${asks}, key of ${name} (${key + 1})`,
        numbers, { key: name }, off.has(headName()),
      );
    }

    /** The probabilities of the next character, at the chosen temperature. */
    function showNext() {
      const temperature = Number(part("temperature").value);
      const shares = softmax(row(done.logits, shown.position), temperature);
      showBars(part("shares"), shares.map((_, id) => symbol(id)), shares);
      const [reads, writes] = [done.prefix[shown.position], done.written[shown.position]];
      part("degrees").textContent = temperature.toFixed(1);
      part("status").textContent =
        `Position ${shown.position + 1} of ${done.prefix.length} has read “${symbol(reads)}” and ` +
        `writes “${symbol(writes)}”, with probability ${percent(shares[writes])}.`;
    }
  }
}
