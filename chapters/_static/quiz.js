/* The first option that a reader chooses is the answer to a question: it is marked, counts,
   and is kept in this browser. The others can be unfolded afterwards, to compare. Without
   this script, options unfold and nothing counts. */
"use strict";

{
  const { element } = Elements;
  const PAGE = location.pathname.split("/").pop().replace(/\.html$/, "");
  const KEY = `attention-from-scratch-quiz/${PAGE}`;
  const HELP = "The first option that you choose counts, and stays in this browser.";

  /** The answers of this page, by the words of the question. */
  const recall = () => Kept.recall(KEY) ?? {};

  const wordsOf = (place) => place.textContent.replace(/\s+/g, " ").trim();

  /** What a question is called in the storage: itself, so that a new one has no answer. */
  const nameOf = (question) =>
    [...question.children].filter((e) => e.tagName !== "DETAILS").map(wordsOf).join(" ");

  class Quiz {
    constructor(list) {
      this.questions = new Map(); // by name: the options, by their words
      this.score = element("span", { class: "quiz-score", role: "status" });
      const again = { class: "btn btn-sm", click: () => this.forget() };
      this.again = element("button", again, "Start over");
      for (const question of list.children) {
        const options = new Map();
        this.questions.set(nameOf(question), options);
        for (const option of question.querySelectorAll(":scope > details.quiz-option")) {
          const title = option.querySelector("summary");
          const words = wordsOf(title).replace(/^[A-Z]\. /, "");
          options.set(words, option);
          title.addEventListener("click", () => this.answer(nameOf(question), words));
        }
      }
      list.after(element("p", { class: "quiz-result noprint" }, this.score, " ", this.again));
      this.show();
    }

    /** The option that counts for a question, if it is still one of them. */
    chosen(name) {
      const words = recall()[name];
      return this.questions.get(name).get(words);
    }

    answer(name, words) {
      if (!this.chosen(name)) {
        Kept.keep(KEY, { ...recall(), [name]: words });
        this.show(false);
      }
    }

    forget() {
      const answers = recall();
      for (const [name, options] of this.questions) {
        delete answers[name];
        options.forEach((option) => { option.open = false; });
      }
      Kept.keep(KEY, answers);
      this.show();
      this.questions.values().next().value.values().next().value.querySelector("summary").focus();
    }

    /** Mark the answers and count them. @param {boolean} unfold  also show what they say */
    show(unfold = true) {
      let right = 0, answered = 0;
      for (const [name, options] of this.questions) {
        const chosen = this.chosen(name);
        for (const option of options.values()) {
          option.querySelector(".quiz-choice")?.remove();
        }
        if (chosen) {
          chosen.open ||= unfold;
          const mark = element("span", { class: "quiz-choice" }, "your answer ");
          chosen.querySelector("summary").prepend(mark); // floats beside the first line
          answered += 1;
          right += Number(chosen.classList.contains("quiz-right"));
        }
      }
      const left = this.questions.size - answered;
      const questions = left === 1 ? "1 question" : `${left} questions`;
      this.again.hidden = !answered;
      this.score.textContent = answered
        ? `${right} of ${answered} right${left ? `, ${questions} left` : ""}.`
        : HELP;
    }
  }

  document.querySelectorAll("ol.quiz-questions").forEach((list) => new Quiz(list));
}
