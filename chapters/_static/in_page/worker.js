/* What runs beside the page, so that it can be stopped: Pyodide, and the course in it.

   A page that was opened as a file may load no worker from beside it. So the text of this
   function becomes one, and all files are posted to it. It uses nothing of the page. */
"use strict";

globalThis.InPage ??= {};
InPage.worker = function () {
  const COURSE = "/course";
  const files = new Map();
  let python = null; // autograder.in_page.Page.ask
  let pyodide = null;

  const TYPES = { wasm: "application/wasm", json: "application/json" };
  self.fetch = async (address) => {
    const name = String(address.url ?? address).split(/[?#]/)[0].split("/").pop();
    if (!files.has(name)) {
      throw new TypeError(`${name} is not part of the page`);
    }
    const type = TYPES[name.split(".").pop()] ?? "application/octet-stream";
    return new Response(files.get(name), { headers: { "Content-Type": type } });
  };

  async function start({ first, later }) {
    const run = globalThis.eval; // in the global scope
    const text = (name) => new TextDecoder().decode(files.get(name));
    run(text("pyodide.js"));
    run(text("pyodide.asm.js"));
    pyodide = await loadPyodide({
      indexURL: "https://files.invalid/",
      env: { HOME: COURSE, MPLBACKEND: "agg" },
    });
    await load(first);
    pyodide.unpackArchive(files.get("course.zip"), "zip", { extractDir: COURSE });
    pyodide.runPython(`import os, sys\nos.chdir("${COURSE}")\nsys.path.insert(0, "${COURSE}")`);
    const page = pyodide.pyimport("autograder.in_page").Page(pyodide.toPy(later));
    python = page.ask;
    files.clear();
  }

  async function load(name) {
    await pyodide.loadPackage(name, { messageCallback() {}, errorCallback() {} });
  }

  self.onmessage = async ({ data }) => {
    try {
      for (const [name, content] of Object.entries(data.files ?? {})) {
        files.set(name, content);
      }
      if (data.start) {
        await start(data.start);
        self.postMessage({});
      } else if (data.load) {
        await load(data.load);
        self.postMessage({});
      } else {
        self.postMessage({ answer: python(data.question) });
      }
    } catch (error) {
      self.postMessage({ failed: String(error) });
    }
  };
};
