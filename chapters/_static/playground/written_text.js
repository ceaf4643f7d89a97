/* A text that the model and the reader write together, and what the model knows of it:
   tokens, keys and values, logits and attention weights. No part of the page is here. */
"use strict";

globalThis.Playground ??= {};
{
  const { KeyValueCache, CONTEXT, row } = Playground;

  const DROPPED = CONTEXT.length / 2; // tokens that leave a full context at once

  class WrittenText {
    constructor(model, text = "") {
      this.model = model;
      this.cache = new KeyValueCache();
      this.known = []; // the tokens whose keys and values are in the cache
      this.steps = []; // for each of them: logits (V), weights[layer][head]
      this.computed = 0; // tokens that the model has read for the last change
      this.start = model.tokens.encode("\n\n"); // what it reads in place of nothing
      this.setText(text);
    }

    get text() {
      return this.model.tokens.decode(this.ids);
    }

    /** Replace the whole text, as somebody does who types. */
    setText(text) {
      this.#become(this.model.tokens.encode(text));
    }

    append(id) {
      this.#become([...(this.ids.length > 0 ? this.ids : this.start), id]);
    }

    /** Take the last token away. */
    back() {
      this.#become(this.ids.slice(0, -1));
    }

    /** How many tokens at the beginning are out of reach: a full context drops half. */
    get dropped() {
      const over = Math.max(0, this.ids.length - CONTEXT.length);
      return Math.ceil(over / DROPPED) * DROPPED;
    }

    /** The tokens that the model reads. */
    get context() {
      return this.ids.length > 0 ? this.ids.slice(this.dropped) : this.start;
    }

    /** The logits of the next token. */
    get logits() {
      return this.steps.at(-1).logits;
    }

    /** Characters that training never had, each once; parts of one are not counted. */
    get unknown() {
      const isNew = (c) => c !== "\ufffd" && !this.model.characters.has(c);
      return [...new Set(this.text)].filter(isNew);
    }

    /** Read whatever the cache does not hold yet. Keys and values of a token depend on
        all before it and on its position, so only an equal beginning can be kept. */
    #become(ids) {
      this.ids = ids;
      const context = this.context;
      let kept = context.findIndex((id, t) => id !== this.known[t]);
      kept = kept < 0 ? context.length : kept;
      this.cache.truncate(kept);
      this.steps.length = Math.min(this.steps.length, kept);
      const fresh = context.slice(kept);
      this.computed = fresh.length;
      if (fresh.length > 0) {
        const { logits, weights } = this.model.read(fresh, this.cache);
        fresh.forEach((_, n) => {
          const heads = weights.map((layer) => layer.map((head) => head[n]));
          this.steps.push({ logits: row(logits, n), weights: heads });
        });
      }
      this.known = context;
    }
  }

  Object.assign(Playground, { WrittenText });
}
