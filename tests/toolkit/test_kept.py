"""What was computed once on this machine is not computed again, unless it differs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from toolkit.kept import FOLDER, files_of, kept

CELL = """
import torch
from torch import nn
from toolkit.kept import kept
RATE, CALLS = 2, 0
class Base(nn.Module):
    START = 1.0
class Model(Base):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((3,), self.START))
def double(x):
    return 2 * inner(x)
def inner(x):
    return x
@kept
def train(model, steps, generator):
    '''Train.'''
    # and count
    print("training")
    global CALLS
    CALLS += 1
    with torch.no_grad():
        for _ in range(steps):
            model.weight += RATE * double(torch.rand(3, generator=generator))
            model.weight += torch.rand(3)
    return [model.weight[0].item()]
"""


def run(code: str = CELL, steps: int = 2, seed: int = 3, weight: float = 1.0) -> Any:
    """What a chapter with this cell would then have, and how often it trained."""
    cell: dict[str, Any] = {"__name__": "__main__"}
    exec(code, cell)
    torch.manual_seed(0)
    model, generator = cell["Model"](), torch.Generator().manual_seed(seed)
    model.weight.data *= weight
    result = cell["train"](model, steps, generator)
    left = result, model.weight.tolist(), generator.get_state().tolist()
    return (*left, torch.rand(1).item()), cell["CALLS"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER, str(tmp_path / "kept"))
    return tmp_path / "kept"


def test_without_a_folder_everything_is_computed(monkeypatch):
    monkeypatch.delenv(FOLDER, raising=False)
    assert run() == run()
    assert run()[1] == 1
    assert files_of(len, []) == []


def test_the_second_time_all_is_as_after_the_first(folder, capsys):
    first, trained = run()
    assert trained == 1
    assert run() == (first, 0)
    assert capsys.readouterr().out == "training\n" * 2
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize(
    ("old", "new", "trained"),
    [
        ("'''Train.'''", "'''Learn.'''", 0),  # words about the code
        ("# and count", "# and\n    # count", 0),
        ("RATE, CALLS = 2", "RATE, CALLS = 3", 1),
        ("    return x\n", "    return 1 * x\n", 1),
        ("START = 1.0", "START = 1.5", 1),
        ("model.weight[0].item()", "model.weight[1].item()", 1),
        ("2 * inner", "3 * inner", 1),
    ],
)
def test_code_that_the_function_uses_counts_and_words_do_not(folder, old, new, trained):
    run()
    assert old in CELL
    assert run(CELL.replace(old, new))[1] == trained


def test_the_state_of_the_global_generator_counts_if_it_is_drawn_from(folder):
    @kept
    def drawn():
        return torch.rand(1).item()

    @kept
    def quiet():
        with log.open("a") as file:
            return file.write("x")

    log = folder.parent / "calls"
    torch.manual_seed(0)
    first, _, second, _ = drawn(), quiet(), drawn(), quiet()
    assert first != second
    torch.manual_seed(0)
    assert [drawn(), drawn(), quiet()] == [first, second, 1]
    assert log.read_text() == "x"


VALUES = [
    *(0, 1, 1.0, True, "1", b"1", None, (1,), [1], {1}, {1: 1}, [[1], []], [[], [1]]),
    *(torch.zeros(2), torch.zeros(1, 2), torch.zeros(2).double(), torch.tensor([0, 1])),
    *(torch.zeros(2, requires_grad=True), np.zeros(2), np.zeros((2, 1)), np.arange(2)),
    *(np.random.default_rng(0), np.random.default_rng(1), len, max, np.sin, torch.sin),
    *(torch.float32, torch.float64, dict, list, lambda: 0, lambda: 1, Path("a")),
    *(torch.nn.Linear, torch.nn.ReLU(), torch.nn.Tanh(), CELL.lower, CELL.upper),
]


def test_different_values_have_different_names(folder):
    torch.manual_seed(0)
    assert len({files_of(run, value)[1] for value in VALUES}) == len(VALUES)


def test_what_cannot_be_told_from_others_is_refused(folder):
    with pytest.raises(TypeError, match="generator"):
        files_of(run, (i for i in range(3)))


def test_the_first_use_of_an_optimiser_changes_nothing(folder):
    class Halving(torch.optim.Optimizer):
        def step(self):
            for parameter in self.param_groups[0]["params"]:
                parameter.data /= 2

    unused = files_of(run, Halving)
    Halving([torch.zeros(1)], {})
    assert files_of(run, Halving) == unused
