"""What is run below a line at which a cell stopped."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

from autograder.rest_of_cell import rest_below, stopped_in_line


@pytest.fixture(scope="module")
def shell():
    return InteractiveShell()  # not the instance that others use


@pytest.fixture
def run(shell, capsys):
    """Run a source as Jupyter does; the line that its traceback tells of."""

    def ask(source):
        texts = []
        shell._showtraceback = lambda kind, value, parts: texts.extend(parts)
        shell.run_cell(source, store_history=True)
        return stopped_in_line(texts)

    return ask


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("k = 2\n1 / 0\nk = 3", 2),
        ("\n\nk = 2\n1 / 0", 2),  # IPython drops the empty lines
        ("#\n\nk = 2\n1 / 0", 4),
        ("def f():\n    return 1 / 0\n\nf()", 4),
        ("k = max(\n    1,\n    1 / 0,\n)", 3),
        ("try:\n    1 / 0\nexcept ZeroDivisionError:\n    nothing()", 4),
        (
            "def f():\n    try:\n        1 / 0\n    except ZeroDivisionError:\n"
            "        nothing()\nf()",
            6,
        ),
        ("%matplotlib nothing", 1),
        ("k = 2\n%load_ext nothing", 2),
        ("k = 2\n%nothing_of_this_name", 0),
        ("k = 2", 0),
    ],
)
def test_where_a_cell_stopped_is_read_from_ipythons_traceback(run, source, line):
    found = run(source)
    if "try" in source:  # of two errors, either is in the statement that failed
        assert rest_below(f"{source}\nk = 2", found).endswith("\nk = 2")
    else:
        assert found == line


def test_a_function_of_an_earlier_cell_is_not_where_a_cell_stopped(run):
    run("\n".join(["#"] * 20 + ["def earlier():", "    return 1 / 0"]))
    assert run("k = 2\nearlier()") == 2


@pytest.mark.parametrize(
    ("source", "line", "left"),
    [
        ("1 / 0\n\ndef f(x):\n    return x", 1, "#\n#\ndef f(x):\n    return x"),
        ("k = 1\n1 / 0\nk = 2", 2, "#\n#\nk = 2"),
        ("\n\n1 / 0\nk = 2", 1, "#\n#\n#\nk = 2"),
        ("for n in x:\n    print(n)\nk = 2", 2, "#\n#\nk = 2"),
        ("@dec\ndef f():\n    pass\nk = 2", 1, "#\n#\n#\nk = 2"),
        ("1 / 0; k = 2", 1, "k = 2"),
        ("%timeit f(X)\nk = 2\n%time f()", 1, "#\nk = 2\n%time f()"),
        ("from a import b, c as d", 1, "from a import b; from a import c as d"),
        ("import a, b\nk = 2", 1, "import a; import b\nk = 2"),
        ("from a import b\nk = 2", 1, "#\nk = 2"),
        ("x = (\n  1,\n  2)\nk = 2", 2, "#\n#\n#\nk = 2"),
        ("k = 2\n1 / 0", 2, ""),
        ("k = 2", 9, ""),
        ("def f(:", 1, ""),
        ("%%time\n1 / 0\nk = 2", 2, "#\n1 / 0\nk = 2"),
        ("\n%%capture out\n1 / 0\nk = 2", 1, "#\n1 / 0\nk = 2"),
        ("%%bash\nfalse\ntrue", 1, ""),
        # Which line failed is not known: what defines is run, again if need be.
        (
            "%nothing\nimport a\nk = 2\nx = f(k)\ndef f(): pass",
            0,
            "#\nimport a\nk = 2\n#\ndef f(): pass",
        ),
        ("import a\ndef f(): pass", 0, ""),
    ],
)
def test_the_rest_are_the_statements_below_on_their_lines(source, line, left):
    assert rest_below(source, line) == left


def test_each_name_of_an_import_is_tried(shell):
    """And the rest gets shorter, whatever it is told."""
    rest = rest_below("from math import nothing, sqrt, gone, pi\nk = 2", 1)
    left = []
    while rest:
        left.append(rest)
        rest = rest_below(rest, 1)
    assert left[-2:] == ["from math import pi\nk = 2", "#\nk = 2"]
