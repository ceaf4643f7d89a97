"""Look for an explanation of a wrong answer: first its cause, then where it shows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from autograder.symptoms import (
    arrangement,
    factors,
    functions,
    places,
    shapes,
    sizes,
    zeros,
)
from autograder.symptoms.detectors import Detector
from autograder.symptoms.names import names_differ, other_names
from autograder.symptoms.outcomes import (
    Outcome,
    Pair,
    agree,
    all_came,
    valued,
    wrong_pairs,
)
from autograder.symptoms.parts import wrong_entries, wrong_mode
from autograder.symptoms.structure import (
    bytes_for_a_value,
    dictionary_for_a_list,
    different_inputs,
    exchanged_results,
    function_for_a_value,
    generator_for_a_value,
    inputs_changed,
    kept_from_the_first,
    layer_for_a_value,
    list_for_a_dictionary,
    list_for_an_array,
    method_for_a_value,
    no_numbers,
    none_for_a_result,
    nothing_returned,
    other_kind,
    other_structure,
    refused,
    too_large,
)
from autograder.symptoms.subject import (
    NUMBERS,
    ORDINALS,
    afterwards,
    may_explain_others,
    of_several,
    results_are_known,
    scope,
    unchanged,
    wrong_alone,
)

LOST = (
    "In the others, look for an overflow, a division by zero, or a softmax of nothing "
    "but minus infinity."
)

# In this order.
_ASKED = (shapes, factors, places, functions, zeros, arrangement, sizes)
CAUSES = [detector for module in _ASKED for detector in module.detectors.causes]
CHANGES = [
    shapes.another_kind,
    shapes.permuted_axes,
    shapes.moved_along_an_axis,
    factors.constant_factor,
    factors.numbers_times_sizes,
    factors.constant_offset,
    factors.divided_by_sums,
    places.clipped,
    shapes.one_number,
    shapes.summed,
    shapes.number_for_infinity,
    arrangement.interleaved,
]
TRACES = [detector for module in _ASKED for detector in module.detectors.traces]


def find_cause(outcomes: Sequence[Outcome]) -> str:
    """A relation that nearly says what was done, or an empty text.

    Args:
        outcomes: both answers to each case of an exercise that was answered wrongly.
    """
    return _first_of(outcomes, _cause)


def find_change(outcomes: Sequence[Outcome], beside: bool = False) -> str:
    """What was done to results that can hardly be an accident, or an empty text.

    Fewer relations than in ``find_cause``, and none that says what is right besides.

    Args:
        outcomes: both answers to each case of an exercise that was answered wrongly.
        beside: whether it is enough if results were changed, whatever was computed
            from them, such as a gradient, which is changed in another way.
    """

    def find(some: Sequence[Outcome]) -> str:
        pairs = wrong_pairs(some)
        if any(pair.role and pair.role.name for pair in pairs):
            return ""  # inputs are wrong
        told, where = _ask(CHANGES, pairs), ""
        returned = [pair for pair in pairs if pair.role]
        if beside and not told and len(returned) < len(pairs):
            pairs, where = returned, "In what a call returns: "
            told = _ask(CHANGES, pairs)
        if told:
            told = _of_all(some, pairs, told)
            return f"{where}{of_several(some, pairs)}{told}"
        return exchanged_results(some)

    return _first_of(outcomes, find)


def _of_all(outcomes: Sequence[Outcome], wrong: Sequence[Pair], told: str) -> str:
    """What is told of a change, and that it was not made where it would show.

    Half of nothing is nothing, and a single value transposed is itself: results like
    these are no exceptions.
    """
    limits = scope(outcomes, wrong)
    if not limits or not all_came(outcomes):
        return f"{told}{limits}"
    kept = unchanged(outcomes, wrong)
    everywhere = _ask(CHANGES, [*wrong, *kept])
    if _without_sizes(everywhere) == _without_sizes(told):
        return everywhere
    return f"{told} Other results are not changed." if kept else told


def _without_sizes(told: str) -> str:
    return told.split(" (the sizes")[0]


def find_trace(outcomes: Sequence[Outcome]) -> str:
    """Where and how it shows that something is wrong, or an empty text.

    Args:
        outcomes: both answers to each case of an exercise that was answered wrongly.
    """
    return _first_of(outcomes, _trace) or too_large(outcomes)


def _first_of(
    outcomes: Sequence[Outcome], find: Callable[[Sequence[Outcome]], str]
) -> str:
    """What is found in all cases, or else in those that return results as they are.

    Some cases return something made from the results, such as gradients, in which a
    relation between the results does not show.
    """
    told = find(outcomes)
    direct = [o for o in outcomes if o.roles]
    wrong = [o for o in valued(direct) if not agree(o, o.right.value, o.given.value)]
    if told or len(direct) == len(outcomes) or len(wrong) < 2:
        return told
    return find(direct)


def _cause(outcomes: Sequence[Outcome]) -> str:
    for find in (
        nothing_returned,
        kept_from_the_first,
        method_for_a_value,
        generator_for_a_value,
        function_for_a_value,
        layer_for_a_value,
        bytes_for_a_value,
        no_numbers,
        other_kind,
        dictionary_for_a_list,
        refused,
        inputs_changed,
        names_differ,
        none_for_a_result,
        other_structure,
        list_for_a_dictionary,
        list_for_an_array,
    ):
        told = find(outcomes)
        if told:
            return told
    pairs = wrong_pairs(outcomes)
    if _cut_off(outcomes, pairs):
        return (
            "The results are right, but what is computed from them afterwards, such as "
            "a gradient, is zero: something cuts them off from the inputs (detach(), "
            "item(), a new tensor made of their values)."
        )
    told = wrong_mode(outcomes)
    if told:
        return told
    named, told = wrong_entries(outcomes), _ask(CAUSES, pairs)
    if named:
        return " ".join(filter(None, (named, told)))
    if not told:
        return ""
    about = afterwards(outcomes, pairs) or of_several(outcomes, pairs)
    return f"{about}{told}{scope(outcomes, pairs)}"


def _trace(outcomes: Sequence[Outcome]) -> str:
    pairs = wrong_pairs(outcomes)
    changed = different_inputs(outcomes)
    if changed:
        return f"{changed} Mend that first; other differences may follow from it."
    told = other_names(outcomes) or _one_of_several(outcomes, pairs)
    if told:
        return told
    # What lacks an axis may be stretched afterwards, and a sum only hide that.
    told = _ask_of_a_part([sizes.axis_of_size_one], outcomes, pairs)
    if told:
        return f"{afterwards(outcomes, pairs)}{told}{scope(outcomes)}"
    for detectors in (CAUSES, TRACES):
        told = detectors is TRACES and _ask(TRACES, pairs)
        if told:
            about = afterwards(outcomes, pairs) or of_several(outcomes, pairs)
            return f"{about}{told}{scope(outcomes, pairs)}"
        told = _ask_of_a_part(detectors, outcomes, pairs)
        if told:
            return f"{afterwards(outcomes, pairs)}{told}{scope(outcomes)}"
    return wrong_alone(outcomes)


def _ask_of_a_part(
    detectors: Sequence[Detector], outcomes: Sequence[Outcome], pairs: Sequence[Pair]
) -> str:
    """What holds for a part of the wrong results that can be named, and for which."""
    finite = [p for p in pairs if np.isfinite(p.given).all()]
    if len(finite) < len(pairs) and not any(np.isinf(p.right).any() for p in finite):
        told = _ask(detectors, finite)
        if told:
            others = [p for p in pairs if not np.isfinite(p.given).all()]
            lost = f" {LOST}" if all(map(_is_lost, others)) else ""
            return f"In the results without NaN or infinity: {told}{lost}"
    direct = [p for p in pairs if p.role and p.role.name is None]
    counts = {p.role.count for p in direct}
    if counts == {1} and len(direct) < len(pairs):
        told = _ask(detectors, direct)
        if told:
            return f"In what a call returns: {told}"
    indices = sorted({p.role.index for p in direct})
    if len(counts) != 1 or len(indices) < 2:
        return ""
    (count,) = counts
    first = [index for index in indices if may_explain_others(outcomes, index)]
    for group in (first, [index for index in indices if index not in first]):
        for detect, index in itertools.product(detectors, group):
            told = _ask([detect], [p for p in direct if p.role.index == index])
            if told:
                alone = len(first) == 1 and count == 2
                return (
                    f"Of the {NUMBERS.get(count, count)} results, the "
                    f"{ORDINALS.get(index, str(index + 1))}: {told} "
                    f"{_about_others(count, index in first, alone)}"
                )
    return ""


def _about_others(count: int, explains: bool, alone: bool) -> str:
    """How a wrong result of several relates to the others.

    Args:
        count: of the results of a call.
        explains: whether it is wrong wherever another one is.
        alone: whether one of two results is, and the other is not.
    """
    if explains and alone:
        return (
            "(In some calls it is wrong and the other is right, so look at it first.)"
        )
    others = "the other is" if count == 2 else "others are"
    why = "which may follow from it" if explains else "also where this one is right"
    return f"(And {others} wrong as well, {why}.)"


def _is_lost(pair: Pair) -> bool:
    """Whether NaN or infinity stands where a number belongs."""
    if pair.right.shape != pair.given.shape:
        return False
    return bool((np.isfinite(pair.right) & ~np.isfinite(pair.given)).any())


def _cut_off(outcomes: Sequence[Outcome], wrong: Sequence[Pair]) -> bool:
    """Whether all that is wrong is zero, and no result of a call itself."""
    if not wrong or not results_are_known(outcomes):
        return False
    return all(
        p.role is None and p.right.ndim > 0 and (p.given == 0).all() for p in wrong
    )


def _ask(detectors: Sequence[Detector], pairs: Sequence[Pair]) -> str:
    """The first thing that one of the detectors says."""
    if not pairs:
        return ""
    with np.errstate(all="ignore"):
        for detect in detectors:
            told = detect(pairs)
            if told:
                return told
    return ""


def _one_of_several(outcomes: Sequence[Outcome], wrong: Sequence[Pair]) -> str:
    """Which results of several are wrong, and what can be said of them alone."""
    wrong = [pair for pair in wrong if pair.role]
    told = of_several(outcomes, wrong)
    if not told.endswith(". ") or any(
        o.given.raised or o.given.unreadable for o in outcomes if not o.right.raised
    ):
        return ""
    more = _ask([*CAUSES, *TRACES], wrong)
    return f"{told}{more}{scope(outcomes, wrong)}" if more else told.rstrip()
