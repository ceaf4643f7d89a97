"""Which parts of an answer are wrong: named entries, or results of one mode alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograder.symptoms.outcomes import Outcome, agree, aligned, all_came, valued
from autograder.variants import Path

MOST_NAMES = 4  # wrong entries that are listed
LEAST_RESULTS = 2  # wrong ones of one mode


def wrong_entries(outcomes: Sequence[Outcome]) -> str:
    """The names of the wrong entries of dictionaries, if all others are right."""
    wrong: dict[str, None] = {}
    right: set[str] = set()
    named = others = (
        0  # results that are wrong with names for their entries, or without
    )
    for outcome in valued(outcomes):
        parts = list(aligned(outcome))
        if not any(path and isinstance(path[-1], str) for path, *_ in parts):
            others += not agree(outcome, outcome.right.value, outcome.given.value)
            continue
        named += not agree(outcome, outcome.right.value, outcome.given.value)
        for path, *both in parts:
            good = agree(outcome, *both)
            if _is_all_of_a_result(outcome, path) and not good:
                return ""  # its name comes from the case
            if not path or not isinstance(path[-1], str):
                if not good:
                    return ""
                continue
            # Layers have numbers, and what is wrong in one is wrong in all.
            name = re.sub(r"(?<=\.)\d+(?=\.)", "N", path[-1])
            if good:
                right.add(name)
            else:
                wrong[name] = None
    if not wrong or not right or right & wrong.keys() or len(wrong) > MOST_NAMES:
        return ""
    lost = sum(o.right.raised is None for o in outcomes) - len(valued(outcomes))
    if named < 2 * others or named < lost:  # what is wrong is more than entries
        return ""
    listed = ", ".join(map(_shown, sorted(wrong)))
    number = (
        " (N stands for any number)" if any(".N." in name for name in wrong) else ""
    )
    entries = "entry" if len(wrong) == 1 else "entries"
    return f"Only the {entries} {listed} {_verb(wrong)} wrong{number}."


def _is_all_of_a_result(outcome: Outcome, path: Path) -> bool:
    role = outcome.roles.get(path)
    return role is not None and role.name is None and role.count == 1


def _shown(name: str) -> str:
    """A name as code, or in quotation marks if a case made it of several words."""
    return f"`{name}`" if re.fullmatch(r"[\w.]+", name) else f"“{name}”"


def _verb(names: Sequence[str] | dict[str, None]) -> str:
    return "is" if len(names) == 1 else "are"


def wrong_mode(outcomes: Sequence[Outcome]) -> str:
    """Whether exactly what a module computes in training is wrong, or in evaluation."""
    if not all_came(outcomes):
        return ""
    seen = {(training, good): 0 for training in (True, False) for good in (True, False)}
    for outcome in valued(outcomes):
        for path, *both in aligned(outcome):
            role = outcome.roles.get(path)
            if role is None or role.name is not None or role.training is None:
                continue
            seen[role.training, agree(outcome, *both)] += 1
    for training, told in (
        (
            True,
            "Exactly what is computed in training is wrong; in evaluation it is right. "
            "Possible causes: dropout that the task does not ask for, or another step "
            "that depends on the mode.",
        ),
        (
            False,
            "Exactly what is computed in evaluation is wrong; in training it is right. "
            "A step that is done in training alone would do that.",
        ),
    ):
        if (
            seen[training, False] >= LEAST_RESULTS
            and not seen[training, True]
            and seen[not training, True]
            and not seen[not training, False]
        ):
            return told
    return ""
