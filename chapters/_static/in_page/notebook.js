/* The exercise notebook of a chapter: filled in with answers, or answers taken out. */
"use strict";

globalThis.InPage ??= {};
{
  const nameOf = (cell) => {
    const { grade_id: name, solution } = cell.metadata?.nbgrader ?? {};
    return cell.cell_type === "code" && solution ? name : undefined;
  };

  /** The blank notebook of a chapter with answers in it, as text.

      @param {string} chapter  such as "scaling"
      @param {Map<string, string>} answers  code by the name of the exercise */
  async function fill(chapter, answers) {
    await InPage.addScript(`notebooks/${chapter}.js`);
    for (const cell of InPage.blank.cells) {
      if (answers.has(nameOf(cell))) {
        cell.source = answers.get(nameOf(cell)).replace(/\n$/, "");
      }
    }
    return JSON.stringify(InPage.blank, null, 1);
  }

  /** The answers in a notebook, by the name of the exercise.

      @throws {Error}  the text is no notebook; the message says so */
  function answers(text) {
    let cells;
    try {
      cells = JSON.parse(text).cells;
    } catch {
      // told below
    }
    if (!Array.isArray(cells)) {
      throw new Error("This file is no notebook.");
    }
    const found = cells.filter((cell) => nameOf(cell) !== undefined);
    return new Map(found.map((cell) => [nameOf(cell), [cell.source].flat().join("")]));
  }

  InPage.notebook = { fill, answers };
}
