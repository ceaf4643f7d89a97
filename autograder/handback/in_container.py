"""Grade one submission in a container of Gradescope, with a key and no solutions.

``source/`` holds what ``container_zip`` has packed, ``submission/`` what was handed in,
and ``results/results.json`` is what Gradescope reads. There is no sandbox. What a
student wrote runs in a kernel of its own: where this process belongs to root, as a user
who can neither look into it nor write results; else with all rights that it has. So the
key is read and removed before.
"""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.answer_key import read_key
from autograder.break_exercise import BreakExercise
from autograder.errors import AutograderError, GraderFault, SubmissionFault
from autograder.exercise import Exercise, Topic, load_topic
from autograder.expected import Expected
from autograder.files import Unusable, plain_file, printable, write_atomically
from autograder.grading.examine import refused_examination
from autograder.grading.single import examine_single
from autograder.handback.gradescope_results import gradescope_results
from autograder.notebooks import MAX_FILE_BYTES, parse_notebook, points_in
from autograder.sandbox.limits import Limits
from autograder.sandbox.other_user import new_user
from autograder.submissions.reading_limit import reading_limit
from autograder.submissions.submitted import read_folder
from autograder.submissions.titles import other_chapter
from autograder.submissions.written import written_in

CHAPTER = "chapter.txt"  # names the chapter


class NotPacked(AutograderError):
    """The container does not hold what the zip had."""


@dataclass(frozen=True)
class Packed:
    """What was packed: the chapter's exercises, the released notebook, the answers."""

    topic: Topic
    master: NotebookNode
    expected: dict[str, Expected]


def grade_here(root: Path) -> Path:
    """Grade what was handed in; where the results are.

    Raises:
        NotPacked: something is missing that the zip had.
        NoKey: the key is missing, or of another version.
        GraderFault: it could not be examined, and is not provably to blame.
    """
    packed = _unpacked(root / "source")
    results = root / "results" / "results.json"
    results.parent.mkdir(exist_ok=True)
    with contextlib.suppress(OSError):  # then other users cannot be run either
        results.parent.chmod(0o755)  # others may not put anything in its place
    report = _report(root / "submission", packed)
    found = {**gradescope_results(report), "stdout_visibility": "hidden"}
    write_atomically(results, json.dumps(found, indent=1))
    return results


def _unpacked(source: Path) -> Packed:
    """Read what was packed, and take it away from what runs later."""
    try:
        chapter = plain_file(source / CHAPTER, 1000).decode().strip()
        notebook = source / f"{chapter}.ipynb"
        master = nbformat.reads(
            plain_file(notebook, MAX_FILE_BYTES).decode(), as_version=4
        )
    except (Unusable, ValueError) as error:
        raise NotPacked(
            f"{source} is not as the zip has it: {error}. A container grades one "
            "submission"
        ) from None
    topic = load_topic(chapter)
    released = points_in(master)
    kept = {n: e for n, e in judged_by_key(topic).items() if n in released}
    topic = replace(topic, exercises=kept)
    expected = {name: read_key(topic, e, source) for name, e in kept.items()}
    for answers in expected.values():
        _ = answers.mistakes, answers.names  # they are read when they are asked for
    for path in (source / f"{chapter}.key", notebook):
        path.unlink()
    return Packed(topic, master, expected)


def judged_by_key(topic: Topic) -> dict[str, Exercise]:
    """The exercises that a key can judge, by name.

    One whose answer is a test needs the wrong versions that it has to find.
    """
    return {
        name: exercise
        for name, exercise in topic.exercises.items()
        if not isinstance(exercise, BreakExercise)
    }


def _report(folder: Path, packed: Packed) -> dict[str, Any]:
    """The report on what was handed in."""
    chapter = packed.topic.name

    def refused(reason: str) -> dict[str, Any]:
        return refused_examination(packed.master, packed.topic, reason).report

    submission = read_folder(folder, "submission", chapter)
    if submission.unusable:
        return refused(submission.unusable)
    try:
        with reading_limit():
            data = written_in(parse_notebook(submission.content), submission.modules)
            other = other_chapter(data, chapter)
    except (Unusable, SubmissionFault) as error:
        return refused(str(error))
    if other is not None:
        return refused(f"it is the notebook of another chapter, {other}")
    done = examine_single(
        packed.master,
        data,
        packed.topic,
        packed.expected,
        Limits(),
        servers=None,
        seeds={name: answers.seeds for name, answers in packed.expected.items()},
        user=new_user(),
    )
    if submission.note:
        done.report["notes"].append(submission.note)
    return done.report


if __name__ == "__main__":
    try:
        print(grade_here(Path(sys.argv[1])))
    except AutograderError as error:
        # Without results, Gradescope gives no mark and tells the instructor.
        print(f"autograder: {printable(str(error))}", file=sys.stderr)
        sys.exit(error.exit_status)
    except OSError as error:  # also where a submission has filled the disk
        where = f" ({error.filename})" if error.filename else ""
        print(f"autograder: {error.strerror or error}{where}", file=sys.stderr)
        sys.exit(GraderFault.exit_status)
