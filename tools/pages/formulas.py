"""Formulas that are set when the book is built.

MathJax does it, in the Node.js that Playwright comes with, so pages need neither
MathJax nor JavaScript: they load a style sheet, and of MathJax's fonts the characters
that the book uses. A formula that cannot be set is a warning, which stops the build of
the book. Beside what is seen stands MathML for screen readers.
"""

from __future__ import annotations

import base64
import html
import importlib.util
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.ext.mathjax import html_visit_displaymath, html_visit_math
from sphinx.util import logging

from tools.node import run_script
from tools.pages.page import Page, add_sheet
from tools.pages.subset_font import subset_font

NAME = "built"  # of the renderer, which Sphinx prefers to its own
STYLES, FONTS = "formulas.css", "formulas"  # in the static files
PACKAGE = "sphinx-mathjax-offline"  # the files of MathJax, and what ships them
# What opens a formula, with the number that it may have; its TeX; and what closes it.
WRITTEN = re.compile(
    r'(<(span|div) class="math notranslate nohighlight[^>]*>'
    r'(?:\s*<span class="eqno">.*?</span>)?)([^<]*)(</\2>)',
    re.DOTALL,
)
DELIMITED = re.compile(r"\\[(\[](.*)\\[)\]]", re.DOTALL)
# As high as the text around them in the fonts that systems read with, whose x is about
# 0.52 em high; that of MathJax's fonts is 0.442 em high.
SIZE = 'mjx-container[jax="CHTML"] { font-size: 118%; }\n'

# Rules that draw a character, perhaps in a font of its own: .TEX-I is family MJXTEX-I.
DRAWN = re.compile(r'([^{}]+)\{[^{}]*content: "(?:\\([0-9A-Fa-f]+)|\\?(.))"[^{}]*\}')
CLASS = re.compile(r"\.TEX(-\w+)")
FONT = re.compile(
    r"@font-face[^{]*\{\s*font-family: (\w+(?:-\w+)?);"
    r'[^}]*url\("formulas/([^"]+)"\)[^}]*\}\s*'
)
ADDRESS = re.compile(r'url\("[^"]*"\)')
NO_CLASS = ("MJXTEX", "MJXTEX-A", *(f"MJXTEX-S{size}" for size in (1, 2, 3, 4)))
ZERO = "MJXZERO"  # named first everywhere, for its height: it draws nothing

logger = logging.getLogger(__name__)


class Formula(NamedTuple):
    """What MathJax is asked for."""

    tex: str
    display: bool


class MathJaxFailed(ExtensionError):
    """The files of MathJax are not there."""


def connect(app: Sphinx) -> None:
    """Register what writes formulas as TeX."""
    writers = ((html_visit_math, None), (html_visit_displaymath, None))
    app.add_html_math_renderer(NAME, *writers)


def set_formulas(app: Sphinx, pages: list[Page]) -> None:
    """Set the formulas of all pages, and write their styles and fonts."""
    found = {
        formula_in(match): page.name
        for page in reversed(pages)
        for match in WRITTEN.finditer(page.body)
    }
    macros = (app.config.mathjax3_config or {}).get("tex", {}).get("macros", {})
    answer = typeset(list(found), macros) if found else {"formulas": [], "css": ""}
    ready = {}
    for (formula, page), result in zip(found.items(), answer["formulas"], strict=True):
        if isinstance(result, dict):
            logger.warning(
                "the formula %r cannot be set: %s", formula.tex, result["error"],
                location=page, type="formulas",
            )  # fmt: skip
            result = f"<code>{html.escape(formula.tex)}</code>"
        ready[formula] = result
    folder = Path(app.outdir) / "_static"
    write_styles(answer["css"], folder)
    for page in pages:
        page.body, count = WRITTEN.subn(
            lambda match: f"{match[1]}{ready[formula_in(match)]}{match[4]}", page.body
        )
        if count:
            add_sheet(page, STYLES, folder)


def formula_in(match: re.Match) -> Formula:
    """The TeX of a formula, as Sphinx writes it into a page."""
    tex = html.unescape(match[3]).strip()
    delimited = DELIMITED.fullmatch(tex)
    return Formula(delimited[1].strip() if delimited else tex, match[2] == "div")


def typeset(formulas: list[Formula], macros: dict[str, Any]) -> dict[str, Any]:
    """HTML for each formula, or ``{"error": ...}``, and the style sheet for all.

    Raises:
        NodeFailed, MathJaxFailed: it could not be run.
    """
    question = {"macros": macros, "formulas": [each._asdict() for each in formulas]}
    script = Path(__file__).with_name("typeset_formulas.js")
    return json.loads(run_script(script, mathjax(), text=json.dumps(question)))


def mathjax() -> Path:
    """The folder of MathJax's files.

    Raises:
        MathJaxFailed: the package that has them is not installed.
    """
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise MathJaxFailed(f"{PACKAGE} is not installed; make installs it")
    return Path(package.submodule_search_locations[0]) / "static" / "mathjax"


def write_styles(css: str, folder: Path) -> None:
    """Write the style sheet, and the part of each font that it uses."""
    drawn = characters_of_fonts(css)
    whole = mathjax() / "output" / "chtml" / "fonts" / "woff-v2"
    fonts = folder / FONTS
    fonts.mkdir(parents=True, exist_ok=True)

    def with_part(face: re.Match) -> str:
        family, name = face.groups()
        if family == ZERO:
            return with_file_inside(face[0], whole / name)
        if drawn[family]:
            (fonts / name).write_bytes(subset_font(whole / name, drawn[family]))
            return face[0]
        return ""

    (folder / STYLES).write_text(FONT.sub(with_part, css) + SIZE, encoding="utf-8")


def with_file_inside(face: str, file: Path) -> str:
    """The rule for a font, with its file in it.

    The first font of a formula has no characters, and heights of zero: it keeps lines
    with formulas as high as others. They would move if it came later than they do.
    """
    data = base64.b64encode(file.read_bytes()).decode()
    return ADDRESS.sub(f'url("data:font/woff;base64,{data}")', face)


def characters_of_fonts(css: str) -> dict[str, set[str]]:
    """The characters that a style sheet of MathJax draws with each family of fonts."""
    drawn: dict[str, set[str]] = defaultdict(set)
    for selector, code, character in DRAWN.findall(css):
        families = [f"MJXTEX{name}" for name in CLASS.findall(selector)] or NO_CLASS
        for family in families:
            drawn[family].add(chr(int(code, 16)) if code else character)
    return drawn
