/* The exercise notebook of a chapter: filled in with answers. */
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

  InPage.notebook = { fill };
}
