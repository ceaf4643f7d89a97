/* Multi-head attention: a word and a head are chosen, and the weights of that head, the
   outputs of all heads and their concatenation follow. */
"use strict";

LivePictures.define("head_loop", (picture, data) => {
  const { average, choices, dot, fixed, percent, softmax } = LivePictures;
  const { words, queries, keys, values } = data;
  const all = (selector) => [...picture.querySelectorAll(selector)];
  const [lines, weighed] = [all(".heads-lines path"), all(".heads-keys .live-weight")];
  const [names, cells, joined] = [all(".heads-name"), all(".heads-output td"), all("ol li")];
  const half = joined.length / 2;

  /* head_i = softmax(q_i k_i^T / sqrt(d)) v_i, for each head i on its own d features */
  function attend(numHeads) {
    const d = queries[0].length / numHeads;
    return Array.from({ length: numHeads }, (_, i) => {
      const [q, k, v] = [queries, keys, values].map(
        (vectors) => vectors.map((vector) => vector.slice(i * d, i * d + d)));
      const weights = q.map((one) => softmax(k.map((key) => dot(one, key) / Math.sqrt(d))));
      return { weights, outputs: weights.map((row) => average(row, v)) };
    });
  }

  function sentence(view, query, weights) {
    const where = ["In head 1", "In head 2", "In a single head"][view];
    const filled = [
      "The output of this head is the first half of the concatenation.",
      "The output of this head is the second half of the concatenation.",
      "Both halves of its output hold this one average.",
    ][view];
    const start = `${where}, “${words[query]}” attends to`;
    if (Math.max(...weights) - Math.min(...weights) < 1e-9) {
      return `${start} all words equally, ${percent(weights[query])} each. ${filled}`;
    }
    const named = words
      .map((word, key) => `${key === query ? "itself" : `“${word}”`} (${percent(weights[key])})`)
      .filter((_, key) => weights[key] >= data.least);
    const most = [named.slice(0, -1).join(", "), named.at(-1)].filter(Boolean).join(" and ");
    return `${start} ${most}. ${filled}`;
  }

  function fill(cell, value, isChosen) {
    cell.textContent = fixed(value, 2);
    cell.style.setProperty("--value", value);
    cell.classList.toggle("is-chosen", isChosen);
  }

  function draw() {
    const [view, query] = [chosen("head-loop-view"), chosen("head-loop-query")];
    const [numHeads, head] = view === 2 ? [1, 0] : [2, view];
    const heads = attend(numHeads);
    const { weights } = heads[head];
    const output = heads.flatMap(({ outputs }) => outputs[query]); // the concatenation
    const isChosen = (part) => numHeads === 1 || part === head;
    lines.forEach((line, n) => {
      const asking = Math.floor(n / words.length);
      line.setAttribute("stroke-width", data.thickest * weights[asking][n % words.length]);
      line.setAttribute("class", asking === query ? "is-asking" : "");
    });
    weighed.forEach((cell, key) => { cell.textContent = percent(weights[query][key]); });
    names.forEach((name, part) => {
      name.firstChild.textContent = numHeads === 1 ? "one head" : `head ${part + 1}`;
      name.classList.toggle("is-chosen", isChosen(part));
    });
    output.forEach((value, n) => {
      const part = Math.floor(n / half);
      fill(cells[2 * (n % half) + part], value, isChosen(part));
      fill(joined[n], value, isChosen(part));
    });
    picture.querySelector(".heads-output b").textContent = words[query];
    picture.querySelector(".live-says").textContent = sentence(view, query, weights[query]);
  }

  const chosen = choices(picture, draw);
  draw(); // browsers keep a choice when a page is loaded again
});
