"""Compare answers with the reference's, name the mistake, make a report.

The judge runs in a trusted process and sees answers only: it never calls what a
student wrote.
"""

from __future__ import annotations

import base64
import logging
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from autograder.answers import Answer, answer, decode
from autograder.break_exercise import BreakExercise
from autograder.exercise import BUILD_IT_YOURSELF, Exercise, Topic
from autograder.lessons import about_errors, lesson
from autograder.parts import part_names
from autograder.rows import NOT_YET, CaseReport, Names, case_reports, disagreement
from autograder.symptoms.outcomes import Outcome
from autograder.symptoms.pairs import find_pair, find_part
from autograder.symptoms.search import find_cause, find_trace
from autograder.symptoms.structure import NOTHING_RETURNED
from autograder.variants import Probe, Variant
from autograder.verdict import LATER, NOT_ALLOWED, is_empty

ERRORS_MISSING = (
    "All values are right. Only errors that the docstring asks for are not raised: "
    "look at Raises, and at the titles of the cases that fail."
)
NOT_REFUSED = (
    "Besides, an error that the docstring asks for is not raised as it should be."
)
FOUND_LATER = (
    "The specification allows your arguments. Which of the wrong versions they find is "
    "judged at grading: only the grader has these versions."
)
ANOTHER_TEST = (
    "This advice was written for another test with this outcome, so its details may "
    "not fit yours:"
)
OTHER_SEEDS = 3  # a right answer that never changes over these is a constant
_log = logging.getLogger(__name__)

Memoise = Callable[[str, Callable[[], Any]], Any]  # see ``expect``


@dataclass(frozen=True)
class KnownMistake:
    """How a known mistake answers the cases of an exercise."""

    name: str
    hint: str
    answers: list[Answer]


@dataclass
class Expected:
    """What the reference and the known mistakes answer, case by case.

    Attributes:
        seeds: the seed of each case.
        reference: the right answers.
        constant: for each case, whether the right answer is the same for other data.
        find_mistakes: finds the answers of the known mistakes; called once, and only
            when an answer is wrong.
        probe: looks at the reference where it is at hand; asked only when no known
            mistake explains an answer.
        find_names: finds the names of the parts of the answer to each case; called
            once, and only when an answer is wrong.
    """

    seeds: list[int]
    reference: list[Answer]
    constant: list[bool]
    find_mistakes: Callable[[], list[KnownMistake]]
    probe: Probe | None = None
    find_names: Callable[[], list[Names]] = list

    @cached_property
    def names(self) -> list[Names]:
        """The names of the parts of the answer to each case; none if unknown."""
        return self.find_names()

    def part_names(self, number: int) -> Names:
        """The names of the parts of the answer to a case, as far as they are known."""
        return self.names[number] if self.names else {}

    @cached_property
    def mistakes(self) -> list[KnownMistake]:
        """The answers of the known mistakes."""
        return self.find_mistakes()


@dataclass(frozen=True)
class Report:
    """The outcome of one exercise.

    Attributes:
        mistake: name of the misconception that explains all answers, if one does.
        message: its hint, or why nothing could be examined.
    """

    name: str
    score: int
    max_score: int
    mistake: str | None
    message: str
    cases: list[CaseReport]

    @property
    def later(self) -> int:
        """The points of the cases that are judged at grading, and not before."""
        return sum(case.points for case in self.cases if case.at_grading)

    @property
    def lacks_points(self) -> bool:
        """Whether points are lost, as far as it is known before grading."""
        return self.score + self.later < self.max_score

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as ``check --json`` prints it."""
        return asdict(self)


def public_seeds(exercise: Exercise) -> list[int]:
    """The seeds that ``check`` uses in a notebook: always the same."""
    return [
        zlib.crc32(f"{exercise.name}/{number}".encode())
        for number in range(len(exercise.cases))
    ]


def uncached(name: str, compute: Callable[[], Any]) -> Any:
    """Compute a result and keep it for nobody."""
    return compute()


def expect(
    topic: Topic,
    exercise: Exercise,
    seeds: Sequence[int],
    memoise: Memoise = uncached,
) -> Expected:
    """Run the reference and the known mistakes on the cases of ``exercise``.

    Args:
        topic: the exercises of the chapter.
        exercise: one of them.
        seeds: the seed of each case.
        memoise: called with a name and a function that computes a result, which JSON
            can hold; returns it, computed now or by another process with these seeds.
    """

    def right_answers() -> dict[str, list]:
        reference = topic.reference(exercise.name)
        texts, *others = (
            _encoded(exercise, reference, [seed + step for seed in seeds])
            for step in range(1 + OTHER_SEEDS)
        )
        answers = zip(*map(_decoded, (texts, *others)), strict=True)
        constant = [
            all(disagreement(case, first, other) is None for other in rest)
            for case, (first, *rest) in zip(exercise.cases, answers, strict=True)
        ]
        return {"answers": texts, "constant": constant}

    def mistaken_answers() -> list[list]:
        return [
            [m.name, m.hint, _encoded(exercise, m.implementation, seeds)]
            for m in topic.mistakes(exercise.name)
        ]

    def find_mistakes() -> list[KnownMistake]:
        found = memoise(f"{exercise.name}.mistaken", mistaken_answers)
        return [KnownMistake(name, hint, _decoded(t)) for name, hint, t in found]

    right = memoise(f"{exercise.name}.right", right_answers)
    return Expected(
        list(seeds),
        _decoded(right["answers"]),
        right["constant"],
        find_mistakes,
        Probe(topic.reference(exercise.name), exercise.cases, seeds),
        lambda: names_of_parts(topic, exercise, seeds),
    )


def names_of_parts(
    topic: Topic, exercise: Exercise, seeds: Sequence[int]
) -> list[Names]:
    """The names of the parts of the answer to each case."""
    reference = topic.reference(exercise.name)
    return [
        part_names(reference, case, seed, exercise.results)
        for case, seed in zip(exercise.cases, seeds, strict=True)
    ]


def expect_anew(
    topic: Topic, exercise: Exercise, seeds: Sequence[int], known: Expected
) -> Expected:
    """The right answers to other seeds than the ``known`` ones, without any mistakes.

    Cheap enough to be worked out for one submission.
    """
    texts = _encoded(exercise, topic.reference(exercise.name), seeds)
    return Expected(
        list(seeds),
        _decoded(texts),
        known.constant,
        list,
        find_names=lambda: known.names,  # they are the same for all seeds
    )


def _encoded(
    exercise: Exercise, implementation: Any, seeds: Sequence[int]
) -> list[str]:
    """Answers to all cases as they travel, as text that a JSON file can hold."""
    return [
        base64.b64encode(answer(case, implementation, seed)).decode("ascii")
        for case, seed in zip(exercise.cases, seeds, strict=True)
    ]


def _decoded(texts: Sequence[str]) -> list[Answer]:
    return [decode(base64.b64decode(text)) for text in texts]


def judge(exercise: Exercise, given: Sequence[Answer], expected: Expected) -> Report:
    """Mark the answers given, and explain what is wrong with them."""
    return explain(mark(exercise, given, expected), exercise, given, expected)


def mark(exercise: Exercise, given: Sequence[Answer], expected: Expected) -> Report:
    """Compare the answers given with those expected.

    The report says why nothing was examined, if that is so, and nothing else.

    A case whose right answer does not depend on the data can be passed without
    understanding (by always raising ``ValueError``, say), so it is paid only when a
    case whose answer does depend on the data was passed too. One answer for which the
    library was called (see ``guard``) costs the exercise.
    """
    for answered in given:
        if answered.raised == "RuntimeError" and BUILD_IT_YOURSELF in answered.detail:
            if not answered.private:
                return refuse(exercise, answered.detail)
            named = [name for name in exercise.forbidden if name in answered.detail]
            return refuse_calls(exercise, named or exercise.forbidden)
    cases = case_reports(
        exercise.cases,
        expected.reference,
        given,
        expected.constant,
        expected.part_names,
    )
    stub = all(answer.raised == "NotImplementedError" for answer in given)
    return Report(
        exercise.name,
        sum(case.points for case in cases if case.passed),
        exercise.points,
        None,
        NOT_YET if stub and not all(case.passed for case in cases) else "",
        cases,
    )


def explain(
    report: Report, exercise: Exercise, given: Sequence[Answer], expected: Expected
) -> Report:
    """The same report with why answers are wrong, if they are and it does not say.

    Args:
        report: from ``mark``.
        exercise: what was asked.
        given: the answers, to the seeds of ``expected``.
        expected: the right answers, and the mistakes to look among.
    """
    if report.message or all(case.passed for case in report.cases):
        return report
    try:
        mistake, message = _diagnose(exercise, given, expected)
    except Exception:  # the marks are known, and no reason is worth losing them
        _log.exception("no reason could be looked for in %s", exercise.name)
        return report
    return replace(report, mistake=mistake, message=message)


def refuse(exercise: Exercise, reason: str) -> Report:
    """A report of zero points for an answer that is not examined."""
    cases = [CaseReport(case.title, case.points, False, "") for case in exercise.cases]
    return Report(exercise.name, 0, exercise.points, None, reason, cases)


def refuse_calls(exercise: Exercise, used: Sequence[str]) -> Report:
    """A report of zero points for an answer that uses what it should rebuild."""
    return refuse(
        exercise,
        f"uses {', '.join(used)}, {BUILD_IT_YOURSELF}",
    )


def _diagnose(
    exercise: Exercise, given: Sequence[Answer], expected: Expected
) -> tuple[str | None, str]:
    """Why an answer is wrong: a known mistake and its hint, or else a symptom.

    A mistake that agrees with the student on every case is the cause. One that agrees
    wherever a value was asked for is the cause of what is wrong with the values, and
    the errors that should have been raised are another matter.
    """
    if isinstance(exercise, BreakExercise):
        return _about_test(exercise, given, expected)
    valued = [right.raised is None for right in expected.reference]
    for known in expected.mistakes:
        if _agrees(exercise, known.answers, given, expected, [True] * len(valued)):
            return known.name, known.hint
    wrong = [
        disagreement(case, right, answer) is not None
        for case, right, answer in zip(
            exercise.cases, expected.reference, given, strict=True
        )
    ]
    if any(w and v for w, v in zip(wrong, valued, strict=True)):
        for known in expected.mistakes:
            if _agrees(exercise, known.answers, given, expected, valued):
                missing = any(w and not v for w, v in zip(wrong, valued, strict=True))
                more = f" {NOT_REFUSED}" if missing else ""
                return known.name, f"{known.hint}{more}"
    return None, _symptom(exercise, given, expected, wrong)


def _agrees(
    exercise: Exercise,
    theirs: Sequence[Answer],
    given: Sequence[Answer],
    expected: Expected,
    where: Sequence[bool],
) -> bool:
    """Whether two sets of answers agree on the cases that count.

    An error where a value was asked for may have any reason; two of them are the same
    only if they say the same.
    """
    return all(
        disagreement(case, one, other) is None
        and (right.raised is not None or one.detail == other.detail)
        for case, right, one, other, counts in zip(
            exercise.cases, expected.reference, theirs, given, where, strict=True
        )
        if counts
    )


def _symptom(
    exercise: Exercise,
    given: Sequence[Answer],
    expected: Expected,
    wrong: Sequence[bool],
) -> str:
    """What relation holds between the answers and the right ones, or nothing."""
    failed = [
        answer
        for answer, right, is_wrong in zip(
            given, expected.reference, wrong, strict=True
        )
        if is_wrong and right.raised is None
    ]
    if not failed:
        return ERRORS_MISSING
    told = lesson(failed)
    if told:
        return told
    probe = expected.probe
    outcomes = [
        Outcome(right, answer, case.rtol, case.atol, roles)
        for case, right, answer, roles in zip(
            exercise.cases,
            expected.reference,
            given,
            [probe.roles(n) if probe else {} for n in range(len(given))],
            strict=True,
        )
    ]
    told = find_cause(outcomes)
    if told:
        return told
    if probe and any(answer.raised is None for answer in failed):
        for variant in probe.variants:
            if _is_variant(exercise, variant, given, expected, wrong):
                return variant.says
    told = _two_slips(outcomes, expected)
    if told:
        return told
    return find_trace(outcomes) or about_errors(failed)


def _two_slips(outcomes: Sequence[Outcome], expected: Expected) -> str:
    """A known mistake with something besides, or one that explains the most."""
    valued = [n for n, right in enumerate(expected.reference) if right.raised is None]
    mistakes = [
        (known.hint, [known.answers[n] for n in valued]) for known in expected.mistakes
    ]
    wanted = [outcomes[n] for n in valued]
    return find_pair(wanted, mistakes) or find_part(wanted, mistakes)


def _about_test(
    exercise: Exercise, given: Sequence[Answer], expected: Expected
) -> tuple[str | None, str]:
    """What is to be said of a test beyond its cases, and the known test it is like.

    Two tests that find the same versions may do so for different reasons, so a hint on
    one of them is only quoted for the other. Of arguments that are not allowed, their
    cases say why. How arguments relate to those of the reference explains nothing.
    """
    if all(map(is_empty, given)):
        return None, NOTHING_RETURNED
    said = [
        disagreement(*pair) or ""
        for pair in zip(exercise.cases, expected.reference, given, strict=True)
    ]
    if LATER in said:
        return None, FOUND_LATER
    if any(words.startswith(NOT_ALLOWED) for words in said):
        return None, ""
    everywhere = [True] * len(given)
    for known in expected.mistakes:
        if _agrees(exercise, known.answers, given, expected, everywhere):
            return known.name, f"{ANOTHER_TEST} “{known.hint}”"
    return None, lesson(given)


def _is_variant(
    exercise: Exercise,
    variant: Variant,
    given: Sequence[Answer],
    expected: Expected,
    wrong: Sequence[bool],
) -> bool:
    """Whether an altered reference answers as the student does, errors aside.

    The cases that the student got wrong come first: most alterations fail there.
    """
    order = sorted(range(len(given)), key=lambda number: not wrong[number])
    agreed = 0
    for number in order:
        if expected.reference[number].raised is not None:
            continue
        case, seed = exercise.cases[number], expected.seeds[number]
        theirs = variant.answer(number, case, seed)
        if theirs.raised is not None or theirs.unreadable is not None:
            return False
        if disagreement(case, theirs, given[number]) is not None:
            return False
        agreed += wrong[number]
    return agreed > 0
