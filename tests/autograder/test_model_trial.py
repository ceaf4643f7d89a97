"""A model that runs with a reader's softmax: what the page says about it."""

import inspect
import json

import pytest
from bs4 import BeautifulSoup

from autograder.in_page import Page
from autograder.model_trial import EXAMPLES
from solutions import simplified_attention as right
from solutions.qkv_projections import attention
from tests.toolkit.small_translator import file_of, made
from toolkit.numpy_translator import Translator

DATES = ["αβγ", "cab 12", "3 2 1", "bb", "a1", "2c", "123"]
SETUP = {"name": "setup 1", "kind": "setup", "source": "import numpy as np"}
RIGHT = inspect.getsource(right.softmax)


@pytest.fixture(scope="module")
def file() -> dict:
    """A model whose translations make no sense, but depend on all its weights."""
    return file_of(made(), held_out=[[source, "2021"] for source in DATES])


def run(file: dict, source: str, name: str = "softmax") -> tuple[dict, BeautifulSoup]:
    cell = {"name": name, "kind": "exercise", "source": source}
    asked = {"do": "model", "with": {"cell": cell, "above": [SETUP], "file": file}}
    answer = json.loads(Page().ask(json.dumps(asked)))
    return answer, BeautifulSoup(answer["page"], "html.parser")


def written(page: BeautifulSoup) -> dict[str, str]:
    """What the model made of each date."""
    items = page.select(".in-page-model li")
    return {item.span.get_text(): item.strong.get_text() for item in items}


def test_a_right_softmax_writes_what_the_model_writes(file):
    answer, page = run(file, RIGHT)
    assert answer["failed"] is False
    model = Translator(file, right.softmax)
    dates = DATES[1 : EXAMPLES + 1]  # the first is Greek, and comes last
    assert written(page) == {date: model.translate(date) for date in dates}
    assert len(set(written(page).values())) > 1
    answer, other = run(file, inspect.getsource(attention), "attention")
    assert "Your attention now runs" in other.get_text()
    assert written(other) == written(page)


def test_another_attention_writes_something_else(file):
    source = (
        "def attention(queries, keys, values):\n    return np.ones_like(queries), 0"
    )
    assert written(run(file, source, "attention")[1]) != written(run(file, RIGHT)[1])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return scores * np.nan", "not a number"),
        ("return scores.sum(axis=-1)", "the shapes must be equal"),
        ("return scores / nothing", "NameError"),
        ("return None", "weights of shape ()"),
        ("import sys; sys.exit()", "SystemExit"),
    ],
)
def test_whatever_it_does_the_page_says_it(file, body, said):
    _, page = run(file, f"def softmax(scores):\n    {body}\n")
    assert said in page.get_text()


def test_a_cell_that_does_not_run_gives_no_model(file):
    answer, page = run(file, "def softmax(scores)\n    return scores")
    assert answer["failed"] is True
    assert "SyntaxError" in page.get_text()
    assert not written(page)
