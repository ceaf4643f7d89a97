/* What all live pictures share: they are brought to life when they are near, by a script
   of their own; handles follow pointer, finger and keys; numbers look as in
   tools/live_pictures/markup.py. */
"use strict";

globalThis.LivePictures = (() => {
  const NEAR = 400; // pixels
  const kinds = new Map(); // what brings a picture to life, by its name

  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

  /* The weights of some scores; minus infinity is masked, and a row without keys is 0. */
  function softmax(scores) {
    const highest = Math.max(...scores);
    if (highest === -Infinity) return scores.map(() => 0);
    const raised = scores.map((score) => Math.exp(score - highest));
    const total = raised.reduce((sum, x) => sum + x, 0);
    return raised.map((x) => x / total);
  }

  /* The mean of some vectors with these weights, which sum to one. */
  const average = (weights, vectors) =>
    vectors[0].map((_, d) => weights.reduce((sum, w, n) => sum + w * vectors[n][d], 0));

  function fixed(number, decimals) {
    const text = number.toFixed(decimals);
    return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
  }

  const percent = (weight) => `${(weight * 100).toFixed(0)}\u00a0%`;

  function listed(words) {
    const quoted = words.map((word) => `“${word}”`);
    if (quoted.length < 2) return quoted.join("");
    return `${quoted.slice(0, -1).join(", ")} and ${quoted.at(-1)}`;
  }

  /* The rows of a table of words, as tools/live_pictures/markup.py made it. */
  function tabulate(table, words, scores, weights) {
    [...table.tBodies[0].rows].forEach((row, n) => {
      row.style.setProperty("--weight", weights[n]);
      row.querySelector("th").textContent = words[n];
      row.querySelector(".live-score").textContent = fixed(scores[n], 2);
      row.querySelector(".live-weight").textContent = percent(weights[n]);
    });
  }

  /* Where in a drawing a pointer is. */
  function pointIn(svg, event) {
    const at = new DOMPoint(event.clientX, event.clientY);
    const { x, y } = at.matrixTransform(svg.getScreenCTM().inverse());
    return [x, y];
  }

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

  /* Let a handle be moved. It is told to a screen reader as a slider, the only role
     with a value that keys change; what it says is up to the picture.

     drag(point)   the pointer is at this point of the drawing
     nudge(dx, dy) an arrow was pressed; Shift makes it larger
     reset()       Home was pressed
     takesClicks   whether it also comes to where the drawing is clicked */
  function handle(knob, svg, { drag, nudge, reset, takesClicks = true }) {
    svg.removeAttribute("aria-label");
    svg.setAttribute("role", "presentation");
    knob.setAttribute("tabindex", "0");
    knob.setAttribute("role", "slider");
    // In a drawing, not every browser heeds touch-action: the page would scroll.
    knob.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    knob.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      event.preventDefault(); // no selection of text
      knob.focus({ preventScroll: true });
      knob.setPointerCapture(event.pointerId);
    });
    knob.addEventListener("pointermove", (event) => {
      if (knob.hasPointerCapture(event.pointerId)) drag(pointIn(svg, event));
    });
    svg.addEventListener("click", (event) => {
      const onHandle = event.target.closest(".live-handle");
      if (takesClicks && !onHandle) drag(pointIn(svg, event));
    });
    knob.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const times = event.shiftKey ? 10 : 1;
      if (event.key in ARROWS) nudge(...ARROWS[event.key].map((way) => way * times));
      else if (event.key === "Home") reset();
      else return;
      event.preventDefault(); // the page does not scroll
    });
  }

  /* The radio buttons of a picture: chosen(name) is the value of one group. */
  function choices(picture, changed) {
    const radios = [...picture.querySelectorAll("input[type=radio]")];
    for (const radio of radios) {
      radio.disabled = false;
      radio.addEventListener("change", changed);
    }
    return (name) => Number(radios.find((r) => r.name === name && r.checked).value);
  }

  async function bringToLife(picture) {
    await Loader.script(picture.dataset.script);
    const data = JSON.parse(picture.querySelector("script").textContent);
    kinds.get(picture.dataset.livePicture)(picture, data);
    picture.classList.add("is-live");
  }

  Loader.whenNear(document.querySelectorAll(".live-picture"), NEAR, (picture) => {
    bringToLife(picture).catch((error) => console.error(error)); // it stays as it is
  });

  return {
    define: (name, live) => kinds.set(name, live),
    average, choices, dot, fixed, handle, listed, percent, softmax, tabulate,
  };
})();
