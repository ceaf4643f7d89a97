"""A full disk or a killed command during `collect` costs nobody a mark."""

from __future__ import annotations

import errno
import shutil

import pytest

from autograder import files
from autograder.__main__ import main
from autograder.files import write_atomically
from autograder.lms import collect as collecting
from autograder.lms.collect import planned
from autograder.submissions.submitted import handed_in
from tests.autograder.archives import zipped

TOPIC = "simplified_attention"
FOLDER = "assignment_1_export"


def exported(notebook, time):
    """An export of Gradescope, the system that says when each submission came."""
    people = (
        "submission_5:\n"
        "  :submitters:\n"
        "  - :name: Jane Doe\n"
        "    :sid: '12345'\n"
        "    :email: jane@example.edu\n"
        f"  :created_at: {time}\n"
    )
    return {
        f"{FOLDER}/submission_metadata.yml": people,
        f"{FOLDER}/submission_5/{TOPIC}.ipynb": notebook,
    }


@pytest.fixture
def collected(tmp_path):
    course = tmp_path / "course"
    course.mkdir()

    def do(notebook, time):
        archive, roster = tmp_path / "submissions.zip", tmp_path / "roster.csv"
        archive.write_bytes(zipped(exported(notebook, time)))
        roster.write_text("student,sid\njane,12345\n")
        with planned(TOPIC, archive, course, roster) as plan:
            plan.write()
        return plan.done

    do.submitted = course / "submitted"
    return do


@pytest.fixture
def full_for_notebooks(monkeypatch):
    def write(path, content):
        if path.suffix == ".ipynb":
            path.parent.mkdir(parents=True, exist_ok=True)
            raise OSError(errno.ENOSPC, "No space left on device")
        write_atomically(path, content)

    with monkeypatch.context() as full:
        full.setattr(collecting, "write_atomically", write)
        yield


def test_nothing_is_left_of_a_file_that_could_not_be_written(tmp_path, monkeypatch):
    def half(path, data):
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.Path, "write_bytes", half)
    with pytest.raises(OSError, match="No space") as full:
        write_atomically(tmp_path / "ada" / f"{TOPIC}.ipynb", "{}")
    assert full.value.filename == str(tmp_path / "ada" / f"{TOPIC}.ipynb")
    assert not list((tmp_path / "ada").iterdir())


@pytest.mark.parametrize("name", [f".{TOPIC}.ipynb.77.new", ".DS_Store"])
def test_what_was_not_finished_is_not_handed_in(tmp_path, name):
    folder = tmp_path / "ada" / TOPIC
    folder.mkdir(parents=True)
    (folder / name).touch()
    assert not handed_in(tmp_path, "ada", TOPIC)
    (folder / f".{TOPIC}.ipynb").touch()
    assert handed_in(tmp_path, "ada", TOPIC)


def test_what_could_not_be_kept_is_counted_last_and_in_the_status(
    collected, full_for_notebooks, released_course, tmp_path, capsys
):
    archive = tmp_path / "class.zip"
    archive.write_bytes(zipped(exported("first", "2026-11-01 10:00:00 Z")))
    course = shutil.copytree(released_course, tmp_path / "released")
    roster = tmp_path / "roster.csv"
    roster.write_text("student,sid\njane,12345\n")
    words = ["--course", str(course), "--roster", str(roster)]
    assert main(["collect", TOPIC, str(archive), *words]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "1 not kept: make room and call again"
    assert "  handed in, but not collected: jane" in lines


def test_an_earlier_submission_keeps_its_own_time(collected, request):
    collected("first", "2026-11-01 10:00:00 Z")
    request.getfixturevalue("full_for_notebooks")
    collected("second", "2026-11-30 10:00:00 Z")
    (path,) = collected.submitted.glob("*/*/timestamp.txt")
    assert "2026-11-01" in path.read_text()
    assert path.with_name(f"{TOPIC}.ipynb").read_text() == "first"
