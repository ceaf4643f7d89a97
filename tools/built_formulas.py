"""Sphinx extension: formulas that are set when the book is built.

MathJax does it, in the Node.js that Playwright comes with, so pages need neither
MathJax nor JavaScript: they load a style sheet, and of MathJax's fonts the characters
that the book uses. A formula that cannot be set is a warning, which stops the build of
the book. Beside what is seen stands MathML for screen readers. Where that Node.js does
not run, a line says so, and pages bring MathJax, which sets formulas in the browser.
"""

from __future__ import annotations

import base64
import html
import importlib.util
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.locale import _
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from tools.marked_pages import load_where
from tools.node import NodeFailed, node_program, run_script
from tools.subset_font import subset_font

NAME = "built"  # for html_math_renderer
STYLES, FONTS = "formulas.css", "formulas"  # in the static files
PACKAGE = "sphinx-mathjax-offline"  # the files of MathJax, and what ships them
MARK = "<mjx-container"
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


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx as a way to show formulas."""
    formulas = Formulas()
    app.add_html_math_renderer(NAME, (formulas.inline, None), (formulas.display, None))
    app.connect("config-inited", choose)
    app.connect("write-started", formulas.set_all)
    load_where(app, MARK, STYLES)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def choose(app: Sphinx, config: Config) -> None:
    """Set formulas here if that is possible, and otherwise in the browser."""
    try:
        node_program(), mathjax()
    except (NodeFailed, MathJaxFailed) as error:
        print(f"Formulas will be set in the browser: {error}", file=sys.stderr)
        app.setup_extension(PACKAGE)
        config.html_math_renderer = "mathjax"
    else:
        config.html_math_renderer = NAME


class Formulas:
    """All formulas of a book as HTML."""

    def __init__(self) -> None:
        self.html: dict[Formula, str] = {}

    def set_all(self, app: Sphinx, builder: Builder) -> None:
        """Set the formulas of all pages, and write their styles and fonts."""
        if getattr(builder, "math_renderer_name", None) != NAME:
            return
        found: dict[Formula, nodes.Element] = {}
        for docname in sorted(app.env.found_docs):
            doctree = app.env.get_doctree(docname)
            for node in doctree.findall(lambda node: isinstance(node, KINDS)):
                found.setdefault(formula_of(node), node)
        macros = (app.config.mathjax3_config or {}).get("tex", {}).get("macros", {})
        answer = typeset(list(found), macros) if found else {"formulas": [], "css": ""}
        for formula, result in zip(found, answer["formulas"], strict=True):
            if isinstance(result, dict):
                logger.warning(
                    "the formula %r cannot be set: %s", formula.tex, result["error"],
                    location=found[formula], type="formulas",
                )  # fmt: skip
                result = f"<code>{html.escape(formula.tex)}</code>"
            self.html[formula] = result
        write_styles(answer["css"], Path(app.outdir) / "_static")

    def inline(self, writer: Any, node: nodes.math) -> NoReturn:
        """Write a formula within a line."""
        tag = writer.starttag(node, "span", "", CLASS="math notranslate nohighlight")
        writer.body.append(f"{tag}{self.html[formula_of(node)]}</span>")
        raise nodes.SkipNode

    def display(self, writer: Any, node: nodes.math_block) -> NoReturn:
        """Write a formula that stands alone, with its number if it has one."""
        tag = writer.starttag(node, "div", CLASS="math notranslate nohighlight")
        writer.body.append(tag)
        if node["number"] and not node["nowrap"]:
            number = get_node_equation_number(writer, node)
            writer.body.append(f'<span class="eqno">({number})')
            writer.add_permalink_ref(node, _("Link to this equation"))
            writer.body.append("</span>")
        writer.body.append(f"{self.html[formula_of(node)]}</div>\n")
        raise nodes.SkipNode


KINDS = (nodes.math, nodes.math_block)


def formula_of(node: nodes.math | nodes.math_block) -> Formula:
    """The TeX of a formula, as Sphinx's own renderer hands it to MathJax."""
    text = node.astext()
    if isinstance(node, nodes.math):
        return Formula(text, display=False)
    if node["nowrap"]:
        return Formula(text, display=True)
    parts = [part for part in text.split("\n\n") if part.strip()]
    lines = [
        rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part else part
        for part in parts
    ]
    tex = r"\\".join(lines)
    if len(parts) > 1:
        tex = rf"\begin{{align}}\begin{{aligned}}{tex}\end{{aligned}}\end{{align}}"
    return Formula(tex, display=True)


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
