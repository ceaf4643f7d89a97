"""``hint(f)`` and ``solution(f)``: a little more at each call."""

from __future__ import annotations

import ast
import inspect
import re

import numpy as np
import pytest
import torch
from myst_nb.core.read import read_myst_markdown_notebook

from autograder import check as checking
from autograder.book import chapter_names, chapters_folder
from autograder.exercise import load_topic
from autograder.hints import Hints, solution, where_to_read
from solutions import simplified_attention as right


def softmax(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def attend(q, X):
    return q


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
def unwritten(monkeypatch):
    """The exercises of the chapter without their written hints, as others' may be."""
    for exercise in load_topic("simplified_attention").exercises.values():
        monkeypatch.setattr(exercise, "hints", ())


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


def test_each_call_shows_one_hint_more_and_the_last_points_to_the_solution(
    said, hint, unwritten
):
    calls = [said(hint, softmax) for _ in range(4)]
    assert "section “" in calls[0][1]
    assert "exp(1000) is infinite" not in "".join(calls[0])
    assert "exp(1000) is infinite" in calls[1][2]
    assert "scores in the thousands do not overflow" not in "".join(calls[1])
    assert "scores in the thousands do not overflow" in calls[2][3]
    assert "one row of scores" not in "".join(calls[2])  # that case passes
    assert "solution(softmax)" not in "".join(calls[0] + calls[1])
    assert "solution(softmax)" in calls[2][-1]
    assert calls[3] == calls[2]


def test_answer_without_a_known_cause_has_its_failing_cases_second(
    said, hint, unwritten
):
    def alignment_scores(q, X):
        return np.sin(X).sum(axis=1) * np.cos(q).sum()

    said(hint, alignment_scores)
    assert "These cases fail: one score per input" in said(hint, alignment_scores)[2]


def test_answer_with_a_symptom_is_told_it_second(said, hint, unwritten):
    said(hint, attend)
    assert "`q` itself" in said(hint, attend)[2]


def test_stub_is_told_what_will_be_looked_at(said, hint, unwritten):
    def softmax(scores):
        raise NotImplementedError

    said(hint, softmax)
    lines = said(hint, softmax)
    assert "one row of scores" in lines[2]
    assert "fail" not in "".join(lines)


def test_right_answer_has_nothing_to_hint_at(said, hint):
    assert "has all its points" in said(hint, right.softmax)[1]


@pytest.mark.parametrize(
    ("name", "function"), [("hint", Hints()), ("solution", solution)]
)
@pytest.mark.parametrize("given", [3, None, lambda x: x])
def test_what_is_no_exercise_gets_one_line(said, name, function, given):
    (line,) = said(function, given)
    assert line.startswith(f"{name}: ")


def test_solution_is_the_source_of_the_reference(said):
    shown = ast.parse("\n".join(said(solution, softmax)))
    expected = ast.parse(inspect.getsource(right.softmax))
    assert ast.dump(shown) == ast.dump(expected)


def test_solution_is_not_given_in_a_course_for_credit(said, credit_mode):
    lines = said(solution, softmax)
    assert "not given in this course" in lines[1]
    assert len(lines) == 2


def test_last_hint_does_not_offer_what_a_course_for_credit_does_not_give(
    said, hint, unwritten, credit_mode
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
    monkeypatch.setattr("autograder.hints.chapter_file", lambda name: tmp_path / name)
    assert "just above the exercise" in where_to_read("softmax")


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


def test_second_call_of_a_case_is_given_if_the_first_is_right(hint):
    def softmax(scores):
        result = right.softmax(scores)
        return result if scores.ndim < 3 else 2 * result

    inputs = hint.inputs(softmax)
    assert inputs["scores"].ndim == 3
    assert np.allclose(2 * right.softmax(**inputs), softmax(**inputs))


def test_public_seeds_give_the_same_arguments_each_time(hint):
    one, other = hint.inputs(attend), hint.inputs(attend)
    assert one.keys() == {"q", "X"}
    np.testing.assert_array_equal(one["X"], other["X"])


def test_arguments_of_a_class_are_given_by_method(hint):
    class EncoderLayer(torch.nn.Module):
        def __init__(self, d_model, num_heads, d_ff):
            super().__init__()
            self.offset = torch.nn.Parameter(torch.zeros(d_model))

        def forward(self, x):
            return x - self.offset + 1

    inputs = hint.inputs(EncoderLayer)
    assert list(inputs) == ["__init__", "forward"]
    layer = EncoderLayer(**inputs["__init__"])
    x = inputs["forward"]["x"]
    assert torch.equal(layer(**inputs["forward"]), x + 1)


@pytest.mark.parametrize("answer", [right.softmax, lambda: 1, None])
def test_without_a_failing_call_there_are_no_arguments(hint, said, answer):
    assert hint.inputs(answer) is None


def test_wrong_number_of_arguments_is_shown_all_the_same(hint):
    def softmax(scores, axis):
        return scores

    (value,) = hint.inputs(softmax).values()
    assert value.ndim == 1
