"""The language model in NumPy is the one in torch, made of the blocks it is given."""

import importlib.util
import inspect
import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from autograder.exercise import find_topic
from solutions.language_model import LanguageModel
from toolkit import playground
from toolkit.quantised_weights import quantised
from toolkit.your_transformer import BLOCKS, Transformer, in_one_file, take_home

MERGES = [(101, 108), (32, 116), (257, 104)]
OURS = {name: find_topic(name).reference(name) for name in BLOCKS}


def packed(model: LanguageModel) -> dict:
    facts = playground.computation(model)
    return playground.packed(model, {**facts, "merges": MERGES})


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    torch.manual_seed(0)
    made = LanguageModel(256 + len(MERGES), 8, 2, 2, 12)
    with torch.no_grad():
        for parameter in made.parameters():  # all of them matter
            parameter += torch.randn_like(parameter) / 3
    return made


@pytest.fixture(scope="module")
def file(model) -> dict:
    return packed(model)


def test_logits_are_those_of_torch(model, file):
    ids = np.random.default_rng(0).integers(0, 259, (3, 7))
    with torch.no_grad():
        expected = model(torch.from_numpy(ids)).numpy()
    found = Transformer(file, in_one_file(OURS)).logits(ids)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_it_generates_token_by_token_what_torch_would(model, file):
    prompt, uniform = "tell the", np.random.default_rng(1).random(70)
    ids = OURS["bpe_encode"](prompt, MERGES)
    for number in uniform:
        with torch.no_grad():  # the context is the last window
            logits = model(torch.tensor([ids[-64:]]))[:, -1].double().numpy()
        logits = OURS["filter_logits"](logits, top_p=0.9)
        ids.append(int(OURS["sample_tokens"](logits, np.array([number]), 0.8)[0]))
    found = Transformer(file, in_one_file(OURS)).write(prompt, uniform)
    assert found == OURS["bpe_decode"](ids, MERGES)


def test_weights_of_one_byte_are_read_too(model):
    rounded = quantised(packed(model))
    ids = np.arange(12).reshape(2, 6)
    with torch.no_grad():
        expected = model(torch.from_numpy(ids)).numpy()
    found = Transformer(rounded, in_one_file(OURS)).logits(ids)
    assert 1e-6 < np.abs(found - expected).max() < 0.02 * np.abs(expected).max()


class Called(Exception):
    """A block was called."""


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_is_the_one_that_was_given(file, name):
    def instead(*args, **kwargs):
        raise Called

    swapped = Transformer(file, in_one_file(OURS | {name: instead}))
    with pytest.raises(Called):
        swapped.write("el th", np.array([0.5]))


def test_the_file_to_take_home_needs_numpy_and_the_weights_alone(file, tmp_path):
    sources = {name: inspect.getsource(block) for name, block in OURS.items()}
    program = tmp_path / "mine.py"
    program.write_text(take_home(sources, "mine"), encoding="utf-8")
    (tmp_path / "mine.json").write_text(json.dumps(file), encoding="ascii")
    done = subprocess.run(
        [sys.executable, "-I", program, "tell the"],
        cwd=tmp_path, capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith(b"tell the")

    spec = importlib.util.spec_from_file_location("mine", program)
    mine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mine)
    uniform = np.random.default_rng(2).random(20)
    expected = Transformer(file, in_one_file(OURS)).write("tell the", uniform)
    assert mine.Transformer(file, vars(mine)).write("tell the", uniform) == expected
    text = program.read_text(encoding="utf-8")
    assert "toolkit" not in text and "autograder" not in text
