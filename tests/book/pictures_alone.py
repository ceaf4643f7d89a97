"""Live pictures on pages of their own, and what their tests share."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Locator, Page

from tests.book.contents import ROOT
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


@contextmanager
def opened(
    folder: Path, browser: Browser, name: str, width: int = 1280, **options
) -> Iterator[tuple[Page, Locator]]:
    """A picture, opened as a file without a network; complaints fail the test."""
    complaints: list[str] = []
    with browser.new_context(
        offline=True, viewport={"width": width, "height": 900}, **options
    ) as context:
        context.on("console", lambda message: complaints.append(message.text))
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.on("requestfailed", lambda asked: complaints.append(asked.url))
        page = context.new_page()
        page.goto((folder / f"{name}.html").as_uri())
        picture = page.locator(".live-picture")
        if options.get("java_script_enabled", True):
            page.wait_for_selector(".live-picture.is-live")
        yield page, picture
    assert complaints == []


def numbers(text: str) -> list[float]:
    """The numbers in a text, as pictures write them."""
    found = re.findall(r"−?\d+(?:\.\d+)?", text)
    return [float(number.replace("−", "-")) for number in found]


def centre(part: Locator) -> np.ndarray:
    """The middle of a part on the screen, (2,)."""
    box = part.bounding_box()
    return np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
