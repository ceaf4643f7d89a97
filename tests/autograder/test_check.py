"""``check(f)`` in a notebook: a table, a hint, and the points as a number."""

from __future__ import annotations

import numpy as np
import pytest
from bs4 import BeautifulSoup
from IPython.core.formatters import PlainTextFormatter
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from autograder.answers import Answer
from autograder.check import check
from autograder.exercise import Exercise, load_topic
from autograder.judge import Report
from autograder.picture import first_difference, side_by_side
from autograder.rows import CaseReport
from autograder.show import as_html, as_text
from solutions import simplified_attention as right
from tests.autograder.conftest import TOPIC


def softmax(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def test_wrong_answer_is_told_its_mistake(capsys):
    points = check(softmax)
    assert 0 < points < points.of
    assert "exp(1000) is infinite" in capsys.readouterr().out


def test_stub_gets_a_friendly_line_and_zero(capsys):
    def softmax(scores):
        raise NotImplementedError

    assert check(softmax) == 0
    assert "Not implemented yet" in capsys.readouterr().out


@pytest.mark.parametrize("given", [3, lambda x: x])
def test_what_is_no_exercise_gets_one_line(capsys, given):
    assert check(given) == 0
    assert len(capsys.readouterr().out.strip().splitlines()) == 1


def test_right_answer_returns_all_points_as_the_number_that_nbgrader_reads(capsys):
    points = check(right.softmax)
    assert points == points.of == load_topic(TOPIC).exercises["softmax"].points
    assert float(PlainTextFormatter()(points)) == points
    assert "of" in points._repr_html_()
    assert "failed" not in capsys.readouterr().out


def test_table_escapes_what_comes_from_the_student():
    case = CaseReport("t", 1, False, "ValueError was raised: <script>x</script>")
    report = Report("<b>", 0, 1, None, "<img src=x>", [case])
    page = as_html(report)
    assert "<script>" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert "<script>" in as_text(report)


def run(*sources):
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    return NotebookClient(notebook, kernel_name="python3").execute().cells


def test_a_notebook_shows_what_is_wrong_beside_the_expected_and_the_points():
    cells = run(
        "import numpy as np\nfrom autograder.check import check",
        "def attend(q, X):\n"
        "    a = np.exp(X @ q / len(X) ** 0.5); a /= a.sum()\n    return a @ X, a\n"
        "check(attend)",
    )
    shown, points = cells[1].outputs
    page = shown.data["text/html"]
    assert "<table" in page and "hint(attend)" in page
    assert "<figcaption>yours" in page
    assert "<figcaption>expected" in page
    assert points.output_type == "execute_result"
    assert float(points.data["text/plain"]) > 0


def grids(page):
    """The numbers of yours and of the expected, and which of yours are marked."""
    shown = BeautifulSoup(page, "html.parser")
    rows = [
        [[cell.get_text() for cell in row.select("td")] for row in table.select("tr")]
        for table in shown.select("table")
    ]
    return *rows, ["off" in cell.get("class", []) for cell in shown.select("td")]


def differing(*answers):
    """The first difference of an exercise whose cases have these answers and ours."""
    exercise = Exercise("any")
    for number in range(len(answers)):
        exercise.case(title=f"case {number}")(lambda f, rng: None)
    cases = [
        CaseReport(f"case {number}", 1, np.array_equal(*pair))
        for number, pair in enumerate(answers)
    ]
    report = Report("any", 1, 2, None, "", cases)
    given, expected = zip(
        *[(Answer(value=a), Answer(value=b)) for a, b in answers], strict=True
    )
    return first_difference(exercise, report, given, expected)


def test_yours_beside_the_expected_is_of_the_first_case_that_can_be_read():
    same = np.zeros((2, 3)), np.zeros((2, 3))
    large = np.ones((9, 9)), np.zeros((9, 9))
    stack = np.ones((4, 2, 3)), np.ones((4, 2, 3))
    stack[0][2, 1, 1] = 2  # in the third matrix
    found = differing(same, large, stack)
    assert found.title == "case 2"
    assert found.given.tolist() == [[1, 1, 1], [1, 2, 1]]
    assert found.expected.tolist() == [[1, 1, 1], [1, 1, 1]]
    yours, expected, marked = grids(side_by_side(found))
    assert yours == [["1", "1", "1"], ["1", "2", "1"]]
    assert expected == [["1", "1", "1"]] * 2
    assert marked == [False] * 4 + [True] + [False] * 7
    assert differing(same) is None
    assert differing(large).title == "case 0"
    assert 'aria-hidden="true"' in side_by_side(differing(large)).replace("'", '"')


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_odd_values_can_be_shown(value):
    page = side_by_side(differing((np.full((2, 2), value), np.ones((2, 2)))))
    yours, expected, _ = grids(page)
    assert yours[0][0] == f"{value:g}"
    assert expected[0][0] == "1"


def test_numbers_have_as_many_digits_as_tell_them_apart():
    found = differing((np.array([0.3333, 1.0]), np.array([1 / 3, 1.0])))
    yours, expected, _ = grids(side_by_side(found))
    assert (yours, expected) == ([["0.3333", "1"]], [["0.333333", "1"]])
