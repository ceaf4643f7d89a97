"""What students get back: pages that are never out of date, and nbgrader's exchange."""

from __future__ import annotations

import getpass
import html
import json
import re
import shutil
from multiprocessing import active_children

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.errors import GraderFault
from autograder.exercise import load_topic
from autograder.reporting import feedback
from autograder.reporting.feedback import make_feedback
from autograder.reporting.feedback_page import page_of
from autograder.sandbox.limits import Limits
from classroom.submissions import cell_source, hand_in, submission
from tests.autograder.conftest import TOPIC, code_cell
from tests.autograder.grading.test_grade import nbgrader

pytestmark = pytest.mark.usefixtures("needs_sandbox")
LIMITS = Limits(cell_seconds=5, submission_seconds=30)
ME = getpass.getuser()  # nbgrader's exchange knows students by their accounts


@pytest.fixture(scope="module")
def exchanged(grade, released_course, tmp_path_factory, right):
    """A course whose student fetched, solved and submitted with nbgrader's commands."""
    place = tmp_path_factory.mktemp("exchange")
    course, student = place / "course", place / "student"
    shutil.copytree(released_course, course)
    (place / "exchange").mkdir(mode=0o777)
    (place / "exchange").chmod(0o777)
    student.mkdir()
    settings = (
        f"c.Exchange.root = {str(place / 'exchange')!r}\n"
        f"c.Exchange.cache = {str(place / 'cache')!r}\n"
    )
    with (course / "nbgrader_config.py").open("a") as config:
        config.write(settings)
    (student / "nbgrader_config.py").write_text(
        "c = get_config()\n"
        f"{settings}c.CourseDirectory.course_id = 'attention-from-scratch'\n"
    )
    nbgrader(course, "release_assignment", TOPIC)
    nbgrader(student, "fetch_assignment", TOPIC)
    path = student / TOPIC / f"{TOPIC}.ipynb"
    master = json.loads(path.read_text())
    wrong = cell_source(load_topic(TOPIC).mistakes("softmax")[0], "softmax")
    path.write_text(json.dumps(submission(master, {**right, "softmax": wrong})))
    nbgrader(student, "submit", TOPIC)
    nbgrader(course, "collect", TOPIC)
    # Two more handed in without the exchange, one with a stamp that is none.
    hand_in(course, TOPIC, dict.fromkeys(["by mail", "on a stick"], master))
    stamp = course / "submitted" / "by mail" / TOPIC / "timestamp.txt"
    stamp.write_text("yesterday, I think")
    grade(TOPIC, course, limits=LIMITS)
    return course, student


def fetched(course, student):
    """The page that a student fetches."""
    nbgrader(course, "release_feedback", TOPIC)
    nbgrader(student, "fetch_feedback", TOPIC)
    (page,) = (student / TOPIC / "feedback").rglob("*.html")
    return page.read_text()


@pytest.mark.usefixtures("artefact")
def test_feedback_goes_back_through_the_exchange(exchanged):
    course, student = exchanged
    nbgrader(course, "generate_feedback", TOPIC)
    hint = load_topic(TOPIC).mistakes("softmax")[0].hint
    assert hint.split(",")[0] in fetched(course, student)


def test_pages_are_new_after_a_mark_by_hand_and_only_then(exchanged, capsys):
    course, student = exchanged
    command = ["feedback", TOPIC, "--course", str(course)]
    assert main(command) == 0
    assert "pages made: 3, up to date before: 0" in capsys.readouterr().out
    assert main(command) == 0
    assert "pages made: 0, up to date before: 3" in capsys.readouterr().out
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        book.find_grade("check-softmax", TOPIC, TOPIC, ME).manual_score = 1.25
        book.find_comment("softmax", TOPIC, TOPIC, ME).manual_comment = "Well tried"
        book.db.commit()
    assert main(command) == 0
    assert "pages made: 1, up to date before: 2" in capsys.readouterr().out
    page = fetched(course, student)
    assert "1.25" in page
    assert "Well tried" in page
    assert "Test cell" not in page  # questions have the names of their exercises
    assert "Student's answer" not in page
    for name in load_topic(TOPIC).exercises:
        assert f'<a href="#check-{name}">{name}</a>' in page
        assert f"Check of <code>{name}</code>" in page
        assert f"Your answer: {name}" in page


@pytest.fixture
def several(exchanged, tmp_path, monkeypatch):
    """A copy of the course, with few enough pages for a process of their own."""
    monkeypatch.setattr(feedback, "PAGES_A_WORKER", 1)
    course = tmp_path / "course"
    shutil.copytree(exchanged[0], course)
    shutil.rmtree(course / "feedback", ignore_errors=True)
    return course


def pages_in(course):
    """What is on each page, without the ids that nbconvert draws for its cells."""
    return {
        path.parts[-3]: re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "", text)
        for path in (course / "feedback").glob(f"*/{TOPIC}/{TOPIC}.html")
        if (text := path.read_text())
    }


def test_several_processes_make_the_pages_that_one_makes(several):
    assert len(make_feedback(TOPIC, several, jobs=1).made) == 3
    alone = pages_in(several)
    shutil.rmtree(several / "feedback")
    together = make_feedback(TOPIC, several, jobs=2)
    assert together.made == sorted(alone)
    assert pages_in(several) == alone
    assert make_feedback(TOPIC, several, jobs=2).kept == sorted(alone)


def test_who_has_marks_but_no_examined_notebook_is_named(several, capsys):
    """And whose page may be an old one."""
    shutil.rmtree(several / "autograded" / "by mail")
    assert main(["feedback", TOPIC, "--course", str(several), "--jobs", "1"]) == 3
    said = capsys.readouterr().out
    assert "no page: by mail: its examined notebook is gone" in said
    assert set(pages_in(several)) == {ME, "on a stick"}


@pytest.mark.usefixtures("broken_machine")
def test_process_that_is_ended_from_outside_is_one_line_and_the_rest_is_made_later(
    several,
):
    def ended(results, total):
        for child in set(active_children()) - before:
            child.kill()  # it is still importing nbgrader
        return results

    before = set(active_children())
    with pytest.raises(GraderFault, match="call the command again"):
        make_feedback(TOPIC, several, ended, jobs=2)
    assert len(make_feedback(TOPIC, several, jobs=1).made) == 3


def test_notes_are_on_the_page_at_its_head_and_are_text(
    grade, released_course, right, tmp_path
):
    """Names and errors in notes are the student's own, and may be meant to do harm."""
    course = tmp_path / "course"
    shutil.copytree(released_course, course)
    path = course / "release" / TOPIC / f"{TOPIC}.ipynb"
    data = submission(json.loads(path.read_text()), right)
    harm = "</div>\n\n<b id=harm>x</b> $x^2$ `y` *z* \u202e\x1b[1m"
    data["cells"].insert(1, code_cell(f"raise ValueError({harm!r})"))
    hand_in(course, TOPIC, {"ada": data})
    (course / "submitted" / "ada" / TOPIC / f"{TOPIC}.ipynb").rename(
        course / "submitted" / "ada" / TOPIC / "my work.ipynb"
    )
    grade(TOPIC, course, limits=LIMITS)
    make_feedback(TOPIC, course)
    page = page_of(course, "ada", TOPIC).read_text()
    first = page[page.index('id="notebook"') :].partition("</ul>")[0]
    notes = [re.sub("<.*?>", "", note) for note in re.findall("<li>.*?</li>", first)]
    (stopped,) = [html.unescape(note) for note in notes if "stopped" in note]
    assert "</div> <b id=harm>x</b> $x^2$ `y` *z*" in stopped
    assert not any(character in stopped for character in "\u202e\x1b")
    assert any("named my work.ipynb" in note for note in notes)
    assert "<b id=harm>" not in first


def test_a_page_that_cannot_be_made_has_its_reason(several, capsys):
    with (several / "nbgrader_config.py").open("a") as config:
        config.write("c.GenerateFeedback.permissions = 'many'\n")
    assert main(["feedback", TOPIC, "--course", str(several), "--jobs", "1"]) == 3
    said = capsys.readouterr().out
    assert said.count("nbgrader could not make it: TraitError: ") == 3
    assert said.count("call the command again") == 3
