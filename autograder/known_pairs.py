"""Find two mistakes of the bank in one answer, if their code can be combined.

As with other slips, every explanation has been tried: the two mistakes together give
the student's results in every case that asks for a value.
"""

from __future__ import annotations

import itertools

from autograder.slips import Trials
from autograder.steps.joined import joined
from autograder.variants import Probe

ALONE = "of which alone this would be said:"  # each hint may call the other part right
MOST_CASES = 2  # in which both mistakes have to show for a pair to be found


def find_two_mistakes(trials: Trials, probe: Probe, end: float) -> str:
    """Two mistakes that together explain a wrong answer; empty if none are found.

    Args:
        trials: on the cases of the exercise.
        probe: knows the mistakes.
        end: when the search ends, in processor time.
    """
    known = [
        mistake
        for mistake in trials.expected.mistakes
        if mistake.name in probe.mistaken
        and all(trials.is_right(n, mistake.answers[n]) for n in trials.right)
    ]
    tried = 0
    for first in trials.quickest(trials.wrong):
        if any(trials.agrees(first, mistake.answers[first]) for mistake in known):
            continue  # only one of the two shows here
        shown = [m for m in known if trials.shows(first, m.answers[first])]
        pairs = list(itertools.combinations(shown, 2))
        pairs += [pair[::-1] for pair in pairs]  # mostly the same, so they come last
        for one, other in trials.in_time(pairs, end):
            made = joined(
                probe.mistaken[one.name], probe.mistaken[other.name], probe.reference
            )
            if made and trials.explains(made, first):
                return (
                    "Two slips together give your result. One is a known mistake, "
                    f"{ALONE} {one.hint} The other is a known mistake, {ALONE} "
                    f"{other.hint}"
                )
        tried += 1
        if tried == MOST_CASES:
            break
    return ""
