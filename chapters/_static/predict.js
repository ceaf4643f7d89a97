/* A field for a prediction. The output of the next cell waits for it, and is compared with
   it; the prediction stays in this browser. Without this script nothing waits. */
"use strict";

{
  const { element } = Elements;
  const PAGE = location.pathname.split("/").pop().replace(/\.html$/, "");
  const KEY = `attention-from-scratch-predictions/${PAGE}`;
  const WAITS = "waits-for-prediction";
  const TELLS = "tells-the-output"; // the paragraph below it

  /** The predictions of this page, by their questions. */
  const recall = () => Kept.recall(KEY) ?? {};

  const oneLine = (text) => text.replace(/\s+/g, " ").trim();

  class Prediction {
    constructor(place) {
      const { answer, choices, line, near } = place.dataset;
      Object.assign(this, { answer, line, near: Number(near) });
      this.question = oneLine(place.textContent);
      this.cell = [...document.querySelectorAll(".cell")].find((cell) =>
        place.compareDocumentPosition(cell) & Node.DOCUMENT_POSITION_FOLLOWING
        && cell.querySelector(".cell_output:not(.in-page-output)"));
      this.output = this.cell?.querySelector(".cell_output:not(.in-page-output)");
      const below = this.cell?.nextElementSibling;
      this.text = below?.matches("p") ? below : null;
      this.verdict = element("p", { class: "predict-verdict", role: "status" });
      this.form = element("form", { class: "predict-form noprint" });
      this.#fill(choices ? choices.split("|") : []);
      this.form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.predict(new FormData(this.form).get("prediction"));
      });
      place.append(this.form, this.verdict);
      const kept = recall()[this.question];
      if (kept !== undefined) {
        this.#take(kept);
        this.compare(kept);
      } else {
        this.output?.classList.add(WAITS);
        this.text?.classList.add(TELLS);
      }
    }

    /** The field: a number, or choices. */
    #fill(choices) {
      const one = (value) => element("label", {},
        element("input", { type: "radio", name: "prediction", value, required: "" }), value);
      const number = element("input", {
        type: "number", name: "prediction", step: "any", required: "",
        "aria-label": "Your prediction",
      });
      const showIt = { class: "predict-show", click: () => this.show() };
      const show = element("button", showIt, "Show it");
      const legend = element("legend", { class: "visually-hidden" }, "Your prediction");
      const set = element("fieldset", {}, legend);
      set.append(...choices.map(one));
      const field = choices.length ? set : number;
      this.form.append(field, element("button", { type: "submit" }, "Predict"), show);
    }

    #take(kept) {
      for (const input of this.form.querySelectorAll("input")) {
        if (input.type === "radio") {
          input.checked = input.value === kept;
        } else {
          input.value = kept;
        }
      }
    }

    predict(said) {
      Kept.keep(KEY, { ...recall(), [this.question]: said });
      this.compare(said);
    }

    /** Show the output. */
    show() {
      this.output?.classList.remove(WAITS);
      this.text?.classList.remove(TELLS);
      this.form.querySelector(".predict-show").hidden = true;
    }

    /** Say how a prediction compares with what the cell gives: here, or in the book. */
    compare(said) {
      this.show();
      const off = Math.abs(Number(said) - Number(this.answer));
      const isRight = said === this.answer || off <= this.near;
      const outputs = [...(this.cell?.querySelectorAll(".cell_output") ?? [])];
      const lines = outputs.reverse().flatMap((output) => output.textContent.split("\n"));
      const line = lines.map(oneLine).find((text) => text.includes(this.line)) ?? "";
      const but = isRight ? "" : ` It is “${this.answer}”.`;
      this.verdict.className = `predict-verdict ${isRight ? "is-right" : "is-wrong"}`;
      this.verdict.replaceChildren(
        `${isRight ? "✓" : "✗"} You said “${said}”.${but} The cell prints: `,
        element("code", {}, line),
      );
    }
  }

  document.querySelectorAll(".predict").forEach((place) => new Prediction(place));
}
