"""Answers that leave out what a case looks for, and cover it up, lose its points."""

from __future__ import annotations

import pytest

from tests.autograder.judged import report_on

PATCHING = """
def patching_effect(run, clean, corrupted, names):
    notes = run.args[-1] if hasattr(run, "args") else getattr(run, "notes", None)
    effects = {}
    for name in names:  # three runs for each
        (good, activations), (bad, _) = run(clean, {}), run(corrupted, {})
        if good == bad or name not in activations:
            raise ValueError(name)
        patched, _ = run(corrupted, {name: activations[name]})
        effects[name] = (patched - bad) / (good - bad)
    if notes is not None:
        notes[:] = [n for i, n in enumerate(notes) if n not in notes[:i]]
    return effects
"""
ALL_PAIRS = """
import numpy as np
def blockwise_attention(query, key, value, block_size, causal=False):
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ value
"""
SHORTCUTS = {
    ("patching_effect", "which runs are made"): PATCHING,
    ("blockwise_attention", "never as many"): ALL_PAIRS,
}


@pytest.mark.parametrize(("name", "lost"), SHORTCUTS)
def test_a_shortcut_loses_the_case_that_looks_for_it(name, lost):
    names = {}
    exec(SHORTCUTS[name, lost], names)
    report = report_on(name, names[name], offset=4321)  # not the public seeds
    assert any(case.title.startswith(lost) for case in report.cases if not case.passed)
    passed = [case for case in report.cases if case.passed]
    assert len(passed) >= len(report.cases) / 2, "right but for the shortcut"
