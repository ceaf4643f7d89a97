"""Sphinx extension: charts that react in the page, without a kernel or a network.

A chart that ``toolkit.interactive`` shows becomes a still picture with the chart's data
beside it. Pages that have one load a few lines that draw the chart in place of the
picture once it is near, with Vega's runtime, which is taken from vl-convert and shipped
with the book. Other pages load nothing. Without JavaScript, and on paper, the picture
stays.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx
from vl_convert import __version__, javascript_bundle, vegalite_to_svg

from toolkit.interactive import MIME
from tools.marked_pages import load_where
from tools.mime_renderer import MimeRenderer

MARK = 'class="interactive-chart"'
RUNTIME = "vega.js"
LABELS = re.compile(r' (?:aria-[a-z]+|role)="[^"]*"')  # nothing reads those of an image
BEGINS = f"""/*! Vega, Vega-Lite and Vega-Embed, as bundled by vl-convert {__version__}.
 * Copyright (c) 2015-2024, University of Washington Interactive Data Lab.
 * BSD 3-Clause licence: https://github.com/vega/vega/blob/main/LICENSE */
(() => {{
"""
ENDS = "\n})();\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx and with MyST-NB."""
    ChartRenderer.register()
    app.connect("builder-inited", write_runtime)
    load_where(app, MARK, "interactive_charts.css", "interactive_charts.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class ChartRenderer(MimeRenderer):
    """Shows a chart."""

    mime = MIME

    @classmethod
    def show(cls, renderer: Any, content: dict[str, Any]) -> list[nodes.Element]:
        """HTML for a chart."""
        return [nodes.raw(text=chart_html(content), format="html")]


def chart_html(spec: dict[str, Any]) -> str:
    """HTML that ``interactive_charts.js`` brings to life."""
    data = json.dumps(spec, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f"<div {MARK}>"
        '<div class="interactive-chart-controls"></div>'
        f'<div class="interactive-chart-view">{still_picture(spec)}</div>'
        f'<script type="application/json">{data}</script>'
        "</div>"
    )


def still_picture(spec: dict[str, Any]) -> str:
    """The chart as it is before anything was moved, with its description."""
    drawn = LABELS.sub("", vegalite_to_svg(spec))
    picture = quote(drawn, safe=" ='/:;,()")  # servers compress this, and not base64
    alt = html.escape(spec["description"])
    return f'<img src="data:image/svg+xml,{picture}" alt="{alt}">'


def write_runtime(app: Sphinx) -> None:
    """Put Vega's runtime beside the other static files of the book.

    Bundling it takes seconds, and one version of vl-convert always makes the same.
    """
    if app.builder.format != "html":
        return
    file = Path(app.outdir) / "_static" / RUNTIME
    written = file.read_text(encoding="utf-8") if file.exists() else ""
    if not (written.startswith(BEGINS) and written.endswith(ENDS)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(runtime_source(), encoding="utf-8")


def runtime_source() -> str:
    """JavaScript that defines ``vegaEmbed`` and keeps its other names to itself.

    It is a plain script, because browsers refuse to load modules from files.
    """
    return f"{BEGINS}{javascript_bundle()}{ENDS}"
