/* The heads of an attention, side by side: a small picture of what each reads. One is
   chosen, and any may be switched off. */
"use strict";

globalThis.Playground ??= {};
{
  const { element } = Playground;

  class Heads {
    /** @param {Element} box  a fieldset, to which the heads are added
        @param {string} name  of the playground, for the group
        @param {{layers: number, heads: number}} sizes
        @param {(layer, head) => void} chosen */
    constructor(box, name, { layers, heads }, chosen) {
      this.all = [];
      const list = element("div", { class: "playground-heads" });
      for (let layer = 0; layer < layers; layer++) {
        for (let head = 0; head < heads; head++) {
          const radio = element("input", {
            type: "radio", name: `${name}-head`, value: `${layer} ${head}`,
          });
          radio.addEventListener("change", () => chosen(layer, head));
          const picture = element("span", { class: "playground-picture", "aria-hidden": "true" });
          const number = element("span", {}, `${layer + 1}.${head + 1}`);
          const label = element("label", {}, radio, number, picture);
          list.append(label);
          this.all.push({ layer, head, radio, picture, label });
        }
      }
      box.append(list);
    }

    /** @param {(picture: Element, layer, head) => string} paint  draws what a head reads,
            and says it in words
        @param {{layer, head}} chosen
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
