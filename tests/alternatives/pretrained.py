"""Other right answers to the exercises on published weights."""

import math
import re

import numpy as np
import torch
import torch.nn.functional as F


def convert_by_pattern(state_dict, index):
    pattern = re.compile(rf"(?:bert\.)?encoder\.layer\.{index}\.(.+)\.(weight|bias)")
    found = {}
    for name, value in state_dict.items():
        match = pattern.fullmatch(name)
        if match:
            found[match.groups()] = value
    out = {}
    for kind in ("weight", "bias"):
        packed = [found[f"attention.self.{p}", kind] for p in ("query", "key", "value")]
        out[f"self_attn.in_proj_{kind}"] = (
            torch.vstack(packed) if kind == "weight" else torch.hstack(packed)
        )
        out[f"self_attn.out_proj.{kind}"] = found["attention.output.dense", kind]
        out[f"linear1.{kind}"] = found["intermediate.dense", kind]
        out[f"linear2.{kind}"] = found["output.dense", kind]
        out[f"norm1.{kind}"] = found["attention.output.LayerNorm", kind]
        out[f"norm2.{kind}"] = found["output.LayerNorm", kind]
    return out


def convert_written_out(state_dict, index):
    plain = {name.removeprefix("bert."): value for name, value in state_dict.items()}

    def get(name):
        return plain[f"encoder.layer.{index}.{name}"].clone()

    width = get("attention.self.query.bias").shape[0]
    weight = torch.empty(3 * width, width, dtype=get("output.dense.weight").dtype)
    bias = torch.empty(3 * width, dtype=weight.dtype)
    for i, part in enumerate(["query", "key", "value"]):
        weight[i * width : (i + 1) * width] = get(f"attention.self.{part}.weight")
        bias[i * width : (i + 1) * width] = get(f"attention.self.{part}.bias")
    return {
        "norm2.bias": get("output.LayerNorm.bias"),
        "norm2.weight": get("output.LayerNorm.weight"),
        "norm1.bias": get("attention.output.LayerNorm.bias"),
        "norm1.weight": get("attention.output.LayerNorm.weight"),
        "linear2.bias": get("output.dense.bias"),
        "linear2.weight": get("output.dense.weight"),
        "linear1.bias": get("intermediate.dense.bias"),
        "linear1.weight": get("intermediate.dense.weight"),
        "self_attn.out_proj.bias": get("attention.output.dense.bias"),
        "self_attn.out_proj.weight": get("attention.output.dense.weight"),
        "self_attn.in_proj_bias": bias,
        "self_attn.in_proj_weight": weight,
    }


def convert_renamed(state_dict, index):
    renames = [
        ("attention.output.dense", "self_attn.out_proj"),
        ("attention.output.LayerNorm", "norm1"),
        ("intermediate.dense", "linear1"),
        ("output.dense", "linear2"),
        ("output.LayerNorm", "norm2"),
    ]
    out, packed = {}, {}
    for name, value in state_dict.items():
        parts = name.split(".")
        if parts[0] == "bert":
            parts = parts[1:]
        if parts[:3] != ["encoder", "layer", str(index)]:
            continue
        rest = ".".join(parts[3:])
        if rest.startswith("attention.self."):
            packed[rest[len("attention.self.") :]] = value
            continue
        for theirs, ours in renames:
            if rest.startswith(theirs + "."):
                out[rest.replace(theirs, ours)] = value
                break
    for kind in ("weight", "bias"):
        rows = [packed[f"{p}.{kind}"] for p in ("query", "key", "value")]
        out[f"self_attn.in_proj_{kind}"] = torch.concat(rows, dim=0)
    return out


def pool_published(hidden, mask):
    weights = mask.unsqueeze(-1).expand(hidden.size()).to(hidden.dtype)
    mean = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
    return F.normalize(mean, p=2, dim=1)


def pool_einsum(hidden, mask):
    total = torch.einsum("bnd,bn->bd", hidden, mask.to(hidden.dtype))
    length = total.norm(dim=1, keepdim=True)
    return torch.where(length > 0, total / length, 0.0)


def pool_loops(hidden, mask):
    rows = []
    for tokens, real in zip(hidden, mask, strict=True):
        mean = tokens[real].sum(0) / max(int(real.sum()), 1)
        rows.append(mean / max(math.sqrt(float(mean @ mean)), 1e-12))
    return torch.stack(rows)


def pool_single_precision(hidden, mask):
    return pool_published(hidden.float(), mask)


def pool_numpy(hidden, mask):
    h, m = hidden.numpy(), mask.numpy()[..., None]
    total = np.where(m, h, 0).sum(1)
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-30)


def embed_detached(texts, tokenizer, model):
    ids, mask = tokenizer(texts)
    return pool_published(model(ids, mask), mask).detach()


@torch.no_grad()
def embed_one_by_one(texts, tokenizer, model):
    rows = []
    for text in texts:
        ids, mask = tokenizer([text])
        rows.append(pool_einsum(model(ids, mask), mask)[0])
    return torch.stack(rows)


@torch.inference_mode()
def embed_sorted(texts, tokenizer, model):
    model.eval()
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    ids, mask = tokenizer([texts[i] for i in order])
    vectors = pool_loops(model(ids, mask), mask)
    result = torch.empty_like(vectors)
    result[torch.tensor(order)] = vectors
    return result


def embed_in_batches(texts, tokenizer, model):
    batches = (texts[i : i + 2] for i in range(0, len(texts), 2))
    return torch.cat([embed_detached(b, tokenizer, model) for b in batches])


def search_argsort(query, corpus, k):
    scores = torch.cosine_similarity(corpus, query[None], dim=-1)
    order = scores.argsort(descending=True)[:k]
    return order, scores[order]


def search_loops(query, corpus, k):
    scored = []
    for i, row in enumerate(corpus.tolist()):
        dot = sum(a * b for a, b in zip(query.tolist(), row, strict=True))
        scored.append((dot / float(query.norm()) / math.hypot(*row), i))
    scored.sort(reverse=True)
    indices, scores = [i for _, i in scored[:k]], [s for s, _ in scored[:k]]
    return torch.tensor(indices), torch.tensor(scores)


def search_numpy(query, corpus, k):
    q, c = query.numpy(), corpus.numpy()
    scores = c @ q / np.linalg.norm(c, axis=1) / np.linalg.norm(q)
    order = np.argsort(-scores)[:k]
    return order, scores[order]


def search_distance(query, corpus, k):
    q = query / query.norm()
    c = corpus / corpus.norm(dim=-1, keepdim=True)
    distance = torch.linalg.vector_norm(c - q, dim=-1)
    indices = distance.sort().indices[:k]
    return indices, 1 - distance[indices] ** 2 / 2


def search_single_precision(query, corpus, k):
    return search_argsort(query.float(), corpus.float(), k)


def break_search_backwards():
    return torch.tensor([-2.0]), torch.tensor([[1.0], [-90.0]]), 2


def break_search_with_integers():
    return [torch.tensor([5]), torch.tensor([[-1], [100]]), 2]


ALTERNATIVES = {
    "break_search": [break_search_backwards, break_search_with_integers],
    "convert_bert_layer": [convert_by_pattern, convert_written_out, convert_renamed],
    "mean_pool": [
        pool_published,
        pool_einsum,
        pool_loops,
        pool_single_precision,
        pool_numpy,
    ],
    "embed": [embed_detached, embed_one_by_one, embed_sorted, embed_in_batches],
    "search": [
        search_argsort,
        search_loops,
        search_numpy,
        search_distance,
        search_single_precision,
    ],
}
