/* What the page for writing draws: the next token, attention, and the cache. */
"use strict";

globalThis.Playground ??= {};
{
  const { element } = Elements;
  const { percent, shade, largestOf, CONTEXT, filterLogits, distribution } = Playground;

  const SHOWN = 12; // tokens that have a bar of their own
  const count = (number) => number.toLocaleString("en-US");
  const tokens = (number) => `${number} token${number === 1 ? "" : "s"}`;

  /** The most probable tokens, in rows that stay; those that are cut are grey. */
  class NextToken {
    constructor(table) {
      this.rows = Array.from({ length: SHOWN + 1 }, () => {
        const name = element("th", { scope: "row" });
        const bar = element("span", { class: "playground-bar" });
        const share = element("td");
        const tr = element(
          "tr", {}, name, element("td", { "aria-hidden": "true" }, bar), share,
        );
        table.append(tr);
        return { tr, name, bar, share };
      });
    }

    /** @param logits  of the next token
        @param {{temperature, topK, topP}} settings
        @param {(id: number) => string} nameOf
        @returns the probabilities with which a token is chosen, and how many are left */
    show(logits, { temperature, topK, topP }, nameOf) {
      const before = distribution(logits, temperature);
      const cut = filterLogits(logits, topK, topP);
      const shares = distribution(cut, temperature);
      const order = [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b);
      order.slice(0, SHOWN).forEach((id, n) => {
        const isCut = cut[id] === -Infinity;
        this.#showRow(n, nameOf(id), isCut ? before[id] : shares[id], isCut);
      });
      const others = order.slice(SHOWN);
      const left = cut.filter((logit) => logit > -Infinity).length;
      const allCut = left <= SHOWN;
      const sum = others.reduce((s, id) => s + (allCut ? before : shares)[id], 0);
      this.#showRow(SHOWN, `${others.length} more`, sum, allCut);
      return { shares, left };
    }

    #showRow(n, text, share, isCut) {
      const { tr, name, bar, share: cell } = this.rows[n];
      tr.classList.toggle("is-cut", isCut);
      name.textContent = text;
      bar.style.setProperty("--share", share);
      cell.textContent = isCut ? `cut, ${percent(share)}` : percent(share);
    }
  }

  /** The tokens of the context, each of which can be chosen as the query. */
  class Attention {
    /** @param {HTMLElement} place  of the tokens
        @param {HTMLElement} summary  for the strongest weights in words
        @param {() => void} changed  another query was chosen */
    constructor(place, summary, changed) {
      this.place = place;
      this.summary = summary;
      this.labels = [];
      this.query = -1; // -1: the last token, whichever that is
      place.addEventListener("change", (event) => {
        const chosen = Number(event.target.value);
        this.query = chosen === this.labels.length - 1 ? -1 : chosen;
        changed();
      });
    }

    /** @param {WrittenText} written
        @param {number} layer
        @param {number} head */
    show(written, layer, head) {
      const names = written.context.map((id) => written.model.tokens.name(id));
      this.#showTokens(names);
      if (this.query >= names.length) {
        this.query = -1;
      }
      const query = this.query < 0 ? names.length - 1 : this.query;
      const weights = written.steps[query].weights[layer][head];
      this.labels.forEach((label, t) => {
        shade(label, weights[t] ?? 0);
        label.classList.toggle("is-query", t === query);
        label.classList.toggle("is-later", t > query);
        label.firstChild.checked = t === query;
        label.title = t > query ? "later than the query" : percent(weights[t]);
      });
      const read = largestOf(names.slice(0, query + 1), weights);
      this.summary.textContent =
        `Token ${query + 1}, ${names[query]}, attends in layer ${layer + 1}, ` +
        `head ${head + 1} most to: ${read}`;
      if (this.query < 0) {
        this.place.scrollTop = this.place.scrollHeight;
      }
    }

    /** Labels are kept as far as their tokens are the same. */
    #showTokens(names) {
      while (this.labels.length > names.length) {
        this.labels.pop().remove();
      }
      names.forEach((name, t) => {
        this.labels[t] ??= this.#newLabel(t);
        const [radio, shown] = this.labels[t].children;
        if (shown.textContent !== name) {
          shown.textContent = name;
          radio.setAttribute("aria-label", `token ${t + 1}: ${name}`);
        }
      });
    }

    #newLabel(t) {
      const radio = element("input", { type: "radio", name: "write-query", value: t });
      const label = element("label", {}, radio, element("span"));
      this.place.append(label);
      return label;
    }
  }

  /** How full the cache is: each layer has a strip for its keys, and one for its values. */
  class CachePicture {
    constructor(place, text) {
      this.place = place;
      this.text = text;
    }

    show({ cache, computed }) {
      const { length, numbers } = cache;
      const percentage = (n) => `${(100 * n) / CONTEXT.length}%`;
      this.place.style.setProperty("--filled", percentage(length));
      this.place.style.setProperty("--old", percentage(length - computed));
      const filled = `${length} of ${CONTEXT.length} positions are filled`;
      this.place.setAttribute("aria-label", `Cache: ${filled}`);
      this.text.textContent =
        `${filled}: ${CONTEXT.layers} layers × 2 (a key and a value) × ` +
        `${tokens(length)} × ${CONTEXT.width} features = ${count(numbers)} numbers, ` +
        `${count(4 * numbers)} bytes. The last change computed ${tokens(computed)}; ` +
        `without the cache it would have been ${length}.`;
    }
  }

  Object.assign(Playground, { NextToken, Attention, CachePicture, tokens });
}
