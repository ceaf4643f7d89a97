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
def test_words_in_live_pictures_can_be_read_and_handles_be_hit(name: str, opened: Open):
    with opened(name, 360) as (page, picture):
        assert too_small(page, ".live-picture") == {}
        for handle in picture.locator(".live-reach").all():
            box = handle.bounding_box()
            assert min(box["width"], box["height"]) >= SMALLEST_TARGET


LOW = """() => [...document.querySelectorAll('.header-title,'
    + '.playground :is([type=range], label:has(> [type=radio], > [type=checkbox]))')]
  .filter(e => e.getClientRects().length)
  .map(e => [e.textContent.trim(), e.getBoundingClientRect()])
  .filter(([, box]) => Math.min(box.width, box.height) < 24).map(([text]) => text)"""


@pytest.mark.parametrize("name", ["dates", "digits", "write"])
def test_a_playground_is_read_hit_and_not_zoomed_into(
    name: str, phone: Page, site: str
):
    phone.goto(f"{site}chapters/playground_{name}.html", wait_until="load")
    phone.locator(".playground.is-live").wait_for()
    assert phone.evaluate(LOW) == []
    if name == "dates":
        assert too_small(phone, ".playground") == {}
    # Phones zoom into a field with letters of less than 16 pixels, and stay there.
    fields = phone.locator(".playground :is(input[type=text], select, textarea)")
    size = "all => all.map(e => parseFloat(getComputedStyle(e).fontSize))"
    assert min(fields.evaluate_all(size)) >= 16


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


def test_what_continues_to_the_right_fades_out_until_it_is_moved(
    phone: Page, site: str
):
    fading = "e => getComputedStyle(e).getPropertyValue('--fading')"
    for name, selector in (
        ("masking", ".figure-box"),
        ("masking", ".cell_input pre"),
        ("simplified_attention", "div.math mjx-container"),
    ):
        if f"/{name}." not in phone.url:
            phone.goto(f"{site}chapters/{name}.html", wait_until="load")
        # Folded code has a width too, but nothing that moves with it.
        wide = """all => all.findIndex(
          (e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 20)"""
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
