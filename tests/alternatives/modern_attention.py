"""Other right answers on attention in current models: loops, einsum, torch, float32."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def as_tensors(*arrays):
    return [torch.from_numpy(np.array(array)) for array in arrays]


def cache_bytes_in_steps(
    num_layers, num_kv_heads, head_dim, length, batch=1, bytes_per_value=2
):
    one_vector = head_dim * bytes_per_value
    one_token = num_layers * num_kv_heads * (one_vector + one_vector)
    return sum(one_token * length for _ in range(batch))


def cache_bytes_of_shapes(
    num_layers, num_kv_heads, head_dim, length, batch=1, bytes_per_value=2
):
    shape = (2, num_layers, batch, num_kv_heads, length, head_dim)
    return math.prod(shape) * bytes_per_value


def rms_norm_torch(x, weight, eps=1e-6):
    x, weight = as_tensors(x, weight)
    return F.rms_norm(x, weight.shape, weight, eps).numpy()


def rms_norm_in_a_loop(x, weight, eps=1e-6):
    result = np.zeros(x.shape)
    for place in np.ndindex(x.shape[:-1]):
        token = x[place]
        root = math.sqrt(sum(feature**2 for feature in token) / len(token) + eps)
        result[place] = [f / root * w for f, w in zip(token, weight, strict=True)]
    return result


def swiglu_torch(x, W_gate, W_up, W_down):
    x, W_gate, W_up, W_down = map(torch.from_numpy, (x, W_gate, W_up, W_down))
    return (F.silu(x @ W_gate) * (x @ W_up)) @ W_down


def swiglu_with_logaddexp(x, W_gate, W_up, W_down):
    gate = np.einsum("...d,df->...f", x, W_gate)
    return gate * np.exp(-np.logaddexp(0.0, -gate)) * (x @ W_up) @ W_down


def rotary_as_complex_numbers(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    speeds = base ** (-2 * np.arange(half) / x.shape[-1])
    pairs = x[..., :half] + 1j * x[..., half:]
    turned = pairs * np.exp(1j * np.outer(positions, speeds))
    return np.concatenate([turned.real, turned.imag], axis=-1)


def rotary_with_rotated_half(x, positions, base=10000.0):
    x, positions = as_tensors(x, positions)
    d = x.shape[-1]
    speeds = 1.0 / base ** (torch.arange(0, d, 2).double() / d)
    angles = torch.outer(positions.double(), speeds).repeat(1, 2)
    rotated = torch.cat([-x[..., d // 2 :], x[..., : d // 2]], dim=-1)
    return (x * angles.cos() + rotated * angles.sin()).numpy()


def rescale_through_wavelengths(dim, base, factor):
    larger = base * factor ** (1 + 2 / (dim - 2))
    wavelengths = [2 * math.pi * larger ** (2 * i / dim) for i in range(dim // 2)]
    return 2 * math.pi / np.array(wavelengths)


def rescale_by_stretching(dim, base, factor):
    """The stretch grows from 1 for the first pair to the factor for the last."""
    pairs = np.arange(dim // 2)
    return base ** (-2 * pairs / dim) / factor ** (pairs / (dim // 2 - 1))


def grouped_head_by_head(query, key, value, mask=None):
    (B, h, N, _), g = query.shape, key.shape[1]
    if h % g != 0:
        raise ValueError((h, g))
    result = np.zeros((B, h, N, value.shape[-1]))
    mask = np.broadcast_to(True if mask is None else mask, (B, h, N, key.shape[2]))
    for b, head, n in np.ndindex(B, h, N):
        seen = mask[b, head, n]
        if seen.any():
            group = head * g // h
            scores = key[b, group, seen] @ query[b, head, n] / query.shape[-1] ** 0.5
            weights = np.exp(scores - scores.max())
            result[b, head, n] = weights @ value[b, group, seen] / weights.sum()
    return result


def grouped_torch(query, key, value, mask=None):
    if query.shape[1] % key.shape[1]:
        raise ValueError("the heads cannot be grouped")
    query, key, value = as_tensors(query, key, value)
    mask = None if mask is None else torch.from_numpy(np.array(mask))
    output = F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, enable_gqa=True
    )
    return output.nan_to_num(0.0)  # rows without keys, in some versions


def window_of_two_triangles(n, window):
    return np.tri(n, dtype=bool) & ~np.tri(n, k=-window, dtype=bool)


def window_in_a_loop(n, window):
    mask = np.zeros((n, n), dtype=bool)
    for i in range(n):
        mask[i, max(0, i - window + 1) : i + 1] = True
    return mask


def sink_as_a_column(scores, sink):
    column = np.broadcast_to(sink[:, None, None], (*scores.shape[:-1], 1))
    together = np.concatenate([column, scores], axis=-1)
    weights = np.exp(together - together.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True))[..., 1:]


def sink_torch(scores, sink):
    scores, sink = as_tensors(scores, sink)
    column = sink[:, None, None].expand(*scores.shape[:-1], 1)
    return torch.cat([scores, column], -1).softmax(-1)[..., :-1]


def latent_einsum(query, latent, W_up):
    absorbed = np.einsum("hnd,hrd->hnr", query, W_up)
    return np.einsum("hnr,tr->hnt", absorbed, latent) / np.sqrt(query.shape[2])


def latent_head_by_head(query, latent, W_up):
    query = query / math.sqrt(query.shape[-1])
    heads = zip(query, W_up, strict=True)
    return np.stack([q @ W.T @ latent.T for q, W in heads])


def delta_as_a_projection(state, key, value, beta):
    forget = np.eye(len(key)) - beta * np.outer(key, key)
    return forget @ state + beta * np.outer(key, value)


def delta_as_a_gradient(state, key, value, beta):
    state, key, value = as_tensors(state, key, value)
    state.requires_grad_()
    loss = 0.5 * ((key @ state - value) ** 2).sum()
    (gradient,) = torch.autograd.grad(loss, state)
    return (state - beta * gradient).detach().numpy()


ALTERNATIVES = {
    "kv_cache_bytes": [cache_bytes_in_steps, cache_bytes_of_shapes],
    "rms_norm": [rms_norm_torch, rms_norm_in_a_loop],
    "swiglu": [swiglu_torch, swiglu_with_logaddexp],
    "rotary_half": [rotary_as_complex_numbers, rotary_with_rotated_half],
    "rescale_rotary": [rescale_through_wavelengths, rescale_by_stretching],
    "grouped_query_attention": [grouped_head_by_head, grouped_torch],
    "sliding_window_mask": [window_of_two_triangles, window_in_a_loop],
    "softmax_with_sink": [sink_as_a_column, sink_torch],
    "latent_scores": [latent_einsum, latent_head_by_head],
    "delta_rule_step": [delta_as_a_projection, delta_as_a_gradient],
}
