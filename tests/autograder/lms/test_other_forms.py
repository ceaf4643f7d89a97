"""Archives of anonymous grading, quizzes and groups, and what students make of files.

Names are written as the sources of Canvas and Moodle write them: its ``ContentZipper``
and ``QuizSubmissionZipper``, and ``mod_assign\\downloader``.
"""

from __future__ import annotations

import csv
import zipfile
from contextlib import nullcontext

import pytest

from autograder.handback.lms_tables import write_lms_tables
from autograder.lms.collect import collect
from autograder.lms.packed import NothingCollected
from autograder.lms.upload_ids import HandedIn, write_upload_ids
from autograder.marks.reports import ClassReport
from tests.autograder.archives import zipped

TOPIC = "simplified_attention"
CANVAS_LIST = "Student,ID,SIS Login ID\n"
MOODLE_LIST = "Identifier,Full name,Email address,Status\n"


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "course"
    folder.mkdir()
    return folder


@pytest.fixture
def collected(course, tmp_path):
    """Packs files and collects them; what was done, and the notebooks by student."""

    def do(files, listed=None):
        archive = tmp_path / "submissions.zip"
        archive.write_bytes(zipped(files))
        words = {}
        if listed:
            words["roster"] = tmp_path / "list.csv"
            words["roster"].write_text(listed, encoding="utf-8")
        done = collect(TOPIC, archive, course, **words)
        there = (course / "submitted").glob(f"*/{TOPIC}/{TOPIC}.ipynb")
        return done, {path.parts[-3]: path.read_text() for path in there}

    return do


def quiz(person, file=f"{TOPIC}.ipynb", upload=91011):
    return f"{person}_question_678_{upload}_{file}"


def test_a_name_that_an_archive_has_twice_makes_no_other_person(course, tmp_path):
    archive = tmp_path / "submissions.zip"
    name = f"doejane_12345_678_{TOPIC}.ipynb"
    with zipfile.ZipFile(archive, "w") as packed:
        for text in ("first", "second"):
            with pytest.warns(UserWarning) if text == "second" else nullcontext():
                packed.writestr(name, text)
    done = collect(TOPIC, archive, course)
    assert [path.name for path in (course / "submitted").iterdir()] == ["doejane_12345"]
    assert any("handed in" in reason for _, reason in done.left_out)


@pytest.mark.parametrize(
    ("inside", "beside"),
    [
        (f"doejane_12345_55_{TOPIC}.ipynb", {}),  # downloaded, and packed again
        (f"sheet_1_2_{TOPIC}.ipynb", {f"roeal_9_77_{TOPIC}.ipynb": "al"}),
        (f"roeal_9_76_{TOPIC}.ipynb", {f"roeal_9_77_{TOPIC}.ipynb": "al"}),
    ],
)
def test_numbers_in_names_of_an_own_archive_cost_nothing(collected, inside, beside):
    files = {"doejane_12345_66_work.zip": zipped({inside: "jane"})}
    done, found = collected(files | beside)
    al = {"roeal_9": "al"} if beside else {}
    assert found == {"doejane_12345": "jane"} | al
    assert done.left_out == []


def test_archive_of_a_class_that_is_named_like_an_upload_is_of_no_person(collected):
    uploads = {f"doejane_1_2_{TOPIC}.ipynb": "jane", f"roeal_9_3_{TOPIC}.ipynb": "al"}
    with pytest.raises(NothingCollected) as refused:
        collected({"submissions_2026_11_masking.zip": zipped(uploads)})
    assert "rename it if it is of a class, else these files" in refused.value.lines[0]


def test_in_a_quiz_the_class_list_tells_name_and_number_apart(collected):
    """Nothing stands between them, and a name may end with digits."""
    people = (
        '"Doe, Jane",12345,jane\n"Roe, Al 9",9,al\n"Roe, Bo",99,b\n"李, 毛",77,mao\n'
    )
    files = {quiz("doe_jane12345"): "jane", quiz("roe_al_99"): "al"}
    files[quiz("77")] = "mao"  # letters outside of ASCII are left out
    done, found = collected(files, CANVAS_LIST + people)
    assert found == {"jane": "jane", "al": "al", "mao": "mao"}
    assert done.left_out == []


def test_in_a_quiz_two_who_fit_one_name_are_left_out(collected):
    listed = CANVAS_LIST + '"Doe, Jane",12345,jane\n"Doe, Jane 1",2345,other\n'
    files = {quiz("doe_jane12345"): "?", quiz("doe_jane12345", upload=3): "?"}
    with pytest.raises(NothingCollected) as refused:
        collected(files, listed)
    assert len(refused.value.lines) == 2


def test_of_a_quiz_nothing_is_collected_without_a_class_list(collected):
    """Its question has a number that stands where that of a person usually does."""
    with pytest.raises(NothingCollected) as refused:
        collected({quiz("doe_jane12345"): "jane", quiz("roe_al99"): "al"})
    assert len(refused.value.lines) == 2
    assert all("--roster" in line for line in refused.value.lines)


def test_a_name_that_looks_like_a_quiz_speaks_for_nobody_in_an_assignment(collected):
    """A student of number 999 may call herself ``Doe_Jane12345_question``."""
    listed = CANVAS_LIST + '"Doe, Jane",12345,jane\n"Roe, Al",99,al\n'
    done, found = collected(
        {quiz("doe_jane12345"): "e", "roeal_99_5_x.ipynb": "al"}, listed
    )
    assert found.get("al") == "al"
    assert "jane" not in found


def test_ids_of_anonymous_grading_may_be_digits_alone(collected):
    files = {
        f"anon_Xy3bQ_67890_{TOPIC}.ipynb": "one",
        f"anon_11111_67892_{TOPIC}.ipynb": "two",
        f"LATE_anon_22222_67893_{TOPIC}-1.ipynb": "three",
    }
    done, found = collected(files)
    assert found == {"anon_Xy3bQ": "one", "anon_11111": "two", "anon_22222": "three"}
    assert done.late == ["anon_22222"]
    assert done.left_out == []


def test_canvas_table_has_nobody_whom_canvas_hides(course):
    """Its importer would look for an account that is called like the hidden id."""
    write_upload_ids(
        course,
        TOPIC,
        {
            "anon_Xy3bQ": HandedIn("canvas", "anon_Xy3bQ", "", "anon_Xy3bQ_1_x.ipynb"),
            "roeal_99": HandedIn("canvas", "99", "roeal", "roeal_99_2_x.ipynb"),
        },
    )
    reports = [
        {"student": name, "score": 1.0, "max_score": 2.0, "exercises": [], "own": {}}
        | {"refused": None, "notes": [], "late_penalty": 0.0, "chapter": TOPIC}
        for name in ("anon_Xy3bQ", "roeal_99")
    ]
    (course / "reports").mkdir()
    paths, notes = write_lms_tables(course, ClassReport(TOPIC, reports))
    with paths["canvas"].open(encoding="utf-8", newline="") as file:
        assert [row["ID"] for row in csv.DictReader(file)] == ["", "99"]
    assert "Canvas hides who 1 of the students are" in notes[0]


def test_group_of_moodle_does_not_overwrite_the_person_of_its_number(collected):
    """Groups and participants are numbered apart, so their numbers may be equal."""
    listed = MOODLE_LIST + "Participant 7,Jane Doe,jane@x.edu,Submitted\n"
    listed += "Participant 8,José Núñez,jose@x.edu,Submitted\n"
    end = "_assignsubmission_file"
    own = {f"Jane Doe_7{end}/{TOPIC}.ipynb": "jane"}
    assert collected(own, listed)[1] == {"jane@x.edu": "jane"}
    group = {f"Group A_7{end}/x.ipynb": "a", f"Group B_5{end}/x.ipynb": "b"}
    with pytest.raises(NothingCollected, match="7 is Jane Doe .* Group A .* of groups"):
        collected(group)
    # The same people with their names in other order, without accents, or changed.
    again = {f"Doe Jane-Ann_7{end}/x.ipynb": "2", f"Jose Nunez_8{end}/x.ipynb": "3"}
    assert collected(again)[1] == {"jane@x.edu": "2", "jose@x.edu": "3"}
    blind = {f"Teilnehmer-in_{n}{end}/x.ipynb": f"blind {n}" for n in (7, 8)}
    assert collected(blind)[1] == {"jane@x.edu": "blind 7", "jose@x.edu": "blind 8"}


def test_group_without_a_number_is_named_as_that(collected):
    files = {
        f"Default group_assignsubmission_file/{TOPIC}.ipynb": "?",
        f"Jane Doe_7_assignsubmission_file/{TOPIC}.ipynb": "jane",
    }
    done, found = collected(files)
    assert list(found) == ["Jane Doe_7"]
    assert "is it of a group?" in done.left_out[0][1]


def test_what_a_browser_or_jupyter_makes_of_a_notebook_is_none_of_the_students(
    collected,
):
    upload = zipped(
        {
            f"hw/.ipynb_checkpoints/{TOPIC}-checkpoint.ipynb": "autosaved",
            "hw/Copy of simplified_attention.ipynb": "own",
            f"__MACOSX/hw/._{TOPIC}.ipynb": "\0",
            "hw/.DS_Store": "\0",
        }
    )
    files = {
        "roeal_1_11_hw.zip": upload,
        f"roebo_2_12_{TOPIC}.ipynb.txt": "text",
        f"roecy_3_13_{TOPIC}.ipynb.json": "json",
        "roedi_4_14_Copy of masking.ipynb": "other chapter",
        "roeed_5_15_all.zip": zipped({"in.zip": zipped({f"{TOPIC}.ipynb": "deep"})}),
    }
    done, found = collected(files)
    assert found == {"roeal_1": "own", "roebo_2": "text", "roecy_3": "json"}
    assert [why for _, why in sorted(done.left_out)] == [
        "is the notebook of another chapter, masking",
        "all.zip holds no notebook, and no archive in it is opened",
    ]


def test_who_handed_in_something_else_is_not_called_missing(collected):
    listed = CANVAS_LIST + '"Roe, Al",1,al\n"Roe, Bo",2,bo\n"Roe, Cy",3,cy\n'
    files = {f"roeal_1_11_{TOPIC}.ipynb": "al", "roebo_2_12_essay.pdf": "%PDF"}
    lines = collected(files, listed)[0].lines(TOPIC)
    assert "  not handed in: cy" in lines
    assert "  handed in, but no notebook: bo" in lines


def test_whose_upload_was_not_taken_is_not_called_missing(collected):
    """Another chapter's notebook, and names that may be of two people."""
    people = [("Al", 1), ("Bo", 2), ("Cy", 3), ("Di", 4), ("Ed", 5)]
    listed = CANVAS_LIST + "".join(f'"Roe, {n}",{i},{n.lower()}\n' for n, i in people)
    files = {
        f"roeal_1_11_{TOPIC}.ipynb": "al",
        "roebo_2_12_masking.ipynb": "other chapter",
        f"roecy_3_4_13_{TOPIC}.ipynb": "of Cy, or of somebody called roecy_3, Di",
    }
    done, found = collected(files, listed)
    assert found == {"al": "al"}
    lines = done.lines(TOPIC)
    assert "  not handed in: ed" in lines
    assert "  handed in, as it seems, but not collected: bo, cy, di" in lines


@pytest.mark.parametrize(
    ("encoding", "declared", "told"),
    [("cp866", False, True), ("utf-8", False, False), ("utf-8", True, False)],
)
def test_names_in_a_code_page_that_is_not_declared_come_with_advice(
    course, tmp_path, encoding, declared, told
):
    """As archives that were packed anew on Windows have them."""
    path = tmp_path / "class.zip"
    name = "\u0418\u0432\u0430\u043d_501_assignsubmission_file"
    shown = name if declared else "x" * len(name.encode(encoding))
    content = zipped({f"{shown}/{TOPIC}.ipynb": "ivan"})  # it declares what is no ASCII
    content = content.replace(shown.encode(), name.encode(encoding))
    path.write_bytes(content)
    done = collect(TOPIC, path, course)
    advice = "if they look wrong, unpack it with the right one and give the folder"
    assert done.lines(TOPIC)[-1].endswith(advice) == told
    if not told:
        assert done.new == ["\u0418\u0432\u0430\u043d_501"]
        return
    roster = tmp_path / "list.csv"
    roster.write_text(
        MOODLE_LIST + "Participant 501,\u0418\u0432\u0430\u043d,i@x.ru,\n"
    )
    with pytest.raises(NothingCollected) as refused:
        collect(TOPIC, path, course, roster=roster)
    assert str(refused.value).endswith(advice)


def test_way_on_with_an_archive_of_another_system_is_told(course, tmp_path):
    path = tmp_path / "class.zip"
    path.write_bytes(zipped({f"12345-67890 - Jane Doe/{TOPIC}.ipynb": "jane"}))
    with pytest.raises(NothingCollected) as refused:
        collect(TOPIC, path, course)
    assert f"submitted/STUDENT/{TOPIC}/{TOPIC}.ipynb yourself" in str(refused.value)


@pytest.mark.parametrize("content", [b"ID,Student\n", b"PK\3\4 and no more", b""])
def test_what_is_no_archive_is_one_line(course, tmp_path, content):
    path = tmp_path / "submissions.zip"
    path.write_bytes(content)
    with pytest.raises(NothingCollected, match="is no archive, or a damaged one") as no:
        collect(TOPIC, path, course)
    assert no.value.lines == []
    assert "\n" not in str(no.value)
