/* The page on which a digit is drawn: its controls, and what they change. */
"use strict";
{
  const {
    Weights, VisionTransformer, Board, rasterise, pixels, fit, patchify, rollout,
    row, softmax, start, element, percent, showBars, shade, largestOf, headSwitch,
    offerExam,
  } = Playground;
  const [HEADS_DARKEST, ROLLOUT_DARKEST] = [0.5, 0.15]; // shares shown darkest
  const DIGITS = [..."0123456789"];
  const PATCHES = [...Array(16).keys()];
  const PLACES = PATCHES.map(
    (place) => `row ${Math.floor(place / 4) + 1} column ${(place % 4) + 1}`,
  );
  const largest = (numbers) => numbers.indexOf(Math.max(...numbers));

  start("digits", load, run);

  function load() {
    const weights = new Weights("digits", "VisionTransformer");
    const model = new VisionTransformer(weights);
    const images = weights.facts.test_images; // each 64 numbers from 0 to 16
    const labels = weights.facts.test_labels;
    model.test = images.map((image, i) => ({
      image: Float32Array.from(image, (ink) => ink / 16), label: labels[i],
    }));
    return model;
  }

  function run(model, page) {
    const part = (name) => page.querySelector(`#digits-${name}`);
    const say = (text) => (part("pen-status").textContent = text);
    const board = new Board(part("canvas"), part("pen"), drawn, say);
    const options = { order: PATCHES, positions: true };
    Object.assign(options, { hidden: new Set(), off: new Set() });
    let example = null; // a test image that is shown in place of a drawing
    const patches = makePatches();
    const heads = makeHeads();
    const whole = makeMap(part("rollout"), "playground-map is-large");

    for (const digit of DIGITS) {
      part("example").append(element("option", { value: digit }, `a ${digit}`));
    }
    part("example").addEventListener("change", showExample);
    part("next").addEventListener("click", showExample);
    part("undo").addEventListener("click", () => board.undo());
    part("clear").addEventListener("click", () => board.undo(true));
    part("fit").addEventListener("change", () => see(true));
    part("positions").addEventListener("change", () => {
      options.positions = !part("positions").checked;
      see(true);
    });
    part("shuffle").addEventListener("click", () => {
      const keys = PATCHES.map(() => Math.random());
      options.order = PATCHES.toSorted((a, b) => keys[a] - keys[b]);
      see(true);
    });
    part("reset").addEventListener("click", () => {
      options.order = PATCHES;
      options.hidden.clear();
      options.off.clear();
      options.positions = true;
      part("positions").checked = false;
      see(true);
    });
    offerExam(
      model.test,
      ({ image, label }) => largest(model.forward(image, options).logits) === label,
      { button: part("exam"), progress: part("progress"), result: part("score") },
      conditions,
    );
    part("example").value = 3;
    showExample();

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

    /** Run the model on what is there, and show everything.

        @param {boolean} complete  false in the middle of a stroke: do not speak yet */
    function see(complete) {
      const strokes = part("fit").checked ? fit(board.strokes) : board.strokes;
      const image = example?.image ?? pixels(rasterise(strokes));
      board.show(example?.image ?? rasterise(board.strokes));
      const isBlank = image.every((ink) => ink === 0);
      part("seen").hidden = isBlank;
      if (isBlank) {
        part("result").textContent = "The board is empty: draw a digit.";
        showBars(part("shares"), DIGITS, null);
        return;
      }
      const { logits, weights, places } = model.forward(image, options);
      const shares = softmax(logits);
      showPatches(image);
      showBars(part("shares"), DIGITS, shares);
      for (const { layer, head, map, box } of heads) {
        const [itself, ...read] = weights[layer][head][0]; // row 0: the class token's
        const name = `layer ${layer + 1}, head ${head + 1}`;
        showMap(map, read, places, HEADS_DARKEST, `${name}; itself ${percent(itself)}`);
        box.checked = !options.off.has(`${layer} ${head}`);
        map.parentElement.classList.toggle("is-off", !box.checked);
      }
      showMap(whole, rollout(weights), places, ROLLOUT_DARKEST, "rollout");
      if (complete) {
        const winner = largest(shares);
        part("result").textContent =
          `The model says ${winner}, with probability ${percent(shares[winner])}, ` +
          `${conditions()}.`;
      }
    }

    function conditions() {
      const changed = [
        options.order !== PATCHES && "patches shuffled",
        !options.positions && "no positions",
        options.hidden.size > 0 && `${options.hidden.size} of 16 patches taken out`,
        options.off.size > 0 && `${options.off.size} of 16 heads off`,
      ].filter(Boolean);
      return changed.join(", ") || "nothing changed";
    }

    /** The patches at the places where the model meets them. */
    function showPatches(image) {
      const shown = patchify(image);
      patches.forEach(({ button, cells }, place) => {
        const ink = row(shown, options.order[place]);
        cells.forEach((cell, i) => (cell.style.opacity = ink[i]));
        whole.children[place].replaceChildren(...cells.map((cell) => cell.cloneNode()));
        const isHidden = options.hidden.has(place);
        const sum = ink.reduce((total, value) => total + value, 0);
        button.setAttribute("aria-pressed", isHidden);
        button.setAttribute("aria-label", `${PLACES[place]}, ink ${percent(sum / 4)}`);
      });
    }

    function makePatches() {
      return PATCHES.map((place) => {
        const cells = PATCHES.slice(0, 4).map(() => element("span"));
        const button = element("button", { type: "button" }, ...cells);
        button.addEventListener("click", () => {
          options.hidden[options.hidden.has(place) ? "delete" : "add"](place);
          see(true);
        });
        part("patches").append(button);
        return { button, cells };
      });
    }

    function makeHeads() {
      const numbers = [...Array(16).keys()]; // 4 layers of 4 heads
      return numbers.map((n) => makeHead(Math.floor(n / 4), n % 4));
    }

    function makeHead(layer, head) {
      const { box, label } = headSwitch(`${layer + 1}.${head + 1}`, (isOff) => {
        options.off[isOff ? "add" : "delete"](`${layer} ${head}`);
        see(true);
      });
      box.setAttribute("aria-label", `layer ${layer + 1}, head ${head + 1}`);
      const item = element("li", {}, label);
      part("heads").append(item);
      return { layer, head, box, map: makeMap(item, "playground-map") };
    }

    function makeMap(parent, kind) {
      const map = element("div", { class: kind, role: "img" });
      map.append(...PATCHES.map(() => element("span")));
      parent.append(map);
      return map;
    }

    /** Shares of the places that are left, as a map of all sixteen. */
    function showMap(map, shares, places, darkest, name) {
      [...map.children].forEach((cell, place) => {
        const share = shares[places.indexOf(place)] ?? 0;
        shade(cell, share / darkest);
      });
      const most = largestOf(places.map((place) => PLACES[place]), [...shares]);
      map.setAttribute("aria-label", `${name}; reads most: ${most}`);
    }
  }
}
