"""Marks sent to a platform that checks signatures, scopes, types and scores itself."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, quote_plus

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.exercise import load_topic
from autograder.grading.examine import summary
from autograder.handback import grade_services, lti_errors, passback, sent
from autograder.judge import refuse
from autograder.marks.gradebook import ChapterMarks
from tests.autograder.conftest import TOPIC
from tests.autograder.handback.platform import SCOPE, Platform, Wrong, running

CLASS = (
    "student,canvas_id,lti_user_id\n"
    "student01,101,\nstudent02,,u-202\nstudent03,103,\nstudent04,104,\n"
    "student05,105,\nstudent06,,\n"
)
SCORES = {"student01": 7, "student02": 0, "student04": 3, "student06": 5}
KEY_ID = "the-key-of-2026"
ASSERTION = "client_assertion"


def make_key():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private, public.decode()


@pytest.fixture(scope="module")
def keys():
    return make_key()


@pytest.fixture(scope="module")
def graded(artefact, released_course, tmp_path_factory, keys):
    """A course in which some have marks, one is excused and one has no id."""
    folder = tmp_path_factory.mktemp("passback") / "course"
    shutil.copytree(released_course, folder)
    set_scores(folder, SCORES)
    (folder / "collected").mkdir()
    (folder / "collected" / "roster.csv").write_text(CLASS)
    key = folder / "lti_key.pem"
    key.touch(mode=0o600)
    key.write_bytes(keys[0])
    return folder


def set_scores(course, scores):
    """Have reports and marks as if somebody had been graded."""
    topic = load_topic(TOPIC)
    folder = course / "reports" / TOPIC
    folder.mkdir(parents=True, exist_ok=True)
    examined = []
    for student, score in scores.items():
        reports = [refuse(exercise, "") for exercise in topic.exercises.values()]
        left = score
        for report in reports:
            got = min(left, report.max_score)
            object.__setattr__(report, "score", got)
            left -= got
        found = {**summary(topic, reports), "student": student, "seconds": 0.1}
        (folder / f"{student}.json").write_text(json.dumps(found))
        examined.append((student, found, None))
    with ChapterMarks(f"sqlite:///{course / 'gradebook.db'}", "", TOPIC) as book:
        book.write(examined)


@pytest.fixture
def course(graded, tmp_path):
    folder = tmp_path / "course"
    shutil.copytree(graded, folder)
    return folder


@pytest.fixture
def platform(course, keys, monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):  # the second goes first where both are set
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.setattr(grade_services, "BACKOFF", 0.001)
    there = Platform(keys[1], "client-1", KEY_ID)
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
        "key_id": KEY_ID,
    } | changes
    lines = [f"{k} = {json.dumps(v)}" for k, v in settings.items() if v is not None]
    (course / "lti.toml").write_text("\n".join(lines))


def send(course, *words):
    return main(["passback", TOPIC, "--course", str(course), *words])


def most():
    return sum(exercise.points for exercise in load_topic(TOPIC).exercises.values())


def test_marks_arrive_once_and_again_only_when_they_change(course, platform, capsys):
    for label in ("Scaling", "Attendance", "Exam"):
        platform.add_column(label)  # ours is on the second page
    number = platform.add_column("Simplified attention")
    assert send(course) == 0
    said = capsys.readouterr().out
    assert "3 marks sent" in said
    assert "no class list has their ids: student06" in said
    # Who handed in nothing is not there at all; a zero is.
    assert platform.scores[number] == {"101": 7, "u-202": 0, "104": 3}
    assert {body["scoreMaximum"] for body in platform.bodies} == {most()}
    assert send(course) == 0
    assert "0 marks sent" in capsys.readouterr().out
    assert platform.asked["scores"] == 3
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:  # by hand
        grades = book.find_submission_notebook(TOPIC, TOPIC, "student02").grades
        grades[0].manual_score = 1.5
        book.db.commit()
    assert send(course) == 0
    assert platform.scores[number] == {"101": 7, "u-202": 1.5, "104": 3}
    assert platform.asked["scores"] == 4


def test_marks_arrive_although_the_clock_was_set_back(course, platform, monkeypatch):
    """A platform takes no score that is older than the one that it has."""
    number = platform.add_column("Simplified attention")
    ahead = datetime.now(UTC) + timedelta(hours=2)

    class Ahead(datetime):
        @classmethod
        def now(cls, tz=None):
            return ahead

    with monkeypatch.context() as patch:
        patch.setattr(sent, "datetime", Ahead)
        assert send(course) == 0
    for score in (1.5, 2.5):
        with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
            grades = book.find_submission_notebook(TOPIC, TOPIC, "student02").grades
            grades[0].manual_score = score
            book.db.commit()
        assert send(course) == 0
        assert platform.scores[number] == {"101": 7, "u-202": score, "104": 3}


def test_dry_run_shows_who_changes_and_sends_nothing(course, platform, capsys):
    number = platform.add_column(TOPIC)
    assert send(course, "--dry-run") == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["student", "id", "there", "before", "now"] in rows
    assert ["student01", "101", "-", "7"] in rows
    assert ["student02", "u-202", "-", "0"] in rows
    assert platform.scores[number] == {}
    send(course)
    set_scores(course, {"student04": 9})
    capsys.readouterr()
    send(course, "--dry-run")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row for row in rows if len(row) == 4] == [["student04", "104", "3", "9"]]
    assert platform.scores[number]["104"] == 3


def test_column_is_made_only_when_it_is_asked_for_and_then_found(
    course, platform, capsys
):
    platform.add_column("Attendance")
    assert send(course) == 2
    said = capsys.readouterr().err
    assert f"no column there is called {TOPIC}" in said
    assert "Attendance" in said
    assert send(course, "--create", "--dry-run") == 0
    assert len(platform.columns) == 1
    assert send(course, "--create") == 0
    made = platform.columns["2"]
    assert (made["resourceId"], made["scoreMaximum"]) == (TOPIC, most())
    made["label"] = "Renamed by the instructor"
    assert send(course, "--create") == 0
    assert (len(platform.columns), platform.asked["scores"]) == (2, 3)


def test_two_columns_that_fit_are_refused(course, platform, capsys):
    platform.add_column("Simplified attention")
    platform.add_column("simplified-attention")
    assert send(course) == 2
    assert "2 columns there may be" in capsys.readouterr().err
    assert not platform.bodies


def test_excused_after_sending_is_withdrawn_and_not_a_zero(course, platform, capsys):
    number = platform.add_column(TOPIC)
    send(course)
    table = f"student,chapter,due\nstudent04,{TOPIC},excused\n"
    (course / "deadlines.csv").write_text(table)
    assert send(course) == 0
    assert "withdrawn" in capsys.readouterr().out
    assert platform.scores[number] == {"101": 7, "u-202": 0, "104": None}
    assert send(course) == 0
    assert platform.asked["scores"] == 4


def test_a_corrected_id_moves_the_mark(course, platform):
    number = platform.add_column(TOPIC)
    send(course)
    roster = course / "collected" / "roster.csv"
    roster.write_text(CLASS.replace("04,104", "04,105").replace("05,105", "05,"))
    assert send(course) == 0
    assert platform.scores[number] == {"101": 7, "u-202": 0, "104": None, "105": 3}


def test_a_lost_class_list_takes_no_mark_away(course, platform):
    number = platform.add_column(TOPIC)
    send(course)
    (course / "collected" / "roster.csv").write_text("student,canvas_id\nstudent01,101")
    assert send(course) == 0
    assert platform.scores[number] == {"101": 7, "u-202": 0, "104": 3}


def test_one_unknown_user_is_named_and_the_others_get_their_marks(
    course, platform, capsys
):
    number = platform.add_column(TOPIC)
    platform.users -= {"101"}
    assert send(course) == 3
    (line,) = [x for x in capsys.readouterr().out.splitlines() if "refused" in x]
    assert "student01" in line and "422" in line and "user 101 is not in" in line
    assert platform.scores[number] == {"u-202": 0, "104": 3}
    platform.users |= {"101"}
    assert send(course) == 0
    assert platform.scores[number] == {"101": 7, "u-202": 0, "104": 3}
    assert platform.asked["scores"] == 4


def test_what_fails_for_the_moment_is_tried_again(course, platform):
    number = platform.add_column(TOPIC)
    platform.faults = {
        "token": [(503, {})],
        "list": [(502, {}), (429, {"Retry-After": "0"})],
        "scores": [(429, {"Retry-After": "0"}), (500, {}), (503, {}), (504, {})],
    }
    assert send(course) == 0
    assert platform.scores[number] == {"101": 7, "u-202": 0, "104": 3}


def test_run_that_stops_half_way_goes_on_where_it_was(course, platform, capsys):
    number = platform.add_column(TOPIC)
    tries = 2 * (1 + grade_services.TRIES_AGAIN)  # of two students
    platform.users -= {"u-202"}  # the first is taken, the second refused
    real, platform.score = platform.score, taken_then_broken(platform, tries)
    assert send(course) == 2
    said = capsys.readouterr().err
    assert "500" in said
    assert "Marks sent before that: 1" in said
    assert platform.scores[number] == {"101": 7}
    journal = course / "passback" / f"{TOPIC}.jsonl"
    with journal.open("a") as file:
        file.write('{"student": "student04", "us')  # as after a crash
    platform.score = real
    platform.users |= {"u-202"}
    sent = platform.asked["scores"]
    assert send(course) == 0
    assert platform.scores[number] == {"101": 7, "u-202": 0, "104": 3}
    assert platform.asked["scores"] == sent + 2
    assert send(course) == 0
    assert platform.asked["scores"] == sent + 2


def test_one_score_at_which_the_platform_fails_holds_up_nobody(
    course, platform, capsys
):
    number = platform.add_column(TOPIC)
    real = platform.score

    def fails_at_one(number, body):
        if body["userId"] == "u-202":
            raise Wrong(503, "not now")
        real(number, body)

    platform.score = fails_at_one
    assert send(course) == 3
    assert "refused: student02: " in capsys.readouterr().out
    assert platform.scores[number] == {"101": 7, "104": 3}


def test_a_page_for_people_is_no_receipt(course, platform, capsys):
    platform.add_column(TOPIC)
    platform.lies["scores"] = (200, "\n<html>Please log in</html>", {})
    assert send(course) == 2
    assert "a page for people" in capsys.readouterr().err
    platform.lies = {}
    assert send(course) == 0
    assert "3 marks sent" in capsys.readouterr().out


def test_a_mark_that_cannot_be_noted_is_named(course, platform, capsys, monkeypatch):
    number = platform.add_column(TOPIC)

    def no_room(*_):
        raise OSError(28, "No space left on device", "the journal")

    monkeypatch.setattr(passback, "keep_sent", no_room)
    assert send(course) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "student01 was sent" in line
    assert "the journal (No space left on device)" in line
    assert platform.scores[number] == {"101": 7}


def taken_then_broken(platform, tries):
    """Take one score; after that nothing but errors of the platform."""
    real = platform.score

    def score(number, body):
        real(number, body)
        platform.faults["scores"] = tries * [(500, {})]

    return score


def test_creation_is_asked_for_once(course, platform, capsys):
    platform.faults = {"create": [(502, {})]}
    assert send(course, "--create") == 2
    assert "502" in capsys.readouterr().err
    assert platform.asked["create"] == 1


def test_token_that_runs_out_is_got_anew(course, platform):
    number = platform.add_column(TOPIC)
    platform.lifetime = 30  # less than the client thinks it takes to use one
    assert send(course) == 0
    assert platform.scores[number] == {"101": 7, "u-202": 0, "104": 3}
    assert platform.asked["token"] > 2


@pytest.mark.parametrize("said", ["an hour", "nothing"])
def test_token_that_ends_before_its_time_is_got_anew(course, platform, said):
    number = platform.add_column(TOPIC)
    issue, store = platform.token, platform.score

    def token(form):
        issued = issue(form)
        return issued if said == "an hour" else issued | {"expires_in": None}

    def score(number, body):
        store(number, body)
        platform.tokens.clear()

    platform.token, platform.score = token, score
    assert send(course) == 0
    assert platform.scores[number] == {"101": 7, "u-202": 0, "104": 3}
    assert platform.asked["token"] == 3


@pytest.mark.parametrize("kind", ["list", "create", "scores"])
def test_each_request_gets_one_new_token_and_then_the_advice(
    course, platform, capsys, kind
):
    if kind == "scores":
        platform.add_column(TOPIC)
    platform.faults = {kind: [(401, {})]}
    assert send(course, "--create") == 0
    assert platform.asked["token"] == 2
    platform.columns.clear()
    if kind == "scores":
        platform.add_column(TOPIC)
    (course / "passback" / f"{TOPIC}.jsonl").unlink()
    platform.faults = {kind: [(401, {})] * 9}
    assert send(course, "--create") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "let the client use Assignment and Grade Services in this course" in line
    assert (platform.asked["token"], len(platform.faults[kind])) == (4, 7)


@pytest.mark.parametrize("words", ["failed", "cut off"])
def test_score_that_was_stored_before_the_platform_failed_counts_as_sent(
    course, platform, capsys, words
):
    number = platform.add_column(TOPIC)
    store, stored = platform.score, []

    def score(number, body):
        store(number, body)
        stored.append(body)
        if len(stored) == 1:
            if words == "cut off":
                raise ConnectionAbortedError
            raise Wrong(500, "stored, and then failed")

    platform.score = score
    assert send(course) == 0
    assert "3 marks sent" in capsys.readouterr().out
    assert platform.scores[number] == {"101": 7, "u-202": 0, "104": 3}
    asked = platform.asked["scores"]
    assert send(course) == 0
    assert platform.asked["scores"] == asked


def test_score_that_is_never_new_enough_is_refused_after_a_second_try(
    course, platform, capsys
):
    platform.add_column(TOPIC)
    platform.lies["scores"] = (409, "a later score is known", {})
    assert send(course) == 3
    assert capsys.readouterr().out.count("a later score is known") == 3
    assert platform.asked["scores"] == 2 * 3


def test_key_that_is_not_registered_is_one_line_without_the_key(
    course, platform, capsys
):
    private, _ = make_key()
    (course / "lti_key.pem").write_bytes(private)
    assert send(course) == 2
    said = "".join(capsys.readouterr())
    assert "refused the key of client client-1: invalid_client" in said
    assert len(said.splitlines()) == 1
    assert not any(line in said for line in private.decode().splitlines()[1:-1])


def test_made_key_signs_and_its_public_half_alone_is_shown(course, platform, capsys):
    """Of what is shown, PyJWT reads the JWK and the platform is given the PEM."""
    key = course / "new.pem"
    assert main(["lti-key", str(key)]) == 0
    said = capsys.readouterr().out
    assert sys.platform == "win32" or key.stat().st_mode & 0o777 == 0o600
    content = key.read_text()
    assert "PRIVATE" not in said
    assert not any(line in said for line in content.splitlines()[3:-2])
    jwk = jwt.PyJWK.from_json(next(x for x in said.splitlines() if x[:1] == "{"))
    pem = said[said.index("-----BEGIN PUBLIC") :]
    platform.public_key, platform.key_id = jwk.key, jwk.key_id
    assert jwk.key == serialization.load_pem_public_key(pem.encode())
    settle(course, platform, key_file="new.pem", key_id=None)
    number = platform.add_column(TOPIC)
    assert send(course) == 0
    assert platform.scores[number]["101"] == 7
    assert main(["lti-key", str(key)]) == 0
    assert capsys.readouterr().out.endswith(said)
    assert key.read_text() == content


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such modes")
def test_key_that_others_may_read_is_refused(course, platform, capsys):
    (course / "lti_key.pem").chmod(0o640)
    assert send(course) == 2
    assert "chmod 600" in capsys.readouterr().err
    assert not platform.asked


def test_what_is_no_private_key_is_refused_and_not_quoted(
    course, platform, keys, capsys
):
    key = course / "lti_key.pem"
    encrypted = serialization.load_pem_private_key(keys[0], None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    for content, why in (
        (keys[1].encode(), "public key"),
        (encrypted, "without a password"),
        (weak, "1024 bits"),
        (b"my secret words", "no RSA key"),
        (b"\xff\x00", "no RSA key"),
    ):
        key.write_bytes(content)
        assert send(course) == 2
        said = capsys.readouterr().err
        assert why in said
        assert len(said.splitlines()) == 1
        assert "secret" not in said
    key.unlink()
    assert send(course) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_settings_are_read_strictly(course, platform, capsys):
    settle(
        course,
        platform,
        client_id=17,
        line_items_url="http://lms.example.edu",
        token_url="https://user:word@lms.example.edu/token",
        key_id=None,
        secret="x",
    )
    with (course / "lti.toml").open("a") as file:
        file.write("\naudience = ''")
    assert send(course) == 2
    said = capsys.readouterr().err
    assert "5 problems, so nothing is sent" in said
    for line in (
        "client_id: expected a text",
        "line_items_url: 'http://lms.example.edu' is not encrypted",
        "token_url: 'https://user:word@lms.example.edu/token' has a user",
        "secret: unknown",
        "audience: expected a text",
    ):
        assert line in said
    (course / "lti.toml").write_text("client_id =")
    assert send(course) == 2
    assert "is no TOML" in capsys.readouterr().err
    (course / "lti.toml").unlink()
    assert send(course) == 2
    assert "is missing" in capsys.readouterr().err
    assert not platform.asked


def test_token_goes_nowhere_else(course, platform, keys, capsys):
    platform.add_column(TOPIC)
    with running(Platform(keys[1], "client-1", KEY_ID)) as other:
        platform.elsewhere = other.url
        assert send(course) == 2
        assert "which is not where line_items_url is" in capsys.readouterr().err
        platform.elsewhere = None
        there = {"Location": f"{other.url}/token"}
        for kind in ("token", "list", "scores"):
            platform.faults = {kind: [(307, there)]}
            assert send(course) == 2
            assert "has moved" in capsys.readouterr().err
        platform.faults = {"create": [(307, there)]}
        platform.columns.clear()
        assert send(course, "--create") == 2
        assert "put its new address" in capsys.readouterr().err
        assert not other.asked


TOKEN = {"access_token": "s3cr3t-0f-th3-platf0rm", "token_type": "Bearer"}
COLUMN = {"id": "/7/lineitems/1/lineitem?type_id=1", "label": TOPIC}
LIES = {
    "an infinite lifetime": ("token", '{"access_token": "a", "expires_in": 1e999}'),
    "a lifetime in words": ("token", {**TOKEN, "expires_in": "an hour"}),
    "an end that is no time": ("token", {**TOKEN, "expires_at": {}}),
    "a kind of token that is no text": ("token", {**TOKEN, "token_type": 5}),
    "no kind of token": ("token", {**TOKEN, "token_type": None}),
    "a token that is no text": ("token", {**TOKEN, "access_token": 5}),
    "a token of two lines": ("token", {**TOKEN, "access_token": "s3cr3t\r\nX: y"}),
    "a token with other letters": ("token", {**TOKEN, "access_token": "s3cr3t\u202e"}),
    "a token to refresh it that is no text": ("token", {**TOKEN, "refresh_token": 5}),
    "no token": ("token", {"message": "s3cr3t"}),
    "a token nested deeply": ("token", "[" * 200_000),
    "an error that is no text": ("token", {"error": {"a": 1}}),
    "a list nested deeply": ("list", "[" * 200_000),
    "a column without an address": ("list", [{**COLUMN, "id": "http://[::1"}]),
}


def refused(course, capsys):
    """The one line with which nothing was sent."""
    assert send(course) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    return line


@pytest.mark.parametrize("lie", LIES)
def test_a_platform_that_lies_gets_one_line(course, platform, capsys, lie):
    kind, answer = LIES[lie]
    words = answer if isinstance(answer, str) else json.dumps(answer)
    platform.lies[kind] = (200, words, {})
    if kind == "list":
        platform.lies["token"] = (200, json.dumps(TOKEN), {})
    assert "s3cr3t" not in refused(course, capsys)
    assert not platform.bodies


def test_a_next_page_that_has_no_address_is_one_line(course, platform, capsys):
    platform.lies["list"] = (200, "[]", {"Link": '<http://[::1>; rel="next"'})
    assert "go on at http://[::1, which is not" in refused(course, capsys)


@pytest.mark.parametrize(
    "written",
    [str, quote_plus, lambda text: text.replace("/", "\\/"), lambda text: text[:-9]],
)
def test_no_secret_of_a_request_that_is_repeated_is_shown(
    course, platform, capsys, written
):
    token = "s3cr3t/0f+th3/platf0rm/" + 8 * "abc/"
    platform.lies = {
        "token": (200, json.dumps({**TOKEN, "access_token": token}), {}),
        "list": (500, lambda bearer, _: f"no {written(bearer)}", {}),
    }
    tries = refused(course, capsys)
    assert "500 (not shown" in tries
    assert "s3cr3t" not in tries
    platform.lies["token"] = (
        400,
        lambda _, body: json.dumps({"error": written(parse_qs(body)[ASSERTION][0])}),
        {},
    )
    said = refused(course, capsys)
    assert "refused the key of client client-1: (not shown" in said
    assert "eyJ" not in said  # as each of these assertions begins


def test_scopes_that_are_not_granted_are_named(course, platform, capsys):
    platform.add_column(TOPIC)
    platform.granted -= {f"{SCOPE}score"}
    assert send(course) == 2
    assert "does not let client client-1 publish scores" in capsys.readouterr().err
    platform.granted = {f"{SCOPE}score"}
    assert send(course) == 2
    assert "403" in capsys.readouterr().err


def test_nobody_there_is_one_line(course, platform, capsys):
    with socket.socket() as taken:  # by somebody who does not listen
        taken.bind(("127.0.0.1", 0))
        settle(
            course,
            platform,
            token_url=f"http://127.0.0.1:{taken.getsockname()[1]}/token",
        )
        assert send(course) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("cannot be reached: Connection refused")


def test_host_that_has_no_name_is_one_line(course, platform, capsys, monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "*")
    settle(course, platform, token_url="https://nowhere.invalid/token")  # RFC 2606
    assert send(course) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no such host is known" in line


def test_platform_that_hangs_is_one_line_after_two_tries(
    course, platform, capsys, monkeypatch
):
    for module in (grade_services, lti_errors):
        monkeypatch.setattr(module, "TIMEOUT", (5, 0.2))
    platform.add_column(TOPIC)
    over = threading.Event()

    def hang(*_):
        over.wait(20)
        raise ConnectionAbortedError

    platform.score = hang
    try:
        assert send(course) == 2
    finally:
        over.set()
    (line,) = capsys.readouterr().err.splitlines()
    assert "cannot be reached: no answer within 0.2 s" in line
    assert platform.asked["scores"] == 2


def test_connection_that_is_broken_off_is_one_line(course, platform, capsys):
    platform.add_column(TOPIC)

    def broken_off(*_):
        raise ConnectionAbortedError

    platform.score = broken_off
    assert send(course) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "the connection was broken off" in line


def test_two_students_with_one_id_are_refused(course, platform, capsys):
    platform.add_column(TOPIC)
    record = {  # of an archive of Canvas
        "student06": {"system": "canvas", "person": "101", "name": "", "place": "x"}
    }
    (course / "collected" / f"{TOPIC}.json").write_text(json.dumps(record))
    assert send(course) == 2
    assert "student01 and student06 have one id, 101" in capsys.readouterr().err
    assert not platform.bodies


def test_without_the_libraries_one_line_says_what_to_install(course, root):
    code = (
        "import sys; sys.modules['authlib'] = None; from autograder.__main__ import "
        f"main; sys.exit(main(['passback', {TOPIC!r}, '--course', {str(course)!r}]))"
    )
    (course / "lti.toml").write_text(
        'client_id = "1"\ntoken_url = "https://a.edu/t"\n'
        'line_items_url = "https://a.edu/l"\nkey_file = "lti_key.pem"\n'
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "attention-from-scratch[passback]" in done.stderr
    assert "Traceback" not in done.stderr
