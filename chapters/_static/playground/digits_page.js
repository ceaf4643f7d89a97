/* The page on which a digit is drawn: its controls, and what they change. */
"use strict";
{
  const { element } = Elements;
  const {
    Weights, VisionTransformer, Board, rasterise, normalise, pixels, rollout, softmax, start,
    loadWeights, percent, showBars, largestOf, offerExam, Patches, paintMap, PLACES, Heads,
    Pair, numbersOfPair, settled,
  } = Playground;
  const [HEADS_DARKEST, ROLLOUT_DARKEST] = [0.5, 0.15]; // shares shown darkest
  const DIGITS = [..."0123456789"];
  const PATCHES = [...Array(16).keys()];
  const CLASS = 16; // the class token's place, after those of the patches
  const LEVELS = 16; // of a pixel, from paper to ink
  const largest = (numbers) => numbers.indexOf(Math.max(...numbers));

  const patches = new Patches("digits");
  const heads = new Heads("digits", { layers: 4, heads: 4 });
  start("digits", load, run);

  async function load() {
    await loadWeights();
    const weights = new Weights("digits", "VisionTransformer");
    const model = new VisionTransformer(weights);
    const images = weights.facts.test_images; // each 64 numbers from 0 to 16
    const labels = weights.facts.test_labels;
    model.test = images.map((image, i) => ({
      image: Float32Array.from(image, (ink) => ink / LEVELS), label: labels[i],
    }));
    model.drawn = weights.facts.drawn.map((strokes, i) => ({
      strokes: strokes.map(pointsOf), label: weights.facts.drawn_labels[i],
    }));
    model.measured = {
      tested: [weights.facts.test_accuracy, model.test.length],
      drawn: [weights.facts.drawn_accuracy, model.drawn.length],
    };
    return model;
  }

  /** The points [x, y] of a stroke that is given as x, y, x, y, ... in tenths of dots. */
  function pointsOf(tenths) {
    const numbers = tenths.map((tenth) => tenth / 10);
    return numbers.flatMap((x, n) => (n % 2 === 0 ? [[x, numbers[n + 1]]] : []));
  }

  function run(model, page) {
    const part = (name) => page.querySelector(`#digits-${name}`);
    const say = settled((text) => (part("said").textContent = text));
    const board = new Board(part("canvas"), part("pen"), drawn, (text) =>
      say(`${text}. ${part("result").textContent}`),
    );
    const options = { order: PATCHES, positions: true, hidden: new Set(), off: new Set() };
    const shown = { layer: 3, head: 0, patch: null }; // null: the one that is read most
    let example = null; // an image that is shown in place of a drawing
    let image = null; // what the model gets
    let done = null; // what it did
    const pair = new Pair(part("pair"));

    for (const digit of DIGITS) {
      part("example").append(element("option", { value: digit }, `a ${digit}`));
    }
    patches.chosen = (patch) => choose({ patch });
    heads.chosen = (layer, head) => choose({ layer, head });
    part("example").addEventListener("change", showExample);
    part("next").addEventListener("click", showExample);
    part("undo").addEventListener("click", () => board.undo());
    part("clear").addEventListener("click", () => board.undo(true));
    part("fit").addEventListener("change", () => see(true));
    part("rollout").addEventListener("change", () => choose({ layer: null, head: null }));
    part("positions").addEventListener("change", () => {
      options.positions = !part("positions").checked;
      see(true);
    });
    part("shuffle").addEventListener("click", () => {
      const keys = PATCHES.map(() => Math.random());
      options.order = PATCHES.toSorted((a, b) => keys[a] - keys[b]);
      see(true);
    });
    part("in").addEventListener("change", () => {
      options.hidden[part("in").checked ? "delete" : "add"](place());
      shown.patch = place();
      see(true);
    });
    part("on").addEventListener("change", () => {
      options.off[part("on").checked ? "delete" : "add"](headName());
      see(true);
    });
    part("reset").addEventListener("click", () => {
      reset();
      see(true);
    });
    for (const [name, [share, count]] of Object.entries(model.measured)) {
      part(name).textContent = `${percent(share)} of ${count}`;
    }
    const reads = (image, label) => largest(model.forward(image, options).logits) === label;
    offerExam(
      model.test,
      ({ image, label }) => reads(image, label),
      { button: part("exam"), progress: part("progress"), result: part("score") },
      conditions,
    );
    offerExam(
      model.drawn,
      ({ strokes, label }) => reads(pixels(dotsOf(strokes)), label),
      {
        button: part("drawn-exam"),
        progress: part("drawn-progress"),
        result: part("drawn-score"),
      },
      () => `${part("fit").checked ? "prepared" : "as drawn"}, ${conditions()}`,
    );
    part("example").value = 3;
    showExample();

    /* What is shown. */

    function headName(layer = shown.layer, head = shown.head) {
      return `${layer} ${head}`;
    }

    function isRollout() {
      return shown.layer === null;
    }

    function reset() {
      options.order = PATCHES;
      options.hidden.clear();
      options.off.clear();
      options.positions = true;
    }

    /** The reader chose something: show it. */
    function choose(changes) {
      Object.assign(shown, changes);
      show();
    }

    /** The board has changed: what was drawn takes the place of an example. */
    function drawn(complete) {
      example = null;
      part("truth").textContent = "";
      see(complete);
    }

    /** Another test image of the chosen digit. */
    function showExample() {
      const digit = Number(part("example").value);
      const all = model.test.filter(({ label }) => label === digit);
      example = all[(all.indexOf(example) + 1) % all.length];
      board.strokes = [];
      part("truth").textContent = `A test image that its writer meant as a ${digit}.`;
      see(true);
    }

    /** The dots of strokes, as they are or prepared as the data set's images were. */
    function dotsOf(strokes) {
      return part("fit").checked ? normalise(strokes) : rasterise(strokes);
    }

    /** Run the model on what is there, and show everything.

        @param {boolean} complete  false in the middle of a stroke: do not speak yet */
    function see(complete) {
      image = example?.image ?? pixels(dotsOf(board.strokes));
      board.show(example?.image ?? rasterise(board.strokes));
      part("positions").checked = !options.positions;
      const isBlank = image.every((ink) => ink === 0);
      for (const name of ["patches", "seen", "pair"]) {
        part(name).classList.toggle("is-blank", isBlank);
        part(name).inert = isBlank;
      }
      done = model.forward(image, options);
      const shares = softmax(done.logits);
      showBars(part("shares"), DIGITS, isBlank ? null : shares);
      show();
      if (complete) {
        const winner = largest(shares);
        const how = changes() && ` (${changes()})`;
        const text = isBlank
          ? "The board is empty: draw a digit."
          : `The model says ${winner} with ${percent(shares[winner])}${how}.`;
        part("result").textContent = text;
        say(text);
      }
    }

    function conditions() {
      return changes() || "nothing changed";
    }

    /** What was changed in the model, in words; empty if nothing was. */
    function changes() {
      return [
        options.order !== PATCHES && "patches shuffled",
        !options.positions && "no positions",
        options.hidden.size > 0 && `${options.hidden.size} of 16 patches taken out`,
        options.off.size > 0 && `${options.off.size} of 16 heads off`,
      ].filter(Boolean).join(", ");
    }

    /** What the class token reads of each place, and at last of itself. */
    function weightsOf(layer, head) {
      const [itself, ...read] =
        layer === null ? [undefined, ...rollout(done.weights)] : done.weights[layer][head][0];
      const all = Array(CLASS + 1);
      done.places.forEach((place, n) => (all[place] = read[n]));
      all[CLASS] = itself;
      return all;
    }

    /** The place that is chosen, or else the patch that is read most. */
    function place() {
      const weights = weightsOf(shown.layer, shown.head);
      return shown.patch ?? largest(PATCHES.map((place) => weights[place] ?? 0));
    }

    /** Everything that depends on what is chosen. */
    function show() {
      const weights = weightsOf(shown.layer, shown.head);
      const darkest = isRollout() ? ROLLOUT_DARKEST : HEADS_DARKEST;
      patches.show(image, options.order, options.hidden, weights, darkest, place());
      part("darkest").textContent = percent(darkest, 0);
      part("rollout").checked = isRollout();
      heads.show(paintHead, shown, (layer, head) => options.off.has(headName(layer, head)));
      part("on").disabled = isRollout();
      part("on").checked = !options.off.has(headName());
      part("in").disabled = place() === CLASS;
      part("in").checked = !options.hidden.has(place());
      showPair(weights);
    }

    function paintHead(picture, layer, head) {
      const weights = weightsOf(layer, head);
      paintMap(picture, weights, HEADS_DARKEST);
      const places = done.places;
      const words = places.map((place) => PLACES[place]);
      return `reads most: ${largestOf(words, places.map((place) => weights[place]))}`;
    }

    /** The numbers behind one weight, or the share of a rollout. */
    function showPair(weights) {
      const name = PLACES[place()];
      const weight = weights[place()];
      part("pair").classList.toggle("is-without-numbers", isRollout() || weight === undefined);
      if (weight === undefined) {
        pair.say(`${name}: ${place() === CLASS ? "left out of the rollout" : "taken out of the sequence"}`);
      } else if (isRollout()) {
        pair.say(`Rollout: ${percent(weight)} of the class token came from ${name}`);
      } else {
        const token = place() === CLASS ? 0 : done.places.indexOf(place()) + 1;
        const numbers = numbersOfPair(done.parts[shown.layer], shown.head, 0, token);
        pair.show(
          `Head ${shown.layer + 1}.${shown.head + 1}: query of the class token, key of ${name}`,
          numbers, { key: name }, options.off.has(headName()),
        );
      }
    }
  }
}
