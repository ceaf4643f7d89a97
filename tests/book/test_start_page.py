"""The start page: a scene that computes, a report that is real, a map of everything."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from myst_nb.core.read import read_myst_markdown_notebook
from playwright.sync_api import Browser, Page

from autograder.check import examine_here
from autograder.exercise import find_topic, topic_names
from tests.book.contents import ROOT
from toolkit import book
from tools.attention_scene import FEATURES, LAST, OPENING, VECTORS, attend

SENTENCES = [(*OPENING, last) for last in LAST]


def expected(words: tuple[str, ...], asking: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights and output by torch."""
    X = torch.tensor([VECTORS[word] for word in words], dtype=torch.float64)
    sdpa = torch.nn.functional.scaled_dot_product_attention
    query = X[asking : asking + 1]
    weights = sdpa(query, X, torch.eye(len(X), dtype=X.dtype))
    return weights[0].numpy(), sdpa(query, X, X)[0].numpy()


@pytest.mark.parametrize("words", SENTENCES)
def test_the_picture_is_computed_by_the_reference(words: tuple[str, ...]):
    for asking in range(len(words)):
        weights, output = expected(words, asking)
        step = attend(words, asking)
        np.testing.assert_allclose(step.weights, weights, atol=1e-12)
        np.testing.assert_allclose(step.output, output, atol=1e-12)


def test_the_vectors_are_those_of_the_first_chapter():
    text = (ROOT / "chapters" / "simplified_attention.md").read_text(encoding="utf-8")
    cells = read_myst_markdown_notebook(text).cells
    (code,) = (c.source for c in cells if c.source.startswith("words = ["))
    given: dict = {"np": np}
    exec(code, given)
    assert tuple(given["features"]) == FEATURES
    for word, vector in zip(given["words"], given["X"], strict=True):
        assert VECTORS[word] == tuple(vector), word
    (swap,) = (c.source for c in cells if c.source.startswith("river = X.copy()"))
    assert list(VECTORS["river"]) in [
        ast.literal_eval(row) for row in re.findall(r"\[[\d., ]+\]", swap)
    ]


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """The start page, where nothing moves."""
    with browser.new_context(reduced_motion="reduce") as context:
        page = context.new_page()
        page.goto(f"{site}index.html", wait_until="load")
        page.wait_for_selector(".attention-scene.is-live")
        yield page


SHOWN = """scene => ({
  keys: [...scene.querySelectorAll('.scene-key')].map(e => e.textContent),
  percents: [...scene.querySelectorAll('.scene-percent')].map(
    e => parseInt(e.textContent)),
  bars: [...scene.querySelectorAll('.scene-bar')].map(
    e => e.getBoundingClientRect().height),
  lines: [...scene.querySelectorAll('.scene-lines path')].map(
    e => parseFloat(getComputedStyle(e).strokeWidth)),
  after: [...scene.querySelectorAll('.scene-after')].map(
    e => parseFloat(e.textContent)),
  says: scene.querySelector('.scene-says').textContent,
})"""


def test_every_word_can_be_the_query_by_keyboard(page: Page):
    scene, words = page.locator(".attention-scene"), SENTENCES[1]
    page.locator("input[name=scene-last]:checked").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    asked = []
    for _ in words:
        asking = int(page.evaluate("document.activeElement.value"))
        asked.append(asking)
        seen = scene.evaluate(SHOWN)
        weights, output = expected(words, asking)
        assert tuple(seen["keys"]) == words
        np.testing.assert_allclose(seen["percents"], 100 * weights, atol=0.51)
        np.testing.assert_allclose(seen["after"], output, atol=0.0051)
        largest = weights.argmax()
        assert seen["bars"][largest] == max(seen["bars"])
        assert seen["lines"][largest] == max(seen["lines"])
        assert f"{100 * weights[largest]:.0f}\N{NO-BREAK SPACE}%" in seen["says"]
        assert words[asking] in seen["says"]
        page.keyboard.press("ArrowRight")
    assert sorted(asked) == list(range(len(words)))


def test_without_javascript_there_is_a_still_picture(browser: Browser, site: str):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{site}index.html", wait_until="load")
        seen = page.locator(".attention-scene")
        weights, _ = expected(SENTENCES[0], SENTENCES[0].index("bank"))
        texts = seen.locator(".scene-percent").all_inner_texts()
        assert [int(t.rstrip("\N{NO-BREAK SPACE}%")) for t in texts] == [
            round(100 * w) for w in weights
        ]
        heights = [b.bounding_box()["height"] for b in seen.locator(".scene-bar").all()]
        assert max(heights) > 2 * min(heights)
        assert seen.locator("input:not([disabled])").count() == 0


@pytest.fixture(scope="module")
def soup(html: Path) -> BeautifulSoup:
    """The start page, parsed."""
    return BeautifulSoup((html / "index.html").read_text(), "html.parser")


def test_the_mistake_gets_the_report_that_a_reader_gets(soup: BeautifulSoup):
    given: dict = {"np": np}
    code = soup.select_one("article pre").get_text()
    exec(code, given)
    exercise = find_topic("softmax").exercises["softmax"]
    report = examine_here(exercise, given["softmax"]).report
    assert report.mistake
    assert 0 < report.score < report.max_score
    shown = " ".join(soup.select_one(".judged-mistake").get_text(" ").split())
    assert " ".join(report.message.split()) in shown
    assert f"{report.score} of {report.max_score}" in shown
    for case in report.cases:
        assert case.title in shown


def test_the_map_shows_all_but_the_pages_of_a_guide_and_what_is_built_there(
    soup: BeautifulSoup,
):
    drawn = soup.select_one(".chapter-map")
    links = {link["href"]: link for link in drawn.select("a")}
    listed = [page for part in book.parts() if part.caption for page in part.pages]
    pages = [page for page in listed if not page.startswith("chapters/teaching/")]
    assert len(pages) < len(listed)
    assert sorted(links) == sorted(f"{page}.html" for page in pages)
    in_order = [link["href"] for link in drawn.select("ol a")]
    assert in_order == [f"{page}.html" for page in pages if f"{page}.html" in in_order]
    assert len(in_order) > len(topic_names())
    for address, link in links.items():
        source = (ROOT / address).with_suffix(".md").read_text(encoding="utf-8")
        title = re.search(r"^# (.+)$", source, re.M)[1]
        assert link.get_text() == title.replace("'", "’")
        shown = re.sub(r"^`{5}.*?^`{5}$", "", source, flags=re.M | re.S)  # as code
        names = re.findall(r"^:label: exercise-(\w+)$", shown, re.M)
        card = link.find_parent("li")
        built = [code.get_text() for code in card.select(".map-builds code")]
        assert sorted(built) == sorted(names)


def test_the_ways_to_begin_lead_somewhere(page: Page):
    links = page.locator(".start-lead a")
    assert links.count() > 1
    for link in links.evaluate_all("all => all.map(link => link.href)"):
        page.goto(link)
        assert page.locator("article h1").is_visible()
        if "#" in link:
            assert page.locator(f"#{link.partition('#')[2]}").is_visible()
