"""Right values in a wrong form: nothing returned, another order, an input changed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from autograder.lessons import RAISED_BY_YOU
from autograder.lessons.sentences import LAYER_GIVEN, LAYERS
from autograder.symptoms.outcomes import (
    MAX_VALUES,
    Outcome,
    agree,
    aligned,
    all_came,
    distinct,
    valued,
    varied,
)
from autograder.variants import Path

LEAST_CALLS = 3  # that return the same
LEAST_BITS = 16  # truth values in which another order is no accident
ALL_NONE = (
    "All results are None: there are names or places for them, but no values. Return "
    "what you computed."
)
KEPT_FROM_THE_FIRST = (
    "Every call returns the right result of the first call, whatever it is given: "
    "something is kept from one call to the next, such as a global variable, a cache, "
    "or a default value that is an array or a list."
)
NOTHING_RETURNED = (
    "Nothing was returned. What a function prints or computes is lost unless it ends "
    "with a return statement."
)

_DICTIONARY = "the result is a dictionary"
DICTIONARY_GIVEN = (
    "A dictionary stands where none is asked for: look at Returns in the docstring. "
    "The keys of one are list(d), its values list(d.values())."
)
LISTED_FOR_A_DICTIONARY = (
    "A list or an array stands where a dictionary is asked for: look at Returns in the "
    "docstring. dict(zip(names, values)) makes one of names and of what belongs to "
    "them."
)
LIST_GIVEN = (
    "A list or a tuple comes where one array is asked for, and its values were not "
    "looked at. np.stack and torch.stack make one array of several, np.array and "
    "torch.tensor make one of numbers."
)
OBJECTS_GIVEN = (
    "Your array has dtype object: it holds Python objects, not plain numbers. Lists of "
    "different lengths make such arrays, and so does None among numbers. If all of the "
    "objects are numbers, astype(float) converts them."
)
COMPLEX_GIVEN = (
    "Your result holds complex numbers where real ones are asked for: .real is their "
    "real part, and view_as_real has both parts side by side."
)
TEXT_GIVEN = (
    "A text stands where numbers are asked for. str, repr and format make texts for "
    "people to read: return the numbers that yours was made of."
)
BYTES_AMONG_NUMBERS = (
    "Your result holds bytes where numbers are asked for: b'a' is an object of type "
    "bytes, and b'a'[0] is its number, 97."
)
TEXTS_GIVEN = (
    "Your result holds texts where numbers are asked for: '7' is a text, and int('7') "
    "is the number."
)
TOO_LARGE = (
    "A result is too large to be searched for what went wrong. Compare its shape with "
    "the one in the docstring: two shapes may have been stretched to a common one."
)
BYTES_GIVEN = (
    'Bytes are returned. b.decode("utf-8") makes a text of them, with '
    'errors="replace" whatever they are, and list(b) their numbers: look at Returns '
    "in the docstring."
)
GENERATOR_GIVEN = (
    "A generator stands where its values are asked for. A for inside of round brackets "
    "makes one, and so does yield in place of return; no value of it is computed yet. "
    "Square brackets make a list, and np.array or torch.stack an array of that."
)
FUNCTION_GIVEN = (
    "A function stands where its result is asked for: brackets are missing behind its "
    "name, or a function that is defined within yours is returned in place of a value."
)
METHOD_GIVEN = (
    "A method stands where its result is asked for. If it is called without brackets, "
    "as a property is, it needs @property in the line above its def; if you use it "
    "yourself, its brackets are missing."
)


def nothing_returned(outcomes: Sequence[Outcome]) -> str:
    """Wherever something is wrong, the first of it is that ``None`` was returned.

    A case that puts what it made of results under names shows no whole result: it says
    nothing for itself, and nothing against it if all that is wrong is None.
    """
    whole = False
    for outcome in valued(outcomes):
        wrong = [
            (path, value)
            for path, right, value in aligned(outcome)
            if not agree(outcome, right, value)
        ]
        if not wrong:
            continue
        first, value = wrong[0]
        if value is not None:
            return ""
        if _is_whole_result(outcome, first):
            whole = True
        elif any(value is not None for _, value in wrong):
            return ""
    return NOTHING_RETURNED if whole else ""


def kept_from_the_first(outcomes: Sequence[Outcome]) -> str:
    """Every call returns what the first one should, whatever it was given."""
    both = [
        (right, given)
        for outcome in valued(outcomes)
        for path, right, given in aligned(outcome)
        if (role := outcome.roles.get(path)) and role.name is None and role.count == 1
    ]
    if len(both) < LEAST_CALLS or not all_came(outcomes):
        return ""
    if not all(isinstance(part, np.ndarray) for pair in both for part in pair):
        return ""
    first, _ = both[0]
    bits = first.dtype.kind == "b" and first.size >= LEAST_BITS
    if not (bits or varied(first.ravel().astype(float))):
        return ""
    others = [right for right, _ in both if not np.array_equal(right, first)]
    if len(others) < LEAST_CALLS - 1:
        return ""
    if all(np.array_equal(given, first) for _, given in both):
        return KEPT_FROM_THE_FIRST
    return ""


def _is_whole_result(outcome: Outcome, path: Path) -> bool:
    """Whether all that a call returned stands at a place in an answer.

    One result of several may be None, and so may a gradient, although something was
    returned.
    """
    if not outcome.roles:
        return path == ()
    return any(
        role.name is None and where[: len(path)] == path
        for where, role in outcome.roles.items()
        if where != path or role.count == 1
    )


def refused(outcomes: Sequence[Outcome]) -> str:
    """All that is wrong is that an error was raised by the answer's own checks."""
    kinds, lines = set(), set()
    for outcome in outcomes:
        if outcome.right.raised is not None:
            continue
        if outcome.given.raised is not None:
            kinds.add(outcome.given.raised)
            lines.add(outcome.given.origin.line)
        elif outcome.given.unreadable is not None or not agree(
            outcome, outcome.right.value, outcome.given.value
        ):
            return ""
    if kinds == {"ValueError"} and all(line.startswith("raise ") for line in lines):
        return RAISED_BY_YOU
    if kinds == {"ValueError"} and valued(outcomes):
        return (
            "The cases that fail raise a ValueError where a value was expected; all "
            "other values are right. See which line raises it, and what that line was "
            "given."
        )
    return ""


def inputs_changed(outcomes: Sequence[Outcome]) -> str:
    """All that is wrong are inputs, looked at after the call."""
    changed = _wrong_inputs(outcomes)
    if None in changed or len(valued(outcomes)) < sum(
        outcome.right.raised is None for outcome in outcomes
    ):
        return ""
    told = different_inputs(outcomes)
    if not told:
        return ""
    return f"The results are right, but {told} Work on a copy, or make new arrays."


def different_inputs(outcomes: Sequence[Outcome]) -> str:
    """That inputs are others after the call, whatever else is wrong."""
    changed = [name for name in _wrong_inputs(outcomes) if name]
    if not changed:
        return ""
    names = " and ".join(f"`{name}`" for name in changed)
    verb = "is" if len(changed) == 1 else "are"
    return f"{names} {verb} different after the call: something was changed in place."


def _wrong_inputs(outcomes: Sequence[Outcome]) -> list[str | None]:
    """The names of inputs that are wrong, each once; ``None`` for whatever else is."""
    wrong = [
        outcome.roles.get(path)
        for outcome in valued(outcomes)
        for path, right, given in aligned(outcome)
        if not agree(outcome, right, given)
    ]
    return list(dict.fromkeys(role.name if role else None for role in wrong))


def method_for_a_value(outcomes: Sequence[Outcome]) -> str:
    """A method stands where its result is asked for."""
    kinds = "method|builtin_function_or_method"
    return METHOD_GIVEN if _is_of_type(outcomes, kinds) else ""


def generator_for_a_value(outcomes: Sequence[Outcome]) -> str:
    """Values that are not computed yet stand where they are asked for."""
    kinds = "(async_)?generator|map|zip|filter|enumerate|reversed"
    return GENERATOR_GIVEN if _is_of_type(outcomes, kinds) else ""


def bytes_for_a_value(outcomes: Sequence[Outcome]) -> str:
    """Bytes, which are neither a text nor its numbers."""
    return BYTES_GIVEN if _is_of_type(outcomes, "bytes|bytearray") else ""


def layer_for_a_value(outcomes: Sequence[Outcome]) -> str:
    """A layer of torch stands where its result is asked for."""
    return LAYER_GIVEN if _is_of_type(outcomes, LAYERS) else ""


def no_numbers(outcomes: Sequence[Outcome]) -> str:
    """An array of what no real numbers are: objects, complex numbers, or texts."""
    for kind, told in (
        (r"object\b", OBJECTS_GIVEN),
        ("complex", COMPLEX_GIVEN),
        ("<U", TEXTS_GIVEN),
        (r"\|S", BYTES_AMONG_NUMBERS),
    ):
        if _unreadable(outcomes, rf"the result holds values of type {kind}"):
            return told
    return ""


def too_large(outcomes: Sequence[Outcome]) -> str:
    """A result that is too large to be sent, or to be searched for a reason."""
    if _unreadable(outcomes, r"the result has \d+ bytes;") or any(
        isinstance(given, np.ndarray) and given.size > MAX_VALUES
        for outcome in valued(outcomes)
        for _, _, given in aligned(outcome)
    ):
        return TOO_LARGE
    return ""


def _is_of_type(outcomes: Sequence[Outcome], kinds: str) -> bool:
    return _unreadable(outcomes, f"the result is of type ({kinds});")


def _unreadable(outcomes: Sequence[Outcome], text: str) -> bool:
    told = [o.given.unreadable or "" for o in outcomes if o.right.is_value]
    return any(re.match(text, one) for one in told)


def dictionary_for_a_list(outcomes: Sequence[Outcome]) -> str:
    """A dictionary that cannot be read, where no dictionary is part of any result."""
    if any(
        (o.given.unreadable or "").startswith(_DICTIONARY)
        and not _holds_dictionary(o.right.value)
        for o in outcomes
        if o.right.is_value
    ):
        return DICTIONARY_GIVEN
    return ""


def _holds_dictionary(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_holds_dictionary, value))
    return isinstance(value, dict)


def function_for_a_value(outcomes: Sequence[Outcome]) -> str:
    """A function stands where its result is asked for."""
    return FUNCTION_GIVEN if _is_of_type(outcomes, "function") else ""


def other_kind(outcomes: Sequence[Outcome]) -> str:
    """Wherever something differs, a text or a dictionary stands where none belongs."""
    for kind, told in ((str, TEXT_GIVEN), (dict, DICTIONARY_GIVEN)):
        if _all_that_differs(
            outcomes,
            lambda right, given, kind=kind: (
                isinstance(given, kind) and not isinstance(right, kind)
            ),
        ):
            return told
    return ""


def _all_that_differs(
    outcomes: Sequence[Outcome], holds: Callable[[Any, Any], bool]
) -> bool:
    """Whether something differs, and all of it, right and given, is of one kind."""
    found = 0
    for outcome in valued(outcomes):
        wrong = [
            (path, right, given)
            for path, right, given in aligned(outcome)
            if not agree(outcome, right, given)
        ]
        counting = [
            holds(right, given)
            for path, right, given in wrong
            if not _flows_back(outcome, path, given)
        ]
        if not all(counting) or bool(counting) < bool(wrong):
            return False
        found += len(counting)
    return found > 0


def _flows_back(outcome: Outcome, path: Path, given: Any) -> bool:
    """Whether a part is what flows back from results: nothing, if they are no tensors.

    Such a gradient is zero, and what is wrong with the results of its case explains it.
    """
    computed = bool(outcome.roles) and path not in outcome.roles
    return computed and isinstance(given, np.ndarray) and not given.any()


def none_for_a_result(outcomes: Sequence[Outcome]) -> str:
    """None and a result where the other one is asked for; what is there is right."""
    lost = extra = good = 0
    for outcome in valued(outcomes):
        results = list(aligned(outcome))
        if len(results) > 1 and all(given is None for _, _, given in results):
            return ALL_NONE
        for _, right, given in results:
            if agree(outcome, right, given):
                good += 1
                continue
            lost += right is not None and given is None
            extra += right is None and given is not None
            if right is not None and given is not None:
                return ""
    if not good or not all_came(outcomes):
        return ""
    if lost and extra:
        return (
            "A result is None wherever it is asked for, and is there wherever None is "
            "asked for: a condition is the wrong way round. All others are right."
        )
    if lost:
        return "One result is None where a value is asked for; the others are right."
    if extra:
        return "A result is there where None is asked for; the others are right."
    return ""


def _stacked(value: Any) -> np.ndarray | None:
    """A nested list as one array, if it is a regular one."""
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, list) or not value:
        return None
    parts = [_stacked(item) for item in value]
    if any(p is None or p.shape != parts[0].shape for p in parts):  # type: ignore[union-attr]
        return None
    return np.stack(parts)  # type: ignore[arg-type]


def _reordered(right: Any, given: Any, agrees: Callable[[Any, Any], bool]) -> bool:
    if not (
        isinstance(right, list) and isinstance(given, list) and len(right) == len(given)
    ):
        return False
    if not 2 <= len(right) <= 4:
        return False
    return any(
        agrees(right, [given[i] for i in order])
        for order in itertools.permutations(range(len(right)))
        if order != tuple(range(len(right)))
    )


_STRUCTURES: list[tuple[Callable[[Any, Any, Callable], bool], str]] = [
    (
        lambda right, given, agrees: (
            isinstance(given, list) and len(given) == 1 and agrees(right, given[0])
        ),
        "The values are right, but they come inside a tuple or list of one. A comma at "
        "the end of a return statement makes a tuple.",
    ),
    (
        lambda right, given, agrees: (
            isinstance(right, np.ndarray)
            and isinstance(given, list)
            and (stacked := _stacked(given)) is not None
            and agrees(right, stacked)
        ),
        "The values are right, but they come as a list where one array is expected: "
        "stack its parts.",
    ),
    (
        _reordered,
        "The values are right, but they come in another order than the docstring asks "
        "for: your results, or what you pass on to something else.",
    ),
    (
        lambda right, given, agrees: (
            isinstance(right, list)
            and isinstance(given, list)
            and len(given) > len(right)
            and agrees(right, given[: len(right)])
        ),
        "What was asked for is right, but more results are returned than that.",
    ),
    (
        lambda right, given, agrees: (
            isinstance(right, list)
            and len(right) > 1
            and any(agrees(part, given) for part in right)
        ),
        "One of several results is returned, and it is right; the others are missing.",
    ),
    (
        lambda right, given, agrees: (
            isinstance(given, list)
            and len(given) > 1
            and not isinstance(right, list)
            and any(agrees(right, part) for part in given)
        ),
        "The right result is there, but others are returned along with it.",
    ),
]


def other_structure(outcomes: Sequence[Outcome]) -> str:
    """Right values in another structure, in every place where something differs."""
    for holds, sentence in _STRUCTURES:
        if _everywhere(outcomes, holds):
            accident = holds is _reordered and not _hold_enough(outcomes)
            return "" if accident else sentence
    return ""


def list_for_a_dictionary(outcomes: Sequence[Outcome]) -> str:
    """Wherever something differs, values without names stand where names belong."""
    is_listed = _all_that_differs(
        outcomes,
        lambda right, given: (
            isinstance(right, dict) and isinstance(given, list | np.ndarray)
        ),
    )
    return LISTED_FOR_A_DICTIONARY if is_listed else ""


def list_for_an_array(outcomes: Sequence[Outcome]) -> str:
    """Wherever something differs, a list stands where one array is asked for."""
    is_listed = _all_that_differs(
        outcomes,
        lambda right, given: isinstance(right, np.ndarray) and isinstance(given, list),
    )
    return LIST_GIVEN if is_listed else ""


def exchanged_results(outcomes: Sequence[Outcome]) -> str:
    """Several right results in another order, wherever something differs."""
    if not _everywhere(outcomes, _reordered) or not _hold_enough(outcomes):
        return ""
    return "The results are right, but they come in another order."


def _hold_enough(outcomes: Sequence[Outcome]) -> bool:
    """Whether what is wrong holds so much that another order of it is no accident."""
    values = [
        np.concatenate([np.zeros(0), *map(np.ravel, _arrays(outcome.right.value))])
        for outcome in valued(outcomes)
        if not agree(outcome, outcome.right.value, outcome.given.value)
    ]
    every = np.concatenate([np.zeros(0), *values])
    return varied(every) or (distinct(every) == 2 and every.size >= LEAST_BITS)


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        if np.isfinite(value).all():
            yield value.astype(float)
        return
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(value, list | dict):
        for part in parts:
            yield from _arrays(part)


def _everywhere(outcomes: Sequence[Outcome], holds: Callable) -> bool:
    """Whether a relation explains something, and all that differs."""
    found = 0
    for outcome in valued(outcomes):

        def agrees(right: Any, given: Any, outcome: Outcome = outcome) -> bool:
            return agree(outcome, right, given)

        def follows(path: Path, given: Any, outcome: Outcome = outcome) -> bool:
            return _flows_back(outcome, path, given)

        both = (outcome.right.value, outcome.given.value)
        count = _explained(*both, agrees, holds, follows)
        if count is None or (count == 0 and not agrees(*both)):
            return False
        found += count
    return found > 0


def _explained(
    right: Any,
    given: Any,
    agrees: Callable,
    holds: Callable,
    follows: Callable[[Path, Any], bool],
    path: Path = (),
) -> int | None:
    """In how many places ``holds`` explains what differs; ``None`` if not in all."""
    if agrees(right, given) or follows(path, given):
        return 0
    if holds(right, given, agrees):
        return 1
    if isinstance(right, dict) and isinstance(given, dict) and set(right) == set(given):
        both = [(name, right[name], given[name]) for name in right]
    elif (
        isinstance(right, list) and isinstance(given, list) and len(right) == len(given)
    ):
        both = list(zip(range(len(right)), right, given, strict=True))
    else:
        return None
    counts = [
        _explained(one, other, agrees, holds, follows, (*path, place))
        for place, one, other in both
    ]
    return None if None in counts else sum(counts)
