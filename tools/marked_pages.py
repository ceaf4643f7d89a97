"""What a page loads only where its content needs it."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def load_where(app: Sphinx, marks: str | tuple[str, ...], *files: str) -> None:
    """Have pages load style sheets and scripts where their content has a mark.

    Args:
        app: of Sphinx, while an extension registers with it.
        marks: pieces of HTML, any of which will do.
        files: ``.css`` or ``.js``, in the static files; scripts never block a page.
    """
    wanted = (marks,) if isinstance(marks, str) else marks

    def load(
        app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
    ) -> None:
        if any(mark in context.get("body", "") for mark in wanted):
            for file in files:
                if file.endswith(".css"):
                    app.add_css_file(file)
                else:
                    app.add_js_file(file, loading_method="defer")

    app.connect("html-page-context", load)
