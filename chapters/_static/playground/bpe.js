/* Byte-pair encoding as in the chapter on language models: text to ids, ids to text. */
"use strict";

globalThis.Playground ??= {};
{
  const BYTES = 256; // ids below are bytes; merge number i makes the id 256 + i

  class BytePairs {
    /** @param {Array<[number, number]>} merges  pairs in the order learned */
    constructor(merges) {
      this.merges = merges;
      this.pieces = Array.from({ length: BYTES }, (_, byte) => [byte]);
      for (const [first, second] of merges) {
        this.pieces.push([...this.pieces[first], ...this.pieces[second]]);
      }
    }

    /** The ids of a text: its bytes in UTF-8, then all merges in the order learned. */
    encode(text) {
      let ids = [...new TextEncoder().encode(text)];
      this.merges.forEach((pair, i) => {
        ids = mergePair(ids, pair, BYTES + i);
      });
      return ids;
    }

    /** The text of ids. Bytes that are no valid UTF-8 become replacement characters. */
    decode(ids) {
      const bytes = Uint8Array.from(ids.flatMap((id) => this.pieces[id]));
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    }

    /** A token so that it can be seen: blanks as dots, a part of a letter as bytes. */
    name(id) {
      const piece = this.pieces[id];
      const text = this.decode([id]);
      const isPart = text.includes("\ufffd") || /\p{Cc}/u.test(text.replaceAll("\n", ""));
      if (isPart) {
        return piece.map((byte) => `<${byte}>`).join("");
      }
      return text.replaceAll(" ", "·").replaceAll("\n", "↵");
    }
  }

  /** A new list in which each occurrence of a pair, found from the left, is one id. */
  function mergePair(ids, [first, second], newId) {
    const merged = [];
    for (let i = 0; i < ids.length; i++) {
      const isPair = ids[i] === first && ids[i + 1] === second;
      merged.push(isPair ? newId : ids[i]);
      i += isPair;
    }
    return merged;
  }

  Object.assign(Playground, { BytePairs });
}
