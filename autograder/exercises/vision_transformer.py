"""Cases for the chapter on the vision transformer."""

import numpy as np
import torch

from autograder.arrays import different
from autograder.exercise import Exercise
from autograder.inputs import fill, tensor

VisionTransformer = Exercise(
    "VisionTransformer",
    core=True,
    right="The head reads the class token alone, which has attended to all patches.",
    hints=(
        "Four parts in a row: tokens, layers, norm, head. Only one token of the last "
        "layer is read. Which?",
        "Print the signature of `nn.TransformerEncoderLayer` and compare each "
        "default with the text above: norm, nonlinearity, dropout, axes, `eps`.",
        "`PatchTokens(nn.Linear(channels * patch_size**2, embed_dim), "
        "num_patches, patch_size)` makes the embedding, and `nn.ModuleList` holds "
        "layers that are made one by one.",
    ),
)
contrastive_loss = Exercise(
    "contrastive_loss",
    hints=(
        "Draw the table of logits for three pairs, images as rows and texts as "
        "columns. Where are the right pairs?",
        "Each row is a classification with B classes: which text belongs to this "
        "image? What changes when you read the table by columns?",
        "Cross-entropy is `log(sum(exp(scores))) - scores[right]`. Subtract the "
        "largest score of the row first, or a small temperature overflows.",
    ),
)
attention_rollout = Exercise(
    "attention_rollout",
    hints=(
        "Take one layer first: the mean of the heads, plus the identity, each row "
        "divided by its sum. Which axis is a row?",
        "The last layer reads what the layers before it have mixed. Is its matrix "
        "the left or the right factor?",
        "Begin with `rollout = np.eye(N)` and multiply one layer after the other from "
        "the left.",
    ),
)
vit_parameter_count = Exercise(
    "vit_parameter_count",
    hints=(
        "List the parts from the images to the logits. A linear map from a to b "
        "features has ab + b parameters, a norm of E features has 2E.",
        "A layer holds four maps from E to E, one from E to M, one from M to E, and "
        "two norms.",
        "Print `{name: p.numel() for name, p in model.named_parameters()}` of a "
        "small model, and cross off what is on your list.",
    ),
)
convert_huggingface_vit = Exercise(
    "convert_huggingface_vit",
    hints=(
        "Sort the rows of the table into three kinds: only renamed, reshaped, packed.",
        "The number of a layer is the fourth part of a name between dots. Collect all "
        "the numbers first.",
        "`torch.cat` stacks query, key and value, in this order, for the weight and "
        "for the bias alike.",
    ),
)

# image_size, patch_size, channels, embed_dim, num_layers, num_heads, mlp_dim, classes
SIZES = (6, 2, 3, 8, 2, 4, 12, 5)
LOOSE = {"rtol": 1e-4, "atol": 1e-4}  # room for a slightly different eps


def drawn(rng, low, high):
    """A whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


# VisionTransformer


def model_and_images(VisionTransformer, rng, sizes=SIZES, batch=4, **options):
    """A model with known parameters, and images for it."""
    model = fill(VisionTransformer(*sizes, **options), rng)
    image_size, _, channels, *_ = sizes
    return model, tensor(rng, batch, channels, image_size, image_size)


@VisionTransformer.case(title="logits of a batch of colour images", points=3, **LOOSE)
def vit_logits(VisionTransformer, rng):
    model, images = model_and_images(VisionTransformer, rng)
    return model(images)


@VisionTransformer.case(
    title="one layer, then one head and patches of one pixel; evaluated",
    points=1,
    **LOOSE,
)
def vit_evaluated(VisionTransformer, rng):
    answers = []
    for sizes in ((4, 2, 1, 6, 1, 2, 10, 7), (3, 1, 2, 5, 2, 1, 8, 4)):
        model, images = model_and_images(VisionTransformer, rng, sizes)
        with torch.no_grad():
            answers.append(model.eval()(images))
    return answers


@VisionTransformer.case(title="names and shapes of the parameters", points=1)
def vit_names(VisionTransformer, rng):
    p, heads = drawn(rng, 2, 4), drawn(rng, 2, 3)
    sizes = (3 * p, p, 2, 4 * heads, 3, heads, drawn(rng, 5, 30), drawn(rng, 5, 9))
    model = VisionTransformer(*sizes)
    return {name: list(value.shape) for name, value in model.named_parameters()}


@VisionTransformer.case(title="nearly equal patches: eps counts, 1e-6 unless given")
def vit_small_tokens(VisionTransformer, rng):
    answers = []
    for options in ({}, {"eps": 0.01}):
        model, images = model_and_images(VisionTransformer, rng, **options)
        with torch.no_grad():
            for name, value in model.named_parameters():
                if "embedding" in name or "out_proj" in name or "linear2" in name:
                    value *= 1e-3
        answers.append(model(images))
    return answers


# contrastive_loss


def pairs(rng, B, D):
    """Embeddings of B pairs that are alike but not equal, and of different norms."""
    images = rng.standard_normal((B, D))
    texts = images + 1.5 * rng.standard_normal((B, D))
    return images * rng.uniform(0.5, 3, (B, 1)), texts * rng.uniform(0.5, 3, (B, 1))


@contrastive_loss.case(title="pairs of different norms", points=3)
def contrastive_pairs(contrastive_loss, rng):
    B, D = different(rng, 2, 4, 8)
    return contrastive_loss(*pairs(rng, B, D), rng.uniform(0.3, 0.7))


@contrastive_loss.case(title="as many pairs as features, temperature 0.1", points=1)
def contrastive_square(contrastive_loss, rng):
    return contrastive_loss(*pairs(rng, 6, 6), 0.1)


@contrastive_loss.case(title="all texts nearly alike: the two directions differ")
def contrastive_alike(contrastive_loss, rng):
    images, texts = pairs(rng, 5, 7)
    return contrastive_loss(images, texts[:1] + 0.1 * texts, 0.5)


@contrastive_loss.case(title="a temperature of 0.0005 overflows nothing", points=1)
def contrastive_cold(contrastive_loss, rng):
    return contrastive_loss(*pairs(rng, 5, 4), 0.0005)


# attention_rollout


def weights(rng, B, h, N):
    """(B, h, N, N) attention weights, neither even nor saturated."""
    raised = np.exp(1.5 * rng.standard_normal((B, h, N, N)))
    return raised / raised.sum(axis=-1, keepdims=True)


@attention_rollout.case(title="three layers of several heads", points=3)
def rollout_layers(attention_rollout, rng):
    return attention_rollout([weights(rng, 2, 4, 6) for _ in range(3)])


@attention_rollout.case(title="a single layer of a single head", points=1)
def rollout_single(attention_rollout, rng):
    return attention_rollout([weights(rng, 3, 1, 5)])


@attention_rollout.case(title="as many images as heads as tokens", points=1)
def rollout_cube(attention_rollout, rng):
    return attention_rollout([weights(rng, 4, 4, 4) for _ in range(2)])


# vit_parameter_count


def drawn_model(rng):
    """Sizes of a model, all different."""
    p, E, M, K = (int(size) for size in rng.choice(range(5, 60), 4, replace=False))
    return p * drawn(rng, 2, 4), p, drawn(rng, 2, 4), E, drawn(rng, 2, 9), M, K


@vit_parameter_count.case(title="sizes drawn at random", points=2)
def count_drawn(vit_parameter_count, rng):
    return vit_parameter_count(*drawn_model(rng))


@vit_parameter_count.case(title="ViT-B/16 and ViT-L/16 on 224 x 224, 1000 classes")
def count_published(vit_parameter_count, rng):
    base = vit_parameter_count(224, 16, 3, 768, 12, 3072, 1000)
    return base, vit_parameter_count(224, 16, 3, 1024, 24, 4096, 1000)


@vit_parameter_count.case(title="one patch of one pixel, no layer", points=1)
def count_smallest(vit_parameter_count, rng):
    return vit_parameter_count(1, 1, 1, drawn(rng, 2, 90), 0, 5, drawn(rng, 2, 90))


# convert_huggingface_vit


def published(rng, num_layers, E=4, M=6, p=2, C=3, patches=4, classes=5):
    """Random weights with the names and shapes of a published file."""
    shapes = {
        "vit.embeddings.cls_token": (1, 1, E),
        "vit.embeddings.position_embeddings": (1, patches + 1, E),
        "vit.embeddings.patch_embeddings.projection.weight": (E, C, p, p),
        "vit.embeddings.patch_embeddings.projection.bias": (E,),
    }
    for i in range(num_layers):
        layer = f"vit.encoder.layer.{i}."
        for name, rows, columns in (
            ("attention.attention.query", E, E),
            ("attention.attention.key", E, E),
            ("attention.attention.value", E, E),
            ("attention.output.dense", E, E),
            ("intermediate.dense", M, E),
            ("output.dense", E, M),
        ):
            shapes[f"{layer}{name}.weight"] = (rows, columns)
            shapes[f"{layer}{name}.bias"] = (rows,)
        for name in ("layernorm_before", "layernorm_after"):
            shapes[f"{layer}{name}.weight"] = (E,)
            shapes[f"{layer}{name}.bias"] = (E,)
    shapes["vit.layernorm.weight"] = shapes["vit.layernorm.bias"] = (E,)
    shapes["classifier.weight"], shapes["classifier.bias"] = (classes, E), (classes,)
    return {name: tensor(rng, *shape) for name, shape in shapes.items()}


@convert_huggingface_vit.case(title="two layers", points=3)
def convert_two_layers(convert_huggingface_vit, rng):
    return convert_huggingface_vit(published(rng, 2))


@convert_huggingface_vit.case(title="twelve layers, names in alphabetical order")
def convert_twelve_layers(convert_huggingface_vit, rng):
    return convert_huggingface_vit(dict(sorted(published(rng, 12, E=3).items())))


@convert_huggingface_vit.case(title="patches of 3 x 3 in one channel", points=1)
def convert_grey(convert_huggingface_vit, rng):
    E = drawn(rng, 5, 8)
    return convert_huggingface_vit(published(rng, 1, E=E, p=3, C=1, patches=9))
