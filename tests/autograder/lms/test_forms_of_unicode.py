"""A copy through a Mac may change the form in which a folder's name has its letters."""

from __future__ import annotations

import pytest

from autograder.lms.collect import planned
from autograder.submissions.submitted import handed_in, read, students
from tests.autograder.archives import zipped
from tests.autograder.conftest import TOPIC

ONE_PART, TWO_PARTS = "M\u00fcller_7", "Mu\u0308ller_7"
UPLOAD = f"{ONE_PART}_assignsubmission_file/{TOPIC}.ipynb"


@pytest.fixture
def take(course, tmp_path):
    def collected(content):
        archive, roster = tmp_path / "class.zip", tmp_path / "roster.csv"
        archive.write_bytes(zipped({UPLOAD: content}))
        roster.write_text(f"student,moodle_id\n{ONE_PART},7\n", encoding="utf-8")
        with planned(TOPIC, archive, course, roster) as plan:
            plan.write()
        return plan.done

    return collected


def test_student_is_one_in_whichever_form_the_folder_is(course, take):
    take("first")
    submitted = course / "submitted"
    (submitted / ONE_PART).rename(submitted / TWO_PARTS)
    assert students(submitted) == ([ONE_PART], {})
    assert handed_in(submitted, ONE_PART, TOPIC)
    found = read(submitted, ONE_PART, TOPIC)
    assert (found.student, found.content) == (ONE_PART, b"first")
    assert take("first") == {"as before": [ONE_PART]}
    assert take("second") == {"changed": [ONE_PART]}
    assert [entry.name for entry in submitted.iterdir()] == [TWO_PARTS]
    assert read(submitted, ONE_PART, TOPIC).content == b"second"


def test_two_folders_of_one_name_are_told_and_neither_is_examined(course, take):
    take("first")
    submitted = course / "submitted"
    (submitted / TWO_PARTS / TOPIC).mkdir(parents=True)
    (submitted / "ada_1").mkdir()
    usable, refused = students(submitted)
    assert usable == ["ada_1"]
    ((name, why),) = refused.items()
    assert name == ONE_PART
    assert "'M\\xfcller_7'" in why
    assert "'Mu\\u0308ller_7'" in why
