/* The page on which a date is read: its controls, and what they change. */
"use strict";
{
  const {
    Weights, Translator, UnknownCharacters, row, softmax,
    start, element, percent, showBars, showStrip, headSwitch, offerExam, doubts,
  } = Playground;

  const SURE = 0.9; // a character of less probability looks unsure

  start("dates", load, run);

  function load() {
    const weights = new Weights("dates", "Translator");
    const model = new Translator(weights);
    model.heldOut = weights.facts.held_out; // pairs of source and target
    return model;
  }

  function run(model, board) {
    const part = (name) => board.querySelector(`#dates-${name}`);
    const chosen = (name) => board.querySelector(`[name=dates-${name}]:checked`).value;
    const off = new Set(); // heads switched off, such as "cross 0 3"
    let place = 5; // the first character of the month
    let done = null; // what the model did with the source
    const heads = makeHeads();

    for (const [source] of model.heldOut.slice(0, 24)) {
      part("example").append(element("option", {}, source));
    }
    part("example").addEventListener("change", () => {
      const source = part("example").value;
      part("source").value = source;
      part("truth").value = new Map(model.heldOut).get(source) ?? part("truth").value;
      read();
    });
    part("source").addEventListener("input", () => {
      part("example").selectedIndex = 0;
      read();
    });
    part("truth").addEventListener("input", read);
    part("forcing").addEventListener("change", () => {
      const wanted = part("forcing").checked;
      part("truth").disabled = !wanted;
      if (wanted && part("truth").value === "" && done) {
        part("truth").value = model.text(done.written);
      }
      read();
    });
    part("places").addEventListener("change", () => goTo(Number(chosen("place"))));
    part("back").addEventListener("click", () => goTo(place - 1));
    part("forward").addEventListener("click", () => goTo(place + 1));
    part("temperature").addEventListener("input", showPlace);
    part("kind").addEventListener("change", showHeads);
    part("query").addEventListener("input", showHeads);
    part("all-on").addEventListener("click", () => {
      off.clear();
      read();
    });
    offerExam(
      model.heldOut,
      ([source, target]) => translation(source) === target,
      { button: part("exam"), progress: part("progress"), result: part("score") },
      () => (off.size ? `with ${off.size} of 24 heads switched off` : "with all heads"),
    );
    read();

    function translation(source) {
      return model.text(model.translate(source, { off }).written);
    }

    /** Translate what is in the field, or say what is wrong with it. */
    function read() {
      const source = part("source").value.normalize("NFC");
      const truth = part("forcing").checked ? part("truth").value : null;
      const problem =
        problemWith(source, model.source) || problemWith(truth ?? "", model.target);
      const last = done ? ` Below is still what it wrote for “${done.source.join("")}”.` : "";
      part("problem").textContent = problem && problem + last;
      part("answer").classList.toggle("is-stale", problem !== "");
      if (problem) {
        return;
      }
      done = { ...model.translate(source, { off, truth }), source: [...source] };
      showResult(source, truth === null);
      part("query").max = done.source.length - 1;
      part("all-on").disabled = off.size === 0;
      showPlaces();
      goTo(place);
    }

    /** The answer; what is unsure in it, or cannot be right, looks so.

        @param {boolean} isFree  it wrote by itself, so the answer is about the source */
    function showResult(source, isFree) {
      const text = model.text(done.written);
      const found = isFree && text ? doubts(source, text) : [];
      const shares = [...text].map((_, t) => softmax(row(done.logits, t))[done.written[t]]);
      const characters = [...text].map((character, t) => {
        const span = element("span", {}, character);
        span.classList.toggle("is-unsure", shares[t] < SURE);
        span.classList.toggle("is-doubted", found.some(({ from, to }) => from <= t && t < to));
        return span;
      });
      part("result").replaceChildren(...(text ? characters : ["nothing"]));
      const reasons = found.map(({ why }) => why);
      if (shares.some((share) => share < SURE)) {
        const least = percent(Math.min(...shares));
        reasons.push(`its least sure character had a probability of ${least}`);
      }
      part("doubts").textContent = reasons.length ? `Doubtful: ${reasons.join("; ")}.` : "";
    }

    /** What to tell the reader about a text that the model cannot read, or nothing. */
    function problemWith(text, vocabulary) {
      if (text === "" && vocabulary === model.source) {
        return "Type a date.";
      }
      try {
        model.ids(text, vocabulary);
        return "";
      } catch (error) {
        if (!(error instanceof UnknownCharacters)) {
          throw error;
        }
        const quoted = error.characters.map((c) => `“${c}”`).join(", ");
        const known = vocabulary.join("").trim();
        return `The model has no ids for ${quoted}. It knows the space and ${known}`;
      }
    }

    /** A choice for each place: above what it has read, below what it writes. */
    function showPlaces() {
      const labels = done.prefix.map((id, t) => {
        const name = "dates-place";
        const radio = element("input", { type: "radio", name, value: t });
        const reads = element("span", { class: "playground-reads" }, symbol(id));
        const next = symbol(done.written[t]);
        const writes = element("span", { class: "playground-writes" }, next);
        const spoken = `place ${t + 1}: has read ${symbol(id)}, writes ${next}`;
        radio.setAttribute("aria-label", spoken);
        return element("label", {}, radio, reads, "↓", writes);
      });
      const hadFocus = part("places").contains(document.activeElement);
      part("places").replaceChildren(...labels);
      if (hadFocus) {
        labels[Math.min(place, labels.length - 1)].firstChild.focus();
      }
    }

    /** Name of an id of the target; the space would not be seen. */
    function symbol(id) {
      return model.name(id) === " " ? "␣" : model.name(id);
    }

    function goTo(next) {
      place = Math.max(0, Math.min(next, done.prefix.length - 1));
      const labels = [...part("places").children];
      labels[place].firstChild.checked = true;
      labels.forEach((label, t) => label.classList.toggle("is-later", t > place));
      part("back").disabled = place === 0;
      part("forward").disabled = place === labels.length - 1;
      showPlace();
      showHeads();
    }

    /** The probabilities at the place, at the chosen temperature. */
    function showPlace() {
      const temperature = Number(part("temperature").value);
      const logits = row(done.logits, place);
      const shares = softmax(logits, temperature);
      showBars(part("shares"), shares.map((_, id) => symbol(id)), shares);
      const [reads, writes] = [done.prefix[place], done.written[place]];
      part("degrees").textContent = temperature.toFixed(1);
      part("status").textContent =
        `Place ${place + 1} of ${done.prefix.length} has read ${symbol(reads)} and ` +
        `writes ${symbol(writes)}, with probability ${percent(shares[writes])}.`;
    }

    /** What each head of the chosen kind reads. */
    function showHeads() {
      const kind = chosen("kind");
      const ofEncoder = kind === "encoder";
      part("query-field").hidden = !ofEncoder;
      const query = ofEncoder ? Number(part("query").value) : place;
      part("query-text").textContent = `${query + 1}, ${done.source[query] ?? ""}`;
      const read = done.prefix.slice(0, place + 1); // it sees no more
      const keys = kind === "decoder" ? read.map(symbol) : done.source;
      for (const { layer, head, box, strip } of heads) {
        const weights = done[kind][layer][head][query].slice(0, keys.length);
        showStrip(strip, keys, weights);
        box.checked = !off.has(`${kind} ${layer} ${head}`);
        strip.classList.toggle("is-off", !box.checked);
      }
    }

    /** A row for each layer and head: its switch, and a strip for what it reads. */
    function makeHeads() {
      const numbers = [...Array(8).keys()]; // 2 layers of 4 heads
      return numbers.map((n) => makeHead(Math.floor(n / 4), n % 4));
    }

    function makeHead(layer, head) {
      const strip = element("span", { class: "playground-strip" });
      const name = `layer ${layer + 1}, head ${head + 1}`;
      const { box, label } = headSwitch(name, (isOff) => {
        off[isOff ? "add" : "delete"](`${chosen("kind")} ${layer} ${head}`);
        read();
      });
      part("heads").append(element("li", {}, label, strip));
      return { layer, head, box, strip };
    }
  }
}
