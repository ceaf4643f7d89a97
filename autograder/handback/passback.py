"""Send the marks of a chapter that changed to a platform, by LTI 1.3.

PyLTI1p3 signs, gets tokens, and speaks Assignment and Grade Services (1EdTech, version
2.0). ``passback/CHAPTER.jsonl`` has a line for each score that the platform took, so an
interrupted run goes on where it stopped, and an unchanged mark is not sent again.
"""

from __future__ import annotations

import contextlib
import json
import os
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import requests
from jwcrypto.jwk import JWK
from pylti1p3.assignments_grades import AssignmentsGradesService as Service
from pylti1p3.exception import LtiException, LtiServiceException
from pylti1p3.grade import Grade
from pylti1p3.lineitem import LineItem
from pylti1p3.registration import Registration
from pylti1p3.service_connector import ServiceConnector
from requests.adapters import HTTPAdapter

from autograder.errors import AutograderError
from autograder.files import plain_file
from autograder.lms.upload_ids import people_in
from autograder.marks.reports import ClassReport

NEEDED = {"client_id", "token_url", "line_items_url", "key_file"}
KNOWN = {*NEEDED, "audience", "issuer"}  # the last of which only launches need
SAFE = ("https://", "http://127.0.0.1:", "http://localhost:")
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
LARGEST = 256 * 2**20  # bytes of a file that is read here
TIMEOUT = (10, 60)  # seconds to connect, and to answer
SCOPE = "https://purl.imsglobal.org/spec/lti-ags/scope/"


class Refused(AutograderError):
    """A setting is wrong, or the platform refuses; ``status`` is HTTP's, or 0."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Score(NamedTuple):
    """Points for the platform's ``user``; None withdraws those that were sent."""

    student: str
    user: str
    score: float | None
    of: float


def pass_back(
    course: Path, report: ClassReport, dry: bool, progress: Callable
) -> tuple[list[str], list[str]]:
    """Send what changed; a ``dry`` run only says what there is to send.

    Where there is no column of the chapter, it is made.

    Returns:
        Lines for the instructor, and a line for each score that was not taken.

    Raises:
        Refused: nothing more can be sent; what was sent is kept.
    """
    chapter, service = report.chapter, _service(course)
    column = _column(service, report, create=not dry)
    journal = course / "passback" / f"{chapter}.jsonl"
    ids, before = user_ids(course, chapter), _sent(journal, column)
    changes, refused = _changes(report, ids, before), []
    for change in [] if dry else progress(changes, len(changes)):
        try:
            _publish(service, column, change)
        except Refused as error:
            if error.status in (0, 401, 403):  # which nobody's score would pass
                raise Refused(f"{error}. The next run goes on from here") from None
            refused.append(f"  refused: {change.student}: {error}")
        else:
            journal.parent.mkdir(exist_ok=True)
            with journal.open("a", encoding="utf-8") as file:  # may end in half a line
                file.write(f"\n{json.dumps({**change._asdict(), 'column': column})}\n")
    verb = "to send" if dry else "sent"
    lines = [f"{chapter}: {len(changes) - len(refused)} marks {verb}"]
    for student, user, score, _ in changes:
        if dry or score is None:
            was = before[user].score if user in before else None
            lines.append(f"  {student} ({user}): {was} -> {score}")
    if column is None:
        lines.append("  no column there is that of the chapter: it will be made")
    if unknown := sorted(report.students - set(ids)):
        lines.append(f"  not sent, no class list has their ids: {', '.join(unknown)}")
    return lines, refused


def user_ids(course: Path, chapter: str) -> dict[str, str]:
    """The platform's ids, as class lists have them; who has none there is left out."""
    people = people_in(course, chapter).items()
    found = {s: p.ids.get("lti_user") or p.ids.get("canvas") for s, p in people}
    return {student: user for student, user in found.items() if user}


def _changes(
    report: ClassReport, ids: dict[str, str], before: dict[str, Score]
) -> list[Score]:
    """The scores that are not there yet, and those of who was excused, or of wrong ids.

    Who is merely gone from the class list keeps the mark.
    """
    known = sorted(report.students & set(ids))
    scores = (Score(s, ids[s], report.score_of(s, 0), report.max_score) for s in known)
    wanted = {score.user: score for score in scores}
    if len(wanted) < len(known):
        raise Refused("two students have one id there: set the class list right")
    gone = {*report.missing, *report.excused, *known}
    return [score for user, score in wanted.items() if before.get(user) != score] + [
        was._replace(score=None)
        for user, was in before.items()
        if user not in wanted and was.score is not None and was.student in gone
    ]


def _sent(journal: Path, column: str | None) -> dict[str, Score]:
    """What a column has, by user; a line that a crash cut off does not count."""
    found = {}
    for line in plain_file(journal, LARGEST).splitlines() if journal.exists() else ():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            entry = json.loads(line)
            if entry["column"] == column:
                found[entry["user"]] = Score(*(entry[name] for name in Score._fields))
    return found


def make_key(path: Path) -> None:
    """Make a private key, in a new file that nobody else may read."""
    path.touch(0o600, exist_ok=False)
    path.write_bytes(JWK.generate(kty="RSA", size=3072).export_to_pem(True, None))


def private_key(path: Path) -> JWK:
    """Our private key; ``Refused`` or ``Unusable`` if it is none, or others read it."""
    content = plain_file(path, LARGEST, follow=True)
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise Refused(f"{path} can be read by others: call `chmod 600 {path}`")
    with contextlib.suppress(ValueError, TypeError):  # which may quote it
        key = JWK.from_pem(content)
        if key.has_private and key["kty"] == "RSA":
            return key
    raise Refused(f"{path} is no private RSA key in PEM without a password")


def _settings(path: Path) -> dict[str, str]:
    try:
        data = tomllib.loads(plain_file(path, LARGEST, follow=True).decode())
    except ValueError as error:
        raise Refused(f"{path} is no TOML: {error}") from None
    wrong = [f"{name} is missing" for name in sorted(NEEDED - set(data))]
    for name, value in data.items():
        if name not in KNOWN:
            wrong.append(f"{name} is unknown")
        elif not isinstance(value, str) or not value:
            wrong.append(f"{name} has to be a text in quotation marks")
        elif name.endswith("_url") and not value.startswith(SAFE):
            wrong.append(f"{name} has to begin with https://")
    if wrong:
        raise Refused(f"{path}: {', '.join(wrong)}; so nothing is sent")
    return data


class _Adapter(HTTPAdapter):
    """Waits for an answer for a while, and not for ever."""

    def send(self, *what: Any, **options: Any) -> requests.Response:
        return super().send(*what, **{**options, "timeout": TIMEOUT})


def _service(course: Path) -> Service:
    """The columns of marks of one course, as ``lti.toml`` says."""
    said = _settings(course / "lti.toml")
    key = private_key(course / said["key_file"])
    us = Registration().set_client_id(said["client_id"])
    us.set_auth_token_url(said["token_url"])
    us.set_auth_audience(said.get("audience", said["token_url"]))
    us.set_tool_private_key(key.export_to_pem(True, None).decode())
    us.set_tool_public_key(key.export_to_pem().decode())
    session = requests.Session()
    session.max_redirects = 0  # the token goes nowhere else
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter())
    data = {
        "scope": [f"{SCOPE}lineitem", f"{SCOPE}score"],
        "lineitems": said["line_items_url"],
    }
    return Service(ServiceConnector(us, session), data)


def _column(service: Service, report: ClassReport, create: bool) -> str | None:
    """The address of the column of a chapter: one that we made, or one of its name."""
    new = LineItem().set_label(report.chapter.replace("_", " ").capitalize())
    new.set_resource_id(report.chapter).set_score_maximum(report.max_score)
    with _one_line():
        found = service.find_lineitem_by_resource_id(report.chapter)
        found = found or service.find_lineitem("label", new.get_label())
        if found is None and create:
            found = service.find_or_create_lineitem(new, find_by="resource_id")
        return found and found.get_id()


def _publish(service: Service, column: str, what: Score) -> None:
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    grade = Grade().set_user_id(what.user).set_timestamp(now)
    if what.score is None:
        grade.set_activity_progress("Initialized").set_grading_progress("NotReady")
    else:
        grade.set_score_given(what.score).set_score_maximum(what.of)
        grade.set_activity_progress("Completed").set_grading_progress("FullyGraded")
    with _one_line():
        service.put_grade(grade, LineItem({"id": column}))


@contextlib.contextmanager
def _one_line() -> Iterator[None]:
    """Turn what the libraries raise into one line, which quotes no token."""
    try:
        yield
    except LtiServiceException as error:
        said = error.response
        words = "" if "<" in said.text else " ".join(said.text.split())[:200]
        words = f"{said.url} answered {said.status_code} {said.reason} {words}"
        raise Refused(words.strip(), said.status_code) from None
    except (requests.RequestException, LtiException, *UNREADABLE) as error:
        why = type(getattr(next(iter(error.args), None), "reason", error)).__name__
        raise Refused(f"the platform cannot be reached or understood: {why}") from None
