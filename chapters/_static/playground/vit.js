/* The vision transformer of its chapter: it sees 8 x 8 pixels and names a digit. */
"use strict";

globalThis.Playground ??= {};
{
  const {
    matrix, row, gather, add, linear, layerNorm, gelu, encoderLayer,
    readLinear, readNorm, readEncoderLayer,
  } = Playground;

  const SIZES = { width: 64, heads: 4, layers: 4, inner: 128, eps: 1e-6 };
  const [IMAGE, PATCH, CLASSES] = [8, 2, 10];
  const GRID = IMAGE / PATCH; // patches side by side
  const PATCHES = GRID ** 2;
  const IN_ORDER = [...Array(PATCHES).keys()];

  class VisionTransformer {
    /** @param {Playground.Weights} weights  what the chapter trained */
    constructor(weights) {
      const { width, layers, inner, eps, heads } = SIZES;
      weights.expect({ heads, eps, norm_first: true, activation: "gelu" });
      this.mean = weights.facts.mean;
      this.deviation = weights.facts.deviation;
      const tokens = PATCHES + 1;
      this.projection = readLinear(weights, "embedding.projection", width, PATCH ** 2);
      const start = weights.take("embedding.class_token", 1, 1, width);
      this.classToken = matrix(1, width, start);
      const positions = weights.take("embedding.positions", 1, tokens, width);
      this.positions = matrix(tokens, width, positions);
      this.onlyClassPosition = matrix(tokens, width);
      row(this.onlyClassPosition, 0).set(row(this.positions, 0));
      const sizes = { width, heads, inner, eps, activation: gelu };
      this.layers = [...Array(layers).keys()].map((l) =>
        readEncoderLayer(weights, `layers.${l}`, sizes),
      );
      this.norm = readNorm(weights, "norm", width, eps);
      this.head = readLinear(weights, "head", CLASSES, width);
      weights.allTaken();
    }

    /** Logits of the ten digits, and who looked where.

        @param image  64 numbers from 0 (blank) to 1 (ink), row by row
        @param options.order  order[place] is the patch that is shown at this place
        @param options.positions  false: the patches' positions are left out
        @param options.hidden  places whose token is taken out of the sequence
        @param options.off  heads switched off: "2 0" is head 0 of layer 2
        @returns logits (10 numbers), weights[layer][head][n] for the tokens that are
            left, parts[layer], the queries, keys and values behind them, and places,
            where those after the class token stand */
    forward(image, options = {}) {
      const { order = IN_ORDER, positions = true, hidden = new Set() } = options;
      const off = options.off ?? new Set();
      const places = IN_ORDER.filter((place) => !hidden.has(place));
      const left = [0, ...places.map((place) => place + 1)]; // the class token is first
      let x = gather(this.embed(image, order, positions), left);
      const done = this.layers.map((layer, l) => {
        const read = encoderLayer(x, layer, { isOff: (h) => off.has(`${l} ${h}`) });
        x = read.x;
        return read;
      });
      const weights = done.map((layer) => layer.weights);
      const parts = done.map((layer) => layer.parts);
      const classToken = gather(x, [0]);
      const logits = linear(layerNorm(classToken, this.norm), this.head).data;
      return { logits, weights, parts, places };
    }

    /** (17, E): the class token, then a token for each place; then the positions. */
    embed(image, order, withPositions) {
      const standardised = image.map((ink) => (ink - this.mean) / this.deviation);
      const shown = gather(patchify(standardised), order);
      const patches = linear(shown, this.projection);
      const tokens = matrix(PATCHES + 1, SIZES.width);
      tokens.data.set(this.classToken.data);
      tokens.data.set(patches.data, SIZES.width);
      return add(tokens, withPositions ? this.positions : this.onlyClassPosition);
    }
  }

  /** (16, 4): the pixels of each patch, row by row, patches row by row. */
  function patchify(image) {
    const patches = matrix(PATCHES, PATCH ** 2);
    image.forEach((ink, i) => {
      const [down, right] = [Math.floor(i / IMAGE), i % IMAGE];
      const patch = Math.floor(down / PATCH) * GRID + Math.floor(right / PATCH);
      row(patches, patch)[(down % PATCH) * PATCH + (right % PATCH)] = ink;
    });
    return patches;
  }

  /** How much of each token's beginning arrived in the class token, its own left out.

      R = M_L ... M_2 M_1, where M_l is the mean of layer l's heads plus the identity,
      each row divided by its sum. Only row 0 of R is wanted, so begin at the top. */
  function rollout(weights) {
    const tokens = weights[0][0].length;
    let shares = Array.from({ length: tokens }, (_, t) => (t === 0 ? 1 : 0));
    for (const heads of weights.toReversed()) {
      shares = shares.map((_, t) => {
        let sum = shares[t]; // the identity
        for (const head of heads) {
          shares.forEach((share, n) => (sum += (share * head[n][t]) / heads.length));
        }
        return sum / 2; // the rows of the weights sum to one, and so do the identity's
      });
    }
    return shares.slice(1);
  }

  Object.assign(Playground, { VisionTransformer, patchify, rollout });
}
