/* Chapter 1: the query is dragged, and scores, weights and output follow. */
"use strict";

LivePictures.define("query_plane", (picture, data) => {
  const { average, choices, dot, fixed, handle, listed, percent, softmax, tabulate } =
    LivePictures;
  const part = (name) => picture.querySelector(`.${name}`);
  const svg = part("plane");
  const knob = part("plane-query");
  const pulls = [...picture.querySelectorAll(".plane-pull")];
  const clamp = (x) => Math.min(data.high, Math.max(data.low, Math.round(10 * x) / 10));
  const place = ([x, y]) => [(x - data.low) * data.unit, (data.high - y) * data.unit];
  const shown = (vector) => data.shown.map((feature) => vector[feature]);
  let q = data.start;

  /* e = X q / sqrt(D), a = softmax(e), y = a X */
  function attend(X) {
    const query = X[0].map(() => 0);
    data.shown.forEach((feature, axis) => { query[feature] = q[axis]; });
    const scores = X.map((x) => dot(x, query) / Math.sqrt(x.length));
    const weights = softmax(scores);
    return { scores, weights, output: average(weights, X) };
  }

  function sentence(words, weights, [finance, water]) {
    const highest = Math.max(...weights);
    const best = words.filter((_, n) => highest - weights[n] < 1e-9);
    const share = percent(highest);
    let about = `${listed(best)} get the largest weight, ${share} each.`;
    if (best.length === words.length) about = `All words get the same weight, ${share}.`;
    else if (best.length === 1) about = `${listed(best)} gets the largest weight, ${share}.`;
    return `${about} Output: finance ${fixed(finance, 2)}, water ${fixed(water, 2)}.`;
  }

  function draw() {
    const last = data.last[chosen("query-plane-last")];
    const words = [...data.opening, last];
    const X = words.map((word) => data.vectors[word]);
    const { scores, weights, output } = attend(X);
    const y = shown(output);
    move(part("plane-output"), y);
    move(knob, q);
    move(part("is-last"), shown(data.vectors[last]));
    part("is-last").querySelector("text").textContent = last;
    setPoint(part("plane-arrow"), 2, q);
    const corners = new Set(X.map((x) => place(shown(x)).join(" ")));
    part("plane-hull").setAttribute("d", `M${[...corners].join("L")}Z`);
    weights.forEach((weight, n) => {
      setPoint(pulls[n], 1, y);
      setPoint(pulls[n], 2, shown(X[n]));
      const width = data.thinnest + (data.thickest - data.thinnest) * weight;
      pulls[n].setAttribute("stroke-width", width);
      pulls[n].setAttribute("stroke-opacity", 0.15 + 0.6 * Math.sqrt(weight));
    });
    tabulate(part("live-table"), words, scores, weights);
    knob.setAttribute("aria-valuenow", q[0]);
    knob.setAttribute("aria-valuetext", `finance ${fixed(q[0], 1)}, water ${fixed(q[1], 1)}`);
    part("live-says").textContent = sentence(words, weights, y);
  }

  function move(element, point) {
    element.setAttribute("transform", `translate(${place(point).join(" ")})`);
  }

  function setPoint(line, end, point) {
    const [x, y] = place(point);
    line.setAttribute(`x${end}`, x);
    line.setAttribute(`y${end}`, y);
  }

  function set(point) {
    q = point.map(clamp);
    draw();
  }

  const chosen = choices(picture, draw);
  handle(knob, svg, {
    drag: ([x, y]) => set([x / data.unit + data.low, data.high - y / data.unit]),
    nudge: (dx, dy) => set([q[0] + dx / 10, q[1] + dy / 10]),
    reset: () => set(data.start),
  });
  knob.setAttribute("aria-label", "Query");
  knob.setAttribute("aria-roledescription", "point in the plane");
  knob.setAttribute("aria-valuemin", data.low);
  knob.setAttribute("aria-valuemax", data.high);
  draw(); // browsers keep a choice when a page is loaded again
});
