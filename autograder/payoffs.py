"""What a right answer is good for: the function at work on the book's examples.

Each function here draws for the exercise of its name. It takes the answer, which has
passed every test, and runs in a few milliseconds on NumPy alone. What needs PyTorch is
in ``torch_payoffs``; exercises that are right in a trained model instead, in
``model_trial``.
"""

from __future__ import annotations

import contextlib
import html
import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autograder.exercise import Exercise
from autograder.picture import grid
from autograder.show import with_code
from toolkit.running_example import FEATURES, VECTORS, WORDS

X = np.array([VECTORS[word] for word in WORDS])  # (N, D) = (6, 4)
QUERY = np.array([0.0, 3.0, 3.0, 0.0])  # finance or water?
SCORES = X @ X.T / 2  # (N, N) of the words for each other
BANK = WORDS.index("bank")
RIVER = np.where(np.arange(6)[:, None] == 5, VECTORS["river"], X)  # the last word

# Of the chapter's two heads: head 1 searches for topics, head 2 for who acts.
W_Q = 2.0 * np.array([[0, 0, 0, 1], [1, 0, 1, 1], [0, 1, 0, 0], [0, 0, 1, 0]])
W_K = np.eye(4)[:, [1, 2, 0, 3]]

THREE = """\
00146410
02860682
00000462
00026840
00002662
01000064
02840682
00156510"""
IMAGE = np.array([[float(dot) for dot in row] for row in THREE.split()])  # (8, 8)


class Grid(NamedTuple):
    """A table of a payoff.

    Attributes:
        title: above it.
        cells: (N, M) numbers, or texts.
        rows: N names; none if it is empty.
        columns: M names; none if it is empty.
        numbers: whether to show them; else only how large they are.
    """

    title: str
    cells: np.ndarray
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    numbers: bool = True


class Payoff(NamedTuple):
    """What is to be seen, and grids that show it."""

    caption: str
    grids: Sequence[Grid]


PAYOFFS: dict[str, Callable[[Any], Payoff]] = {}


def payoff(draw: Callable[[Any], Payoff]) -> Callable[[Any], Payoff]:
    """Register what draws for the exercise of its name."""
    PAYOFFS[draw.__name__] = draw
    return draw


def paid(exercise: Exercise, answer: Any) -> str:
    """HTML of what is right about an answer, and of the answer at work.

    Without the latter if the answer fails where no test looked: it is right all the
    same.
    """
    page = f"<p>{with_code(exercise.right)}</p>" if exercise.right else ""
    if exercise.name in PAYOFFS:
        quiet = contextlib.redirect_stdout(io.StringIO())
        with contextlib.suppress(Exception), quiet, np.errstate(all="ignore"):
            page += as_html(PAYOFFS[exercise.name](answer))
    return f"<div class='attention-payoff'>{page}</div>" if page else ""


def as_html(shown: Payoff) -> str:
    """The grids of a payoff beside each other, and what they show."""
    figures = "".join(
        f"<figure><figcaption>{html.escape(one.title)}</figcaption>"
        f"{_table(one)}</figure>"
        for one in shown.grids
    )
    said = with_code(shown.caption)
    return f"<p><strong>{said}</strong></p><div class='attention-pair'>{figures}</div>"


def _table(one: Grid) -> str:
    named = {"rows": one.rows, "columns": one.columns, "numbers": one.numbers}
    texts = one.cells.dtype.kind == "U"
    return grid(one.cells if texts else one.cells.round(2), **named)


def _weights(scores: np.ndarray, *, seen: Any) -> np.ndarray:
    """Attention weights of scores (..., N), of which some may be hidden."""
    raised = np.where(seen, np.exp(scores - scores.max()), 0.0)
    return raised / raised.sum(axis=-1, keepdims=True)


# The first chapters: the six words ----------------------------------------------------


@payoff
def alignment_scores(mine: Any) -> Payoff:
    """Scores of the six words for one query."""
    scores = mine(QUERY, X)  # (N,)
    best = WORDS[int(np.argmax(scores))]
    caption = f"Asked “finance or water?”, your scores find “{best}”."
    return Payoff(caption, [Grid("scores", scores[None], (), WORDS)])


@payoff
def attend(mine: Any) -> Payoff:
    """What is read of two sentences that differ in the last word."""
    found = np.array([mine(QUERY, words)[0] for words in (X, RIVER)])  # (2, D)
    rows = ("… bank for money", "… bank for river")
    caption = "Your attention tells the two banks apart by the last word."
    return Payoff(caption, [Grid("output", found[:, 1:3], rows, FEATURES[1:3])])


@payoff
def dot_product_variance(mine: Any) -> Payoff:
    """Variances at three widths, and divided by the width."""
    widths = 4 ** np.arange(1, 4)  # 4 to 64
    rng = np.random.default_rng(1)
    found = np.array([mine(int(d), 1000, rng) for d in widths])
    cells = np.stack([found, found / widths])
    columns = [f"d = {d}" for d in widths]
    caption = "You measured it: the variance is the width, and divided by d it is 1."
    return Payoff(caption, [Grid("", cells, ("variance", "variance / d"), columns)])


@payoff
def softmax_jacobian(mine: Any) -> Payoff:
    """Derivatives for scores that are divided by the root of the width, or not."""
    rng = np.random.default_rng(4)
    raw = rng.standard_normal((6, 1024)) @ rng.standard_normal(1024)  # (N,) as drawn
    grids = [
        Grid(title, mine(_weights(scores, seen=True)))
        for title, scores in (("divided by √d", raw / 32), ("raw", raw))
    ]
    caption = "Your derivatives for random scores of width 1024: raw, nothing reacts."
    return Payoff(caption, grids)


@payoff
def attention_layer(mine: Any) -> Payoff:
    """The layer on the six words, with projections to topics."""
    topics = np.eye(4)[:, 1:3]  # finance and water
    outputs, weights = mine(X, X, 3 * topics, topics, topics)
    caption = "Your layer, told to search for topics, with the six words as tokens."
    grids = [
        Grid("weights", weights, WORDS, WORDS),
        Grid("outputs", outputs, WORDS, FEATURES[1:3]),
    ]
    return Payoff(caption, grids)


@payoff
def causal_mask(mine: Any) -> Payoff:
    """Weights of the six words without a mask and with it."""
    before, after = (_weights(SCORES, seen=seen) for seen in (True, mine(6)))
    leaks = [weights[np.triu_indices(6, 1)].sum() for weights in (before, after)]
    caption = (
        f"Without a mask, the six words give words to come {leaks[0]:.1f} of their "
        f"6.0 of weight; with yours, {leaks[1]:.1f}."
    )
    grids = [
        Grid("no mask", before, WORDS, WORDS),
        Grid("your mask", after, WORDS, WORDS),
    ]
    return Payoff(caption, grids)


@payoff
def padding_mask(mine: Any) -> Payoff:
    """Weights of one word of a padded sentence, without a mask and with it."""
    seen = mine(np.array([4, 6]), 6)[0]  # (T,)
    scores = np.where(np.arange(6) < 4, SCORES[BANK], 0.0)  # padding has zeros
    cells = np.stack([_weights(scores, seen=some) for some in (True, seen)])
    columns = (*WORDS[:4], "pad", "pad")
    caption = (
        f"“She visits the bank”, padded: “bank” gave {cells[0, 4:].sum():.2f} of its "
        f"weight to the padding; with your mask, {cells[1, 4:].sum():.2f}."
    )
    rows = ("no mask", "your mask")
    return Payoff(caption, [Grid("weights of “bank”", cells, rows, columns)])


@payoff
def split_heads(mine: Any) -> Payoff:
    """The six words as two heads see them."""
    grids = [
        Grid(f"head {i + 1}", head, WORDS, FEATURES[2 * i : 2 * i + 2])
        for i, head in enumerate(mine(X[None], 2)[0])
    ]
    caption = "Your two heads: each sees all six words, and half of their features."
    return Payoff(caption, grids)


@payoff
def multi_head_attention(mine: Any) -> Payoff:
    """What one word attends to, with the two heads of the chapter."""
    W_V = np.eye(4)[:, [0, 1, 0, 1]]
    _, weights = mine(X[None], W_Q, W_K, W_V, np.eye(4), 2)
    cells = weights[0, :, BANK]  # (h, N)
    caption = "“Bank” now asks two questions at once, and your heads answer both."
    rows = ("head 1", "head 2")
    return Payoff(caption, [Grid("weights of “bank”", cells, rows, WORDS)])


# Positions ----------------------------------------------------------------------------


@payoff
def sinusoidal_encoding(mine: Any) -> Payoff:
    """Dot products of positions."""
    table = mine(24, 32)  # (N, D)
    caption = (
        "Each position of your table is most like itself and like its neighbours: the "
        "stronger a cell, the larger the dot product."
    )
    return Payoff(
        caption, [Grid("24 positions with each other", _dark(table @ table.T))]
    )


@payoff
def rotary_embedding(mine: Any) -> Payoff:
    """Dot products of turned tokens, here and a thousand positions later."""
    tokens = np.ones((24, 32))
    grids = []
    for first in (0, 1000):
        turned = mine(tokens, first + np.arange(24))
        grids.append(Grid(f"from position {first}", _dark(turned @ turned.T)))
    caption = (
        "The scores of equal tokens that you turned depend on their distance alone: a "
        "thousand positions later they are the same."
    )
    return Payoff(caption, grids)


def _dark(scores: np.ndarray) -> np.ndarray:
    """Scores from 0 for the smallest on, as a map shows them."""
    return scores - scores.min()


# Generation ---------------------------------------------------------------------------


@payoff
def shift_right(mine: Any) -> Payoff:
    """Inputs of a decoder above what it has to predict."""
    tokens = ("start", *"2026", "end")
    targets = np.arange(1, 6)[None]  # (1, T)
    cells = np.array(tokens)[np.concatenate([mine(targets, 0), targets])]
    rows = ("it reads", "it predicts")
    caption = (
        "A decoder in training, with your inputs: it never reads what it predicts."
    )
    return Payoff(caption, [Grid("", cells, rows, [f"t = {t}" for t in range(5)])])


class _Cache:
    """Keys and values so far, for ``cached_attention``."""

    def __init__(self, *, widths: tuple[int, int]) -> None:
        self.pair = [np.empty((1, 1, 0, width)) for width in widths]

    def append(self, *new: np.ndarray) -> list[np.ndarray]:
        both = zip(self.pair, new, strict=True)
        self.pair = [np.concatenate(parts, axis=2) for parts in both]
        return self.pair

    @property
    def length(self) -> int:
        return self.pair[0].shape[2]


@payoff
def cached_attention(mine: Any) -> Payoff:
    """Weights word after word, and those of all words at once."""
    words, one_hot = X[None, None], np.eye(6)[None, None]  # outputs are the weights
    cache, full = (_Cache(widths=(4, 6)) for _ in range(2))
    found = [
        mine(word, word, value, cache)
        for word, value in zip(
            np.split(words, 6, axis=2), np.split(one_hot, 6, axis=2), strict=True
        )
    ]
    grids = [
        Grid("word after word", np.concatenate(found, axis=2)[0, 0], WORDS, WORDS),
        Grid("all at once", mine(words, words, one_hot, full)[0, 0], WORDS, WORDS),
    ]
    caption = (
        "With your cache, each word computes one row where it would have computed all "
        "rows again; the weights are the same."
    )
    return Payoff(caption, grids)


NEXT = ("money", "the", "water", "she", "for", "bank")  # words, the likely ones first
LOGITS = np.log([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])


@payoff
def filter_logits(mine: Any) -> Payoff:
    """A distribution before and after its tail is cut."""
    ways = {"all": {}, "top_k = 3": {"top_k": 3}, "top_p = 0.6": {"top_p": 0.6}}
    cells = np.exp([mine(LOGITS.copy(), **way) for way in ways.values()])  # (3, V)
    cells /= cells.sum(axis=-1, keepdims=True)
    caption = "What may come next: you cut the tail, and the rest sums to one again."
    return Payoff(caption, [Grid("probabilities", cells, tuple(ways), NEXT)])


@payoff
def sample_tokens(mine: Any) -> Payoff:
    """Shares of words among many draws at three temperatures."""
    draws, temperatures = 2000, (0.5, 1.0, 2.0)
    logits = np.tile(LOGITS, (draws, 1))  # (B, V)
    uniform = np.random.default_rng(0).random(draws)
    cells = [
        np.bincount(mine(logits, uniform, temperature), minlength=6) / draws
        for temperature in temperatures
    ]
    rows = [f"temperature {temperature:g}" for temperature in temperatures]
    caption = f"How often each word came in {draws} draws of yours: heat flattens."
    return Payoff(caption, [Grid("shares", np.array(cells), rows, NEXT)])


# Images -------------------------------------------------------------------------------


@payoff
def patchify(mine: Any) -> Payoff:
    """A digit and its four patches."""
    patches = mine(IMAGE[None, None], 4)[0]  # (4, 16)
    grids = [
        Grid(f"patch {i}", patch.reshape(4, 4), numbers=False)
        for i, patch in enumerate(patches)
    ]
    caption = "A three in your patches, row by row: the tokens of a vision transformer."
    return Payoff(caption, [Grid("image", IMAGE, numbers=False), *grids])
