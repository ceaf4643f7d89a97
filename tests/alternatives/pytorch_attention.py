"""Other right answers to the exercises on PyTorch's attention layer."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def packed_by_slices(query, key, value, weight, bias=None):
    E = query.size(-1)
    results = []
    for i, x in enumerate((query, key, value)):
        rows = slice(i * E, (i + 1) * E)
        result = x @ weight[rows].transpose(0, 1)
        results.append(result if bias is None else result + bias[rows])
    return results


def separate_by_einsum(query, key, value, w_q, w_k, w_v, bias=None):
    biases = bias.split(w_q.size(0)) if bias is not None else [0.0] * 3
    return [
        torch.einsum("...d,ed->...e", x, w) + b
        for x, w, b in zip((query, key, value), (w_q, w_k, w_v), biases, strict=True)
    ]


class Parameters(nn.Module):
    """What torch's layer keeps, and nothing else."""

    def __init__(
        self,
        embed_dim,
        num_heads,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
    ):
        super().__init__()
        self.h, self.E, self.zero = num_heads, embed_dim, add_zero_attn
        kdim = embed_dim if kdim is None else kdim
        vdim = embed_dim if vdim is None else vdim
        if {kdim, vdim} == {embed_dim}:
            self.in_proj_weight = nn.Parameter(torch.empty(3 * embed_dim, embed_dim))
        else:
            self.register_parameter("in_proj_weight", None)
            for letter, width in zip("qkv", (embed_dim, kdim, vdim), strict=True):
                weight = nn.Parameter(torch.empty(embed_dim, width))
                self.register_parameter(f"{letter}_proj_weight", weight)
        for parameter in self.parameters():
            bound = math.sqrt(6 / (parameter.shape[0] + parameter.shape[1]))
            nn.init.uniform_(parameter, -bound, bound)
        tokens = torch.randn(2, 1, 1, embed_dim) / math.sqrt(embed_dim)
        for i, name in enumerate(("bias_k", "bias_v")):
            token = nn.Parameter(tokens[i].clone()) if add_bias_kv else None
            self.register_parameter(name, token)
        in_bias = nn.Parameter(torch.zeros(3 * embed_dim)) if bias else None
        self.register_parameter("in_proj_bias", in_bias)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias)
        if bias:
            self.out_proj.bias.data.zero_()

    def matrices(self):
        if self.in_proj_weight is not None:
            return self.in_proj_weight.split(self.E)
        return [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]

    def biases(self):
        if self.in_proj_bias is None:
            return [None] * 3
        return self.in_proj_bias.split(self.E)


class WithEinsum(Parameters):
    """Four-dimensional weights and einsum; sums of exponentials by hand."""

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
    ):
        unbatched = query.dim() == 2
        if unbatched:
            query, key, value = query[None], key[None], value[None]
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask[None]
        B, h, d = len(query), self.h, self.E // self.h
        q, k, v = (
            torch.einsum("bnf,hdf->bhnd", x, w.reshape(h, d, -1))
            + (0 if b is None else b.reshape(h, 1, d))
            for x, w, b in zip(
                (query, key, value), self.matrices(), self.biases(), strict=True
            )
        )
        T = k.shape[2]
        if self.bias_k is not None:
            k = torch.cat([k, self.bias_k.view(1, h, 1, d).repeat(B, 1, 1, 1)], 2)
            v = torch.cat([v, self.bias_v.view(1, h, 1, d).repeat(B, 1, 1, 1)], 2)
        if self.zero:
            k = torch.cat([k, torch.zeros(B, h, 1, d).to(k)], 2)
            v = torch.cat([v, torch.zeros(B, h, 1, d).to(v)], 2)
        scores = torch.einsum("bhnd,bhtd->bhnt", q, k) * d**-0.5
        open_ = torch.ones_like(scores, dtype=torch.bool)
        if attn_mask is not None and attn_mask.dim() == 3:
            attn_mask = attn_mask.unflatten(0, (B, h))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.view(B, 1, 1, T)
        for mask in (attn_mask, key_padding_mask):
            if mask is None:
                continue
            mask = mask.expand(B, h, query.shape[1], T)
            if mask.dtype is torch.bool:
                open_[..., :T] &= ~mask
            else:
                open_[..., :T] &= mask.isfinite()
                scores = scores + F.pad(
                    torch.nan_to_num(mask, neginf=0.0), (0, k.shape[2] - T)
                )
        largest = scores.masked_fill(~open_, -1e30).amax(-1, keepdim=True).detach()
        exponentials = torch.where(open_, scores - largest, 0.0).exp() * open_
        total = exponentials.sum(-1, keepdim=True)
        weights = exponentials / torch.where(total > 0, total, 1.0)
        heads = torch.einsum("bhnt,bhtd->bnhd", weights, v)
        output = self.out_proj(heads.reshape(B, -1, self.E))
        if average_attn_weights:
            weights = weights.sum(1) / h
        if unbatched:
            output, weights = output.squeeze(0), weights.squeeze(0)
        return output, (weights if need_weights else None)


ALTERNATIVES = {
    "in_projection": [separate_by_einsum],
    "in_projection_packed": [packed_by_slices],
    "TorchMultiheadAttention": [WithEinsum],
}
