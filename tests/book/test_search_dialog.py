"""The dialog that Ctrl-K opens finds sections as one types."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.book.playgrounds import FORGET
from tests.book.visits import quiet

CHAPTER = "chapters/masking.html"
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """The tab that most tests share."""
    with browser.new_context(reduced_motion="reduce") as context:
        context.add_init_script(FORGET)
        yield context.new_page()


@pytest.fixture
def opened(tab: Page) -> Open:
    """Opens a page anew, and the dialog in it."""

    def opened(
        address: str, size: tuple[int, int] = (1280, 720), theme: str = "light"
    ) -> Page:
        tab.mouse.move(0, 0)
        tab.goto("about:blank")
        tab.set_viewport_size({"width": size[0], "height": size[1]})
        tab.emulate_media(color_scheme=theme, reduced_motion="reduce")
        tab.goto(address, wait_until="load")
        tab.keyboard.press("Control+k")
        expect(tab.get_by_role("combobox", name="Search this book")).to_be_focused()
        return tab

    return opened


@pytest.fixture
def chapter(opened: Open, html: Path) -> Page:
    """A chapter with the dialog open, as a file; other tests have a web server."""
    return opened(f"{html.as_uri()}/{CHAPTER}")


def test_sections_are_found_while_one_types_and_chosen_by_keyboard(chapter: Page):
    options = chapter.get_by_role("option")
    chapter.keyboard.type("divide by sqr")
    expect(options.first).to_contain_text("square root")
    field = chapter.get_by_role("combobox")
    expect(field).to_have_attribute("aria-expanded", "true")
    chapter.keyboard.press("ArrowDown")
    expect(options.first).to_have_attribute("aria-selected", "true")
    first = options.first.get_attribute("id")
    expect(field).to_have_attribute("aria-activedescendant", first)
    chapter.keyboard.press("ArrowUp")
    expect(options.first).to_have_attribute("aria-selected", "false")
    chapter.keyboard.press("ArrowUp")  # from the field to the last one
    expect(options.last).to_have_attribute("aria-selected", "true")
    chapter.keyboard.press("ArrowDown")
    chapter.keyboard.press("ArrowDown")
    chapter.keyboard.press("Enter")
    chapter.wait_for_url("**/chapters/scaling.html*#*")


def test_a_section_of_the_page_itself_is_shown_and_the_dialog_closed(chapter: Page):
    chapter.keyboard.type("causal mask")
    option = chapter.locator(f"a[role=option][href*='{CHAPTER}#']").first
    option.click()
    expect(chapter.locator("#pst-search-dialog")).not_to_be_visible()
    assert "masking.html#" in chapter.url
    marked = "localStorage.getItem('sphinx_highlight_terms')"
    assert chapter.evaluate(marked) is None  # for a page that is not opened


def test_the_page_that_searches_says_when_it_finds_nothing(tab: Page, html: Path):
    address = (html / "search.html").as_uri()
    tab.goto(f"{address}?q=%3Cimg src=xyzzyq%3E")
    expect(tab.locator(".search-summary")).to_contain_text("found nothing")
    assert tab.locator("#search-results :is(img, li)").count() == 0


def test_the_dialog_and_the_page_agree_on_the_order(opened: Open, site: str):
    page = opened(site + CHAPTER)
    page.keyboard.type("softmax temperature")
    options = page.get_by_role("option")
    expect(options.first).to_be_visible()
    hrefs = options.evaluate_all("all => all.map(option => option.pathname)")
    page.keyboard.press("Enter")
    results = page.locator("#search-results li a")
    results.first.wait_for()
    found = results.evaluate_all("all => all.map(link => link.pathname)")
    assert hrefs == found[: len(hrefs)]


def test_a_count_is_said_politely_and_so_is_finding_nothing(opened: Open, site: str):
    page = opened(site + CHAPTER)
    status = page.locator("#pst-search-dialog").get_by_role("status")
    page.keyboard.type("softmax")
    expect(status).to_have_text(re.compile(r"^\d+ places\. "))
    page.keyboard.type("<img src=x>qqqq")
    page.locator("#pst-search-dialog input").fill("xyzzyq")
    expect(status).to_have_text("Nothing found. Try other words.")
    assert page.get_by_role("option").count() == 0
    assert page.locator("#pst-search-dialog img").count() == 0


def test_nothing_of_the_search_is_loaded_before_the_dialog_opens(
    browser: Browser, site: str
):
    asked = []
    with browser.new_context() as context:
        context.on("request", lambda request: asked.append(request.url))
        wait = quiet(context)
        page = context.new_page()
        page.goto(site + CHAPTER, wait_until="load")
        wait(page)
        late = re.compile(r"search_sections|search_ranking|language_data")
        assert [url for url in asked if late.search(url)] == []
        page.keyboard.press("Control+k")
        page.keyboard.type("mask")
        page.get_by_role("option").first.wait_for()
    assert len([url for url in asked if late.search(url)]) == 3


def test_an_index_that_cannot_be_loaded_leaves_the_page_that_searches(
    browser: Browser, site: str
):
    with browser.new_context() as context:
        context.route("**/search_sections.js*", lambda route: route.abort())
        page = context.new_page()
        page.goto(site + CHAPTER, wait_until="load")
        page.keyboard.press("Control+k")
        page.keyboard.type("mask")
        status = page.locator("#pst-search-dialog").get_by_role("status")
        expect(status).to_contain_text("could not be loaded")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html?q=mask*")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_dialog_fits_a_phone_and_axe_finds_nothing(
    theme: str, opened: Open, site: str
):
    page = opened(site + CHAPTER, (360, 640), theme)
    page.keyboard.type("attention weights")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("ArrowUp")  # the last one is moved into view
    status = page.locator("#pst-search-dialog").get_by_role("status")
    expect(status).to_contain_text("places")
    box = page.get_by_role("option").last.bounding_box()
    dialog = page.locator("#pst-search-dialog").bounding_box()
    assert dialog["x"] >= 0
    assert dialog["x"] + dialog["width"] <= 360
    assert dialog["y"] <= box["y"]
    assert box["y"] + box["height"] <= status.bounding_box()["y"] + 1
    assert status.bounding_box()["y"] <= 640
    found = Axe().run(page, context="#pst-search-dialog").response["violations"]
    assert [
        (rule["id"], node["html"]) for rule in found for node in rule["nodes"]
    ] == []
