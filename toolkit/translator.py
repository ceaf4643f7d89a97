"""A transformer that translates dates, and its training in one call.

The chapter ``training`` explains the model and trains it step by step; ``decoding``
needs a trained one to generate with:

    model, early = translator.trained(datasets.dates(12_000, rng))

The book trains it once: the chapter ``training`` keeps its model for ``trained``, where
results are kept at all (see ``toolkit.kept``).

Sources are dates as people write them, targets are ``YYYY-MM-DD`` and the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from toolkit.datasets import Line, Vocabulary, date_vocabularies
from toolkit.kept import keep as keep_result
from toolkit.kept import kept

PAD, START, END = Vocabulary.pad_id, Vocabulary.start_id, Vocabulary.end_id
LENGTH = 11  # of a target: ten characters and the end


def encode(lines: Sequence[Line]) -> tuple[Tensor, Tensor]:
    """Sources (B, T) and targets (B, 11), the end included."""
    source_characters, target_characters = date_vocabularies()
    sources = source_characters.batch([line.source for line in lines])
    return sources, target_characters.batch([line.target for line in lines], end=True)


class Translator(nn.Module):
    """Encoder and decoder of the transformer, two layers each."""

    def __init__(
        self,
        width: int = 64,
        num_heads: int = 4,
        num_layers: int = 2,
        norm_first: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        options = {
            "dim_feedforward": 2 * width,
            "dropout": dropout,
            "batch_first": True,
            "norm_first": norm_first,
        }
        norms = [nn.LayerNorm(width) if norm_first else None for _ in range(2)]
        layer = nn.TransformerEncoderLayer(width, num_heads, **options)
        self.encoder = nn.TransformerEncoder(
            layer, num_layers, norms[0], enable_nested_tensor=False
        )
        layer = nn.TransformerDecoderLayer(width, num_heads, **options)
        self.decoder = nn.TransformerDecoder(layer, num_layers, norms[1])
        for parameter in self.parameters():  # layers of a stack start as copies
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        sources, targets = map(len, date_vocabularies())
        self.source_table = nn.Embedding(sources, width)
        self.target_table = nn.Embedding(targets, width)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(width, targets)
        frequencies = 10_000.0 ** (-torch.arange(0, width, 2) / width)
        angles = torch.arange(1100)[:, None] * frequencies
        waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
        self.register_buffer("positions", waves)  # sinusoids, (1100, width)

    def read(self, sources: Tensor) -> tuple[Tensor, Tensor]:
        """Memory (B, T, E) of the source, and where it is padding (B, T)."""
        padding = sources == PAD  # torch's layers mark what they ignore
        x = self.source_table(sources) + self.positions[: sources.shape[1]]
        return self.encoder(self.dropout(x), src_key_padding_mask=padding), padding

    def write(self, prefix: Tensor, memory: Tensor, padding: Tensor) -> Tensor:
        """Logits (B, t, V) of the token after each position of the prefix (B, t)."""
        t = prefix.shape[1]
        x = self.dropout(self.target_table(prefix) + self.positions[:t])
        future = torch.ones(t, t, dtype=torch.bool).triu(1)
        x = self.decoder(x, memory, tgt_mask=future, memory_key_padding_mask=padding)
        return self.output(x)

    def forward(self, sources: Tensor, prefix: Tensor) -> Tensor:
        """Logits (B, t, V) of the targets, under teacher forcing."""
        return self.write(prefix, *self.read(sources))


def trained(
    lines: Sequence[Line],
    *,
    steps: int = 600,
    early: int = 200,
    batch_size: int = 64,
    warmup_steps: int = 150,
    dropout: float = 0.0,
    seed: int = 0,
) -> tuple[Translator, Translator]:
    """Train a translator as the chapter ``training`` does.

    Teacher forcing on shifted targets, Adam, and a learning rate that warms up and then
    falls to zero.

    Args:
        lines: dates for training, one in a line.
        steps: how many steps to take.
        early: the step after which a copy of the model is kept.
        batch_size: lines in each step, drawn with replacement.
        warmup_steps: the step at which the unscaled learning rate is largest.
        dropout: probability with which a feature is set to zero during training.
        seed: of the weights and of the batches.

    Returns:
        The model after all steps, and the model after ``early`` steps; both are in
        evaluation mode.

    Raises:
        ValueError: ``early`` is not one of the steps.
    """
    if not 1 <= early <= steps:
        raise ValueError(f"early is {early}, but the steps are 1 to {steps}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        settings = (steps, early, batch_size, warmup_steps, dropout, seed)
        found = _trained(lines, *settings)
        models = Translator(dropout=dropout), Translator()
    for model, weights in zip(models, found, strict=True):
        model.load_state_dict(weights)
        model.eval()
    return models


@kept
def _trained(
    lines: Sequence[Line],
    steps: int,
    early: int,
    batch_size: int,
    warmup_steps: int,
    dropout: float,
    seed: int,
) -> tuple[Mapping[str, Tensor], Mapping[str, Tensor]]:
    """The weights after all steps, and those after ``early`` steps."""
    model, unfinished = Translator(dropout=dropout), {}
    rng, (sources, targets) = np.random.default_rng(seed), encode(lines)
    optimiser = torch.optim.Adam(
        model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True
    )
    for step in range(1, steps + 1):
        rate = 64**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)  # the width is 64
        optimiser.param_groups[0]["lr"] = rate * (1 - step / steps)
        rows = torch.from_numpy(rng.integers(len(sources), size=batch_size))
        longest = (sources[rows] != PAD).sum(dim=1).max()
        prefix = F.pad(targets[rows, :-1], (1, 0), value=START)
        logits = model(sources[rows, :longest], prefix)  # (B, T, V)
        loss = F.cross_entropy(logits.flatten(0, 1), targets[rows].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step == early:
            unfinished = {n: p.clone() for n, p in model.state_dict().items()}
    return model.state_dict(), unfinished


def keep(
    lines: Sequence[Line], model: Mapping[str, Tensor], early: Mapping[str, Tensor]
) -> None:
    """Keep the weights of a training run for ``trained``, where results are kept.

    Args:
        lines: those of the run; its settings are the defaults of ``trained``.
        model: the weights after all steps.
        early: the weights after ``early`` steps.
    """
    settings = trained.__kwdefaults__
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings["seed"])
        keep_result((dict(model), dict(early)), _trained, lines, *settings.values())
