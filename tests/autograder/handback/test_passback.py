"""Marks sent to a platform that checks signatures, scopes, types and scores itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import jwt
import pytest
from jwcrypto.jwk import JWK
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.exercise import load_topic
from tests.autograder.conftest import TOPIC
from tests.autograder.handback.platform import Platform, Wrong, running
from tests.autograder.made_up import record, report_on

CLASS = (
    "student,canvas_id,lti_user_id\n"
    "student01,101,\nstudent02,,u-202\nstudent03,103,\nstudent04,104,\n"
    "student05,105,\nstudent06,,\n"
)
SCORES = {"student01": 7, "student02": 0, "student04": 3, "student06": 5}
LABEL = "Simplified attention"


@pytest.fixture(scope="module")
def keys():
    """A private key and its public half, in PEM."""
    key = JWK.generate(kty="RSA", size=2048)
    return key.export_to_pem(True, None), key.export_to_pem().decode()


@pytest.fixture(scope="module")
def graded(artefact, released_course, tmp_path_factory, keys):
    """A course in which some have marks, one is excused and one has no id."""
    folder = tmp_path_factory.mktemp("passback") / "course"
    shutil.copytree(released_course, folder)
    record(folder, TOPIC, [with_score(*one) for one in SCORES.items()])
    (folder / "collected").mkdir()
    (folder / "collected" / "roster.csv").write_text(CLASS)
    key = folder / "lti_key.pem"
    key.touch(mode=0o600)
    key.write_bytes(keys[0])
    return folder


def with_score(student, score):
    """A report with so many points."""
    found = report_on(student, TOPIC)
    left = score
    for exercise in found["exercises"]:
        exercise["score"] = min(left, exercise["max_score"])
        left -= exercise["score"]
    return {**found, "score": score}


@pytest.fixture
def course(graded, tmp_path):
    folder = tmp_path / "course"
    shutil.copytree(graded, folder)
    return folder


@pytest.fixture
def platform(course, keys, monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):  # the second goes first where both are set
        monkeypatch.setenv(name, "127.0.0.1")
    name = JWK.from_pem(keys[1].encode()).thumbprint()  # RFC 7638
    there = Platform(keys[1], "client-1", name)
    there.users = {"101", "u-202", "103", "104", "105"}
    with running(there):
        settle(course, there)
        yield there


def settle(course, platform, **changes):
    """Write the settings of a course, with some of them changed."""
    settings = {
        "issuer": platform.url,
        "client_id": "client-1",
        "token_url": f"{platform.url}/token",
        "line_items_url": f"{platform.url}/7/lineitems?type_id=1",
        "key_file": "lti_key.pem",
    } | changes
    lines = [f"{k} = {json.dumps(v)}" for k, v in settings.items() if v is not None]
    (course / "lti.toml").write_text("\n".join(lines))


def send(course, *words):
    return main(["passback", TOPIC, "--course", str(course), *words])


def most():
    return sum(exercise.points for exercise in load_topic(TOPIC).exercises.values())


def said(capsys):
    return capsys.readouterr().out


def one_line(capsys):
    """The one line with which a command has stopped."""
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    return line


def test_marks_arrive_once_and_again_only_when_they_change(course, platform, capsys):
    platform.add_column("Attendance")
    number = platform.add_column(LABEL)
    assert send(course) == 0
    told = said(capsys)
    assert "3 marks sent" in told
    assert "no class list has their ids: student06" in told
    # Who handed in nothing is not there at all; a zero is.
    assert platform.scores[number] == {"101": 7, "u-202": 0, "104": 3}
    assert {body["scoreMaximum"] for body in platform.bodies} == {most()}
    assert send(course) == 0
    assert "0 marks sent" in said(capsys)
    assert platform.asked["scores"] == 3
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:  # by hand
        grades = book.find_submission_notebook(TOPIC, TOPIC, "student02").grades
        grades[0].manual_score = 1.5
        book.db.commit()
    assert send(course, "--dry-run") == 0
    assert "student02 (u-202): 0.0 -> 1.5" in said(capsys)
    assert platform.asked["scores"] == 3
    assert send(course) == 0
    assert platform.scores[number] == {"101": 7, "u-202": 1.5, "104": 3}


def test_column_is_made_where_there_is_none_and_then_found(course, platform, capsys):
    platform.add_column("Attendance")
    assert send(course, "--dry-run") == 0
    told = said(capsys)
    assert "3 marks to send" in told and "it will be made" in told
    assert len(platform.columns) == 1
    assert send(course) == 0
    made = platform.columns["2"]
    assert (made["resourceId"], made["scoreMaximum"]) == (TOPIC, most())
    made["label"] = "Renamed by the instructor"
    assert send(course) == 0
    assert (len(platform.columns), platform.asked["scores"]) == (2, 3)


def test_excused_after_sending_is_withdrawn_and_a_corrected_id_moves_the_mark(
    course, platform, capsys
):
    number = platform.add_column(LABEL)
    send(course)
    table = f"student,chapter,due\nstudent01,{TOPIC},excused\n"
    (course / "deadlines.csv").write_text(table)
    roster = course / "collected" / "roster.csv"
    roster.write_text(CLASS.replace("04,104", "04,105").replace("05,105", "05,"))
    assert send(course) == 0
    assert "student01 (101): 7.0 -> None" in said(capsys)
    there = {"101": None, "u-202": 0, "104": None, "105": 3}
    assert platform.scores[number] == there
    roster.write_text("student,canvas_id\nstudent01,101")  # who is gone keeps the mark
    assert send(course) == 0
    assert platform.scores[number] == there
    assert platform.asked["scores"] == 6


def test_scores_that_are_not_taken_hold_up_nobody(course, platform, capsys):
    """One user is unknown, and at another one the platform fails."""
    number, real = platform.add_column(LABEL), platform.score

    def fails_at_one(number, body):
        if body["userId"] == "u-202":
            raise Wrong(503, "not now")
        real(number, body)

    platform.score = fails_at_one
    platform.users -= {"101"}
    assert send(course) == 3
    first, second = [x for x in said(capsys).splitlines() if "refused" in x]
    assert "student01" in first and "422" in first and "user 101 is not in" in first
    assert "student02" in second and "503" in second
    assert platform.scores[number] == {"104": 3}
    platform.users |= {"101"}
    platform.score = real
    assert send(course) == 0
    assert platform.scores[number] == {"101": 7, "u-202": 0, "104": 3}


def test_run_that_stops_half_way_goes_on_where_it_was(course, platform, capsys):
    number = platform.add_column(LABEL)
    real = platform.score

    def taken_then_broken(number, body):
        if platform.scores[number]:
            raise Wrong(403, "not now")
        real(number, body)

    platform.score = taken_then_broken
    assert send(course) == 2
    assert "403" in one_line(capsys)
    assert platform.scores[number] == {"101": 7}
    with (course / "passback" / f"{TOPIC}.jsonl").open("a") as file:
        file.write('{"student": "student04", "us')  # as after a crash
    platform.score, sent = real, platform.asked["scores"]
    for _ in range(2):
        assert send(course) == 0
        assert platform.scores[number] == {"101": 7, "u-202": 0, "104": 3}
        assert platform.asked["scores"] == sent + 2


def test_made_key_signs_and_its_public_half_alone_is_shown(course, platform, capsys):
    """Of what is shown, PyJWT reads the JWK and the platform is given the PEM."""
    key = course / "new.pem"
    assert main(["lti-key", str(key)]) == 0
    told = said(capsys)
    assert sys.platform == "win32" or key.stat().st_mode & 0o777 == 0o600
    content = key.read_text()
    assert "PRIVATE" not in told
    assert not any(line in told for line in content.splitlines()[3:-2])
    jwk = jwt.PyJWK.from_json(next(x for x in told.splitlines() if x[:1] == "{"))
    pem = told[told.index("-----BEGIN PUBLIC") :]
    platform.public_key, platform.key_id = jwk.key, jwk.key_id
    assert JWK.from_pem(pem.encode()).thumbprint() == jwk.key_id
    number = platform.add_column(LABEL)
    assert send(course) == 2  # with the key that is not registered any more
    assert "/token answered 401" in one_line(capsys)
    settle(course, platform, key_file="new.pem")
    assert send(course) == 0
    assert platform.scores[number]["101"] == 7
    assert main(["lti-key", str(key)]) == 0
    assert said(capsys).endswith(told)
    assert key.read_text() == content


def test_what_is_no_private_key_is_refused_and_not_quoted(
    course, platform, keys, capsys
):
    key = course / "lti_key.pem"
    for content in (keys[1].encode(), b"my secret words"):
        key.write_bytes(content)
        assert send(course) == 2
        told = one_line(capsys)
        assert "no private RSA key" in told and "secret" not in told
    if sys.platform != "win32":
        key.write_bytes(keys[0])
        key.chmod(0o640)
        assert send(course) == 2
        assert "chmod 600" in one_line(capsys)
    assert not platform.asked


def test_settings_are_read_strictly(course, platform, capsys):
    settle(
        course,
        platform,
        client_id=17,
        line_items_url="http://lms.example.edu",
        token_url=None,
        secret="x",
    )
    assert send(course) == 2
    told = one_line(capsys)
    for problem in (
        "client_id has to be a text",
        "line_items_url has to begin with https",
        "token_url is missing",
        "secret is unknown",
    ):
        assert problem in told
    (course / "lti.toml").write_text("client_id =")
    assert send(course) == 2
    assert "is no TOML" in one_line(capsys)
    assert not platform.asked


def test_the_token_is_not_taken_to_where_the_platform_has_moved(
    course, platform, keys, capsys
):
    platform.add_column(LABEL)
    with running(Platform(keys[1], "client-1", platform.key_id)) as other:
        for kind in ("token", "list", "scores"):
            moved = {"Location": f"{other.url}/token"}
            platform.faults = {kind: [(307, "", moved)]}
            assert send(course) == 2
            assert "TooManyRedirects" in one_line(capsys)
        assert not other.asked


LIES = {
    "no token": ("token", {"message": "s3cr3t"}),
    "a list nested deeply": ("list", "[" * 200_000),
    "a column that is none": ("list", ["s3cr3t"]),
    "a page for people": ("scores", "\n<html>Please log in</html>"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_platform_that_lies_gets_one_line(course, platform, capsys, lie):
    platform.add_column(LABEL)
    kind, answer = LIES[lie]
    words = answer if isinstance(answer, str) else json.dumps(answer)
    platform.faults[kind] = [(200, words, {})]
    assert send(course) == 2
    assert "s3cr3t" not in one_line(capsys)
    assert not (course / "passback").exists()


def test_two_students_with_one_id_are_refused(course, platform, capsys):
    platform.add_column(LABEL)
    (course / "collected" / "roster.csv").write_text(CLASS.replace("u-202", "101"))
    assert send(course) == 2
    assert "two students have one id" in one_line(capsys)
    assert not platform.bodies


def test_without_the_libraries_one_line_says_what_to_install(course, root):
    code = (
        "import sys; sys.modules['pylti1p3'] = None; from autograder.__main__ import "
        f"main; sys.exit(main(['passback', {TOPIC!r}, '--course', {str(course)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "attention-from-scratch[passback]" in done.stderr
    assert "Traceback" not in done.stderr
