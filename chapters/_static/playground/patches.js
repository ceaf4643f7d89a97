/* The image as the model gets it: sixteen patches, outlined, and behind their ink the
   shade of a weight. One of them, or the class token below, is chosen. */
"use strict";

globalThis.Playground ??= {};
{
  const { element } = Elements;
  const { percent, row, patchify, shade } = Playground;

  const GRID = 4;
  const CLASS = GRID ** 2; // the class token's number, after those of the patches
  const NAMES = Array.from(
    { length: CLASS },
    (_, place) => `row ${Math.floor(place / GRID) + 1} column ${(place % GRID) + 1}`,
  );
  NAMES.push("class token");

  class Patches {
    /** Made before there is a model, so that the page has its height from the beginning.

        @param {string} name  of the playground; the patches are added to #NAME-patches */
    constructor(name) {
      this.chosen = () => {}; // to be replaced: called with a place
      this.cells = NAMES.map((words, place) => {
        const radio = element("input", { type: "radio", name: `${name}-patch`, value: place });
        radio.addEventListener("change", () => this.chosen(place));
        const inside =
          place === CLASS
            ? [element("span", {}, words)]
            : Array.from({ length: 4 }, () => element("span", { class: "is-ink" }));
        const label = element("label", {}, radio, ...inside);
        label.classList.toggle("is-class-token", place === CLASS);
        return { radio, label, inks: place === CLASS ? [] : inside };
      });
      const labels = this.cells.map(({ label }) => label);
      document.querySelector(`#${name}-patches`).append(...labels);
    }

    /** @param {Float32Array} image  64 numbers from 0 (blank) to 1 (ink)
        @param {number[]} order  order[place] is the patch that is shown at this place
        @param {Set<number>} hidden  places whose token is taken out
        @param {Array<number|undefined>} weights  of each place, then of the class token
        @param {number} darkest  the weight that is shown darkest
        @param {number} chosen  a place */
    show(image, order, hidden, weights, darkest, chosen) {
      const patches = patchify(image);
      this.cells.forEach(({ radio, label, inks }, place) => {
        const weight = weights[place];
        const read = weight === undefined ? "" : `, weight ${percent(weight)}`;
        inks.forEach((ink, i) => (ink.style.opacity = row(patches, order[place])[i]));
        shade(label, (weight ?? 0) / darkest);
        label.title = weight === undefined ? "" : percent(weight);
        label.classList.toggle("is-hidden", hidden.has(place));
        const out = hidden.has(place) ? ", taken out" : read;
        radio.setAttribute("aria-label", `${NAMES[place]}${out}`);
        radio.checked = place === chosen;
      });
    }
  }

  /** Paint the weights of the sixteen places as a small map.

      @param {Element} picture
      @param {Array<number|undefined>} weights
      @param {number} darkest  the weight that is shown darkest */
  function paintMap(picture, weights, darkest) {
    while (picture.children.length < CLASS) {
      picture.append(element("span"));
    }
    [...picture.children].forEach((cell, place) => shade(cell, (weights[place] ?? 0) / darkest));
  }

  Object.assign(Playground, { Patches, paintMap, PLACES: NAMES });
}
