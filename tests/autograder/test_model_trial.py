"""A model that runs with a reader's softmax: what the page says about it."""

import json

import pytest
from bs4 import BeautifulSoup

from autograder.exercise import find_topic
from autograder.in_page import Page
from autograder.model_trial import EXAMPLES, PLACES
from tests.toolkit.small_translator import file_of, made
from toolkit.numpy_translator import Translator

DATES = ["αβγ", "cab 12", "3 2 1", "bb", "a1", "2c", "123"]
SETUP = {"name": "setup 1", "kind": "setup", "source": "import numpy as np"}


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


@pytest.mark.parametrize("name", PLACES)
def test_a_right_function_writes_what_the_model_writes(file, name):
    reference = find_topic(name).reference(name)
    source = f"from {reference.__module__} import {name}"
    answer, page = run(file, source, name)
    assert answer["failed"] is False
    assert f"Your {name} now runs" in page.get_text()
    model = Translator(file)
    dates = DATES[1 : EXAMPLES + 1]  # the first is Greek, and comes last
    assert written(page) == {date: model.translate(date) for date in dates}
    assert len(set(written(page).values())) > 1


@pytest.mark.parametrize("name", PLACES)
def test_another_function_writes_something_else(file, name):
    reference = find_topic(name).reference(name)
    changed = {  # of what the reference gives
        "attention": "(given[0] * 0 + 1, 0)",
        "scaled_dot_product_attention": "(given[0] * 0 + 1, 0)",
        "greedy_decode": "given[:, ::-1]",
    }
    source = (
        f"from {reference.__module__} import {name} as right\n"
        f"def {name}(*args):\n"
        f"    given = right(*args)\n"
        f"    return {changed.get(name, 'given[..., ::-1]')}"
    )
    expected = written(run(file, f"from {reference.__module__} import {name}", name)[1])
    assert written(run(file, source, name)[1]) not in (expected, {})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return scores * np.nan", "not a number"),
        ("return None", "weights of shape ()"),
        ("import sys; sys.exit()", "SystemExit"),
    ],
)
def test_whatever_it_does_the_page_says_it(file, body, said):
    _, page = run(file, f"def softmax(scores):\n    {body}\n")
    assert said in page.get_text()
