"""The language model of the chapter ``language_model``, trained in one call.

    merges, weights = language_model.trained(LanguageModel, train_bpe, bpe_encode)

The chapter explains each step, and ``your_transformer`` needs the result. The book
trains it once: the chapter keeps its model for ``trained``, where results are kept at
all (see ``toolkit.kept``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from toolkit.kept import keep as keep_result
from toolkit.kept import kept
from toolkit.manual import manual
from toolkit.muon import Muon

SIZES = (96, 4, 2, 384)  # width, heads, layers, width inside a feed-forward layer
NUM_MERGES, LEARNED_FROM = 320, 120_000  # characters
LENGTH, BATCH, STEPS, WARMUP = 64, 16, 600, 60
SEED = 0  # of the weights; the batches have another

Merges = list[tuple[int, int]]
Parts = tuple[Callable[..., nn.Module], Callable[..., Merges], Callable[..., list[int]]]


def trained(*parts: *Parts) -> tuple[Merges, Mapping[str, Tensor]]:
    """Learn the merges of the manual, and train a model on its tokens.

    Args:
        parts: ``LanguageModel``, ``train_bpe`` and ``bpe_encode``, as the chapter has
            them as exercises.

    Returns:
        The merges, and the weights by name.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return _trained(*parts)


def keep(merges: Merges, weights: Mapping[str, Tensor], *parts: *Parts) -> None:
    """Keep what the chapter trained for ``trained``, where results are kept."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        keep_result((merges, dict(weights)), _trained, *parts)


@kept
def _trained(*parts: *Parts) -> tuple[Merges, Mapping[str, Tensor]]:
    LanguageModel, train_bpe, bpe_encode = parts
    training_text, _ = manual()
    merges = train_bpe(training_text[:LEARNED_FROM], NUM_MERGES)
    corpus = torch.tensor(bpe_encode(training_text, merges))
    model = LanguageModel(256 + len(merges), *SIZES)
    matrices = [p for p in model.layers.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if all(p is not m for m in matrices)]
    rest = {"betas": (0.9, 0.95), "weight_decay": 0.1, "fused": True}
    optimisers = [
        Muon(matrices, lr=0.04, weight_decay=0.01),
        torch.optim.AdamW(others, lr=0.01, **rest),
    ]
    schedules = [torch.optim.lr_scheduler.LambdaLR(each, _rate) for each in optimisers]
    generator = torch.Generator().manual_seed(SEED + 1)
    for _ in range(STEPS + 1):
        first = torch.randint(len(corpus) - LENGTH, (BATCH,), generator=generator)
        ids = corpus[first[:, None] + torch.arange(LENGTH + 1)]  # (BATCH, LENGTH + 1)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        model.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for each in (*optimisers, *schedules):
            each.step()
    return merges, model.state_dict()


def _rate(step: int) -> float:
    """What the learning rate is multiplied by: a warm-up, then a straight line to 0."""
    return min((step + 1) / WARMUP, 1 - step / STEPS)
