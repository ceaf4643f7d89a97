"""Sphinx extension: the first scene of the page for writing, without its weights.

Most of what the page weighs are the weights of its language model, and no reader needs
them before the text changes. So the page carries what the model makes of the text that
it begins with, and loads the weights when somebody comes to the board. The page's own
scripts compute that scene here, in the Node.js that Playwright comes with. Where it
does not run, a line says so, and the page loads the weights as soon as it is open.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tools.node import NodeFailed, run_script
from tools.playground import FOLDER

PAGE = 'data-playground="write"'
SCRIPTS = ("weights", "tensor", "attention", "bpe", "language_model")
TEXT = re.compile(r'<textarea id="write-text"[^>]*>(.*?)</textarea>', re.DOTALL)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, after the extension that writes the weights."""
    app.setup_extension("tools.playground")
    app.connect("html-page-context", record)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def record(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Put the recording behind the board of the page, for its script to find."""
    weights = Path(app.outdir, "_static", FOLDER, "write.weights.js")
    found = TEXT.search(context.get("body", ""))
    if PAGE not in context.get("body", "") or not found or not weights.is_file():
        return
    try:
        recording = recorded(app, weights, html.unescape(found[1]))
    except NodeFailed as error:
        print(f"The page for writing loads its model at once: {error}", file=sys.stderr)
        return
    # In a script, "<" could only end it.
    data = recording.replace("<", r"\u003c")
    context["body"] += (
        f'<script type="application/json" id="write-recording">{data}</script>'
    )


def recorded(app: Sphinx, weights: Path, text: str) -> str:
    """What the model makes of a text, as JSON.

    Raises:
        NodeFailed: Node.js or a script did not run.
    """
    folders = [Path(app.srcdir, each) for each in app.config.html_static_path]
    (folder,) = (each / FOLDER for each in folders if (each / FOLDER).is_dir())
    scripts = [folder / f"{name}.js" for name in SCRIPTS]
    program = Path(__file__).with_suffix(".js")
    return run_script(program, *scripts, weights, text=text)
