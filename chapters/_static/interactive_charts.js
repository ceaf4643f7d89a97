/* Draws the charts that toolkit/interactive.py wrote into the page as data, each when it
   is about to be seen. The first of them loads Vega. */
"use strict";

const VEGA = new URL("vega.js", document.currentScript.src);
const NEAR = 300; // pixels, about the height of a chart
const AXIS_ROOM = 80; // pixels beside a part of a concatenation, for its axis

/* The width of each part of a concatenation that is as wide as the page. */
function partWidth(view) {
  return Math.max(160, view.clientWidth - AXIS_ROOM);
}

/* Vega fits single views to the page by itself; the parts of a concatenation have one
   width, which follows the page from here. */
function followPage(view, drawn) {
  new ResizeObserver(() => {
    if (drawn.width() !== partWidth(view)) {
      drawn.width(partWidth(view)).runAsync();
    }
  }).observe(view);
}

/* Where a chart asks for it, a click on a mark sets parameters to fields of its data. */
function followClicks(drawn, fields) {
  drawn.addEventListener("click", (event, item) => {
    const chosen = Object.entries(fields).map(([name, field]) => [name, item?.datum?.[field]]);
    if (chosen.every(([, value]) => value !== undefined)) {
      chosen.forEach(([name, value]) => drawn.signal(name, value));
      drawn.runAsync();
    }
  });
}

async function drawChart(chart) {
  await Loader.script(VEGA);
  const spec = JSON.parse(chart.querySelector("script").textContent);
  const view = chart.querySelector(".interactive-chart-view");
  const controls = chart.querySelector(".interactive-chart-controls");
  if (spec.usermeta?.asWideAsThePage) {
    if (spec.vconcat) {
      spec.vconcat.forEach((part) => { part.width = partWidth(view); });
    } else {
      spec.width = "container";
    }
  }
  const still = [...view.childNodes];
  const drawing = document.createElement("div");
  view.append(drawing);
  const { view: drawn } = await vegaEmbed(drawing, spec, {
    mode: "vega-lite", renderer: "svg", actions: false, bind: controls,
  });
  for (const node of still) {
    node.hidden = true;
  }
  if (spec.usermeta?.asWideAsThePage && spec.vconcat) {
    followPage(view, drawn);
  }
  if (spec.usermeta?.click) {
    followClicks(drawn, spec.usermeta.click);
  }
  chart.classList.add("is-live");
}

Loader.whenNear(document.querySelectorAll(".interactive-chart"), NEAR, (chart) => {
  drawChart(chart).catch((error) => console.error(error)); // the picture stays
});
