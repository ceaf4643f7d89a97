/* Sets formulas with MathJax, outside of a browser.

   node typeset_formulas.js FOLDER < question > answer

   FOLDER is that of MathJax. The question is {macros, formulas: [{tex, display}]}, the
   answer {formulas, css}, where a formula is HTML, or {error} if it cannot be set. */
"use strict";
const fs = require("node:fs");
const path = require("node:path");

const PACKAGES = ["ams", "boldsymbol", "configmacros", "html", "newcommand"];
// Nobody knows the fonts of a reader: an x is taken to be half as high as an em.
const METRICS = { em: 16, ex: 8, containerWidth: 80 * 16 };

async function answer({ macros, formulas }, folder) {
  const MathJax = await require(path.join(folder, "node-main.js")).init({
    loader: {
      paths: { mathjax: folder },
      load: [
        "adaptors/liteDOM", "input/tex-base", ...PACKAGES.map((name) => `[tex]/${name}`),
        "output/chtml", "a11y/assistive-mml",
      ],
    },
    tex: {
      packages: ["base", ...PACKAGES],
      macros,
      formatError: (_, error) => { throw error; },
    },
    chtml: { fontURL: "formulas", adaptiveCSS: true }, // rules for what occurs
    startup: { typeset: false },
  });
  const { adaptor } = MathJax.startup;
  const set = formulas.map(({ tex, display }) => {
    try {
      return adaptor.outerHTML(MathJax.tex2chtml(tex, { display, ...METRICS }));
    } catch (error) {
      return { error: error.message };
    }
  });
  return { formulas: set, css: adaptor.textContent(MathJax.chtmlStylesheet()) };
}

const question = JSON.parse(fs.readFileSync(0, "utf-8"));
answer(question, path.resolve(process.argv[2])).then(
  (found) => process.stdout.write(JSON.stringify(found)),
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  },
);
