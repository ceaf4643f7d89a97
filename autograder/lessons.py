"""What an error usually means in attention code: a sentence for each common one.

An entry is asked by the type of the error and what its text contains; the first one
that fits is told. The words of an error are only looked at: none of them is repeated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograder.answers import Answer

_NOTHING_RETURNED = (
    "Something is None that should be an array: the result of a function without a "
    "return statement, of a method that works in place, or an optional argument, such "
    "as a mask, that was not given."
)
_INNER_SIZES = (
    "The inner sizes of a matrix product differ: (n, k) @ (k, m) needs the k twice. "
    "Write the shape beside each factor; often one has to be transposed, or the "
    "factors stand in the wrong order."
)
_NO_SUCH_AXIS = (
    "An axis or an index does not exist. Inputs may have fewer axes than you think; "
    "counting axes from the end (-1, -2) works for any number of leading ones."
)
_TRUTH = (
    "An if, and, or, not was asked about a whole array, which has no single answer. "
    "Ask `mask is not None` to see whether there is a mask; combine masks with & and "
    "|; say any() or all() if one answer for all of the values is meant."
)
_NEW_SHAPE = (
    "The new shape has another number of values than the old one. Write the sizes out: "
    "what is split has to be divided, as in E = h * d, and no axis may be forgotten."
)
_TWO_SHAPES = (
    "Two shapes do not fit each other. Axes are matched from the last one, and sizes "
    "have to be equal or 1. After a sum or a maximum, keepdims keeps the axis; "
    "elsewhere, None or an index puts in an axis of size one. .T reverses all axes, "
    "and .mT swaps the last two."
)
_DTYPES = (
    "Tensors of two dtypes meet. Make new ones in the dtype and on the device of the "
    "inputs, as x.new_zeros(...) or torch.zeros(..., dtype=x.dtype) do."
)
_SIGNATURE = (
    "A function was called with arguments that it does not have. If it is yours, keep "
    "the names and the order of the parameters in the stub."
)
_A_LIST = (
    "A list or a tuple stands where an array is needed. np.array, np.stack and "
    "torch.stack make one array of several; a comma at the end of a line makes a tuple."
)
_SINGLE_NUMBER = (
    "A whole array stands where a single number is needed: as an argument of math.exp, "
    "math.sqrt or float(), as an index, or as the second argument of a function that "
    "wants all of its arrays in one list. np.exp and torch.exp take whole arrays."
)
_UNPACKED = (
    "The number of names on the left differs from the number of results or axes on the "
    "right. Inputs may have more or fewer leading axes than you unpack."
)
_LETTERS = (
    "The letters of einsum and the shapes do not fit: each operand has one letter for "
    "each of its axes, and a letter has one size wherever it stands."
)

_NOT_PYTHONS = (
    "{0} is no longer Python's own. A line such as `from torch import *` has put a "
    "library's function of that name in its place, which wants arrays: import the "
    "names that you need, one by one."
)

_MASK_OF_TORCH = (
    "The mask and the layer disagree on the number of tokens. A layer of torch without "
    "batch_first=True takes the first axis for the tokens and the second one for the "
    "batch. Otherwise, the mask has its axes in another order, or another length."
)

# The type of the error, what its text contains, and what it usually comes from.
_LESSONS: list[tuple[str, str, str]] = [
    (
        "TypeError",
        r"sort\(\) (takes from 1 to 0|received .*stable=)",
        "With stable, torch's sort needs dim by name: x.sort(dim=-1, stable=True).",
    ),
    (
        "TypeError",
        r"keyword argument '?(keepdim|dim)\b",
        "NumPy says axis and keepdims where torch says dim and keepdim. This is NumPy.",
    ),
    (
        "TypeError",
        r"keyword argument '?(keepdims|axis)\b|keepdims=|axis=",
        "torch says dim and keepdim where NumPy says axis and keepdims. This is torch.",
    ),
    (
        "TypeError",
        r"return_types\.(max|min|sort|topk|median|mode)",
        "In torch, max and min along an axis return two things, the values and their "
        "indices. Take .values, or call amax and amin.",
    ),
    (
        "TypeError",
        r"softmax\(\) missing 1 required positional arguments: \"dim\"",
        "torch's softmax has to be told along which axis the weights sum to one: dim.",
    ),
    (
        "TypeError",
        r"\.__init__\(\) takes 1 positional argument",
        "The class is made with arguments that its __init__ does not take: the name is "
        "misspelled (two underscores on either side), or parameters of the stub are "
        "missing.",
    ),
    (
        "RuntimeError",
        r"missing the required \"forward\" function",
        "The class has no method forward: look at its spelling, and at how far it is "
        "indented.",
    ),
    (
        "TypeError",
        r"\w\.\w+\(\) takes \d+ positional argument.* but \d+ w",
        "A method gets the object itself as its first argument. If self is not the "
        "first parameter of yours, add it; if it is, the stub has more parameters than "
        "your definition.",
    ),
    (
        "TypeError",
        r"unexpected keyword argument|got multiple values|positional argument",
        _SIGNATURE,
    ),
    (
        "TypeError",
        r"NoneType' object is not callable",
        "Brackets follow something that is None: often a name that was given to the "
        "result of a function without a return statement.",
    ),
    ("TypeError", r"NoneType", _NOTHING_RETURNED),
    ("ValueError", r"does not have enough dimensions \(has 0", _NOTHING_RETURNED),
    ("AttributeError", r"NoneType", _NOTHING_RETURNED),
    (
        "AttributeError",
        r"before Module\.__init__|cannot assign (parameters|module)",
        "A module has to call super().__init__() before it gets parameters or parts.",
    ),
    (
        "TypeError",
        r"unsupported operand .*('Tensor' and 'tuple'|'tuple' and 'Tensor')",
        "A tensor and a tuple meet. nn.MultiheadAttention, nn.LSTM and others return "
        "several results: unpack them, or take the one that you need by its index. A "
        "comma at the end of a line makes a tuple, too.",
    ),
    ("AttributeError", r"'(list|tuple)' object has no attribute", _A_LIST),
    (
        "TypeError",
        r"unsupported operand .*'(list|tuple)'|can only concatenate (list|tuple)",
        _A_LIST,
    ),
    (
        "AttributeError",
        r"'(int|float|bool)' object has no attribute",
        "A plain number of Python stands where an array or a tensor is needed: item(), "
        "float() and sum over everything give one.",
    ),
    (
        "AttributeError",
        r"'(function|builtin_function_or_method|method)' object has no attribute",
        "A function is used as if it were its result: brackets are missing.",
    ),
    (
        "AttributeError",
        r"module '(numpy|torch|math)[\w.]*' has no attribute",
        "The library has nothing of that name; it may be spelled in another way, or "
        "belong to the other library. NumPy, for one, has no softmax.",
    ),
    (
        "AttributeError",
        r"ndarray.*has no attribute",
        "This is a NumPy array, and it has no such method. Methods such as softmax, "
        "unsqueeze, permute and masked_fill are torch's.",
    ),
    (
        "AttributeError",
        r"'(Tensor|Parameter)' object has no attribute",
        "This is a tensor of torch, and it has no such method: astype and copy are "
        "NumPy's, where torch says to and clone.",
    ),
    (
        "AttributeError",
        r"has no attribute",
        "A name after a dot does not exist on that object: look at its spelling, and "
        "at what __init__ has stored under self. If self itself is meant to be a "
        "tensor, the method lacks its first parameter, self.",
    ),
    (
        "TypeError",
        r"not callable",
        "Brackets follow something that is no function: often a name that was given to "
        "an array, a shape (x.shape[0], not x.shape(0)), or a missing operator between "
        "two brackets.",
    ),
    (
        "TypeError",
        r"method' object is not subscriptable|unsupported operand .*'method'",
        "A method is used as if it were its result: brackets are missing.",
    ),
    (
        "TypeError",
        r"not subscriptable|not iterable|be an iterable|cannot unpack|has no len\(\)",
        "A single thing is taken apart as if it were several: look at what the "
        "function that you call returns.",
    ),
    ("ValueError", r"to unpack", _UNPACKED),
    (
        "TypeError",
        r"unhashable type",
        "An array is used as the key of a dictionary or as an element of a set. Curly "
        "brackets make these; an array is indexed with square ones.",
    ),
    (
        "TypeError",
        r"must be Tensor, not numpy|can't assign a numpy|numpy\.ndarray, ",
        "A NumPy array meets torch. Inside one function, stay in the library that the "
        "inputs come from.",
    ),
    (
        "TypeError",
        r"must be tuple of Tensors, not Tensor",
        "The tensors that are joined belong into one list or tuple: torch.cat([a, b]).",
    ),
    (
        "TypeError",
        r"only integer scalar arrays|only (0-dimensional|length-1|size-1) arrays",
        _SINGLE_NUMBER,
    ),
    ("ValueError", r"only one element tensors", _SINGLE_NUMBER),
    (
        "TypeError",
        r"Cannot interpret '.*' as a data type",
        "A shape is one argument: np.zeros((3, 4)), with brackets of its own.",
    ),
    (
        "TypeError",
        r"cannot be interpreted as an integer|tuple of ints, ?(not|but got) float"
        r"|got \((int, )*float",
        "A size has to be a whole number: / gives a float even where nothing is left "
        "over, // does not.",
    ),
    (
        "TypeError",
        r"only implemented on integer and Boolean|can't multiply|bad operand type",
        "~, & and | combine masks of True and False. Here, one of them is asked of "
        "something else: numbers, or the module itself where a method lacks self.",
    ),
    (
        "RuntimeError",
        r"(bitwise|logical)_\w+ not implemented|bitwise_\w+_cpu|\"\w+\" not impl",
        "An operation is not defined for values of this dtype. &, | and ~ want masks "
        "of True and False: numbers become one by a comparison, such as mask != 0.",
    ),
    (
        "RuntimeError",
        r"support input requests",
        "input() and debuggers wait for somebody to type, and nobody does in grading.",
    ),
    (
        "RuntimeError",
        r"(with|on) a bool tensor is not supported",
        "A mask of True and False has no sign and cannot be subtracted: ~mask is its "
        "opposite.",
    ),
    (
        "RuntimeError",
        r"boolean masks|to be a boolean tensor",
        "A mask of True and False is needed here, and this one holds numbers: a "
        "comparison, such as mask != 0, makes one.",
    ),
    ("ValueError", r"einstein sum|with remapped shapes", _LETTERS),
    ("ValueError", r"mismatch in its core|not aligned|matmul", _INNER_SIZES),
    ("RuntimeError", r"mat1 and mat2 shapes|batch[12]|size mismatch", _INNER_SIZES),
    (
        "RuntimeError",
        r"desired ordering of dimensions",
        "permute wants every axis once: it got more of them, or fewer, than there are.",
    ),
    (
        "RuntimeError",
        r"duplicate dims|repeated dim|appears multiple times",
        "An axis is named twice: permute, sums and the like want each axis once.",
    ),
    (
        "ValueError",
        r"repeated axis|axes don't match|duplicate value in 'axis'",
        "transpose wants every axis once: one is named twice, or the input has more or "
        "fewer axes than are named.",
    ),
    (
        "RuntimeError",
        r"multiplication overflow|negative dimension|invalid shape dimension -"
        r"|negative value",
        "A size is negative. Where a size is asked for, only -1 means something: the "
        "size that there is, or whatever is left.",
    ),
    (
        "RuntimeError",
        r"same number of dimensions",
        "Tensors that are joined need equally many axes: one of them has lost an axis, "
        "by an index or a sum without keepdim, or has one too many.",
    ),
    (
        "TypeError",
        r"unsupported operand .*'str'|can only concatenate str|must be str, not",
        "Texts can be joined by +, with texts alone: str() makes one of a number, and "
        "an f-string puts values into a text.",
    ),
    (
        "RuntimeError",
        r"t\(\) expects a tensor with <= 2 dimensions",
        "A weight with two axes is needed where a larger tensor is given. F.linear "
        "takes the inputs first, then the weight, then the bias.",
    ),
    (
        "TypeError",
        r"transpose\(\): argument 'dim|transpose\(\) received an invalid",
        "torch's transpose swaps the two axes that it is given; permute takes an order "
        "of all axes, and reshape a new shape.",
    ),
    (
        "ValueError",
        r"non-empty list|need at least one array|List of Tensors",
        "An empty list was to be joined: the loop that should fill it does not run, or "
        "never appends.",
    ),
    (
        "RuntimeError",
        r"non-empty TensorList",
        "An empty list was to be joined: the loop that should fill it does not run, or "
        "never appends.",
    ),
    (
        "RuntimeError",
        r"flatten\(\) has invalid args",
        "flatten joins the axes from the first one named to the last one, in order.",
    ),
    (
        "TypeError",
        r"received an invalid combination of arguments",
        "A function of torch was called with arguments that do not go together: one is "
        "missing (keepdim wants a dim, too), or of another type.",
    ),
    (
        "ValueError",
        r"zip\(\) argument",
        "Two lists that are walked through together have different lengths: look at "
        "what each of them is split along.",
    ),
    ("RuntimeError", r"einsum\(\)", _LETTERS),
    (
        "RuntimeError",
        r"equal size, but got|Sizes of tensors must match",
        "Tensors that are joined have to agree in every axis but the one that they are "
        "joined along: look at dim.",
    ),
    (
        "ValueError",
        r"all the input array|same shape",
        "Arrays that are joined have to agree in every axis but the one that they are "
        "joined along: look at axis.",
    ),
    (
        "RuntimeError",
        r"must match the size|expanded size|not broadcastable",
        _TWO_SHAPES,
    ),
    ("ValueError", r"broadcast", _TWO_SHAPES),
    (
        "ValueError",
        r"inhomogeneous",
        "The rows of a nested list have different lengths, so no array can be made "
        "of it.",
    ),
    (
        "IndexError",
        r"only integers, slices",
        "An index has to be a whole number, a slice, or an array of whole numbers or "
        "of True and False. / gives a float; // does not.",
    ),
    (
        "IndexError",
        r"index out of range in self|Target .* out of bounds",
        "An id lies outside of the table: ids count from 0, so the largest one is the "
        "number of rows minus one.",
    ),
    (
        "IndexError",
        r"shape of the mask|boolean index did not match",
        "A mask in square brackets needs the shape of what it picks from: it is not "
        "stretched there, as it is by masked_fill and where.",
    ),
    ("IndexError", r"out of range|out of bounds|too many indices", _NO_SUCH_AXIS),
    ("ValueError", r"axis .* is out of bounds", _NO_SUCH_AXIS),
    ("ValueError", r"truth value of an array", _TRUTH),
    ("RuntimeError", r"Boolean value of Tensor", _TRUTH),
    (
        "RuntimeError",
        r"view size is not compatible|use \.reshape",
        "view needs its values side by side in memory, which they are not after a "
        "transpose; reshape copies where it has to.",
    ),
    (
        "RuntimeError",
        r"last dimension with stride 1",
        "view_as_complex needs the two numbers of a pair side by side in memory: call "
        "contiguous() first.",
    ),
    ("RuntimeError", r"shape '.*' is invalid|cannot reshape|invalid shape", _NEW_SHAPE),
    ("ValueError", r"cannot reshape", _NEW_SHAPE),
    (
        "RuntimeError",
        r"Expected target size",
        "F.cross_entropy expects the classes along the second axis of the logits. "
        "Either move them there, (B, V, T) for targets of shape (B, T), or flatten the "
        "other axes: (B * T, V) for targets of shape (B * T,).",
    ),
    (
        "RuntimeError",
        r"shape of the [23]D attn_mask is|attn_mask.*but should be",
        _MASK_OF_TORCH,
    ),
    ("AssertionError", r"key_padd(ed|ing)_mask.shape", _MASK_OF_TORCH),
    (
        "RuntimeError",
        r"leaf [Vv]ariable",
        "A parameter, or an input that wants a gradient, was changed in place (+=, "
        "fill_, x[...] = ...). Make a new tensor; parameters are only set under "
        "torch.no_grad().",
    ),
    (
        "RuntimeError",
        r"modified by an in-?place|in-?place operation",
        "A tensor that a gradient needs was changed in place (+=, *=, fill_, "
        "x[...] = ...). Make a new one.",
    ),
    (
        "RuntimeError",
        r"does not require grad|grad_fn",
        "The result is cut off from its inputs: detach, item, numpy, no_grad or a new "
        "tensor made from old values stops the gradient.",
    ),
    (
        "RuntimeError",
        r"[Ee]xpected dtype int|scalar types: Long|to be Long",
        "Ids and indices have to be whole numbers: a tensor of dtype torch.long.",
    ),
    (
        "RuntimeError",
        r"same dtype|expected .* (Float|Double|Half|Long|Bool)|scalar type",
        _DTYPES,
    ),
    (
        "RuntimeError",
        r"requires grad",
        "A tensor that has a gradient cannot become a NumPy array; stay in torch.",
    ),
    (
        "TypeError",
        r"Cannot cast ufunc .* to dtype\('u?int",
        "An array of whole numbers was to take up fractions in place. a = a / b makes "
        "a new array; a /= b keeps the dtype.",
    ),
    (
        "ValueError",
        r"math domain error",
        "A square root or a logarithm got a number "
        "for which it is not defined, such as one below zero.",
    ),
    ("RecursionError", r"", "The function calls itself without an end."),
    (
        "UnboundLocalError",
        r"",
        "A variable is used on a path through the function on which it was never set.",
    ),
    (
        "NameError",
        r"",
        "A name is not defined: a typo, an import that is missing, or a variable of "
        "a cell that has not been run.",
    ),
    ("ZeroDivisionError", r"", "A number was divided by zero."),
    ("KeyError", r"", "A dictionary was asked for a key that it does not have."),
    (
        "AssertionError",
        r"",
        "An assert statement does not hold. If these arguments are allowed, something "
        "before it has another shape or value than it demands; if they are not, the "
        "exercise names the error to raise.",
    ),
]


RAISED_BY_YOU = (
    "An error that you raise yourself meets arguments that are allowed. See when that "
    "line is reached: a condition is too wide, the wrong way round, or missing."
)


def lesson(wrong: Sequence[Answer]) -> str:
    """What the error behind wrong answers usually comes from, or an empty text.

    Args:
        wrong: the answers to all cases that failed although a value was expected.

    Nothing is told unless all of them raised one type of error for one reason.
    """
    told = {_about(answer) for answer in wrong}
    return told.pop() if len(told) == 1 else ""


def about_errors(wrong: Sequence[Answer]) -> str:
    """What one of the errors among wrong answers comes from, or an empty text.

    Args:
        wrong: the answers to all cases that failed although a value was expected.
    """
    placed = [answer for answer in wrong if answer.raised and answer.origin.line]
    for answer in placed:
        told = _about(answer)
        if told:
            return f"About the {told}"
    if any(answer.origin.line.startswith("raise ") for answer in placed):
        return RAISED_BY_YOU
    return ""


def _about(answer: Answer) -> str:
    if answer.raised is None:
        return ""
    for variable in answer.origin.variables:
        if variable.replaces_pythons:
            return f"{answer.raised}: {_NOT_PYTHONS.format(variable.name)}"
    for kind, text, sentence in _LESSONS:
        if answer.raised == kind and re.search(text, answer.detail):
            return f"{kind}: {sentence}"
    return ""
