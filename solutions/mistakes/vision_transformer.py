"""Misconceptions about vision transformers, as code that can be recognised."""

from autograder.exercise import edit
from autograder.exercises.vision_transformer import (
    VisionTransformer,
    attention_rollout,
    contrastive_loss,
    convert_huggingface_vit,
    vit_parameter_count,
)

# VisionTransformer

READ = "self.norm(tokens[:, 0])"


@edit(VisionTransformer, READ, "self.norm(tokens.mean(dim=1))")
def MeanOfAllTokens():
    """You averaged all tokens, the class token among them, before the head. The class
    token alone is read: it has gathered from the patches what the head needs."""


@edit(VisionTransformer, READ, "self.norm(tokens[:, 1:].mean(dim=1))")
def MeanOfPatches():
    """You averaged the patches and left the class token out. That is a model of its own
    and works well, but this one, and its published weights, read the class token."""


@edit(VisionTransformer, READ, "self.norm(tokens[:, -1])")
def LastToken():
    """You read the last token, which is the patch in the lower right corner. The class
    token is the first one, and it alone gathers what the whole image says."""


@edit(VisionTransformer, f"self.head({READ})", f"self.head({READ}).softmax(dim=-1)")
def Probabilities():
    """You returned probabilities. The head gives logits; the loss applies the softmax
    itself, and doing it twice flattens the gradient."""


@edit(VisionTransformer, READ, "tokens[:, 0]")
def NoFinalNorm():
    """You left out the last norm. With pre-norm layers nothing has normalised the sum
    of all the layers yet, so the head needs it."""


@edit(VisionTransformer, "norm_first=True", "norm_first=False")
def PostNorm():
    """Your layers normalise after the sum (post-norm), which is the default of torch's
    layer. The vision transformer normalises each input first, so that the residual path
    stays free."""


@edit(VisionTransformer, '"gelu"', '"relu"')
def Relu():
    """Your feed-forward layers use relu, the default of torch's layer. This model, like
    its published weights, has gelu."""


@edit(VisionTransformer, "batch_first=True", "batch_first=False")
def SequenceFirst():
    """Your class token never sees a patch. Without batch_first, the layers take the
    images of the batch for the sequence, so attention mixes images and not patches."""


@edit(VisionTransformer, "dropout=0.0", "dropout=0.1")
def DropoutLeftOn():
    """You left torch's default dropout of 0.1 in the layers. Nothing drops out in this
    book unless it is asked for; your model answers differently at every call."""


@edit(
    VisionTransformer,
    "range(num_layers)\n        )",
    "range(1)\n        )\n"
    "        self.layers = nn.ModuleList(num_layers * list(self.layers))",
)
def SharedLayers():
    """Your layers are one and the same module, so there is only one set of weights.
    Each layer needs its own: make a new one for each."""


@edit(VisionTransformer, "nn.LayerNorm(embed_dim, eps=eps)", "nn.LayerNorm(embed_dim)")
def EpsForgottenAtTheEnd():
    """You passed eps to the layers but not to the last norm. Where tokens differ
    little, eps decides how much is left of the difference."""


@edit(VisionTransformer, "layer_norm_eps=eps", "layer_norm_eps=1e-5")
def EpsForgottenInTheLayers():
    """You passed eps to the last norm but not to the layers, whose norms keep torch's
    default. Where tokens differ little, eps decides how much is left of the
    difference."""


# contrastive_loss

MEAN = "float(np.mean(losses))"


@edit(contrastive_loss, "(logits, logits.T)", "(logits, logits)")
def texts_for_images_only():
    """You looked for a text for each image, and left out the other direction. An image
    is looked for as well, in the columns of the table, and both are averaged."""


@edit(contrastive_loss, MEAN, "float(np.sum(losses))")
def directions_summed():
    """You added the two directions up. The loss is their mean, so a model that knows
    nothing of B pairs has a loss of log B."""


@edit(contrastive_loss, "scores)).mean()", "scores)).sum()")
def pairs_summed():
    """You added up the losses of the pairs. Their mean does not grow with the batch,
    and one learning rate then fits batches of any size."""


@edit(contrastive_loss, " / temperature", "")
def without_temperature():
    """You left the temperature out. Cosines reach from -1 to 1, so without a small
    divisor no softmax over many texts can come near one."""


@edit(
    contrastive_loss,
    "images / np.linalg.norm(images, axis=1, keepdims=True)",
    "images",
)
def images_not_normalised():
    """You did not normalise the images. The table holds cosines, so both sides are
    divided by their norms before the product."""


@edit(
    contrastive_loss,
    """images / np.linalg.norm(images, axis=1, keepdims=True)
    texts = texts / np.linalg.norm(texts, axis=1, keepdims=True)""",
    "images",
)
def dot_products():
    """You used dot products. An embedding could then lower the loss by growing; rows
    are normalised first, so that only their directions count."""


@edit(
    contrastive_loss,
    """images / np.linalg.norm(images, axis=1, keepdims=True)
    texts = texts / np.linalg.norm(texts, axis=1, keepdims=True)""",
    """images / np.linalg.norm(images, axis=0)
    texts = texts / np.linalg.norm(texts, axis=0)""",
)
def features_normalised():
    """You divided each feature by its norm over the batch. It is the rows that are
    normalised, each embedding by its own norm."""


@edit(
    contrastive_loss,
    "scores = scores - scores.max(axis=1, keepdims=True)",
    "scores = scores + 0",
)
def overflowing():
    """Your exponential overflows at a low temperature. Subtract the largest score of
    each row first; the loss does not change."""


@edit(contrastive_loss, "scores.max(axis=1, keepdims=True)", "scores.max()")
def largest_of_the_table():
    """You subtracted the largest logit of the whole table. At a low temperature, all
    exponentials of another row can then be 0, and their logarithm is minus infinity:
    each row has a maximum of its own."""


# attention_rollout

STEP = "mixed / mixed.sum(axis=-1, keepdims=True)"
ROW = "rollout[:, 0, 1:]"


@edit(attention_rollout, "mixed + np.eye(mixed.shape[-1])", "mixed + 0")
def without_residual():
    """You left the residual connection out: nothing was added to the weights. Half of
    what a layer passes on is its own input, so without the identity your map shows a
    model that does not exist."""


@edit(attention_rollout, STEP, "mixed")
def not_renormalised():
    """You added the identity and did not divide by the sum of the row. Each row then
    sums to two, and the product doubles with every layer."""


@edit(attention_rollout, "np.eye(mixed.shape[-1])", "1")
def one_added_everywhere():
    """You added one number to all weights of a layer, where the identity has ones on
    its diagonal alone. The residual connection hands each token its own input, and no
    token that of another."""


@edit(attention_rollout, "attention.mean(axis=1)", "attention[:, 0]")
def first_head_followed():
    """You followed the first head of each layer and left the others out. What a layer
    passes on comes from all of its heads, so their mean is followed."""


@edit(attention_rollout, "axis=-1", "axis=-2")
def columns_renormalised():
    """You divided by the sums of the columns. The shares that one token reads stand in
    its row, so each row has to sum to one."""


@edit(attention_rollout, "mixed @ rollout", "rollout @ mixed")
def layers_in_reverse():
    """You multiplied the layers in the wrong order. The class token reads the last
    layer first, and from there the way leads down, so later layers stand further
    left."""


@edit(attention_rollout, "mixed @ rollout", "mixed")
def last_layer_only():
    """You returned the class token's weights in the last layer alone. By then each
    token is a mixture of patches, and the layers below say of which."""


@edit(attention_rollout, ROW, "rollout[:, 1:, 0]")
def column_of_the_class_token():
    """You took the class token's column, which says how much each patch reads from the
    class token. Asked for is what the class token reads: its row."""


@edit(attention_rollout, ROW, f"{ROW} / {ROW}.sum(axis=-1, keepdims=True)")
def rescaled_to_one():
    """You rescaled the row after dropping the class token's own share. It is returned
    as it is, so that one can see how much of the image is left in the class token."""


# vit_parameter_count


@edit(vit_parameter_count, "projection + E + (", "projection + (")
def class_token_uncounted():
    """Your count is too small by embed_dim. Either the class token itself is not
    counted, or its position, of which there are N + 1."""


@edit(vit_parameter_count, " + (num_patches + 1) * E", "")
def positions_uncounted():
    """You left out the positions. They are learned, one vector for each patch and one
    for the class token."""


@edit(vit_parameter_count, "patch_size**2 * E", "patch_size * E")
def one_row_of_a_patch():
    """You counted one row of pixels per patch. A patch has p rows of p pixels in each
    channel, and the projection a weight for each of them."""


@edit(vit_parameter_count, "4 * (", "3 * (")
def output_projection_uncounted():
    """You counted three of the four projections of attention. There are four E x E
    matrices: queries, keys, values and the one that mixes the heads."""


@edit(vit_parameter_count, "4 * (E * E + E)", "4 * E * E")
def attention_without_biases():
    """Your count is too small by 4 * embed_dim for each layer. Either the biases of the
    four projections of attention are not counted, or the two norms, each of which has
    a weight and a bias."""


@edit(vit_parameter_count, "(E * M + M) + (M * E + E)", "2 * E * M")
def feed_forward_biases_uncounted():
    """You left out the biases of the feed-forward layers. Each of their two linear maps
    has one that is as long as its output: the first M, the second E."""


@edit(vit_parameter_count, "(M * E + E)", "E")
def one_feed_forward_matrix():
    """You counted one of the two matrices of the feed-forward layer. It goes from E to
    M and back again."""


@edit(vit_parameter_count, "2 * norm)", "norm)")
def one_norm_a_layer():
    """Your count is too small by 2 * embed_dim for each layer. Either one of its two
    norms is not counted, each of which has a weight and a bias, or queries, keys and
    values have one bias in place of three."""


@edit(vit_parameter_count, "layers + norm + E", "layers + E")
def final_norm_uncounted():
    """Your count is too small by 2 * embed_dim. Either the norm after the last layer is
    not counted, with which a pre-norm model ends, or neither the class token nor its
    position is."""


# convert_huggingface_vit

ORDER = '("query", "key", "value")'
FLAT = '[patches + "weight"].flatten(1)'


@edit(convert_huggingface_vit, ORDER, '("key", "query", "value")')
def packed_alphabetically():
    """You packed keys, queries, values, in alphabetical order. Torch's packed weight
    holds queries first, then keys, then values; every shape fits either way."""


@edit(
    convert_huggingface_vit,
    "torch.cat(parts)",
    "torch.stack(parts, dim=1).flatten(0, 1)",
)
def packed_row_by_row():
    """You interleaved queries, keys and values row by row. They are stacked as three
    blocks of E rows; every shape fits either way, and only the answers show it."""


@edit(convert_huggingface_vit, FLAT, '[patches + "weight"]')
def convolution_kept():
    """You left the projection of the patches as the weight of a convolution, (E, C, p,
    p). Ours is a linear layer whose rows are flattened patches."""


@edit(convert_huggingface_vit, FLAT, '[patches + "weight"].movedim(1, -1).flatten(1)')
def convolution_with_channels_last():
    """You flattened the convolution with its channels last. The numbers of a patch go
    (C, p, p), which is the order the weight has already."""


@edit(
    convert_huggingface_vit,
    '"norm1.": old + "layernorm_before.",\n            new + "norm2."',
    '"norm2.": old + "layernorm_before.",\n            new + "norm1."',
)
def norms_exchanged():
    """You exchanged the two norms of a layer. 'before' and 'after' refer to the
    attention: norm1 stands before it, norm2 after it and before the feed-forward
    layer."""


@edit(
    convert_huggingface_vit,
    '"linear1.": old + "intermediate.dense.",\n            new + "linear2."',
    '"linear2.": old + "intermediate.dense.",\n            new + "linear1."',
)
def feed_forward_exchanged():
    """You exchanged the two linear maps of the feed-forward layer. 'intermediate' leads
    to the hidden width and comes first."""


@edit(
    convert_huggingface_vit, 'old + "output.dense."', 'old + "attention.output.dense."'
)
def both_outputs_from_attention():
    """You took 'attention.output.dense' for the second map of the feed-forward layer as
    well. Two names end in 'output.dense': the one inside the attention is its output
    projection."""


@edit(
    convert_huggingface_vit, 'old + "attention.output.dense."', 'old + "output.dense."'
)
def both_outputs_from_feed_forward():
    """You took the second map of the feed-forward layer for the output projection of
    the attention. Two names end in 'output.dense'; look at what stands before."""


@edit(convert_huggingface_vit, 'name.split(".")[3] for', 'name.split(".")[3][0] for')
def one_digit_layers():
    """You took the first digit for the number of a layer, so those from ten on are
    lost. A base model has twelve layers, and 'layer.1' is not 'layer.11'."""


@edit(
    convert_huggingface_vit,
    '{name.split(".")[3] for name in theirs if ".encoder.layer." in name}',
    "range(12)",
)
def always_twelve_layers():
    """You ask for a fixed number of layers, such as the twelve of a base model, and a
    smaller model does not have their names. How many layers there are is to be read
    from the names in the dictionary."""


@edit(convert_huggingface_vit, ', "head.": "classifier."', "")
def head_left_out():
    """You left out the head. The classifier is part of the model, and its weights are
    what makes the published model name its classes."""
