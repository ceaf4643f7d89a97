"""The transformer: layers and stacks whose names and numbers are those of torch."""

from collections.abc import Callable
from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Give each token mean 0 and variance 1, then a learned scale and offset.

    y = (x - mean) / sqrt(variance + eps) * weight + bias

    Mean and variance are taken over the last axis, the variance by dividing by D.

    Args:
        x: (..., D) tokens. Their mean may be far from zero, in single precision too.
        weight: (D,) factor of each feature.
        bias: (D,) offset of each feature.
        eps: keeps the division safe when all features of a token are equal.

    Returns:
        (..., D) normalised tokens.

    Source: Ba et al. (2016), equation 4.
    """
    centred = x - x.mean(dim=-1, keepdim=True)  # (..., D)
    variance = centred.square().mean(dim=-1, keepdim=True)  # (..., 1)
    return centred / (variance + eps).sqrt() * weight + bias


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network, each with residual and norm.

    Without norm_first, each sum of a residual connection is normalised. With it, the
    input of each sublayer is normalised, and the sums are left as they are. norm1
    belongs to the attention, norm2 to the feed-forward network.

    Args:
        d_model: width E of the tokens, before and after.
        num_heads: heads of the attention.
        d_ff: width inside the feed-forward network.
        norm_first: normalise before each sublayer and not after the sum.
        activation: nonlinearity between the two linear maps.
        eps: of both norms.

    Attributes:
        self_attn: nn.MultiheadAttention.
        linear1, linear2: nn.Linear, E to d_ff and back.
        norm1, norm2: nn.LayerNorm.

    Source: Vaswani et al. (2017), section 3.1; Xiong et al. (2020) analyse norm_first.
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
        """Let the tokens look at each other, then work on each one alone.

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

    Without norm_first, each sum of a residual connection is normalised. With it, the
    input of each sublayer is normalised, and the sums are left as they are. norm1,
    norm2 and norm3 belong to the sublayers in the order above. Cross-attention takes
    its queries from the tokens, its keys and values from the memory, which is never
    normalised here.

    Args:
        d_model: width E of tokens and memory.
        num_heads: heads of both attentions.
        d_ff: width inside the feed-forward network.
        norm_first: normalise before each sublayer and not after the sum.
        activation: nonlinearity between the two linear maps.
        eps: of all three norms.

    Attributes:
        self_attn, multihead_attn: nn.MultiheadAttention, to itself and to the memory.
        linear1, linear2: nn.Linear, E to d_ff and back.
        norm1, norm2, norm3: nn.LayerNorm.

    Source: Vaswani et al. (2017), section 3.1; Xiong et al. (2020) analyse norm_first.
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
        """Look at the output so far, then at the memory, then work on each token.

        Args:
            x: (B, N, E) tokens of the output.
            memory: (B, T, E) what the encoder gave.
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
        layer: any module with the forward of ``EncoderLayer``. It serves as a pattern
            and does not become part of the stack.
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

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Pass the tokens, and the same masks, through all the layers.

        Args:
            x: (B, N, E) tokens.
            mask: (N, N) bool, True where query (row) may attend to key (column).
            padding_mask: (B, N) bool, True where a token may be attended to.

        Returns:
            (B, N, E) tokens.
        """
        for layer in self.layers:
            x = layer(x, mask=mask, padding_mask=padding_mask)
        return x if self.norm is None else self.norm(x)


class Decoder(nn.Module):
    """A stack of copies of one layer, all of which look at the same memory.

    Args:
        layer: any module with the forward of ``DecoderLayer``. It serves as a pattern
            and does not become part of the stack.
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

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Pass the tokens through all the layers, with the same memory and masks.

        Args:
            x: (B, N, E) tokens of the output.
            memory: (B, T, E) what the encoder gave.
            mask: (N, N) bool, True where query (row) may attend to key (column).
            memory_padding_mask: (B, T) bool, True where the memory may be attended to.

        Returns:
            (B, N, E) tokens.
        """
        for layer in self.layers:
            x = layer(x, memory, mask=mask, memory_padding_mask=memory_padding_mask)
        return x if self.norm is None else self.norm(x)


def transformer_parameter_count(
    d_model: int, d_ff: int, encoder_layers: int, decoder_layers: int
) -> int:
    """Number of learned parameters of a transformer without embeddings.

    All linear maps have biases, every norm a weight and a bias, and both stacks end
    with a norm. The number of heads does not matter.

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


def break_layer_norm() -> tuple[Tensor, Tensor, Tensor, float]:
    """Find tokens and parameters on which wrong versions of layer_norm go wrong.

    Returns:
        The arguments of one call of layer_norm: tokens x (..., D), weight (D,), bias
        (D,), all from -1000 to 1000, and eps from 0.000001 to 10.
    """
    x = torch.tensor([[1.0, 3.0], [6.0, 4.0]])
    return x, torch.tensor([2.0, 3.0]), torch.tensor([4.0, 5.0]), 1.0
