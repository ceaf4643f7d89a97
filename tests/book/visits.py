"""What a browser says of pages while they are open, for several files of tests."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import BrowserContext, Page, Request, Route


@dataclass
class Watched:
    """What a browser complained about, and what it asked other hosts for."""

    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


@contextmanager
def watched(context: BrowserContext, home: str) -> Iterator[Watched]:
    """Write down every complaint and every request that leaves ``home``."""
    page = Watched()

    def console(message) -> None:
        if message.type in ("error", "warning"):
            page.complaints.append(message.text)

    def error(found) -> None:
        page.complaints.append(str(found.error))

    def request(asked) -> None:
        if not asked.url.startswith((home, "data:", "blob:")):
            page.foreign.append(asked.url)

    listeners = {"console": console, "weberror": error, "request": request}
    for event, listener in listeners.items():
        context.on(event, listener)
    yield page
    for event, listener in listeners.items():
        context.remove_listener(event, listener)


IDLE = "new Promise((r) => requestIdleCallback(() => requestIdleCallback(r)))"


def quiet(context: BrowserContext) -> Callable[[Page], None]:
    """What waits until a page has got all that it asked for, and does nothing more.

    Args:
        context: in which the page is opened later, so that all requests are counted.
    """
    open_requests: set[Request] = set()
    context.on("request", lambda asked: open_requests.add(asked))
    for event in ("requestfinished", "requestfailed"):
        context.on(event, lambda got: open_requests.discard(got))

    def wait(page: Page) -> None:
        for _ in range(10_000):  # some milliseconds each
            page.evaluate(IDLE)
            if not open_requests:
                return
        raise AssertionError(f"no answer to {[asked.url for asked in open_requests]}")

    return wait


# What may come after the first paint. Lines in the page itself need the two others.
AT_ONCE = "documentation_options|language_data"
LATE = re.compile(rf"/(?!{AT_ONCE})[^/?]+\.(js|png|svg|webp)(\?|$)")
MOVED = """
window.moved = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const what = entry.sources.map(({ node }) => node?.parentElement?.outerHTML ?? "");
    moved.push([entry.startTime, entry.value, ...what.map((tag) => tag.slice(0, 99))]);
  }
}).observe({ type: "layout-shift", buffered: true });
"""
PAINTED = """document.readyState === "interactive"
  && performance.getEntriesByName("first-contentful-paint").length > 0"""
FONTS = "document.fonts.status === 'loaded'"  # lines with formulas depend on theirs
# A long page is laid out part by part.
LAID_OUT = """!('arriving' in document.documentElement.dataset)
  || 'arrived' in document.documentElement.dataset"""
TWO_FRAMES = "new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))"


def come_late(context: BrowserContext, address: str) -> tuple[Page, list[list]]:
    """Open a page whose scripts and pictures come when all else was seen.

    Returns the page, and what moved since they came. Before, a browser may paint a
    page of which it has only the beginning.
    """
    wait = quiet(context)
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.add_init_script(MOVED)
    held: list[Route] | None = []

    def hold(route: Route) -> None:
        route.continue_() if held is None else held.append(route)

    page.route(LATE, hold)
    page.goto(address, wait_until="commit")
    page.wait_for_function(PAINTED)
    page.evaluate(TWO_FRAMES)
    page.wait_for_function(FONTS)
    page.evaluate(TWO_FRAMES)
    began = page.evaluate("performance.now()")
    late, held = held, None
    for route in late:
        route.continue_()
    page.wait_for_load_state("load")
    wait(page)
    page.wait_for_function(LAID_OUT)
    page.evaluate(TWO_FRAMES)
    return page, [move for at, *move in page.evaluate("moved") if at > began]
