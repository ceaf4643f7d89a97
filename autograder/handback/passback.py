"""Send the changed marks of a chapter to a learning management system."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.files import printable
from autograder.handback.grade_services import TAG, GradeServices, LineItem
from autograder.handback.lti_errors import (
    Refused,
    ScoreFailed,
    ScoreNotNewer,
    ScoreRefused,
)
from autograder.handback.lti_settings import Platform
from autograder.handback.sent import Sent, keep_sent, read_sent, time_after
from autograder.lms.names import CANVAS
from autograder.lms.upload_ids import kept_roster, read_upload_ids
from autograder.marks.reports import ClassReport

SHOWN = 20  # names in one line
MOST_FAILED = 2  # scores one after the other, before the platform is taken to be down


@dataclass(frozen=True)
class Change:
    """A score that the platform does not have yet.

    Attributes:
        student: nbgrader's id.
        user: the platform's id.
        before: the score that was sent last, None if there is none.
        now: the score that counts, None if there is none any more.
    """

    student: str
    user: str
    before: float | None
    now: float | None


@dataclass
class Passback:
    """What there is to send, and what became of it.

    Attributes:
        chapter: whose marks.
        label: what the column is called there.
        most: points that can be had.
        changes: what is not there yet.
        unchanged: how many marks are there already.
        without_mark: who has none, because of an excuse or nothing handed in.
        unknown: whose id at the platform nobody told us.
        sent: the changes that the platform took.
        refused: students whose score it did not take, with its reason.
    """

    chapter: str
    label: str
    most: float
    changes: list[Change]
    unchanged: int = 0
    without_mark: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    sent: list[Change] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    def table(self) -> list[str]:
        """Who changes, as lines of a table."""
        head = ("student", "id there", "before", "now")
        rows = [head, *map(_row, self.changes)]
        widths = [max(len(row[n]) for row in rows) for n in range(len(head))]
        return [
            "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]

    def lines(self, dry: bool) -> list[str]:
        """What to tell an instructor."""
        many = len(self.changes) if dry else len(self.sent)
        verb = "to send" if dry else "sent"
        found = [
            f"{self.chapter}: {many} marks {verb} to {self.label!r}, "
            f"{self.unchanged} unchanged there, {len(self.without_mark)} without a mark"
        ]
        if self.changes and dry:
            found += [f"  {line}" for line in self.table()]
        withdrawn = [c.student for c in self.sent if c.now is None]
        if withdrawn:
            names = _some(withdrawn)
            found.append(f"  withdrawn, so look whether it is gone there: {names}")
        if self.unknown:
            found.append(
                f"  not sent, since no class list has their ids: {_some(self.unknown)}"
            )
        found += [f"  refused: {who}: {why}" for who, why in self.refused.items()]
        return found


def _row(change: Change) -> tuple[str, str, str, str]:
    scores = ["-" if s is None else f"{s:g}" for s in (change.before, change.now)]
    return (printable(change.student), printable(change.user), *scores)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def pass_back(
    course: Path,
    report: ClassReport,
    platform: Platform,
    *,
    create: bool = False,
    dry: bool = False,
    progress: Callable[[Iterable[Change], int], Iterable[Change]] | None = None,
) -> Passback:
    """Send the marks that changed.

    Args:
        course: folder of the course.
        report: of the chapter, with the marks that count.
        platform: where they are sent.
        create: whether a column is made if there is none.
        dry: whether nothing is sent, and only looked what would be.
        progress: wraps the scores while they are sent.

    Raises:
        BadSettings: the key cannot be used.
        BadTable: a class list was changed, and cannot be used any more.
        Refused: the platform took no more, of several one after the other; what it
            took before is kept.
        Unusable: what was sent before cannot be read.
    """
    chapter = report.chapter
    with GradeServices(platform, create=create and not dry) as services:
        items = services.line_items()
        column = column_of(chapter, items)
        if column is None and not create:
            seen = ", ".join(sorted(printable(item.label) for item in items)) or "none"
            raise Refused(
                f"no column there is called {chapter}, of those that this client may "
                f"see ({seen}): call again with --create to have one made"
            )
        label = chapter.replace("_", " ").capitalize()
        if column is None and not dry:
            column = services.create(chapter, label, report.max_score)
        before = read_sent(course, chapter, column.url) if column else {}
        found = _plan(course, report, before, column.label if column else label)
        if dry or column is None:
            return found
        changes: Iterable[Change] = found.changes
        if progress is not None:
            changes = progress(changes, len(found.changes))
        failed = 0  # one after the other
        for change in changes:
            last = before.get(change.user)
            try:
                sent = _publish(services, column, change, report.max_score, last)
            except ScoreRefused as error:
                found.refused[change.student] = (
                    f"{error} (its id in the class list is {change.user})"
                )
                continue
            except Refused as error:
                failed += 1
                only_this = isinstance(error, ScoreFailed) and len(found.changes) > 1
                if not only_this or failed == MOST_FAILED:
                    raise Refused(
                        f"{error}. Marks sent before that: {len(found.sent)}; the next "
                        f"run goes on there{_also(found.refused)}"
                    ) from None
                found.refused[change.student] = str(error)  # perhaps the only one
                continue
            failed = 0
            try:
                keep_sent(course, chapter, column.url, sent)
            except OSError as error:
                raise Refused(
                    f"the mark of {change.student} was sent, but this cannot be noted "
                    f"in {error.filename or course} ({error.strerror}), so the next "
                    f"run sends it again. Marks sent before that: {len(found.sent)}"
                ) from None
            found.sent.append(change)
    return found


def _publish(
    services: GradeServices,
    column: LineItem,
    change: Change,
    of: float,
    last: Sent | None,
) -> Sent:
    """Publish a score, and say what the platform has then.

    It may have stored a score, and failed before it said so. The same score is then not
    newer than itself, so it is given a later time, once.

    Raises:
        ScoreRefused, Refused: as ``GradeServices.publish`` does.
    """

    def publish(when: str) -> Sent:
        services.publish(column, change.user, change.now, of, when)
        return Sent(change.student, change.user, change.now, of, when)

    when = time_after(last)
    try:
        return publish(when)
    except ScoreNotNewer:
        return publish(time_after(Sent(change.student, change.user, None, of, when)))


def _also(refused: Mapping[str, str]) -> str:
    """Who else was refused in a run that ends, and why."""
    return "".join(f". Also refused: {who}: {why}" for who, why in refused.items())


def column_of(chapter: str, items: Iterable[LineItem]) -> LineItem | None:
    """The column of a chapter: the one that we made, else the one called like it.

    Raises:
        Refused: several columns fit.
    """
    items = list({item.url: item for item in items}.values())  # pages may overlap
    ours = [item for item in items if (item.tag, item.resource) == (TAG, chapter)]
    named = [item for item in items if _as_chapter(item.label) == chapter]
    found = ours or named
    if len(found) > 1:
        names = "; ".join(printable(f"{item.label!r} ({item.url})") for item in found)
        raise Refused(
            f"{len(found)} columns there may be that of {chapter}: {names}. Rename all "
            "but one"
        )
    return found[0] if found else None


def _as_chapter(label: str) -> str:
    """The name of a chapter as people may write it: ``Multi head``, ``multi-head``."""
    return re.sub(r"[\s-]+", "_", label.strip().casefold())


def user_ids(course: Path, chapter: str) -> dict[str, str]:
    """What the platform calls students, as far as class list and upload ids tell.

    A list of one's own may have a column ``lti_user_id``. Canvas takes its own number
    as well; other systems' numbers are not those that LTI knows.

    Raises:
        BadTable: the class list was changed, and cannot be used any more.
    """
    collected = read_upload_ids(course, chapter).items()
    found = {s: e.person for s, e in collected if e.system == CANVAS}
    found = {student: user for student, user in found.items() if user.isdigit()}
    roster = kept_roster(course)
    for person in roster.people if roster else ():
        user = person.ids.get("lti_user") or person.ids.get("canvas")
        if user:
            found[person.student] = user
    return found


def _plan(
    course: Path,
    report: ClassReport,
    before: Mapping[str, Sent],
    label: str,
) -> Passback:
    """Compare the marks that count with what was sent.

    Raises:
        Refused: two students have one id.
    """
    ids = user_ids(course, report.chapter)
    found = Passback(report.chapter, label, report.max_score, [])
    found.without_mark = sorted({*report.missing, *report.excused})
    found.unknown = sorted(student for student in report.students if student not in ids)
    wanted: dict[str, str] = {}
    for student in sorted(report.students & set(ids)):
        other = wanted.setdefault(ids[student], student)
        if other != student:
            raise Refused(
                f"{other} and {student} have one id, {ids[student]}: set the class "
                "list right"
            )
        was = before.get(ids[student])
        score = float(report.score_of(student, 0.0))
        if was and (was.score, was.of) == (score, report.max_score):
            found.unchanged += 1
        else:
            there = was.score if was else None
            found.changes.append(Change(student, ids[student], there, score))
    found.changes += _to_withdraw(before, wanted, set(found.without_mark))
    return found


def _to_withdraw(
    before: Mapping[str, Sent],
    wanted: dict[str, str],
    without_mark: set[str],
) -> Iterator[Change]:
    """Scores that were sent and are nobody's now: excused, or sent to a wrong id.

    Students who are merely missing from a class list keep their mark.
    """
    elsewhere = set(wanted.values())
    for user, was in sorted(before.items()):
        gone = was.student in without_mark or was.student in elsewhere
        if user not in wanted and was.score is not None and gone:
            yield Change(was.student, user, was.score, None)
