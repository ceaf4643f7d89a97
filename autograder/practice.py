"""Practice cards: five minutes of small tasks, made from what the course has already.

A card comes from a reference, from an edit of it, or from the bank, and the judge has
the last word: an edit that loses no points is no card. Nothing here is written by hand,
so a new exercise brings cards of its own.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import inspect
import itertools
import json
import random
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from autograder.answers import Answer, decode
from autograder.break_exercise import BreakExercise
from autograder.errors import GraderFault
from autograder.exercise import Exercise, Implementation, Topic, redefined
from autograder.expected import Expected, expect, public_seeds
from autograder.explain.lines import LineEdit, line_edits, source_of
from autograder.judge import mark
from autograder.own_answers import own_answer
from autograder.picture import first_difference
from autograder.rows import disagreement
from autograder.show import first_sentence

FEWEST, LONGEST = 3, 18  # lines of code on a card
WIDEST = 6  # rows and columns of a grid
TRIED = 40  # edits of a reference that the judge is asked about
OF_A_KIND = 2  # cards of one kind for an exercise; of wrong lines, one more
_SHAPE = re.compile(r"# (\([^()]*\))$")


@dataclass(frozen=True)
class Card:
    """A task for a thumb: tap a line, put lines in order, or choose.

    Attributes:
        exercise: what it is about.
        kind: one of ``line``, ``order``, ``shape``, ``predict``, ``which``.
        ask: the task.
        says: what is told afterwards.
        code: lines to look at.
        line: the line to tap, from zero; -1 if there is none.
        choose: what is asked about the options.
        options: the first is right.
        order: lines to put in order.
        extra: lines that do not belong.
        needs: pairs of lines, the first of which has to come before the second.
    """

    exercise: str
    kind: str
    ask: str
    says: str
    code: tuple[str, ...] = ()
    line: int = -1
    choose: str = ""
    options: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    needs: tuple[tuple[int, int], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data with an id: a digest of the content."""
        content = {k: v for k, v in asdict(self).items() if v not in ("", (), -1)}
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
        return {"id": digest.hexdigest()[:12], **content}


def cards(topic: Topic) -> list[Card]:
    """The cards of a chapter, in the order of its exercises."""
    found: list[Card] = []
    for exercise in topic.exercises.values():
        if not isinstance(exercise, BreakExercise):
            reference = topic.reference(exercise.name)
            expected = expect(topic, exercise, public_seeds(exercise))
            try:
                wrong = _wrong_edits(exercise, reference, expected)
                found += _wrong_lines(exercise, wrong)
                found += _orders(exercise, reference, wrong)
                found += _shapes(exercise, reference)
                found += _predictions(topic, exercise, reference, wrong)
                found += _grids(topic, exercise, expected)
            except GraderFault:
                continue  # this machine could not run the course's own code
    return found


def _chance(*words: str) -> random.Random:
    """The same at each build, for the same words."""
    return random.Random("/".join(words))


# Wrong versions -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Wrong:
    """An edit that loses points: the case in which it shows, and how it does."""

    edit: LineEdit
    make: Implementation
    title: str
    message: str
    raises: bool


def _wrong_edits(
    exercise: Exercise, reference: Implementation, expected: Expected
) -> list[_Wrong]:
    """Edits of lines that lose points; those that raise nothing come first."""
    edits = list(
        {edit.source: edit for edit in line_edits(source_of(reference))}.values()
    )
    chosen = _chance(exercise.name).sample(edits, min(len(edits), TRIED))
    made = [redefined(reference, edit.source, "<card>") for edit in chosen]
    pairs = zip(chosen, made, strict=True)
    found = [_judged(exercise, make, edit, expected) for edit, make in pairs]
    return sorted((one for one in found if one), key=lambda one: one.raises)


def _judged(
    exercise: Exercise, make: Implementation, edit: LineEdit, expected: Expected
) -> _Wrong | None:
    """Where an edit shows first; ``None`` if the cases cannot tell it apart."""
    for n, case in enumerate(exercise.cases):
        answer = decode(own_answer(case, make, expected.seeds[n]))
        right = expected.reference[n]
        if disagreement(case, right, answer):
            _, words = disagreement(case, right, answer, expected.part_names(n))
            words = words.replace("yours is", "it gives")
            return _Wrong(edit, make, case.title, words, answer.raised is not None)
    return None


# Find the wrong line ------------------------------------------------------------------


def _wrong_lines(exercise: Exercise, wrong: Sequence[_Wrong]) -> Iterator[Card]:
    """One line was changed: which, and what belongs there?"""
    chance, used = _chance(exercise.name, "line"), set()
    for one in wrong:
        code, line = _part(one.edit.source, one.edit.line)
        others = {_bare(o.edit.after) for o in wrong if o.edit.line == one.edit.line}
        others -= {_bare(one.edit.after)}
        short = FEWEST <= len(code) <= LONGEST
        if one.edit.line in used or len(others) < 2 or not short:
            continue
        used.add(one.edit.line)
        symptom = f"“{one.title}” fails: {one.message}"
        yield Card(
            exercise.name,
            "line",
            f"One line of {exercise.name} was changed. {_sentence(symptom)} "
            "Which line is it?",
            f"In the changed line, {one.edit.says}.",
            code=tuple(code),
            line=line,
            choose="What belongs there?",
            options=(_bare(one.edit.before), *chance.sample(sorted(others), 2)),
        )
        if len(used) > OF_A_KIND:
            return


def _bare(line: str) -> str:
    """A line without what is around the code."""
    return re.sub(r"  # .*$", "", line).strip()


def _part(source: str, line: int) -> tuple[list[str], int]:
    """The function that holds a line, for a narrow screen; where the line is in it.

    Annotations are left out of its first line, which holds the whole signature.
    """
    functions = [
        n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)
    ]
    around = [n for n in functions if n.lineno <= line + 1 <= (n.end_lineno or 0)]
    inner = max(around, key=lambda node: node.lineno)
    begins = inner.body[0].lineno - 1
    body = textwrap.dedent("\n".join(source.splitlines()[begins : inner.end_lineno]))
    indented = textwrap.indent(body, "    ").splitlines()
    return [_signature(inner), *indented], line - begins + 1


def _signature(function: ast.FunctionDef) -> str:
    """The first line of a function without annotations."""
    bare = copy.deepcopy(function.args)
    for argument in (*bare.posonlyargs, *bare.args, *bare.kwonlyargs):
        argument.annotation = None
    return f"def {function.name}({ast.unparse(bare)}):"


def _sentence(words: str) -> str:
    return words if words.endswith((".", "?", "!")) else f"{words}."


# Put lines in order -------------------------------------------------------------------


def _orders(
    exercise: Exercise, reference: Implementation, wrong: Sequence[_Wrong]
) -> Iterator[Card]:
    """The lines of a body without loops, with two that do not belong."""
    source = source_of(reference)
    lines = source.splitlines()
    definition = ast.parse(source).body[0]
    body = definition.body
    flat = isinstance(definition, ast.FunctionDef) and all(
        isinstance(s, ast.Assign | ast.Return | ast.AugAssign | ast.Expr)
        and s.lineno == s.end_lineno
        for s in body
    )
    if not flat or not 4 <= len(body) <= 10:
        return
    right = [_bare(lines[s.lineno - 1]) for s in body]
    others = {o.edit.line: _bare(o.edit.after) for o in wrong if not o.raises}
    if len(others) < 2:
        return
    extra = _chance(exercise.name, "order").sample(sorted(others.values()), 2)
    yield Card(
        exercise.name,
        "order",
        f"Put the lines of {exercise.name} in order. Two of them do not belong.",
        "Each line needs what the lines above it have made.",
        code=(_signature(definition),),
        order=tuple(right),
        extra=tuple(extra),
        needs=tuple(_dependencies(body)),
    )


def _dependencies(body: Sequence[ast.stmt]) -> Iterator[tuple[int, int]]:
    """Which statements cannot change places: one makes or changes what another uses."""
    for (i, first), (j, second) in itertools.combinations(enumerate(body), 2):
        made, used = _names(first, ast.Store), _names(first, ast.Load)
        later, reads = _names(second, ast.Store), _names(second, ast.Load)
        if made & (reads | later) or used & later or isinstance(second, ast.Return):
            yield i, j


def _names(statement: ast.stmt, use: type[ast.expr_context]) -> set[str]:
    names = {
        n.id
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, use)
    }
    changed = isinstance(statement, ast.AugAssign) and isinstance(
        statement.target, ast.Name
    )
    return names | ({statement.target.id} if changed else set())


# Trace the shapes ---------------------------------------------------------------------


def _shapes(exercise: Exercise, reference: Implementation) -> Iterator[Card]:
    """A comment on a shape is missing: what was it?"""
    source, count = source_of(reference), 0
    lines = source.splitlines()
    found = {n: m[1] for n, text in enumerate(lines) if (m := _SHAPE.search(text))}
    chance = _chance(exercise.name, "shape")
    for number in chance.sample(sorted(found), len(found)):
        shape = found[number]
        code, line = _part(source, number)
        near = _near_shapes(shape, set(found.values()))
        if len(near) < 2 or len(code) > LONGEST or count == OF_A_KIND:
            continue
        count += 1
        code[line] = _SHAPE.sub("# ?", code[line])
        yield Card(
            exercise.name,
            "shape",
            "Follow the shapes. What belongs in place of the question mark?",
            f"The line makes something of shape {shape}.",
            code=tuple(code),
            choose="The shape of that line is",
            options=(shape, *chance.sample(sorted(near), min(3, len(near)))),
        )


def _near_shapes(shape: str, others: set[str]) -> set[str]:
    """Other shapes nearby, and this one with two sizes swapped or one missing."""
    sizes = [size.strip() for size in shape.strip("()").split(",") if size.strip()]
    near = set(others)
    for i, j in itertools.combinations(range(len(sizes)), 2):
        swapped = [*sizes]
        swapped[i], swapped[j] = swapped[j], swapped[i]
        near.add(_written(swapped))
    if len(sizes) > 1:
        near |= {_written(sizes[:i] + sizes[i + 1 :]) for i in range(len(sizes))}
    return {one for one in near if "..." not in one or "..." in shape} - {shape}


def _written(sizes: Sequence[str]) -> str:
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


# Predict a result ---------------------------------------------------------------------


def _predictions(
    topic: Topic, exercise: Exercise, reference: Implementation, wrong: Sequence[_Wrong]
) -> Iterator[Card]:
    """What a call with whole numbers gives, beside what wrong versions give."""
    if isinstance(reference, type):
        return
    versions = [known.implementation for known in topic.mistakes(exercise.name)]
    versions += [one.make for one in wrong if not one.raises]
    count = 0
    for words, arguments in _small_calls(exercise, reference).items():
        result = reference(**copy.deepcopy(arguments))
        right = _shown(result)
        others = {_shown(_result(version, arguments)) for version in versions}
        others -= {"", right}
        if not right or len(others) < 2:
            continue
        yield Card(
            exercise.name,
            "predict",
            f"What does this call of {exercise.name} give?",
            "The others are what wrong versions give.",
            code=(words,),
            choose="It gives (1 for True, 0 for False)"
            if isinstance(result, np.ndarray) and result.dtype == bool
            else "It gives",
            options=(right, *_chance(words).sample(sorted(others), 2)),
        )
        count += 1
        if count == OF_A_KIND:
            return


def _small_calls(
    exercise: Exercise, reference: Implementation
) -> dict[str, dict[str, Any]]:
    """Calls that the cases make and that fit on a card: as code, and the arguments."""
    found: dict[str, dict[str, Any]] = {}

    def noted(*args: Any, **kwargs: Any) -> Any:
        arguments = inspect.signature(reference).bind(*args, **kwargs).arguments
        written = {name: _literal(value) for name, value in arguments.items()}
        inside = ", ".join(f"{name}={text}" for name, text in written.items())
        words = f"{exercise.name}({inside})"
        if written and all(written.values()) and len(words) <= 90:
            found.setdefault(words, copy.deepcopy(dict(arguments)))
        return reference(*args, **kwargs)

    for case, seed in zip(exercise.cases, public_seeds(exercise), strict=True):
        own_answer(case, noted, seed)
    return found


def _literal(value: Any) -> str:
    """A small argument as code; empty if it cannot be worked with in the head."""
    if isinstance(value, np.ndarray):
        if (
            0 < value.size <= 9
            and value.ndim <= 2
            and value.dtype.kind in "bif"
            and (value.dtype.kind != "f" or np.array_equal(value, np.round(value)))
        ):
            return str(
                value.astype(int if value.dtype.kind == "f" else value.dtype).tolist()
            )
        return ""
    if isinstance(value, bool | int | str) or value is None:
        return repr(value) if len(repr(value)) < 30 else ""
    if isinstance(value, float) and value == round(value, 1):
        return repr(value)
    if isinstance(value, list | tuple) and len(value) <= 8:
        parts = [_literal(one) for one in value]
        return f"[{', '.join(parts)}]" if all(parts) else ""
    return ""


def _result(version: Implementation, arguments: dict[str, Any]) -> Any:
    try:
        with np.errstate(all="ignore"):
            return version(**copy.deepcopy(arguments))
    except Exception:
        return None


def _shown(value: Any) -> str:
    """A result as rows of numbers; empty if it is too large or no array."""
    if isinstance(value, list) and value and all(isinstance(v, int) for v in value):
        return str(value) if len(value) <= 12 else ""
    if isinstance(value, bool | int | float | str | np.generic):
        return f"{value:.4g}" if isinstance(value, float) else repr(value)
    if isinstance(value, np.ndarray) and 1 <= value.ndim <= 2 and value.size:
        return _grid(value)
    return ""


def _grid(array: np.ndarray) -> str:
    """An array of at most 6 x 6 as lines of text; empty if it is larger."""
    rows = np.atleast_2d(array)
    if max(rows.shape) > WIDEST or rows.dtype.kind not in "fiub":
        return ""
    cells = [[_number(value) for value in row] for row in rows.tolist()]
    width = max(len(cell) for row in cells for cell in row)
    return "\n".join("  ".join(cell.rjust(width) for cell in row) for row in cells)


def _number(value: Any) -> str:
    if isinstance(value, int) or (np.isfinite(value) and value == int(value)):
        return str(int(value))
    return f"{value:.2f}"


# Which mistake is it? -----------------------------------------------------------------


def _grids(topic: Topic, exercise: Exercise, expected: Expected) -> Iterator[Card]:
    """What a known mistake gives beside what is right: which mistake was it?"""
    count = 0
    known = expected.mistakes
    for one in known:
        answers = list(one.answers)
        report = mark(exercise, answers, expected)
        found = first_difference(exercise, report, answers, expected.reference)
        pair = (found.given, found.expected) if found else ()
        grids = [_grid(np.round(matrix, 2)) for matrix in pair]
        if not found or not all(grids) or grids[0] == grids[1]:
            continue
        case = next(n for n, c in enumerate(exercise.cases) if c.title == found.title)
        others = [
            other
            for other in known
            if other is not one and not _alike(other.answers[case], answers[case])
        ]
        firsts = {first_sentence(other.hint)[0] for other in others}
        firsts -= {first_sentence(one.hint)[0]}
        if len(firsts) < 2:
            continue
        yield Card(
            exercise.name,
            "which",
            f"An answer to {exercise.name} does not give what is expected "
            f"(“{found.title}”).",
            one.hint,
            code=("it gives", *grids[0].split("\n"), "expected", *grids[1].split("\n")),
            choose="Which mistake is it?",
            options=(
                first_sentence(one.hint)[0],
                *_chance(one.name).sample(sorted(firsts), 2),
            ),
        )
        count += 1
        if count == OF_A_KIND:
            return


def _alike(one: Answer, other: Answer) -> bool:
    """Whether two answers to a case show the same."""
    if one.value is None or other.value is None:
        return one.raised == other.raised
    return str(one.value) == str(other.value)
