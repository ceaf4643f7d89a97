"""What readers wait for on a slow line, page by page, in a headless Chromium.

    python -m benchmarks.pages [_build/html [PAGE ...]]

``make pages`` keeps what it prints in ``benchmarks/pages.txt``. The first lines of its
table are the first edition as a designer measured it, in ranges over all pages.

A page weighs what it loads before anybody scrolls, each file compressed as web servers
do. Times are those of a phone's screen, a line of 1.6 Mbit/s with 150 ms to the server,
and a processor four times slower than this one: until the largest thing above the fold
is seen, and how long the page could not answer (of each task, what exceeds 50 ms). For
the latter, only the time counts for which a task had the processor, times four, so that
it does not depend on what else this machine does. The shift is Chromium's score for
things that moved by themselves. Each page is opened with an empty cache, three times
for each kind of time; the middle one counts.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, CDPSession, Page

from benchmarks.environment import environment
from tools.chromium import NoChromium, headless_chromium, served
from tools.page_weight import COMPRESSED, weight

TIMES = 3
LATENCY = 150  # ms
BANDWIDTH = 1.6e6 / 8  # bytes a second
SLOWER = 4
LONG = 50  # ms; a page that answers later feels slow
TASK = "ThreadControllerImpl::RunTask"  # as Chromium calls it
PHONE = {
    "viewport": {"width": 360, "height": 740},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
# A model begins to compute once its weights are there.
ALIVE = (
    "!document.querySelector('.playground')"
    " || document.querySelector('.playground.is-live')"
)
WATCH = """
window.seen = { largest: 0, shift: 0 };
const watch = (type, note) => new PerformanceObserver(
  (list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
watch("largest-contentful-paint", (e) => { seen.largest = e.startTime; });
watch("layout-shift", (e) => { if (!e.hadRecentInput) seen.shift += e.value; });
"""


COLUMNS = ("page", "kB", "largest s", "blocked s", "shift")
FIRST_EDITION = (
    ("start page", "637"),
    ("chapters", "620-2058", "1.8-2.4", "up to 3.5"),
    ("playgrounds", "to 1106", "", "", "0.2-0.4"),
)
GOALS = (
    ("start page", "100", "1.50", "0.30", "0"),
    ("chapters", "200", "1.50", "0.30", "0"),
    ("playgrounds", "350", "1.50", "0.30", "0"),
)
DRAWN_BEFORE = "8 of 12"  # clean drawings that the first edition's digits page read


class Seen(NamedTuple):
    """What a reader waited for, in milliseconds, and Chromium's score for shifts."""

    largest: float
    shift: float


class Compressing(SimpleHTTPRequestHandler):
    """Serves files as web servers do, compressed, and logs nothing."""

    def do_GET(self) -> None:  # noqa: N802, the name that the library looks for
        """Answer with the file, or say that there is none."""
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        if path.suffix not in COMPRESSED:
            content = gzip.compress(content)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with suppress(ConnectionError):  # a page that was measured is closed
            self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def main(arguments: list[str]) -> None:
    """Print a table of all pages of a built book, or of those that are named."""
    html = Path(arguments[0] if arguments else "_build/html")
    pages = [html / "index.html", *sorted(html.glob("chapters/*.html"))]
    if len(pages) == 1:
        sys.exit(f"no pages in {html}: make book")
    known = {page.stem: page for page in pages}
    if unknown := [name for name in arguments[1:] if name not in known]:
        sys.exit(f"no page {unknown[0]} in {html}; there are {', '.join(known)}")
    try:
        measure(html, [known[name] for name in arguments[1:] or known])
    except NoChromium as error:
        sys.exit(f"needs Chromium; {error}")


def measure(html: Path, pages: list[Path]) -> None:
    """Print a line for each page, below those of the first edition and the goals."""
    handler = partial(Compressing, directory=str(html))
    with served(html, handler) as home, headless_chromium() as browser:
        print(environment(), f"Chromium {browser.version}\n", sep="\n")
        print(line(*COLUMNS))
        for title, rows in [("first edition", FIRST_EDITION), ("goals", GOALS)]:
            print("", title, *(line(*row) for row in rows), sep="\n")
        print("\nnow")
        for page in pages:
            address = f"{home}{page.relative_to(html).as_posix()}"
            loaded = sum(weight(browser, address).values()) / 1000
            seen = [opened(browser, address) for _ in range(TIMES)]
            largest, shift = map(statistics.median, zip(*seen, strict=True))
            kept = statistics.median(blocked(browser, address) for _ in range(TIMES))
            times = [f"{time / 1000:.2f}" for time in (largest, kept)]
            row = line(page.stem, f"{loaded:.0f}", *times, f"{shift:.3f}")
            print(row, flush=True)
    print(f"\n{drawn_digits(html)}")


def line(page: str, *values: str) -> str:
    """A line of the table; later values may be left out."""
    widths = (10, 11, 11, 10)
    cells = (f"{v:>{w}}" for v, w in zip(values, widths, strict=False))
    return f"{page:24}{''.join(cells)}".rstrip()


def drawn_digits(html: Path) -> str:
    """How many held-out drawings the digits page reads, as its chapter measured it."""
    script = html / "_static" / "playground" / "digits.weights.js"
    if not script.is_file():
        return "no model of the digits page in this book"
    file = re.search(r"\] = (\{.*\});", script.read_text(encoding="ascii"))
    facts = json.loads(file[1])["facts"]
    count = len(facts["drawn_labels"])
    return (
        f"held-out drawings of digits: {round(facts['drawn_accuracy'] * count)} of "
        f"{count} are read correctly; first edition: {DRAWN_BEFORE}; goal: 95 %"
    )


def opened(browser: Browser, address: str) -> Seen:
    """Open a page on a phone with the slow line and the slow processor."""
    with slow_line(browser) as (tab, session):
        session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        tab.add_init_script(WATCH)
        tab.goto(address, wait_until="networkidle", timeout=120_000)
        return Seen(**tab.evaluate("seen"))


def blocked(browser: Browser, address: str) -> float:
    """For how many milliseconds a slow processor keeps a page from answering."""
    with slow_line(browser) as (tab, _):
        categories = ["toplevel", "blink.user_timing"]
        browser.start_tracing(page=tab, categories=categories)
        tab.goto(address, wait_until="networkidle", timeout=120_000)
        tab.wait_for_function(ALIVE)
        trace = json.loads(browser.stop_tracing())["traceEvents"]
    threads = {  # that of the page: the browser's own pages have others
        (event["pid"], event["tid"])
        for event in trace
        if event["name"] == "navigationStart"
        and event["args"]["data"]["documentLoaderURL"] == address
    }
    tasks = [
        SLOWER * event.get("tdur", 0) / 1000
        for event in trace
        if event["name"] == TASK and (event["pid"], event["tid"]) in threads
    ]
    return sum(max(0.0, task - LONG) for task in tasks)


@contextmanager
def slow_line(browser: Browser) -> Iterator[tuple[Page, CDPSession]]:
    """A page on a phone, and what can make it slower."""
    with browser.new_context(**PHONE) as context:
        tab = context.new_page()
        session = context.new_cdp_session(tab)
        session.send(
            "Network.emulateNetworkConditions",
            {
                "offline": False,
                "latency": LATENCY,
                "downloadThroughput": BANDWIDTH,
                "uploadThroughput": BANDWIDTH,
            },
        )
        yield tab, session


if __name__ == "__main__":
    main(sys.argv[1:])
