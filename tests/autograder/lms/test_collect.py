"""``autograder collect`` on archives as Canvas, Moodle and Gradescope pack them."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile

import pytest

from autograder.__main__ import main
from autograder.lms.collect import collect
from autograder.lms.names import shape_of
from autograder.notebooks import METADATA_KEY
from tests.autograder.conftest import TOPIC

MOODLE = "_assignsubmission_file"
PEOPLE = """\
submission_501:
  :submitters:
  - :name: Solo Student
    :sid: '100'
    :email: solo@example.edu
  :created_at: 2026-10-01 18:45:22.397118000 Z
submission_502:
  :submitters:
  - :name: Pair One
    :sid: '200'
    :email: one@example.edu
  - :name: Pair Two
    :sid:
    :email: two@example.edu
"""


@pytest.fixture
def packed(tmp_path):
    """Pack files as a system does; the path of the archive."""

    def pack(files, name="submissions.zip"):
        path = tmp_path / name
        with zipfile.ZipFile(path, "w") as archive:
            for member, content in files.items():
                archive.writestr(member, content)
        return path

    return pack


def submitted(course):
    """What each student handed in."""
    found = (course / "submitted").rglob("*.ipynb")
    return {path.parent.parent.name: path.read_bytes() for path in found}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # (system, person, late), from the sources of Canvas and Moodle
        (f"doejane_12345_67890_{TOPIC}.ipynb", ("canvas", "12345", False)),
        (f"doejane_LATE_12345_67890_{TOPIC}-1.ipynb", ("canvas", "12345", True)),
        ("müller_12345_6_7_8_9.ipynb", ("canvas", "12345", False)),
        ("anon_Xy3bQ_67890_x.ipynb", ("canvas", "anon_Xy3bQ", False)),
        ("LATE_anon_Xy3bQ_67890_x.ipynb", ("canvas", "anon_Xy3bQ", True)),
        ("doejane_LATE_12345_text.html", ("canvas", "12345", True)),
        (f"Jane Doe_4321{MOODLE}", ("moodle", "4321", False)),
        (f"Jane Doe_4321{MOODLE}_", ("moodle", "4321", False)),
        (f"Jane Doe_4321{MOODLE}_x.ipynb", ("moodle", "4321", False)),
        (f"Participant_4321{MOODLE}_", ("moodle", "4321", False)),
        (f"Team 3-Jane Doe_4321{MOODLE}_", ("moodle", "4321", False)),
        (f"{TOPIC}.ipynb", None),
    ],
)
def test_names_are_read_as_systems_write_them(name, expected):
    shape = shape_of(name)
    assert (shape and (shape.system, shape.person, shape.late)) == expected


def test_canvas(course, packed):
    archive = packed(
        {
            f"doejane_12345_67890_{TOPIC}.ipynb": "one",
            f"doejane_LATE_12346_67891_{TOPIC}-1.ipynb": "two",
            "müllerjörg_12347_67892_my attention final.ipynb": "three",
            f"coxal_12348_67893_{TOPIC.upper()}-Copy1.ipynb": "four",
            "textonly_12349_text.html": "<p>",
            "paper_12350_67894_essay.pdf": "%PDF",
            "wrong_12351_67895_masking.ipynb": "other",
        }
    )
    done = collect(TOPIC, archive, course)
    assert done.system == "canvas"
    assert done.late == ["doejane_12346"]
    assert submitted(course) == {
        "doejane_12345": b"one",
        "doejane_12346": b"two",
        "müllerjörg_12347": b"three",
        "coxal_12348": b"four",
    }
    left = dict(done.left_out)
    assert left["textonly_12349_text.html"].endswith("is no notebook")
    assert left["paper_12350_67894_essay.pdf"] == "essay.pdf is no notebook"
    wrong = "is the notebook of another chapter, masking"
    assert left["wrong_12351_67895_masking.ipynb"] == wrong
    assert len(left) == 3


@pytest.mark.parametrize("end", ["", "_"])
def test_moodle(course, packed, end):
    archive = packed(
        {
            f"Jane Doe_4321{MOODLE}{end}/{TOPIC}.ipynb": "one",
            f"Jane Doe_4322{MOODLE}{end}/work/{TOPIC} (1).ipynb": "two",
            f"Participant_4323{MOODLE}{end}/a.ipynb": "three",
            "Al Cox_4324_assignsubmission_onlinetext/onlinetext.html": "<p>",
        }
    )
    done = collect(TOPIC, archive, course)
    assert (done.system, done.late) == ("moodle", [])
    assert submitted(course) == {
        "Jane Doe_4321": b"one",
        "Jane Doe_4322": b"two",
        "Participant_4323": b"three",
    }
    assert dict(done.left_out) == {
        "Al Cox_4324_assignsubmission_onlinetext": "onlinetext.html is no notebook"
    }


def test_gradescope(course, packed):
    root = "assignment_9100_export"
    archive = packed(
        {
            f"{root}/submission_metadata.yml": PEOPLE,
            f"{root}/submission_501/{TOPIC}.ipynb": "one",
            f"{root}/submission_502/work/x.ipynb": "pair",
            f"{root}/submission_502/submission_metadata.yml": "a: trap",
            f"{root}/submission_503/{TOPIC}.ipynb": "whose?",
            f"{root}/submission_504/essay.pdf": "%PDF",
        }
    )
    done = collect(TOPIC, archive, course)
    assert done.system == "gradescope"
    assert submitted(course) == {
        "Solo Student_100": b"one",
        "Pair One_200": b"pair",
        "Pair Two_two@example.edu": b"pair",
    }
    stamp = course / "submitted" / "Solo Student_100" / TOPIC / "timestamp.txt"
    assert stamp.read_text() == "2026-10-01 18:45:22 UTC"
    assert [why for _, why in done.left_out] == [
        "the list of the class does not say whose submission_503 is",
        "essay.pdf is no notebook",
    ]


def test_collecting_again_tells_what_changed_and_keeps_the_later(course, packed):
    first = {f"doejane_1_10_{TOPIC}.ipynb": "a", f"coxal_2_11_{TOPIC}.ipynb": "b"}
    old = packed(first, "old.zip")
    new = packed(
        {**first, f"newname_1_20_{TOPIC}-1.ipynb": "c", f"x_3_12_{TOPIC}.ipynb": "d"},
        "new.zip",
    )
    assert collect(TOPIC, old, course).new == ["coxal_2", "doejane_1"]
    done = collect(TOPIC, packed({f"newname_1_20_{TOPIC}-1.ipynb": "c"}), course)
    assert (done.changed, done.new) == (["doejane_1"], [])  # the id stayed
    done = collect(TOPIC, old, course)
    assert (done.same, done.changed) == (["coxal_2"], [])
    assert "a later one" in dict(done.left_out)[f"doejane_1_10_{TOPIC}.ipynb"]
    assert submitted(course)["doejane_1"] == b"c"
    done = collect(TOPIC, new, course)  # two names for one person: nobody can tell
    assert "all of them would be doejane_1" in str(done.left_out)
    assert submitted(course) == {"doejane_1": b"c", "coxal_2": b"b", "x_3": b"d"}


@pytest.mark.parametrize("damaged", ["", '{"doejane_1": {"syst', "[1]", '{"a": 3}'])
def test_damaged_ids_are_one_line_and_nothing_is_written_over_them(
    course, packed, capsys, damaged
):
    """Without them, who was renamed since would be collected as somebody else."""
    collect(TOPIC, packed({f"doejane_1_10_{TOPIC}.ipynb": "a"}), course)
    ids = course / "collected" / f"{TOPIC}.json"
    ids.write_text(damaged)
    archive = packed({f"newname_1_20_{TOPIC}.ipynb": "b"})
    assert main(["collect", TOPIC, str(archive), "--course", str(course)]) == 2
    said = capsys.readouterr().err
    assert f"{ids} does not hold the ids" in said
    assert said.count("\n") == 1
    assert (submitted(course), ids.read_text()) == ({"doejane_1": b"a"}, damaged)


def test_class_list_joins_by_id_and_tells_who_is_missing(course, packed, tmp_path):
    roster = tmp_path / "gradebook.csv"
    roster.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section\n"
        "    Points Possible,,,,\n"
        '"Doe, Jane",12345,S1,jdoe,A\n"Doe, Jane",12346,S2,jdoe2,A\n'
        '"Zed, Zoe",12399,S9,zzed,B\n"Student, Test",12400,,abc,B\n'
        '"Never, Ned",12401,,never,B\n'
    )
    archive = packed(
        {
            f"doejane_12345_1_{TOPIC}.ipynb": "one",
            f"doejane_12346_2_{TOPIC}.ipynb": "two",
            f"guest_777_3_{TOPIC}.ipynb": "three",
            # Somebody whose name ends like Zoe's number is not Zoe.
            f"eve_12399_12400_5_{TOPIC}.ipynb": "eve",
            f"zedzoe_12399_4_{TOPIC}.ipynb": "zoe",
        }
    )
    done = collect(TOPIC, archive, course, roster=roster)
    expected = {"jdoe": b"one", "jdoe2": b"two", "guest_777": b"three", "zzed": b"zoe"}
    assert submitted(course) == expected
    assert done.missing == ["never"]
    assert done.unlisted == ["guest_777"]
    assert "it may be from 12399 or 12400" in done.lines(TOPIC)[-1]


def test_moodle_worksheet_names_people_for_the_whole_course(course, packed, tmp_path):
    worksheet = tmp_path / "worksheet.csv"
    worksheet.write_text(
        "Identifier,Full name,Email address,Status,Grade,Last modified (grade)\n"
        "Participant 7,Jane Doe,j@x.edu,Submitted for grading - 2 days late,,-\n"
    )
    archive = packed({f"Jane Doe_7{MOODLE}/{TOPIC}.ipynb": "one"})
    done = collect(TOPIC, archive, course, roster=worksheet)
    assert submitted(course) == {"j@x.edu": b"one"}
    assert done.late == ["j@x.edu"]


def linked(name):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def test_hostile_archive_is_safe_and_what_was_left_out_is_told(course, packed):
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(40):
            archive.writestr(f"{number}.ipynb", bytes(9 * 2**20))
    files = {
        f"eve_1_1_{TOPIC}/../../../../evil.ipynb": "outside",
        linked(f"fay_2_2_{TOPIC}.ipynb"): "/etc/passwd",
        f"gil_3_3_{TOPIC}.ipynb": bytes(41 * 2**20),
        "hal_4_4_work.zip": bomb.getvalue(),
        f"ida_5_5_\x1b[2J{TOPIC}.ipynb": "escape",
        f"ada_6_6_{TOPIC}.ipynb": "ada",
    }
    before = set(course.parent.iterdir())
    done = collect(TOPIC, packed(files), course)
    assert set(course.parent.iterdir()) - before == {course.parent / "submissions.zip"}
    assert not os.path.lexists("/evil.ipynb")
    assert submitted(course)["ada_6"] == b"ada"
    assert not {"fay_2", "gil_3"} & set(submitted(course))
    told = "\n".join(done.lines(TOPIC))
    assert "it is a link" in told
    assert "more than 40 MB" in told
    assert "notebooks of more than 128 MB" in told
    assert "\x1b" not in told


def test_names_in_utf_8_that_an_archive_does_not_call_so(course, packed):
    path = packed({f"Xürgen_7{MOODLE}/{TOPIC}.ipynb": "one"})
    raw = path.read_bytes()
    flagged = (0x800).to_bytes(2, "little")
    assert raw.count(flagged) == 2
    path.write_bytes(raw.replace(flagged, b"\0\0"))
    assert list(submitted_after(course, path)) == ["Xürgen_7"]


def submitted_after(course, path):
    collect(TOPIC, path, course)
    return submitted(course)


@pytest.mark.parametrize(
    ("files", "words", "said"),
    [
        (None, [], "there is no archive"),
        ({"x.ipynb": "x"}, [], "no notebook of"),
        ({"x.ipynb": "x"}, ["--from", "gradescope"], "has no submission_metadata.yml"),
        ({"submission_metadata.yml": "- a"}, [], "is not the list that Gradescope"),
    ],
)
def test_nothing_to_collect_is_said(course, packed, capsys, files, words, said):
    path = packed(files) if files else course / "missing.zip"
    command = ["collect", TOPIC, str(path), "--course", str(course), *words]
    assert main(command) == 2
    assert said in capsys.readouterr().err
    assert submitted(course) == {}


CANVAS_FILE = f"doejane_1_2_{TOPIC}.ipynb"
MOODLE_FILE = f"Al Cox_7{MOODLE}/{TOPIC}.ipynb"
GRADESCOPE_FILE = f"export/submission_501/{TOPIC}.ipynb"
LIST = "export/submission_metadata.yml"


@pytest.mark.parametrize(
    ("archives", "said"),
    [
        ([[CANVAS_FILE], [MOODLE_FILE]], "from Canvas and Moodle"),
        ([[MOODLE_FILE], [GRADESCOPE_FILE, LIST]], "from Gradescope and Moodle"),
        (
            [[CANVAS_FILE], [MOODLE_FILE], [GRADESCOPE_FILE, LIST]],
            "from Canvas, Gradescope and Moodle",
        ),
    ],
)
def test_folder_with_archives_of_several_systems_is_refused(
    course, packed, capsys, archives, said
):
    folder = course.parent / "Downloads"
    folder.mkdir()
    for number, files in enumerate(archives):
        files = {name: PEOPLE if name == LIST else "x" for name in files}
        packed(files, f"Downloads/{number}.zip")
    assert main(["collect", TOPIC, str(folder), "--course", str(course)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert "--from" in line
    assert not (course / "submitted").exists()
    done = collect(TOPIC, folder, course, "moodle")
    assert set(submitted(course)) == {"Al Cox_7"}
    if len(archives) == 2 and "Canvas" in said:
        assert done.left_out == [("1 notebook of Canvas", "--from says moodle")]


def test_names_that_a_student_chose_make_no_other_system_of_an_archive(course, packed):
    files = {
        f"doejane_1_2_Eve_7{MOODLE}_x.ipynb": "by an Eve",
        f"coxal_3_4_work/Eve_7{MOODLE}/{TOPIC}.ipynb": "by another",
        CANVAS_FILE.replace("_1_", "_5_"): "one",
    }
    assert collect(TOPIC, packed(files), course).system == "canvas"
    unlisted = f"export/submission_9/Eve_7{MOODLE}/x.ipynb"
    files = {LIST: PEOPLE, GRADESCOPE_FILE: "x", unlisted: "by a third"}
    assert collect(TOPIC, packed(files), course).system == "gradescope"


@pytest.mark.parametrize(
    ("files", "system", "said"),
    [
        ([CANVAS_FILE, CANVAS_FILE.replace("_1_", "_3_")], "moodle", "of Canvas, and"),
        ([MOODLE_FILE], "canvas", "of Moodle, and --from says canvas"),
    ],
)
def test_archive_of_another_system_than_was_said_is_one_line(
    course, packed, capsys, files, system, said
):
    archive = str(packed(dict.fromkeys(files, "x")))
    command = ["collect", TOPIC, archive, "--course", str(course), "--from", system]
    assert main(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_roster_with_faults_is_refused_line_by_line(course, packed, tmp_path, capsys):
    archive = packed({f"doejane_12345_1_{TOPIC}.ipynb": json.dumps("one")})
    roster = tmp_path / "roster.csv"
    roster.write_text("student,canvas_id,nmae\nada,1,\n,2,\nbo,x,\nADA,1,\n../c,4,\n")
    command = ["collect", TOPIC, str(archive), "--course", str(course)]
    assert main([*command, "--roster", str(roster)]) == 2
    first, *problems = capsys.readouterr().err.splitlines()
    assert first.endswith("problems, so nothing of it was taken over")
    assert [line.strip().partition(":")[0] for line in problems] == [
        "row 1, column nmae",
        "row 3, column student",
        "row 4, column canvas_id",
        "row 5, column canvas_id",
        "row 5",
        "row 6",
    ]
    assert submitted(course) == {}
    assert not (course / "collected").exists()


def lying_in(folder):
    """The files in a folder, by the path from there."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*.*"))
    }


def test_modules_beside_a_notebook_come_along(packed, tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr(f"work/{TOPIC}.ipynb", "bo's")
        archive.writestr("work/helpers.py", "b = 1")
        archive.writestr("work/package/core.py", "c = 1")
    archive = packed(
        {
            f"Ada Long_101{MOODLE}_/{TOPIC}.ipynb": "ada's",
            f"Ada Long_101{MOODLE}_/helpers.py": "a = 1",
            f"Ada Long_101{MOODLE}_/report.docx": "no module",
            f"Bo Short_102{MOODLE}_/all.zip": inner.getvalue(),
        }
    )
    outcome = collect(TOPIC, archive, tmp_path)
    assert outcome.new == ["Ada Long_101", "Bo Short_102"]
    submitted = tmp_path / "submitted"
    assert lying_in(submitted / "Ada Long_101" / TOPIC) == {
        f"{TOPIC}.ipynb": "ada's",
        "helpers.py": "a = 1",
    }
    assert lying_in(submitted / "Bo Short_102" / TOPIC) == {
        f"{TOPIC}.ipynb": "bo's",
        "helpers.py": "b = 1",
        "package/core.py": "c = 1",
    }


def test_modules_in_an_archive_of_canvas_go_to_those_who_handed_them_in(
    packed, tmp_path
):
    files = {
        f"doeada_101_501_{TOPIC}.ipynb": "ada's",
        "doeada_101_502_helpers.py": "a = 1",
        f"roebo_102_503_{TOPIC}.ipynb": "bo's",
        "roebo_102_504_helpers.py": "b = 1",
        "roebo_102_505_..py": "no name",
    }
    outcome = collect(TOPIC, packed(files), tmp_path)
    assert len(outcome.new) == 2
    for student, text in (("doeada_101", "a = 1"), ("roebo_102", "b = 1")):
        found = lying_in(tmp_path / "submitted" / student / TOPIC)
        assert set(found) == {f"{TOPIC}.ipynb", "helpers.py"}
        assert found["helpers.py"] == text
    later = collect(TOPIC, packed(files), tmp_path)
    assert len(later.same) == 2
    files["doeada_101_502_helpers.py"] = "a = 2"
    assert collect(TOPIC, packed(files), tmp_path).changed == ["doeada_101"]


def test_a_copy_with_work_is_taken_before_a_blank_notebook(packed, tmp_path, master):
    blank, data = json.dumps(master), json.loads(json.dumps(master))
    cell = next(c for c in data["cells"] if c["metadata"].get(METADATA_KEY))
    cell["source"] += "\n# mine"
    work = json.dumps(data)
    folder = f"Ada Long_101{MOODLE}_"
    archive = packed(
        {f"{folder}/{TOPIC}.ipynb": blank, f"{folder}/{TOPIC} (1).ipynb": work}
    )
    collect(TOPIC, archive, tmp_path)
    assert submitted(tmp_path) == {"Ada Long_101": work.encode()}
