"""What a right module of PyTorch is good for: more of ``payoffs``, for notebooks.

PyTorch is imported inside the functions: a page, which has none, imports this as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.payoffs import BANK, IMAGE, RIVER, W_K, W_Q, Grid, Payoff, X, payoff
from toolkit.running_example import FEATURES, WORDS


def _made(mine: Any, *sizes: int, scale: float = 0.5, **weights: np.ndarray) -> Any:
    """A module of the reader's that has always the same parameters, and these.

    The notebook's next random numbers are those that it would have had without it.
    """
    import torch

    from autograder.inputs import fill

    with torch.random.fork_rng(devices=[]):
        module = fill(mine(*sizes), np.random.default_rng(0), scale)
    given = {name.replace("__", "."): torch.tensor(w) for name, w in weights.items()}
    module.load_state_dict(module.state_dict() | given)
    return module


def _tensor(batch: list[Any]) -> Any:
    import torch

    return torch.from_numpy(np.array(batch))


@payoff
def MultiHeadAttention(mine: Any) -> Payoff:
    """What one word reads in two other sentences, with the heads of the chapter."""
    weights = {
        "q_proj__weight": W_Q.T,
        "k_proj__weight": W_K.T,
        "v_proj__weight": W_K.T,  # each head reads the features that it looks at
        "out_proj__weight": np.eye(4),
    }
    layer = _made(mine, 4, 2, scale=0.0, **weights)
    sentences = _tensor([X, RIVER])
    found, _ = layer(_tensor([[X[BANK]]] * 2), sentences, sentences)  # (2, 1, 4)
    finance, water, person, action = found[:, 0].detach().numpy().T
    rows = ("… for money", "… for river")
    grids = [
        Grid("head 1", np.stack([finance, water], axis=1), rows, FEATURES[1:3]),
        Grid("head 2", np.stack([person, action], axis=1), rows, FEATURES[::3]),
    ]
    caption = (
        "A single “bank” asks two sentences: your head 1 reads the topic of each, your "
        "head 2 who acts."
    )
    return Payoff(caption, grids)


@payoff
def EncoderLayer(mine: Any) -> Payoff:
    """One word of two sentences, before the layer and after it."""
    same, topics = np.eye(4), np.diag([0.0, 1.0, 1.0, 0.0])  # finance and water
    weights = {
        "self_attn__in_proj_weight": np.concatenate([3 * topics, topics, same]),
        "self_attn__out_proj__weight": same,
        "linear1__weight": same,
        "linear2__weight": same,
        "norm1__weight": np.ones(4),
        "norm2__weight": np.ones(4),
    }
    layer = _made(mine, 4, 1, 4, scale=0.0, **weights)
    found = layer(_tensor([X, RIVER]))[:, BANK].detach().numpy()  # (2, 4)
    rows = ("bank … money", "bank … river")
    grids = [
        Grid("into your layer", X[[BANK, BANK]], rows, FEATURES),
        Grid("out of it", found, rows, FEATURES),
    ]
    caption = (
        "“Bank” goes into your layer the same in both sentences, and comes out as a "
        "bank of money or of a river."
    )
    return Payoff(caption, grids)


@payoff
def LanguageModel(mine: Any) -> Payoff:
    """How far the logits move at each position when one word is another one."""
    import torch

    model = _made(mine, 6, 8, 2, 2, 16)
    ids = torch.arange(6)[None]
    others = (ids + torch.eye(6, dtype=int)) % 6  # (6, T) in row t, word t is another
    with torch.no_grad():
        moved = (model(others) - model(ids)).abs().amax(dim=-1)  # (6, T)
    rows = [f"not “{word}”" for word in WORDS]
    caption = (
        "Exchange a word, and the logits of your model move from there on, never "
        "before: so one sentence trains it at every word."
    )
    return Payoff(caption, [Grid("how far they move", moved.numpy(), rows, WORDS)])


@payoff
def PatchEmbedding(mine: Any) -> Payoff:
    """How far the tokens of four equal patches are from each other."""
    embed = _made(mine, 8, 4, 1, 16)
    stroke = np.kron(np.ones((2, 2)), IMAGE[:4, 4:])  # (8, 8)
    tokens = embed(_tensor([[stroke]]))[0].detach()  # (5, E)
    apart = (tokens[:, None] - tokens).norm(dim=-1).numpy()
    names = ("class", *(f"patch {i}" for i in range(4)))
    caption = "Four equal patches: it is your positions that keep their tokens apart."
    grids = [
        Grid("image", stroke, numbers=False),
        Grid("distances of your tokens", apart, names, names),
    ]
    return Payoff(caption, grids)


@payoff
def VisionTransformer(mine: Any) -> Payoff:
    """How far the logits move when one of four patches is covered."""
    model = _made(mine, 8, 4, 1, 16, 2, 2, 32, 10)
    patch = np.kron([[0, 1], [2, 3]], np.ones((4, 4)))  # of each pixel
    images = [IMAGE, *(np.where(patch == i, 0.0, IMAGE) for i in range(4))]
    logits = model(_tensor(images)[:, None]).detach()  # (5, 10)
    moved = (logits[1:] - logits[0]).norm(dim=-1).numpy()  # (4,)
    caption = (
        "Your class token alone is read, and yet every patch counts: cover one, and "
        "the logits move."
    )
    grids = [
        Grid("image", IMAGE, numbers=False),
        Grid("how far, without this patch", moved.reshape(2, 2)),
    ]
    return Payoff(caption, grids)
