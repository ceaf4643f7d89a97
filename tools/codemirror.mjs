/* What pages use of CodeMirror. The bundle is kept in the repository, so that nobody needs
   npm to build the book. To make it anew, in a copy of this file in an empty folder:

     npm install codemirror@6 @codemirror/lang-python @lezer/highlight esbuild
     npx esbuild codemirror.mjs --bundle --minify --format=iife --global-name=CodeMirror \
       --legal-comments=none --outfile=codemirror.js

   Then put the licence and the versions above it, as in the present bundle. */
export { EditorState } from "@codemirror/state";
export { EditorView, drawSelection, keymap, lineNumbers } from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export {
  HighlightStyle, bracketMatching, indentUnit, syntaxHighlighting,
} from "@codemirror/language";
export { python } from "@codemirror/lang-python";
export { tags } from "@lezer/highlight";
