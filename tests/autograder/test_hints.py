"""``hint(f)`` and ``solution(f)``: a little more at each call."""

from __future__ import annotations

import ast
import inspect
import re

import numpy as np
import pytest
from myst_nb.core.read import read_myst_markdown_notebook

from autograder import check as checking
from autograder import hints
from autograder.exercise import load_topic
from autograder.hints import hint, solution, where_to_read
from autograder.release import chapter_names, chapters_folder
from solutions import simplified_attention as right


def softmax(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def attend(q, X):
    return q


@pytest.fixture(autouse=True)
def nothing_asked():
    hints._asked.clear()


@pytest.fixture
def said(capsys):
    """The lines that a call prints."""

    def call(function, *arguments):
        function(*arguments)
        return capsys.readouterr().out.strip().splitlines()

    return call


@pytest.fixture
def credit_mode(monkeypatch):
    monkeypatch.setattr(checking.importlib.util, "find_spec", lambda name: None)


def test_each_call_shows_one_hint_more_and_the_last_points_to_the_solution(said):
    calls = [said(hint, softmax) for _ in range(4)]
    assert "section “Step two: weights”" in calls[0][1]
    assert "exp(1000) is infinite" not in "".join(calls[0])
    assert "exp(1000) is infinite" in calls[1][2]
    assert "scores in the thousands do not overflow" not in "".join(calls[1])
    assert "scores in the thousands do not overflow" in calls[2][3]
    assert "one row of scores" not in "".join(calls[2])  # that case passes
    assert "solution(softmax)" not in "".join(calls[0] + calls[1])
    assert "solution(softmax)" in calls[2][-1]
    assert calls[3] == calls[2]


def test_answer_that_is_no_known_mistake_has_its_failing_cases_second(said):
    said(hint, attend)
    assert "These cases fail: output and weights" in said(hint, attend)[2]


def test_stub_is_told_what_will_be_looked_at(said):
    def softmax(scores):
        raise NotImplementedError

    said(hint, softmax)
    lines = said(hint, softmax)
    assert "one row of scores" in lines[2]
    assert "fail" not in "".join(lines)


def test_right_answer_has_nothing_to_hint_at(said):
    assert "has all its points" in said(hint, right.softmax)[1]


@pytest.mark.parametrize("function", [hint, solution])
@pytest.mark.parametrize("given", [3, None, lambda x: x])
def test_what_is_no_exercise_gets_one_line(said, function, given):
    (line,) = said(function, given)
    assert line.startswith(f"{function.__name__}: ")


def test_solution_is_the_source_of_the_reference(said):
    shown = ast.parse("\n".join(said(solution, softmax)))
    expected = ast.parse(inspect.getsource(right.softmax))
    assert ast.dump(shown) == ast.dump(expected)


def test_solution_is_not_given_in_a_course_for_credit(said, credit_mode):
    lines = said(solution, softmax)
    assert "not given in this course" in lines[1]
    assert len(lines) == 2


def test_last_hint_does_not_offer_what_a_course_for_credit_does_not_give(
    said, credit_mode
):
    # what is expected was found before the solutions were hidden
    for _ in range(3):
        lines = said(hint, softmax)
    assert lines[-1].strip() == "There are no more hints."


@pytest.mark.parametrize("chapter", chapter_names())
def test_hint_names_the_section_that_holds_the_exercise(chapter):
    path = chapters_folder() / f"{chapter}.md"
    notebook = read_myst_markdown_notebook(path.read_text(), path=path)
    headings, sections = [], {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.startswith(("# ", "## ")):
                    headings.append(line.lstrip("# "))
                if found := re.fullmatch(r":label: exercise-(\w+)", line):
                    sections[found[1]] = headings[-1]
    assert set(sections) == set(load_topic(chapter).exercises)
    for name, section in sections.items():
        assert where_to_read(name) == f"chapter “{headings[0]}”, section “{section}”"


def test_without_the_chapters_the_notebook_itself_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(hints, "chapters_folder", lambda: tmp_path)
    assert "just above the exercise" in where_to_read("softmax")
