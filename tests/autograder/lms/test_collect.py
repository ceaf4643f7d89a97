"""``autograder collect`` on archives as Canvas, Moodle and Gradescope pack them.

Names are written as the sources of the systems write them: Canvas's ``ContentZipper``,
Moodle's ``mod_assign``, and Gradescope's export.
"""

from __future__ import annotations

import errno
import json
import os
import zipfile

import pytest

from autograder.__main__ import main
from autograder.files import write_atomically
from autograder.lms import collect as collecting
from autograder.notebooks import METADATA_KEY
from autograder.submissions.submitted import handed_in
from autograder.submissions.timestamps import time_of
from tests.autograder.archives import zipped
from tests.autograder.conftest import TOPIC

PEOPLE = [("Doe, Jane", 12345, "jdoe"), ("Doe, Jane", 12346, "jdoe2")]
PEOPLE += [("Müller, Jörg", 12347, "jm"), ("Never, Ned", 12348, "never")]
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section\n"
    "    Points Possible,,,,\n"
    + "".join(f'"{name}",{id_},S{id_},{login},A\n' for name, id_, login in PEOPLE)
    + '"Student, Test",12400,,abc,B\n'
)
MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Last modified (grade)\n"
    "Participant 71,Al Cox,al@x.edu,Submitted for grading - 2 days late,,-\n"
    "Participant 72,Bo Dee,bo@x.edu,Submitted for grading,,-\n"
    "Participant 73,Cy Eel,cy@x.edu,No submission,,-\n"
)
GRADESCOPE = "Name,SID,Email,Role\n"
GRADESCOPE += "".join(f"{n},0{i}0,{n}@x.edu,Student\n" for i, n in enumerate("abcd", 1))
ROSTERS = {"canvas": CANVAS, "moodle": MOODLE, "gradescope": GRADESCOPE}
END = "_assignsubmission_file"
JANE = f"doejane_12345_1_{TOPIC}.ipynb"


def metadata(*submissions):
    """Gradescope's list: number, then name, SID and address of each submitter."""
    lines = []
    for number, *people in submissions:
        lines += [f"submission_{number}:", "  :submitters:"]
        for name, sid, email in people:
            lines += [f"  - :name: {name}", f"    :sid: {sid}", f"    :email: {email}"]
        lines.append("  :created_at: 2026-10-01 18:45:22.397118000 Z")
    return "\n".join(lines)


def notebook(*definitions, chapter=None):
    """A notebook without nbgrader's metadata, with these definitions."""
    ours = {METADATA_KEY: {"chapter": chapter}} if chapter else {}
    sources = [f"def {name}(x):\n    return x" for name in definitions]
    cells = [{"cell_type": "code", "metadata": {}, "source": s} for s in sources]
    return json.dumps({"nbformat": 4, "metadata": ours, "cells": cells})


@pytest.fixture
def run(course, tmp_path, capsys):
    """Call the command; its status, what it said, and the notebooks by student."""

    def command(files, roster=CANVAS):
        archive = tmp_path / "class.zip"
        if isinstance(files, dict):
            archive.write_bytes(zipped(files))
        else:
            archive = files
        (tmp_path / "list.csv").write_text(roster)
        at = ["--course", str(course), "--roster", str(tmp_path / "list.csv")]
        status = main(["collect", TOPIC, str(archive), *at])
        told = capsys.readouterr()
        return status, told.out + told.err, submitted(course)

    return command


def submitted(course):
    found = (course / "submitted").rglob(f"{TOPIC}/{TOPIC}.ipynb")
    return {path.parts[-3]: path.read_text() for path in found}


def everything(course):
    """Each file of a course but the gradebook, with its content."""
    return {
        path: path.read_bytes()
        for path in course.rglob("*")
        if path.is_file() and path.name != "gradebook.db"
    }


SYSTEMS = {
    "canvas": (
        {
            JANE: "one",
            f"doejane_LATE_12346_2_{TOPIC}-1.ipynb": "two",
            "müllerjörg_12347_3_my attention (final) 6_7_8.ipynb": "three",
            "textonly_12348_text.html": "<p>",
            f"guest_777_4_{TOPIC}.ipynb": "four",
            f"anon_Xy3bQ_5_{TOPIC}.ipynb": "five",
            f"doe_jane12345_question_12346_6_{TOPIC}.ipynb": "of a quiz",
        },
        {"jdoe": "one", "jdoe2": "two", "jm": "three"},
        [
            "3 collected from Canvas\n",
            "  no notebook from: never\n",
            "777 is not in the class list; if this person is in the class, add the row "
            "guest,777,,,\n",
            "Canvas hides who it is: switch anonymous grading off\n",
            "_question_12346_6_simplified_attention.ipynb: it is not named as Canvas",
        ],
    ),
    "moodle": (
        {
            f"Al Cox_71{END}_/{TOPIC}.ipynb": "one",
            f"Bo Dee_72{END}/work/{TOPIC} (1).ipynb": "two",
            f"Di Fox_74{END}_{TOPIC}.ipynb": "three",
            f"Default group{END}/{TOPIC}.ipynb": "four",
        },
        {"al@x.edu": "one", "bo@x.edu": "two"},
        [
            "2 collected from Moodle\n",
            "  no notebook from: cy@x.edu\n",
            "add the row Participant 74,Di Fox,,,,\n",
            f"Default group{END}: it is not named as Moodle",
        ],
    ),
    "gradescope": (
        {
            "export/submission_metadata.yml": metadata(
                (501, ("a", "010", "a@x.edu")),
                (502, ("b", "", "b@x.edu"), ("c", "030", "c@x.edu")),
                (503, ("Eve", "040", "eve@x.edu")),  # with the SID of somebody else
                (505,),
            ),
            f"export/submission_501/{TOPIC}.ipynb": "one",
            "export/submission_502/work/x.ipynb": "pair",
            "export/submission_502/submission_metadata.yml": "a: trap",
            f"export/submission_503/{TOPIC}.ipynb": "eve",
            f"export/submission_504/{TOPIC}.ipynb": "whose?",
            f"export/submission_505/{TOPIC}.ipynb": "nobody's",
        },
        {"a@x.edu": "one", "b@x.edu": "pair", "c@x.edu": "pair"},
        [
            "3 collected from Gradescope\n",
            "  no notebook from: d@x.edu\n",
            "eve@x.edu is not in the class list; if this person is in the class, add "
            "the row Eve,040,eve@x.edu,\n",
            "submission_504: submission_metadata.yml does not say whose it is",
            "submission_505: submission_metadata.yml does not say whose it is",
        ],
    ),
}


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("packed", ["zip", "zip of a Mac", "folder"])
def test_each_system_is_collected_by_its_ids(run, tmp_path, system, packed):
    files, expected, said = SYSTEMS[system]
    source = files
    if packed == "folder":
        source = tmp_path / "unpacked"
        for name, content in files.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(content)
    if packed == "zip of a Mac":
        source = {}
        for name, content in files.items():
            folder, slash, file = name.rpartition("/")
            source |= {f"{folder}{slash}._{file}": "\0Mac OS X", name: content}
    status, told, found = run(source, ROSTERS[system])
    assert (status, found) == (0, expected)
    assert [line for line in said if line not in told] == []
    assert "._" not in told


OWN = "student,canvas_id,moodle_id,sid\nada,12345,71,010\n"


@pytest.mark.parametrize("system", SYSTEMS)
def test_list_by_hand_fits_every_system(run, system):
    """Also where a student calls a file as another system would."""
    trap = {f"eve_777_9_x_71{END}_{TOPIC}.ipynb": "eve"} if system == "canvas" else {}
    assert run({**SYSTEMS[system][0], **trap}, OWN)[2] == {"ada": "one"}


REFUSED = {
    "an id with a point": (CANVAS.replace("12346", "12346.0"), "row 4, column ID"),
    "an id twice": (CANVAS.replace("12346", "12345"), "row 4, column ID"),
    "no id": (CANVAS.replace("12346", ""), "row 4, column ID"),
    "a login twice": (CANVAS.replace("jdoe2", "JDOE"), "row 4"),
    "a participant": (
        MOODLE.replace("Participant 72", "Participant 72.0"),
        "row 3, column Identifier",
    ),
    "by hand": (OWN + "../bo,2,,\n", "row 3"),
    "an unknown column": (OWN.replace("sid", "sidd"), "row 1, column sidd"),
    "no class list": ("name,mark\nada,1\n", "row 1"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_class_list_with_a_fault_is_refused_with_its_row(run, course, what):
    roster, where = REFUSED[what]
    before = everything(course)
    status, told, _ = run({JANE: "one"}, roster)
    assert status == 2
    assert f"  {where}: " in told
    assert "so nothing of it was taken over" in told
    assert everything(course) == before


def test_login_with_a_slash_is_taken_under_a_safe_name(run):
    roster = CANVAS.replace("jdoe,", "CS/2026/001,").replace("jdoe2", "../x")
    files = {JANE: "one", JANE.replace("12345", "12346"): "two"}
    assert run(files, roster)[2] == {"CS-2026-001": "one", "--x": "two"}


@pytest.mark.parametrize(
    ("files", "roster", "said"),
    [
        ({JANE: "x"}, MOODLE, "nothing in it is a new notebook"),
        ({JANE: "x"}, GRADESCOPE, "has no submission_metadata.yml"),
        ({"submission_metadata.yml": "- a"}, GRADESCOPE, "is not the list that"),
        ({f"guest_7_4_{TOPIC}.ipynb": "x"}, CANVAS, "add the row guest,7,,,"),
    ],
)
def test_what_cannot_be_collected_is_said_and_changes_nothing(
    run, course, files, roster, said
):
    before = everything(course)
    status, told, _ = run(files, roster)
    assert (status, said in told) == (2, True), told
    assert everything(course) == before


def test_what_the_gradebook_refuses_is_not_collected(run, course):
    (course / "gradebook.db").write_bytes(b"no database" * 100)
    before = everything(course)
    assert run({JANE: "one"})[0] == 2
    assert everything(course) == before


@pytest.mark.parametrize(
    "content",
    [b"ID,Student\n", b"PK\3\4 and no more", None],
)
def test_what_is_no_archive_is_one_line(run, tmp_path, content):
    path = tmp_path / "submissions.zip"
    if content is not None:
        path.write_bytes(content)
    status, told, _ = run(path)
    assert (status, told.count("\n")) == (2, 1)
    assert "no archive" in told


def test_content_decides_of_which_chapter_a_notebook_is(run):
    """Whatever it is called; the name counts where the content cannot be read."""
    files = {
        f"doejane_12345_1_{TOPIC}.ipynb": notebook("attention_rollout"),
        "doejane_12345_2_hw9.ipynb": notebook("softmax", "unrelated"),
        "doejane_12346_3_masking.ipynb": notebook(chapter=TOPIC),
        f"mullerjorg_12347_4_{TOPIC}.ipynb": notebook(chapter="masking"),
        "neverned_12348_5_masking.ipynb": "no JSON",
        "neverned_12348_6_hw9.ipynb": "no JSON either",
    }
    _, told, found = run(files)
    assert found == {
        "jdoe": files["doejane_12345_2_hw9.ipynb"],
        "jdoe2": files["doejane_12346_3_masking.ipynb"],
        "never": "no JSON either",
    }
    of_other = "is the notebook of another chapter,"
    assert f"doejane_12345_1_{TOPIC}.ipynb: {of_other} vision_transformer\n" in told
    assert f"mullerjorg_12347_4_{TOPIC}.ipynb: {of_other} masking\n" in told
    named = "is named after another chapter, masking"
    assert f"neverned_12348_5_masking.ipynb: {named}\n" in told
    assert "  no notebook from: jm\n" in told


def test_of_several_notebooks_the_likeliest_is_taken_and_the_others_told(run, master):
    place = f"Al Cox_71{END}/"
    files = {
        place + "notes.ipynb": notebook("plot"),
        place + f"{TOPIC}.ipynb": json.dumps(master),  # as it was released
        place + "my work.ipynb": notebook("softmax"),
        place + ".ipynb_checkpoints/x.ipynb": notebook("softmax"),
        place + "__MACOSX/._x.ipynb": "\0",
        f"Bo Dee_72{END}/hw.zip": zipped(
            {"hw/x.ipynb.txt": "in a ZIP", "hw/helpers.py": "b = 1", "a.py": "a = 1"}
        ),
    }
    _, told, found = run(files, MOODLE)
    assert found == {"al@x.edu": files[place + "my work.ipynb"], "bo@x.edu": "in a ZIP"}
    assert told.count(f"{place}my work.ipynb is taken") == 2
    assert "checkpoints" not in told
    files = {JANE: "first", JANE.replace("_1_", "_9_"): "last"}
    assert run(files)[2]["jdoe"] == "last"


def test_modules_beside_a_notebook_come_along(run, course):
    inner = {"hw/x.ipynb": "{}", "hw/helpers.py": "b = 1", "hw/lib/c.py": "c = 1"}
    files = {
        JANE: "{}",
        "doejane_12345_2_own.py": "a = 1",
        "doejane_12346_3_own.py": "of somebody else",
        "mullerjorg_12347_4_hw.zip": zipped({**inner, "beside.py": "d = 1"}),
    }
    run(files)
    found = {
        str(path.relative_to(course / "submitted")): path.read_text()
        for path in (course / "submitted").rglob("*.py")
    }
    assert found == {
        f"jdoe/{TOPIC}/own.py": "a = 1",
        f"jm/{TOPIC}/helpers.py": "b = 1",
        f"jm/{TOPIC}/lib/c.py": "c = 1",
    }


def test_collecting_again_keeps_the_later(run):
    old, new = {JANE: "a"}, {JANE.replace("_1_", "_20_"): "b"}
    for files, kept in ((old, "a"), (old, "a"), (new, "b")):
        assert run(files)[2] == {"jdoe": kept}
    status, told, found = run(old)
    assert (status, found) == (2, {"jdoe": "b"})
    assert "handed in a later one, which was collected before" in told


CLASSMATE = f"_12345_1_{TOPIC}.ipynb"
FORGED = {
    "by the name of a file": {f"never_12348_2_x{CLASSMATE}": "eve"},
    "in an archive": {"never_12348_2_x.zip": zipped({JANE: "eve"})},
    "in a folder": {f"submissions/never_12348_2_x/{JANE}": "eve"},
}


@pytest.mark.parametrize("way", FORGED)
def test_nobody_is_collected_as_a_classmate(run, way):
    jane = {f"doejane{CLASSMATE}": "jane", "doejane_12346_3_x.ipynb": "other"}
    assert run({**jane, **FORGED[way]})[2].get("jdoe", "jane") == "jane"


def test_link_in_a_folder_is_not_followed(run, tmp_path):
    source = tmp_path / "unpacked"
    source.mkdir()
    (source / JANE).write_text("jane")
    (tmp_path / "secret").write_text("of the instructor")
    (source / "eve_12346_2_x.ipynb").symlink_to(tmp_path / "secret")
    assert run(source)[2] == {"jdoe": "jane"}


def test_name_that_two_of_the_class_may_have_is_told_and_is_nobodys(run):
    """Jane keeps her own, whoever calls herself as her id begins."""
    files = {JANE: "jane", f"eve_12345_12346_2_{TOPIC}.ipynb": "eve"}
    status, told, found = run(files)
    assert found == {"jdoe": "jane"}
    assert "it may be from 12345 or 12346: rename it if you know" in told


def deflated(files):
    return zipped(files, zipfile.ZIP_DEFLATED)


HOSTILE = {
    "leads out": ({"x/../../../../evil.ipynb": "x"}, "2 collected from Canvas"),
    "is absolute": (
        {"x.zip": zipped({"/tmp/evil_7.ipynb": "x"})},
        "2 collected from Canvas",
    ),
    "too large": ({"x.ipynb": bytes(41 * 2**20)}, "it has more than 40 MB"),
    "a bomb": (
        {"x.zip": deflated({f"{n}.ipynb": bytes(2**25) for n in range(5)})},
        "it has more than 0 MB",
    ),
    "many files": (
        {"x.zip": zipped({f"{n}.ipynb": "" for n in range(1500)})},
        "it holds more than 1000 files",
    ),
    "unbounded": (
        {"x.zip": zipped({"x.ipynb": bytes(9)}, zipfile.ZIP_BZIP2)},
        "not compressed with Deflate",
    ),
    "terminal": ({"\x1b[2J\u202e.pdf": "x"}, r"\x1b[2J\u202e.pdf: is no notebook"),
    "long": ({"x" * 900 + ".pdf": "x"}, "xxx: is no notebook"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_upload_costs_its_own_student_alone(run, course, what):
    files, said = HOSTILE[what]
    packed = {f"eve_12346_2_{name}": content for name, content in files.items()}
    outside = set(course.parent.iterdir())
    status, told, found = run({**packed, JANE: "jane"})
    assert (status, found.pop("jdoe")) == (0, "jane")
    assert said in told
    assert "\x1b" not in told
    assert max(map(len, told.splitlines())) < 800
    assert set(found) <= {"jdoe2"}
    assert set(course.parent.iterdir()) - outside <= {
        course.parent / name for name in ("class.zip", "list.csv")
    }
    assert not os.path.lexists("/tmp/evil_7.ipynb")


def test_names_in_utf_8_that_an_archive_does_not_call_so(run, tmp_path):
    content = zipped({f"Ål Cox_71{END}/{TOPIC}.ipynb": "one"})
    flagged = (0x800).to_bytes(2, "little")
    assert content.count(flagged) == 2
    path = tmp_path / "unflagged.zip"
    path.write_bytes(content.replace(flagged, b"\0\0"))
    assert run(path, MOODLE)[2] == {"al@x.edu": "one"}


@pytest.mark.parametrize("damaged", ['{"jdoe": {"syst', '{"a": 3}'])
def test_damaged_ids_are_one_line_and_nothing_is_written_over_them(
    run, course, damaged
):
    run({JANE: "a"})
    ids = course / "collected" / f"{TOPIC}.json"
    ids.write_text(damaged)
    status, told, found = run({JANE: "b"})
    assert (status, told.count("\n")) == (2, 1)
    assert f"{ids} does not hold the ids" in told
    assert (found, ids.read_text()) == ({"jdoe": "a"}, damaged)


def test_full_disk_keeps_the_earlier_submission_with_its_time(run, course, monkeypatch):
    def write(path, content):
        if path.suffix == ".ipynb":
            path.parent.mkdir(parents=True, exist_ok=True)
            raise OSError(errno.ENOSPC, "No space left on device")
        write_atomically(path, content)

    listed = metadata((501, ("a", 100, "a@x.edu")), (502, ("b", 200, "b@x.edu")))
    first = {"submission_metadata.yml": listed, "submission_501/x.ipynb": "first"}
    run(first, GRADESCOPE)
    monkeypatch.setattr(collecting, "write_atomically", write)
    again = {**first, "submission_501/x.ipynb": "2", "submission_502/x.ipynb": "new"}
    later = listed.replace("2026-10-01", "2026-10-31")
    again["submission_metadata.yml"] = later
    status, told, found = run(again, GRADESCOPE)
    assert (status, found) == (2, {"a@x.edu": "first"})
    assert told == "autograder: No space left on device\n"
    stamp = course / "submitted" / "a@x.edu" / TOPIC / "timestamp.txt"
    assert f"{time_of(stamp.read_text()):%F %T}" == "2026-10-01 18:45:22"
    monkeypatch.undo()
    assert run(again, GRADESCOPE)[2] == {"a@x.edu": "2", "b@x.edu": "new"}


@pytest.mark.parametrize("name", [f".{TOPIC}.ipynb.77.new", ".DS_Store"])
def test_what_was_not_finished_is_not_handed_in(tmp_path, name):
    folder = tmp_path / "ada" / TOPIC
    folder.mkdir(parents=True)
    (folder / name).touch()
    assert not handed_in(tmp_path, "ada", TOPIC)
    (folder / f".{TOPIC}.ipynb").touch()
    assert handed_in(tmp_path, "ada", TOPIC)


def test_nothing_is_left_of_a_file_that_could_not_be_written(tmp_path, monkeypatch):
    def half(path, data):
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", half)
    with pytest.raises(OSError, match="No space") as full:
        write_atomically(tmp_path / "page.html", "")
    assert full.value.filename == str(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())
