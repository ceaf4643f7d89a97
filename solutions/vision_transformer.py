"""The vision transformer, a loss for images and texts, rollout, published weights.

Symbols, in this file and in the chapter:

    B  images in a batch      E  width of the model (embed_dim)
    N  tokens: the class      M  width inside a feed-forward layer (mlp_dim)
       token and the patches  h  heads (num_heads)
    D  width of an embedding
"""

import numpy as np
import torch
from torch import Tensor, nn

from toolkit.patches import PatchTokens


class VisionTransformer(nn.Module):
    """Classify images with a transformer encoder over their patches.

    z_0 = PatchTokens(images),  z_l = layer_l(z_(l-1)),
    logits = head(norm(class token of z_L))

    Layers are pre-norm, with gelu and without dropout. Parameters: ``embedding``
    (``PatchTokens``); ``layers``, an ``nn.ModuleList`` with the names of
    ``nn.TransformerEncoderLayer``; ``norm`` (``nn.LayerNorm``); ``head``
    (``nn.Linear``).

    Args:
        image_size: H = W of the images.
        patch_size: p, which divides ``image_size``.
        channels: C.
        embed_dim: E.
        num_layers: number of layers.
        num_heads: h, which divides E.
        mlp_dim: M.
        num_classes: number of logits.
        eps: added to the variance in every norm.

    Source: Dosovitskiy et al. (2021), equations 1 to 4.
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        channels: int,
        embed_dim: int,
        num_layers: int,
        num_heads: int,
        mlp_dim: int,
        num_classes: int,
        eps: float = 1e-6,
    ) -> None:
        """Make the parameters."""
        super().__init__()
        projection = nn.Linear(channels * patch_size**2, embed_dim)
        num_patches = (image_size // patch_size) ** 2
        self.embedding = PatchTokens(projection, num_patches, patch_size)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                embed_dim,
                num_heads,
                mlp_dim,
                dropout=0.0,
                activation="gelu",
                layer_norm_eps=eps,
                batch_first=True,
                norm_first=True,
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(embed_dim, eps=eps)
        self.head = nn.Linear(embed_dim, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        """Return (B, num_classes) logits for images (B, C, H, W)."""
        tokens = self.embedding(images)  # (B, N, E)
        for layer in self.layers:
            tokens = layer(tokens)
        return self.head(self.norm(tokens[:, 0]))  # (B, num_classes)


def contrastive_loss(
    images: np.ndarray, texts: np.ndarray, temperature: float
) -> float:
    """Cross-entropy of finding the right text for each image, and vice versa.

    Logits are cosines divided by the temperature; row i of the images belongs to row i
    of the texts.

    Args:
        images: (B, D) embeddings of images, of any norm.
        texts: (B, D) embeddings of their texts.
        temperature: positive.

    Returns:
        The mean of both directions.

    Source: Radford et al. (2021), figure 3.
    """
    images = images / np.linalg.norm(images, axis=1, keepdims=True)
    texts = texts / np.linalg.norm(texts, axis=1, keepdims=True)
    logits = images @ texts.T / temperature  # (B, B), right pairs on the diagonal
    losses = []
    for scores in (logits, logits.T):  # a text for each image, an image for each text
        scores = scores - scores.max(axis=1, keepdims=True)
        log_sums = np.log(np.exp(scores).sum(axis=1))
        losses.append((log_sums - np.diagonal(scores)).mean())
    return float(np.mean(losses))


def attention_rollout(attentions: list[np.ndarray]) -> np.ndarray:
    """Follow the attention of the class token through all layers down to the patches.

    The matrix of a layer is the mean of its heads plus the identity, each row divided
    by its sum; R is the product of these matrices.

    Args:
        attentions: one (B, h, N, N) array of weights per layer, the first layer first;
            rows are queries.

    Returns:
        (B, N - 1): the class token's row of R, without its own entry and not rescaled.

    Source: Abnar and Zuidema (2020), equation 1.
    """
    rollout = np.eye(attentions[0].shape[-1])
    for attention in attentions:
        mixed = attention.mean(axis=1)  # (B, N, N)
        mixed = mixed + np.eye(mixed.shape[-1])
        mixed = mixed / mixed.sum(axis=-1, keepdims=True)
        rollout = mixed @ rollout
    return rollout[:, 0, 1:]


def vit_parameter_count(
    image_size: int,
    patch_size: int,
    channels: int,
    embed_dim: int,
    num_layers: int,
    mlp_dim: int,
    num_classes: int,
) -> int:
    """Count the parameters of a ``VisionTransformer`` without making one.

    Args:
        image_size: H = W of the images.
        patch_size: p, which divides ``image_size``.
        channels: C.
        embed_dim: E.
        num_layers: number of layers.
        mlp_dim: M.
        num_classes: number of logits.

    Returns:
        The count, with all biases.

    Source: Dosovitskiy et al. (2021), table 1.
    """
    E, M = embed_dim, mlp_dim
    num_patches = (image_size // patch_size) ** 2
    projection = channels * patch_size**2 * E + E
    embedding = projection + E + (num_patches + 1) * E  # class token, positions
    attention = 4 * (E * E + E)  # queries, keys, values, output
    feed_forward = (E * M + M) + (M * E + E)
    norm = 2 * E
    layers = num_layers * (attention + feed_forward + 2 * norm)
    return embedding + layers + norm + E * num_classes + num_classes


def convert_huggingface_vit(state_dict: dict[str, Tensor]) -> dict[str, Tensor]:
    """Rename and pack published weights so that a ``VisionTransformer`` can load them.

    Args:
        state_dict: that of Hugging Face's ``ViTForImageClassification``, in any order,
            with any number of layers.

    Returns:
        A new dictionary: the state dict of a ``VisionTransformer``.

    Source: the names in the published files, such as google/vit-base-patch16-224.
    """
    theirs, ours = state_dict, {}
    embeddings = "vit.embeddings."
    ours["embedding.class_token"] = theirs[embeddings + "cls_token"]
    ours["embedding.positions"] = theirs[embeddings + "position_embeddings"]
    patches = embeddings + "patch_embeddings.projection."
    ours["embedding.projection.weight"] = theirs[patches + "weight"].flatten(1)
    ours["embedding.projection.bias"] = theirs[patches + "bias"]
    renamed = {"norm.": "vit.layernorm.", "head.": "classifier."}

    numbers = {name.split(".")[3] for name in theirs if ".encoder.layer." in name}
    for i in numbers:
        old, new = f"vit.encoder.layer.{i}.", f"layers.{i}."
        renamed |= {
            new + "norm1.": old + "layernorm_before.",
            new + "norm2.": old + "layernorm_after.",
            new + "self_attn.out_proj.": old + "attention.output.dense.",
            new + "linear1.": old + "intermediate.dense.",
            new + "linear2.": old + "output.dense.",
        }
        for kind in ("weight", "bias"):
            parts = [
                theirs[f"{old}attention.attention.{part}.{kind}"]
                for part in ("query", "key", "value")
            ]
            ours[f"{new}self_attn.in_proj_{kind}"] = torch.cat(parts)

    for new, old in renamed.items():
        for kind in ("weight", "bias"):
            ours[new + kind] = theirs[old + kind]
    return ours
