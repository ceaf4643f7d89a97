"""Sphinx extension: trained models that run on pages of their own.

A chapter exports a model with ``toolkit.playground``. The model arrives here as an
output of the chapter, from the cache or fresh, and is written, with smaller numbers,
into a script beside the other static files. Pages with a playground load the scripts
that compute, and these load the model when a reader scrolls near it, or comes to it.
Other pages load nothing.

What a playground would show where it cannot run, ``playground_example.py`` draws; the
first scene of the page for writing is computed by ``recorded_scene.py``.
"""

from __future__ import annotations

import html
import zlib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from toolkit.playground import MIME, script
from toolkit.quantised_weights import quantised
from tools.mime_renderer import MimeRenderer
from tools.playground_example import picture_of
from tools.recorded_scene import recording

FOLDER = "playground"  # in the static files
EXAMPLE = '<div data-playground-example="{}"></div>'
COMPUTING = {
    "dates": (
        *("weights", "tensor", "attention", "transformer", "doubts", "view"),
        *("answer", "pair", "scene", "heads"),
    ),
    "digits": (
        *("weights", "tensor", "attention", "vit", "view", "strokes"),
        *("drawing", "patches", "pair", "heads"),
    ),
    "write": (
        *("weights", "tensor", "attention", "bpe", "sampling", "language_model"),
        *("recorded_model", "written_text", "view", "write_view"),
    ),
    "yours": ("weights", "view"),
}

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx and with MyST-NB."""
    ModelRenderer.register()
    app.connect("env-purge-doc", forget)
    app.connect("doctree-read", note_scripts)
    app.connect("write-started", write_models)
    app.connect("html-page-context", load_on_pages_with_a_playground)
    app.connect("html-page-context", draw_examples)
    return {"parallel_read_safe": False, "parallel_write_safe": True}


class ModelRenderer(MimeRenderer):
    """Takes models out of the outputs of chapters; nothing of them is shown there."""

    mime = MIME

    @classmethod
    def show(cls, renderer: Any, content: dict[str, Any]) -> list[nodes.Element]:
        """Nothing to be seen for a model."""
        env, name = renderer.renderer.sphinx_env, content["name"]
        models(env).setdefault(env.docname, {})[name] = content["file"]
        return [nodes.comment(text=f"{name}: a model for the playground")]


def models(env: BuildEnvironment) -> dict[str, dict[str, Any]]:
    """The models that each page gave away, by page and name; kept between builds."""
    if not hasattr(env, "playground_models"):
        env.playground_models = {}
    return env.playground_models


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """A page is read again, and gives away what it has by itself."""
    models(env).pop(docname, None)


def playground_of(page: str) -> str | None:
    """The name of the playground in the HTML of a page."""
    return next((n for n in COMPUTING if f'data-playground="{n}"' in page), None)


def note_scripts(app: Sphinx, doctree: nodes.document) -> None:
    """A page with a playground is out of date when a script or style changes.

    Otherwise Sphinx would find nothing to do, and not even copy the new file.
    """
    if any(playground_of(raw.astext()) for raw in doctree.findall(nodes.raw)):
        for static in app.config.html_static_path:
            for file in sorted(Path(app.srcdir, static, FOLDER).glob("*.*")):
                app.env.note_dependency(str(file))


def write_models(app: Sphinx, builder: Builder) -> None:
    """Write all models into scripts beside the other static files of the book."""
    if builder.format != "html":
        return
    folder = Path(app.outdir) / "_static" / FOLDER
    for given in models(app.env).values():
        for name, file in given.items():
            folder.mkdir(parents=True, exist_ok=True)
            target = folder / f"{name}.weights.js"
            target.write_text(script(name, quantised(file)), encoding="ascii")


def load_on_pages_with_a_playground(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Ask for the scripts on pages that need them, in the order in which they build.

    A page whose model nobody gave away would only tell its reader so. That is a
    warning, which stops the build of the book.
    """
    name = playground_of(context.get("body", ""))
    if name is None:
        return
    if not any(name in given for given in models(app.env).values()):
        logger.warning(
            "no chapter gave away the model %r that this page runs", name,
            location=pagename, type="playground",
        )  # fmt: skip
    app.add_css_file(f"{FOLDER}/playground.css")
    for script_name in (*COMPUTING[name], f"{name}_page"):
        app.add_js_file(f"{FOLDER}/{script_name}.js", loading_method="defer")
    file = f"_static/{FOLDER}/{name}.weights.js"
    weights = html.escape(_address(app, context, file))
    mark = f'data-playground="{name}"'
    body = context["body"].replace(mark, f'{mark} data-weights="{weights}"')
    context["body"] = body + recording(body, _scripts(app), Path(app.outdir, file))


def draw_examples(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Put the picture of each model that was given away into its place on a page."""
    for given in models(app.env).values():
        for name, file in given.items():
            place = EXAMPLE.format(name)
            if place in context.get("body", ""):
                picture = picture_of(file["facts"]["example"])
                context["body"] = context["body"].replace(place, picture)


def _scripts(app: Sphinx) -> Path:
    """The folder of the playground's scripts, among the sources."""
    folders = (Path(app.srcdir, each, FOLDER) for each in app.config.html_static_path)
    return next(filter(Path.is_dir, folders), Path())


def _address(app: Sphinx, context: dict[str, Any], path: str) -> str:
    """Where a page finds a file, in its present version: browsers keep old ones."""
    file = Path(app.outdir, path)
    version = f"?v={zlib.crc32(file.read_bytes()):08x}" if file.is_file() else ""
    return context["pathto"](path, 1) + version
