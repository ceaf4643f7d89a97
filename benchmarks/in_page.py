"""What solving exercises in the page costs: bytes, and seconds in a headless Chromium.

    python -m benchmarks.in_page [_build/html]

Bytes are those of files compressed as web servers do. A cold check begins in a browser
that has seen nothing; a warm one on the next page that the same browser opens: at once,
a while after the exercise came into view, or a while after the reader began to write
there. A slow machine is this one while each of its processors has three other things to
do. Browsers can be told to run slowly, too, but then their workers, in which Python is,
run as fast as ever.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Locator, Page

from benchmarks.environment import environment
from tools.chromium import NoChromium, headless_chromium, served

PAGE, EXERCISE = "chapters/simplified_attention.html", "softmax"
AGAIN = "chapters/scaling.html", "attention_entropy"
CAPSTONE = "chapters/your_transformer.html"
WRITES = 20  # seconds from the first letter in a browser that has seen nothing
LOOKS = 5  # seconds from an exercise in view, or from its first word, to its check
TIMES = 10  # later checks; the middle one counts
LONGEST = 300_000  # milliseconds


def main(arguments: list[str]) -> None:
    """Print what was measured on a built book."""
    html = Path(arguments[0] if arguments else "_build/html")
    if not (html / "_static" / "in_page" / "runtime.js").is_file():
        sys.exit(f"no exercise runs in the pages of {html}: make book, with Pyodide")
    try:
        with served(html) as home, headless_chromium() as browser:
            weigh(browser, home, html)
            fast = checks(browser, home)
            with shared_processors():
                slow = checks(browser, home)
    except NoChromium as error:
        sys.exit(f"needs Chromium; {error}")
    print(environment())
    print(f"{'':38}{'here':>10}{'slow':>10}")
    for what in fast:
        print(f"{what:38}{fast[what]:8.2f} s{slow[what]:8.2f} s")


def weigh(browser: Browser, home: str, html: Path) -> None:
    """Print what the page loads for exercises, before and at the first check."""
    with browser.new_context() as context:
        asked: list[str] = []
        context.on("request", lambda request: asked.append(request.url))
        page = opened(context, home + PAGE)
        page.wait_for_load_state("networkidle")
        print(f"{'before the first check':28}{weight(asked, html) / 1000:8.0f} kB")
        asked.clear()
        seconds(page, EXERCISE)
        print(f"{'at the first check':28}{weight(asked, html) / 1000:8.0f} kB")


def weight(addresses: list[str], html: Path) -> int:
    """Compressed bytes of those files that belong to exercises in the page."""
    paths = {urlsplit(address).path.lstrip("/") for address in addresses}
    ours = [html / path for path in paths if "/in_page/" in path]
    return sum(len(gzip.compress(file.read_bytes())) for file in ours)


def checks(browser: Browser, home: str) -> dict[str, float]:
    """Seconds of first checks and of later ones, by what they are called."""
    path, exercise = AGAIN
    with browser.new_context() as context:
        page = opened(context, home + PAGE)
        cold = seconds(page, EXERCISE)
        later = statistics.median(seconds(page, EXERCISE) for _ in range(TIMES))
        warm = seconds(opened(context, home + path), exercise)
        page, region = looked_at(context, home + path, exercise)
        time.sleep(LOOKS)
        seen = seconds(page, exercise)
        page, region = looked_at(context, home + path, exercise)
        region.locator(".cm-line").last.click()
        page.keyboard.type("#")
        time.sleep(LOOKS)
        written = seconds(page, exercise)
    with browser.new_context() as context:
        capstone = seconds_to_text(context, home + CAPSTONE)
    with browser.new_context() as context:
        page, region = looked_at(context, home + PAGE, EXERCISE)
        region.locator(".cm-line").last.click()
        page.keyboard.type("#")
        time.sleep(WRITES)
        return {
            "first check, cold": cold,
            "first check, warm": warm,
            f"  {LOOKS} s after it came into view": seen,
            f"  {LOOKS} s into writing": written,
            f"first check, {WRITES} s after the first letter": seconds(page, EXERCISE),
            "later checks": later,
            "capstone, cold, to its text": capstone,
        }


@contextlib.contextmanager
def shared_processors() -> Iterator[None]:
    """While each processor of this machine is shared with three busy processes."""
    busy = [sys.executable, "-c", "while True: pass"]
    count = 3 * len(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            process = stack.enter_context(subprocess.Popen(busy))
            stack.callback(process.kill)
        yield


def opened(context: BrowserContext, address: str) -> Page:
    """A page in a tab of its own."""
    page = context.new_page()
    page.set_default_timeout(LONGEST)
    page.goto(address)
    return page


def looked_at(
    context: BrowserContext, address: str, exercise: str
) -> tuple[Page, Locator]:
    """A page scrolled to an exercise, and the region of that."""
    page = opened(context, address)
    region = page.locator(f'.in-page[data-exercise="{exercise}"]')
    region.scroll_into_view_if_needed()
    return page, region


def seconds(page: Page, exercise: str) -> float:
    """How long a reader waits for the report on an exercise."""
    region = page.locator(f'.in-page[data-exercise="{exercise}"]')
    button = region.get_by_role("button", name=f"Check: {exercise}")
    region.evaluate("region => delete region.dataset.score")
    start = time.perf_counter()
    button.click()
    region.and_(page.locator('[data-score][aria-busy="false"]')).wait_for()
    return time.perf_counter() - start


def seconds_to_text(context: BrowserContext, address: str) -> float:
    """How long a reader waits for the text of the capstone, run in the page."""
    page = opened(context, address)
    page.locator(".playground").scroll_into_view_if_needed()
    page.locator(".playground.is-live").wait_for()
    start = time.perf_counter()
    page.locator("#yours-run").click()
    page.locator("#yours-other .yours-given").wait_for()
    return time.perf_counter() - start


if __name__ == "__main__":
    main(sys.argv[1:])
