"""What wrong calls have in common is told if no call that is right has it."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.answers import Answer
from autograder.symptoms.calls import find_condition, judged_calls
from autograder.symptoms.conditions import Judged
from autograder.symptoms.outcomes import Outcome
from autograder.variants import Role

KNOWN = {
    "plain": {"x": 1},
    "none": {"x": 1, "mask": None},
    "mask": {"x": 1, "mask": np.ones(2)},
    "causal": {"x": 1, "causal": True},
    "free": {"x": 1, "causal": False},
    "zero": {"x": 1, "pad_id": 0},
    "three": {"x": 1, "pad_id": 3},
    "both": {"x": 1, "pad_id": 3, "causal": True},
    "dot": {"score": "dot"},
    "cosine": {"score": "cosine"},
    "general": {"score": "general"},
    "general r": {"score": "general", "r": 3},
}
OPTIONAL = {"mask": None, "causal": False, "pad_id": None, "r": None}


def case(calls, is_wrong, verdicts=None):
    """A case of calls of a function of ``x``, which may be told apart or not."""
    unknown = is_wrong and len(calls) > 1
    verdict = None if unknown else is_wrong
    return Judged(is_wrong, calls, verdicts or [verdict] * len(calls))


def judged(right, wrong, verdicts=None):
    """Cases of a call for each text, those that are wrong last."""
    return [
        case([KNOWN[name] for name in names.split(", ")], w, verdicts if w else None)
        for names, w in [(n, False) for n in right] + [(n, True) for n in wrong]
    ]


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        (
            ["plain", "causal"],
            ["mask", "plain, mask"],
            "cases in which `mask` is given are wrong.",
        ),
        (["mask", "mask"], ["plain", "none"], "in which `mask` is left out are wrong:"),
        (
            ["plain", "mask"],
            ["causal", "free"],
            "cases in which `causal` is given are wrong.",
        ),
        (["free, mask", "free"], ["causal"], "in which `causal` is True are wrong."),
        (
            ["causal", "causal"],
            ["free", "plain"],
            "in which `causal` is False are wrong.",
        ),
        (["plain, three", "three"], ["zero"], "in which `pad_id` is 0 are wrong. Whe"),
        (["dot", "dot"], ["general", "general r"], "in which `score` is 'general' are"),
        (["plain, mask", "plain"], ["mask"], ""),  # both have a mask
        (["general", "general r"], ["dot, cosine"], ""),  # which of the two?
        (["general", "general r"], ["dot", "dot, cosine"], "`score` is 'dot' are"),
        (["plain"], ["mask"], ""),  # one case is right: too few to say
        (["plain", "causal"], ["plain"], ""),
        (["zero, three", "three"], ["zero"], ""),
        (["dot", "general r"], ["general", "general r"], ""),
    ],
)
def test_argument_that_only_wrong_cases_have_is_named(right, wrong, says):
    told = find_condition(judged(right, wrong), OPTIONAL)
    assert says in told
    assert bool(told) == bool(says)


def test_single_calls_decide_where_they_are_told_apart():
    cases = judged(["plain", "plain"], ["zero, three"])
    assert "in which `pad_id` is given are wrong" in find_condition(cases, OPTIONAL)
    cases = judged(["plain", "plain"], ["zero, three"], [True, False])
    assert "Exactly the calls in which `pad_id` is 0" in find_condition(cases, OPTIONAL)
    cases = judged(["plain", "plain"], ["three, both"], [False, True])
    assert "Exactly the calls in which `causal` is True" in find_condition(
        cases, OPTIONAL
    )
    cases = judged(["plain", "plain"], ["three, three"], [False, True])
    assert find_condition(cases, OPTIONAL) == ""


def test_a_text_that_somebody_wrote_is_no_name():
    texts = [{"text": "a"}, {"text": "b"}, {"text": "b"}, {"text": "a b"}]
    cases = [case([call], n == 0) for n, call in enumerate(texts)]
    assert find_condition(cases, {}) == ""
    cases[-1] = case([{"text": "b"}], False)
    assert "in which `text` is 'a' are wrong." in find_condition(cases, {})


def test_a_wrong_case_without_a_call_has_nothing_to_do_with_its_arguments():
    cases = [case([{"kdim": 3}], False), case([{}], False), case([{"kdim": 4}], False)]
    assert find_condition([*cases, Judged(True, [], [])], {"kdim": None}) == ""


def test_sizes_that_wrong_cases_share():
    square, wide = {"x": np.ones((2, 3, 3))}, {"x": np.ones((2, 3, 4))}

    def told(*wrong):
        calls = [square, wide, square, wide]
        return find_condition(
            [case([call], w) for call, w in zip(calls, wrong, strict=False)], {}
        )

    assert "last two sizes of `x`" in told(True, False, True, False)
    assert told(True, False, False, False) == ""
    assert told(True, False, True) == ""  # too few are right


def test_two_arguments_that_wrong_cases_have_both():
    optional = {"mask": None, "norm_first": False}
    mask = np.ones(3, bool)
    calls = [
        {"mask": mask},
        {"mask": mask, "norm_first": True},
        {},
        {"norm_first": True},
    ]

    def told(*wrong):
        return find_condition(
            [case([call], w) for call, w in zip(calls, wrong, strict=True)], optional
        )

    assert "in which `mask` is given and `norm_first` is False are wrong." in told(
        True, False, False, False
    )
    assert told(True, False, False, True) == ""


def test_whole_numbers_that_wrong_calls_have():
    def told(right, wrong):
        return find_condition(
            [case([dict(zip("nm", one, strict=True))], False) for one in right]
            + [case([dict(zip("nm", one, strict=True))], True) for one in wrong],
            {},
        )

    assert told([(2, 4), (3, 5)], [(0, 7)]).endswith("`n` is 0 are wrong.")
    assert told([(0, 4), (0, 1)], [(3, 7)]).endswith("`n` is not 0 are wrong.")
    right = [(2, 4), (3, 3), (1, 9), (5, 6)]
    wrong = [(5, 4), (9, 1), (3, 2), (8, 7)]
    assert told(right, wrong).endswith("in which `n` is larger than `m` are wrong.")
    assert told([*right, (7, 6)], wrong) == ""
    assert told(right, wrong[:3]) == ""  # that may be an accident
    assert told(right, [*wrong[:3], wrong[0]]) == ""


def test_blocks_that_do_not_fill_an_axis():
    def told(right, wrong):
        def given(block, size):
            return {"x": np.ones((2, size, 3)), "block": block}

        return find_condition(
            [case([given(*one)], False) for one in right]
            + [case([given(*one)], True) for one in wrong],
            {},
        )

    right, wrong = [(2, 4), (3, 9), (1, 7), (8, 5)], [(2, 5), (3, 7), (4, 9), (4, 6)]
    assert told(right, wrong).startswith(
        "Exactly the cases in which `block` is smaller than the last axis but one of "
        "`x` and does not divide it are wrong"
    )
    assert told([*right, (2, 3)], wrong) == ""
    assert told(right, [*wrong, (2, 2)]) == ""
    assert told(right, wrong[:3]) == ""  # that may be an accident


def test_object_that_an_earlier_call_was_given():
    def told(*verdicts, fresh=()):
        cases = []
        for of_case in verdicts:
            cache = [1]
            calls = [
                {"cache": [1] if n in fresh else cache} for n, _ in enumerate(of_case)
            ]
            cases.append(Judged(any(of_case), calls, of_case))
        return find_condition(cases, {})

    says = "Exactly the calls in which an earlier call was given the same `cache` are"
    assert told([False], [False, True, True], [False, True]).startswith(says)
    assert told([False], [False, True, False], [False, True]) == ""
    assert told([False], [True, True, True], [False, True]) == ""
    assert told([False], [False, True], [False, True]) == ""  # too few
    assert told([False], [False, True, True], [False, True], fresh=(1,)) == ""


def test_large_values_that_only_wrong_cases_have():
    def cases(*both, verdicts=None):
        return [
            case([{"x": np.array([0.1, -size])} for size in sizes], w, verdicts)
            for sizes, w in both
        ]

    usual, large = ([3.0], False), ([2.0, 4000.0], True)
    says = "Only cases in which `x` has values beyond 100, of either sign, are wrong"
    assert find_condition(cases(usual, usual, large), {}).startswith(says)
    assert find_condition(cases(usual, ([900.0], False), large), {}) == ""
    assert find_condition(cases(usual, usual, large, ([4.0], True)), {}) == ""
    assert find_condition(cases(usual, large), {}) == ""  # one is right: too few
    (first,) = cases(large, verdicts=[True, False])
    assert find_condition([*cases(usual, usual), first], {}) == ""


# Which calls are wrong ----------------------------------------------------------------

ONE, TWO = np.arange(3.0), np.arange(4.0)
OF_TWO_CALLS = {(0,): Role(call=0), (1,): Role(call=1)}


def verdicts(right, given, roles, number=2):
    outcome = Outcome(Answer(value=right), Answer(value=given), 1e-5, 1e-6, roles)
    return judged_calls(outcome, number)


def test_calls_are_judged_by_their_results():
    assert verdicts([ONE, TWO], [ONE, -TWO], OF_TWO_CALLS) == [False, True]
    assert verdicts([ONE, TWO], [-ONE, -TWO], OF_TWO_CALLS) == [True, True]
    assert verdicts([ONE, TWO], [ONE, -TWO], OF_TWO_CALLS, 3) == [False, True, None]
    both = {(0,): Role(None, 0, 2, None, 0), (1,): Role(None, 1, 2, None, 0)}
    assert verdicts([ONE, TWO], [ONE, -TWO], both, 1) == [True]
    assert verdicts([ONE, TWO], [None, TWO], OF_TWO_CALLS) == [True, False]


def test_calls_are_not_judged_where_nothing_shows_which_is_wrong():
    assert verdicts([ONE, TWO], [ONE], OF_TWO_CALLS) == [True, True]  # both are lost
    assert verdicts([ONE, TWO, ONE], [ONE, TWO, -ONE], OF_TWO_CALLS) == [None, None]
    same = {(0,): Role(call=1), (1,): Role(call=1)}  # equal numbers are one object
    assert verdicts([ONE, ONE], [ONE, -ONE], same) == [None, None]
    raised = Outcome(Answer(value=ONE), Answer(raised="ValueError"), 0, 0, OF_TWO_CALLS)
    assert judged_calls(raised, 2) == [None, None]
