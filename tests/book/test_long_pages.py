"""While a long page arrives, only what is seen is laid out, and nobody notices."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

CHAPTER = "chapters/scaling.html"
LAST = "what-we-still-cannot-do"
THERE = """!('arriving' in document.documentElement.dataset)
  || 'arrived' in document.documentElement.dataset"""
TOP = "id => document.getElementById(id).getBoundingClientRect().top"


@pytest.fixture
def tab(readers_browser: Browser) -> Iterator[Page]:
    """A tab on a phone."""
    size = {"width": 360, "height": 740}
    with readers_browser.new_context(viewport=size, reduced_motion="reduce") as context:
        yield context.new_page()


@pytest.fixture
def go_on(tab: Page, site: str) -> Callable[[], None]:
    """A chapter that has just arrived; what has the rest of it laid out."""
    tab.add_init_script("requestIdleCallback = (work) => { globalThis.waits = work; }")
    tab.goto(f"{site}{CHAPTER}", wait_until="load")
    tab.wait_for_function("globalThis.waits && document.fonts.status === 'loaded'")
    assert not tab.evaluate(THERE)

    def go_on() -> None:
        while not tab.evaluate(THERE):
            tab.evaluate("waits()")

    return go_on


SHOWN = """() => [...document.querySelectorAll("article section > p")].at(-9)
  ?.checkVisibility()"""


@pytest.mark.parametrize(
    "act",
    [
        lambda tab: tab.evaluate("scrollTo(0, 300)"),
        lambda tab: tab.evaluate("id => { location.hash = id; }", LAST),
    ],
    ids=["scrolls", "jumps"],
)
def test_a_chapter_is_its_top_until_somebody_does_something(
    act: Callable[[Page], None], tab: Page, site: str
):
    tab.route("**/rest_of_page.js*", lambda route: None)  # which never comes
    tab.goto(f"{site}{CHAPTER}", wait_until="commit")
    tab.wait_for_function("document.querySelector('footer.bd-footer')")
    assert tab.evaluate(SHOWN) is False
    assert tab.locator("article section > p").first.is_visible()
    assert tab.locator(f"#{LAST} > h2").is_visible()
    act(tab)
    tab.wait_for_function(SHOWN)


def test_who_comes_to_a_section_or_comes_back_has_the_whole_page(tab: Page, site: str):
    tab.goto(f"{site}{CHAPTER}#{LAST}", wait_until="commit")
    assert tab.evaluate(THERE)
    tab.goto(f"{site}chapters/masking.html", wait_until="load")
    tab.go_back(wait_until="commit")
    assert tab.evaluate(THERE)
    tab.reload(wait_until="commit")
    assert tab.evaluate(THERE)


def test_who_jumps_meanwhile_stays_where_the_link_leads(tab: Page, go_on: Callable):
    for id_ in tab.locator("article section[id]:has(> h2)").evaluate_all(
        "all => [all.at(-3), all[4]].map((e) => e.id)"
    ):
        tab.evaluate("id => { location.hash = id; }", id_)
        tab.wait_for_function(f"Math.abs(({TOP})('{id_}')) < 120")
    go_on()
    assert abs(tab.evaluate(TOP, id_)) < 120


def test_on_paper_all_of_a_page_is_laid_out(tab: Page, go_on: Callable):
    tab.emulate_media(media="print")
    kinds = tab.locator("article *").evaluate_all(
        "all => [...new Set(all.map(e => getComputedStyle(e).contentVisibility))]"
    )
    assert kinds == ["visible"]


# Where everything is, and what can be reached by keyboard.
PLACES = """() => [...document.querySelectorAll("article section > *, article pre")]
  .map((e) => {
    const { left, top, width, height } = e.getBoundingClientRect();
    const style = e.style.cssText.replace("content-visibility: visible;", "").trim();
    return [left, top + scrollY, width, height, e.tabIndex, style];
  })"""


def test_in_the_end_a_page_is_as_if_it_had_been_laid_out_at_once(
    tab: Page, go_on: Callable
):
    go_on()
    came = tab.evaluate(PLACES)
    tab.reload(wait_until="load")
    assert tab.evaluate(THERE)
    at_once = tab.evaluate(PLACES)
    assert len(came) == len(at_once) > 100
    for one, other in zip(came, at_once, strict=True):
        assert one[:4] == pytest.approx(other[:4], abs=0.5)
        assert one[4:] == other[4:]
