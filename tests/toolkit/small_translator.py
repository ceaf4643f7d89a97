"""A translator as ``toolkit.translator`` builds it, small and untrained."""

from typing import Any

import numpy as np
import torch
from torch import nn

from toolkit import playground

WIDTH, HEADS = 8, 2
SOURCE, TARGET = "abc 123", "0123456789-"


class Model(nn.Module):
    """Encoder and decoder under the names that ``toolkit.translator`` gives them."""

    def __init__(self) -> None:
        super().__init__()
        sizes = {"dim_feedforward": 12, "dropout": 0.0}
        sizes |= {"batch_first": True, "norm_first": True}
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(WIDTH, HEADS, **sizes),
            2,
            nn.LayerNorm(WIDTH),
            enable_nested_tensor=False,
        )
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(WIDTH, HEADS, **sizes), 2, nn.LayerNorm(WIDTH)
        )
        self.source_table = nn.Embedding(len(SOURCE) + 3, WIDTH)
        self.target_table = nn.Embedding(len(TARGET) + 3, WIDTH)
        self.output = nn.Linear(WIDTH, len(TARGET) + 3)
        for parameter in self.parameters():  # all of them matter
            if parameter.dim() > 1:
                nn.init.normal_(parameter)
            else:
                nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.1)

    def forward(self, source: torch.Tensor, prefix: torch.Tensor) -> torch.Tensor:
        """(t, V) logits after each position of a prefix (t,)."""
        future = torch.ones(len(prefix), len(prefix), dtype=torch.bool).triu(1)
        memory = self.encoder((self.source_table(source) + waves(len(source)))[None])
        x = (self.target_table(prefix) + waves(len(prefix)))[None]
        return self.output(self.decoder(x, memory, tgt_mask=future))[0]


def waves(length: int) -> torch.Tensor:
    """(length, WIDTH) sinusoids, position by position."""
    rows = [
        [
            f(n / 10_000 ** (i / WIDTH))
            for i in range(0, WIDTH, 2)
            for f in (np.sin, np.cos)
        ]
        for n in range(length)
    ]
    return torch.tensor(np.array(rows), dtype=torch.float32)


def made() -> Model:
    """The same model each time."""
    torch.manual_seed(9)  # its translations differ, and end
    return Model().eval()


def file_of(model: Model, **facts: Any) -> dict[str, Any]:
    """The file that the playground reads."""
    facts = {"source": SOURCE, "target": TARGET, **facts}
    return playground.packed(model, {**playground.computation(model), **facts})
