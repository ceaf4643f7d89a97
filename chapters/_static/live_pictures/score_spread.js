/* Scaling: the width d is dragged along its axis; scores spread, and weights saturate. */
"use strict";

LivePictures.define("score_spread", (picture, data) => {
  const { fixed, handle, percent, softmax } = LivePictures;
  const part = (name) => picture.querySelector(`.${name}`);
  const dots = { raw: part("is-raw").children, scaled: part("is-scaled").children };
  const knob = part("spread-width");
  const track = knob.getAttribute("transform").match(/[\d.]+(?=\))/)[0];
  const last = data.products.length - 1;
  const [from, room] = [data.left + 14, data.right - data.left - 28];
  let power = data.start;

  function across(score) {
    const [middle, half] = [(data.left + data.right) / 2, (data.right - data.left) / 2];
    return middle + half * Math.asinh(score) / Math.asinh(data.reach);
  }

  function deviation(scores) {
    const mean = scores.reduce((sum, s) => sum + s, 0) / scores.length;
    return Math.sqrt(scores.reduce((sum, s) => sum + (s - mean) ** 2, 0) / scores.length);
  }

  function drawStrip(circles, scores) {
    const weights = softmax(scores);
    weights.forEach((weight, key) => {
      circles[key].setAttribute("cx", across(scores[key]));
      circles[key].setAttribute("r", data.smallest + data.growth * Math.sqrt(weight));
      circles[key].setAttribute("fill-opacity", 0.25 + 0.75 * Math.sqrt(weight));
      circles[key].firstChild.textContent =
        `score ${fixed(scores[key], 2)}, weight ${percent(weight)}`;
    });
    return [fixed(deviation(scores), 1), percent(Math.max(...weights))];
  }

  function draw() {
    const d = 2 ** power;
    const raw = data.products[power];
    const [spread, largest] = drawStrip(dots.raw, raw);
    const [even, shared] = drawStrip(dots.scaled, raw.map((s) => s / Math.sqrt(d)));
    knob.setAttribute("transform", `translate(${from + room * power / last} ${track})`);
    knob.setAttribute("aria-valuenow", power);
    knob.setAttribute("aria-valuetext", `d = ${d}`);
    part("live-says").textContent =
      `d = ${d}: the scores have a standard deviation of ${spread}, and the largest `
      + `weight is ${largest}. Divided by √d, they have one of ${even}, and the largest `
      + `weight is ${shared}.`;
  }

  function set(to) {
    const next = Math.min(last, Math.max(0, Math.round(to)));
    if (next === power) return;
    power = next;
    draw();
  }

  handle(knob, part("spread"), {
    drag: ([x]) => set((x - from) / room * last),
    nudge: (dx, dy) => set(power + Math.sign(dx + dy)),
    reset: () => set(data.start),
  });
  knob.setAttribute("aria-label", "Width d");
  knob.setAttribute("aria-valuemin", 0);
  knob.setAttribute("aria-valuemax", last);
  draw();
});
