"""Attacks 37 to 46: notebooks and files that are not what they should be."""

from __future__ import annotations

import copy
import json
import os

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell

from autograder.grading.kept import kept_notebook
from autograder.submissions.cells import as_handed_in
from autograder.submissions.completed import completed
from classroom.forgeries import WRONG
from classroom.submissions import submission
from tests.autograder.attacks.conftest import about, printed
from tests.autograder.conftest import TOPIC, code_cell, scores


def find(data, grade_id):
    return next(
        cell
        for cell in data["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
    )


def check_edited(data):
    find(data, "check-softmax")["source"] = "32"


def check_deleted(data):
    data["cells"].remove(find(data, "check-softmax"))


def check_copied(data):
    data["cells"] += [copy.deepcopy(find(data, "check-attend")) for _ in range(5)]


def reordered(data):
    data["cells"].reverse()


def set_entry(**values):
    def change(data):
        find(data, "check-softmax")["metadata"]["nbgrader"].update(values)
        find(data, "softmax")["metadata"]["nbgrader"].update(values)

    return change


def swapped_ids(data):
    one, other = find(data, "softmax"), find(data, "attend")
    one["metadata"], other["metadata"] = other["metadata"], one["metadata"]


def own_graded_cells(data):
    for points in (100, -100, 1e9):
        data["cells"].append(
            code_cell("100", grade=True, grade_id=f"more{points}", points=points)
        )


def right_answer_at_the_end(data):
    right = copy.deepcopy(find(data, "softmax"))
    right["source"] = (
        "import scipy.special\ndef softmax(s): return scipy.special.softmax(s, -1)"
    )
    data["cells"].append(right)


def setup_replaced(data):
    find(data, "setup-1")["source"] = "def check(f): return 32"


def everything_is_odd(data):
    for cell in data["cells"]:
        cell["metadata"].setdefault("nbgrader", {})["points"] = float("nan")
        cell["outputs"] = [{"output_type": "evil"}, 7, None]
        cell["execution_count"] = "x"
        cell["attachments"] = {"x": {"text/html": "<script>"}}
    data["cells"] += [None, 7, [], "x", {}, {"source": 7}, {"cell_type": "code"}]
    data["cells"] += [{"cell_type": [], "source": "1", "metadata": []}]
    data["metadata"] = {"widgets": {"x": "<script>"}, "kernelspec": 7}


def retyped_as_markdown(data):
    find(data, "softmax")["cell_type"] = "markdown"


SAME_SCORE = {
    "37 a check cell is edited": check_edited,
    "37 a check cell is deleted": check_deleted,
    "37 a check cell is copied": check_copied,
    "37 cells are reordered": reordered,
    "37 the setup cell is replaced": setup_replaced,
    "37 the ids of two cells are swapped": swapped_ids,
    "38 points are changed": set_entry(points=1000),
    "38 an entry is not what it should be": set_entry(points=[], grade={}, locked="x"),
    "39 cells of one's own are graded": own_graded_cells,
    "39 the exercise is there twice": right_answer_at_the_end,
    "43 everything is odd": everything_is_odd,
    "an exercise is retyped as markdown": retyped_as_markdown,
}

IN_CELLS = {
    "45 a shell cell": "%%bash\ntouch /tmp/x; echo SHELL",
    "45 a shell line": "!echo SHELL; cat /etc/passwd",
    "45 a file is run": "%run /etc/hostname",
    "45 a file is written": "%%writefile /course/autograder/judge.py\nx = 1",
    "45 javascript": "%%javascript\nalert(1)",
    "45 the namespace is reset": "%reset -f",
    "45 matplotlib opens a window": "%matplotlib tk",
    "45 a package is installed": "%pip install evil",
    "45 the debugger waits": "import pdb; pdb.set_trace()",
    "45 a magic that does not exist": "%%evil\n1",
    "45 a cell that IPython cannot split": "%time %time %time %%time",
}

MAGICS = {magic: f"magics {n % 4}" for n, magic in enumerate(IN_CELLS)}
HALF = {"half characters": "\\ud800", "halves of bytes": "\\udc80"}


# 35 and 46: what a folder of submissions may hold.

NAMES = {
    "a b": True,
    "名前 محمد": True,
    "it's": True,
    'q"uote': True,
    "$(touch pwned)": True,
    "-rf": True,
    "=cmd()": True,
    "o" * 120: True,
    "..": None,  # cannot be made
    ".hidden": False,
    "a*b": False,
    "new\nline": False,
    "escape\x1b[31m": False,
}


def write_odd_folders(submitted, text):
    """Folders and files that no student's notebook program makes."""
    for name, good in NAMES.items():
        if good is False:
            (submitted / name / TOPIC).mkdir(parents=True)
            (submitted / name / TOPIC / f"{TOPIC}.ipynb").write_text(text)

    def folder(student):
        path = submitted / student / TOPIC
        path.mkdir(parents=True)
        return path

    notebook = submitted / "neighbour a" / TOPIC / f"{TOPIC}.ipynb"
    os.mkfifo(folder("a pipe") / f"{TOPIC}.ipynb")
    (folder("a link") / f"{TOPIC}.ipynb").symlink_to(notebook)
    (folder("a folder") / f"{TOPIC}.ipynb").mkdir()
    os.link(notebook, folder("a hard link") / f"{TOPIC}.ipynb")
    timed = folder("a pipe for a time stamp")
    os.mkfifo(timed / "timestamp.txt")
    (timed / f"{TOPIC}.ipynb").write_text(text)
    crowd = folder("a crowd")
    for number in range(3000):
        (crowd / f"{number}.ipynb").touch()
    two = folder("two notebooks")
    (two / "a.ipynb").write_text(text)
    (two / "b.ipynb").write_text(text)
    (folder("renamed") / "evil\x1b[31m\u202e.ipynb").write_text(text)
    (submitted / "a linked folder").symlink_to(submitted / "neighbour a")
    (submitted / "a linked chapter").mkdir()
    (submitted / "a linked chapter" / TOPIC).symlink_to(notebook.parent)
    (submitted / "a file").write_text("x")
    os.mkfifo(submitted / "a pipe in place of a folder")
    (submitted / os.fsdecode(b"bytes\xff") / TOPIC).mkdir(parents=True)


@pytest.fixture(scope="module")
def graded(grade_class, attacking, asked, master, right):
    students = {"honest": attacking(), "neighbour a": submission(master, right)}
    for name, spoil in asked(SAME_SCORE).items():
        students[name] = attacking()
        spoil(students[name])
    for name in {MAGICS[magic] for magic in asked(IN_CELLS)}:
        own = [IN_CELLS[magic] for magic, place in MAGICS.items() if place == name]
        students[name] = attacking(after=own)
    for name, half in asked(HALF).items():
        text = json.dumps(attacking(WRONG + "# @@@", cells=["x = '@@@'"]))
        students[name] = json.loads(text.replace("@@@", half))
    for name, good in asked(NAMES).items():
        if good:
            students[name] = submission(master, {})
    students["neighbour z"] = submission(master, right)

    def write_files(course):
        submitted = course / "submitted"
        if asked.names is None:
            write_odd_folders(submitted, json.dumps(submission(master, right)))
        folder = submitted / "42 it has 500 MB" / TOPIC
        folder.mkdir(parents=True)
        with (folder / f"{TOPIC}.ipynb").open("wb") as file:
            file.truncate(500 * 2**20)

    return grade_class(students, spoil=write_files)


@pytest.mark.parametrize("attack", SAME_SCORE)
def test_a_notebook_that_was_tampered_with_has_its_honest_score(graded, attack):
    report = graded.reports[attack]
    assert scores(report) == scores(graded.reports["honest"]), about(report)
    assert graded.marks[attack] == report["score"]


def test_a_second_answer_below_the_check_is_told(graded):
    said = about(graded.reports["39 the exercise is there twice"])
    assert "softmax: it is defined again below its check, which does not count" in said


@pytest.mark.parametrize("attack", IN_CELLS)
def test_a_magic_is_worth_nothing_and_costs_nothing(graded, attack):
    report = graded.reports[MAGICS[attack]]
    assert scores(report)["softmax"] == 0
    assert report["score"] == graded.reports["honest"]["score"], about(report)


def test_magics_reach_nothing_outside(graded):
    said = printed(graded.notebook(MAGICS["45 a shell line"]))
    assert "SHELL" in said
    assert "root:" not in said
    written = printed(graded.notebook(MAGICS["45 a file is written"]))
    assert "Read-only file system" in written


def test_42_a_file_of_500_MB_is_not_even_read(graded):
    report = graded.reports["42 it has 500 MB"]
    assert graded.marks["42 it has 500 MB"] == report["score"] == 0
    assert "500 MB; at most 40 MB are read" in report["refused"]


def test_the_neighbours_of_broken_files_have_all_their_points(graded, everything):
    assert graded.marks["neighbour a"] == everything == graded.marks["neighbour z"]


@pytest.mark.parametrize("student", HALF)
def test_half_characters_do_no_harm(graded, student):
    assert graded.reports[student]["score"] == graded.reports["honest"]["score"]


def test_half_characters_in_a_picture_do_no_harm(master, topic):
    entry = {"grade_id": "why", "grade": True, "solution": True, "points": 1}
    asking = copy.deepcopy(master)
    asking.cells.append(new_markdown_cell("Why?", metadata={"nbgrader": entry}))
    data = submission(asking, {"why": "So."})
    data["cells"][-1]["attachments"] = {"a.png": {"image/png": "\ud800", "\ud800": ""}}
    handed_in = as_handed_in(asking, data, topic.exercises)
    runs = [[] for _ in handed_in.cells]
    kept = kept_notebook(asking, completed(handed_in, runs), [])
    assert nbformat.writes(kept).encode()


def test_46_names_of_any_script_are_graded(graded):
    for name, good in NAMES.items():
        if good:
            assert graded.marks[name] == 0
            assert graded.reports[name]["refused"] is None


def test_46_names_that_could_mean_more_are_refused_aloud(graded):
    refused = graded.outcome.refused
    assert sum("the name has" in reason for reason in refused.values()) == 1 + sum(
        good is False for good in NAMES.values()
    )
    assert all(name.isprintable() for name in refused)


@pytest.mark.parametrize(
    "student",
    ["a pipe", "a link", "a folder", "a crowd", "two notebooks", "a linked chapter"],
)
def test_35_what_is_no_plain_file_has_zero_points_and_a_reason(graded, student):
    assert graded.marks[student] == 0
    assert graded.reports[student]["refused"]


def test_35_links_to_folders_are_not_followed(graded):
    assert graded.outcome.refused["a linked folder"] == "not a folder"
    assert graded.outcome.refused["a file"] == "not a folder"
    assert graded.outcome.refused["a pipe in place of a folder"] == "not a folder"


def test_35_a_hard_link_and_a_bad_time_stamp_cost_nothing(graded, everything):
    assert graded.marks["a hard link"] == everything
    assert graded.marks["a pipe for a time stamp"] == everything
    assert "time stamp" in about(graded.reports["a pipe for a time stamp"])


def test_46_a_renamed_notebook_is_graded_and_noted(graded, everything):
    assert graded.marks["renamed"] == everything
    assert "was named" in about(graded.reports["renamed"])
    assert about(graded.reports["renamed"]).isprintable()
