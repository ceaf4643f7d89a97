"""What the card of an exercise has from the build."""

import pytest

from autograder.exercise import load_topic
from tools.exercise_card import additions, shapes_of

STUB = '''def f(a, b, mode):
    """Do it.

    Args:
        a: (..., N) scores,
            (not, a, shape) in a line that goes on.
        b: (N,) or nothing.
        mode: "sum" or "mean".

    Returns:
        %s
    """
    raise NotImplementedError
'''


@pytest.mark.parametrize(
    ("returns", "line"),
    [
        ("(..., N) weights; they sum to one.", "weights (..., N)"),
        ("(N,) the sum of both.", "(N,)"),
        ("(N,) one sum per row.", "(N,)"),
        ("y: (N,) a sum.\n        w: (N, N) more.", "y (N,), w (N, N)"),
    ],
)
def test_the_shapes_are_those_of_the_docstring(returns, line):
    assert shapes_of(STUB % returns) == f"a (..., N), b (N,) → {line}"


def test_without_shapes_nothing_is_said():
    assert shapes_of(STUB % "A number.") == ""
    assert shapes_of("def f():\n    return 1") == ""
    assert shapes_of("class F:\n    pass") == ""


def test_hints_that_were_written_are_in_the_card(monkeypatch):
    exercise = load_topic("simplified_attention").exercises["softmax"]
    monkeypatch.setattr(exercise, "hints", ("First `exp` <b>.", "Then divide."))
    parts = [part.astext() for part in additions("softmax", "def softmax(): pass")]
    (hints,) = parts
    assert "<li>First <code>exp</code> &lt;b&gt;.</li><li>Then divide.</li>" in hints
    monkeypatch.setattr(exercise, "hints", ())
    assert additions("softmax", "def softmax(): pass") == []
