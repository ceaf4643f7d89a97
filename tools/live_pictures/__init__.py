"""Sphinx extension: small pictures that readers manipulate.

``{live-picture} NAME`` puts a picture into a page, in its initial state: drawn by the
module of that name beside this one, with numbers that the references of the course
compute when the book is built. Paper and browsers without JavaScript keep it so.
Elsewhere, ``chapters/_static/live_pictures/live.js`` waits until it is near and loads
``NAME.js``, which moves the parts that are there. So nothing else in the page changes
its place.
"""

from __future__ import annotations

import html
import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools.live_pictures import (
    head_loop,
    mask_grid,
    patch_tokens,
    position_curve,
    projections,
    query_plane,
    score_spread,
)
from tools.live_pictures.markup import Picture

PICTURES: dict[str, Callable[[], Picture]] = {
    "head_loop": head_loop.picture,
    "mask_grid": mask_grid.picture,
    "patch_tokens": patch_tokens.picture,
    "position_curve": position_curve.picture,
    "projections": projections.picture,
    "query_plane": query_plane.picture,
    "score_spread": score_spread.picture,
}
FOLDER = "live_pictures"  # of scripts and style, in the static files
MARK = re.compile(r'data-live-picture="(\w+)"')
ROOT = Path(__file__).resolve().parents[2]
# What may change a picture, beside the references of the chapter that it is in.
MADE_OF = ("tools/attention_scene.py", "tools/live_pictures/*.py")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("live-picture", LivePicture)
    app.connect("html-page-context", load_on_pages_with_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class LivePicture(SphinxDirective):
    """``{live-picture} NAME``: a picture in its first state, with the data it needs."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The picture as HTML."""
        (name,) = self.arguments
        if name not in PICTURES:
            known = ", ".join(sorted(PICTURES))
            raise self.error(f"live-picture: there is no {name!r}, only {known}")
        topic = Path(self.env.docname).name
        for kind in (*MADE_OF, f"solutions/{topic}.py"):
            for file in sorted(ROOT.glob(kind)):
                self.env.note_dependency(str(file))
        return [nodes.raw("", picture_html(name), format="html")]


def picture_html(name: str) -> str:
    """A picture with the mark by which its script finds it, and with its data."""
    picture = PICTURES[name]()
    data = json.dumps(picture.data, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<div class="live-picture" data-live-picture="{name}" role="group" '
        f'aria-label="{html.escape(picture.label)}">\n{picture.body}\n'
        f'<script type="application/json">{data}</script></div>'
    )


def load_on_pages_with_pictures(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Ask for style and script, and tell each picture where its own script is."""
    body = context.get("body", "")
    if not MARK.search(body):
        return
    app.add_css_file(f"{FOLDER}/live.css")
    app.add_js_file(f"{FOLDER}/live.js", loading_method="defer")

    def with_address(found: re.Match) -> str:
        path = f"_static/{FOLDER}/{found[1]}.js"
        source = ROOT / "chapters" / path
        version = f"{zlib.crc32(source.read_bytes()):08x}"  # browsers keep old ones
        address = html.escape(f"{context['pathto'](path, 1)}?v={version}")
        return f'{found[0]} data-script="{address}"'

    context["body"] = MARK.sub(with_address, body)
