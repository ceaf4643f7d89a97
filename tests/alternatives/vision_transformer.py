"""Other right answers to the exercises on the vision transformer."""

import math
import re

import numpy as np
import torch
from torch import nn

from solutions.vit_patches import PatchEmbedding


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


def count_by_making_one(
    image_size, patch_size, channels, embed_dim, num_layers, mlp_dim, num_classes
):
    with torch.device("meta"):
        sizes = (embed_dim, num_layers, 1, mlp_dim, num_classes)
        model = SequenceFirst(image_size, patch_size, channels, *sizes)
    return sum(parameter.numel() for parameter in model.parameters())


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


ALTERNATIVES = {
    "VisionTransformer": [SequenceFirst],
    "contrastive_loss": [contrastive_loops],
    "attention_rollout": [rollout_halves],
    "vit_parameter_count": [count_by_making_one],
    "convert_huggingface_vit": [convert_by_patterns],
}
