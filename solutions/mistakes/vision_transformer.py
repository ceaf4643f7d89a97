"""Misconceptions about vision transformers, as code that can be recognised."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.vision_transformer import (
    VisionTransformer,
    attention_rollout,
    break_attention_rollout,
    convert_huggingface_vit,
    vit_parameter_count,
)
from solutions import vision_transformer as right

# VisionTransformer


class RightModel(right.VisionTransformer):
    """The right model, whose steps can be replaced one at a time."""

    def encode(self, tokens):
        for layer in self.layers:
            tokens = layer(tokens)
        return tokens

    def normalise(self, tokens):
        return self.norm(tokens)

    def pool(self, tokens):
        return tokens[:, 0]

    def read(self, tokens):
        return self.pool(self.normalise(tokens))

    def forward(self, images):
        return self.head(self.read(self.encode(self.embedding(images))))

    def replace_layers(self, make):
        """Make the layers anew with ``make(E, h, M, eps)``."""
        for i, layer in enumerate(self.layers):
            attention = layer.self_attn
            self.layers[i] = make(
                attention.embed_dim,
                attention.num_heads,
                layer.linear1.out_features,
                layer.norm1.eps,
            )


@mistake(VisionTransformer)
class MeanOfAllTokens(RightModel):
    """You averaged all tokens, the class token among them, before the head. The class
    token alone is read: it has gathered from the patches what the head needs."""

    def pool(self, tokens):
        return tokens.mean(dim=1)


@mistake(VisionTransformer)
class MeanOfPatches(RightModel):
    """You averaged the patches and left the class token out. That is a model of its own
    and works well, but this one, and its published weights, read the class token."""

    def pool(self, tokens):
        return tokens[:, 1:].mean(dim=1)


class PooledFirst(RightModel):
    """Normalises what is left of the tokens, as the reference does."""

    def read(self, tokens):
        return self.normalise(self.pool(tokens))


@mistake(VisionTransformer)
class MeanOfAllTokensNormalised(PooledFirst):
    """You averaged all tokens, the class token among them, and normalised the mean. The
    class token alone is read: it has gathered from the patches what the head needs."""

    def pool(self, tokens):
        return tokens.mean(dim=1)


@mistake(VisionTransformer)
class MeanOfPatchesNormalised(PooledFirst):
    """You averaged the patches, left the class token out and normalised the mean. That
    is a model of its own and works well, but this one, and its published weights, read
    the class token."""

    def pool(self, tokens):
        return tokens[:, 1:].mean(dim=1)


@mistake(VisionTransformer)
class LargestOverTokensNormalised(PooledFirst):
    """You took the largest value of each feature over the tokens and normalised these.
    The head reads the class token, and nothing else."""

    def pool(self, tokens):
        return tokens.amax(dim=1)


@mistake(VisionTransformer)
class LastToken(RightModel):
    """You read the last token, which is the patch in the lower right corner. The class
    token is the first one."""

    def pool(self, tokens):
        return tokens[:, -1]


@mistake(VisionTransformer)
class LargestOverTokens(RightModel):
    """You took the largest value of each feature over the tokens. The head reads the
    class token, and nothing else."""

    def pool(self, tokens):
        return tokens.amax(dim=1)


@mistake(VisionTransformer)
class LogitsOfEveryToken(RightModel):
    """You gave logits for every token. An image has one answer, from the class
    token."""

    def pool(self, tokens):
        return tokens


@mistake(VisionTransformer)
class Probabilities(RightModel):
    """You returned probabilities. The head gives logits; the loss applies the softmax
    itself, and doing it twice flattens the gradient."""

    def forward(self, images):
        return super().forward(images).softmax(dim=-1)


@mistake(VisionTransformer)
class NoFinalNorm(RightModel):
    """You left out the last norm. With pre-norm layers nothing has normalised the sum
    of all the layers yet, so the head needs it."""

    def normalise(self, tokens):
        return tokens


@mistake(VisionTransformer)
class NormBeforeTheLayers(RightModel):
    """You normalised before the layers and not after them. The last norm belongs behind
    the last layer; each pre-norm layer normalises its own input."""

    def encode(self, tokens):
        return super().encode(self.norm(tokens))

    def normalise(self, tokens):
        return tokens


@mistake(VisionTransformer)
class PostNorm(RightModel):
    """Your layers normalise after the sum (post-norm), which is the default of torch's
    layer. The vision transformer normalises each input first, so that the residual path
    stays free."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.replace_layers(
            lambda E, h, M, eps: nn.TransformerEncoderLayer(
                E, h, M, 0.0, "gelu", layer_norm_eps=eps, batch_first=True
            )
        )


@mistake(VisionTransformer)
class Relu(RightModel):
    """Your feed-forward layers use relu, the default of torch's layer. This model, like
    its published weights, has gelu."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for layer in self.layers:
            layer.activation = F.relu
            layer.activation_relu_or_gelu = 1


@mistake(VisionTransformer)
class SequenceFirst(RightModel):
    """Your class token never sees a patch, so all images get the same logits. Without
    batch_first the images of the batch are taken for the sequence, and with a causal
    mask the first token sees itself only; every token has to see its whole image."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for layer in self.layers:
            layer.self_attn.batch_first = False


@mistake(VisionTransformer)
class DropoutLeftOn(RightModel):
    """You left torch's default dropout of 0.1 in the layers. Nothing drops out in this
    book unless it is asked for; your model answers differently at every call."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for module in self.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.1


@mistake(VisionTransformer)
class SharedLayers(RightModel):
    """Your layers are one and the same module, so there is only one set of weights.
    Each layer needs its own: make a new one for each."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.layers = nn.ModuleList([self.layers[0]] * len(self.layers))


@mistake(VisionTransformer)
class LayersReversed(RightModel):
    """You went through the layers from the last to the first. They are applied in the
    order in which they are numbered."""

    def encode(self, tokens):
        for layer in reversed(self.layers):
            tokens = layer(tokens)
        return tokens


@mistake(VisionTransformer)
class LayersNotChained(RightModel):
    """Each of your layers reads the embedding again, and only the last one counts. The
    output of a layer is the input of the next."""

    def encode(self, tokens):
        for layer in self.layers:
            encoded = layer(tokens)
        return encoded


@mistake(VisionTransformer)
class OneHead(RightModel):
    """Your attention has a single head, whatever num_heads says. The weights have the
    same shapes either way, but each head should compare its own slice."""

    def __init__(self, *sizes, **kwargs):
        sizes = list(sizes)
        sizes[5] = 1
        super().__init__(*sizes, **kwargs)


@mistake(VisionTransformer)
class FourTimesTheWidth(RightModel):
    """You made every feed-forward layer four times as wide as the model. The width is
    given as mlp_dim; four times is only a habit."""

    def __init__(self, *sizes, **kwargs):
        sizes = list(sizes)
        sizes[6] = 4 * sizes[3]
        super().__init__(*sizes, **kwargs)


@mistake(VisionTransformer)
class DefaultEps(RightModel):
    """Your norms have torch's default eps of 1e-5, in the layers, at the end, or both.
    Published vision transformers use 1e-6 or less, and eps is an argument here."""

    def __init__(self, *sizes, eps=1e-6):
        super().__init__(*sizes, eps=1e-5)


@mistake(VisionTransformer)
class EpsForgottenAtTheEnd(RightModel):
    """You passed eps to the layers but not to the last norm. Where tokens differ
    little, eps decides how much is left of the difference."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.norm.eps = 1e-5


@mistake(VisionTransformer)
class EpsForgottenInTheLayers(RightModel):
    """You passed eps to the last norm but not to the layers, whose norms keep torch's
    default. Where tokens differ little, eps decides how much is left of the
    difference."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for layer in self.layers:
            layer.norm1.eps = layer.norm2.eps = 1e-5


@mistake(VisionTransformer)
class PositionsTwice(RightModel):
    """You added the positions a second time before the layers. The embedding has added
    them already."""

    def encode(self, tokens):
        return super().encode(tokens + self.embedding.positions)


@mistake(VisionTransformer)
class LastLayerSkipped(RightModel):
    """Your last norm and head saw the tokens before the last layer. Go through all the
    layers first."""

    def encode(self, tokens):
        for layer in self.layers[:-1]:
            tokens = layer(tokens)
        return tokens


# attention_rollout


def with_identity(mixed):
    return mixed + torch.eye(mixed.shape[-1], dtype=mixed.dtype)


def rows_to_one(mixed):
    return mixed / mixed.sum(dim=-1, keepdim=True)


def step(attention):
    """One layer of the rollout, as it should be."""
    return rows_to_one(with_identity(attention.mean(dim=1)))


def rolled(attentions, step=step):
    """The product of all layers, the last one on the left."""
    rollout = step(attentions[0])
    for attention in attentions[1:]:
        rollout = step(attention) @ rollout
    return rollout


@mistake(attention_rollout)
def without_residual(attentions):
    """You left the residual connection out: nothing was added to the weights. Half of
    what a layer passes on is its own input, so without the identity your map shows a
    model that does not exist."""
    return rolled(attentions, lambda a: a.mean(dim=1))[:, 0, 1:]


@mistake(attention_rollout)
def not_renormalised(attentions):
    """You added the identity and did not divide by the sum of the row. Each row then
    sums to two, and the product doubles with every layer."""
    return rolled(attentions, lambda a: with_identity(a.mean(dim=1)))[:, 0, 1:]


@mistake(attention_rollout)
def one_added_everywhere(attentions):
    """You added one number to all weights of a layer, where the identity has ones on
    its diagonal alone. The residual connection hands each token its own input, and no
    token that of another."""

    def step(attention):
        mixed = attention.mean(dim=1) + 1
        return mixed / mixed.sum(dim=-1, keepdim=True)

    return rolled(attentions, step)[:, 0, 1:]


@mistake(attention_rollout)
def first_head_followed(attentions):
    """You followed the first head of each layer and left the others out. What a layer
    passes on comes from all of its heads, so their mean is followed."""

    def step(attention):
        mixed = with_identity(attention[:, 0])
        return mixed / mixed.sum(dim=-1, keepdim=True)

    return rolled(attentions, step)[:, 0, 1:]


@mistake(attention_rollout)
def columns_renormalised(attentions):
    """You divided by the sums of the columns. The shares that one token reads stand in
    its row, so each row has to sum to one."""

    def step(attention):
        mixed = with_identity(attention.mean(dim=1))
        return mixed / mixed.sum(dim=-2, keepdim=True)

    return rolled(attentions, step)[:, 0, 1:]


@mistake(attention_rollout)
def layers_in_reverse(attentions):
    """You multiplied the layers in the wrong order. The class token reads the last
    layer first, and from there the way leads down, so later layers stand further
    left."""
    return right.attention_rollout(attentions[::-1])


@mistake(attention_rollout)
def column_of_the_class_token(attentions):
    """You took the class token's column, which says how much each patch reads from the
    class token. Asked for is what the class token reads: its row."""
    return rolled(attentions)[:, 1:, 0]


@mistake(attention_rollout)
def rescaled_to_one(attentions):
    """You rescaled the row after dropping the class token's own share. It is returned
    as it is, so that one can see how much of the image is left in the class token."""
    return rows_to_one(rolled(attentions)[:, 0, 1:])


@mistake(attention_rollout)
def rescaled_to_the_largest(attentions):
    """You divided by the largest value. That suits a picture; the exercise asks for the
    shares themselves."""
    row = rolled(attentions)[:, 0, 1:]
    return row / row.amax(dim=-1, keepdim=True)


@mistake(attention_rollout)
def own_share_kept(attentions):
    """You kept the class token's own share. Only the patches make a map, so the first
    entry is left out."""
    return rolled(attentions)[:, 0]


@mistake(attention_rollout)
def strongest_head(attentions):
    """You took the strongest head at each place in place of the mean. All heads of a
    layer are joined, so here they count alike."""
    return rolled(attentions, lambda a: rows_to_one(with_identity(a.amax(dim=1))))[
        :, 0, 1:
    ]


@mistake(attention_rollout)
def heads_apart(attentions):
    """You rolled out each head on its own and averaged at the end. Heads are mixed
    after every layer, so head 1 reads what all heads of the layer below have
    written."""

    def step(attention):
        return rows_to_one(with_identity(attention))

    return rolled(attentions, step).mean(dim=1)[:, 0, 1:]


@mistake(attention_rollout)
def layers_averaged(attentions):
    """You added the layers up. What passes through two layers is a product: each share
    of the second is a share of what the first has mixed."""
    return torch.stack([step(a) for a in attentions]).mean(dim=0)[:, 0, 1:]


@mistake(attention_rollout)
def multiplied_elementwise(attentions):
    """You multiplied the maps number by number. Passing through two layers is a matrix
    product, which adds up the ways over all the tokens in between."""
    rollout = step(attentions[0])
    for attention in attentions[1:]:
        rollout = rollout * step(attention)
    return rollout[:, 0, 1:]


@mistake(attention_rollout)
def last_layer_only(attentions):
    """You looked at the last layer only. Its tokens are mixtures already; the layers
    below say of what."""
    return step(attentions[-1])[:, 0, 1:]


@mistake(attention_rollout)
def residual_once(attentions):
    """You added the identity once, to the product of all layers. Every layer has its
    own residual connection, so it belongs into every factor."""
    product = rolled(attentions, lambda a: a.mean(dim=1))
    return rows_to_one(with_identity(product))[:, 0, 1:]


@mistake(attention_rollout)
def first_layer_left_out(attentions):
    """You left out the first layer. It mixes the patches like any other."""
    return rolled(attentions[1:] if len(attentions) > 1 else attentions)[:, 0, 1:]


@mistake(attention_rollout)
def all_tokens_averaged(attentions):
    """You averaged what all tokens read. The map belongs to the class token, which is
    the one that the head reads."""
    return rolled(attentions).mean(dim=1)[:, 1:]


@mistake(attention_rollout)
def images_averaged(attentions):
    """You averaged over the images of the batch. Each image has a map of its own; the
    mean goes over the heads."""
    return rolled(attentions, lambda a: step(a.transpose(0, 1)))[:, 0, 1:]


# vit_parameter_count


def counted(
    image_size,
    patch_size,
    channels,
    embed_dim,
    num_layers,
    mlp_dim,
    num_classes,
    **changes,
):
    """The right count, with terms replaced by ``changes``."""
    E, M = embed_dim, mlp_dim
    N = (image_size // patch_size) ** 2
    terms = {
        "projection": channels * patch_size**2 * E + E,
        "class_token": E,
        "positions": (N + 1) * E,
        "attention": 4 * (E * E + E),
        "feed_forward": 2 * E * M + M + E,
        "norms": 4 * E,
        "final_norm": 2 * E,
        "head": E * num_classes + num_classes,
    }
    terms |= changes
    layer = sum(terms.pop(name) for name in ("attention", "feed_forward", "norms"))
    return num_layers * layer + sum(terms.values())


@mistake(vit_parameter_count)
def class_token_counted_once(*sizes):
    """You counted E numbers too few for the class token: it has a learned vector and,
    like every patch, a position, which makes N + 1 positions."""
    return counted(*sizes, class_token=0)


@mistake(vit_parameter_count)
def positions_uncounted(*sizes):
    """You forgot the positions. They are learned here, a vector for each token."""
    return counted(*sizes, positions=0)


@mistake(vit_parameter_count)
def side_in_place_of_grid(image_size, patch_size, channels, E, L, M, K):
    """You counted a position for each row of patches. The grid has rows and columns, so
    the number of patches is a square."""
    side = image_size // patch_size
    return counted(
        image_size, patch_size, channels, E, L, M, K, positions=(side + 1) * E
    )


@mistake(vit_parameter_count)
def channels_uncounted(image_size, patch_size, channels, E, L, M, K):
    """You forgot the channels in the projection of the patches. A patch of a colour
    image has three numbers for each pixel."""
    projection = patch_size**2 * E + E
    return counted(image_size, patch_size, channels, E, L, M, K, projection=projection)


@mistake(vit_parameter_count)
def patch_side_not_squared(image_size, patch_size, channels, E, L, M, K):
    """You counted p rows for the projection where a patch has p times p pixels."""
    projection = channels * patch_size * E + E
    return counted(image_size, patch_size, channels, E, L, M, K, projection=projection)


@mistake(vit_parameter_count)
def no_biases(image_size, patch_size, channels, E, L, M, K):
    """You left out all the biases. Every linear layer of this model has one, each as
    long as its output."""
    return counted(
        *(image_size, patch_size, channels, E, L, M, K),
        projection=channels * patch_size**2 * E,
        attention=4 * E * E,
        feed_forward=2 * E * M,
        head=E * K,
    )


@mistake(vit_parameter_count)
def output_projection_uncounted(image_size, patch_size, channels, E, *others):
    """You counted three of the four projections of attention. There are four E x E
    matrices: queries, keys, values and the one that mixes the heads."""
    attention = 3 * (E * E + E)
    return counted(image_size, patch_size, channels, E, *others, attention=attention)


@mistake(vit_parameter_count)
def attention_without_biases(image_size, patch_size, channels, E, L, M, K):
    """Your count is too small by 4 * embed_dim for each layer. Either the biases of the
    four projections of attention are not counted, or the two norms, each of which has
    a weight and a bias."""
    return counted(image_size, patch_size, channels, E, L, M, K, attention=4 * E * E)


@mistake(vit_parameter_count)
def one_feed_forward_matrix(image_size, patch_size, channels, E, L, M, K):
    """You counted one of the two matrices of the feed-forward layer. It goes from E to
    M and back again."""
    return counted(
        image_size, patch_size, channels, E, L, M, K, feed_forward=E * M + M + E
    )


@mistake(vit_parameter_count)
def feed_forward_biases_alike(image_size, patch_size, channels, E, L, M, K):
    """You gave both linear maps of the feed-forward layer a bias of the same length.
    Each is as long as its output: the first M, the second E."""
    return counted(
        image_size, patch_size, channels, E, L, M, K, feed_forward=2 * (E * M + M)
    )


@mistake(vit_parameter_count)
def four_times_as_wide(image_size, patch_size, channels, E, L, M, K):
    """You took the feed-forward layer to be four times as wide as the model. Its width
    is given as mlp_dim."""
    return counted(image_size, patch_size, channels, E, L, 4 * E, K)


@mistake(vit_parameter_count)
def one_norm_a_layer(image_size, patch_size, channels, E, L, M, K):
    """Your count is too small by 2 * embed_dim for each layer. Either one of its two
    norms is not counted, each of which has a weight and a bias, or queries, keys and
    values have one bias in place of three."""
    return counted(image_size, patch_size, channels, E, L, M, K, norms=2 * E)


@mistake(vit_parameter_count)
def final_norm_uncounted(*sizes):
    """Your count is too small by 2 * embed_dim. Either the norm after the last layer is
    not counted, with which a pre-norm model ends, or neither the class token nor its
    position is."""
    return counted(*sizes, final_norm=0)


@mistake(vit_parameter_count)
def norms_without_bias(image_size, patch_size, channels, E, L, M, K):
    """You counted norms as if they had a weight only. Each has a bias of the same
    length as well."""
    return counted(
        image_size, patch_size, channels, E, L, M, K, norms=2 * E, final_norm=E
    )


@mistake(vit_parameter_count)
def head_uncounted(*sizes):
    """You forgot the head. Its matrix has a row, and its bias a number, for each
    class."""
    return counted(*sizes, head=0)


@mistake(vit_parameter_count)
def head_without_bias(image_size, patch_size, channels, E, L, M, K):
    """You counted the head without its bias, one number for each class."""
    return counted(image_size, patch_size, channels, E, L, M, K, head=E * K)


@mistake(vit_parameter_count)
def head_on_all_tokens(image_size, patch_size, channels, E, L, M, K):
    """Your head reads all the tokens side by side. It reads the class token alone, so
    it has E columns."""
    N = (image_size // patch_size) ** 2
    return counted(
        image_size, patch_size, channels, E, L, M, K, head=(N + 1) * E * K + K
    )


@mistake(vit_parameter_count)
def feed_forward_biases_uncounted(image_size, patch_size, channels, E, L, M, K):
    """You left out the biases of the feed-forward layers. Each of their two linear maps
    has one that is as long as its output: the first M, the second E."""
    return counted(image_size, patch_size, channels, E, L, M, K, feed_forward=2 * E * M)


# convert_huggingface_vit


_LAYER = {
    "norm1": "layernorm_before",
    "norm2": "layernorm_after",
    "self_attn.out_proj": "attention.output.dense",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
}


def converted(theirs, order=("query", "key", "value"), pack=torch.cat, layer=_LAYER):
    """The right conversion, with parts replaced."""
    ours = {
        "embedding.class_token": theirs["vit.embeddings.cls_token"],
        "embedding.positions": theirs["vit.embeddings.position_embeddings"],
    }
    patches = "vit.embeddings.patch_embeddings.projection."
    ours["embedding.projection.weight"] = theirs[patches + "weight"].flatten(1)
    ours["embedding.projection.bias"] = theirs[patches + "bias"]
    for kind in ("weight", "bias"):
        ours[f"norm.{kind}"] = theirs[f"vit.layernorm.{kind}"]
        ours[f"head.{kind}"] = theirs[f"classifier.{kind}"]
        for i in range(count_layers(theirs)):
            old, new = f"vit.encoder.layer.{i}.", f"layers.{i}."
            parts = [theirs[f"{old}attention.attention.{p}.{kind}"] for p in order]
            ours[f"{new}self_attn.in_proj_{kind}"] = pack(parts)
            for ours_name, name in layer.items():
                ours[f"{new}{ours_name}.{kind}"] = theirs[f"{old}{name}.{kind}"]
    return ours


def count_layers(theirs):
    return sum(name.endswith("query.weight") for name in theirs)


def changed(theirs, suffix, change):
    """The right conversion, ``change`` applied to what ends in ``suffix``."""
    return {
        name: change(value) if name.endswith(suffix) else value
        for name, value in converted(theirs).items()
    }


@mistake(convert_huggingface_vit)
def packed_alphabetically(state_dict):
    """You packed keys, queries, values, in alphabetical order. Torch's packed weight
    holds queries first, then keys, then values; every shape fits either way."""
    return converted(state_dict, order=("key", "query", "value"))


@mistake(convert_huggingface_vit)
def keys_and_values_exchanged(state_dict):
    """You packed queries, values, keys. The order is queries, keys, values; every shape
    fits either way."""
    return converted(state_dict, order=("query", "value", "key"))


@mistake(convert_huggingface_vit)
def packed_row_by_row(state_dict):
    """You interleaved queries, keys and values row by row. They are stacked as three
    blocks of E rows."""
    return converted(
        state_dict, pack=lambda parts: torch.stack(parts, dim=1).flatten(0, 1)
    )


@mistake(convert_huggingface_vit)
def packed_side_by_side(state_dict):
    """You joined the three weights side by side, (E, 3E). They stand above one another,
    (3E, E), since a linear layer has one row for each output."""
    return converted(state_dict, pack=lambda parts: torch.cat(parts, dim=-1))


@mistake(convert_huggingface_vit)
def linear_weights_transposed(state_dict):
    """You transposed the weights of the linear layers. Both libraries store them as
    (outputs, inputs), so they can stay as they are."""
    weights = ("linear1.weight", "linear2.weight", "out_proj.weight", "head.weight")
    return changed(state_dict, weights, lambda weight: weight.T)


@mistake(convert_huggingface_vit)
def attention_weights_transposed(state_dict):
    """You transposed the packed projections, or what they are packed from. Both
    libraries store (outputs, inputs), so only the stacking is left to do."""
    return converted(
        state_dict, pack=lambda parts: torch.cat([part.T for part in parts])
    )


@mistake(convert_huggingface_vit)
def convolution_kept(state_dict):
    """You left the projection of the patches as the weight of a convolution, (E, C, p,
    p). Ours is a linear layer whose rows are flattened patches."""
    name = "vit.embeddings.patch_embeddings.projection.weight"
    return converted(state_dict) | {"embedding.projection.weight": state_dict[name]}


@mistake(convert_huggingface_vit)
def convolution_with_channels_last(state_dict):
    """You flattened the convolution with its channels last. The numbers of a patch go
    (C, p, p), which is the order the weight has already."""
    name = "vit.embeddings.patch_embeddings.projection.weight"
    weight = state_dict[name].movedim(1, -1).flatten(1)
    return converted(state_dict) | {"embedding.projection.weight": weight}


@mistake(convert_huggingface_vit)
def norms_exchanged(state_dict):
    """You exchanged the two norms of a layer. 'before' and 'after' refer to the
    attention: norm1 stands before it, norm2 after it and before the feed-forward
    layer."""
    names = {"norm1": "layernorm_after", "norm2": "layernorm_before"}
    return converted(state_dict, layer=_LAYER | names)


@mistake(convert_huggingface_vit)
def feed_forward_exchanged(state_dict):
    """You exchanged the two linear maps of the feed-forward layer. 'intermediate' leads
    to the hidden width and comes first."""
    names = {"linear1": "output.dense", "linear2": "intermediate.dense"}
    return converted(state_dict, layer=_LAYER | names)


@mistake(convert_huggingface_vit)
def both_outputs_from_attention(state_dict):
    """You took 'attention.output.dense' for the second map of the feed-forward layer as
    well. Two names end in 'output.dense': the one inside the attention is its output
    projection."""
    return converted(state_dict, layer=_LAYER | {"linear2": "attention.output.dense"})


@mistake(convert_huggingface_vit)
def both_outputs_from_feed_forward(state_dict):
    """You took the second map of the feed-forward layer for the output projection of
    the attention. Two names end in 'output.dense'; look at what stands before."""
    return converted(state_dict, layer=_LAYER | {"self_attn.out_proj": "output.dense"})


@mistake(convert_huggingface_vit)
def one_digit_layers(state_dict):
    """You kept the first layers whose number has one digit, or lost the others on the
    way. A base model has twelve layers, so 'layer.1' and 'layer.11' must not be
    confused."""
    ours = converted(state_dict)
    parts = {name: name.split(".") for name in ours}
    return {
        name: value
        for name, value in ours.items()
        if parts[name][0] != "layers" or len(parts[name][1]) == 1
    }


@mistake(convert_huggingface_vit)
def always_twelve_layers(state_dict):
    """You ask for a fixed number of layers, such as the twelve of a base model, and a
    smaller model does not have their names. How many layers there are is to be read
    from the names in the dictionary."""
    for i in range(12):
        state_dict[f"vit.encoder.layer.{i}.attention.attention.query.weight"]
    return converted(state_dict)


@mistake(convert_huggingface_vit)
def layers_numbered_alphabetically(state_dict):
    """You numbered the layers in the alphabetical order of their names, where 10 comes
    before 2. Take the number from the name."""
    ours = converted(state_dict)
    order = sorted(range(count_layers(state_dict)), key=str)
    renamed = {}
    for name, value in ours.items():
        parts = name.split(".")
        if parts[0] == "layers":
            parts[1] = str(order.index(int(parts[1])))
        renamed[".".join(parts)] = value
    return renamed


@mistake(convert_huggingface_vit)
def head_left_out(state_dict):
    """You left out the head. The classifier is part of the model, and its weights are
    what makes the published model name its classes."""
    ours = converted(state_dict)
    return {name: value for name, value in ours.items() if "head" not in name}


@mistake(convert_huggingface_vit)
def projection_biases_left_out(state_dict):
    """You left out the biases of queries, keys and values. They are packed in the same
    order as the weights."""
    ours = converted(state_dict)
    return {name: value for name, value in ours.items() if "in_proj_bias" not in name}


@mistake(convert_huggingface_vit)
def queries_scaled(state_dict):
    """You scaled the queries by the square root of the width. Torch's layer divides the
    scores itself, so the weights are packed as they are."""

    def pack(parts):
        query, key, value = parts
        return torch.cat([query / math.sqrt(query.shape[-1]), key, value])

    return converted(state_dict, pack=pack)


@mistake(convert_huggingface_vit)
def class_position_moved(state_dict):
    """You took the class token for a token without a position and cut the first of the
    positions off, or moved it. The published table has the class token first, as ours
    does."""
    return changed(state_dict, "positions", lambda table: table.roll(-1, dims=1))


@mistake(convert_huggingface_vit)
def axes_dropped(state_dict):
    """You dropped the axes of length one of class token and positions. Ours keep them,
    (1, 1, E) and (1, N + 1, E), as the published ones do."""
    names = ("class_token", "positions")
    return changed(state_dict, names, lambda value: value.flatten(0, 1))


@mistake(convert_huggingface_vit)
def dictionary_emptied(state_dict):
    """You emptied the dictionary that you were given. Others may still need it; build a
    new one and leave the old one alone."""
    ours = converted(state_dict)
    state_dict.clear()
    return ours


# break_attention_rollout --------------------------------------------------------------

wrong_versions_of_attention_rollout = hide(
    break_attention_rollout,
    layers_in_reverse,
    columns_renormalised,
    strongest_head,
    without_residual,
)


@mistake(break_attention_rollout)
def test_with_a_single_layer_and_head():
    """You found what is done to one matrix of weights. With a single layer there is no
    order in which layers are multiplied, and with a single head there is no difference
    between the mean of the heads and the strongest one."""
    return (torch.tensor([[0.9, 0.1], [0.6, 0.4]]).reshape(1, 1, 1, 2, 2),)


@mistake(break_attention_rollout)
def test_with_even_weights():
    """Only the version without residual connections was found. Where all weights are
    equal, layers, heads, rows and columns may be exchanged at will: choose weights
    without any symmetry."""
    return (torch.full((2, 1, 2, 3, 3), 1 / 3, dtype=torch.float64),)


@mistake(break_attention_rollout)
def test_with_tokens_that_see_themselves():
    """None of the wrong versions was found. If every token attends to itself alone, all
    layers are identities: the class token reads none of the patches, in whatever way it
    is computed."""
    return (torch.eye(3).expand(2, 1, 2, 3, 3),)
