"""What a browser says of pages while they are open, for several files of tests."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import BrowserContext, Page, Request

# Formulas of a page, and those of them that are set.
FORMULAS = """() => ['.math', 'mjx-container'].map(
  selector => document.querySelectorAll(`main ${selector}`).length)"""


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
