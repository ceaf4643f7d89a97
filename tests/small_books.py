"""Settings of the book for a small one that a test builds."""

from pathlib import Path
from typing import Any

import yaml

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
