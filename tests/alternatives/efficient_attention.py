"""Other right answers to the exercises on attention for long sequences."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def flops_short(n, d):
    return 4 * d * n**2


def flops_counted(n, d):
    per_score = d + d  # multiplications, additions
    per_output = n + n
    return n * n * per_score + n * d * per_output


def flops_numpy(n, d):
    return np.int64(4) * n * n * d


def bytes_product(n, heads, bytes_per_value):
    return math.prod([heads, n, n, bytes_per_value])


def bytes_shape(n, heads, bytes_per_value):
    return torch.Size([heads, n, n]).numel() * bytes_per_value


def bytes_summed(n, heads, bytes_per_value):
    return sum(n * n * bytes_per_value for _ in range(heads))


def features(x):
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


def linear_einsum(query, key, value):
    q, k = features(query), features(key)
    state = torch.einsum("...td,...tv->...dv", k, value)
    scale = 1 / torch.einsum("...nd,...d->...n", q, k.sum(-2))
    return torch.einsum("...nd,...dv,...n->...nv", q, state, scale)


def linear_ones_column(query, key, value):
    value = torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)
    both = (F.elu(query) + 1) @ ((F.elu(key) + 1).mT @ value)
    return both[..., :-1] / both[..., -1:]


def linear_query_by_query(query, key, value):
    q, k = F.elu(query) + 1.0, F.elu(key) + 1.0
    rows = []
    for i in range(q.shape[-2]):
        weights = (q[..., i : i + 1, :] * k).sum(-1)
        weights = weights / weights.sum(-1, keepdim=True)
        rows.append((weights[..., None] * value).sum(-2))
    return torch.stack(rows, dim=-2)


def linear_single_precision(query, key, value):
    q, k = F.elu(query.float()) + 1, F.elu(key.float()) + 1
    return (q @ (k.mT @ value.float())) / (q @ k.sum(-2)[..., None])


def linear_key_by_key(query, key, value):
    q, k = features(query), features(key)
    top, bottom = 0, 0
    for j in range(k.shape[-2]):
        weight = (q * k[..., j : j + 1, :]).sum(-1, keepdim=True)
        top = top + weight * value[..., j : j + 1, :]
        bottom = bottom + weight
    return top / bottom


def linear_numpy(query, key, value):
    q, k, v = (x.numpy() for x in (query, key, value))
    q, k = (np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) for x in (q, k))
    return (q @ (k.swapaxes(-1, -2) @ v)) / (q @ k.sum(-2)[..., None])


def causal_cumsum(query, key, value):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    state = (k.unsqueeze(-1) * value.unsqueeze(-2)).cumsum(dim=-3)  # (..., N, d, d_v)
    top = torch.einsum("...nd,...ndv->...nv", q, state)
    return top / (q * k.cumsum(dim=-2)).sum(-1, keepdim=True)


def causal_masked(query, key, value):
    weights = (features(query) @ features(key).mT).tril()
    return weights @ value / weights.sum(-1, keepdim=True)


def causal_prefixes(query, key, value):
    rows = [
        linear_ones_column(query[..., i : i + 1, :], key[..., : i + 1, :], v)
        for i in range(query.shape[-2])
        for v in [value[..., : i + 1, :]]
    ]
    return torch.cat(rows, dim=-2)


def causal_assigned(query, key, value):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    out = torch.empty(*q.shape[:-1], value.shape[-1], dtype=q.dtype)
    S = torch.zeros(*q.shape[:-2], q.shape[-1], value.shape[-1], dtype=q.dtype)
    z = torch.zeros(*q.shape[:-2], q.shape[-1], dtype=q.dtype)
    for i in range(q.shape[-2]):
        S += torch.einsum("...d,...v->...dv", k[..., i, :], value[..., i, :])
        z += k[..., i, :]
        top = torch.einsum("...d,...dv->...v", q[..., i, :], S)
        out[..., i, :] = (
            top / torch.einsum("...d,...d->...", q[..., i, :], z)[..., None]
        )
    return out


def causal_chunks(query, key, value, size=3):
    q, k = features(query), features(key)
    v = torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)
    state, rows = 0, []
    for a, b, c in zip(
        q.split(size, -2), k.split(size, -2), v.split(size, -2), strict=True
    ):
        inside = (a @ b.mT).tril() @ c
        rows.append(inside if isinstance(state, int) else inside + a @ state)
        state = state + b.mT @ c
    both = torch.cat(rows, dim=-2)
    return both[..., :-1] / both[..., -1:]


def online_log_sum_exp(score_blocks, value_blocks):
    output = norm = None
    for scores, values in zip(score_blocks, value_blocks, strict=True):
        log_sum = scores.logsumexp(-1, keepdim=True)
        part = scores.softmax(-1).nan_to_num() @ values
        if output is None:
            output, norm = part, log_sum
            continue
        new = torch.logaddexp(norm, log_sum)
        old_share = (norm - new).exp().nan_to_num()
        new_share = (log_sum - new).exp().nan_to_num()
        output, norm = output * old_share + part * new_share, new
    return output


def online_in_place(score_blocks, value_blocks):
    first = True
    for e, v in zip(score_blocks, value_blocks, strict=True):
        if first:
            m = torch.full_like(e[..., :1], -1e300)
            z = torch.zeros_like(m)
            y = torch.zeros(*e.shape[:-1], v.shape[-1], dtype=v.dtype)
            first = False
        new = torch.maximum(m, e.max(dim=-1, keepdim=True).values)
        z *= (m - new).exp()
        y *= (m - new).exp()
        p = (e - new).exp()
        z += p.sum(-1, keepdim=True)
        y += torch.einsum("...nb,...bv->...nv", p, v)
        m = new
    return torch.where(z > 0, y / z, 0.0)


def online_key_by_key(score_blocks, value_blocks):
    m = z = y = None
    for scores, values in zip(score_blocks, value_blocks, strict=True):
        for j in range(scores.shape[-1]):
            e, v = scores[..., j : j + 1], values[..., j : j + 1, :]
            if m is None:
                m = torch.where(e == -torch.inf, -1e9, e)
                z = (e - m).exp()
                y = z * v
                continue
            new = torch.maximum(m, e)
            z = z * (m - new).exp() + (e - new).exp()
            y = y * (m - new).exp() + (e - new).exp() * v
            m = new
    return y / z.clamp(min=1e-30)


def online_single_precision(score_blocks, value_blocks):
    scores = (block.float() for block in score_blocks)
    return online_log_sum_exp(scores, (block.float() for block in value_blocks))


def blockwise_keys_only(query, key, value, block_size, causal=False):
    scale, T = query.shape[-1] ** -0.5, key.shape[-2]
    rows = torch.arange(query.shape[-2])[:, None]
    m = torch.full_like(query[..., :1], -1e30)
    z, y = torch.zeros_like(m), 0
    for start in range(0, T, block_size):
        stop = min(start + block_size, T)
        e = torch.einsum("...nd,...td->...nt", query, key[..., start:stop, :]) * scale
        if causal:
            e = torch.where(torch.arange(start, stop) > rows, -torch.inf, e)
        new = torch.maximum(m, e.amax(-1, keepdim=True))
        p = (e - new).exp()
        z = z * (m - new).exp() + p.sum(-1, keepdim=True)
        y = y * (m - new).exp() + p @ value[..., start:stop, :]
        m = new
    return y / z


def blockwise_queries_only(query, key, value, block_size, causal=False):
    rows = []
    for start in range(0, query.shape[-2], block_size):
        q = query[..., start : start + block_size, :]
        scores = q @ key.mT / math.sqrt(q.shape[-1])
        if causal is True:
            hidden = torch.ones_like(scores, dtype=torch.bool).triu(start + 1)
            scores = scores.masked_fill(hidden, -torch.inf)
        rows.append(scores.softmax(-1) @ value)
    return torch.cat(rows, dim=-2)


def blockwise_row_by_row(query, key, value, block_size, causal=False):
    rows = []
    for i in range(query.shape[-2]):
        stop = i + 1 if causal else key.shape[-2]
        q = query[..., i : i + 1, :]
        rows.append(
            online_log_sum_exp(
                (
                    q @ k.mT / q.shape[-1] ** 0.5
                    for k in key[..., :stop, :].split(block_size, -2)
                ),
                value[..., :stop, :].split(block_size, -2),
            )
        )
    return torch.cat(rows, dim=-2)


def blockwise_padded(query, key, value, block_size, causal=False):
    N, T, d = query.shape[-2], key.shape[-2], query.shape[-1]
    fill = -T % block_size
    key, value = F.pad(key, (0, 0, 0, fill)), F.pad(value, (0, 0, 0, fill))
    y = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    z = torch.zeros(*query.shape[:-1], 1, dtype=query.dtype)
    m = torch.full_like(z, -torch.finfo(z.dtype).max)
    for start in range(0, T + fill, block_size):
        columns = torch.arange(start, start + block_size)
        keys, values = key[..., columns, :], value[..., columns, :]
        visible = (columns < T).expand(N, -1)
        if causal:
            visible = visible & (columns <= torch.arange(N)[:, None])
        e = (query / math.sqrt(d)) @ keys.mT
        e = e.masked_fill(~visible, -torch.inf)
        new = torch.maximum(m, e.amax(-1, keepdim=True))
        y, z = y * torch.exp(m - new), z * torch.exp(m - new)
        p = torch.exp(e - new)
        y, z, m = y + p @ values, z + p.sum(-1, keepdim=True), new
    return y / z


def blockwise_single_precision(query, key, value, block_size, causal=False):
    inputs = (x.float() for x in (query, key, value))
    return blockwise_keys_only(*inputs, block_size, causal).double()


def break_linear_attention_with_integers():
    query, key = torch.tensor([[3, -1]]), torch.tensor([[-2, 2], [1, -1]])
    return [query, key, torch.tensor([[5], [-5]])]


def break_linear_attention_with_far_features():
    query, key = torch.tensor([[-1.0, 4.0]]), torch.tensor([[5.0, 0.5], [-1.0, 2.0]])
    return query, key, torch.tensor([[100.0], [-100.0]])


ALTERNATIVES = {
    "break_linear_attention": [
        break_linear_attention_with_integers,
        break_linear_attention_with_far_features,
    ],
    "attention_flops": [flops_short, flops_counted, flops_numpy],
    "attention_bytes": [bytes_product, bytes_shape, bytes_summed],
    "linear_attention": [
        linear_einsum,
        linear_ones_column,
        linear_query_by_query,
        linear_single_precision,
        linear_key_by_key,
        linear_numpy,
    ],
    "causal_linear_attention": [
        causal_cumsum,
        causal_masked,
        causal_prefixes,
        causal_assigned,
        causal_chunks,
    ],
    "online_softmax_sum": [
        online_log_sum_exp,
        online_in_place,
        online_key_by_key,
        online_single_precision,
    ],
    "blockwise_attention": [
        blockwise_keys_only,
        blockwise_queries_only,
        blockwise_row_by_row,
        blockwise_padded,
        blockwise_single_precision,
    ],
}
