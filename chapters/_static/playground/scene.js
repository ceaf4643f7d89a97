/* The picture of an attention: the keys above, the queries below, and between them a
   line for each weight, as wide as the weight is large. */
"use strict";

globalThis.Playground ??= {};
{
  const { element } = Elements;
  const { percent } = Playground;
  const FAINT = 0.01; // smaller weights have no line
  const [THINNEST, THICKEST, TO_HIT] = [0.75, 9, 14]; // pixels
  const NOTED = 0.05; // smaller weights have no number at their key

  /** An element of a drawing. */
  function drawn(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) {
      made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  /** A row of characters of which one is chosen: a group of radio buttons, which the
      arrow keys walk through. */
  class Row {
    constructor(box, name, chosen) {
      this.box = box;
      this.name = name;
      box.addEventListener("change", (event) => chosen(Number(event.target.value)));
    }

    /** Show these cells; those that are there already keep the focus.

        @param {Array<{text, spoken, note, kind, off}>} cells  the text, how it is spoken,
            a small text above it, its classes, and whether it cannot be chosen
        @param {number} chosen  which of them */
    show(cells, chosen) {
      while (this.cells.length > cells.length) {
        this.box.lastChild.remove();
      }
      while (this.cells.length < cells.length) {
        const value = this.cells.length;
        const radio = element("input", { type: "radio", name: this.name, value });
        this.box.append(element("label", {}, element("small"), radio, element("span")));
      }
      this.box.style.setProperty("--cells", cells.length);
      cells.forEach(({ text, spoken, note = "", kind = "", off = false }, i) => {
        const [small, radio, span] = this.cells[i].children;
        small.textContent = note;
        span.textContent = text;
        span.className = kind;
        radio.setAttribute("aria-label", spoken);
        radio.disabled = off;
        radio.checked = i === chosen;
      });
    }

    get cells() {
      return [...this.box.children];
    }

    /** Shade the cells by weights; where there is none, the shade is taken away. */
    shade(weights) {
      this.cells.forEach((cell, i) => {
        cell.style.setProperty("--weight", (weights[i] ?? 0).toFixed(3));
      });
    }

    indexOf(target) {
      return this.cells.indexOf(target.closest("label"));
    }
  }

  class Scene {
    /** @param {Element} box  has an svg, and .playground-cells for keys and for queries
        @param {string} name  of the playground, for the groups
        @param {{query, key}} chosen  called with the number of what was chosen */
    constructor(box, name, chosen) {
      const [keys, queries] = box.querySelectorAll(".playground-cells");
      this.box = box;
      this.svg = box.querySelector("svg");
      this.keys = new Row(keys, `${name}-key`, chosen.key);
      this.queries = new Row(queries, `${name}-position`, chosen.query);
      this.chosen = chosen;
      this.pointed = null; // { query: n } or { key: t } while the pointer is on it
      this.gradient = drawn(
        "linearGradient",
        { id: `${name}-gradient`, gradientUnits: "userSpaceOnUse", x1: 0, x2: 0 },
        drawn("stop", { offset: 0, class: "is-key" }),
        drawn("stop", { offset: 1, class: "is-query" }),
      );
      this.lines = drawn("g", { stroke: `url(#${name}-gradient)` });
      this.svg.append(drawn("defs", {}, this.gradient), this.lines);
      this.watchPointer(keys, this.keys, "key");
      this.watchPointer(queries, this.queries, "query");
      new ResizeObserver(() => this.draw()).observe(box);
    }

    watchPointer(box, row, kind) {
      box.addEventListener("pointerover", ({ target }) => {
        const index = row.indexOf(target);
        this.pointed = index < 0 ? null : { [kind]: index };
        this.draw();
      });
      box.addEventListener("pointerleave", () => {
        this.pointed = null;
        this.draw();
      });
    }

    /** @param {{keys, queries}} names  of the two groups
        @param {Array} keys  cells, as Row.show takes them
        @param {Array} queries  cells
        @param {number[][]} weights  (N, T): what each query puts on each key
        @param {number} query  the one that is chosen
        @param {number} key  the one that is chosen */
    show(names, keys, queries, weights, query, key) {
      Object.assign(this, { weights, query, key });
      if (this.pointed?.query >= queries.length || this.pointed?.key >= keys.length) {
        this.pointed = null; // what was under the pointer is gone
      }
      const legends = this.box.querySelectorAll("legend");
      [names.keys, names.queries].forEach((name, n) => (legends[n].textContent = name));
      const read = weights[query];
      const noted = keys.map((cell, t) => {
        const weight = read[t] ?? 0;
        const note = weight >= NOTED ? `${Math.round(100 * weight)}` : "";
        return { ...cell, note, spoken: `${cell.spoken}, weight ${percent(weight)}` };
      });
      this.keys.show(noted, key);
      this.queries.show(queries, query);
      this.draw();
    }

    /** Which pairs have a line: all keys of one query, or all queries of one key. */
    pairs() {
      const { query = this.query, key } = this.pointed ?? {};
      const pairs =
        key === undefined
          ? this.weights[query].map((weight, t) => ({ query, key: t, weight }))
          : this.weights.map((read, n) => ({ query: n, key, weight: read[key] ?? 0 }));
      const isChosen = (pair) => pair.query === this.query && pair.key === this.key;
      return pairs.filter((pair) => pair.weight >= FAINT || isChosen(pair));
    }

    draw() {
      if (!this.weights) {
        return; // nothing was read yet
      }
      const frame = this.box.getBoundingClientRect();
      const place = (row, edge) =>
        row.cells.map((cell) => {
          const [small, , span] = cell.children; // a line ends above the small text
          const end = edge === "top" && small.textContent ? small : span;
          const rect = end.getBoundingClientRect();
          return [rect.left + rect.width / 2 - frame.left, rect[edge] - frame.top];
        });
      const [above, below] = [place(this.keys, "bottom"), place(this.queries, "top")];
      const lanes = this.lanes(frame);
      this.gradient.setAttribute("y1", above.at(-1)[1]);
      this.gradient.setAttribute("y2", below[0][1]);
      const pairs = this.pairs();
      this.lines.replaceChildren(
        ...pairs.flatMap((pair) =>
          this.line(pair, above[pair.key], lanes[pair.key], below[pair.query])),
      );
      const ofOneKey = this.pointed?.key !== undefined;
      const weights = [];
      pairs.forEach(({ query, key, weight }) => (weights[ofOneKey ? query : key] = weight));
      this.keys.shade(ofOneKey ? [] : weights);
      this.queries.shade(ofOneKey ? weights : []);
    }

    /** For each key, where its line passes the rows of keys below it: between two of
        their characters, since it would be hidden behind them.

        @returns {number[][][]}  of each such row: the place, its top, and its bottom */
    lanes(frame) {
      const rects = this.keys.cells.map((cell) => cell.getBoundingClientRect());
      const rows = [...new Set(rects.map(({ top }) => top))].sort((a, b) => a - b);
      return rects.map((rect) => {
        let x = (rect.left + rect.right) / 2;
        return rows.filter((top) => top > rect.top).map((top) => {
          const row = rects.filter((other) => other.top === top);
          const edges = [row[0].left, ...row.map(({ right }) => right)];
          x = edges.reduce((best, edge) => (Math.abs(edge - x) < Math.abs(best - x) ? edge : best));
          const character = this.keys.cells[rects.indexOf(row[0])].lastChild;
          const letters = character.getBoundingClientRect();
          return [x - frame.left, letters.top - frame.top, letters.bottom - frame.top];
        });
      });
    }

    /** A line, and a wider one without colour that is easier to hit. */
    line(pair, [u, v], lanes, [x, y]) {
      let d = `M${u} ${v}`;
      for (const [lane, top, bottom] of lanes) {
        const half = (v + top) / 2;
        d += `C${u} ${half} ${lane} ${half} ${lane} ${top}V${bottom}`;
        [u, v] = [lane, bottom];
      }
      const middle = (v + y) / 2;
      d += `C${u} ${middle} ${x} ${middle} ${x} ${y}`;
      const isChosen = pair.query === this.query && pair.key === this.key;
      const seen = drawn("path", {
        d,
        class: isChosen ? "is-chosen" : "",
        "stroke-width": THINNEST + (THICKEST - THINNEST) * pair.weight,
        "stroke-opacity": isChosen ? 1 : 0.2 + 0.6 * Math.sqrt(pair.weight),
      });
      const hit = drawn(
        "path", { d, class: "is-hit", "stroke-width": TO_HIT },
        drawn("title", {}, percent(pair.weight)),
      );
      hit.dataset.pair = `${pair.query} ${pair.key}`;
      hit.addEventListener("click", () => {
        this.pointed = null;
        if (pair.query !== this.query) {
          this.chosen.query(pair.query);
        }
        this.chosen.key(pair.key);
      });
      return [seen, hit];
    }
  }

  Object.assign(Playground, { Scene });
}
