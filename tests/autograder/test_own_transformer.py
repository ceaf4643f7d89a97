"""The language model in a page runs with a reader's functions, if they pass."""

import inspect
import json

import numpy as np
import pytest
import torch

from autograder import in_page, own_transformer
from autograder.in_page import Page
from solutions import language_model as right
from toolkit import playground
from toolkit.your_transformer import BLOCKS, Transformer, in_one_file

PROMPT, DICE = "ab ", [[0.1, 0.7, 0.4, 0.9], [0.5, 0.2, 0.8, 0.3]]
IDS = np.random.default_rng(0).integers(0, 256, 200).tolist()
LEAKS = "def causal_mask(n):\n    return np.ones((n, n), dtype=bool)\n"
OWN = "def causal_mask(n):\n    # mine alone\n    return np.tri(n) > 0\n"


@pytest.fixture(scope="module")
def file() -> dict:
    """A model whose text makes no sense, but depends on all its weights."""
    torch.manual_seed(1)
    model = right.LanguageModel(256, 8, 2, 1, 12)
    with torch.no_grad():
        model.embedding.weight *= 50
    return playground.packed(model, {**playground.computation(model), "merges": []})


def ask(page: Page, do: str, **asked) -> dict:
    return json.loads(page.ask(json.dumps({"do": do, "with": asked})))


def block(page: Page, name: str, source: str) -> dict:
    return ask(page, "block", cell={"name": name, "kind": "exercise", "source": source})


def run(page: Page, file: dict) -> dict:
    return ask(page, "transformer", file=file, prompt=PROMPT, dice=DICE, ids=IDS)


def test_without_answers_it_is_the_books_model(file):
    found = run(Page(), file)
    model = Transformer(file, in_one_file(own_transformer.references()))
    assert found["texts"] == [model.write(PROMPT, np.array(dice)) for dice in DICE]
    windows = np.array([IDS[n : n + 65] for n in range(0, 200 - 64, 32)])
    logits = model.logits(windows[:, :64])[:, 32:]
    assert found["perplexity"] == pytest.approx(
        right.perplexity(logits, windows[:, 33:])
    )
    assert found["own"] == []


def test_an_answer_that_passes_runs_in_the_model_and_is_in_the_file(file):
    page = Page()
    report = block(page, "causal_mask", OWN)["report"]
    assert report["score"] == report["max_score"]
    found = run(page, file)
    assert found["own"] == ["causal_mask"]
    assert found["texts"] == run(Page(), file)["texts"]
    assert "# mine alone" in found["program"]
    assert found["program"].count("def causal_mask") == 1
    assert found["program"].count("# yours") == 1
    assert "solutions" not in found["program"]


def test_an_answer_that_does_not_pass_is_not_run(file):
    page = Page()
    said = block(page, "causal_mask", LEAKS)
    assert said["report"]["score"] < said["report"]["max_score"]
    assert said["headline"]
    found = run(page, file)
    assert found["own"] == []
    assert found["texts"] == run(Page(), file)["texts"]


def test_blocks_find_each_other_whosever_they_are(file, capsys):
    """The book's attention calls the reader's softmax; an answer, the book's."""
    page = Page()
    own = inspect.getsource(own_transformer.references()["masked_softmax"])
    counting = own.replace("hidden =", "calls.append(1)\n    hidden =")
    page.names["calls"] = []
    report = block(page, "masked_softmax", counting)["report"]
    assert report["score"] == report["max_score"]
    checked = len(page.names["calls"])
    run(page, file)
    assert len(page.names["calls"]) > checked
    encode = inspect.getsource(right.bpe_encode)  # calls merge_pair
    assert block(page, "bpe_encode", encode)["failed"] is False
    assert run(page, file)["own"] == ["bpe_encode", "masked_softmax"]


@pytest.mark.parametrize("name", BLOCKS)
def test_the_books_own_source_passes_in_the_file(name):
    source = inspect.getsource(own_transformer.references()[name])
    report = block(Page(), name, source)["report"]
    assert report["score"] == report["max_score"], report["message"]


def test_a_block_that_fails_in_the_model_is_told(file):
    page = Page()
    page.names["late"] = []
    source = OWN.replace("return", "assert not late, 'too late'\n    return")
    block(page, "causal_mask", source)
    page.names["late"].append(1)  # it passed until then
    found = run(page, file)
    assert found["failed"] is True
    assert "too late" in found["page"]


def test_a_course_without_solutions_says_so(file, monkeypatch):
    monkeypatch.setattr(in_page, "self_study", lambda: False)
    page = Page()
    assert "solutions" in block(page, "causal_mask", OWN)["page"]
    assert run(page, file)["failed"] is True
