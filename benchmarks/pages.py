"""How heavy the pages are, and how soon they are ready, in a headless Chromium.

    python -m benchmarks.pages [_build/html]

A page weighs what it loads, each file compressed as web servers do, pictures apart. It
is ready when it has loaded, its formulas are typeset and its charts are drawn. Each is
opened three times, every time with an empty cache; the middle time counts.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser

from tools.chromium import NoChromium, headless_chromium, served
from tools.page_weight import weight

TIMES = 3
READY = """async () => {
  if (window.MathJax) await MathJax.startup.promise;
  const charts = [...document.querySelectorAll('.interactive-chart')];
  while (!charts.every(chart => chart.classList.contains('is-live'))) {
    await new Promise(done => requestAnimationFrame(done));
  }
}"""


def main(arguments: list[str]) -> None:
    """Print a table of all pages of a built book."""
    html = Path(arguments[0] if arguments else "_build/html")
    pages = sorted(html.glob("chapters/*.html"))
    if not pages:
        sys.exit(f"no pages in {html}: make book")
    try:
        measure(html, pages)
    except NoChromium as error:
        sys.exit(f"needs Chromium; {error}")


def measure(html: Path, pages: list[Path]) -> None:
    """Print a line for each page."""
    with served(html) as home, headless_chromium() as browser:
        print(f"{'page':24}{'kB':>8}{'pictures kB':>13}{'ready s':>9}")
        for page in pages:
            address = f"{home}chapters/{page.name}"
            loaded = sum(weight(browser, address).values()) / 1000
            pictures = sum(weight(browser, address, pictures=True).values()) / 1000
            seconds = statistics.median(ready(browser, address) for _ in range(TIMES))
            print(f"{page.stem:24}{loaded:8.0f}{pictures - loaded:13.0f}{seconds:9.2f}")


def ready(browser: Browser, address: str) -> float:
    """Seconds until a page can be read, formulas and charts included."""
    with browser.new_context() as context:
        tab = context.new_page()
        start = time.perf_counter()
        tab.goto(address, wait_until="load")
        tab.evaluate(READY)
        return time.perf_counter() - start


if __name__ == "__main__":
    main(sys.argv[1:])
