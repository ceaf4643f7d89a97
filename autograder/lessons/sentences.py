"""Sentences that explain more than one kind of error."""

from __future__ import annotations

Lesson = tuple[str, str, str]  # an error's type, what its text contains, its cause

NOTHING_RETURNED = (
    "Something is None where a value is needed: the result of a function without a "
    "return statement, of a method that works in place, or an optional argument, such "
    "as a mask, that was not given."
)
NO_INIT = (
    "The class is made with arguments that its __init__ does not take: the name is "
    "misspelled (two underscores on either side), or parameters of the stub are "
    "missing."
)
NO_FORWARD = (
    "The class has no method forward: look at its spelling, and at how far it is "
    "indented."
)
INNER_SIZES = (
    "The inner sizes of a matrix product differ: (n, k) @ (k, m) needs the k twice. "
    "Write the shape beside each factor; often one has to be transposed, or the "
    "factors stand in the wrong order."
)
TRUTH = (
    "An if, and, or, not was asked about a whole array, which has no single answer. "
    "Ask `mask is not None` to see whether there is a mask; combine masks with & and "
    "|; say any() or all() if one answer for all of the values is meant."
)
NEW_SHAPE = (
    "The new shape has another number of values than the old one. Write the sizes out: "
    "what is split has to be divided, as in E = h * d, and no axis may be forgotten."
)
TWO_SHAPES = (
    "Two shapes do not fit each other. Axes are matched from the last one, and sizes "
    "have to be equal or 1. After a sum or a maximum, keepdims keeps the axis; "
    "elsewhere, None or an index puts in an axis of size one. .T reverses all axes, "
    "and .mT swaps the last two."
)
SINGLE_NUMBER = (
    "A whole array stands where a single number is needed: as an argument of math.exp, "
    "math.sqrt or float(), as an index, or as the second argument of a function that "
    "wants all of its arrays in one list. np.exp and torch.exp take whole arrays."
)
ITEM = (
    "item() takes out the only value of an array, and this one holds several. Leave it "
    "out and go on with the array, or index a single value first."
)
LAYERS = "Softmax|LogSoftmax|Linear|Embedding|LayerNorm|Dropout|ReLU|GELU"
LAYER_GIVEN = (
    "A layer stands where its result is needed. The first brackets make the layer, and "
    "a second pair calls it: nn.Softmax(dim=-1)(scores)."
)
LETTERS = (
    "The letters of einsum and the shapes do not fit: each operand has one letter for "
    "each of its axes, and a letter has one size wherever it stands."
)
MASK_OF_TORCH = (
    "The mask and the layer disagree on the number of tokens. A layer of torch without "
    "batch_first=True takes the first axis for the tokens and the second one for the "
    "batch. Otherwise, the mask has its axes in another order, or another length."
)
