/* The language model of its chapter: a decoder-only transformer with rotary positions and
   a key-value cache. */
"use strict";

globalThis.Playground ??= {};
{
  const {
    matrix, row, gather, add, linear, dot, softmax, layerNorm, relu,
    feedForward, readLinear, readNorm, readFeedForward,
  } = Playground;

  const SIZES = { width: 96, heads: 4, layers: 2, inner: 384, length: 64, eps: 1e-5 };
  const HEAD = SIZES.width / SIZES.heads; // features of a head

  /** Keys and values of the tokens so far, for each layer; room for a whole context. */
  class KeyValueCache {
    constructor() {
      const room = () => matrix(SIZES.length, SIZES.width);
      this.layers = Array.from({ length: SIZES.layers }, () => ({
        keys: room(),
        values: room(),
      }));
      this.length = 0; // tokens; what is behind them is left over and never read
    }

    /** Forget all tokens but the first ones. */
    truncate(length) {
      this.length = Math.min(this.length, length);
    }

    /** How many numbers are kept: a key and a value for each token and layer. */
    get numbers() {
      return SIZES.layers * 2 * this.length * SIZES.width;
    }
  }

  class LanguageModel {
    /** @param {Playground.Weights} weights  what the chapter trained */
    constructor(weights) {
      const { width, heads, layers, inner, eps } = SIZES;
      weights.expect({ heads, eps, norm_first: true, activation: "relu" });
      this.tokens = new Playground.BytePairs(weights.facts.merges);
      this.characters = new Set(weights.facts.characters); // those that training had
      const vocabulary = this.tokens.pieces.length;
      const embedding = weights.take("embedding.weight", vocabulary, width);
      this.embedding = matrix(vocabulary, width, embedding);
      this.layers = [...Array(layers).keys()].map((l) => ({
        norms: [1, 2].map((n) => readNorm(weights, `layers.${l}.norm${n}`, width, eps)),
        projected: readLinear(weights, `layers.${l}.in_proj`, 3 * width, width),
        output: readLinear(weights, `layers.${l}.out_proj`, width, width),
        feedForward: readFeedForward(weights, `layers.${l}`, width, inner, relu),
      }));
      this.norm = readNorm(weights, "norm", width, eps);
      this.output = { weight: this.embedding, bias: new Float32Array(vocabulary) };
      weights.allTaken();
    }

    /** Read tokens that follow those in the cache, which keeps their keys and values.

        @param {number[]} ids  at least one, and no more than the context has room for
        @param {KeyValueCache} cache
        @returns logits (n, V) after each of the tokens, and weights[layer][head][n],
            an array over all tokens up to this one */
    read(ids, cache) {
      const from = cache.length;
      let x = gather(this.embedding, ids);
      const weights = this.layers.map((layer, l) => {
        const done = attendToCache(x, layer, cache.layers[l], from);
        x = feedForward(done.x, layer.norms[1], layer.feedForward);
        return done.weights;
      });
      cache.length = from + ids.length;
      return { logits: linear(layerNorm(x, this.norm), this.output), weights };
    }
  }

  /** x + attention(norm(x)) for new tokens, whose keys and values join the others. */
  function attendToCache(x, { norms, projected, output }, { keys, values }, from) {
    const parts = linear(layerNorm(x, norms[0]), projected); // (n, 3E)
    const query = matrix(x.rows, SIZES.width);
    for (let n = 0; n < x.rows; n++) {
      const part = (i) => row(parts, n).subarray(i * SIZES.width, (i + 1) * SIZES.width);
      row(query, n).set(rotated(part(0), from + n));
      row(keys, from + n).set(rotated(part(1), from + n));
      row(values, from + n).set(part(2));
    }
    const read = matrix(x.rows, SIZES.width);
    const weights = [];
    for (let head = 0; head < SIZES.heads; head++) {
      const cut = (y, n) => row(y, n).subarray(head * HEAD, (head + 1) * HEAD);
      const ofQuery = (n) => {
        const scores = new Float32Array(from + n + 1).map(
          (_, t) => dot(cut(query, n), cut(keys, t)) / Math.sqrt(HEAD),
        );
        const shares = softmax(scores); // over this token and those before it
        const sum = cut(read, n);
        shares.forEach((share, t) => {
          cut(values, t).forEach((feature, i) => (sum[i] += share * feature));
        });
        return shares;
      };
      weights.push(Array.from({ length: x.rows }, (_, n) => ofQuery(n)));
    }
    return { x: add(x, linear(read, output)), weights };
  }

  /** Each pair of neighbouring features of a head, rotated by position * frequency. */
  function rotated(features, position) {
    const result = new Float32Array(features.length);
    for (let i = 0; i < features.length; i += 2) {
      const angle = position * 10000 ** (-(i % HEAD) / HEAD);
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      result[i] = features[i] * cos - features[i + 1] * sin;
      result[i + 1] = features[i] * sin + features[i + 1] * cos;
    }
    return result;
  }

  Object.assign(Playground, { LanguageModel, KeyValueCache, CONTEXT: SIZES });
}
