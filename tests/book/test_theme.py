"""The theme as this book has it: focus, measure, headings, and what is in the bar."""

import io
import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.book.playgrounds import FORGET
from tests.suites import sweep

CHAPTER = "chapters/masking.html"
Open = Callable[[str, int, str], Page]


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """The tab that all tests share."""
    with browser.new_context(reduced_motion="reduce") as context:
        context.add_init_script(FORGET)
        yield context.new_page()


@pytest.fixture
def opened(tab: Page, site: str) -> Open:
    """Opens a page of the book anew, in a window so wide, with one of the themes."""

    def opened(address: str, width: int, theme: str) -> Page:
        tab.mouse.move(0, 0)
        tab.goto("about:blank")
        tab.set_viewport_size({"width": width, "height": 800})
        tab.emulate_media(color_scheme=theme, reduced_motion="reduce")
        tab.goto(f"{site}{address}", wait_until="load")
        return tab

    return opened


@pytest.fixture
def wide(opened: Open) -> Page:
    """A chapter on a laptop."""
    return opened(CHAPTER, 1440, "light")


@pytest.fixture
def narrow(opened: Open) -> Page:
    """A chapter on a phone."""
    return opened(CHAPTER, 360, "dark")


# The number of characters in each line of a paragraph, the last line left out.
LINES = """() => [...document.querySelectorAll('article section > p')].flatMap(p => {
  const range = document.createRange(), lines = [];
  const walk = document.createTreeWalker(p, NodeFilter.SHOW_TEXT);
  let top = null, count = 0;
  if (p.querySelector('.math, code')) return [];
  while (walk.nextNode()) {
    const node = walk.currentNode;
    for (let i = 0; i < node.length; i++) {
      range.setStart(node, i);
      range.setEnd(node, i + 1);
      const box = range.getBoundingClientRect();
      if (!box.width) continue;
      const middle = (box.top + box.bottom) / 2;
      if (top !== null && middle > top + 10) { lines.push(count); count = 0; }
      if (top === null || middle > top + 10) top = middle;
      count += 1;
    }
  }
  return lines;
})"""


def test_lines_of_text_have_seventy_characters_at_most_and_figures_run_wider(
    wide: Page,
):
    lines = sorted(wide.evaluate(LINES))
    assert len(lines) > 50
    assert lines[len(lines) // 2] <= 70
    assert lines[int(0.95 * len(lines))] <= 75  # narrow letters; nobody counts them
    assert lines[len(lines) // 2] >= 55
    text = wide.locator("article section > p").first.bounding_box()["width"]
    figure = wide.locator("article .figure-box").first.bounding_box()["width"]
    assert figure > 1.1 * text


def test_headings_step_down_and_never_shout(wide: Page):
    headings = wide.evaluate(
        """() => ['h1', 'h2', 'h3', 'h4'].map(level => {
          const made = document.createElement(level);
          document.querySelector('article').append(made);
          const style = getComputedStyle(made);
          return [Number(style.fontWeight), parseFloat(style.fontSize)];
        })"""
    )
    weights, sizes = zip(*headings, strict=True)
    assert list(weights) == sorted(set(weights), reverse=True)
    assert list(sizes) == sorted(set(sizes), reverse=True)
    assert sizes[1] <= 28 and sizes[3] >= 18  # an exercise's verdict has 18


def test_at_the_top_of_a_page_no_section_is_marked_as_read(wide: Page):
    marked = wide.locator(".bd-toc .nav-link.active")
    wide.keyboard.press("End")
    expect(marked.first).to_be_attached()
    accent = marked.first.evaluate("e => getComputedStyle(e).color")
    wide.keyboard.press("Home")
    wide.wait_for_function("!document.body.classList.contains('scrolled')")
    links = wide.locator(".bd-toc .nav-link")
    colours = links.evaluate_all("all => all.map(e => getComputedStyle(e).color)")
    assert len(colours) > 5 and accent not in colours


# Boxes in which one would scroll down, on the way down the page.
TRAPS = """() => [...document.querySelectorAll('article *')].filter((e) =>
  /auto|scroll/.test(getComputedStyle(e).overflowY)
  && e.clientHeight && e.scrollHeight > e.clientHeight + 1).map(e => e.outerHTML)"""


@pytest.mark.parametrize("name", ["simplified_attention", "masking", "decoding"])
def test_a_chapter_has_no_box_that_scrolls_down(name: str, opened: Open):
    for width in (360, 1440):
        page = opened(f"chapters/{name}.html", width, "light")
        for box in page.locator("article details").all():
            box.evaluate("e => { e.open = true; }")
        assert page.evaluate(TRAPS) == []


RING = """() => {
  const e = document.activeElement, style = getComputedStyle(e);
  const marked = e.closest('summary, label, .form-control, .bd-search') ?? e;
  const framed = getComputedStyle(e.closest(".cm-editor") ?? e);
  const outline = framed.outlineStyle !== "none" && parseFloat(framed.outlineWidth) > 1;
  const shadows = [style, getComputedStyle(marked)].map(one => one.boxShadow);
  const reach = e.querySelector('.live-reach'); // the ring of a handle in a picture
  if (reach) shadows.push(getComputedStyle(reach).stroke);
  return {
    what: e.className || e.tagName, body: e === document.body,
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


@pytest.mark.parametrize(
    ("address", "width"),
    [
        *((CHAPTER, 1440), (CHAPTER, 360)),
        ("chapters/simplified_attention.html", 1440),  # with editors
        ("chapters/playground_dates.html", 1440),
    ],
)
def test_whatever_has_the_focus_shows_it_in_one_colour(
    address: str, width: int, opened: Open
):
    page = opened(address, width, "light")
    seen = []
    for _ in range(70):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(RING))
    colours = page.evaluate(RING_COLOURS)
    assert [
        (one["what"], one["ring"])
        for one in seen
        if not one["body"] and not any(colour in one["ring"] for colour in colours)
    ] == []
    assert any("sidebar-toggle" in one["what"] for one in seen)


SYMBOL_COLOURS = """() => Object.fromEntries(['query', 'key', 'value'].map(role => {
  const shown = [...document.querySelectorAll(`.bd-article .${role}`)];
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = `var(--house-${role})`;
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return [role, {
    places: ['mjx-container', 'pre', 'p > code'].filter(
      place => shown.some(one => one.closest(place))),
    coloured: shown.every(one => getComputedStyle(one).color === colour),
  }];
}))"""


@sweep("theme", ["light", "dark"])
def test_symbols_have_the_house_colours_and_light_up_together(theme: str, opened: Open):
    page = opened("chapters/qkv_projections.html", 1280, theme)
    for found in page.evaluate(SYMBOL_COLOURS).values():
        assert {"mjx-container", "pre"} <= set(found["places"])
        assert found["coloured"]
    ground = "e => getComputedStyle(e).backgroundColor"
    queries = page.locator(".bd-article div.math .query")
    key = page.locator(".bd-article div.math .key").first
    unlit = queries.last.evaluate(ground)
    queries.first.hover()
    assert queries.last.evaluate(ground) == queries.first.evaluate(ground) != unlit
    assert key.evaluate(ground) == unlit
    key.hover()
    assert queries.last.evaluate(ground) == unlit != key.evaluate(ground)


def test_the_first_key_skips_to_the_content(wide: Page):
    wide.keyboard.press("Tab")
    link = wide.locator("#pst-skip-link a")
    assert link.evaluate("link => link === document.activeElement")
    assert link.bounding_box()["y"] >= 0
    wide.keyboard.press("Enter")
    expect(wide).to_have_url(re.compile(r"#main-content$"))  # which takes a moment


def test_the_way_back_to_the_top_covers_nothing(narrow: Page):
    assert narrow.locator("#pst-back-to-top").count() == 0
    back = narrow.get_by_role("link", name="Back to top")
    assert not back.is_visible()
    narrow.mouse.wheel(0, 3000)
    back.wait_for()
    bar = narrow.locator(".bd-header-article").bounding_box()
    box = back.bounding_box()
    assert bar["y"] <= box["y"]
    assert box["y"] + box["height"] <= bar["y"] + bar["height"]
    back.click()
    narrow.wait_for_function("scrollY === 0")


def test_a_phone_shows_the_title_in_the_bar(narrow: Page):
    title = narrow.locator(".header-title")
    narrow.mouse.wheel(0, 3000)
    narrow.wait_for_function("scrollY > 0")
    assert title.is_visible()
    heading = narrow.locator("article h1").inner_text()
    assert title.inner_text() in heading
    assert len(title.inner_text()) > 0.5 * len(heading)
    box = title.bounding_box()
    for other in narrow.locator(".bd-header-article :is(button, a.btn)").all():
        if other.is_visible():
            beside = other.bounding_box()
            apart = (
                beside["x"] >= box["x"] + box["width"]
                or beside["x"] + beside["width"] <= box["x"]
            )
            assert apart, other


def test_the_magnifier_does_not_cover_what_is_searched(wide: Page):
    wide.keyboard.press("Control+k")
    field = wide.locator("#pst-search-dialog input")
    field.wait_for()
    icon = wide.locator("#pst-search-dialog .fa-magnifying-glass").bounding_box()
    padding = field.evaluate("field => parseFloat(getComputedStyle(field).paddingLeft)")
    assert icon["x"] + icon["width"] <= field.bounding_box()["x"] + padding


@sweep("theme", ["light", "dark"])
def test_words_that_search_found_can_be_read(theme: str, opened: Open):
    page = opened("search.html?q=mask", 1280, theme)
    mark = page.locator("#search-results span.highlighted").first
    mark.wait_for()
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    colours = mark.evaluate(
        "e => [getComputedStyle(e)].flatMap(s => [s.color, s.backgroundColor])"
    )
    lights = [luminance(colour) for colour in colours]
    assert (max(lights) + 0.05) / (min(lights) + 0.05) >= 4.5


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2.2 defines it, of ``rgb(r, g, b)``."""
    parts = [float(n) / 255 for n in colour.strip("rgba()").split(",")[:3]]
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_code_of_a_figure_is_a_button_below_its_caption(wide: Page):
    cells = wide.locator(".cell:has(> details.above-input):has(figcaption)")
    assert cells.count() > 3
    for cell in cells.all():
        button = cell.locator("> details > summary")
        caption = cell.locator("figcaption").bounding_box()
        assert button.inner_text() == "Show the code"
        assert button.bounding_box()["y"] >= caption["y"] + caption["height"]
    button = cells.first.locator("> details > summary")
    button.focus()
    wide.keyboard.press("Enter")
    assert button.inner_text() == "Hide the code"
    assert cells.first.locator("> details pre").is_visible()


def test_the_imports_of_a_chapter_are_folded_away(wide: Page):
    first = wide.locator(".cell").first
    expect(first.get_by_text("Show the imports")).to_be_visible()
    expect(first.get_by_text("import numpy as np")).to_be_hidden()
    first.locator("summary").click()
    expect(first.get_by_text("import numpy as np")).to_be_visible()


@pytest.mark.parametrize("width", [1440, 1280, 1200, 390])
def test_an_aside_stands_beside_the_text_or_below_what_it_belongs_to(
    width: int, opened: Open
):
    page = opened("chapters/simplified_attention.html", width, "light")
    note = page.locator("aside.margin").first
    above, below = (
        note.locator(f"xpath={way}-sibling::p[1]").bounding_box()
        for way in ("preceding", "following")
    )
    box = note.bounding_box()
    assert box["y"] >= above["y"] + above["height"]
    if width >= 1280:
        assert box["x"] >= below["x"] + below["width"]
        note.scroll_into_view_if_needed()
        sections = page.locator(".bd-sidebar-secondary").bounding_box()
        assert box["x"] + box["width"] <= sections["x"]
        assert sections["height"] > 200  # they stay in sight
    else:
        assert box["y"] + box["height"] <= below["y"]


def test_the_button_for_code_is_quiet(wide: Page):
    cells = wide.locator(".cell > details.above-input")
    assert cells.count() > 3
    shadows = cells.evaluate_all("all => all.map(e => getComputedStyle(e).boxShadow)")
    assert set(shadows) == {"none"}


def test_a_large_weight_of_the_mask_is_purple_and_legible_in_the_dark(narrow: Page):
    picture = narrow.locator("[data-live-picture=mask_grid]")
    picture.scroll_into_view_if_needed()
    cell = picture.locator(".mask-cell").first  # the first word sees itself alone
    expect(cell).to_have_text("1.00")
    paper, text = cell.evaluate(
        "e => [getComputedStyle(e)].flatMap(s => [s.backgroundColor, s.color])"
    )
    red, green, blue = map(float, re.findall(r"[\d.]+", paper)[:3])  # of one
    assert green < red < blue
    assert (blue - green) / blue >= 0.4  # saturation
    shade = luminance(f"rgb({255 * red}, {255 * green}, {255 * blue})")
    assert (luminance(text) + 0.05) / (shade + 0.05) >= 4.5


ALL_HAVE_EXCERPTS = """() => {
  const results = [...document.querySelectorAll('#search-results li')];
  return document.querySelector('.search-summary')?.innerText.includes('finished')
    && results.every(result => result.querySelector('p.context'));
}"""


@pytest.mark.parametrize("query", ["causal mask", "softmax", "sqrt scores"])
def test_what_search_finds_is_shown_as_prose(query: str, opened: Open):
    page = opened(f"search.html?q={query}", 1280, "light")
    page.wait_for_function(ALL_HAVE_EXCERPTS)
    excerpts = page.locator("#search-results p.context").all_inner_texts()
    assert len(excerpts) > 1
    found = " ".join(excerpts).lower()
    assert any(word in found for word in query.split())
    for excerpt in excerpts:
        assert len(excerpt) < 300
        assert not re.match(r"(No|Yes|Right|Solution to)\b", excerpt)
        assert not re.search(r"\\[a-z(]|\$\$|def \w+\(|^import |>>>", excerpt)


def test_the_search_page_tells_how_much_it_found_and_shows_the_best(opened: Open):
    page = opened("search.html?q=attention", 1280, "light")
    said = page.locator("#search-results .search-summary").inner_text()
    count = re.fullmatch(r".*found (\d+) places; these are the first 30\.", said)[1]
    assert int(count) > 100  # nearly every section of this book is about it
    assert page.locator("#search-results .search > li").count() == 30
    weight = "e => getComputedStyle(e).fontWeight"
    assert page.locator("h1").evaluate(weight) == "750"  # as on the other pages


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_has_its_colours_before_the_theme_looks(
    theme: str, browser: Browser, site: str
):
    with browser.new_context(color_scheme=theme) as context:
        context.route("**/pydata-sphinx-theme.js*", lambda route: route.abort())
        page = context.new_page()
        page.goto(f"{site}{CHAPTER}", wait_until="load")
        assert page.locator("html").get_attribute("data-theme") == theme


def test_icons_in_the_bar_are_drawn_in_their_full_height(wide: Page):
    wide.evaluate("() => document.fonts.ready")
    seen = 0
    for button in wide.locator(".bd-header-article button:has([class*='fa-'])").all():
        if not button.is_visible():
            continue
        seen += 1
        grey = np.asarray(Image.open(io.BytesIO(button.screenshot())).convert("L"))
        inner = grey[2:-2, 2:-2].astype(int)  # without a border
        (rows,) = np.nonzero((abs(inner - np.median(inner)) > 60).any(axis=1))
        assert np.ptp(rows) >= 10, button.get_attribute("class")
    assert seen >= 2
