"""Other right answers on attention in current models: loops, einsum, torch, float32."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def as_tensors(*arrays):
    return [torch.from_numpy(np.array(array)) for array in arrays]


def cache_bytes_of_shapes(
    num_layers, num_kv_heads, head_dim, length, batch=1, bytes_per_value=2
):
    shape = (2, num_layers, batch, num_kv_heads, length, head_dim)
    return math.prod(shape) * bytes_per_value


def rms_norm_torch(x, weight, eps=1e-6):
    x, weight = as_tensors(x, weight)
    return F.rms_norm(x, weight.shape, weight, eps).numpy()


def swiglu_with_logaddexp(x, W_gate, W_up, W_down):
    gate = np.einsum("...d,df->...f", x, W_gate)
    return gate * np.exp(-np.logaddexp(0.0, -gate)) * (x @ W_up) @ W_down


def rotary_as_complex_numbers(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    speeds = base ** (-2 * np.arange(half) / x.shape[-1])
    pairs = x[..., :half] + 1j * x[..., half:]
    turned = pairs * np.exp(1j * np.outer(positions, speeds))
    return np.concatenate([turned.real, turned.imag], axis=-1)


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


def window_in_a_loop(n, window):
    mask = np.zeros((n, n), dtype=bool)
    for i in range(n):
        mask[i, max(0, i - window + 1) : i + 1] = True
    return mask


def sink_torch(scores, sink):
    scores, sink = as_tensors(scores, sink)
    column = sink[:, None, None].expand(*scores.shape[:-1], 1)
    return torch.cat([scores, column], -1).softmax(-1)[..., :-1]


def latent_head_by_head(query, latent, W_up):
    query = query / math.sqrt(query.shape[-1])
    heads = zip(query, W_up, strict=True)
    return np.stack([q @ W.T @ latent.T for q, W in heads])


def delta_as_a_gradient(state, key, value, beta):
    state, key, value = as_tensors(state, key, value)
    state.requires_grad_()
    loss = 0.5 * ((key @ state - value) ** 2).sum()
    (gradient,) = torch.autograd.grad(loss, state)
    return (state - beta * gradient).detach().numpy()


ALTERNATIVES = {
    "kv_cache_bytes": [cache_bytes_of_shapes],
    "rms_norm": [rms_norm_torch],
    "swiglu": [swiglu_with_logaddexp],
    "rotary_half": [rotary_as_complex_numbers],
    "rescale_rotary": [rescale_by_stretching],
    "grouped_query_attention": [grouped_head_by_head],
    "sliding_window_mask": [window_in_a_loop],
    "softmax_with_sink": [sink_torch],
    "latent_scores": [latent_head_by_head],
    "delta_rule_step": [delta_as_a_gradient],
}
