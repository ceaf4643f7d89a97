"""Other right ways to write chapter 3: loops, einsum, torch's own functions."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def context_from_torch(state, encoder_states, source_mask=None):
    mask = None if source_mask is None else source_mask.unsqueeze(1)
    query = state.unsqueeze(1)
    eye = torch.eye(encoder_states.shape[1], dtype=state.dtype)
    eye = eye.expand(len(state), -1, -1)

    def attend(values):
        found = F.scaled_dot_product_attention(
            query, encoder_states, values, attn_mask=mask, scale=1.0
        )
        return found.squeeze(1).nan_to_num(0.0)

    return attend(encoder_states), attend(eye)


def context_in_a_loop(state, encoder_states, source_mask=None):
    contexts, weights = [], []
    batch, length, width = encoder_states.shape
    for b in range(batch):
        row = torch.zeros(length, dtype=state.dtype)
        allowed = [
            t for t in range(length) if source_mask is None or bool(source_mask[b, t])
        ]
        if allowed:
            scores = torch.stack([state[b] @ encoder_states[b, t] for t in allowed])
            shares = (scores - scores.max()).exp()
            row = row.index_put((torch.tensor(allowed),), shares / shares.sum())
        weights.append(row)
        contexts.append(row @ encoder_states[b] if allowed else torch.zeros(width))
    return (
        torch.stack([c.to(state.dtype) for c in contexts]),
        torch.stack(weights),
    )


def context_by_einsum_and_clamp(state, encoder_states, source_mask=None):
    scores = torch.einsum("bh,bth->bt", state, encoder_states)
    mask = torch.ones_like(scores, dtype=bool) if source_mask is None else source_mask
    scores = torch.where(mask, scores, -1e9)
    shares = (scores - scores.amax(1, keepdim=True).detach()).exp() * mask
    weights = shares / shares.sum(1, keepdim=True).clamp(min=1e-9)
    return torch.einsum("bt,bth->bh", weights, encoder_states), weights


def context_in_single_precision(state, encoder_states, source_mask=None):
    s, states = state.float(), encoder_states.float()
    scores = torch.bmm(states, s[:, :, None])[:, :, 0]
    if source_mask is None:
        weights = F.softmax(scores, dim=1)
    else:
        lowest = torch.finfo(scores.dtype).min
        weights = F.softmax(scores.masked_fill(~source_mask, lowest), dim=1)
        weights = weights.masked_fill(~source_mask, 0)
    return torch.bmm(weights[:, None], states)[:, 0], weights


class DecoderWithManyTemporaries(nn.Module):
    def __init__(self, vocab_size, embed_dim, hidden_dim):
        super().__init__()
        self.output = nn.Linear(hidden_dim + hidden_dim, vocab_size)
        self.cell = nn.GRUCell(hidden_dim + embed_dim, hidden_dim)
        self.embedding = nn.Embedding(vocab_size, embed_dim)

    def forward(self, token, state, encoder_states, source_mask=None):
        context, weights = context_by_einsum_and_clamp(
            state, encoder_states, source_mask
        )
        seen = torch.hstack((self.embedding(token), context))
        after = self.cell(seen, state)
        return self.output(torch.hstack((after, context))), after, weights


class DecoderByHand(nn.Module):
    """The gates of the cell written out, the output layer in two halves."""

    def __init__(self, vocab_size, embed_dim, hidden_dim):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.cell = nn.GRUCell(embed_dim + hidden_dim, hidden_dim)
        self.output = nn.Linear(2 * hidden_dim, vocab_size)

    def forward(self, token, state, encoder_states, source_mask=None):
        context, weights = context_in_a_loop(state, encoder_states, source_mask)
        seen = torch.cat([F.embedding(token, self.embedding.weight), context], dim=1)
        ours = F.linear(seen, self.cell.weight_ih, self.cell.bias_ih)
        theirs = F.linear(state, self.cell.weight_hh, self.cell.bias_hh)
        r, z, n = ours.chunk(3, dim=1)
        r_h, z_h, n_h = theirs.chunk(3, dim=1)
        r, z = torch.sigmoid(r + r_h), torch.sigmoid(z + z_h)
        new = (1 - z) * torch.tanh(n + r * n_h) + z * state
        left, right = self.output.weight.split(self.hidden_dim, dim=1)
        logits = new @ left.T + context @ right.T + self.output.bias
        return logits, new, weights


def loss_from_torch(logits, targets, pad_id):
    if not (targets != pad_id).any():
        return (0.0 * logits).sum()
    return F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]),
        targets.reshape(-1),
        ignore_index=pad_id,
    )


def loss_of_selected_places(logits, targets, pad_id):
    real = targets != pad_id
    if real.sum() == 0:
        return torch.tensor(0.0)
    return F.cross_entropy(logits[real], targets[real])


def loss_in_a_loop(logits, targets, pad_id):
    total, count = logits.new_zeros(()), 0
    for row, ids in zip(logits, targets, strict=True):
        for scores, token in zip(row, ids, strict=True):
            if token != pad_id:
                total = total + torch.logsumexp(scores, 0) - scores[token]
                count += 1
    return total / max(count, 1)


def loss_with_one_hot(logits, targets, pad_id):
    real = (targets != pad_id).double()
    one_hot = F.one_hot(targets, logits.shape[-1])
    chosen = (logits.log_softmax(-1) * one_hot).sum(-1)
    return -(chosen * real).sum() / real.sum().clamp_min(1)


def loss_in_single_precision(logits, targets, pad_id):
    log_probabilities = F.log_softmax(logits.float(), dim=2)
    chosen = torch.gather(log_probabilities, 2, targets[:, :, None])[..., 0]
    real = targets.ne(pad_id)
    return -chosen.masked_fill(~real, 0).sum() / max(1, int(real.sum()))


def translate_and_fill_later(step, state, start_id, end_id, max_length):
    token = torch.tensor([start_id] * len(state))
    columns = []
    seen_end = torch.zeros(len(state), dtype=bool)
    for _ in range(max_length):
        logits, state = step(token, state)
        token = torch.argmax(logits, 1)
        columns.append(token)
        seen_end |= token == end_id
        if bool(seen_end.all()):
            break
    ids = torch.stack(columns).T.contiguous()
    for row in ids:
        ends = (row == end_id).nonzero()
        if len(ends):
            row[int(ends[0]) :] = end_id
    return ids


def translate_row_by_row(step, state, start_id, end_id, max_length):
    rows = []
    for b in range(state.shape[0]):
        row, own, token = [], state[b : b + 1], start_id
        while len(row) < max_length and token != end_id:
            logits, own = step(torch.tensor([token]), own)
            token = int(logits[0].argmax())
            row.append(token)
        rows.append(row)
    longest = max(len(row) for row in rows)
    return np.array([row + [end_id] * (longest - len(row)) for row in rows])


def translate_unfinished_rows_only(step, state, start_id, end_id, max_length):
    batch = len(state)
    ids = torch.full((batch, max_length), end_id)
    active, token = torch.arange(batch), torch.full((batch,), start_id)
    length = 0
    while length < max_length and len(active):
        logits, state = step(token, state)
        token = logits.softmax(-1).max(-1).indices
        ids[active, length] = token
        length += 1
        keep = token != end_id
        active, token, state = active[keep], token[keep], state[keep]
    return ids[:, :length]


def translate_recursively(step, state, start_id, end_id, max_length):
    def rest(token, state, ended, left):
        if left == 0 or ended.all():
            return []
        logits, state = step(token, state)
        token = torch.where(ended, end_id, logits.topk(1).indices[:, 0])
        return [
            token[:, None],
            *rest(token, state, ended | (token == end_id), left - 1),
        ]

    start = torch.empty(len(state), dtype=torch.long).fill_(start_id)
    ended = torch.zeros(len(state)) > 0
    return torch.cat(rest(start, state, ended, max_length), dim=1)


def break_sequence_loss_with_padding_in_front():
    logits = torch.tensor([[[1.0, -80.0], [0.0, 0.0]], [[0.0, 50.0], [3.0, 1.0]]])
    return logits, torch.tensor([[1, 0], [0, 0]]), 1


def break_sequence_loss_with_integers():
    logits = torch.tensor([[[9, 0], [700, 0]], [[0, 500], [2, 5]]])
    return [logits, torch.tensor([[0, 0], [0, 1]]), 1]


ALTERNATIVES = {
    "break_sequence_loss": [
        break_sequence_loss_with_padding_in_front,
        break_sequence_loss_with_integers,
    ],
    "context_vector": [
        context_from_torch,
        context_in_a_loop,
        context_by_einsum_and_clamp,
        context_in_single_precision,
    ],
    "AttentionDecoder": [DecoderWithManyTemporaries, DecoderByHand],
    "sequence_loss": [
        loss_from_torch,
        loss_of_selected_places,
        loss_in_a_loop,
        loss_with_one_hot,
        loss_in_single_precision,
    ],
    "greedy_translate": [
        translate_and_fill_later,
        translate_row_by_row,
        translate_unfinished_rows_only,
        translate_recursively,
    ],
}
