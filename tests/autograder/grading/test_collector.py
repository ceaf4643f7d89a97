"""``nbgrader zip_collect`` on archives as Canvas and Moodle name what is in them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import unicodedata
import zipfile
from itertools import product
from pathlib import Path

import pytest

from autograder.submissions.submitted import students
from classroom.submissions import submission
from tests.autograder.archives import zipped
from tests.autograder.attacks.conftest import LIMITS
from tests.autograder.conftest import TOPIC

OTHER = "masking"
MOODLE = "_assignsubmission_file_"


@pytest.fixture
def collected(artefact, course):
    """Collect downloads; what each student handed in, and what nbgrader said."""

    def run(files, archive="submissions.zip", **others):
        folder = course / "downloaded" / TOPIC / "archive"
        folder.mkdir(parents=True)
        if files is not None:
            (folder / archive).write_bytes(zipped(files))
        for name, content in others.items():
            (folder / name).write_bytes(content)
        outside = {p for p in course.parent.rglob("*") if course not in p.parents}
        scripts = Path(sys.executable).parent
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", "zip_collect", TOPIC],
            cwd=course,
            capture_output=True,
            env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"},
        )
        said = done.stderr.decode()
        assert done.returncode == 0, said[-2000:]
        assert outside == {
            p for p in course.parent.rglob("*") if course not in p.parents
        }
        marked = {c for c in said if unicodedata.category(c) in ("Cc", "Cf", "Cs")}
        assert marked <= {"\n"}
        submitted = course / "submitted"
        found = {
            str(path.relative_to(submitted).parent.parent): path.read_bytes()
            for path in submitted.rglob("*")
            if path.is_file()
        }
        assert all(p.name == f"{TOPIC}.ipynb" for p in submitted.rglob("*.*"))
        return found, said

    return run


def test_person_is_who_the_system_says(collected):
    names = {
        "ada_12345": f"ada_12345_678_{TOPIC}.ipynb",
        "ben_12346": f"ben_LATE_12346_679_{TOPIC}-2.ipynb",
        "Cee Dee_99": f"Cee Dee_99{MOODLE}{TOPIC}.ipynb",
        "Eve_98": f"Eve_98{MOODLE}/{TOPIC}.ipynb",
        "Fay_97": f"Fay_97_assignsubmission_file/{TOPIC} (1).ipynb",
        "Participant_96": f"Participant_96{MOODLE}/my homework.ipynb",
        "Ünal Çağ_95": f"Ünal Çağ_95{MOODLE}/{TOPIC.upper()}-Copy1.ipynb",
    }
    found, _ = collected({path: name.encode() for name, path in names.items()})
    assert found == {name: name.encode() for name in names}


def test_two_people_of_one_name_stay_two(collected):
    found, _ = collected(
        {
            f"Jane Doe_1{MOODLE}/{TOPIC}.ipynb": b"one",
            f"Jane Doe_2{MOODLE}/{TOPIC}.ipynb": b"two",
            f"doejane_3_30_{TOPIC}.ipynb": b"three",
            f"doejane_4_40_{TOPIC}.ipynb": b"four",
        }
    )
    assert found == {
        "Jane Doe_1": b"one",
        "Jane Doe_2": b"two",
        "doejane_3": b"three",
        "doejane_4": b"four",
    }


CLASSMATE = [
    f"ada_12345_678_{TOPIC}.ipynb",
    f"ada_12345_678_{TOPIC}/{TOPIC}.ipynb",
    f"Ada_12{MOODLE}{TOPIC}.ipynb",
    f"Ada_12{MOODLE}/{TOPIC}.ipynb",
    f"../Ada_12{MOODLE}/{TOPIC}.ipynb",
    f"submitted/ada/{TOPIC}/{TOPIC}.ipynb",
]


@pytest.mark.parametrize("packed", [False, True])
def test_nobody_is_filed_as_a_classmate(collected, packed):
    """Whatever the student called the file, or put into an archive of their own.

    A name that can be read as that of two people is nobody's.
    """
    files, evil = {f"ada_12345_1_{TOPIC}.ipynb": b"ada"}, set()
    forms = [f"Eve_%d{MOODLE}/", f"Eve_%d{MOODLE}", "Eve_%d_7_"]
    for number, (form, theirs) in enumerate(product(forms, CLASSMATE), start=600):
        by = form % number
        if packed or by.endswith("/") or not theirs.casefold().startswith("ada_"):
            evil.add(f"Eve_{number}")
        if packed:
            files[f"{by}work.zip"] = zipped({theirs: b"eve"})
        else:
            files[by + theirs] = b"eve"
    found, _ = collected(files)
    assert found.pop("ada_12345") == b"ada"
    assert found == dict.fromkeys(evil, b"eve")


HOSTILE = [
    f".._{TOPIC}.ipynb",
    f"Eve_61{MOODLE}/../../../../../{TOPIC}.ipynb",
    f"/tmp/Eve_62{MOODLE}/{TOPIC}.ipynb",
    f"Eve_63{MOODLE}\\..\\..\\{TOPIC}.ipynb",
    f"Eve_64{MOODLE}/\x1b[2J\x07\r{TOPIC}.ipynb",
    f"Eve\u202e_65{MOODLE}/\u202e{TOPIC}.ipynb",
    f"Eve_66{MOODLE}/{'x' * 4000}{TOPIC}.ipynb",
    f"Eve_67{MOODLE}/{'x/' * 3000}{TOPIC}.ipynb",
    f"{'E' * 300}_68{MOODLE}/{TOPIC}.ipynb",
    f".._69{MOODLE}/{TOPIC}.ipynb",
    f"*?[a]_70{MOODLE}/{TOPIC}.ipynb",
    f"Eve_71{MOODLE}/{TOPIC}.ipynb/{TOPIC}.ipynb",
    f"Eve_71{MOODLE}/{TOPIC}.ipynb",
    f"{TOPIC}.ipynb",
    f"_72{MOODLE}/.ipynb",
    f"../../../../../../tmp/{TOPIC}.ipynb",
]


def test_hostile_names_cost_nobody_else_anything(collected, course):
    honest = {f"Ada_1{MOODLE}/{TOPIC}.ipynb": b"ada", f"bo_2_3_{TOPIC}.ipynb": b"bo"}
    found, _ = collected({**dict.fromkeys(HOSTILE, b"eve"), **honest})
    assert found.pop("Ada_1") == b"ada"
    assert found.pop("bo_2") == b"bo"
    assert {int(name.rpartition("_")[2]) for name in found} >= set(range(64, 68))
    assert set(found.values()) == {b"eve"}
    usable, refused = students(course / "submitted")
    assert set(usable) == {*found, "Ada_1", "bo_2"}
    assert refused == {}


UPLOADS = {
    "no archive": b"PK\x03\x04 but then nothing",
    "empty": b"",
    "cut": zipped({"x": b""})[:-30],
    "many": zipped({f"{n}.ipynb": b"" for n in range(1500)}),
}


def test_upload_that_cannot_be_unpacked_costs_nobody_else_anything(collected):
    uploads = {
        f"Eve_{number}{MOODLE}/work.{kind}": content
        for number, (kind, content) in enumerate(
            product(["zip", "tar.gz", "gz"], UPLOADS.values()), start=2
        )
    }
    found, _ = collected({**uploads, f"Zoe_1{MOODLE}/{TOPIC}.ipynb": b"zoe"})
    assert found["Zoe_1"] == b"zoe"


def test_upload_that_unpacks_to_gigabytes_is_not_unpacked(collected):
    bomb = zipped({f"{TOPIC}.ipynb": bytes(300 * 2**20)}, zipfile.ZIP_DEFLATED)
    found, said = collected(
        {
            f"Eve_66{MOODLE}/work.zip": bomb,
            f"Ada_1{MOODLE}/{TOPIC}.ipynb": b"ada",
        }
    )
    assert set(found) == {"Ada_1"}
    assert f"work.zip/{TOPIC}.ipynb: ValueError: more than 40 MB" in said


def test_of_several_notebooks_one_is_taken_and_the_others_are_told(collected):
    found, said = collected(
        {
            f"Ada_1{MOODLE}/draft.ipynb": b"draft",
            f"Ada_1{MOODLE}/{TOPIC}.ipynb": b"right",
            f"Ada_1{MOODLE}/old {TOPIC}.ipynb": b"old",
            f"bo_2_30_{TOPIC}.ipynb": b"first",
            f"bo_2_31_{TOPIC}-1.ipynb": b"second",
        }
    )
    assert found == {"Ada_1": b"right", "bo_2": b"second"}
    for other in ("draft.ipynb", f"old {TOPIC}.ipynb", f"bo_2_30_{TOPIC}.ipynb"):
        assert any(
            "not collected" in line and other in line for line in said.splitlines()
        )


def test_same_name_twice_in_an_archive_is_no_obstacle(collected):
    with pytest.warns(UserWarning, match="Duplicate name"):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for content in ("one", "two"):
                archive.writestr(f"Ada_1{MOODLE}/{TOPIC}.ipynb", content)
    found, said = collected(None, **{"x.zip": buffer.getvalue()})
    assert found == {"Ada_1": b"one"}
    assert "handed in" in said


def test_notebook_of_another_chapter_is_not_collected(collected):
    found, said = collected(
        {
            f"Ada_1{MOODLE}/{OTHER}.ipynb": b"wrong",
            f"bo_2_30_{OTHER}-1.ipynb": b"wrong",
            f"Cy_3{MOODLE}/{OTHER}.ipynb": b"wrong",
            f"Cy_3{MOODLE}/{TOPIC}.ipynb": b"right",
        }
    )
    assert found == {"Cy_3": b"right"}
    assert said.count("is the notebook of another chapter") == 2


def test_archive_of_a_class_that_is_named_like_one_upload_is_told(collected):
    found, said = collected(
        {f"ada_1_2_{TOPIC}.ipynb": b"ada", f"bo_2_3_{TOPIC}.ipynb": b"bo"},
        archive="Homework_2026_11_all.zip",
    )
    assert found == {}
    assert "Homework_2026_11_all.zip is named like the upload of one person" in said


def test_what_an_instructor_unpacked_is_collected_as_well(collected, course):
    folder = course / "downloaded" / TOPIC / "archive"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo(f"Cy_3{MOODLE}/{TOPIC}.ipynb")
        info.size = 2
        archive.addfile(info, io.BytesIO(b"cy"))
    found, _ = collected(
        None,
        **{
            f"ada_1_2_{TOPIC}.ipynb": b"ada",
            "bo_2_3_work.zip": zipped({f"{TOPIC}.ipynb": b"bo"}),
            "all.tar.gz": buffer.getvalue(),
        },
    )
    assert folder.is_dir()
    assert found == {"ada_1": b"ada", "bo_2": b"bo", "Cy_3": b"cy"}


def test_collected_submissions_are_graded(collected, grade, course, master, right):
    notebook = json.dumps(submission(master, right)).encode()
    found, _ = collected(
        {
            f"ada_1_2_{TOPIC}.ipynb": notebook,
            f"Bo_2{MOODLE}/x.zip": zipped({f"{TOPIC}.ipynb": notebook}),
        }
    )
    outcome = grade(TOPIC, course, limits=LIMITS)
    assert set(outcome.graded) == set(found) == {"ada_1", "Bo_2"}
    assert {r["score"] == r["max_score"] for r in outcome.graded.values()} == {True}
