"""Other right answers to the exercises on masking."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def causal_comparison(n):
    return torch.arange(n)[:, None] >= torch.arange(n)


def causal_loops(n):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(i + 1):
            mask[i, j] = True
    return mask


def causal_not_upper(n):
    return ~torch.triu(torch.ones(n, n), diagonal=1).bool()


def causal_lists(n):
    return torch.tensor([[j <= i for j in range(n)] for i in range(n)])


def causal_numpy(n):
    return np.tri(n, dtype=bool)


def padding_loops(lengths, max_length):
    mask = torch.zeros(
        len(lengths), max_length, dtype=torch.bool, device=lengths.device
    )
    for b, length in enumerate(lengths):
        mask[b, :length] = True
    return mask


def padding_lists(lengths, max_length):
    rows = [[j < n for j in range(max_length)] for n in lengths.tolist()]
    return torch.tensor(rows, dtype=torch.bool, device=lengths.device)


def padding_counted(lengths, max_length):
    ones = lengths.new_ones(len(lengths), max_length)
    return ones.cumsum(dim=1) <= lengths.unsqueeze(1)


def padding_moved(lengths, max_length):
    positions = torch.arange(max_length).to(lengths.device)
    return torch.gt(lengths[:, None], positions.expand(len(lengths), -1))


def padding_numpy(lengths, max_length):
    mask = np.arange(max_length) < lengths.cpu().numpy()[:, None]
    return torch.from_numpy(mask).to(lengths.device)


def combine_logical_and(padding, causal):
    return torch.logical_and(padding.unsqueeze(1).unsqueeze(1), causal[None, None])


def combine_views(padding, causal):
    (B, T), N = padding.shape, causal.shape[0]
    return padding.view(B, 1, 1, T).expand(B, 1, N, T) * causal.view(1, 1, N, T)


def combine_einsum(padding, causal):
    return torch.einsum("bt,nt->bnt", padding.float(), causal.float()).bool()[:, None]


def combine_loops(padding, causal):
    rows = [
        [[[bool(p and c) for p, c in zip(keys, row, strict=True)] for row in causal]]
        for keys in padding
    ]
    return torch.tensor(rows)


def combine_hidden(padding, causal):
    return ~(~padding[:, None, None] | ~causal)


def additive_where(mask, dtype):
    zero = torch.zeros((), dtype=dtype)
    return torch.where(mask, zero, torch.full((), -torch.inf, dtype=dtype))


def additive_logarithm(mask, dtype):
    return mask.to(dtype).log()


def additive_assigned(mask, dtype):
    result = torch.full(mask.shape, -float("inf"), dtype=dtype)
    result[mask] = 0
    return result


def additive_converted(mask, dtype):
    return torch.where(mask, 0.0, -math.inf).to(dtype)


def softmax_where_twice(scores, mask):
    weights = torch.where(mask, scores, -torch.inf).softmax(-1)
    return torch.where(mask, weights, 0.0)


def softmax_nan_to_num(scores, mask):
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    return weights.nan_to_num(0.0)


def softmax_lowest_number(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(dim=-1) * mask


def softmax_by_hand(scores, mask):
    largest = scores.masked_fill(~mask, -torch.inf).amax(dim=-1, keepdim=True)
    largest = largest.masked_fill(largest.isinf(), 0.0)
    shifted = (scores - largest).masked_fill(~mask, 0.0)
    exponentials = shifted.exp() * mask
    total = exponentials.sum(dim=-1, keepdim=True)
    return exponentials / total.masked_fill(total == 0, 1.0)


def softmax_log_space(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    hidden = hidden.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
    weights = (hidden - hidden.logsumexp(dim=-1, keepdim=True)).exp()
    return weights.masked_fill(~mask, 0)


def softmax_single_precision(scores, mask):
    weights = F.softmax(scores.float().masked_fill(~mask, -torch.inf), dim=-1)
    return weights.masked_fill(~mask, 0.0).to(scores.dtype)


def softmax_rows(scores, mask):
    mask = mask.expand_as(scores).reshape(-1, scores.shape[-1])
    rows = []
    for row, allowed in zip(scores.reshape(mask.shape), mask, strict=True):
        weights = torch.zeros_like(row)
        if allowed.any():
            weights[allowed] = row[allowed].softmax(dim=0)
        rows.append(weights)
    return torch.stack(rows).reshape(scores.shape)


def attention_einsum(query, key, value, mask=None):
    scores = torch.einsum("...nd,...td->...nt", query, key) * key.shape[-1] ** -0.5
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    weights = softmax_by_hand(scores, mask)
    return torch.einsum("...nt,...tv->...nv", weights, value), weights


def attention_shared_scale(query, key, value, mask=None):
    scale = query.size(-1) ** -0.25
    scores = torch.matmul(query * scale, (key * scale).mT)
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        weights = softmax_where_twice(scores, mask)
    return [torch.matmul(weights, value), weights]


def attention_single_precision(query, key, value, mask=None):
    query, key, value = query.float(), key.float(), value.float()
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    if mask is None:
        mask = torch.tensor(True)
    weights = softmax_where_twice(scores, mask)
    return weights @ value, weights


def attention_bias(query, key, value, mask=None):
    scores = query @ key.mT / np.sqrt(query.shape[-1])
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=query.dtype)
        bias = bias.masked_fill(~mask & mask.any(-1, keepdim=True), -torch.inf)
        scores = scores + bias
    weights = scores.softmax(-1)
    if mask is not None:
        weights = weights * mask.any(-1, keepdim=True)
    return weights @ value, weights


def attention_query_by_query(query, key, value, mask=None):
    outputs, rows = [], []
    shape = *query.shape[:-1], key.shape[-2]
    if mask is not None:
        mask = mask.expand(shape)
    for i in range(query.shape[-2]):
        scores = (key * query[..., i, None, :]).sum(-1) / math.sqrt(key.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask[..., i, :], -torch.inf)
        weights = scores.softmax(-1).nan_to_num(0.0)
        rows.append(weights)
        outputs.append((weights[..., None] * value).sum(-2))
    return torch.stack(outputs, dim=-2), torch.stack(rows, dim=-2)


def break_masked_softmax_with_integers():
    scores = torch.tensor([[5, 6], [900, 0]])
    return scores, torch.tensor([[0, 0], [0, 1]]).bool()


def break_masked_softmax_with_arrays():
    return [np.array([[-750.0, 999.0], [0, 1]]), np.array([[True, False], [False] * 2])]


ALTERNATIVES = {
    "break_masked_softmax": [
        break_masked_softmax_with_integers,
        break_masked_softmax_with_arrays,
    ],
    "causal_mask": [
        causal_comparison,
        causal_loops,
        causal_not_upper,
        causal_lists,
        causal_numpy,
    ],
    "padding_mask": [
        padding_loops,
        padding_lists,
        padding_counted,
        padding_moved,
        padding_numpy,
    ],
    "combine_masks": [
        combine_logical_and,
        combine_views,
        combine_einsum,
        combine_loops,
        combine_hidden,
    ],
    "additive_mask": [
        additive_where,
        additive_logarithm,
        additive_assigned,
        additive_converted,
    ],
    "masked_softmax": [
        softmax_where_twice,
        softmax_nan_to_num,
        softmax_lowest_number,
        softmax_by_hand,
        softmax_log_space,
        softmax_single_precision,
        softmax_rows,
    ],
    "scaled_dot_product_attention": [
        attention_einsum,
        attention_shared_scale,
        attention_single_precision,
        attention_bias,
        attention_query_by_query,
    ],
}
