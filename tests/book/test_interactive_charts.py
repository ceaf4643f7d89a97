"""Charts react to the keyboard, from a file, without a network, narrow or wide."""

import base64
import io
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import altair as alt
import numpy as np
import pytest
import vl_convert
import yaml
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.book.visits import quiet
from tests.small_books import COSTLY, settings_of_the_book
from tests.suites import members, sweep
from toolkit.interactive import house_spec
from tools import interactive_charts
from tools.interactive_charts import RUNTIME, chart_html, runtime_source

ALT = 'Five attention weights, "soft" at first, that even out as it <gets> warmer.'


def spec() -> dict:
    slider = alt.binding_range(name="temperature", min=0.5, max=4, step=0.5)
    temperature = alt.param("temperature", value=1, bind=slider)
    scores = [
        {"key": key, "score": 5 - n}
        for n, key in enumerate(["a", "b", "c", "d", "</script>"])
    ]
    chart = (
        alt.Chart(alt.Data(values=scores))
        .transform_calculate(e=alt.expr.exp(alt.datum.score / temperature))
        .transform_joinaggregate(total="sum(e)")
        .transform_calculate(weight="datum.e / datum.total")
        .mark_bar()
        .encode(x="key:N", y="weight:Q")
        .add_params(temperature)
    )
    return house_spec(chart, ALT)


@pytest.fixture(scope="module")
def folder(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with a chart, beside the runtime."""
    folder = tmp_path_factory.mktemp("charts")
    (folder / RUNTIME).write_text(runtime_source(), encoding="utf-8")
    for name in ("loader.js", "interactive_charts.js", "interactive_charts.css"):
        shutil.copy(root / "chapters" / "_static" / name, folder)
    (folder / "page.html").write_text(
        '<!doctype html><meta charset="utf-8"><title>charts</title>'
        '<link rel="stylesheet" href="interactive_charts.css">'
        '<script src="loader.js" defer></script>'
        '<script src="interactive_charts.js" defer></script>'
        f"<body>{chart_html(spec())}",
        encoding="utf-8",
    )
    return folder


@pytest.fixture(params=members([1280, 360]))
def page(folder: Path, browser: Browser, request: pytest.FixtureRequest) -> Page:
    """The page, opened as a file without a network; complaints fail the test."""
    complaints = []
    with browser.new_context(
        offline=True, viewport={"width": request.param, "height": 800}
    ) as context:
        context.on("console", lambda message: complaints.append(message.text))
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.on("requestfailed", lambda asked: complaints.append(asked.url))
        page = context.new_page()
        page.goto((folder / "page.html").as_uri())
        page.wait_for_selector(".interactive-chart.is-live")
        yield page
        assert complaints == []


def heights(page: Page) -> list[float]:
    """The attention weights that the bars tell to a screen reader."""
    bars = page.locator(".interactive-chart [aria-roledescription=bar]")
    labels = bars.evaluate_all("all => all.map(bar => bar.ariaLabel)")
    return sorted(float(label.rpartition(":")[2]) for label in labels)


def test_the_arrow_keys_move_the_slider_and_the_chart_follows(page: Page):
    page.keyboard.press("Tab")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    slider = page.get_by_role("slider", name="temperature")
    assert slider.input_value() == "3"
    raised = np.exp(np.arange(1, 6) / 3)
    warm = raised / raised.sum()
    bars = page.locator(".interactive-chart [aria-roledescription=bar]")
    largest = re.compile(rf"weight: {warm[-1]:.3f}")
    expect(bars.first).to_have_attribute("aria-label", largest)
    assert heights(page) == pytest.approx(warm, abs=1e-3)  # four digits are told


def test_a_bar_tells_its_numbers_under_the_pointer(page: Page):
    page.locator(".interactive-chart [aria-roledescription=bar]").first.hover()
    told = page.locator("#vg-tooltip-element")
    told.wait_for(state="visible")
    words = told.inner_text()
    assert "weight" in words
    assert all(len(n) <= 6 for n in re.findall(r"\d\.\d+", words)), words


def test_the_chart_says_what_it_shows(page: Page):
    assert page.locator("[role=graphics-document]").get_attribute("aria-label") == ALT
    picture = page.locator(".interactive-chart img")
    assert picture.get_attribute("alt") == ALT
    assert not picture.is_visible()  # it only stands in until the chart is drawn


def test_the_chart_is_no_wider_than_the_screen(page: Page):
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    room = page.viewport_size["width"]
    assert page.locator(".interactive-chart svg").bounding_box()["width"] > 0.85 * room


def test_stacked_charts_follow_a_page_that_narrows(folder: Path, browser: Browser):
    part = {"mark": "bar", "encoding": {"y": {"field": "a", "type": "quantitative"}}}
    stacked = {"data": {"values": [{"a": 1}]}, "vconcat": [part, part]}
    text = (folder / "page.html").read_text(encoding="utf-8")
    before, body, _ = text.partition("<body>")
    page_of_two = before + body + chart_html(house_spec(stacked, ALT))
    (folder / "stacked.html").write_text(page_of_two, encoding="utf-8")
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        page = context.new_page()
        page.goto((folder / "stacked.html").as_uri())
        page.wait_for_selector(".interactive-chart.is-live")
        chart = page.locator(".interactive-chart svg")
        assert chart.bounding_box()["width"] > 900
        for width in (360, 700):
            page.set_viewport_size({"width": width, "height": 800})
            page.wait_for_function(
                """width => {
                  const box = document.querySelector('.interactive-chart-view');
                  const svg = box.querySelector('svg').getBoundingClientRect().width;
                  return box.scrollWidth <= box.clientWidth && svg > 0.8 * width;
                }""",
                arg=width,
            )


def test_without_javascript_a_still_picture_is_seen(folder: Path, browser: Browser):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto((folder / "page.html").as_uri())
        assert page.locator(".interactive-chart img").is_visible()


def test_the_still_picture_needs_nothing_from_outside():
    encoded = re.search(r"base64,([^\"]+)", chart_html(spec()))[1]
    picture = base64.b64decode(encoded).decode()
    assert picture.startswith("<svg")
    assert not re.search(r"(href|src|url)\s*[=(]\s*[\"']?https?:", picture)


def test_the_runtime_is_loaded_when_the_chart_is_near(folder: Path, browser: Browser):
    far = folder / "far.html"
    page = (folder / "page.html").read_text(encoding="utf-8")
    far.write_text(page.replace("<body>", '<body><p style="height: 5000px">far'))
    asked = []
    with browser.new_context(viewport={"width": 800, "height": 600}) as context:
        context.on("request", lambda request: asked.append(request.url))
        wait = quiet(context)
        tab = context.new_page()
        tab.goto(far.as_uri(), wait_until="load")
        wait(tab)
        assert not any(RUNTIME in url for url in asked)
        assert tab.locator(".interactive-chart img").is_visible()
        tab.locator(".interactive-chart").scroll_into_view_if_needed()
        tab.wait_for_selector(".interactive-chart.is-live")
    assert sum(RUNTIME in url for url in asked) == 1


def test_the_runtime_is_bundled_once_for_each_version(tmp_path, monkeypatch):
    bundles = []

    def bundle() -> str:
        bundles.append("drawing")
        return bundles[-1]

    monkeypatch.setattr(interactive_charts, "javascript_bundle", bundle)
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=tmp_path)
    interactive_charts.write_runtime(app)
    file = tmp_path / "_static" / RUNTIME
    whole = file.read_text()
    assert "drawing" in whole
    interactive_charts.write_runtime(app)
    assert len(bundles) == 1
    for other in (whole.replace(vl_convert.__version__, "0.1"), whole[:-9]):
        file.write_text(other)
        interactive_charts.write_runtime(app)
        assert file.read_text() == whole
    assert len(bundles) == 3


def test_only_pages_with_a_chart_load_the_script(
    artefact: None, root: Path, tmp_path: Path
):
    settings = settings_of_the_book(root, COSTLY - {"tools.interactive_charts"})
    (tmp_path / "_config.yml").write_text(yaml.safe_dump(settings))
    chapters = tmp_path / "chapters"
    shutil.copytree(root / "chapters" / "_static", chapters / "_static")
    (chapters / "references.bib").touch()
    (chapters / "plain.md").write_text("# Plain\n\nNo chart here.\n")
    (chapters / "page.md").write_text(PAGE)
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: chapters/page\nchapters:\n  - file: chapters/plain\n"
    )
    done = subprocess.run(
        [root / ".venv/bin/jupyter-book", "build", ".", "--warningiserror", "--quiet"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    built = tmp_path / "_build" / "html"
    assert (built / "_static" / RUNTIME).stat().st_size > 500_000
    with_chart = (built / "chapters" / "page.html").read_text()
    without = (built / "chapters" / "plain.html").read_text()
    assert "interactive_charts.js" in with_chart
    assert 'class="interactive-chart"' in with_chart
    assert "Caption of the chart" in with_chart
    assert "interactive_charts.js" not in without


PAGE = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
# A page

```{code-cell} ipython3
---
mystnb:
  figure:
    name: fig-chart
    caption: Caption of the chart.
---
from toolkit import interactive

data = {"values": [{"a": 1}]}
spec = {"mark": "bar", "data": data, "encoding": {"y": {"field": "a"}}}
interactive.show(spec, alt="One bar of height one, alone.")
```
"""


def marks(spec: object) -> Iterator[dict]:
    """The marks of a chart and of its parts that say more than their kind."""
    if isinstance(spec, list):
        for part in spec:
            yield from marks(part)
    elif isinstance(spec, dict):
        if isinstance(spec.get("mark"), dict):
            yield spec["mark"]
        for view in ("layer", "vconcat", "hconcat", "concat", "spec"):
            yield from marks(spec.get(view))


def test_no_chart_of_the_book_writes_smaller_than_twelve_pixels(html: Path):
    data = re.compile(
        r'<div class="interactive-chart">.*?<script type="application/json">(.*?)<',
        re.DOTALL,
    )
    seen = 0
    for page in sorted(html.glob("chapters/*.html")):
        for found in data.findall(page.read_text(encoding="utf-8")):
            for mark in marks(json.loads(found)):
                if mark["type"] == "text":
                    seen += 1
                    assert mark.get("fontSize", 11) >= 12, (page.name, mark)
    assert seen > 5


@sweep("width", [1280, 360])
def test_a_patch_is_chosen_by_a_click_or_by_its_row_and_column(
    width: int, html: Path, browser: Browser
):
    size = {"width": width, "height": 800}
    with browser.new_context(viewport=size, offline=True) as context:
        page = context.new_page()
        page.goto((html / "chapters" / "vit_patches.html").as_uri(), wait_until="load")
        page.locator(".interactive-chart").first.scroll_into_view_if_needed()
        chart = page.locator(
            ".interactive-chart.is-live", has_text="column of the patch"
        )
        expect(chart).to_have_count(1)
        assert chart.locator("input[type=range]").count() == 0
        row, column = (chart.locator(f"select[name={n}]") for n in ("row", "column"))

        def most_similar() -> tuple[int, int]:
            cells = chart.locator(
                "[aria-roledescription='rect mark'][aria-label*=simil]"
            )
            told = cells.evaluate_all("all => all.map(cell => cell.ariaLabel)")
            assert len(told) == 196
            (best,) = (text for text in told if text.endswith("similarity: 1"))
            found = re.search(
                r"column of the patch: (\d+); row of the patch: (\d+)", best
            )
            return int(found[2]), int(found[1])

        assert most_similar() == (5, 6)
        for r, c in [(2, 9), (13, 0), (0, 13)]:
            name = f"column of the patch: {c}; row of the patch: {r};"
            chart.locator(f"[aria-label^='{name}']").click()
            expect(row).to_have_value(str(r))
            expect(column).to_have_value(str(c))
            assert most_similar() == (r, c)
        row.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")
        expect(column).to_be_focused()
        page.keyboard.press("ArrowUp")
        assert most_similar() == (1, 12)


def test_a_chart_on_a_dark_page_has_no_white_card(html: Path, browser: Browser):
    with browser.new_context(color_scheme="dark") as context:
        page = context.new_page()
        page.goto((html / "chapters" / "masking.html").as_uri(), wait_until="load")
        chart = page.locator(".interactive-chart").first
        chart.scroll_into_view_if_needed()
        expect(chart).to_have_class(re.compile("is-live"))
        picture = Image.open(io.BytesIO(chart.screenshot())).convert("L")
        shades = np.asarray(picture)
        assert np.median(shades) < 40
        assert (shades > 180).mean() < 0.05  # words
        assert (shades > 180).any()
