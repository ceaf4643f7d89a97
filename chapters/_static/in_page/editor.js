/* An editor for Python, made with CodeMirror, which is loaded when one comes into view. */
"use strict";

globalThis.InPage ??= {};
{
  /** Put an editor into a place.

      @param {HTMLElement} place
      @param {string} text
      @param {string} label  what a screen reader calls it
      @param {(text: string) => void} changed  when somebody types
      @param {Record<string, () => void>} keys  such as {"Ctrl-Enter": check}
      @returns {Promise<{text: string, focus(): void, select(words: string): void}>} */
  async function openEditor(place, text, label, changed, keys) {
    if (!globalThis.CodeMirror) {
      await InPage.addScript("codemirror.js");
    }
    const C = CodeMirror;
    const bindings = Object.entries(keys).map(([key, does]) => ({
      key,
      run: () => {
        does();
        return true;
      },
    }));
    const colour = (tag, name) => ({ tag, class: `in-page-${name}` });
    let typed = true; // and not put there by the page, such as what another tab wrote
    const colours = C.HighlightStyle.define([
      colour(C.tags.keyword, "keyword"),
      colour(C.tags.string, "string"),
      colour(C.tags.comment, "comment"),
      colour([C.tags.number, C.tags.bool, C.tags.null], "number"),
    ]);
    place.replaceChildren();
    const view = new C.EditorView({
      parent: place,
      doc: text.replace(/\n$/, ""),
      extensions: [
        C.keymap.of([...bindings, C.indentWithTab, ...C.defaultKeymap, ...C.historyKeymap]),
        C.lineNumbers(),
        C.history(),
        C.drawSelection(),
        C.bracketMatching(),
        C.indentUnit.of("    "),
        C.EditorState.tabSize.of(4),
        C.python(),
        matchMedia("(max-width: 40rem)").matches ? C.EditorView.lineWrapping : [],
        C.syntaxHighlighting(colours),
        C.EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        C.EditorView.updateListener.of((update) => {
          if (update.docChanged && typed) {
            view.setTabFocusMode(false); // Tab indents for who writes
            changed(view.state.doc.toString());
          }
        }),
      ],
    });
    // Who only comes along with Tab is led on.
    view.setTabFocusMode(true);
    place.addEventListener("pointerdown", () => view.setTabFocusMode(false));
    place.addEventListener("focusout", () => view.setTabFocusMode(true));
    return {
      get text() {
        return view.state.doc.toString();
      },
      set text(wanted) {
        if (wanted !== this.text) {
          const all = { from: 0, to: view.state.doc.length, insert: wanted };
          typed = false;
          view.dispatch({ changes: all });
          typed = true;
        }
      },
      focus: () => view.focus(),
      /** Select the first place of some words, if there is one. */
      select(words) {
        const anchor = this.text.indexOf(words);
        if (anchor >= 0) {
          view.dispatch({ selection: { anchor, head: anchor + words.length } });
        }
      },
    };
  }

  InPage.openEditor = openEditor;
}
