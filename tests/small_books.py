"""Small books that tests build: of some pages, or with the settings of the book."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import yaml
from sphinx.application import Sphinx

# They load torch, or pack Pyodide and Vega into the book: two thirds of the time that a
# book of one page takes.
COSTLY = {
    "tools.interactive_charts",
    "tools.live_pictures",
    "tools.playground",
    "tools.playground_example",
    "tools.recorded_scene",
    "tools.run_in_page",
}


def settings_of_the_book(root: Path, but_for: set[str] = COSTLY) -> dict[str, Any]:
    """What ``_config.yml`` says, without the extensions that a test does not need.

    Args:
        root: the root of the checkout.
        but_for: the extensions that are left out; each of them has to be in the list.
    """
    text = (root / "_config.yml").read_text(encoding="utf-8")
    settings = yaml.safe_load(text)
    used = settings["sphinx"]["config"]["extensions"]
    assert but_for <= set(used), f"not in _config.yml: {but_for - set(used)}"
    settings["sphinx"]["config"]["extensions"] = [
        name for name in used if name not in but_for
    ]
    return settings


def build_pages(
    folder: Path,
    pages: Mapping[str, str],
    extensions: Sequence[str],
    *,
    builder: str = "html",
    complaints: TextIO | None = None,
    **settings: Any,
) -> Sphinx:
    """Build some pages with Sphinx, in this process, into ``folder / "html"``.

    Args:
        folder: where they are written.
        pages: their texts by their files; none if they are there.
        extensions: those that are used besides MyST's.
        builder: of Sphinx.
        complaints: where warnings are written.
        settings: as a ``conf.py`` has them; one that is there counts as well.
    """
    (folder / "conf.py").touch()
    for name, text in pages.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    app = Sphinx(
        srcdir=folder,
        confdir=folder,
        outdir=folder / "html",
        doctreedir=folder / "doctrees",
        buildername=builder,
        confoverrides={"extensions": ["myst_parser", *extensions], **settings},
        status=None,
        warning=complaints,
    )
    app.build()
    return app
