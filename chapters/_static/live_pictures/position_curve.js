/* Positions: query and key are dragged, and the dot products of their codes follow. */
"use strict";

LivePictures.define("position_curve", (picture, data) => {
  const { dot, fixed, handle } = LivePictures;
  const part = (name) => picture.querySelector(`.${name}`);
  const svg = part("positions");
  const positions = Array.from({ length: data.length }, (_, i) => i);
  const pairs = Array.from({ length: data.dim / 2 }, (_, k) => k);
  /* sin(i w_k), cos(i w_k) with w_k = 10000^(-2k / dim) */
  const codes = positions.map((i) => pairs.flatMap((k) => {
    const angle = i * 10000 ** (-2 * k / data.dim);
    return [Math.sin(angle), Math.cos(angle)];
  }));
  const across = (i) => data.left + (data.right - data.left) * i / (data.length - 1);
  const up = (cosine) => data.ground - (data.ground - data.top) * cosine;
  const at = { query: data.start[0], key: data.start[1] };

  function sentence(cosine) {
    const apart = Math.abs(at.key - at.query);
    const side = at.key > at.query ? "after" : "before";
    const where = apart === 0
      ? "the same position"
      : `${apart} position${apart === 1 ? "" : "s"} ${side} it`;
    return `Query at position ${at.query}, key at position ${at.key}, ${where}: `
      + `cosine ${fixed(cosine, 3)}.`;
  }

  function draw() {
    const row = codes.map((code) => dot(codes[at.query], code) / (data.dim / 2));
    const points = row.map((cosine, j) => `${across(j)} ${up(cosine)}`);
    part("position-curve").setAttribute("d", `M${points.join("L")}`);
    const x = across(at.query);
    part("position-line").setAttribute("d", `M${x} ${data.top}V${data.ground}`);
    part("position-query").setAttribute("transform", `translate(${x} ${data.ground})`);
    part("position-key").setAttribute(
      "transform", `translate(${across(at.key)} ${up(row[at.key])})`);
    for (const who of ["query", "key"]) {
      part(`position-${who}`).setAttribute("aria-valuenow", at[who]);
      part(`position-${who}`).setAttribute("aria-valuetext",
        `position ${at[who]}, cosine ${fixed(row[at.key], 3)}`);
    }
    part("live-says").textContent = sentence(row[at.key]);
  }

  [["query", "Query"], ["key", "Key"]].forEach(([who, name], number) => {
    const knob = part(`position-${who}`);
    function set(to) {
      at[who] = Math.min(data.length - 1, Math.max(0, Math.round(to)));
      draw();
    }
    handle(knob, svg, {
      drag: ([x]) => set((x - data.left) / (data.right - data.left) * (data.length - 1)),
      nudge: (dx, dy) => set(at[who] + dx + dy),
      reset: () => set(data.start[number]),
      takesClicks: who === "query",
    });
    knob.setAttribute("aria-label", name);
    knob.setAttribute("aria-valuemin", 0);
    knob.setAttribute("aria-valuemax", data.length - 1);
  });
  draw();
});
