"""Cases for the chapter on several heads."""

import itertools
from functools import partial

import torch

from autograder.arrays import different
from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import fill, tensor
from autograder.specification import reals, whole

split_heads = Exercise("split_heads")
merge_heads = Exercise("merge_heads")
in_projection_packed = Exercise(
    "in_projection_packed", results=("queries", "keys", "values")
)
in_projection = Exercise("in_projection", results=("queries", "keys", "values"))
MultiHeadAttention = Exercise(
    "MultiHeadAttention",
    forbidden=("MultiheadAttention", "multi_head_attention_forward"),
    results=("output", "weights"),
)
projection_parameter_count = Exercise("projection_parameter_count")


def strided(x):
    """The same values in every second place of a larger tensor, its axes reversed."""
    axes = tuple(reversed(range(x.dim())))
    larger = x.new_zeros([2 * size for size in reversed(x.shape)])
    places = tuple(slice(None, None, 2) for _ in axes)
    larger[places] = x.permute(axes)
    return larger[places].permute(axes)


# split_heads


@split_heads.case(title="two sequences of five tokens, three heads of four", points=2)
def split_distinct(split_heads, rng):
    return split_heads(tensor(rng, 2, 5, 12), 3)


@split_heads.case(title="as many heads as tokens as sequences", points=1)
def split_equal(split_heads, rng):
    return split_heads(tensor(rng, 4, 4, 16), 4)


@split_heads.case(title="sizes drawn at random", points=1)
def split_drawn(split_heads, rng):
    batch, tokens, heads, head_dim = different(rng, 4, 2, 7)
    return split_heads(tensor(rng, batch, tokens, heads * head_dim), heads)


@split_heads.case(title="one head, and one feature for each head", points=1)
def split_extremes(split_heads, rng):
    x = tensor(rng, 3, 2, 6)
    return split_heads(x, 1), split_heads(x, 6)


@split_heads.case(
    title="strided tokens are read correctly and left unchanged", points=1
)
def split_strided(split_heads, rng):
    x = strided(tensor(rng, 3, 4, 10))
    return split_heads(x, 5), x


@split_heads.case(title="gradients find their way back", points=1)
def split_gradient(split_heads, rng):
    x, slope = tensor(rng, 2, 3, 8).requires_grad_(), tensor(rng, 2, 4, 3, 2)
    (split_heads(x, 4) * slope).sum().backward()
    return x.grad


@split_heads.case(title="ten features in three heads are a ValueError", points=1)
def split_mismatch(split_heads, rng):
    return split_heads(tensor(rng, 2, 3, 10), 3)


@split_heads.case(title="twelve features in eight heads are a ValueError", points=1)
def split_mismatch_that_divides_the_rest(split_heads, rng):
    return split_heads(tensor(rng, 2, 4, 12), 8)


# merge_heads


@merge_heads.case(title="two sequences, three heads, five tokens", points=2)
def merge_distinct(merge_heads, rng):
    return merge_heads(tensor(rng, 2, 3, 5, 4))


@merge_heads.case(title="as many heads as tokens as features", points=1)
def merge_equal(merge_heads, rng):
    return merge_heads(tensor(rng, 3, 3, 3, 3))


@merge_heads.case(title="sizes drawn at random", points=1)
def merge_drawn(merge_heads, rng):
    return merge_heads(tensor(rng, *different(rng, 4, 2, 7)))


@merge_heads.case(title="one head, one token, one feature", points=1)
def merge_extremes(merge_heads, rng):
    return [
        merge_heads(tensor(rng, 2, 1, 4, 3)),
        merge_heads(tensor(rng, 2, 5, 1, 3)),
        merge_heads(tensor(rng, 2, 3, 4, 1)),
    ]


@merge_heads.case(title="strided heads are read correctly and left unchanged", points=1)
def merge_strided(merge_heads, rng):
    x = strided(tensor(rng, 3, 2, 4, 5))
    return merge_heads(x), x


@merge_heads.case(title="gradients find their way back", points=1)
def merge_gradient(merge_heads, rng):
    x, slope = tensor(rng, 2, 4, 3, 5).requires_grad_(), tensor(rng, 2, 3, 20)
    (merge_heads(x) * slope).sum().backward()
    return x.grad


# in_projection_packed


@in_projection_packed.case(title="cross-attention: three inputs, all sizes differ")
def packed_distinct(in_projection_packed, rng):
    query, key, value = tensor(rng, 2, 3, 4), tensor(rng, 2, 5, 4), tensor(rng, 2, 5, 4)
    return in_projection_packed(query, key, value, tensor(rng, 12, 4), tensor(rng, 12))


@in_projection_packed.case(title="self-attention: one tensor three times", points=1)
def packed_self(in_projection_packed, rng):
    x = tensor(rng, 3, 2, 6)
    return in_projection_packed(x, x, x, tensor(rng, 18, 6), tensor(rng, 18))


@in_projection_packed.case(title="encoder and decoder: key and value are one tensor")
def packed_memory(in_projection_packed, rng):
    query, memory = tensor(rng, 2, 4, 3), tensor(rng, 2, 7, 3)
    return in_projection_packed(
        query, memory, memory, tensor(rng, 9, 3), tensor(rng, 9)
    )


@in_projection_packed.case(title="query and value are one tensor, the key another")
def packed_odd_pair(in_projection_packed, rng):
    x, key = tensor(rng, 2, 5, 4), tensor(rng, 2, 5, 4)
    return in_projection_packed(x, key, x, tensor(rng, 12, 4), tensor(rng, 12))


@in_projection_packed.case(title="no bias, and no batch", points=1)
def packed_without_bias(in_projection_packed, rng):
    query, key, value = tensor(rng, 3, 5), tensor(rng, 4, 5), tensor(rng, 4, 5)
    weight = tensor(rng, 15, 5)
    return in_projection_packed(query, key, value, weight)


@in_projection_packed.case(
    title="gradients of weight and bias, inputs unchanged", rtol=1e-4, atol=1e-5
)
def packed_gradient(in_projection_packed, rng):
    inputs = [
        strided(tensor(rng, *shape)) for shape in ((2, 3, 4), (2, 5, 4), (2, 5, 4))
    ]
    weight = tensor(rng, 12, 4).requires_grad_()
    bias = tensor(rng, 12).requires_grad_()
    results = in_projection_packed(*inputs, weight, bias)
    sum((x**2).sum() for x in results).backward()
    return weight.grad, bias.grad, inputs


# in_projection


def separate(rng, batch, n, t, e, kdim, vdim):
    """Inputs of three widths and the weights that bring them to one."""
    return (
        tensor(rng, *batch, n, e),
        tensor(rng, *batch, t, kdim),
        tensor(rng, *batch, t, vdim),
        tensor(rng, e, e),
        tensor(rng, e, kdim),
        tensor(rng, e, vdim),
    )


@in_projection.case(title="all widths differ", points=2)
def separate_distinct(in_projection, rng):
    return in_projection(*separate(rng, (2,), 3, 5, 4, 6, 7), tensor(rng, 12))


@in_projection.case(title="all sizes equal, so that only the values can tell", points=1)
def separate_equal(in_projection, rng):
    return in_projection(*separate(rng, (3,), 3, 3, 3, 3, 3), tensor(rng, 9))


@in_projection.case(title="sizes drawn at random", points=1)
def separate_drawn(in_projection, rng):
    batch, n, t, e, kdim, vdim = different(rng, 6, 2, 7)
    return in_projection(
        *separate(rng, (batch,), n, t, e, kdim, vdim), tensor(rng, 3 * e)
    )


@in_projection.case(title="no bias, and no batch", points=1)
def separate_without_bias(in_projection, rng):
    return in_projection(*separate(rng, (), 3, 5, 4, 6, 2))


@in_projection.case(
    title="gradients of weights and bias, inputs unchanged", rtol=1e-4, atol=1e-5
)
def separate_gradient(in_projection, rng):
    *inputs, w_q, w_k, w_v = separate(rng, (2,), 3, 5, 4, 6, 7)
    inputs = [strided(x) for x in inputs]
    parameters = [w_q, w_k, w_v, tensor(rng, 12)]
    for parameter in parameters:
        parameter.requires_grad_()
    results = in_projection(*inputs, *parameters)
    sum((x**2).sum() for x in results).backward()
    return [parameter.grad for parameter in parameters], inputs


# MultiHeadAttention

B, N, T, HEADS, E = 2, 4, 5, 3, 12
filled = partial(fill, scale=0.35)  # so that attention is neither even nor saturated
LOOSE = {"rtol": 1e-4, "atol": 1e-5}  # room for steps in single precision


def three(rng, kdim=E, vdim=E, batch=(B,)):
    """Query, key and value, all different."""
    shapes = (N, E), (T, kdim), (T, vdim)
    return tuple(tensor(rng, *batch, *shape) for shape in shapes)


def truth(rng, *shape):
    """A mask that hides about a third, and never the first key."""
    mask = torch.from_numpy(rng.random(shape) < 0.35)
    mask[..., -1] = True
    mask[..., 0] = False
    return mask


def numbers(rng, *shape):
    """A mask of numbers to be added, some of them -inf."""
    mask = tensor(rng, *shape)
    return mask.masked_fill(truth(rng, *shape), -torch.inf)


def gradients(output, layer, inputs):
    """Gradients of a sum of squares for all parameters, by name, and the inputs."""
    (output**2).sum().backward()
    found = {name: p.grad for name, p in sorted(layer.named_parameters())}
    return found, [x.grad for x in inputs]


@MultiHeadAttention.case(
    title="self-attention of two sequences, three heads", points=2, **LOOSE
)
def layer_self(MultiHeadAttention, rng):
    layer = filled(MultiHeadAttention(E, HEADS), rng)
    x = tensor(rng, B, N, E)
    return layer(x, x, x)


@MultiHeadAttention.case(
    title="cross-attention without biases, weights of each head", points=2, **LOOSE
)
def layer_cross(MultiHeadAttention, rng):
    layer = filled(MultiHeadAttention(E, HEADS, bias=False), rng)
    return layer(*three(rng), average_attn_weights=False)


@MultiHeadAttention.case(
    title="sequences, tokens, keys and heads all equal in number; a single head",
    **LOOSE,
)
def layer_equal(MultiHeadAttention, rng):
    layer = filled(MultiHeadAttention(9, 3), rng)
    query, key, value = (tensor(rng, 3, 3, 9) for _ in range(3))
    padding = torch.tensor([[False, False, True], [False] * 3, [False, True, False]])
    single = filled(MultiHeadAttention(7, 1), rng)
    return (
        layer(query, key, value, padding, average_attn_weights=False),
        single(*(tensor(rng, B, n, 7) for n in (N, T, T))),
    )


@MultiHeadAttention.case(title="keys and values of their own widths", points=2, **LOOSE)
def layer_widths(MultiHeadAttention, rng):
    answers = []
    for kdim, vdim in [(7, 10), (7, None), (None, 10), (E, E)]:
        layer = filled(MultiHeadAttention(E, HEADS, kdim=kdim, vdim=vdim), rng)
        answers.append(layer(*three(rng, kdim or E, vdim or E)))
    return answers


@MultiHeadAttention.case(title="boolean masks: True hides", points=2, **LOOSE)
def layer_boolean_masks(MultiHeadAttention, rng):
    layer = filled(MultiHeadAttention(E, HEADS), rng)
    inputs = three(rng)
    padding, attn = truth(rng, B, T), truth(rng, N, T)
    return [
        layer(*inputs, key_padding_mask=padding),
        layer(*inputs, attn_mask=attn),
        layer(*inputs, key_padding_mask=padding, attn_mask=attn),
    ]


@MultiHeadAttention.case(
    title="masks of numbers, and a mask for each head", points=2, **LOOSE
)
def layer_every_mask(MultiHeadAttention, rng):
    layer = filled(MultiHeadAttention(E, HEADS), rng)
    inputs = three(rng)
    for_each_head = truth(rng, B * HEADS, N, T)
    answers = []
    for attn, padding in [
        (numbers(rng, N, T), None),
        (None, numbers(rng, B, T)),
        (for_each_head, None),
        (for_each_head, truth(rng, B, T)),
        (numbers(rng, B * HEADS, N, T), numbers(rng, B, T)),
    ]:
        for need, average in [(True, False), (False, True)]:
            answers.append(
                layer(
                    *inputs,
                    key_padding_mask=padding,
                    attn_mask=attn,
                    need_weights=need,
                    average_attn_weights=average,
                )
            )
    return answers


@MultiHeadAttention.case(
    title="an appended key and value, learned or zero", points=2, **LOOSE
)
def layer_appended(MultiHeadAttention, rng):
    answers = []
    inputs = three(rng)
    masks = {"key_padding_mask": truth(rng, B, T), "attn_mask": truth(rng, N, T)}
    for learned, zero in [(True, False), (False, True), (True, True)]:
        layer = MultiHeadAttention(E, HEADS, add_bias_kv=learned, add_zero_attn=zero)
        filled(layer, rng)
        answers.append(layer(*inputs, average_attn_weights=False))
        answers.append(layer(*inputs, **masks))
        answers.append(layer(*inputs, **masks, need_weights=False))
    return answers


@MultiHeadAttention.case(title="without a batch", points=1, **LOOSE)
def layer_unbatched(MultiHeadAttention, rng):
    layer = filled(MultiHeadAttention(E, HEADS, add_bias_kv=True), rng)
    inputs = three(rng, batch=())
    return [
        layer(*inputs),
        layer(*inputs, truth(rng, T), truth(rng, N, T), True, False),
        layer(*inputs, attn_mask=numbers(rng, HEADS, N, T), need_weights=False),
    ]


@MultiHeadAttention.case(title="several options at once", points=2, **LOOSE)
def layer_several_options(MultiHeadAttention, rng):
    answers = []
    for bias, learned, zero, width in [
        (True, True, True, 7),
        (False, True, True, None),
        (False, True, False, 7),
        (False, False, True, 7),
    ]:
        layer = MultiHeadAttention(
            E,
            HEADS,
            bias=bias,
            add_bias_kv=learned,
            add_zero_attn=zero,
            kdim=width,
            vdim=width,
        )
        filled(layer, rng).eval()
        inputs = three(rng, width or E, width or E)
        answers.append(layer(*inputs, truth(rng, B, T), numbers(rng, N, T)))
    return answers


@MultiHeadAttention.case(
    title="a query that may see nothing has weights 0", points=2, **LOOSE
)
def layer_fully_masked(MultiHeadAttention, rng):
    layer = filled(MultiHeadAttention(E, HEADS), rng)
    inputs = three(rng)
    padding, attn = truth(rng, B, T), truth(rng, N, T)
    padding[1] = True  # every query of the second sequence
    attn[2] = True  # one query of the first
    floating = torch.zeros(N, T).double().masked_fill(attn, -torch.inf)
    return [
        layer(*inputs, padding, attn, average_attn_weights=False),
        layer(*inputs, attn_mask=floating),
        layer(*inputs, padding, attn, need_weights=False),
    ]


@MultiHeadAttention.case(
    title="gradients, with a query that may see nothing", points=2, rtol=1e-4, atol=1e-4
)
def layer_gradients(MultiHeadAttention, rng):
    layer = filled(MultiHeadAttention(E, HEADS, add_bias_kv=True), rng)
    inputs = [x.requires_grad_() for x in three(rng)]
    output, _ = layer(*inputs, truth(rng, B, T), truth(rng, N, T))
    first = gradients(output, layer, inputs)
    layer = filled(MultiHeadAttention(E, HEADS, kdim=7), rng)
    inputs = [x.requires_grad_() for x in three(rng, kdim=7)]
    attn = truth(rng, N, T)
    attn[1] = True
    output, _ = layer(*inputs, attn_mask=attn)
    return first, gradients(output, layer, inputs)


@MultiHeadAttention.case(title="names and shapes of all parameters are torch's")
def layer_state_dict(MultiHeadAttention, rng):
    answers = []
    for bias, widths in itertools.product(
        [True, False], [{}, {"kdim": 7}, {"vdim": 7}, {"kdim": E}]
    ):
        learned = bias ^ (len(answers) % 2 == 0)
        layer = MultiHeadAttention(E, HEADS, bias=bias, add_bias_kv=learned, **widths)
        shapes = {name: list(p.shape) for name, p in layer.state_dict().items()}
        trained = ", ".join(sorted(name for name, _ in layer.named_parameters()))
        shapes = dict(sorted(shapes.items()))
        answers.append((shapes, {"the names of what is learned": trained}))
    return answers


@MultiHeadAttention.case(
    title="strided inputs and masks are left unchanged", points=1, **LOOSE
)
def layer_unchanged(MultiHeadAttention, rng):
    layer = filled(MultiHeadAttention(E, HEADS), rng)
    inputs = [strided(x) for x in three(rng)]
    masks = [numbers(rng, B, T), numbers(rng, N, T)]
    return layer.train()(*inputs, *masks), layer.eval()(*inputs, *masks), inputs, masks


@MultiHeadAttention.case(title="a fresh layer is random: no two heads start alike")
def layer_fresh(MultiHeadAttention, rng):
    answers = []
    for widths in [{}, {"kdim": 9, "vdim": 10}]:
        state = MultiHeadAttention(E, HEADS, **widths).state_dict()
        for name in sorted(name for name in state if name.endswith("_weight")):
            first, second, *_ = state[name].split(E // HEADS)
            answers.append(
                {
                    f"{name} is finite": state[name].isfinite().all(),
                    f"the heads of {name} differ": (first - second).std() > 0.01,
                }
            )
    return answers


def spread_is(values, expected):
    """Whether numbers differ as much as drawn ones should, for hundreds of these."""
    return 0.7 < values.detach().std() / expected < 1.4


def as_promised(name, value):
    """Whether a parameter of a fresh layer has the initial values of the docstring."""
    if name.endswith("_weight"):  # Xavier uniform
        bound = (6 / sum(value.shape)) ** 0.5
        inside = value.abs().max() < 1.0001 * bound
        spread = 3**0.5 * value.detach().std() / bound
        return {
            f"the bound of {name}": inside,
            f"the spread of {name}": 0.93 < spread < 1.07,
        }
    if name in ("bias_k", "bias_v"):  # Xavier normal
        return {f"the spread of {name}": spread_is(value, value.shape[-1] ** -0.5)}
    if name.endswith("bias"):
        return {f"{name} is zero": (value == 0).all()}
    return {f"{name} is random": value.detach().std() > 0.01}  # as nn.Linear has it


@MultiHeadAttention.case(
    title="a fresh layer: biases are zero, weights drawn as the docstring says"
)
def layer_initial_values(MultiHeadAttention, rng):
    answers = []
    for widths in [{}, {"kdim": 96, "vdim": 120}]:
        layer = MultiHeadAttention(192, 4, add_bias_kv=True, **widths)
        learned = sorted(layer.named_parameters())  # a buffer has no initial value
        answers.append({name: as_promised(name, value) for name, value in learned})
    return answers


@MultiHeadAttention.case(title="twelve features in five heads are a ValueError")
def layer_mismatch(MultiHeadAttention, rng):
    MultiHeadAttention(E, 5)


# projection_parameter_count

# An answer may build torch's layer and count. One that is 4096 wide takes 256 MB.


@projection_parameter_count.case(title="a width and a number of heads at random")
def count_drawn(projection_parameter_count, rng):
    heads, head_dim = (int(size) for size in rng.integers(2, 40, 2))
    return projection_parameter_count(heads * head_dim, heads)


@projection_parameter_count.case(title="one width, every number of heads", points=1)
def count_every_number_of_heads(projection_parameter_count, rng):
    width = 12 * int(rng.integers(2, 300))
    return [projection_parameter_count(width, heads) for heads in (1, 2, 3, 4, 6, 12)]


@projection_parameter_count.case(title="one feature, and one feature a head", points=1)
def count_extremes(projection_parameter_count, rng):
    width = int(rng.integers(5, 4000))
    return projection_parameter_count(1, 1), projection_parameter_count(width, width)


@projection_parameter_count.case(title="the widths of well-known models", points=1)
def count_known(projection_parameter_count, rng):
    known = [(512, 8), (768, 12), (1024, 16), (4096, 32)]
    return [projection_parameter_count(*sizes) for sizes in known]


# break_split_heads --------------------------------------------------------------------


def no_equal_heads(x, num_heads):
    """Refuse features that cannot be cut into heads."""
    return "`num_heads` has to divide E" if x.shape[-1] % num_heads else ""


break_split_heads = BreakExercise(
    name="break_split_heads",
    target=split_heads,
    parameters=[reals("x", "B N E"), whole("num_heads", 1, 16)],
    make=torch.tensor,
    rule=no_equal_heads,
)
break_split_heads.version("right for a single token, or a single head")
break_split_heads.version("right for heads with a single feature, or a single head")
break_split_heads.version("right where a head has as many features as there are heads")
break_split_heads.version("right for a single head and a batch of one")
break_split_heads.small(most=13, points=2)
