/* Draws the charts that toolkit/interactive.py wrote into the page as data. */
"use strict";

const AXIS_ROOM = 110; // pixels that axes and legend of a part take, roughly

async function drawChart(chart) {
  const spec = JSON.parse(chart.querySelector("script").textContent);
  const view = chart.querySelector(".interactive-chart-view");
  const controls = chart.querySelector(".interactive-chart-controls");
  for (const part of spec.vconcat ?? []) {
    part.width ??= Math.max(160, Math.min(560, view.clientWidth - AXIS_ROOM));
  }
  const still = [...view.childNodes];
  const drawing = document.createElement("div");
  view.append(drawing);
  await vegaEmbed(drawing, spec, { actions: false, renderer: "svg", bind: controls });
  for (const node of still) {
    node.hidden = true;
  }
  chart.classList.add("is-live");
}

document.addEventListener("DOMContentLoaded", () => {
  for (const chart of document.querySelectorAll(".interactive-chart")) {
    drawChart(chart).catch((error) => console.error(error)); // the picture stays
  }
});
