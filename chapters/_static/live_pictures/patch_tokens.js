/* A vision transformer: a patch is chosen, and its vector, its projection, its position
   and its token follow; a mark reads one feature of them. */
"use strict";

LivePictures.define("patch_tokens", (picture, data) => {
  const { dot, fixed, handle } = LivePictures;
  const all = (selector) => [...picture.querySelectorAll(selector)];
  const part = (selector) => picture.querySelector(selector);
  const buttons = all(".patches-patch");
  const tokens = all(".patches-sequence li"); // the class token is the first
  const knob = part(".patches-mark");
  const side = Math.sqrt(buttons.length);
  const last = data.bias.length - 1;
  let [patch, feature] = data.start;

  const fill = (cells, values) => cells.forEach((cell, n) => {
    cell.textContent = fixed(values[n], 2);
    cell.style.setProperty("--ink", values[n]);
  });

  function sentence(values) {
    const [row, column] = [Math.floor(patch / side) + 1, patch % side + 1];
    const where = `Patch ${patch + 1} (row ${row}, column ${column})`;
    if (!values.some(Boolean)) {
      return `${where} is blank. Its projection is the bias alone; only position `
        + `${patch + 1} distinguishes its token from those of other blank patches.`;
    }
    const shown = values.map((value) => fixed(value, 2));
    return `${where} holds ${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}. Its `
      + `projection plus position ${patch + 1} is token ${patch + 1} of the sequence; `
      + "token 0 is the class token.";
  }

  /* z = W p + b + position */
  function draw() {
    const values = data.patches[patch];
    const position = data.positions[patch];
    const projected = data.weight.map((row, n) => dot(row, values) + data.bias[n]);
    const token = projected.map((x, n) => x + position[n]);
    for (const [name, row] of Object.entries({ projected, position, token })) {
      const base = data.bases[name];
      part(`.of-${name}`).setAttribute("d", row.map((x, n) =>
        `M${data.left + data.step * n} ${base}V${base - data.scale * x}`).join(""));
    }
    fill(all(".is-2 > span"), values);
    fill(all(".is-4 > span"), values);
    part(".patches-flattened b").textContent = `Patch ${patch + 1}`;
    buttons.forEach((button, n) => {
      button.setAttribute("aria-pressed", n === patch);
      button.tabIndex = n === patch ? 0 : -1;
    });
    tokens.forEach((one, n) => { one.className = n === patch + 1 ? "is-chosen" : ""; });
    part(".live-says").textContent = sentence(values);
    const about = `projected ${fixed(projected[feature], 3)}, position `
      + `${fixed(position[feature], 3)}, token ${fixed(token[feature], 3)}`;
    part(".patches-feature").textContent = `Feature ${feature + 1}: ${about}`;
    knob.setAttribute("transform",
      `translate(${data.left + data.step * feature} ${data.track})`);
    knob.setAttribute("aria-valuenow", feature + 1);
    knob.setAttribute("aria-valuetext", `${feature + 1}: ${about}`);
  }

  function choose(one) {
    patch = one;
    draw();
  }

  const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  buttons.forEach((button, n) => {
    button.disabled = false;
    button.addEventListener("click", () => choose(n));
    button.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault(); // the page does not scroll
      const [row, column] = [Math.floor(n / side) + step[0], n % side + step[1]];
      if (Math.min(row, column) < 0 || Math.max(row, column) >= side) return;
      choose(row * side + column);
      buttons[patch].focus();
    });
  });

  function read(to) {
    feature = Math.min(last, Math.max(0, Math.round(to)));
    draw();
  }

  handle(knob, part(".patches-bars-of-token"), {
    drag: ([x]) => read((x - data.left) / data.step),
    nudge: (dx, dy) => read(feature + dx + dy),
    reset: () => read(data.start[1]),
  });
  knob.setAttribute("aria-label", "Feature");
  knob.setAttribute("aria-valuemin", 1);
  knob.setAttribute("aria-valuemax", last + 1);
  draw();
});
