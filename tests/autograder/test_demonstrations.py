"""What an answer may use of the demonstrations."""

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
        ("def mine(): return time.time()", ["import time"]),
        ("print(NAMES)", ["RATE, NAMES = (0.5, ['a', 'b'])"]),
        ("print(X, rng)", []),  # these are computed
        ("inner(2)", ["from math import exp, log", DEMONSTRATIONS["decorated"]]),
        (
            "Model()",
            ["from math import exp, log", "SIZE = (3, -4)"]
            + [DEMONSTRATIONS["function"].removesuffix("\nouter(3)")]
            + [DEMONSTRATIONS["decorated"]]
            + ["class Model:\n\n    def forward(self, x):\n        return outer(X)"],
        ),
        ("figure", ["figure = 3"]),
        ("def f(:\n    RATE", ["RATE, NAMES = (0.5, ['a', 'b'])"]),
        ("", []),
    ],
)
def test_those_definitions_are_needed_that_are_used(written, found):
    assert list(needed(DEMONSTRATIONS, [written, "x = 1"]).values()) == found
