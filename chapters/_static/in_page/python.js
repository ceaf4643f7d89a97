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

  const SLOW = 3000; // milliseconds until a reader is told that it still runs
  const MOST = 30_000; // and until it is ended; autograder/watch.py is faster, if it can

  const TOO_LONG = "Stopped after 30 seconds: is there a loop that never ends?";

  /** A reader has stopped Python. */
  class Stopped extends Error {}

  class Python {
    #files = new Map(); // contents by name, loaded once
    #worker = null;
    #last = Promise.resolve();
    #current = null; // the ticket of what is being answered
    #tell = () => {}; // what is being waited for
    #prepares = false; // before anything was asked
    #broken = () => {}; // ends the worker, and the wait for it

    /** Ask Python something, after what was asked before.

        @param {object} question  for Page.ask in autograder/in_page.py
        @param {(words: string, share?: number) => void} tell  is told what is being
          waited for, and how much of it is done
        @param {object} ticket  with which this question alone can be stopped
        @returns {Promise<object>}  its answer */
    ask(question, tell, ticket = {}) {
      if (this.#prepares) {
        this.#tell = tell;
        tell("Starting Python …");
      } else if (this.#current) {
        tell("Waiting for another cell …");
      }
      const turn = this.#last.then(async () => {
        goOn(ticket);
        this.#current = ticket;
        this.#tell = tell;
        try {
          return await this.#ask(question);
        } finally {
          this.#current = null;
        }
      });
      this.#last = turn.catch(() => {});
      const stopped = new Promise((_, reject) => {
        ticket.stop = reject;
      });
      return Promise.race([turn, stopped]);
    }

    /** Start before anything is asked, for a reader who begins to write. What goes wrong is
        said when something is asked. */
    prepare() {
      if (this.#worker || this.#prepares) {
        return;
      }
      this.#prepares = true;
      this.#last = this.#last
        .then(() => (this.#worker ? null : this.#start()))
        .catch(() => {})
        .finally(() => {
          this.#prepares = false;
        });
    }

    /** End one question, running or not. The next one starts Python anew if need be. */
    stop(ticket, words = "Stopped.") {
      const stopped = new Stopped(words);
      ticket.stopped = stopped;
      ticket.stop(stopped);
      if (this.#current === ticket) {
        this.#broken(stopped);
      }
    }

    async #ask(question) {
      const ticket = this.#current;
      if (!this.#worker) {
        await this.#start();
        goOn(ticket);
      }
      this.#tell("Running …");
      const slow = setTimeout(() => this.#tell("Still running …"), SLOW);
      const end = setTimeout(() => this.stop(ticket, TOO_LONG), MOST);
      let answer;
      try {
        answer = await this.#put(question);
      } finally {
        clearTimeout(slow);
        clearTimeout(end);
      }
      if (!answer.needs) {
        return answer;
      }
      await this.#load(answer.needs);
      return this.#ask(question);
    }

    async #put(question) {
      const { answer } = await this.#send({ question: JSON.stringify(question) });
      return JSON.parse(answer);
    }

    /** Load a package that a cell needs, and let what waited for it run. */
    async #load(name) {
      await this.#fetch(packages[name], name);
      this.#tell(`Starting ${name} …`);
      await this.#send({ files: this.#contents(packages[name]), load: name });
      await this.#put({ do: "arrived", with: { package: name, above: [] } });
    }

    async #start() {
      await this.#fetch(START, "Python");
      this.#tell("Starting Python …");
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

    async #fetch(names, title) {
      const missing = names.filter((name) => !this.#files.has(name));
      const total = missing.reduce((sum, name) => sum + files[name].pieces, 0);
      let here = 0;
      await Promise.all(missing.map(async (name) => {
        const { pieces, version } = files[name];
        received.set(name, []);
        await Promise.all(Array.from({ length: pieces }, async (_, number) => {
          await InPage.addScript(`python/${name}.${number}.js?v=${version}`);
          here += 1;
          this.#tell(`Loading ${title} …`, here / total);
        }));
        this.#files.set(name, await unpacked(received.get(name).join("")));
        received.delete(name);
      }));
      if (this.#current) {
        goOn(this.#current);
      }
    }
  }

  /** @throws {Stopped}  the question of a ticket was stopped */
  function goOn(ticket) {
    if (ticket.stopped) {
      throw ticket.stopped;
    }
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

  Object.assign(InPage, { Stopped, addScript, python: new Python() });
}
