"""Cases for the chapter on PyTorch's attention layer."""

import torch

from autograder.exercise import Exercise
from autograder.inputs import fill, tensor

in_projection = Exercise(
    "in_projection",
    results=("queries", "keys", "values"),
    hints=(
        "Three inputs, three weights: which input goes with which, and in which order "
        "do the results come back?",
        "A stored weight is (outputs, inputs), as in `nn.Linear`. Which side of the "
        "product does its transpose belong on?",
        "`bias.chunk(3)` gives three biases; `F.linear(x, weight, bias)` takes `None` "
        "for a bias as well.",
    ),
)
in_projection_packed = Exercise(
    "in_projection_packed",
    results=("queries", "keys", "values"),
    hints=(
        "How many rows of the packed weight belong to the queries, and where do they "
        "begin?",
        "Draw a weight of 6 rows for a width of 2, and mark each row with q, k or v.",
        "Begin with `weight.chunk(3)`, and split the bias likewise if there is one.",
    ),
)
TorchMultiheadAttention = Exercise(
    "TorchMultiheadAttention",
    forbidden=(
        "MultiheadAttention",
        "multi_head_attention_forward",
        "scaled_dot_product_attention",
    ),
    results=("output", "weights"),
    hints=(
        "Begin with self-attention and packed weights, and check. Then add one option "
        "at a time, in the order of the constructor.",
        "Turn both masks, boolean or not, into one tensor (B, h, N, T) to be added to "
        "the scores. What does a boolean True become there?",
        "Appended keys come after the projection and before the heads are split. The "
        "mask needs as many more columns of 0.",
    ),
)


# in_projection


def separate(rng, batch, n, t, e, kdim, vdim):
    """Inputs of three widths and the weights that bring them to one."""
    shapes = (*batch, n, e), (*batch, t, kdim), (*batch, t, vdim)
    weights = (e, e), (e, kdim), (e, vdim)
    return [tensor(rng, *shape) for shape in (*shapes, *weights)]


@in_projection.case(title="all widths differ", points=2)
def separate_distinct(in_projection, rng):
    return in_projection(*separate(rng, (2,), 3, 5, 4, 6, 7), tensor(rng, 12))


@in_projection.case(title="all sizes equal, so that only the values can tell")
def separate_equal(in_projection, rng):
    return in_projection(*separate(rng, (3,), 3, 3, 3, 3, 3), tensor(rng, 9))


@in_projection.case(title="no bias, and no batch")
def separate_without_bias(in_projection, rng):
    return in_projection(*separate(rng, (), 3, 5, 4, 6, 2))


# in_projection_packed


@in_projection_packed.case(title="cross-attention: three different inputs", points=2)
def packed_distinct(in_projection_packed, rng):
    query, key, value = tensor(rng, 2, 3, 4), tensor(rng, 2, 5, 4), tensor(rng, 2, 5, 4)
    return in_projection_packed(query, key, value, tensor(rng, 12, 4), tensor(rng, 12))


@in_projection_packed.case(title="self-attention: one tensor three times")
def packed_self(in_projection_packed, rng):
    x = tensor(rng, 2, 3, 6)
    return in_projection_packed(x, x, x, tensor(rng, 18, 6), tensor(rng, 18))


@in_projection_packed.case(title="no bias, and no batch")
def packed_without_bias(in_projection_packed, rng):
    query, key, value = tensor(rng, 3, 5), tensor(rng, 4, 5), tensor(rng, 4, 5)
    return in_projection_packed(query, key, value, tensor(rng, 15, 5))


# TorchMultiheadAttention

B, N, T, HEADS, E = 2, 4, 5, 3, 12
LOOSE = {"rtol": 1e-4, "atol": 1e-5}  # room for steps in single precision


def three(rng, kdim=E, vdim=E, batch=(B,)):
    """Query, key and value, all different."""
    shapes = (N, E), (T, kdim), (T, vdim)
    return tuple(tensor(rng, *batch, *shape) for shape in shapes)


def layer(TorchMultiheadAttention, rng, **options):
    """A layer with known parameters, scaled so that attention is not saturated."""
    return fill(TorchMultiheadAttention(E, HEADS, **options), rng, scale=0.35)


def truth(rng, *shape):
    """A mask that hides about a third, and never the first key."""
    mask = torch.from_numpy(rng.random(shape) < 0.35)
    mask[..., -1] = True
    mask[..., 0] = False
    return mask


def floats(rng, *shape):
    """A mask of numbers to be added, some of them -inf."""
    return tensor(rng, *shape).masked_fill(truth(rng, *shape), -torch.inf)


@TorchMultiheadAttention.case(
    title="self-attention, weights averaged over the heads", points=2, **LOOSE
)
def layer_self(TorchMultiheadAttention, rng):
    x = tensor(rng, B, N, E)
    return layer(TorchMultiheadAttention, rng)(x, x, x)


@TorchMultiheadAttention.case(
    title="cross-attention without biases: weights of each head, or none", **LOOSE
)
def layer_cross(TorchMultiheadAttention, rng):
    made, inputs = layer(TorchMultiheadAttention, rng, bias=False), three(rng)
    each = made(*inputs, average_attn_weights=False)
    return each, made(*inputs, need_weights=False)


@TorchMultiheadAttention.case(
    title="keys and values of their own widths", points=2, **LOOSE
)
def layer_widths(TorchMultiheadAttention, rng):
    answers = []
    for kdim, vdim in [(7, 10), (7, None), (None, 10), (E, E)]:
        made = layer(TorchMultiheadAttention, rng, kdim=kdim, vdim=vdim)
        answers.append(made(*three(rng, kdim or E, vdim or E)))
    return answers


@TorchMultiheadAttention.case(title="boolean masks: True hides", points=2, **LOOSE)
def layer_boolean_masks(TorchMultiheadAttention, rng):
    made, inputs = layer(TorchMultiheadAttention, rng), three(rng)
    padding, attn = truth(rng, B, T), truth(rng, N, T)
    return [
        made(*inputs, key_padding_mask=padding),
        made(*inputs, attn_mask=attn),
        made(*inputs, key_padding_mask=padding, attn_mask=attn),
    ]


@TorchMultiheadAttention.case(
    title="masks of floats, and a mask for each head", points=2, **LOOSE
)
def layer_every_mask(TorchMultiheadAttention, rng):
    made, inputs = layer(TorchMultiheadAttention, rng), three(rng)
    masks = [
        (floats(rng, N, T), None),
        (None, floats(rng, B, T)),
        (truth(rng, B * HEADS, N, T), truth(rng, B, T)),
        (floats(rng, B * HEADS, N, T), floats(rng, B, T)),
    ]
    return [
        made(*inputs, key_padding_mask=padding, attn_mask=attn)
        for attn, padding in masks
    ]


@TorchMultiheadAttention.case(
    title="an appended key and value, learned or zero", points=2, **LOOSE
)
def layer_appended(TorchMultiheadAttention, rng):
    answers, inputs = [], three(rng)
    masks = {"key_padding_mask": truth(rng, B, T), "attn_mask": truth(rng, N, T)}
    for learned, zero in [(True, False), (False, True), (True, True)]:
        options = {"add_bias_kv": learned, "add_zero_attn": zero}
        made = layer(TorchMultiheadAttention, rng, **options)
        answers.append(made(*inputs, average_attn_weights=False))
        answers.append(made(*inputs, **masks))
    return answers


@TorchMultiheadAttention.case(title="without a batch", **LOOSE)
def layer_unbatched(TorchMultiheadAttention, rng):
    made, inputs = layer(TorchMultiheadAttention, rng), three(rng, batch=())
    masks = {"key_padding_mask": truth(rng, T), "attn_mask": truth(rng, N, T)}
    return [
        made(*inputs),
        made(*inputs, **masks, average_attn_weights=False),
        made(*inputs, attn_mask=floats(rng, HEADS, N, T), need_weights=False),
    ]


@TorchMultiheadAttention.case(title="names and shapes of all parameters are torch's")
def layer_state_dict(TorchMultiheadAttention, rng):
    answers = []
    for bias, learned, widths in [
        (True, False, {}),
        (False, True, {}),
        (True, True, {"kdim": 7}),
        (False, False, {"vdim": 7}),
        (True, False, {"kdim": E, "vdim": E}),
    ]:
        made = TorchMultiheadAttention(
            E, HEADS, bias=bias, add_bias_kv=learned, **widths
        )
        parameters = sorted(made.named_parameters())
        answers.append({name: list(p.shape) for name, p in parameters})
    return answers
