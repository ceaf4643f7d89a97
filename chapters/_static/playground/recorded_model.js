/* The language model as far as it was recorded when the book was built: what it made of
   one text. It stands in for the model until a reader wants another text. */
"use strict";

globalThis.Playground ??= {};
{
  const { BytePairs, matrix, row } = Playground;

  class RecordedModel {
    /** @param recording  as tools/recorded_scene.js writes it */
    constructor({ merges, characters, perplexity, ids, logits, weights }) {
      this.tokens = new BytePairs(merges);
      this.characters = new Set(characters);
      this.perplexity = perplexity;
      this.text = this.tokens.decode(ids);
      this.logits = logits;
      this.weights = weights;
    }

    /** As of the model itself, for the tokens of the recorded text alone; there are logits
        only after the last of them. */
    read(ids, cache) {
      const logits = matrix(ids.length, this.logits.length);
      row(logits, ids.length - 1).set(this.logits);
      cache.length = ids.length;
      return { logits, weights: this.weights };
    }
  }

  Object.assign(Playground, { RecordedModel });
}
