"""The book under a finger: what is tapped, read and typed on a phone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.book.pictures_alone import Open
from tests.book.playgrounds import FORGET
from tools.live_pictures import PICTURES

PHONE = {
    "viewport": {"width": 360, "height": 740},
    "has_touch": True,
    "is_mobile": True,
    "reduced_motion": "reduce",
}
SMALLEST_TEXT = 12  # CSS pixels
SMALLEST_TARGET = 24  # CSS pixels: WCAG 2.2, success criterion 2.5.8

# Texts below some element that are drawn, with the size that they have on the screen.
SIZES = """(places) => {
  const found = {};
  for (const e of document.querySelectorAll(places.map((p) => `${p} *`).join())) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !e.checkVisibility() || e.closest('mjx-container')) continue;
    const matrix = e instanceof SVGElement ? e.getScreenCTM() : null;
    const scale = matrix ? Math.hypot(matrix.a, matrix.b) : 1;
    found[e.textContent.trim()] = scale * parseFloat(getComputedStyle(e).fontSize);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def only_phone(browser: Browser) -> Iterator[Page]:
    """The tab that all tests of phones share."""
    with browser.new_context(**PHONE) as context:
        context.add_init_script(FORGET)
        yield context.new_page()


@pytest.fixture
def phone(only_phone: Page) -> Page:
    """A phone without a page."""
    only_phone.goto("about:blank")
    return only_phone


def too_small(page: Page, *places: str) -> dict[str, float]:
    sizes = page.evaluate(SIZES, list(places))
    assert sizes
    return {text: size for text, size in sizes.items() if size < SMALLEST_TEXT - 0.1}


@pytest.mark.parametrize("name", PICTURES)
def test_words_in_live_pictures_can_be_read(name: str, opened: Open):
    with opened(name, 360) as (page, _):
        assert too_small(page, ".live-picture") == {}


def test_words_of_one_axis_do_not_run_into_each_other(opened: Open):
    with opened("score_spread", 360) as (page, _):
        for axis in page.locator(".spread-ticks").all():
            boxes = [text.bounding_box() for text in axis.locator("text").all()]
            boxes = [box for box in boxes if box]  # those that are drawn
            assert len(boxes) >= 7
            for left, right in zip(boxes, boxes[1:], strict=False):
                assert left["x"] + left["width"] < right["x"]


def test_what_the_playground_of_dates_writes_can_be_read(phone: Page, site: str):
    phone.goto(f"{site}chapters/playground_dates.html", wait_until="load")
    phone.locator(".playground.is-live").wait_for()
    assert too_small(phone, ".playground") == {}


@pytest.mark.parametrize("name", ["dates", "digits", "write"])
def test_a_field_is_not_zoomed_into(name: str, phone: Page, site: str):
    """Phones zoom into a field with letters of less than 16 pixels, and stay there."""
    phone.goto(f"{site}chapters/playground_{name}.html", wait_until="load")
    phone.locator(".playground.is-live").wait_for()
    sizes = phone.locator(
        ".playground :is(input[type=text], select, textarea)"
    ).evaluate_all("all => all.map(e => parseFloat(getComputedStyle(e).fontSize))")
    assert sizes
    assert min(sizes) >= 16


def test_four_buttons_stand_in_a_row(phone: Page, site: str):
    phone.goto(f"{site}chapters/playground_write.html", wait_until="load")
    phone.locator(".playground.is-live").wait_for()
    tops = phone.locator(".playground-controls > button").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().top)"
    )
    assert len(tops) == 4
    assert len(set(tops)) == 1


@pytest.mark.parametrize(
    ("name", "above", "below"),
    [
        ("scaling", ".in-page-bar", ".in-page-bar + *"),
        ("playground_digits", "#digits-shares", "#digits-pair"),
    ],
)
def test_what_belongs_to_something_else_stands_apart(
    name: str, above: str, below: str, phone: Page, site: str
):
    phone.goto(f"{site}chapters/{name}.html", wait_until="load")
    upper = phone.locator(above).bounding_box()
    lower = phone.locator(below).first.bounding_box()
    assert lower["y"] - upper["y"] - upper["height"] >= 12


def test_what_was_tapped_keeps_no_tooltip_on_the_page(phone: Page, site: str):
    phone.goto(f"{site}chapters/masking.html", wait_until="load")
    button = phone.locator(".theme-switch-button").first
    button.tap()
    # Not every Chromium takes what was tapped for what is pointed at.
    phone.wait_for_function("globalThis.bootstrap")
    button.evaluate("button => bootstrap.Tooltip.getInstance(button).show()")
    tooltip = phone.locator(".tooltip")
    expect(tooltip).to_be_attached()
    expect(tooltip).to_be_hidden()


@pytest.mark.parametrize(
    ("button", "name"),
    [("primary-toggle", "Chapters"), ("secondary-toggle", "Sections of this page")],
)
def test_a_menu_has_a_name_and_a_button_that_closes_it(
    button: str, name: str, phone: Page, site: str
):
    phone.goto(f"{site}chapters/masking.html", wait_until="load")
    phone.locator(f".sidebar-toggle.{button}:visible").tap()
    menu = phone.get_by_role("dialog", name=name, exact=True)
    expect(menu).to_be_visible()
    close = menu.get_by_role("button", name="Close")
    expect(close).to_be_in_viewport()
    box = close.bounding_box()
    assert min(box["width"], box["height"]) >= SMALLEST_TARGET
    close.tap()
    expect(menu).to_be_hidden()


def test_a_sidebar_that_is_no_menu_has_no_button_that_closes_it(
    browser: Browser, site: str
):
    with browser.new_context(viewport={"width": 1440, "height": 800}) as context:
        page = context.new_page()
        page.goto(f"{site}chapters/masking.html", wait_until="load")
        expect(page.locator("#pst-primary-sidebar")).to_be_visible()
        buttons = page.locator(".close-drawer")
        expect(buttons).to_have_count(2)
        for button in buttons.all():
            expect(button).to_be_hidden()


def test_the_search_asks_nobody_for_keys_that_a_phone_has_not(phone: Page, site: str):
    phone.goto(f"{site}chapters/masking.html", wait_until="load")
    phone.locator(".search-button:visible").first.tap()
    status = phone.locator("#pst-search-dialog").get_by_role("status")
    expect(status).to_contain_text("Tap a place")
    expect(status).not_to_contain_text("arrow keys")


def test_controls_are_as_tall_as_a_fingertip(phone: Page, site: str):
    phone.goto(f"{site}chapters/playground_dates.html", wait_until="load")
    slider = phone.locator(".playground input[type=range]")
    assert slider.bounding_box()["height"] >= SMALLEST_TARGET
    phone.goto(f"{site}chapters/playground_digits.html", wait_until="load")
    phone.locator(".playground.is-live").wait_for()
    for token in phone.locator("#digits-patches label").all():
        assert token.bounding_box()["height"] >= SMALLEST_TARGET
    above, below = (
        phone.locator(f"#digits-{name}").bounding_box()
        for name in ("exam", "drawn-exam")
    )
    assert below["y"] - above["y"] - above["height"] >= 8


def test_keys_of_the_board_are_explained_beside_it_where_there_are_keys(
    browser: Browser, phone: Page, site: str
):
    address = f"{site}chapters/playground_digits.html"
    phone.goto(address, wait_until="load")
    phone.locator(".playground.is-live").wait_for()
    expect(phone.locator("#digits-keys")).to_be_hidden()
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        page = context.new_page()
        page.goto(address, wait_until="load")
        page.locator(".playground.is-live").wait_for()
        board = page.locator("#digits-canvas").bounding_box()
        keys = page.locator("#digits-keys").bounding_box()
        assert 0 <= keys["y"] - board["y"] - board["height"] <= 60
        expect(page.locator("#digits-canvas")).to_have_accessible_description(
            page.locator("#digits-keys").inner_text()
        )


def test_what_continues_to_the_right_fades_out_until_it_is_moved(
    phone: Page, site: str
):
    fading = "e => getComputedStyle(e).getPropertyValue('--fading')"
    for name, selector in (
        ("masking", ".figure-box"),
        ("masking", ".pst-scrollable-table-container"),
        ("masking", ".cell_input pre"),
        ("simplified_attention", "div.math mjx-container"),
    ):
        if f"/{name}." not in phone.url:
            phone.goto(f"{site}chapters/{name}.html", wait_until="load")
        wide = "all => all.findIndex((e) => e.scrollWidth > e.clientWidth + 20)"
        box = phone.locator(selector)
        box = box.nth(max(box.evaluate_all(wide), 0))
        box.scroll_into_view_if_needed()
        assert box.evaluate("e => e.scrollWidth > e.clientWidth")
        assert "linear-gradient" in box.evaluate("e => getComputedStyle(e).maskImage")
        phone.wait_for_function(
            f"box => parseFloat(({fading})(box)) > 20", arg=box.element_handle()
        )
        box.evaluate("e => e.scrollTo(e.scrollWidth, 0)")
        phone.wait_for_function(
            f"box => parseFloat(({fading})(box)) < 1", arg=box.element_handle()
        )


def test_a_box_that_shows_all_does_not_fade(browser: Browser, site: str):
    with browser.new_context(
        **PHONE | {"viewport": {"width": 630, "height": 740}}
    ) as c:
        page = c.new_page()
        page.goto(f"{site}chapters/masking.html", wait_until="load")
        box = page.locator(".figure-box").first
        box.scroll_into_view_if_needed()
        assert box.evaluate("e => e.scrollWidth <= e.clientWidth")
        shown = "e => getComputedStyle(e).getPropertyValue('--fading')"
        assert box.evaluate(shown) == "0px"
