/* The scene of the start page: a word is chosen, and attention is computed with it as
   the query, from the vectors that tools/attention_scene.py wrote into the page. */
"use strict";

(() => {
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const percent = (weight) => `${(weight * 100).toFixed(0)}\u00a0%`;

  /* a = softmax(X q / sqrt(D)), y = a X, for q = X[asking] */
  function attend(X, asking) {
    const scores = X.map((x) => dot(X[asking], x) / Math.sqrt(x.length));
    const highest = Math.max(...scores);
    const raised = scores.map((score) => Math.exp(score - highest));
    const total = raised.reduce((sum, x) => sum + x, 0);
    const weights = raised.map((x) => x / total);
    const output = X[0].map((_, d) => weights.reduce((y, w, n) => y + w * X[n][d], 0));
    return { weights, output };
  }

  function sentence(words, asking, { weights, output }, features) {
    const best = weights.indexOf(Math.max(...weights));
    if (Math.max(...weights) - Math.min(...weights) < 1e-9) {
      return `The vector of “${words[asking]}” is all zeros, so every word matches it `
        + `equally well and gets ${percent(weights[best])} of the weight.`;
    }
    const target = best === asking ? "itself" : `“${words[best]}”`;
    const largest = output.indexOf(Math.max(...output));
    return `“${words[asking]}” gives its largest weight, ${percent(weights[best])}, to `
      + `${target}. In the new vector, ${features[largest]} is the largest feature: `
      + `${output[largest].toFixed(2)}.`;
  }

  function bringToLife(scene) {
    const data = JSON.parse(scene.querySelector("script").textContent);
    const keys = [...scene.querySelectorAll(".scene-keys li")];
    const lines = [...scene.querySelectorAll(".scene-lines path")];
    const rows = [...scene.querySelectorAll(".scene-output tbody tr")];
    const radios = [...scene.querySelectorAll("input[type=radio]")];
    const chosen = (name) => radios.find((r) => r.name === name && r.checked).value;

    function curve(asking, key) {
      const [start, end] = [asking, key].map((place) => data.column * (place + 0.5));
      const middle = data.depth / 2;
      return `M${start} ${data.depth}C${start} ${middle} ${end} ${middle} ${end} 0`;
    }

    function draw() {
      const words = [...data.opening, chosen("scene-last")];
      const asking = Number(chosen("scene-query"));
      const X = words.map((word) => data.vectors[word]);
      const step = attend(X, asking);
      const last = words.length - 1;
      keys[last].querySelector(".scene-key").textContent = words[last];
      scene.querySelectorAll(".scene-queries span")[last].textContent = words[last];
      step.weights.forEach((weight, n) => {
        keys[n].style.setProperty("--weight", weight);
        keys[n].querySelector(".scene-percent").textContent = percent(weight);
        lines[n].setAttribute("d", curve(asking, n));
        const width = data.thinnest + (data.thickest - data.thinnest) * weight;
        lines[n].setAttribute("stroke-width", width);
        lines[n].setAttribute("stroke-opacity", 0.2 + 0.8 * Math.sqrt(weight));
      });
      rows.forEach((row, d) => {
        row.style.setProperty("--before", X[asking][d] / data.largest);
        row.style.setProperty("--after", step.output[d] / data.largest);
        row.querySelector(".scene-before").textContent = X[asking][d].toFixed(2);
        row.querySelector(".scene-after").textContent = step.output[d].toFixed(2);
      });
      scene.querySelector(".scene-word").textContent = words[asking];
      scene.querySelector(".scene-says").textContent =
        sentence(words, asking, step, data.features);
    }

    for (const radio of radios) {
      radio.disabled = false;
      radio.addEventListener("change", draw);
    }
    scene.classList.add("is-live");
    draw(); // browsers keep a choice when a page is loaded again
  }

  document.querySelectorAll(".attention-scene").forEach(bringToLife);
})();
