"""The pictures of the instructor's guide: ``python -m classroom.pictures``.

Takes pictures of the report and of a feedback page of the course that ``make demo``
grades. Run it again when either page looks different; it takes about two minutes.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from classroom.demo import demonstrate
from tools.chromium import headless_chromium

FOLDER = Path(__file__).resolve().parents[1] / "chapters" / "teaching" / "pictures"
TOPIC = "simplified_attention"
SCALE = 1.25  # pixels of a picture for one of the page
COLOURS = {"class_report": 16, "feedback": 48}  # a file is a third as large with few


def save(shot: bytes, name: str) -> None:
    """Keep a picture with few colours."""
    picture = Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS[name])
    picture.save(FOLDER / f"{name}.png", optimize=True)
    size = (FOLDER / f"{name}.png").stat().st_size
    print(f"{FOLDER / name}.png: {size:,} bytes")


def take(course: Path) -> None:
    """Take both pictures of a graded course."""
    FOLDER.mkdir(exist_ok=True)
    with headless_chromium() as browser:
        page = browser.new_page(
            viewport={"width": 1000, "height": 720}, device_scale_factor=SCALE
        )
        page.goto((course / "reports" / f"{TOPIC}.html").as_uri())
        save(page.screenshot(), "class_report")
        for file in sorted((course / "feedback").glob(f"*/{TOPIC}/{TOPIC}.html")):
            page.goto(file.as_uri())
            wrong = page.locator(".attention-verdict.is-wrong")
            if wrong.count():
                wrong.first.locator("summary").first.click()  # its cases
                save(wrong.first.screenshot(), "feedback")
                break


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        found = Path(folder) / "course"
        if status := demonstrate(found, TOPIC):
            sys.exit(status)
        take(found)
