"""Live pictures on pages of their own, and what their tests share."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Locator, Page

from tests.book.contents import ROOT
from tests.book.playgrounds import FORGET
from tools.live_pictures import FOLDER, PICTURES, picture_html

STATIC = ROOT / "chapters" / "_static"
PAGE = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{name}</title>
<link rel="stylesheet" href="{static}/house.css">
<link rel="stylesheet" href="{static}/{folder}/live.css">
<script src="{static}/loader.js" defer></script>
<script src="{static}/{folder}/live.js" defer></script>
<body class="bd-content"><main><p>Text before.</p>{picture}<p id="after">Text after.
</p></main>"""
Open = Callable[..., AbstractContextManager[tuple[Page, Locator]]]


def write_pages(folder: Path) -> None:
    """Write a page for each picture."""
    for name in PICTURES:
        address = f"{(STATIC / FOLDER / name).as_uri()}.js"
        picture = picture_html(name).replace("<div", f'<div data-script="{address}"', 1)
        text = PAGE.format(
            name=name, static=STATIC.as_uri(), folder=FOLDER, picture=picture
        )
        (folder / f"{name}.html").write_text(text, encoding="utf-8")


class Pictures:
    """Opens pictures as files without a network; complaints fail the test.

    A tab of its own for each would take as long as the picture. So there is one for
    readers of each kind, such as those who have switched JavaScript off.
    """

    def __init__(self, folder: Path, browser: Browser) -> None:
        self._folder = folder
        self._browser = browser
        self._tabs: dict[tuple, Page] = {}
        self._complaints: list[str] = []

    @contextmanager
    def opened(
        self, name: str, width: int = 1280, **options: Any
    ) -> Iterator[tuple[Page, Locator]]:
        """A picture, and the page that has nothing else, opened anew."""
        page = self._tab(options)
        page.mouse.move(0, 0)
        page.goto("about:blank")
        page.set_viewport_size({"width": width, "height": 900})
        self._complaints.clear()
        page.goto((self._folder / f"{name}.html").as_uri())
        if options.get("java_script_enabled", True):
            page.wait_for_selector(".live-picture.is-live")
        yield page, page.locator(".live-picture")
        assert self._complaints == []

    def close(self) -> None:
        """Close all tabs, and forget their readers."""
        for page in self._tabs.values():
            page.context.close()

    def _tab(self, options: dict[str, Any]) -> Page:
        kind = tuple(sorted(options.items()))
        if kind not in self._tabs:
            context = self._browser.new_context(offline=True, **options)
            context.add_init_script(FORGET)
            hear = self._complaints.append
            context.on("console", lambda message: hear(message.text))
            context.on("weberror", lambda error: hear(str(error.error)))
            context.on("requestfailed", lambda asked: hear(asked.url))
            self._tabs[kind] = context.new_page()
        return self._tabs[kind]


def numbers(text: str) -> list[float]:
    """The numbers in a text, as pictures write them."""
    found = re.findall(r"−?\d+(?:\.\d+)?", text)
    return [float(number.replace("−", "-")) for number in found]


def centre(part: Locator) -> np.ndarray:
    """The middle of a part on the screen, (2,)."""
    box = part.bounding_box()
    return np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
