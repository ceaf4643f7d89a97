"""Cases for the chapter on the vision transformer."""

import torch

from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import fill, tensor
from autograder.specification import reals

VisionTransformer = Exercise("VisionTransformer")
attention_rollout = Exercise("attention_rollout")
vit_parameter_count = Exercise("vit_parameter_count")
convert_huggingface_vit = Exercise("convert_huggingface_vit")

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


@VisionTransformer.case(title="each image of a batch is classified on its own", **LOOSE)
def vit_alone(VisionTransformer, rng):
    model, images = model_and_images(VisionTransformer, rng)
    found = {"the logits of two of a batch": model(images)[1:3]}
    return {**found, "two alone": model(images[1:3])}


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


@VisionTransformer.case(
    title="gradients reach the parameters of every part", points=1, **LOOSE
)
def vit_gradients(VisionTransformer, rng):
    model, images = model_and_images(VisionTransformer, rng)
    (model(images) * tensor(rng, 4, 5)).sum().backward()
    parts = ("class_token", "positions", "in_proj_weight", "linear1.bias", "norm.bias")
    return {
        name: value.grad
        for name, value in model.named_parameters()
        if name.endswith(parts)
    }


@VisionTransformer.case(
    title="a transposed image is read correctly, left unchanged", **LOOSE
)
def vit_unchanged(VisionTransformer, rng):
    model, images = model_and_images(VisionTransformer, rng)
    images = images.mT
    return model(images), images


# attention_rollout


def weights(rng, B, h, N):
    """(B, h, N, N) attention weights, neither even nor saturated.

    In float32, as models make them, so that an identity matrix of that dtype fits.
    """
    return (1.5 * tensor(rng, B, h, N, N)).softmax(dim=-1).float()


@attention_rollout.case(title="three layers of several heads", points=3)
def rollout_layers(attention_rollout, rng):
    return attention_rollout([weights(rng, 2, 4, 6) for _ in range(3)])


@attention_rollout.case(title="twelve layers, sizes drawn at random", points=1)
def rollout_deep(attention_rollout, rng):
    B, h, N = (int(size) for size in rng.permutation([2, 3, 5]))
    return attention_rollout([weights(rng, B, h, N) for _ in range(12)])


@attention_rollout.case(title="a single layer of a single head", points=1)
def rollout_single(attention_rollout, rng):
    return attention_rollout([weights(rng, 3, 1, 5)])


@attention_rollout.case(title="as many images as heads as tokens", points=1)
def rollout_cube(attention_rollout, rng):
    return attention_rollout([weights(rng, 4, 4, 4) for _ in range(2)])


@attention_rollout.case(title="a layer that looks nowhere else, among others", points=1)
def rollout_identity(attention_rollout, rng):
    still = torch.eye(5).expand(2, 3, 5, 5)
    return attention_rollout([weights(rng, 2, 3, 5), still, weights(rng, 2, 3, 5)])


@attention_rollout.case(title="strided weights are read correctly, left unchanged")
def rollout_unchanged(attention_rollout, rng):
    layers = [weights(rng, 2, 5, 6).transpose(0, 1)[:, :, ::1] for _ in range(2)]
    return attention_rollout(layers), layers


# vit_parameter_count


def drawn_model(rng):
    """Sizes of a model, all different."""
    p, E, M, K = (int(size) for size in rng.choice(range(5, 60), 4, replace=False))
    return p * drawn(rng, 2, 4), p, drawn(rng, 2, 4), E, drawn(rng, 2, 9), M, K


@vit_parameter_count.case(title="sizes drawn at random", points=2)
def count_drawn(vit_parameter_count, rng):
    return vit_parameter_count(*drawn_model(rng))


@vit_parameter_count.case(title="other sizes drawn at random", points=1)
def count_drawn_again(vit_parameter_count, rng):
    return vit_parameter_count(*drawn_model(rng))


@vit_parameter_count.case(title="ViT-B/16 and ViT-L/16 on 224 x 224, 1000 classes")
def count_published(vit_parameter_count, rng):
    base = vit_parameter_count(224, 16, 3, 768, 12, 3072, 1000)
    return base, vit_parameter_count(224, 16, 3, 1024, 24, 4096, 1000)


@vit_parameter_count.case(title="one more layer, patch row, channel, class: the growth")
def count_growth(vit_parameter_count, rng):
    image, p, C, E, L, M, K = drawn_model(rng)
    before = vit_parameter_count(image, p, C, E, L, M, K)
    return {
        f"the growth by one more {what}": vit_parameter_count(*sizes) - before
        for what, sizes in {
            "layer": (image, p, C, E, L + 1, M, K),
            "patch row": (image + p, p, C, E, L, M, K),
            "channel": (image, p, C + 1, E, L, M, K),
            "class": (image, p, C, E, L, M, K + 1),
        }.items()
    }


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


@convert_huggingface_vit.case(title="twelve layers: numbers of two digits", points=1)
def convert_twelve_layers(convert_huggingface_vit, rng):
    return convert_huggingface_vit(published(rng, 12, E=3))


@convert_huggingface_vit.case(title="names in alphabetical order, as in a file")
def convert_sorted(convert_huggingface_vit, rng):
    return convert_huggingface_vit(dict(sorted(published(rng, 3).items())))


@convert_huggingface_vit.case(title="as many hidden features as features", points=1)
def convert_square(convert_huggingface_vit, rng):
    return convert_huggingface_vit(published(rng, 1, E=4, M=4, C=4, classes=4))


@convert_huggingface_vit.case(title="patches of 3 x 3 in one channel", points=1)
def convert_grey(convert_huggingface_vit, rng):
    E = drawn(rng, 5, 8)
    return convert_huggingface_vit(published(rng, 1, E=E, p=3, C=1, patches=9))


@convert_huggingface_vit.case(title="the dictionary that is given stays as it is")
def convert_unchanged(convert_huggingface_vit, rng):
    theirs = published(rng, 2)
    ours = convert_huggingface_vit(theirs)
    return ours, theirs


# break_attention_rollout --------------------------------------------------------------


def rollout_of_layers(attention_rollout, attentions):
    """The rollout of an array that holds all layers."""
    return attention_rollout(list(attentions))


def no_weights(attentions):
    """Refuse rows that do not sum to one."""
    near = abs(attentions.sum(axis=-1) - 1) < 1e-6
    return "" if near.all() else "each row of `attentions` has to sum to one"


break_attention_rollout = BreakExercise(
    name="break_attention_rollout",
    target=attention_rollout,
    parameters=[reals("attentions", "L B h N N", 0.0, 1.0)],
    make=torch.tensor,
    use=rollout_of_layers,
    rule=no_weights,
)
break_attention_rollout.version("right for a single layer")
break_attention_rollout.version("right where columns sum to one, as rows do")
break_attention_rollout.version("right for a single head")
break_attention_rollout.version("right where every token attends to itself alone")
break_attention_rollout.small(most=16, points=2)
