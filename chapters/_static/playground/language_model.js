/* The language model of its chapter: a decoder-only transformer with a key-value cache. */
"use strict";

globalThis.Playground ??= {};
{
  const {
    matrix, row, gather, add, linear, dot, softmax, layerNorm, gelu,
    feedForward, readNorm, readEncoderLayer,
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
      const { width, heads, layers, inner, length, eps } = SIZES;
      weights.expect({ heads, eps, norm_first: true, activation: "gelu" });
      this.tokens = new Playground.BytePairs(weights.facts.merges);
      this.characters = new Set(weights.facts.characters); // those that training had
      const vocabulary = this.tokens.pieces.length;
      const table = (rows, numbers) => matrix(rows, width, numbers);
      this.embedding = table(
        vocabulary, weights.take("embedding.weight", vocabulary, width),
      );
      this.positions = table(length, weights.take("positions", 1, length, width));
      const sizes = { width, heads, inner, eps, activation: gelu };
      this.layers = [...Array(layers).keys()].map((l) =>
        readEncoderLayer(weights, `layers.${l}`, sizes),
      );
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
      const places = ids.map((_, n) => from + n);
      let x = add(gather(this.embedding, ids), gather(this.positions, places));
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
  function attendToCache(x, { norms, self }, { keys, values }, from) {
    const normed = layerNorm(x, norms[0]);
    const query = linear(normed, self.query); // (n, E)
    keys.data.set(linear(normed, self.key).data, from * SIZES.width);
    values.data.set(linear(normed, self.value).data, from * SIZES.width);
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
    return { x: add(x, linear(read, self.output)), weights };
  }

  Object.assign(Playground, { LanguageModel, KeyValueCache, CONTEXT: SIZES });
}
