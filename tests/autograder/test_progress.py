"""Progress is read from saved notebooks: what ``check`` gave to what stands there."""

from __future__ import annotations

import json

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.__main__ import main
from autograder.book import chapter_names
from autograder.exercise import load_topic
from autograder.notebooks import METADATA_KEY
from autograder.progress import (
    CHANGED,
    TO_DO,
    UNCHECKED,
    Chapter,
    Work,
    next_step,
    progress,
    read_chapter,
    read_notebooks,
)
from autograder.record import RECORD, is_stub
from autograder.release.source import source_notebook
from autograder.release.student import student_notebook
from classroom.submissions import submission
from tests.autograder.conftest import TOPIC

WRONG = "def attend(q, X):\n    return q"
WITH_MAGIC = "%matplotlib inline\n"
EXERCISES = load_topic(TOPIC).exercises
# All others are solved in the notebook that is read.
WRONG_NAME, LEFT_OUT = "attend", "soft_lookup"
SOLVED = EXERCISES.keys() - {WRONG_NAME, LEFT_OUT}


@pytest.fixture(scope="module")
def worked(master, right):
    """A notebook as it is saved after all cells but the demonstrations were run."""
    answers = {**right, "softmax": WITH_MAGIC + right["softmax"], WRONG_NAME: WRONG}
    del answers[LEFT_OUT]
    data = submission(master, answers)
    notebook = nbformat.from_dict(data)
    notebook.cells = [c for c in notebook.cells if c.metadata.get("tags") != ["demo"]]
    return NotebookClient(notebook, kernel_name="python3").execute()


@pytest.fixture
def saved(worked, tmp_path):
    """Save the worked notebook with some of its cells edited; its path."""

    def save(name=f"{TOPIC}.ipynb", **edited):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(submission(worked, edited)))
        return path

    return save


def works(path):
    return {work.name: work for work in read_chapter(path).exercises}


def done(path):
    return {name for name, work in works(path).items() if work.done}


def test_points_are_those_that_check_gave(saved):
    path = saved()
    found = works(path)
    assert {n: w.max_score for n, w in found.items()} == {
        name: exercise.points for name, exercise in EXERCISES.items()
    }
    assert done(path) == SOLVED
    assert found[WRONG_NAME].state == f"0 of {EXERCISES[WRONG_NAME].points} points"
    assert found[LEFT_OUT].state == TO_DO


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (lambda text: text.replace("\n", "  \n") + "\n\n", ""),  # which is no edit
        (lambda text: text + "\n# more", CHANGED),
    ],
)
def test_points_do_not_count_for_an_answer_that_was_edited_later(
    saved, right, change, state
):
    path = saved(alignment_scores=change(right["alignment_scores"]))
    work = works(path)["alignment_scores"]
    assert work.done == (not state)
    assert not state or (work.state, work.score) == (state, 0)


def test_answer_that_went_back_to_its_stub_is_to_do(saved, master):
    stub = next(c for c in master.cells if c.source.startswith("def softmax"))
    assert works(saved(softmax=stub.source))["softmax"].state == TO_DO


def test_answer_without_a_check_is_not_counted(master, right, tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_text(json.dumps(submission(master, {"softmax": right["softmax"]})))
    assert works(path)["softmax"].state == UNCHECKED


def test_answer_in_a_cell_of_its_own_counts(saved, master, right):
    stub = next(c for c in master.cells if c.source.startswith("def alignment_scores"))
    path = saved(alignment_scores=stub.source)
    data = json.loads(path.read_text())
    mine = nbformat.v4.new_code_cell(right["alignment_scores"])
    data["cells"].append(mine)
    path.write_text(json.dumps(data))
    assert works(path)["alignment_scores"].done


def test_table_adds_up_and_names_the_next_step(saved, capsys):
    path = saved()
    assert main(["progress", str(path.parent)]) == 0
    lines = capsys.readouterr().out.splitlines()
    total = sum(exercise.points for exercise in EXERCISES.values())
    got = sum(EXERCISES[name].points for name in SOLVED)
    numbers = f"{len(SOLVED)} of {len(EXERCISES)} {got} of {total}".split()
    assert lines[1].split() == [TOPIC, *numbers]
    assert lines[4].split() == ["all", *numbers]
    assert lines[-1].startswith(f"Next: {WRONG_NAME} in {path}")


def test_notebooks_in_folders_of_their_own_are_found(saved, tmp_path):
    saved(f"{TOPIC}/{TOPIC}.ipynb")
    saved(f".ipynb_checkpoints/{TOPIC}.ipynb")
    chapters, notes = read_notebooks(tmp_path)
    assert [chapter.path.parent.name for chapter in chapters] == [TOPIC]
    assert notes == []


def test_copy_is_not_counted_twice_and_said_so(saved, tmp_path):
    saved(f"{TOPIC}-Copy1.ipynb")
    path = saved()
    chapters, notes = read_notebooks(tmp_path)
    assert [chapter.path for chapter in chapters] == [path]
    assert "Copy1" in notes[0]


def test_in_a_notebook_there_is_a_line_and_no_traceback_where_nothing_is(
    tmp_path, capsys
):
    progress(tmp_path)
    assert f"{tmp_path} holds no notebooks of the course" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    ["", "[1]", '{"nbformat": 4, "cells": [3]}', '{"nbformat": 4, "cells": [{}]}'],
)
def test_damaged_notebook_is_a_note_and_the_others_count(saved, content):
    path = saved()
    path.with_name("damaged.ipynb").write_text(content)
    chapters, notes = read_notebooks(path.parent)
    assert len(chapters) == 1
    assert len(notes) == 1
    assert "damaged.ipynb" in notes[0]


def test_one_notebook_can_be_named(saved, tmp_path, capsys):
    path = saved()
    (tmp_path / "other.txt").write_text("no notebook")
    assert main(["progress", str(path)]) == 0
    table = capsys.readouterr().out
    assert TOPIC in table
    assert f"in {path}" in table
    assert main(["progress", str(tmp_path / "other.txt")]) == 2
    assert "not JSON" in capsys.readouterr().err


def chapter(name, saved, *states):
    given = [Work(f"{name}{n}", s == "done", 1, s) for n, s in enumerate(states)]
    return Chapter(name, name, saved, given)


@pytest.mark.parametrize(
    ("chapters", "expected"),
    [
        ([("a", 1, TO_DO), ("b", 2, TO_DO)], "a0"),
        ([("a", 1, "done", TO_DO), ("b", 2, TO_DO)], "a1"),
        ([("a", 1, "done", TO_DO), ("b", 2, CHANGED)], "b0"),  # saved last
        ([("a", 1, TO_DO), ("b", 2, "done"), ("c", 0, TO_DO)], "c0"),
        ([("a", 1, "done", TO_DO), ("b", 2, "done"), ("c", 0, TO_DO)], "c0"),
        ([("a", 1, TO_DO), ("b", 2, "done")], "a0"),
        ([("a", 1, "done"), ("b", 2, "done")], None),
    ],
)
def test_next_step_is_where_one_was_or_what_comes_after(chapters, expected):
    step = next_step([chapter(*given) for given in chapters])
    assert (step and step[1].name) == expected


def judged_at_grading(path, points):
    """Save that a check has left so many points of break_softmax to the grading."""
    data = json.loads(path.read_text())
    for cell in data["cells"]:
        for output in cell.get("outputs", []):
            entry = output.get("metadata", {}).get(RECORD, {})
            if entry.get("exercise") == "break_softmax":
                entry.update(score=0, later=points)
    path.write_text(json.dumps(data))
    return works(path)["break_softmax"]


def test_what_is_judged_at_grading_is_neither_done_nor_to_do(saved, capsys):
    path = saved()
    points = EXERCISES["break_softmax"].points
    work = judged_at_grading(path, points)
    said = f"{points} of {points} points are judged at grading"
    assert (work.state, work.done, work.open) == (said, False, False)
    assert main(["progress", str(path)]) == 0
    lines = map(str.split, capsys.readouterr().out.splitlines())
    assert ["break_softmax", *work.state.split()] in list(lines)
    assert judged_at_grading(path, points - 2).open


@pytest.mark.parametrize("name", chapter_names())
def test_stubs_are_told_from_answers_and_kept_beside_them(name):
    source = source_notebook(name)
    for notebook, stubs in ((student_notebook(source), True), (source, False)):
        for cell in notebook.cells:
            if cell.metadata.get("tags") == ["exercise"]:
                assert is_stub(cell.source) == stubs, cell.source
                stub = cell.metadata[METADATA_KEY]["stub"]
                assert (stub.strip() == cell.source.strip()) == stubs


@pytest.mark.parametrize(
    ("body", "stub"),
    [
        ("raise NotImplementedError", True),
        ("raise NotImplementedError('to do')", True),
        ("raise", False),
        ("raise ValueError(f\"{'\u00a0'.join('ab')}\")", False),
        (f"raise ValueError(0x{'f' * 5000})", False),
    ],
)
def test_a_stub_raises_nothing_but_that_it_is_one(body, stub):
    assert is_stub(f'def attend(q, X):\n    """To do."""\n    {body}\n') == stub


def test_names_do_nothing_to_the_terminal(saved, tmp_path, capsys):
    saved(f"\x1b]0;pwned\x07\u202e{TOPIC}.ipynb")
    saved(f"more/\x1b[2J{TOPIC}.ipynb")
    (tmp_path / "\u202ebad\x1b[31m.ipynb").write_text("{}")
    assert main(["progress", str(tmp_path)]) == 0
    assert main(["progress", str(tmp_path / "\x1b[2J")]) == 2
    said = capsys.readouterr()
    assert "pwned" in said.out
    assert "not counted" in said.out
    assert "not read" in said.out
    assert all(c.isprintable() or c == "\n" for c in said.out + said.err)


def test_a_cell_that_is_no_python_yet_hides_nothing(saved, capsys):
    """One line that is indented too little ended the command with a traceback."""
    path = saved(attend="def attend(q, X):\n        y = q\n    return y")
    assert main(["progress", str(path.parent)]) == 0
    assert works(path)[WRONG_NAME].state == CHANGED
    assert done(path) == SOLVED
    assert "attend" in capsys.readouterr().out
