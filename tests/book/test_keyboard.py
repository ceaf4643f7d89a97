"""A walk through pages with the Tab key alone: what has the focus is on the screen and
has a ring, and one gets out again.
"""

import pytest
from playwright.sync_api import Browser

FOCUSED = """() => {
  const e = document.activeElement, style = getComputedStyle(e);
  if (e === document.body) return null;
  const { top, bottom, left, right } = e.getBoundingClientRect();
  const marked = e.closest('summary, label, .form-control, .bd-search') ?? e;
  const framed = getComputedStyle(e.closest(".cm-editor") ?? e);
  const outline = framed.outlineStyle !== "none" && parseFloat(framed.outlineWidth) > 1;
  const shadows = [style, getComputedStyle(marked)].map(one => one.boxShadow);
  const reach = e.querySelector('.live-reach'); // the ring of a handle in a picture
  if (reach) shadows.push(getComputedStyle(reach).stroke);
  return {
    name: e.getAttribute('aria-label') ?? e.textContent.trim(),
    seen: bottom > 0 && top < innerHeight && right > 0 && left < innerWidth,
    ring: outline ? framed.outlineColor : shadows.join(),
  };
}"""
# Those of the focus and, on the accent itself, of what is written on it.
RING_COLOURS = """() => ['--house-focus', '--house-on-accent'].map(name => {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = `var(${name})`;
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
})"""


MOST = 400  # stops; no page has as many


@pytest.mark.parametrize(
    "name",
    [
        "index",
        "chapters/simplified_attention",
        *(f"chapters/playground_{name}" for name in ("dates", "digits", "write")),
    ],
)
def test_tab_leads_through_a_page_and_out_again(name: str, browser: Browser, site: str):
    size = {"width": 1440, "height": 900}
    with browser.new_context(viewport=size, reduced_motion="reduce") as context:
        tab = context.new_page()
        tab.goto(f"{site}{name}.html", wait_until="load")
        if "playground" in name:
            tab.wait_for_selector(".playground.is-live")
        stops = []
        for _ in range(MOST):
            tab.keyboard.press("Tab")
            if (stop := tab.evaluate(FOCUSED)) is None:
                break
            stops.append(stop)
        assert 20 < len(stops) < MOST
        assert [s for s in stops[1:] if not s["seen"]] == []  # the first one moves in
        colours = tab.evaluate(RING_COLOURS)
        assert [s for s in stops if not any(c in s["ring"] for c in colours)] == []
