"""Charts react to the keyboard, from a file, without a network, narrow or wide."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import altair as alt
import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from toolkit.interactive import house_spec
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


@pytest.fixture
def page(folder: Path, browser: Browser) -> Iterator[Page]:
    """The page, opened as a file without a network; complaints fail the test."""
    complaints = []
    with browser.new_context(offline=True) as context:
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


def test_the_chart_says_what_it_shows(page: Page):
    assert page.locator("[role=graphics-document]").get_attribute("aria-label") == ALT
    picture = page.locator(".interactive-chart img")
    assert picture.get_attribute("alt") == ALT
    assert not picture.is_visible()  # it only stands in until the chart is drawn


def test_without_javascript_a_still_picture_is_seen(folder: Path, browser: Browser):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto((folder / "page.html").as_uri())
        assert page.locator(".interactive-chart img").is_visible()
