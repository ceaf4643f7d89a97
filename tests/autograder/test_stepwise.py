"""A cell runs statement by statement, and what is not here has a stand-in."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

from autograder import stepwise
from autograder.stepwise import StandIn, go_on_below_errors, stopped_in_line


@pytest.fixture
def shell(monkeypatch):
    made = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: made)
    monkeypatch.setattr(made, "_showtraceback", lambda *_: None)
    go_on_below_errors(made)
    yield made
    made.history_manager.end_session()


def defined(shell, source):
    """The names that a cell has left, of one letter."""
    shell.run_cell(source)
    return {name for name in shell.user_ns if len(name) == 1 and name != "_"}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("1 / 0\na = 1", "a"),
        ("a = 1\nraise SystemExit\nb = 2\nopen('nowhere')\nc = 3", "abc"),
        ("def a():\n    pass\nreturn 3\nb = 1", "ab"),
        ("a = 1\nb = (", ""),
        ("a = 1\nraise KeyboardInterrupt\nb = 1", "ab"),
        ("for a in [1, 2]:\n    1 / 0\n    c = 3\nb = 1", "ab"),
        ("from numpy import nothing\na = 1", "a"),
        ("import m, numpy as n\na = m.x.y", "anm"),
        ("try:\n    import xyz as m\nexcept ImportError:\n    a = 1", "a"),
        (
            "from xyz import d, f as g\n@d\n@g(1, k=2)\ndef a(x: g[1] | None): pass",
            "adg",
        ),
    ],
)
def test_what_fails_costs_nothing_below_it(shell, source, names):
    assert defined(shell, source) == set(names)


def test_a_failure_is_still_one(shell):
    result = shell.run_cell("1 / 0\n2")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert result.result == 2


def test_a_stand_in_takes_nothing_from_what_is_there(shell):
    assert defined(shell, "a = 1\nimport xyz as a") == {"a"}
    assert shell.user_ns["a"] == 1
    with pytest.raises(AttributeError):
        _ = StandIn().__array__
    assert StandIn()(len) is len


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = 3\nb, c = 1, [2]\nd = float('-inf')", "abcd"),
        ("import math as m\nfrom math import pi as p", "mp"),
        ("def f(x):\n    return x\nclass C:\n    pass", "fC"),
        ("a = print(1)\nfor b in range(3): pass\nwith open('x') as c: pass", ""),
        ("a = nothing\nb = 1", "b"),
        ("%time\nimport xyz as m\ndef f(x: m.T): pass", "mf"),
        ("a = (\nb = 1", ""),
    ],
)
def test_what_a_cell_defines(shell, capsys, source, names):
    stepwise.define(source)
    assert {n for n in shell.user_ns if len(n) == 1 and n != "_"} == set(names)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("traceback", "line"),
    [
        (["\x1b[0;31m----\x1b[0m", "Cell \x1b[0;32mIn[3], line 12\x1b[0m\n x"], 12),
        (["Cell In[3], line 12, in f(x)\n x"], 0),
        ([], 0),
    ],
)
def test_the_line_of_a_failure_is_read_from_ipythons_words(traceback, line):
    assert stopped_in_line(traceback) == line
