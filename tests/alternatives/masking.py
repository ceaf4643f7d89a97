"""Other right answers to the exercises on masking."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def causal_comparison(n):
    return np.arange(n)[:, None] >= np.arange(n)


def causal_loops(n):
    mask = np.zeros((n, n), dtype=bool)
    for i in range(n):
        mask[i, : i + 1] = True
    return mask


def causal_torch(n):
    return torch.ones(n, n, dtype=torch.bool).tril()


def padding_loops(lengths, max_length):
    mask = np.zeros((len(lengths), max_length), dtype=bool)
    for b, length in enumerate(lengths):
        mask[b, :length] = True
    return mask


def padding_counted(lengths, max_length):
    ones = np.ones((len(lengths), max_length), dtype=int)
    return ones.cumsum(axis=1) <= np.expand_dims(lengths, 1)


def combine_logical_and(padding, causal):
    return np.logical_and(np.expand_dims(padding, (1, 2)), causal[None, None])


def combine_einsum(padding, causal):
    both = np.einsum("bt,nt->bnt", padding.astype(float), causal.astype(float))
    return both.astype(bool)[:, None]


def softmax_lowest_number(scores, mask):
    filled = np.where(mask, scores, np.finfo(scores.dtype).min)
    raised = np.exp(filled - filled.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) * mask


def softmax_log_space(scores, mask):
    filled = np.where(mask, scores, -np.inf)
    filled = np.where(np.any(mask, axis=-1, keepdims=True), filled, 0.0)
    logs = filled - np.logaddexp.reduce(filled, axis=-1, keepdims=True)
    return np.where(mask, np.exp(logs), 0.0)


def softmax_rows(scores, mask):
    mask = np.broadcast_to(mask, scores.shape)
    weights = np.zeros(scores.shape)
    for row in np.ndindex(scores.shape[:-1]):
        allowed = scores[row][mask[row]]
        if len(allowed):
            raised = np.exp(allowed - allowed.max())
            weights[row][mask[row]] = raised / raised.sum()
    return weights


def attention_einsum(query, key, value, mask=None):
    scores = np.einsum("...nd,...td->...nt", query, key) * key.shape[-1] ** -0.5
    mask = np.ones(scores.shape, dtype=bool) if mask is None else mask
    weights = softmax_log_space(scores, mask)
    return np.einsum("...nt,...tv->...nv", weights, value), weights


def attention_query_by_query(query, key, value, mask=None):
    shape = (*query.shape[:-1], key.shape[-2])
    mask = np.broadcast_to(True if mask is None else mask, shape)
    rows = []
    for i in range(query.shape[-2]):
        scores = (key * query[..., i, None, :]).sum(-1) / math.sqrt(key.shape[-1])
        rows.append(softmax_rows(scores, mask[..., i, :]))
    weights = np.stack(rows, axis=-2)
    return np.matmul(weights, value), weights


def attention_torch(query, key, value, mask=None):
    query, key, value = (torch.tensor(x) for x in (query, key, value))
    mask = None if mask is None else torch.tensor(mask)
    eye = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], -1)
    weights = F.scaled_dot_product_attention(query, key, eye, attn_mask=mask)
    return weights @ value, weights


def break_masked_softmax_with_integers():
    return np.array([[5, 6], [900, 0]]), np.array([[0, 0], [0, 1]]).astype(bool)


def break_masked_softmax_with_tensors():
    scores = torch.tensor([[-750.0, 999.0], [0, 1]])
    return [scores, torch.tensor([[True, False], [False] * 2])]


ALTERNATIVES = {
    "causal_mask": [causal_comparison, causal_loops, causal_torch],
    "padding_mask": [padding_loops, padding_counted],
    "combine_masks": [combine_logical_and, combine_einsum],
    "masked_softmax": [softmax_lowest_number, softmax_log_space, softmax_rows],
    "scaled_dot_product_attention": [
        attention_einsum,
        attention_query_by_query,
        attention_torch,
    ],
    "break_masked_softmax": [
        break_masked_softmax_with_integers,
        break_masked_softmax_with_tensors,
    ],
}
