"""Other right answers to the exercises on the vision transformer."""

import math
import re

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from solutions.vit_patches import PatchEmbedding


class LayerOfParts(nn.Module):
    """A pre-norm layer from torch's attention, with the names of torch's layer."""

    def __init__(self, embed_dim, num_heads, mlp_dim, eps):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim, eps=eps)
        self.self_attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
        self.norm2 = nn.LayerNorm(embed_dim, eps=eps)
        self.linear1 = nn.Linear(embed_dim, mlp_dim)
        self.linear2 = nn.Linear(mlp_dim, embed_dim)

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.self_attn(y, y, y)[0]
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))


class OwnLayers(nn.Module):
    def __init__(
        self,
        image_size,
        patch_size,
        channels,
        embed_dim,
        num_layers,
        num_heads,
        mlp_dim,
        num_classes,
        eps=1e-6,
    ):
        super().__init__()
        self.head = nn.Linear(embed_dim, num_classes)
        self.norm = nn.LayerNorm(embed_dim, eps)
        layers = []
        for _ in range(num_layers):
            layers.append(LayerOfParts(embed_dim, num_heads, mlp_dim, eps))
        self.layers = nn.ModuleList(layers)
        self.embedding = PatchEmbedding(image_size, patch_size, channels, embed_dim)

    def forward(self, images):
        x = self.embedding(images)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0, :])


class SequenceFirst(nn.Module):
    """Everything in the other order of axes, consistently."""

    def __init__(self, image, patch, C, E, L, h, M, K, eps=0.000001):
        super().__init__()
        self.embedding = PatchEmbedding(image, patch, C, E)
        self.layers = nn.ModuleList()
        for _ in range(L):
            self.layers.append(
                nn.TransformerEncoderLayer(E, h, M, 0.0, nn.GELU(), eps, False, True)
            )
        self.norm, self.head = nn.LayerNorm(E, eps), nn.Linear(E, K)

    def forward(self, images):
        tokens = self.embedding(images).transpose(0, 1)
        for layer in self.layers:
            tokens = layer(tokens)
        return self.head(self.norm(tokens[0]))


def contrastive_torch(images, texts, temperature):
    images, texts = torch.from_numpy(images), torch.from_numpy(texts)
    logits = F.normalize(images) @ F.normalize(texts).T / temperature
    right = torch.arange(len(logits))
    both = F.cross_entropy(logits, right) + F.cross_entropy(logits.T, right)
    return both / 2


def contrastive_loops(images, texts, temperature):
    total = 0.0
    for these, others in ((images, texts), (texts, images)):
        for i, one in enumerate(these):
            cosines = [
                one @ other / math.sqrt((one @ one) * (other @ other))
                for other in others
            ]
            scores = np.array(cosines) / temperature
            total += np.logaddexp.reduce(scores) - scores[i]
    return total / (2 * len(images))


def rollout_halves(attentions):
    """Weights sum to one, so half of each is the same thing."""
    B, h, N, _ = attentions[0].shape
    row = np.zeros((B, 1, N))
    row[:, :, 0] = 1
    for attention in reversed(attentions):  # a vector from the left is enough
        row = 0.5 * row + 0.5 * row @ attention.mean(1)
    return row[:, 0, 1:]


def rollout_loops(attentions):
    results = []
    for b in range(len(attentions[0])):
        product = np.eye(attentions[0].shape[-1])
        for attention in attentions:
            mixed = np.mean(list(attention[b]), axis=0)
            for i in range(len(mixed)):
                mixed[i, i] += 1
                mixed[i] /= mixed[i].sum()
            product = np.dot(mixed, product)
        results.append(product[0, 1:])
    return np.stack(results)


def count_by_making_one(
    image_size, patch_size, channels, embed_dim, num_layers, mlp_dim, num_classes
):
    with torch.device("meta"):
        sizes = (embed_dim, num_layers, 1, mlp_dim, num_classes)
        model = SequenceFirst(image_size, patch_size, channels, *sizes)
    return sum(parameter.numel() for parameter in model.parameters())


def count_shapes(
    image_size, patch_size, channels, embed_dim, num_layers, mlp_dim, num_classes
):
    E, N = embed_dim, (image_size // patch_size) ** 2
    shapes = [(1, 1, E), (1, N + 1, E), (E, channels, patch_size, patch_size), (E,)]
    shapes += num_layers * [(3 * E, E), (3 * E,), (E, E), (E,), (E,), (E,), (E,), (E,)]
    shapes += num_layers * [(mlp_dim, E), (mlp_dim,), (E, mlp_dim), (E,)]
    shapes += [(E,), (E,), (num_classes, E), (num_classes,)]
    return int(np.sum([np.prod(shape) for shape in shapes]))


def convert_by_patterns(state_dict):
    rules = [
        (r"^vit\.embeddings\.cls_token$", "embedding.class_token"),
        (r"^vit\.embeddings\.position_embeddings$", "embedding.positions"),
        (r"^vit\.embeddings\.patch_embeddings\.", "embedding."),
        (r"^vit\.encoder\.layer\.", "layers."),
        (r"\.attention\.output\.dense\.", ".self_attn.out_proj."),
        (r"\.intermediate\.dense\.", ".linear1."),
        (r"\.output\.dense\.", ".linear2."),
        (r"\.layernorm_before\.", ".norm1."),
        (r"\.layernorm_after\.", ".norm2."),
        (r"^vit\.layernorm\.", "norm."),
        (r"^classifier\.", "head."),
    ]
    converted, packed = {}, {}
    for name, tensor in state_dict.items():
        for pattern, new in rules:
            name = re.sub(pattern, new, name)
        found = re.fullmatch(r"(.*)attention\.attention\.(\w+)\.(\w+)", name)
        if found:
            layer, part, kind = found.groups()
            packed.setdefault(f"{layer}self_attn.in_proj_{kind}", {})[part] = tensor
        else:
            converted[name] = tensor
    for name, parts in packed.items():
        converted[name] = torch.cat([parts[p] for p in ("query", "key", "value")])
    weight = converted["embedding.projection.weight"]
    converted["embedding.projection.weight"] = weight.reshape(len(weight), -1)
    return converted


def convert_until_missing(state_dict):
    get = state_dict.__getitem__
    kernel = get("vit.embeddings.patch_embeddings.projection.weight")
    result = {
        "embedding.class_token": get("vit.embeddings.cls_token").clone(),
        "embedding.positions": get("vit.embeddings.position_embeddings").clone(),
        "embedding.projection.weight": torch.stack([k.ravel() for k in kernel]),
        "embedding.projection.bias": get(
            "vit.embeddings.patch_embeddings.projection.bias"
        ),
    }
    i = 0
    while f"vit.encoder.layer.{i}.output.dense.bias" in state_dict:
        old, new = f"vit.encoder.layer.{i}", f"layers.{i}"
        for end in ["weight", "bias"]:
            q, k, v = (
                get(f"{old}.attention.attention.{name}.{end}")
                for name in ["query", "key", "value"]
            )
            size = len(q)
            whole = q.new_empty(3 * size, *q.shape[1:])
            whole[:size], whole[size : 2 * size], whole[2 * size :] = q, k, v
            result[f"{new}.self_attn.in_proj_{end}"] = whole
            result[f"{new}.self_attn.out_proj.{end}"] = get(
                f"{old}.attention.output.dense.{end}"
            )
            result[f"{new}.linear1.{end}"] = get(f"{old}.intermediate.dense.{end}")
            result[f"{new}.linear2.{end}"] = get(f"{old}.output.dense.{end}")
            result[f"{new}.norm1.{end}"] = get(f"{old}.layernorm_before.{end}")
            result[f"{new}.norm2.{end}"] = get(f"{old}.layernorm_after.{end}")
        i += 1
    for end in ["weight", "bias"]:
        result[f"norm.{end}"] = get(f"vit.layernorm.{end}")
        result[f"head.{end}"] = get(f"classifier.{end}")
    return result


ALTERNATIVES = {
    "VisionTransformer": [OwnLayers, SequenceFirst],
    "contrastive_loss": [contrastive_torch, contrastive_loops],
    "attention_rollout": [rollout_halves, rollout_loops],
    "vit_parameter_count": [count_by_making_one, count_shapes],
    "convert_huggingface_vit": [convert_by_patterns, convert_until_missing],
}
