/* Draws the charts that toolkit/interactive.py wrote into the page as data. */
"use strict";

const AXIS_ROOM = 80; // pixels beside a part of a concatenation, for its axis

async function drawChart(chart) {
  const spec = JSON.parse(chart.querySelector("script").textContent);
  const view = chart.querySelector(".interactive-chart-view");
  const controls = chart.querySelector(".interactive-chart-controls");
  if (spec.usermeta?.asWideAsThePage) {
    if (spec.vconcat) {
      const width = Math.max(160, view.clientWidth - AXIS_ROOM);
      spec.vconcat.forEach((part) => { part.width = width; });
    } else {
      spec.width = "container";
    }
  }
  const still = [...view.childNodes];
  const drawing = document.createElement("div");
  view.append(drawing);
  await vegaEmbed(drawing, spec, {
    mode: "vega-lite", renderer: "svg", actions: false, bind: controls,
  });
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
