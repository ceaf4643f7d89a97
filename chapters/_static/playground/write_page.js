/* The page on which the language model writes: its controls, and what they change. */
"use strict";
{
  const { element } = Elements;
  const {
    Weights, LanguageModel, RecordedModel, WrittenText, NextToken, Attention, CachePicture,
    CONTEXT, WeightsError, start, loadWeights, percent, sampleToken, tokens,
  } = Playground;

  const TOP_K = [1, 2, 3, 5, 10, 20, 50, 100, 200, Infinity]; // along the slider
  const EXAMPLES = [
    'The "class" statement', "The class is ", "If the first argument ",
    "for i in range(", "Η κλάση ", "",
  ];
  const LONGEST = 2000; // characters of the text, as in the page
  const FULL = `The text is full: ${LONGEST} characters. Clear it, or shorten it.`;
  const AT_ONCE = 120; // tokens that it plays before it pauses by itself
  const PACE = 40; // milliseconds from one token to the next
  const LOOK = 5; // tokens after which the pictures are drawn while it plays

  start("write", load, run);

  /** The model, or what was recorded of it, if the page begins with that text. */
  function load() {
    const recording = document.querySelector("#write-recording").textContent;
    const recorded = new RecordedModel(JSON.parse(recording));
    return textAtFirst() === recorded.text ? recorded : loadModel();
  }

  /** The model itself: the weights are a hundred times what one text needs. */
  async function loadModel() {
    await loadWeights();
    const weights = new Weights("write", "LanguageModel");
    const model = new LanguageModel(weights);
    model.perplexity = weights.facts.perplexity; // on held-out text
    return model;
  }

  /** The text in the field, which may be a reader's own: browsers keep it. */
  function textAtFirst() {
    return document.querySelector("#write-text").value;
  }

  function run(model, board) {
    const part = (name) => board.querySelector(`#write-${name}`);
    const chosen = (name) => Number(board.querySelector(`[name=write-${name}]:checked`).value);
    let written = new WrittenText(model, textAtFirst());
    const next = new NextToken(part("shares"));
    const attention = new Attention(part("tokens"), part("reads"), showAttention);
    const cache = new CachePicture(part("cache"), part("cache-text"));
    let playing = null; // the timer of the next token
    let shares = null; // with which probability each token comes next
    let loading = null; // the promise of the model, while only a recording is there
    let waiting = null; // what to do once it is there

    for (const [n, example] of EXAMPLES.entries()) {
      part("example").append(element("option", { value: n }, example || "nothing at all"));
    }
    for (const event of ["pointerover", "focusin"]) {
      board.addEventListener(event, loadOnce, { once: true });
    }
    part("example").addEventListener("change", () => {
      pause();
      part("text").value = EXAMPLES[Number(part("example").value)] ?? "";
      read();
    });
    part("text").addEventListener("input", () => {
      pause();
      part("example").selectedIndex = 0;
      read();
    });
    for (const name of ["temperature", "top-k", "top-p"]) {
      part(name).addEventListener("input", showNext);
    }
    for (const name of ["layer", "head"]) {
      part(name).addEventListener("change", showAttention);
    }
    part("step").addEventListener("click", () => {
      pause();
      withModel(() => showAll(write()));
    });
    part("back").addEventListener("click", () => {
      pause();
      withModel(() => {
        written.back();
        showText();
        showAll(`Took a token back; ${tokens(written.ids.length)} are left.`);
      });
    });
    part("clear").addEventListener("click", () => {
      pause();
      part("text").value = "";
      read("The text is empty.");
    });
    part("play").addEventListener("click", () =>
      playing === null ? withModel(play) : pause(),
    );
    describe(model.perplexity);
    board.parentElement.classList.toggle("has-model", isThere());
    read("Press “next token”, or edit the text.");

    function isThere() {
      return model instanceof LanguageModel;
    }

    /** Do what takes the model itself, as soon as it is there. */
    function withModel(act) {
      if (isThere()) {
        act();
        return;
      }
      waiting = act; // in place of what waited before: it begins with the text in the field
      tell("Loading the model …");
      loadOnce();
    }

    function loadOnce() {
      if (!isThere()) {
        loading ??= loadModel().then(arrive, fail);
      }
    }

    function arrive(loaded) {
      model = loaded;
      written = new WrittenText(model, part("text").value);
      board.parentElement.classList.add("has-model");
      part("scene").classList.remove("is-stale");
      showNext(); // of the text by now, from which the next token is drawn
      waiting?.();
    }

    /** The next thing that takes the model tries again. */
    function fail(error) {
      loading = null;
      if (waiting) {
        waiting = null;
        tell(
          `${error.message} The board still shows “${model.text}”; to try again, press a button.`,
        );
      }
      if (!(error instanceof WeightsError)) {
        throw error;
      }
    }

    /** Say that the scene is not that of the text yet. */
    function tell(said) {
      part("status").textContent = said;
      part("scene").classList.toggle("is-stale", part("text").value !== written.text);
    }

    /** Have the model read the text in the field. */
    function read(said = "") {
      if (part("text").value === written.text) {
        waiting = null;
        part("scene").classList.remove("is-stale");
        showAll(said);
        return;
      }
      withModel(() => {
        written.setText(part("text").value);
        showAll(said);
      });
    }

    function settings() {
      return {
        temperature: Number(part("temperature").value),
        topK: TOP_K[Number(part("top-k").value)],
        topP: Number(part("top-p").value),
      };
    }

    function isFull() {
      return written.text.length >= LONGEST;
    }

    /** Choose a token, append it, and return what to tell about it. */
    function write() {
      if (isFull()) {
        return FULL;
      }
      const id = sampleToken(shares, Math.random());
      const chance = percent(shares[id]);
      written.append(id);
      showText();
      return `It wrote ${model.tokens.name(id)}, which had a probability of ${chance}.`;
    }

    /** Write token after token; all in one go for those who want no motion. */
    function play() {
      part("play").textContent = "pause";
      const before = written.ids.length;
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      let count = 0;
      let due = performance.now();
      const more = () => {
        do {
          if (count === AT_ONCE || isFull()) {
            pause();
            const said = `It wrote ${tokens(written.ids.length - before)} and paused.`;
            showAll(isFull() ? `${said} ${FULL}` : said);
            return;
          }
          write();
          count += 1;
          showNext();
        } while (calm);
        cache.show(written);
        if (count % LOOK === 0) {
          showAttention();
          showNotes();
        }
        due = Math.max(due + PACE, performance.now());
        playing = setTimeout(more, due - performance.now());
      };
      playing = setTimeout(more);
    }

    function pause() {
      if (playing !== null) {
        clearTimeout(playing);
        playing = null;
        part("play").textContent = "play";
        showAll("Paused.");
      }
    }

    function showText() {
      part("text").value = written.text;
      part("text").scrollTop = part("text").scrollHeight;
    }

    function showAll(said) {
      showNext();
      showAttention();
      cache.show(written);
      part("status").textContent = said;
      showNotes();
      part("back").disabled = written.ids.length === 0;
    }

    /** Spoken when they change, so they are not set again otherwise. */
    function showNotes() {
      const text = notes().join(" ");
      if (part("notes").textContent !== text) {
        part("notes").textContent = text;
      }
    }

    function showNext() {
      const { temperature, topK, topP } = settings();
      const shown = next.show(
        written.logits, { temperature, topK, topP }, (id) => model.tokens.name(id),
      );
      shares = shown.shares;
      const k = topK === Infinity ? "all" : `${topK}`;
      part("temperature-text").textContent = temperature.toFixed(2);
      part("top-k-text").textContent = k;
      part("top-k").setAttribute("aria-valuetext", k === "all" ? "all tokens" : k);
      part("top-p-text").textContent = topP === 1 ? "1 (all)" : topP.toFixed(2);
      part("left").textContent =
        `${tokens(shown.left)} of ${shares.length} can be chosen` +
        (temperature === 0 ? ", at temperature 0 always the first." : ".");
    }

    function showAttention() {
      attention.show(written, chosen("layer"), chosen("head"));
    }

    /** What a reader should know about this text, in sentences. */
    function notes() {
      const found = [];
      if (written.ids.length === 0) {
        found.push(
          "The text is empty. A prediction needs a token to begin from, so the model " +
            "reads an empty line.",
        );
      }
      if (written.unknown.length > 0) {
        const list = written.unknown.slice(0, 8).map((c) => `“${c}”`).join(", ");
        found.push(
          `Training had no ${list}. The bytes are tokens, so they can be read, but ` +
            "the model has learned nothing about them.",
        );
      }
      if (written.dropped > 0) {
        found.push(
          `The context holds ${CONTEXT.length} tokens, so the model no longer reads ` +
            `the first ${written.dropped} of ${written.ids.length}.`,
        );
      } else if (written.ids.length === CONTEXT.length) {
        found.push(
          `The context is full: ${CONTEXT.length} tokens. With the next one the model ` +
            `drops the first ${CONTEXT.length / 2} and computes all others anew.`,
        );
      }
      return found;
    }

    /** What 8 bits for a weight have cost, as the chapter measured it. */
    function describe({ stored, trained }) {
      const change = stored - trained;
      part("stored").textContent =
        `The page has 8 bits for each weight. On held-out text, the model's perplexity is ` +
        `${stored.toFixed(2)}; the rounding has changed it by ${change.toFixed(4)}.`;
    }
  }
}
