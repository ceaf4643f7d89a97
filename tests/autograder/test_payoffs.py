"""What a right answer is good for: sentences, and the answer at work."""

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup

from autograder import torch_payoffs  # noqa: F401, adds to PAYOFFS
from autograder.check import below_verdict, examine_here
from autograder.exercise import find_topic, load_topic, topic_names
from autograder.model_trial import PLACES
from autograder.payoffs import PAYOFFS, paid

CORE = {
    name: exercise
    for topic in topic_names()
    for name, exercise in load_topic(topic).exercises.items()
    if exercise.core
}


@pytest.mark.parametrize("name", CORE)
def test_a_core_exercise_says_in_one_sentence_what_is_right(name):
    said = CORE[name].right
    assert said[0].isupper() and said[-1] == "." and len(said) < 120
    assert not {"well", "great", "good", "perfect"} & set(said.lower().split())


def test_every_core_exercise_pays_in_one_way():
    assert sorted([*PAYOFFS, *PLACES]) == sorted(CORE)


def reference(name: str):
    return find_topic(name).reference(name)


def seen(name: str, answer) -> list:
    return [one.cells.tolist() for one in PAYOFFS[name](answer).grids]


@pytest.mark.parametrize("name", PAYOFFS)
def test_what_is_shown_is_made_by_the_readers_function(name):
    calls = []

    def mine(*args, **named):
        calls.append(args)
        return reference(name)(*args, **named)

    assert seen(name, mine) == seen(name, reference(name)) and calls
    known = find_topic(name).mistakes(name)
    changed = []
    with np.errstate(all="ignore"):
        for mistake in known:
            try:
                other = seen(name, mistake.implementation)
            except Exception:
                other = "an error"
            changed.append(other != seen(name, reference(name)))
    assert any(changed)


def test_the_next_random_numbers_of_the_notebook_are_those_it_would_have_had():
    before = torch.get_rng_state()
    PAYOFFS["LanguageModel"](reference("LanguageModel"))
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("name", PAYOFFS)
def test_a_payoff_is_drawn_as_tables(name):
    shown = BeautifulSoup(paid(CORE[name], reference(name)), "html.parser")
    assert len(shown.select("figure td")) > 3
    assert shown.p.get_text() == CORE[name].right


def test_a_right_answer_is_shown_at_work_below_its_tests():
    exercise, answer = CORE["causal_mask"], reference("causal_mask")
    judged = examine_here(exercise, answer)
    shown = below_verdict(exercise, judged, answer)
    assert exercise.right in shown and "your mask" in shown
    wrong = find_topic("causal_mask").mistakes("causal_mask")[0].implementation
    judged = examine_here(exercise, wrong)
    assert exercise.right not in below_verdict(exercise, judged, wrong)


def test_an_answer_that_fails_in_its_payoff_is_right_all_the_same(capsys):
    def causal_mask(n):
        print("mine")
        raise RuntimeError

    page = paid(CORE["causal_mask"], causal_mask)
    assert CORE["causal_mask"].right in page and "your mask" not in page
    assert capsys.readouterr().out == ""
