/* Attention with several heads, and the two kinds of layers around it.

   Names and shapes: N queries, T keys, E the width of the model, d = E / heads. */
"use strict";

globalThis.Playground ??= {};
{
  const { matrix, add, linear, softmax, layerNorm } = Playground;

  /** Each query row reads the memory's rows; every head in its own way.

      @param x  (N, E) from which the queries are made
      @param memory  (T, E) from which keys and values are made; x for self-attention
      @param part  the four projections, and how many heads
      @param visible  (n, t) => may query n look at key t?
      @param isOff  (head) => is the head switched off? Then it passes on zeros.
      @returns output (N, E), weights[head][n], an array of T, and the parts they are made
          of: query (N, E), key and value (T, E), and how many heads divide them */
  function multiHeadAttention(x, memory, part, { visible = () => true, isOff }) {
    const query = linear(x, part.query); // (N, E)
    const key = linear(memory, part.key); // (T, E)
    const value = linear(memory, part.value); // (T, E)
    const d = x.columns / part.heads;
    const read = matrix(x.rows, x.columns);
    const weights = [];
    for (let head = 0; head < part.heads; head++) {
      const from = head * d; // this head's features
      weights.push([]);
      for (let n = 0; n < x.rows; n++) {
        const scores = new Float32Array(memory.rows);
        for (let t = 0; t < memory.rows; t++) {
          scores[t] = visible(n, t)
            ? product(query, n, key, t, from, d) / Math.sqrt(d)
            : -Infinity;
        }
        const shares = softmax(scores);
        weights[head].push(shares);
        if (!isOff(head)) {
          shares.forEach((share, t) => addTo(read, n, value, t, from, d, share));
        }
      }
    }
    const parts = { query, key, value, heads: part.heads };
    return { output: linear(read, part.output), weights, parts };
  }

  /** Dot product of d features of two rows. Parts of rows, as arrays, would be slower. */
  function product(a, n, b, t, from, d) {
    const [i, j] = [n * a.columns + from, t * b.columns + from];
    let sum = 0;
    for (let k = 0; k < d; k++) {
      sum += a.data[i + k] * b.data[j + k];
    }
    return sum;
  }

  /** Add a share of d features of row t of a matrix to those of row n of another. */
  function addTo(sum, n, b, t, from, d, share) {
    const [i, j] = [n * sum.columns + from, t * b.columns + from];
    for (let k = 0; k < d; k++) {
      sum.data[i + k] += share * b.data[j + k];
    }
  }

  /** What a layer adds to its input: attention, or two linear maps. Norm first. */
  function attend(x, norm, part, options, memory = null) {
    const normed = layerNorm(x, norm);
    const read = multiHeadAttention(normed, memory ?? normed, part, options);
    return { x: add(x, read.output), weights: read.weights, parts: read.parts };
  }

  function feedForward(x, norm, { first, activation, second }) {
    return add(x, linear(activation(linear(layerNorm(x, norm), first)), second));
  }

  /** x + attention(norm(x)), then x + feedForward(norm(x)). */
  function encoderLayer(x, layer, options) {
    const self = attend(x, layer.norms[0], layer.self, options);
    return {
      x: feedForward(self.x, layer.norms[1], layer.feedForward),
      weights: self.weights,
      parts: self.parts,
    };
  }

  /* Where the weights of these parts are, by PyTorch's names. */

  function readLinear(weights, name, out, width) {
    return {
      weight: matrix(out, width, weights.take(`${name}.weight`, out, width)),
      bias: weights.take(`${name}.bias`, out),
    };
  }

  function readNorm(weights, name, width, eps) {
    return {
      weight: weights.take(`${name}.weight`, width),
      bias: weights.take(`${name}.bias`, width),
      eps,
    };
  }

  /** PyTorch keeps the projections of queries, keys and values in one tall matrix. */
  function readAttention(weights, name, width, heads) {
    const packed = weights.take(`${name}.in_proj_weight`, 3 * width, width);
    const biases = weights.take(`${name}.in_proj_bias`, 3 * width);
    const third = (numbers, n) =>
      numbers.subarray((n * numbers.length) / 3, ((n + 1) * numbers.length) / 3);
    const part = (n) => ({
      weight: matrix(width, width, third(packed, n)),
      bias: third(biases, n),
    });
    const output = readLinear(weights, `${name}.out_proj`, width, width);
    return { query: part(0), key: part(1), value: part(2), output, heads };
  }

  function readFeedForward(weights, name, width, inner, activation) {
    return {
      first: readLinear(weights, `${name}.linear1`, inner, width),
      activation,
      second: readLinear(weights, `${name}.linear2`, width, inner),
    };
  }

  function readEncoderLayer(weights, name, { width, heads, inner, eps, activation }) {
    return {
      self: readAttention(weights, `${name}.self_attn`, width, heads),
      feedForward: readFeedForward(weights, name, width, inner, activation),
      norms: [1, 2].map((n) => readNorm(weights, `${name}.norm${n}`, width, eps)),
    };
  }

  Object.assign(Playground, {
    multiHeadAttention, attend, feedForward, encoderLayer,
    readLinear, readNorm, readAttention, readFeedForward, readEncoderLayer,
  });
}
