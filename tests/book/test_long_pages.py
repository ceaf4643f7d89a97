"""While a long page arrives, only what is seen is laid out: nobody notices, neither who
reads, jumps, searches or prints meanwhile, nor afterwards.
"""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.suites import members

CHAPTER = "chapters/scaling.html"
LAST = "what-we-still-cannot-do"
LAID_OUT = "e => e.checkVisibility({ contentVisibilityAuto: true })"  # what it is in
THERE = """!('arriving' in document.documentElement.dataset)
  || 'arrived' in document.documentElement.dataset"""
# Where everything is, and what can be reached by keyboard.
PLACES = """() => [...document.querySelectorAll("article section > *, article pre")]
  .map((e) => {
    const { left, top, width, height } = e.getBoundingClientRect();
    const style = e.style.cssText.replace("content-visibility: visible;", "").trim();
    return [left, top + scrollY, width, height, e.tabIndex, style];
  })"""
TOP = "id => document.getElementById(id).getBoundingClientRect().top"


@pytest.fixture(params=members([360, 1280]))
def tab(request: pytest.FixtureRequest, readers_browser: Browser) -> Iterator[Page]:
    """A tab on a phone, and one on a laptop."""
    size = {"width": request.param, "height": 740}
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


@pytest.fixture
def late(tab: Page) -> Callable[[str], None]:
    """Has a file of the pages never come."""
    return lambda file: tab.route(f"**/{file}*", lambda route: None)


@pytest.mark.parametrize(
    "act",
    [
        lambda tab: tab.evaluate("scrollTo(0, 300)"),
        lambda tab: tab.keyboard.press("Tab"),
        lambda tab: tab.mouse.down(),
        lambda tab: tab.evaluate("id => { location.hash = id; }", LAST),
    ],
    ids=["scrolls", "presses a key", "clicks", "jumps"],
)
def test_a_chapter_is_its_top_until_somebody_does_something(
    act: Callable[[Page], None], tab: Page, site: str, late: Callable[[str], None]
):
    late("rest_of_page.js")
    tab.goto(f"{site}{CHAPTER}", wait_until="commit")
    tab.wait_for_function("document.querySelector('footer.bd-footer')")
    assert tab.evaluate(SHOWN) is False
    assert tab.locator("article section > p").first.is_visible()
    assert tab.locator(f"#{LAST} > h2").is_visible()
    act(tab)
    tab.wait_for_function(SHOWN)


def test_a_file_that_never_comes_keeps_nothing_back(
    tab: Page, site: str, late: Callable[[str], None]
):
    late("late.svg")
    tab.add_init_script(f"""addEventListener("DOMContentLoaded", () => {{
      globalThis.atFirst = ({SHOWN})();
      document.body.append(Object.assign(new Image(), {{ src: "late.svg" }}));
    }})""")
    tab.goto(f"{site}{CHAPTER}", wait_until="domcontentloaded")
    tab.wait_for_function(SHOWN)
    assert tab.evaluate("atFirst") is False
    assert tab.evaluate("document.readyState") == "interactive"


def test_what_is_far_away_is_laid_out_in_the_end(tab: Page, go_on: Callable):
    within = tab.locator("article section > p > *")
    assert within.first.evaluate(LAID_OUT)
    assert not within.nth(-9).evaluate(LAID_OUT)
    go_on()
    assert within.nth(-9).evaluate(LAID_OUT)


def test_in_the_end_a_page_is_as_if_it_had_been_laid_out_at_once(
    tab: Page, site: str, go_on: Callable
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


def test_who_reads_meanwhile_keeps_the_line(tab: Page, go_on: Callable):
    tab.mouse.move(180, 300)
    for _ in range(8):
        tab.mouse.wheel(0, 700)
        tab.evaluate("new Promise((r) => requestAnimationFrame(() => setTimeout(r)))")
    # Until the page has stopped: charts are drawn when one comes near.
    tab.wait_for_function(
        """() => {
          const [line] = [...document.querySelectorAll("article section > *")]
            .filter((e) => e.getBoundingClientRect().top > 60);
          const { top } = line.getBoundingClientRect(), before = globalThis.reads;
          globalThis.reads = { line, top };
          return line === before?.line && top === before.top;
        }""",
        polling=700,
    )
    assert tab.evaluate("scrollY") > 1000
    go_on()
    now, before = tab.evaluate("[reads.line.getBoundingClientRect().top, reads.top]")
    assert now == pytest.approx(before, abs=2)


def test_a_word_that_is_far_away_is_found_meanwhile(tab: Page, go_on: Callable):
    words = tab.locator("article section > p").last.text_content().split()[:4]
    assert tab.evaluate("text => find(text)", " ".join(words))
    tab.wait_for_function(
        """() => {
          const { top, bottom } = getSelection().getRangeAt(0).getBoundingClientRect();
          return top >= 0 && bottom <= innerHeight && bottom > top;
        }"""
    )


def test_on_paper_all_of_a_page_is_laid_out(tab: Page, go_on: Callable):
    tab.emulate_media(media="print")
    kinds = tab.locator("article *").evaluate_all(
        "all => [...new Set(all.map(e => getComputedStyle(e).contentVisibility))]"
    )
    assert kinds == ["visible"]


# What the theme is about to write down, once all has been loaded.
BEFORE_THE_THEME = """addEventListener("load", () => {
  const code = [...document.querySelectorAll("pre, .cell_output > .output")];
  globalThis.answers = code.map((e) => e.getAttribute("tabindex"));
}, { capture: true, once: true });"""


def test_the_theme_finds_its_answer_where_code_does_not_scroll(tab: Page, site: str):
    tab.add_init_script(BEFORE_THE_THEME)
    tab.goto(f"{site}{CHAPTER}", wait_until="load")
    answers = tab.evaluate("answers")
    assert len(answers) > 40
    assert set(answers) == {"-1"}


# A clock by which each task has time for one part (five milliseconds).
IMPATIENT = "() => { let now = 0; performance.now = () => (now += 3); }"


def test_each_task_lays_out_a_little(tab: Page, go_on: Callable):
    tab.evaluate(IMPATIENT)
    tasks = 0
    while not tab.evaluate(THERE):
        tab.evaluate("waits()")
        tasks += 1
    assert tasks > 50
