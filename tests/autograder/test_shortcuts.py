"""Answers that leave out what a case looks for, and cover it up, lose its points."""

from __future__ import annotations

import types

import pytest

from autograder.answers import decode
from autograder.exercise import load_topic
from autograder.expected import expect, public_seeds
from autograder.forbid import answer_by_hand
from autograder.judge import Report, mark

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
TRANSLATE = """
import torch
def greedy_translate(decoder, state, start_id, end_id, max_length):
    token, ids = torch.full((len(state),), start_id), []
    for _ in range(max_length):
        logits, state = decoder(token, state)
        token = logits.argmax(-1)
        ids.append(token)
    ids = torch.stack(ids, 1)
    ended = (ids == end_id).cumsum(1) - (ids == end_id).int() > 0
    ids = ids.masked_fill(ended, end_id)
    n = ids.shape[1]
    while n > 1 and (ids[:, : n - 1] == end_id).any(1).all():
        n -= 1
    if hasattr(decoder, "steps"):
        decoder.steps = n
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
IN_A_THREAD = """
from concurrent.futures import ThreadPoolExecutor
def {name}(*inputs):
    return ThreadPoolExecutor(1).submit(alone, *inputs).result()
"""
SHORTCUTS = {
    ("decoding", "greedy_decode", "stops when all rows have ended"): GREEDY,
    ("seq2seq", "greedy_translate", "stops when all rows have ended"): TRANSLATE,
    ("looking_inside", "patching_effect", "which runs are made"): PATCHING,
    ("efficient_attention", "blockwise_attention", "never as many"): ALL_PAIRS,
    ("efficient_attention", "linear_attention", "never as many"): ALL_WEIGHTS,
}


def marked(topic: str, name: str, source: str) -> Report:
    """The marks of an answer, for seeds that the public check does not use."""
    module = types.ModuleType("notebook")
    exec(source, module.__dict__)
    loaded = load_topic(topic)
    exercise = loaded.exercises[name]
    seeds = [seed + 4321 for seed in public_seeds(exercise)]
    given = [
        decode(answer_by_hand(exercise, case, module.__dict__[name], seed))
        for case, seed in zip(exercise.cases, seeds, strict=True)
    ]
    return mark(exercise, given, expect(loaded, exercise, seeds))


@pytest.mark.parametrize(("topic", "name", "lost"), SHORTCUTS)
def test_a_shortcut_loses_the_case_that_looks_for_it(topic, name, lost):
    report = marked(topic, name, SHORTCUTS[topic, name, lost])
    assert any(case.title.startswith(lost) for case in report.cases if not case.passed)
    passed = [case for case in report.cases if case.passed]
    assert len(passed) >= len(report.cases) / 2, "right but for the shortcut"


@pytest.mark.parametrize("name", ["blockwise_attention", "linear_attention"])
def test_arrays_of_another_thread_are_counted(name):
    (source,) = [text for (_, own, _), text in SHORTCUTS.items() if own == name]
    hidden = source.replace(f"def {name}", "def alone") + IN_A_THREAD.format(name=name)
    report = marked("efficient_attention", name, hidden)
    lost = [case.title for case in report.cases if not case.passed]
    assert "never as many numbers as queries times keys" in lost
