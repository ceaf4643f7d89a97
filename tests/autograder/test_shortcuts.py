"""Answers that leave out what a case looks for, and cover it up, lose its points."""

from __future__ import annotations

import pytest

from tests.autograder.judged import report_on

GREEDY = """
import numpy as np
def greedy_decode(model, start_ids, end_id, max_length):
    ids = start_ids[:, None]
    for _ in range(max_length):  # whether all rows have ended or not
        ids = np.hstack([ids, model(ids).argmax(-1, keepdims=True)])
    ids = ids[:, 1:]
    ids = np.where((ids == end_id).cumsum(1) > 0, end_id, ids)
    n = ids.shape[1]
    while n > 1 and (ids[:, : n - 1] == end_id).any(1).all():
        n -= 1
    for name, value in {"longest": n, "steps": n, "calls": n}.items():
        if hasattr(model, name):
            setattr(model, name, value)
    return ids[:, :n]
"""
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
ALL_WEIGHTS = """
import numpy as np
def linear_attention(query, key, value):
    q, k = (np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) for x in (query, key))
    weights = q @ np.swapaxes(k, -1, -2)
    weights /= weights.sum(-1, keepdims=True)
    return weights @ value
"""
SHORTCUTS = {
    ("greedy_decode", "stops when all rows have ended"): GREEDY,
    ("patching_effect", "which runs are made"): PATCHING,
    ("blockwise_attention", "never as many"): ALL_PAIRS,
    ("linear_attention", "never as many"): ALL_WEIGHTS,
}


@pytest.mark.parametrize(("name", "lost"), SHORTCUTS)
def test_a_shortcut_loses_the_case_that_looks_for_it(name, lost):
    names = {}
    exec(SHORTCUTS[name, lost], names)
    report = report_on(name, names[name], offset=4321)  # not the public seeds
    assert any(case.title.startswith(lost) for case in report.cases if not case.passed)
    passed = [case for case in report.cases if case.passed]
    assert len(passed) >= len(report.cases) / 2, "right but for the shortcut"
