/* Chapter 2: a token is dragged and its projections are turned; queries, keys, values,
   scores, weights and output follow. */
"use strict";

LivePictures.define("projections", (picture, data) => {
  const { average, choices, dot, fixed, handle, percent, softmax, tabulate } = LivePictures;
  const part = (selector) => picture.querySelector(selector);
  const pulls = [...picture.querySelectorAll(".plane-pull")];
  const told = [...picture.querySelectorAll(".roles-numbers")];
  const knobs = {
    token: part(".roles-token"),
    query: part(".plane-query"),
    key: part(".plane-key.is-last"),
    value: part(".roles-value.is-last"),
  };
  let token = data.start;
  const turns = { query: 0, key: 0, value: 0 }; // of the projections, in degrees

  const pair = (vector) => `(${vector.map((x) => fixed(x, 2)).join(", ")})`;
  const place = (plane, [x, y]) =>
    [data.middle + x * data.units[plane], data.middle - y * data.units[plane]];
  const within = (plane, [x, y]) =>
    [(x - data.middle) / data.units[plane], (data.middle - y) / data.units[plane]];
  const angle = ([x, y]) => Math.atan2(y, x) * 180 / Math.PI;

  function project(role, [x, y]) {
    const [c, s] = [Math.cos, Math.sin].map((of) => of(turns[role] * Math.PI / 180));
    return [x * c - y * s, x * s + y * c];
  }

  function move(mark, plane, point, name) {
    mark.setAttribute("transform", `translate(${place(plane, point).join(" ")})`);
    if (name) mark.querySelector("text").textContent = name;
  }

  function line(element, from, to) {
    [["x1", from[0]], ["y1", from[1]], ["x2", to[0]], ["y2", to[1]]].forEach(
      ([name, value]) => element.setAttribute(name, value));
  }

  function draw() {
    const last = data.last[chosen("projections-last")];
    const words = [...data.words, last];
    const X = words.map((word, n) => (n === data.asking ? token : data.points[word]));
    const q = project("query", token).map((x) => data.factor * x);
    const keys = X.map((x) => project("key", x));
    const values = X.map((x) => project("value", x));
    const scores = keys.map((k) => dot(q, k) / Math.sqrt(k.length));
    const weights = softmax(scores);
    const y = average(weights, values);
    const key = keys.at(-1);

    move(knobs.token, "token", token);
    move(part(".roles-word.is-last"), "token", X.at(-1), last);
    move(knobs.query, "match", q);
    move(knobs.key, "match", key, last);
    move(part(".plane-key.is-asking"), "match", keys[data.asking]);
    move(knobs.value, "value", values.at(-1), last);
    move(part(".roles-value.is-asking"), "value", values[data.asking]);
    move(part(".plane-output"), "value", y);
    const origin = place("match", [0, 0]);
    line(part(".plane-arrow"), origin, place("match", q));
    const along = dot(q, key) / (dot(q, q) || 1); // the foot of the key on the query
    const corners = [origin, place("match", q.map((x) => x * along)), place("match", key)];
    part(".roles-foot").setAttribute("d", `M${corners.map((c) => c.join(" ")).join("L")}`);
    weights.forEach((weight, n) => {
      line(pulls[n], place("value", y), place("value", values[n]));
      const width = data.thinnest + (data.thickest - data.thinnest) * weight;
      pulls[n].setAttribute("stroke-width", width);
      pulls[n].setAttribute("stroke-opacity", 0.15 + 0.6 * Math.sqrt(weight));
    });

    tabulate(part(".live-table"), words, scores, weights);
    const rotated = (role, matrix) =>
      (turns[role] ? `, W_${matrix} rotated through ${fixed(turns[role], 0)}°` : "");
    told[0].textContent = `x = ${pair(token)}`;
    told[1].textContent = `q = ${pair(q)}${rotated("query", "Q")}${rotated("key", "K")}`;
    told[2].textContent = `y = ${pair(y)}${rotated("value", "V")}`;
    part(".live-says").textContent =
      `q · k = ${pair(q)} · ${pair(key)} = ${fixed(dot(q, key), 2)}. Divided by √2, this `
      + `is the score of “${last}”: ${fixed(scores.at(-1), 2)}. Its weight is `
      + `${percent(weights.at(-1))}.`;
    tell("token", token[0], `finance ${fixed(token[0], 1)}, water ${fixed(token[1], 1)}`);
    for (const role of ["query", "key", "value"]) {
      tell(role, turns[role], `${fixed(turns[role], 0)} degrees`);
    }
  }

  function tell(name, now, text) {
    knobs[name].setAttribute("aria-valuenow", now);
    knobs[name].setAttribute("aria-valuetext", text);
  }

  function setToken(point) {
    const norm = Math.hypot(...point);
    const kept = norm > data.reach ? point.map((x) => x * data.reach / norm) : point;
    token = kept.map((x) => Math.round(10 * x) / 10 + 0); // and never minus zero
    draw();
  }

  function turn(role, degrees) {
    const around = ((Math.round(degrees) + 180) % 360 + 360) % 360 - 180;
    turns[role] = around === -180 ? 180 : around;
    draw();
  }

  /* A vector that is dragged turns its projection: it points to where the pointer is. */
  function turnable(role, plane, vector, name) {
    handle(knobs[role], part(`.roles-plane-${plane}`), {
      drag: (at) => turn(role, angle(within(plane, at)) - angle(vector())),
      nudge: (dx, dy) => turn(role, turns[role] + 5 * (dx + dy)),
      reset: () => turn(role, 0),
      takesClicks: role !== "key",
    });
    limits(knobs[role], -180, 180, name);
  }

  function limits(knob, lowest, highest, name) {
    knob.setAttribute("aria-label", name);
    knob.setAttribute("aria-valuemin", lowest);
    knob.setAttribute("aria-valuemax", highest);
  }

  const chosen = choices(picture, draw);
  handle(knobs.token, part(".roles-plane-token"), {
    drag: (at) => setToken(within("token", at)),
    nudge: (dx, dy) => setToken([token[0] + dx / 10, token[1] + dy / 10]),
    reset: () => setToken(data.start),
  });
  knobs.token.setAttribute("aria-roledescription", "point in the plane");
  limits(knobs.token, -data.reach, data.reach, "Token of bank");
  const lastPoint = () => data.points[data.last[chosen("projections-last")]];
  turnable("query", "match", () => token, "Turn of queries");
  turnable("key", "match", lastPoint, "Turn of keys");
  turnable("value", "value", lastPoint, "Turn of values");
  draw(); // browsers keep a choice when a page is loaded again
});
