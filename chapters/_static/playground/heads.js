/* The heads of an attention, side by side: a small picture of what each reads. One is
   chosen, and any may be switched off. */
"use strict";

globalThis.Playground ??= {};
{
  const { element } = Elements;

  class Heads {
    /** Made before there is a model, so that the page has its height from the beginning.

        @param {string} name  of the playground; the heads are added to #NAME-heads
        @param {{layers: number, heads: number}} sizes */
    constructor(name, { layers, heads }) {
      this.chosen = () => {}; // to be replaced: called with layer and head
      const list = element("div", { class: "playground-heads" });
      this.all = Array.from({ length: layers * heads }, (_, n) => {
        const [layer, head] = [Math.floor(n / heads), n % heads];
        const radio = element("input", { type: "radio", name: `${name}-head`, value: n });
        radio.addEventListener("change", () => this.chosen(layer, head));
        const picture = element("span", { class: "playground-picture", "aria-hidden": "true" });
        const number = element("span", {}, `${layer + 1}.${head + 1}`);
        const label = element("label", {}, radio, number, picture);
        list.append(label);
        return { layer, head, radio, picture, label };
      });
      document.querySelector(`#${name}-heads`).append(list);
    }

    /** @param {(picture: Element, layer, head) => string} paint  draws what a head reads,
            and says it in words
        @param {{layer, head}} chosen  neither, where something else than a head is
        @param {(layer, head) => boolean} isOff */
    show(paint, chosen, isOff) {
      for (const { layer, head, radio, picture, label } of this.all) {
        const off = isOff(layer, head);
        const words = paint(picture, layer, head);
        const name = `${layer + 1}.${head + 1}, layer ${layer + 1}, head ${head + 1}`;
        radio.setAttribute("aria-label", `${name}${off ? ", switched off" : ""}; ${words}`);
        radio.checked = layer === chosen.layer && head === chosen.head;
        label.classList.toggle("is-off", off);
      }
    }
  }

  /** Paint weights from left to right as a strip of shades. */
  function paintStrip(picture, weights) {
    const width = 100 / weights.length;
    const stops = [...weights].map((weight, t) => {
      const share = (100 * Math.sqrt(weight)).toFixed(1); // small ones can be seen as well
      const colour = `color-mix(in srgb, var(--house-weight) ${share}%, transparent)`;
      return `${colour} ${(t * width).toFixed(2)}% ${((t + 1) * width).toFixed(2)}%`;
    });
    picture.style.backgroundImage = `linear-gradient(to right, ${stops.join(", ")})`;
  }

  Object.assign(Playground, { Heads, paintStrip });
}
