"""The transformer: layers and stacks whose names and numbers are those of torch."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn


def layer_norm(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float = 1e-5
) -> np.ndarray:
    """Give each token mean 0 and variance 1, then a learned scale and offset.

    Mean and variance run over the features of one token; the sum of squares is
    divided by D.

    Args:
        x: (..., D) tokens.
        weight: (D,) factor of each feature.
        bias: (D,) offset of each feature.
        eps: added to the variance.

    Returns:
        (..., D) normalised tokens.

    Source: Ba et al. (2016), equation 4.
    """
    centred = x - x.mean(axis=-1, keepdims=True)  # (..., D)
    variance = (centred**2).mean(axis=-1, keepdims=True)  # (..., 1)
    return centred / np.sqrt(variance + eps) * weight + bias


def feed_forward(
    x: np.ndarray,
    W_1: np.ndarray,
    b_1: np.ndarray,
    W_2: np.ndarray,
    b_2: np.ndarray,
) -> np.ndarray:
    """Two linear maps with a relu between them, applied to each token alone.

    Args:
        x: (..., D) tokens.
        W_1: (D, F) a column for each hidden unit.
        b_1: (F,) offset of each hidden unit.
        W_2: (F, D) a row for each hidden unit.
        b_2: (D,) offset of each feature of the output.

    Returns:
        (..., D) one vector for each token.

    Source: Vaswani et al. (2017), equation 2.
    """
    hidden = np.maximum(x @ W_1 + b_1, 0.0)  # (..., F)
    return hidden @ W_2 + b_2  # (..., D)


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network, each with residual and norm.

    Post-norm unless norm_first. norm1 belongs to the attention, norm2 to the
    feed-forward network.

    Args:
        d_model: width E of the tokens, before and after.
        num_heads: heads of the attention.
        d_ff: width inside the feed-forward network.
        norm_first: pre-norm instead of post-norm.
        activation: nonlinearity between the two linear maps.
        eps: of both norms.

    Attributes:
        self_attn: nn.MultiheadAttention.
        linear1, linear2: nn.Linear, E to d_ff and back.
        norm1, norm2: nn.LayerNorm.

    Source: Vaswani et al. (2017), section 3.1; Xiong et al. (2020) for norm_first.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        norm_first: bool = False,
        activation: Callable[[Tensor], Tensor] = F.relu,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.norm_first = norm_first
        self.activation = activation

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Mix the tokens, then process each one alone.

        Args:
            x: (B, N, E) tokens.
            mask: (N, N) bool, True where query (row) may attend to key (column).
            padding_mask: (B, N) bool, True where a token may be attended to.

        Returns:
            (B, N, E) tokens.
        """
        ignore = {  # torch's layer marks what it ignores
            "attn_mask": None if mask is None else ~mask,
            "key_padding_mask": None if padding_mask is None else ~padding_mask,
        }

        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, need_weights=False, **ignore)[0]

        def feed_forward(x: Tensor) -> Tensor:
            return self.linear2(self.activation(self.linear1(x)))

        if self.norm_first:
            x = x + attend(self.norm1(x))
            return x + feed_forward(self.norm2(x))
        x = self.norm1(x + attend(x))
        return self.norm2(x + feed_forward(x))


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention to a memory, and a feed-forward network.

    Post-norm unless norm_first. norm1, norm2 and norm3 belong to these three
    sublayers, in this order. The memory is not normalised here.

    Args:
        d_model: width E of tokens and memory.
        num_heads: heads of both attentions.
        d_ff: width inside the feed-forward network.
        norm_first: pre-norm instead of post-norm.
        activation: nonlinearity between the two linear maps.
        eps: of all three norms.

    Attributes:
        self_attn, multihead_attn: nn.MultiheadAttention, to itself and to the memory.
        linear1, linear2: nn.Linear, E to d_ff and back.
        norm1, norm2, norm3: nn.LayerNorm.

    Source: Vaswani et al. (2017), section 3.1; Xiong et al. (2020) for norm_first.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        norm_first: bool = False,
        activation: Callable[[Tensor], Tensor] = F.relu,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.multihead_attn = nn.MultiheadAttention(
            d_model, num_heads, batch_first=True
        )
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.norm3 = nn.LayerNorm(d_model, eps=eps)
        self.norm_first = norm_first
        self.activation = activation

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Mix the tokens, query the memory, then process each token alone.

        Args:
            x: (B, N, E) tokens of the output.
            memory: (B, T, E) output of the encoder.
            mask: (N, N) bool, True where query (row) may attend to key (column).
            memory_padding_mask: (B, T) bool, True where the memory may be attended to.

        Returns:
            (B, N, E) tokens.
        """
        hidden = None if mask is None else ~mask  # torch's layer marks what it ignores
        padding = None if memory_padding_mask is None else ~memory_padding_mask

        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, attn_mask=hidden, need_weights=False)[0]

        def look_up(x: Tensor) -> Tensor:
            return self.multihead_attn(
                x, memory, memory, key_padding_mask=padding, need_weights=False
            )[0]

        def feed_forward(x: Tensor) -> Tensor:
            return self.linear2(self.activation(self.linear1(x)))

        if self.norm_first:
            x = x + attend(self.norm1(x))
            x = x + look_up(self.norm2(x))
            return x + feed_forward(self.norm3(x))
        x = self.norm1(x + attend(x))
        x = self.norm2(x + look_up(x))
        return self.norm3(x + feed_forward(x))


class Encoder(nn.Module):
    """A stack of copies of one layer, each applied to the output of the one before it.

    Args:
        layer: any module. It serves as a pattern and is not itself in the stack.
        num_layers: number of copies; each has parameters of its own.
        norm: applied once to the output of the last layer, if given.

    Attributes:
        layers: nn.ModuleList of the copies.
        norm: the final norm, or None.

    Source: Vaswani et al. (2017), section 3.1.
    """

    def __init__(
        self, layer: nn.Module, num_layers: int, norm: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(deepcopy(layer) for _ in range(num_layers))
        self.norm = norm

    def forward(self, x: Tensor, *arguments: Any, **named: Any) -> Tensor:
        """Pass the tokens through all the layers.

        Args:
            x: (B, N, E) tokens.
            arguments: what else each layer takes, such as masks or a memory.
            named: the same, by name.

        Returns:
            (B, N, E) tokens.
        """
        for layer in self.layers:
            x = layer(x, *arguments, **named)
        return x if self.norm is None else self.norm(x)


def transformer_parameter_count(
    d_model: int, d_ff: int, encoder_layers: int, decoder_layers: int
) -> int:
    """Number of learned parameters of a transformer without embeddings.

    All linear maps have biases, every norm a weight and a bias, and both stacks end
    with a norm.

    Args:
        d_model: width of the tokens.
        d_ff: width inside the feed-forward networks.
        encoder_layers: layers of the encoder.
        decoder_layers: layers of the decoder.

    Returns:
        The number of parameters that ``nn.Transformer`` has with these sizes.

    Source: Vaswani et al. (2017), section 3.
    """
    attention = 4 * (d_model * d_model + d_model)  # queries, keys, values, output
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    return encoder_layers * encoder_layer + norm + decoder_layers * decoder_layer + norm
