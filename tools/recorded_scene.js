/* Runs the language model of a page on one text, outside of a browser, with the scripts of
   the page and its weights.

   node recorded_scene.js SCRIPT ... < text > recording

   The recording is what RecordedModel in recorded_model.js is made of. */
"use strict";
const fs = require("node:fs");
const vm = require("node:vm");

for (const file of process.argv.slice(2)) {
  vm.runInThisContext(fs.readFileSync(file, "utf-8"), { filename: file });
}
const { Weights, LanguageModel, KeyValueCache } = globalThis.Playground;
const { facts } = Playground.files.write;
const model = new LanguageModel(new Weights("write", "LanguageModel"));
const ids = model.tokens.encode(fs.readFileSync(0, "utf-8"));
const { logits, weights } = model.read(ids, new KeyValueCache());

const rounded = (numbers) => Array.from(numbers, (x) => Number(x.toPrecision(6)));
process.stdout.write(JSON.stringify({
  merges: facts.merges,
  characters: facts.characters,
  perplexity: facts.perplexity,
  ids,
  logits: rounded(logits.data.slice(-logits.columns)), // after the last token
  weights: weights.map((layer) => layer.map((head) => head.map(rounded))),
}));
