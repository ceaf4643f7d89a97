"""``hint(f)`` and ``solution(f)``: a little more at each call."""

from __future__ import annotations

import ast
import inspect
import re

import numpy as np
import pytest
from myst_nb.core.read import read_myst_markdown_notebook

from autograder import check as checking
from autograder import failing
from autograder.book import chapter_names, chapters_folder
from autograder.exercise import load_topic
from autograder.expected import Expected
from autograder.hints import Hints, solution, where_to_read
from solutions import simplified_attention as right
from tests.suites import sweep


def softmax(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@pytest.fixture
def hint():
    """As in a notebook in which no hint was asked for yet."""
    return Hints()


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


def test_written_hints_come_one_by_one_and_then_the_arguments(said, hint):
    written = load_topic("simplified_attention").exercises["softmax"].hints
    for count in range(1, len(written) + 1):
        lines = said(hint, softmax)
        assert [line.split(". ", 1)[1] for line in lines[1:-1]] == list(written[:count])
        assert "solution(softmax)" not in "".join(lines)
    *_, inputs, last = said(hint, softmax)
    assert "hint.inputs(softmax)" in inputs
    assert "solution(softmax)" in last


def test_without_written_hints_the_section_is_named(said, hint, monkeypatch):
    """As for an exercise of an instructor's own."""
    monkeypatch.setattr(
        load_topic("simplified_attention").exercises["softmax"], "hints", ()
    )
    assert "section “" in said(hint, softmax)[1]

    def stub(scores):
        raise NotImplementedError

    stub.__name__ = "softmax"
    assert "hint.inputs" not in "".join(said(hint, stub))


def test_right_answer_has_nothing_to_hint_at(said, hint):
    assert "has all its points" in said(hint, right.softmax)[1]


@pytest.mark.parametrize(
    ("name", "function"), [("hint", Hints()), ("solution", solution)]
)
@pytest.mark.parametrize("given", [3, lambda x: x])
def test_what_is_no_exercise_gets_one_line(said, name, function, given):
    (line,) = said(function, given)
    assert line.startswith(f"{name}: ")


def test_solution_is_the_source_of_the_reference(said):
    shown = ast.parse("\n".join(said(solution, softmax)))
    expected = ast.parse(inspect.getsource(right.softmax))
    assert ast.dump(shown) == ast.dump(expected)


def test_a_course_for_credit_neither_gives_nor_offers_the_solution(
    said, hint, credit_mode
):
    assert "not given in this course" in said(solution, softmax)[1]
    # what is expected was found before the solutions were hidden
    for _ in range(5):
        lines = said(hint, softmax)
    assert lines[-1].strip() == "There are no more hints."


@sweep("chapter", chapter_names())
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


# The failing call ---------------------------------------------------------------------


def test_arguments_that_go_wrong_are_given_to_try(hint, capsys):
    def softmax(scores):
        if scores.ndim > 1:
            scores[...] = 0  # what is given is from before
            raise ValueError
        return right.softmax(scores)

    inputs = hint.inputs(softmax)
    assert inputs["scores"].ndim == 2
    assert inputs["scores"].any()
    assert "the weights along the last axis" in capsys.readouterr().out


def test_where_solutions_are_kept_arguments_are_given_as_they_were(hint, monkeypatch):
    small = hint.inputs(softmax)["scores"]
    from_a_key = Expected([], [], [], list)  # has no reference
    monkeypatch.setattr(failing, "expected_here", lambda *_: from_a_key)
    assert hint.inputs(softmax)["scores"].size > small.size > 1


@pytest.mark.parametrize("answer", [right.softmax, lambda: 1, None])
def test_without_a_failing_call_there_are_no_arguments(hint, said, answer):
    assert hint.inputs(answer) is None
