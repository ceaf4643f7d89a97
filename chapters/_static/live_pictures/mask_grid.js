/* Masking: cells are painted, the weights of their rows are computed again, and cells
   through which a word sees a later one are marked. */
"use strict";

LivePictures.define("mask_grid", (picture, { words, scores }) => {
  const { fixed, listed, softmax } = LivePictures;
  const N = words.length;
  const cells = [...picture.querySelectorAll(".mask-cell")];
  const sums = [...picture.querySelectorAll(".mask-sum")];
  const allowed = cells.map((_, n) => n % N <= Math.floor(n / N)); // causal
  let paint = null; // what a pressed pointer leaves behind: true, false, or nothing

  function sentence() {
    const keys = (query) => allowed.slice(query * N, query * N + N);
    const leaking = words.filter((_, q) => keys(q).slice(q + 1).some(Boolean));
    const empty = words.filter((_, q) => !keys(q).some(Boolean));
    let about = `Leaks: ${listed(leaking)} attend to later words.`;
    if (leaking.length === 0) about = "No leak: no word attends to a later one.";
    else if (leaking.length === 1) about = `A leak: ${listed(leaking)} attends to a later word.`;
    if (empty.length === 0) return `${about} Each row sums to one.`;
    return empty.length === 1
      ? `${about} ${listed(empty)} is fully masked, and its weights are zero.`
      : `${about} ${listed(empty)} are fully masked, and their weights are zero.`;
  }

  /* softmax over the allowed keys: the others have a score of minus infinity */
  function draw() {
    scores.forEach((row, q) => {
      const weights = softmax(row.map((s, k) => (allowed[q * N + k] ? s : -Infinity)));
      weights.forEach((weight, k) => {
        const cell = cells[q * N + k];
        const may = allowed[q * N + k];
        const value = may ? fixed(weight, 2) : "hidden";
        cell.firstChild.textContent = value;
        cell.style.setProperty("--weight", weight);
        cell.classList.toggle("is-leak", may && k > q);
        cell.setAttribute("aria-pressed", may);
        cell.setAttribute("aria-label",
          `${value}: ${words[q]} to ${words[k]}${may && k > q ? ", a leak" : ""}`);
      });
      sums[q].textContent = fixed(weights.reduce((sum, w) => sum + w, 0), 2);
    });
    picture.querySelector(".live-says").textContent = sentence();
  }

  function set(place, may) {
    if (allowed[place] === may) return;
    allowed[place] = may;
    draw();
  }

  /* One cell of the grid is a stop of the Tab key; arrows lead to the others. */
  function stopAt(place) {
    cells.forEach((cell, n) => { cell.tabIndex = n === place ? 0 : -1; });
  }

  const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  cells.forEach((cell, place) => {
    cell.disabled = false;
    cell.addEventListener("focus", () => stopAt(place));
    // A click comes from keys or from assistive technology, too; then nothing was painted.
    cell.addEventListener("click", (event) => {
      if (event.detail === 0) set(place, !allowed[place]);
    });
    cell.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      paint = !allowed[place];
      set(place, paint);
    });
    cell.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const [row, column] = [Math.floor(place / N) + step[0], place % N + step[1]];
      if (row in words && column in words) cells[row * N + column].focus();
    });
  });
  // A finger stays with the cell where it went down, so the cell is looked up.
  picture.querySelector("tbody").addEventListener("pointermove", (event) => {
    if (paint === null) return;
    const under = document.elementFromPoint(event.clientX, event.clientY);
    const place = cells.indexOf(under?.closest(".mask-cell"));
    if (place >= 0) set(place, paint);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    addEventListener(end, () => { paint = null; });
  }

  const PRESETS = [(n) => n % N <= Math.floor(n / N), () => true, () => false];
  picture.querySelectorAll(".live-button").forEach((button, number) => {
    button.disabled = false;
    button.addEventListener("click", () => {
      allowed.forEach((_, n) => { allowed[n] = PRESETS[number](n); });
      draw();
    });
  });
  stopAt(0);
  draw();
});
