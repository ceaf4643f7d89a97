"""A model that runs with a reader's softmax: what the page says about it."""

import inspect
import json

import pytest
from bs4 import BeautifulSoup

from autograder.in_page import Page
from autograder.model_trial import EXAMPLES
from solutions import simplified_attention as right
from tests.toolkit.small_translator import file_of, made

DATES = ["abc", "cab 12", "3 2 1", "bb", "a1", "2c", "123"]
SETUP = {"name": "setup 1", "kind": "setup", "source": "import numpy as np"}
RIGHT = inspect.getsource(right.softmax)


@pytest.fixture(scope="module")
def file() -> dict:
    """A model whose translations make no sense, but depend on all its weights."""
    return file_of(made(), held_out=[[source, "2021"] for source in DATES])


def run(file: dict, source: str) -> tuple[dict, BeautifulSoup]:
    cell = {"name": "softmax", "kind": "exercise", "source": source}
    asked = {"do": "model", "with": {"cell": cell, "above": [SETUP], "file": file}}
    answer = json.loads(Page().ask(json.dumps(asked)))
    return answer, BeautifulSoup(answer["page"], "html.parser")


def columns(page: BeautifulSoup) -> list[tuple[str, ...]]:
    cells = [row.select("th, td") for row in page.select("table:has(caption) tbody tr")]
    return list(zip(*[[c.get_text() for c in row] for row in cells], strict=True))


def test_with_a_right_softmax_nothing_changes(file):
    answer, page = run(file, RIGHT)
    dates, ours, mine = columns(page)
    assert answer["failed"] is False
    assert dates == tuple(DATES[:EXAMPLES])
    assert mine == tuple(f"{text} ✓" for text in ours)
    assert len(set(ours)) > 1
    assert f"{EXAMPLES} of {EXAMPLES} dates" in page.caption.get_text()
    assert "sums to 1." in page.get_text()
    first, second = page.select("figure table")
    assert first == second


def test_with_a_wrong_one_the_page_shows_what_changes(file):
    source = "def softmax(scores):\n    return 2 * np.exp(scores)\n"
    _, page = run(file, source)
    _, ours, mine = columns(page)
    assert any(text.endswith("✗") for text in mine)
    assert all(
        text == f"{book} ✓" or text.endswith("✗")
        for book, text in zip(ours, mine, strict=True)
    )
    same = sum(text.endswith("✓") for text in mine)
    assert f"{same} of {EXAMPLES} dates" in page.caption.get_text()
    assert "and not to 1" in page.get_text()
    first, second = page.select("figure table")
    assert first != second


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return scores * np.nan", "not a number"),
        ("return scores.sum(axis=-1)", "the shapes must be equal"),
        ("return scores / nothing", "NameError"),
        ("return None", "weights of shape ()"),
        ("import sys; sys.exit()", "SystemExit"),
        ("raise NotImplementedError", "no answer to run it with yet"),
    ],
)
def test_whatever_it_does_the_page_says_it(file, body, said):
    _, page = run(file, f"def softmax(scores):\n    {body}\n")
    assert said in page.get_text()


def test_a_cell_that_does_not_run_gives_no_model(file):
    answer, page = run(file, "def softmax(scores)\n    return scores")
    assert answer["failed"] is True
    assert "SyntaxError" in page.get_text()
    assert not page.select("table")


def test_without_solutions_the_right_translations_are_compared(file, monkeypatch):
    monkeypatch.setattr("autograder.in_page.self_study", lambda: False)
    _, page = run(file, RIGHT)
    assert columns(page)[1] == ("2021",) * EXAMPLES
    assert "with the book" not in page.get_text()
