/* The translator of the chapter on training: it reads a date and writes YYYY-MM-DD. */
"use strict";

globalThis.Playground ??= {};
{
  const {
    matrix, row, gather, add, linear, layerNorm, relu,
    attend, feedForward, encoderLayer,
    readLinear, readNorm, readAttention, readFeedForward, readEncoderLayer,
  } = Playground;

  const SIZES = { width: 64, heads: 4, layers: 2, inner: 128, eps: 1e-5 };
  const [START, END, FIRST_CHARACTER] = [1, 2, 3]; // ids; 0 is padding
  const LENGTH = 11; // ten characters and the end

  /** The text has characters that the model has never seen. */
  class UnknownCharacters extends Error {
    constructor(characters) {
      super(`no ids for ${characters.join(" ")}`);
      this.characters = characters;
    }
  }

  class Translator {
    /** @param {Playground.Weights} weights  what the chapter trained */
    constructor(weights) {
      const { width, heads, layers, inner, eps } = SIZES;
      weights.expect({ heads, eps, norm_first: true, activation: "relu" });
      this.source = [...weights.facts.source];
      this.target = [...weights.facts.target];
      const table = (name, size) =>
        matrix(size, width, weights.take(`${name}.weight`, size, width));
      this.sourceTable = table("source_table", this.source.length + FIRST_CHARACTER);
      this.targetTable = table("target_table", this.target.length + FIRST_CHARACTER);
      const sizes = { width, heads, inner, eps, activation: relu };
      const numbers = [...Array(layers).keys()];
      this.encoder = numbers.map((l) =>
        readEncoderLayer(weights, `encoder.layers.${l}`, sizes),
      );
      this.decoder = numbers.map((l) =>
        readDecoderLayer(weights, `decoder.layers.${l}`, sizes),
      );
      this.encoderNorm = readNorm(weights, "encoder.norm", width, eps);
      this.decoderNorm = readNorm(weights, "decoder.norm", width, eps);
      this.output = readLinear(weights, "output", this.targetTable.rows, width);
      weights.allTaken();
    }

    /** The ids of a text that is to be read, or written ("target"). */
    ids(text, vocabulary = this.source) {
      const characters = [...text];
      const unknown = characters.filter((c) => !vocabulary.includes(c));
      if (unknown.length > 0) {
        throw new UnknownCharacters([...new Set(unknown)]);
      }
      return characters.map((c) => vocabulary.indexOf(c) + FIRST_CHARACTER);
    }

    /** The name of an id of the target: a character, "start" or "end". */
    name(id) {
      return this.target[id - FIRST_CHARACTER] ?? ["padding", "start", "end"][id];
    }

    /** Memory (T, E) of the source, who looked where, weights[layer][head][n], and the
        queries, keys and values of each layer.

        @param {Set} off  heads switched off: "encoder 0 3" is head 3 of layer 0 */
    read(ids, off = new Set()) {
      const positions = sinusoids(ids.length, SIZES.width);
      let x = add(gather(this.sourceTable, ids), positions);
      const done = this.encoder.map((layer, l) => {
        const isOff = (head) => off.has(`encoder ${l} ${head}`);
        const read = encoderLayer(x, layer, { isOff });
        x = read.x;
        return read;
      });
      return {
        memory: layerNorm(x, this.encoderNorm),
        weights: done.map(({ weights }) => weights),
        parts: done.map(({ parts }) => parts),
      };
    }

    /** Logits (t, V) after each place of the prefix; a place sees none behind it. */
    write(prefix, memory, off = new Set()) {
      const positions = sinusoids(prefix.length, SIZES.width);
      let x = add(gather(this.targetTable, prefix), positions);
      const looked = { decoder: [], cross: [], parts: { decoder: [], cross: [] } };
      this.decoder.forEach((layer, l) => {
        const self = attend(x, layer.norms[0], layer.self, {
          visible: (n, t) => t <= n,
          isOff: (h) => off.has(`decoder ${l} ${h}`),
        });
        const cross = attend(
          self.x, layer.norms[1], layer.cross,
          { isOff: (h) => off.has(`cross ${l} ${h}`) }, memory,
        );
        x = feedForward(cross.x, layer.norms[2], layer.feedForward);
        looked.decoder.push(self.weights);
        looked.cross.push(cross.weights);
        looked.parts.decoder.push(self.parts);
        looked.parts.cross.push(cross.parts);
      });
      return { logits: linear(layerNorm(x, this.decoderNorm), this.output), ...looked };
    }

    /** Read a text and write its translation, the most probable character each time.

        @param {string|null} truth  teacher forcing: read this in place of what was
            written
        @returns {{prefix, written, logits, encoder, decoder, cross, parts}} position t
            has read prefix[0..t] and writes written[t]; parts are the queries, keys and
            values behind the weights, parts.cross[layer] for those of cross[layer] */
    translate(text, options) {
      const steps = this.translating(text, options);
      let step;
      do {
        step = steps.next();
      } while (!step.done);
      return step.value;
    }

    /** The same in steps, one for each character, so that a page can answer in between. */
    *translating(text, { off = new Set(), truth = null } = {}) {
      const { memory, weights: encoder, parts } = this.read(this.ids(text), off);
      const prefix = [START];
      if (truth !== null) {
        prefix.push(...this.ids(truth, this.target).slice(0, LENGTH - 1));
      } else {
        for (let token = 0; prefix.length < LENGTH; prefix.push(token)) {
          yield;
          const { logits } = this.write(prefix, memory, off);
          token = largest(row(logits, prefix.length - 1));
          if (token === END) {
            break;
          }
        }
      }
      yield;
      const done = this.write(prefix, memory, off); // once more, for all places
      const written = prefix.map((_, t) => largest(row(done.logits, t)));
      return { ...done, prefix, written, encoder, parts: { ...done.parts, encoder: parts } };
    }

    /** The text of what was written, up to its end. */
    text(written) {
      const end = written.indexOf(END);
      const ids = end < 0 ? written : written.slice(0, end);
      return ids.map((id) => this.target[id - FIRST_CHARACTER] ?? "").join("");
    }
  }

  function readDecoderLayer(weights, name, { width, heads, inner, eps, activation }) {
    return {
      self: readAttention(weights, `${name}.self_attn`, width, heads),
      cross: readAttention(weights, `${name}.multihead_attn`, width, heads),
      feedForward: readFeedForward(weights, name, width, inner, activation),
      norms: [1, 2, 3].map((n) => readNorm(weights, `${name}.norm${n}`, width, eps)),
    };
  }

  /** Positions (length, width): sines and cosines of falling frequency, in turn. */
  function sinusoids(length, width) {
    const positions = matrix(length, width);
    for (let n = 0; n < length; n++) {
      for (let i = 0; i < width; i += 2) {
        const angle = n * 10_000 ** (-i / width);
        row(positions, n).set([Math.sin(angle), Math.cos(angle)], i);
      }
    }
    return positions;
  }

  const largest = (logits) => logits.indexOf(Math.max(...logits));

  Object.assign(Playground, { Translator, UnknownCharacters });
}
