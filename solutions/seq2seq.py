"""Sequence to sequence: a recurrent decoder that looks back at every encoder state.

Symbols, in this file and in the chapter:

    H (B, T, h)   encoder states, one for each source token: keys and values at once
    s (B, h)      decoder state: the query
    a (B, T)      attention weights        c (B, h)   context vector, c = a H
    B sequences in a batch, T source tokens, h features of a state, V tokens known
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def context_vector(
    state: Tensor, encoder_states: Tensor, source_mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Mix the encoder states, each weighted by how well it matches the decoder state.

    The weights are the softmax of the dot products s . H_t over the allowed tokens t.

    Args:
        state: (B, h) decoder states s, the queries.
        encoder_states: (B, T, h) encoder states H, which are keys and values.
        source_mask: (B, T) boolean, True at source tokens that may be attended to;
            None allows all of them.

    Returns:
        context (B, h) and weights (B, T). Each row of the weights sums to one; where
        a row of the mask allows nothing, its weights and its context are zero.

    Source: Luong et al. (2015), section 3.1, with the dot score; unscaled.
    """
    scores = (state.unsqueeze(1) @ encoder_states.mT).squeeze(1)  # (B, T)
    if source_mask is None:
        weights = scores.softmax(dim=-1)
    else:
        weights = scores.masked_fill(~source_mask, -torch.inf).softmax(dim=-1)
        weights = torch.where(source_mask, weights, 0.0)  # without keys: 0, not NaN
    context = (weights.unsqueeze(1) @ encoder_states).squeeze(1)  # (B, h)
    return context, weights


class AttentionDecoder(nn.Module):
    """A recurrent decoder that attends to the source before each of its steps.

    c, a = context_vector(s, H),  s' = GRU([x, c], s),  logits = W [s', c] + b

    where x is the embedding of the previous token. The query is the state from before
    the step; the output reads the new state and the same context.

    Args:
        vocab_size: V, number of tokens in the vocabulary.
        embed_dim: width of an embedded token.
        hidden_dim: h, width of the decoder's states and of the encoder's.

    Attributes:
        embedding: ``nn.Embedding``, the table of x.
        cell: ``nn.GRUCell`` on [embedding, context].
        output: ``nn.Linear`` on [state, context].

    Source: Bahdanau et al. (2015), section 3.1, with the dot score of Luong et al.
    """

    def __init__(self, vocab_size: int, embed_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.cell = nn.GRUCell(embed_dim + hidden_dim, hidden_dim)
        self.output = nn.Linear(2 * hidden_dim, vocab_size)

    def forward(
        self,
        token: Tensor,
        state: Tensor,
        encoder_states: Tensor,
        source_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Take one step.

        Args:
            token: (B,) ids of the previous tokens.
            state: (B, h) state before the step.
            encoder_states: (B, T, h) encoder states.
            source_mask: (B, T) boolean, True at source tokens that may be attended to.

        Returns:
            logits (B, V) of the next token, state (B, h) after the step, and
            weights (B, T) with which the encoder states were mixed.
        """
        context, weights = context_vector(state, encoder_states, source_mask)
        seen = torch.cat([self.embedding(token), context], dim=-1)  # (B, embed_dim + h)
        state = self.cell(seen, state)  # (B, h)
        logits = self.output(torch.cat([state, context], dim=-1))  # (B, V)
        return logits, state, weights


def sequence_loss(logits: Tensor, targets: Tensor, pad_id: int) -> Tensor:
    """Mean surprise at the true tokens of a batch, padding left out.

    - sum of log softmax(logits)[b, t, targets[b, t]] / number of tokens,
    over all (b, t) of the whole batch where targets[b, t] is not padding

    Args:
        logits: (B, T, V) scores of the next token at each position.
        targets: (B, T) ids of the true tokens.
        pad_id: the id with which short rows of ``targets`` are padded.

    Returns:
        A scalar, in nats per token; 0 when there is nothing but padding.

    Source: Sutskever et al. (2014), section 3.2, per token.
    """
    total = F.cross_entropy(
        logits.flatten(0, 1),  # (B * T, V)
        targets.flatten(),  # (B * T,)
        ignore_index=pad_id,
        reduction="sum",
    )
    return total / (targets != pad_id).sum().clamp(min=1)
