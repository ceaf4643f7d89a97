/* Python for this page: loaded on the first question, asked one thing at a time, stopped
   when it does not come to an end. */
"use strict";

globalThis.InPage ??= {};
{
  const HERE = new URL(".", document.currentScript.src);
  const { files, core, packages } = InPage.runtime;
  const [FIRST, ...LATER] = Object.keys(packages);
  const START = [...core, ...packages[FIRST]];
  const received = new Map(); // texts of pieces, by the name of the file

  /** What each piece of a file calls. */
  InPage.receive = (name, number, text) => {
    received.get(name)[number] = text;
  };

  /** A reader has stopped Python. */
  class Stopped extends Error {}

  class Python {
    #files = new Map(); // contents by name, loaded once
    #worker = null;
    #last = Promise.resolve();
    #stops = 0; // how often somebody pressed Stop
    #asked = 0; // #stops when the present question was asked
    #prepares = false; // before anything was asked
    #broken = () => {}; // ends the worker, and the wait for it

    /** Whether the next question starts without loading anything. */
    get loaded() {
      return this.#files.size > 0;
    }

    /** How many bytes the first question loads. */
    get size() {
      return weight(START);
    }

    /** How many bytes a package loads. */
    sizeOf(name) {
      return weight(packages[name].filter((file) => !this.#files.has(file)));
    }

    /** Ask Python something, after what was asked before.

        @param {object} question  for Page.ask in autograder/in_page.py
        @param {(words: string) => void} tell  is told what is being waited for
        @returns {Promise<object>}  its answer */
    ask(question, tell) {
      if (this.#prepares) {
        tell("Starting Python …");
      }
      const stops = this.#stops;
      const turn = this.#last.then(() => {
        this.#asked = stops;
        return this.#ask(question, tell);
      });
      this.#last = turn.catch(() => {});
      return turn;
    }

    /** Start before anything is asked, for a reader who begins to write. What goes wrong is
        said when something is asked. */
    prepare() {
      if (this.#worker || this.#prepares) {
        return;
      }
      this.#prepares = true;
      const stops = this.#stops;
      this.#last = this.#last
        .then(() => {
          this.#asked = stops;
          return this.#worker ? null : this.#start(() => {});
        })
        .catch(() => {})
        .finally(() => {
          this.#prepares = false;
        });
    }

    /** End whatever is running or waits. The next question starts Python anew. */
    stop() {
      this.#stops += 1; // while something loads there is nothing to end
      this.#broken(new Stopped("Stopped."));
    }

    async #ask(question, tell) {
      this.#goOn();
      if (!this.#worker) {
        await this.#start(tell);
      }
      tell("Running …");
      const answer = await this.#put(question);
      if (!answer.needs) {
        return answer;
      }
      await this.#load(answer.needs, tell);
      return this.#ask(question, tell);
    }

    async #put(question) {
      const { answer } = await this.#send({ question: JSON.stringify(question) });
      return JSON.parse(answer);
    }

    /** Load a package that a cell needs, and let what waited for it run. */
    async #load(name, tell) {
      await this.#fetch(packages[name], tell, name);
      tell(`Starting ${name} …`);
      await this.#send({ files: this.#contents(packages[name]), load: name });
      await this.#put({ do: "arrived", with: { package: name, above: [] } });
    }

    async #start(tell) {
      await this.#fetch(START, tell, "Python");
      tell("Starting Python …");
      const source = new Blob([`(${InPage.worker})();`], { type: "text/javascript" });
      const address = URL.createObjectURL(source);
      this.#worker = new Worker(address);
      URL.revokeObjectURL(address);
      await this.#send({ files: this.#contents(START), start: { later: LATER, first: FIRST } });
    }

    #contents(names) {
      return Object.fromEntries(names.map((name) => [name, this.#files.get(name)]));
    }

    #send(message) {
      if (!this.#worker) {
        throw new Stopped("Stopped.");
      }
      return new Promise((resolve, reject) => {
        const broken = (error) => {
          this.#worker?.terminate();
          this.#worker = null;
          reject(error);
        };
        this.#broken = broken;
        this.#worker.onmessage = ({ data }) =>
          "failed" in data ? broken(new Error(data.failed)) : resolve(data);
        this.#worker.onerror = (event) => broken(new Error(event.message));
        this.#worker.postMessage(message);
      });
    }

    async #fetch(names, tell, title) {
      const missing = names.filter((name) => !this.#files.has(name));
      const total = missing.reduce((sum, name) => sum + files[name].pieces, 0);
      let here = 0;
      const size = megabytes(weight(missing));
      await Promise.all(missing.map(async (name) => {
        const { pieces, version } = files[name];
        received.set(name, []);
        await Promise.all(Array.from({ length: pieces }, async (_, number) => {
          await InPage.addScript(`python/${name}.${number}.js?v=${version}`);
          here += 1;
          tell(`Loading ${title}, ${size}: ${Math.round((100 * here) / total)} % …`);
        }));
        this.#files.set(name, await unpacked(received.get(name).join("")));
        received.delete(name);
      }));
      this.#goOn();
    }

    /** @throws {Stopped}  since the present question was asked, Stop was pressed */
    #goOn() {
      if (this.#asked !== this.#stops) {
        throw new Stopped("Stopped.");
      }
    }
  }

  function weight(names) {
    return names.reduce((sum, name) => sum + files[name].packed, 0);
  }

  function megabytes(bytes) {
    return `${Math.round(bytes / 1e6)} MB`;
  }

  /** Add a script to the page; for those that are not needed from the beginning. */
  function addScript(path) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL(path, HERE);
      script.onload = () => {
        script.remove();
        resolve();
      };
      script.onerror = () => {
        script.remove();
        reject(new Error(`${path.split("?")[0]} could not be loaded.`));
      };
      document.head.append(script);
    });
  }

  async function unpacked(base64) {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i += 1) {
      bytes[i] = text.charCodeAt(i);
    }
    const packed = new Blob([bytes]).stream();
    return new Response(packed.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  }

  Object.assign(InPage, { Stopped, addScript, megabytes, python: new Python() });
}
