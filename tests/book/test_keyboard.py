"""A walk through pages with the Tab key alone: what has the focus is on the screen, and
one gets out again. That it has a ring is looked at in ``test_theme.py``.
"""

import pytest
from playwright.sync_api import Browser

FOCUSED = """() => {
  const e = document.activeElement;
  if (e === document.body) return null;
  const { top, bottom, left, right } = e.getBoundingClientRect();
  return {
    name: e.getAttribute('aria-label') ?? e.textContent.trim(),
    seen: bottom > 0 && top < innerHeight && right > 0 && left < innerWidth,
  };
}"""


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("index", 50),
        (
            "chapters/simplified_attention",
            240,
        ),  # a Run button and its like for each cell
        ("chapters/playground_dates", 70),
        ("chapters/playground_digits", 70),
    ],
)
def test_tab_leads_through_a_page_and_out_again(
    name: str, most: int, browser: Browser, site: str
):
    size = {"width": 1440, "height": 900}
    with browser.new_context(viewport=size, reduced_motion="reduce") as context:
        tab = context.new_page()
        tab.goto(f"{site}{name}.html", wait_until="load")
        if "playground" in name:
            tab.wait_for_selector(".playground.is-live")
        stops = []
        for _ in range(most + 1):
            tab.keyboard.press("Tab")
            if (stop := tab.evaluate(FOCUSED)) is None:
                break
            stops.append(stop)
        assert most / 2 < len(stops) <= most
        assert [s for s in stops[1:] if not s["seen"]] == []  # the first one moves in
