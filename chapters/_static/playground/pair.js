/* How one weight comes about: the numbers of one query and one key in one head, from
   their products to what the head passes on. */
"use strict";

globalThis.Playground ??= {};
{
  const { element } = Elements;
  const { row, dot, softmax, percent } = Playground;

  /** The numbers behind one weight.

      @param {{query, key, value, heads}} parts  of an attention: (N, E), (T, E), (T, E)
      @param {number} head  from 0
      @param {number} n  which query
      @param {number} t  which key, one of those the query can see
      @param {number} seen  how many keys the query can see; they are the first ones
      @returns {{query, key, products, sum, score, scores, weight, value, weighted, output}}
          arrays of d = E / heads numbers, but for the scores, one for each key seen */
  function numbersOfPair(parts, head, n, t, seen = parts.key.rows) {
    const d = parts.query.columns / parts.heads;
    const cut = (x, i) => row(x, i).subarray(head * d, (head + 1) * d);
    const [query, key, value] = [cut(parts.query, n), cut(parts.key, t), cut(parts.value, t)];
    const sums = Array.from({ length: seen }, (_, i) => dot(query, cut(parts.key, i)));
    const scores = sums.map((sum) => sum / Math.sqrt(d));
    const weights = softmax(scores);
    const output = new Float32Array(d);
    weights.forEach((weight, i) => {
      cut(parts.value, i).forEach((feature, j) => (output[j] += weight * feature));
    });
    return {
      query, key, value, output, scores,
      products: query.map((feature, j) => feature * key[j]),
      sum: sums[t],
      score: scores[t],
      weight: weights[t],
      weighted: value.map((feature) => weights[t] * feature),
    };
  }

  const COLUMNS = [
    ["query", "q", "query"],
    ["key", "k", "key"],
    ["products", "q × k", ""],
    ["value", "v", "value"],
    ["weighted", "a v", "value"],
    ["output", "Σ a v", ""],
  ];

  /** Two decimals, with a minus that is as wide as a digit; none before a zero. */
  const number = (x) => x.toFixed(2).replace(/^-(?!0\.00$)/, "−").replace("-", "");

  /** The steps from the products to the output, as a list.

      @param {{key: string}} names  what the key belongs to
      @param {boolean} isOff  the head is switched off, and passes on zeros instead */
  function steps({ sum, score, scores, weight, query }, names, isOff) {
    const total = scores.reduce((all, one) => all + Math.exp(one), 0);
    const line = (name, what) =>
      element("li", {}, element("span", {}, name), " ", element("b", {}, what));
    const passed = isOff
      ? "This head is switched off: it passes on zeros."
      : `This fraction of the value of ${names.key} goes into the head's output, Σ a v.`;
    return [
      line("q · k, the sum of all q × k", number(sum)),
      line(`divided by √${query.length}`, number(score)),
      line(
        `softmax over ${scores.length} ${scores.length === 1 ? "key" : "keys"}: ` +
          `exp(${number(score)}) / ${total.toPrecision(4)}`,
        `a = ${percent(weight)}`,
      ),
      element("li", {}, passed),
    ];
  }

  /** Shows the numbers of one pair after another in a part of the page that has a title,
      a list and a table. */
  class Pair {
    /** @param {Element} box  with an h3, an ol and a table */
    constructor(box) {
      this.title = box.querySelector(".playground-title");
      this.list = box.querySelector("ol");
      const head = COLUMNS.map(([, name, kind]) =>
        element("th", { scope: "col", class: kind }, name),
      );
      const table = box.querySelector("table");
      table.append(element("thead", {}, element("tr", {}, ...head)));
      this.rows = table.appendChild(element("tbody"));
    }

    /** Only a title; the numbers before are to be hidden. */
    say(title) {
      this.title.textContent = title;
    }

    show(title, numbers, names, isOff) {
      this.say(title);
      this.list.replaceChildren(...steps(numbers, names, isOff));
      const rows = Array.from(numbers.query, (_, j) => {
        const cells = COLUMNS.map(([name, , kind]) =>
          element("td", { class: kind }, number(numbers[name][j])),
        );
        return element("tr", {}, ...cells);
      });
      this.rows.replaceChildren(...rows);
      this.rows.parentElement.classList.toggle("is-off", isOff);
    }
  }

  Object.assign(Playground, { numbersOfPair, Pair });
}
