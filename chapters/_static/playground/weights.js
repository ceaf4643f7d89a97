/* The numbers that a chapter trained, and what must be true of them.

   A file such as dates.weights.js is a script that leaves one object in
   Playground.files, because browsers refuse to fetch data from file:// addresses.
   toolkit/playground.py describes it, and toolkit/quantised_weights.py its numbers. */
"use strict";

globalThis.Playground ??= {};
{
  const FORMAT = 2;

  /** The weights cannot be used; the message says why, for the reader of the page. */
  class WeightsError extends Error {}

  /** The tensors of one model, by the names that PyTorch gave them. */
  class Weights {
    /** @param {string} name  of the file: "dates" for dates.weights.js
        @param {string} model  the class that was trained */
    constructor(name, model) {
      const file = Playground.files?.[name];
      if (!file) {
        throw new WeightsError(
          `The trained weights are missing: ${name}.weights.js was not found or is ` +
            "broken. Build the book again (make book).",
        );
      }
      if (file.format !== FORMAT || file.model !== model) {
        throw new WeightsError(
          `The weights do not fit this page: it reads a ${model}, format ${FORMAT}, ` +
            `but ${name}.weights.js has a ${file.model}, format ${file.format}.`,
        );
      }
      this.facts = file.facts;
      this.tensors = divide(decode(file.numbers), file);
    }

    /** The numbers of one tensor, which must have this shape. Each is taken once. */
    take(name, ...shape) {
      const found = this.tensors.get(name);
      if (found?.shape.join() !== shape.join()) {
        const instead = found ? `(${found.shape.join(", ")})` : "no such tensor";
        throw new WeightsError(
          `The weights do not fit this page: ${name} should have the shape ` +
            `(${shape.join(", ")}), found ${instead}.`,
        );
      }
      this.tensors.delete(name);
      return found.numbers;
    }

    /** How the layers were trained; who computes otherwise must not start. */
    expect(facts) {
      for (const [name, value] of Object.entries(facts)) {
        if (this.facts[name] !== value) {
          throw new WeightsError(
            `The weights do not fit this page: it computes with ${name} = ${value}, ` +
              `the model was trained with ${name} = ${this.facts[name]}.`,
          );
        }
      }
    }

    /** To be called when the model is complete: nothing may be left over. */
    allTaken() {
      if (this.tensors.size > 0) {
        const names = [...this.tensors.keys()].slice(0, 3).join(", ");
        throw new WeightsError(
          `The weights do not fit this page: it has no use for ${names}.`,
        );
      }
    }
  }

  /** The bytes behind a base64 text. */
  function decode(base64) {
    try {
      const letters = atob(base64);
      const bytes = new Uint8Array(letters.length);
      for (let i = 0; i < letters.length; i++) {
        bytes[i] = letters.charCodeAt(i);
      }
      return bytes;
    } catch {
      throw new WeightsError("The weights are damaged: they are no base64 text.");
    }
  }

  /** Cut the bytes into the tensors that the file lists, in its order. */
  function divide(bytes, { tensors, crc32: expected }) {
    const length = tensors.reduce((sum, [, shape]) => sum + sizeInBytes(shape), 0);
    if (bytes.length !== length || crc32(bytes) !== expected) {
      throw new WeightsError(
        `The weights are damaged: ${bytes.length} bytes with the checksum ` +
          `${crc32(bytes)}, expected ${length} bytes with ${expected}.`,
      );
    }
    const found = new Map();
    let start = 0;
    for (const [name, shape] of tensors) {
      const end = start + sizeInBytes(shape);
      found.set(name, { shape, numbers: readNumbers(bytes.slice(start, end), shape) });
      start = end;
    }
    return found;
  }

  /** A vector as it is; of a matrix, each row's scale times its small whole numbers. */
  function readNumbers(bytes, shape) {
    if (shape.length < 2) {
      return new Float32Array(bytes.buffer); // little-endian, like the file
    }
    const scales = new Float32Array(bytes.buffer, 0, size(shape) / shape.at(-1));
    const steps = new Int8Array(bytes.buffer, scales.byteLength);
    const numbers = new Float32Array(steps.length);
    const columns = shape.at(-1);
    for (let row = 0; row < scales.length; row++) {
      for (let i = row * columns; i < (row + 1) * columns; i++) {
        numbers[i] = steps[i] * scales[row];
      }
    }
    return numbers;
  }

  const size = (shape) => shape.reduce((product, length) => product * length, 1);

  function sizeInBytes(shape) {
    const rows = size(shape) / shape.at(-1);
    return shape.length < 2 ? 4 * size(shape) : 4 * rows + size(shape);
  }

  /** What the checksum makes of each byte: eight steps at once. */
  const STEPS = Uint32Array.from({ length: 256 }, (_, byte) => {
    for (let bit = 0; bit < 8; bit++) {
      byte = (byte >>> 1) ^ (byte & 1 ? 0xedb88320 : 0);
    }
    return byte;
  });

  /** The checksum of zip files, as zlib.crc32 computes it in Python. */
  function crc32(bytes) {
    let rest = -1;
    for (const byte of bytes) {
      rest = (rest >>> 8) ^ STEPS[(rest ^ byte) & 0xff];
    }
    return ~rest >>> 0;
  }

  Object.assign(Playground, { Weights, WeightsError });
}
