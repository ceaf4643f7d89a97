"""Demonstrations of which an answer may use something."""

from __future__ import annotations

import pytest

from autograder.demonstrations import needed

DEMONSTRATIONS = {
    "imports": "import time\nfrom math import exp, log",
    "constants": "SIZE = (3, -4)\nRATE, NAMES = 0.5, ['a', 'b']",
    "computes": "rng = np.random.default_rng(0)\nX = rng.normal(size=SIZE)\nprint(X)",
    "function": "def outer(x):\n    return inner(x) + len(SIZE)\nouter(3)",
    "decorated": "@wrap\ndef inner(x):\n    return exp(x)",
    "model": "class Model:\n    def forward(self, x):\n        return outer(X)",
    "magic": "%matplotlib inline\nfigure = 3",
}


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("print(1)", []),
        ("def mine(): return time.time()", ["imports"]),
        ("print(NAMES)", ["constants"]),
        ("print(X, rng)", []),  # these are computed
        ("inner(2)", ["imports", "decorated"]),
        ("Model()", ["imports", "constants", "function", "decorated", "model"]),
        ("figure", ["magic"]),
        ("def f(:\n    RATE", ["constants"]),
        ("", []),
    ],
)
def test_those_are_needed_that_define_what_is_used(written, found):
    assert needed(DEMONSTRATIONS, [written, "x = 1"]) == set(found)
