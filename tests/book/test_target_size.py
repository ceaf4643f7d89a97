"""What a finger or a shaking hand has to hit is large enough, and has its room."""

import pytest
from playwright.sync_api import Browser, Page, Route

SMALLEST = 24  # CSS pixels, of WCAG 2.2
CELLS = """() => [...document.querySelectorAll('.playground-cells label')]
  .map(e => e.getBoundingClientRect()).map(box => Math.min(box.width, box.height))"""
STYLED = """() => [...document.querySelectorAll('link[rel=stylesheet]')].every(
  link => link.sheet)"""
FOLLOWS = "document.querySelector('#dates-play').getBoundingClientRect().top + scrollY"


def follows(page: Page) -> float:
    """Where on the page that stands which follows the cells."""
    return page.evaluate(FOLLOWS)


@pytest.mark.parametrize("width", [360, 390, 768, 1024, 1440])
def test_cells_of_a_date_can_be_hit_and_move_nothing(
    width: int, browser: Browser, site: str
):
    size = {"width": width, "height": 900}
    with browser.new_context(viewport=size) as context:
        page, places = context.new_page(), []

        def before_the_script(route: Route) -> None:
            page.wait_for_selector("#dates-play", state="attached")
            page.wait_for_function(STYLED)
            places.append(follows(page))
            route.continue_()

        page.route("**/dates_page.js*", before_the_script)
        page.goto(f"{site}chapters/playground_dates.html", wait_until="commit")
        page.wait_for_selector(".playground.is-live", timeout=120_000)
        (before,) = places
        assert follows(page) == pytest.approx(before, abs=1)
        longest = page.locator("#dates-example option").evaluate_all(
            "all => all.map(e => e.value).sort((a, b) => b.length - a.length)[0]"
        )
        assert len(longest) > 24
        for date in ("1.2.1999", longest):
            page.locator("#dates-source").fill(date)
            cells = page.evaluate(CELLS)
            assert len(cells) > len(date)  # and those of what it writes
            assert min(cells) >= SMALLEST
            assert follows(page) == pytest.approx(before, abs=1)


def test_a_patch_stands_beside_its_vector_on_a_phone(opened):
    with opened("patch_tokens", 360) as (_, picture):
        square, vector = (
            picture.locator(f".patches-values.is-{n}").bounding_box() for n in (2, 4)
        )
        assert vector["x"] > square["x"] + square["width"]
        assert square["y"] < vector["y"] < square["y"] + square["height"]


LOW = """() => [...document.querySelectorAll(
    '.header-title, .playground label:has(> :is([type=radio], [type=checkbox]))')]
  .filter(e => e.getClientRects().length)
  .map(e => [e.textContent.trim(), e.getBoundingClientRect()])
  .filter(([, box]) => Math.min(box.width, box.height) < 24).map(([text]) => text)"""


@pytest.mark.parametrize("name", ["dates", "write"])
def test_choices_of_playgrounds_can_be_hit_on_a_phone(
    name: str, browser: Browser, site: str
):
    with browser.new_context(viewport={"width": 360, "height": 740}) as context:
        page = context.new_page()
        page.goto(f"{site}chapters/playground_{name}.html")
        page.locator(".playground").scroll_into_view_if_needed()
        page.wait_for_selector(".playground.is-live", timeout=120_000)
        assert page.evaluate(LOW) == []
