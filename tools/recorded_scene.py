"""The first scene of the page for writing, without its weights.

Most of what the page weighs are the weights of its language model, and no reader needs
them before the text changes. So the page carries what the model makes of the text that
it begins with, and loads the weights when somebody comes to the board. The page's own
scripts compute that scene here, in the Node.js that Playwright comes with.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

from tools.node import run_script

PAGE = 'data-playground="write"'
SCRIPTS = ("weights", "tensor", "attention", "bpe", "language_model")
TEXT = re.compile(r'<textarea id="write-text"[^>]*>(.*?)</textarea>', re.DOTALL)


def recording(body: str, folder: Path, weights: Path) -> str:
    """What a page carries beside its board; nothing if it has another playground.

    Args:
        body: of the page.
        folder: of the scripts.
        weights: the script with those of the model.
    """
    found = TEXT.search(body)
    if PAGE not in body or not found or not weights.is_file():
        return ""
    program = Path(__file__).with_suffix(".js")
    scripts = [folder / f"{name}.js" for name in SCRIPTS]
    data = run_script(program, *scripts, weights, text=html.unescape(found[1]))
    # In a script, "<" could only end it.
    data = data.replace("<", r"\u003c")
    return f'<script type="application/json" id="write-recording">{data}</script>'
