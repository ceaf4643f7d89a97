"""What the errors of NumPy, torch and Python usually mean in attention code.

An entry is matched by ``TYPE: text`` of an error, and the first that fits is told; the
text itself is never repeated. Where it says enough, as that of a KeyError does, there
is no entry: the case shows it. ``AFTERWARDS`` is for errors that come when a case goes
on with a result: no line of the answer raises them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from autograder.answers import Answer

NOT_MADE = (
    "The class is made with arguments that its __init__ does not take: the name is "
    "misspelled (two underscores on either side), or parameters of the stub are "
    "missing."
)
AFTERWARDS = {
    r"^TypeError: .*\.__init__\(\) (takes 1 positional|got an unexp)": NOT_MADE,
    r"^AttributeError: '(?!Tensor|NoneType)[A-Z]\w+' object has no attr": (
        "A case uses an attribute or a method that your class does not have: compare "
        "its names with those in the stub and the docstring."
    ),
    r"^(Type|Value|Attribute|Index)Error: (?!.*(positional|keyword|multiple values))": (
        "A case goes on with what came out of your code, and it is not what Returns in "
        "the docstring asks for, but None, a tuple that a comma has made, or an array "
        "of NumPy in place of a tensor, say."
    ),
}
MEANINGS = {
    r"^Unreadable: .* type (method|function|builtin_function_or_method|property)\b": (
        "A function comes out where its result belongs: brackets are missing after its "
        "name, or @property before a method that is read without them."
    ),
    r"^Unreadable: .* type (generator|map|zip|filter|range|dict_\w+|set)\b": (
        "What comes out has yet to be gone through, or has no order: list() makes a "
        "list of it, and np.array or torch.stack an array of that."
    ),
    r"^RuntimeError: .*missing the required .forward. function"
    r"|^TypeError: _forward_unimplemented\(\)": "The class has no method forward: look "
    "at its spelling, and at how far it is indented.",
    r"^TypeError: .*is an invalid keyword argument for (max|min|sum)\(\)"
    r"|^TypeError: (abs\(\) takes no keyword|sum\(\) takes at most 2)": (
        "max, min, sum and abs without a dot before them are Python's own and know "
        "nothing of axes. Take the library's, such as x.sum(...), np.max or "
        "torch.amax."
    ),
    r"^TypeError: .*keyword argument '?(keepdim|dim)\b": "NumPy says axis and "
    "keepdims where torch says dim and keepdim.",
    r"^TypeError: .*(keyword argument '?(keepdims|axis)\b|keepdims=|axis=)": (
        "torch says dim and keepdim where NumPy says axis and keepdims."
    ),
    r"^(Type|Attribute)Error: .*return_types\.(max|min|sort|topk|median|mode)": (
        "In torch, max, min, sort and topk along an axis return two things, the "
        "values and their indices. Take .values or .indices, or call amax, amin or "
        "argmax."
    ),
    r"^TypeError: .*\.__init__\(\) takes 1 positional argument": NOT_MADE,
    r"^TypeError: .*(missing \d+ required|\(0 given\)|but 0 were given"
    r"|takes (exactly [2-9]|from [2-9] to \d+) .*(\(1 given\)|but 1 was given))": (
        "A call leaves out an argument that the function cannot do without. If the "
        "call is yours, add the argument; if the function is yours, keep to the "
        "parameters in the stub, with their defaults."
    ),
    r"^TypeError: .*(unexpected keyword arg|positional arg|got multiple values)": (
        "A function was called with arguments that do not fit its parameters. If it is "
        "yours, keep the names and the order of those in the stub; the first one of a "
        "method is self, which counts as one of them."
    ),
    r"^(Type|Attribute)Error: .*NoneType"
    r"|^ValueError: .*does not have enough dimensions \(has 0": (
        "Something is None where a value is needed: the result of a function without "
        "a return statement, of a method that works in place, or an optional "
        "argument, such as a mask, that was not given."
    ),
    r"^AttributeError: .*(before Module\.__init__|cannot assign (param|module))": (
        "A module has to call super().__init__() before it gets parameters or parts."
    ),
    r"^AttributeError: '(list|tuple)' object has no attribute"
    r"|^TypeError: .*(unsupported operand .*'(list|tuple)'"
    r"|can only concatenate (list|tuple)|must be Tensor, not (list|tuple)\b)": (
        "A list or a tuple stands where an array is needed. np.array, np.stack and "
        "torch.stack make one array of several. A comma at the end of a line makes a "
        "tuple, and so do layers with several results, such as nn.MultiheadAttention."
    ),
    r"^(TypeError: unsupported operand .*'|AttributeError: ')(Softmax|Linear|Embedding"
    r"|LayerNorm|Dropout|ReLU|GELU)'( object has no attribute '(shape|T|sum|mean|exp"
    r"|view|reshape|transpose|masked_fill)'|$| and)": (
        "A layer stands where its result is needed. The first brackets make the "
        "layer, and a second pair calls it: nn.Softmax(dim=-1)(scores)."
    ),
    r"^AttributeError: '(int|float|bool)' object has no attribute": (
        "A plain number of Python stands where an array, a tensor or a module is "
        "needed: item() and float() give one, and so does a name such as F that a cell "
        "has given to a size."
    ),
    r"^AttributeError: '(function|builtin_function_or_method|method)' object"
    r"|^TypeError: .*(method' object is not subscr|unsupported operand .*'method')": (
        "A function is used as if it were its result: brackets are missing."
    ),
    r"^AttributeError: .*module '(numpy|torch|math)[\w.]*' has no attribute": (
        "The library has nothing of that name; it may be spelled in another way, or "
        "belong to the other library. NumPy, for one, has no softmax."
    ),
    r"^AttributeError: .*ndarray.*has no attribute": "This is a NumPy array, and it "
    "has no such method. Methods such as softmax, unsqueeze, permute and masked_fill "
    "are torch's.",
    r"^AttributeError: '(Tensor|Parameter)' object has no attribute": (
        "This is a tensor of torch, and it has no such method: astype and copy are "
        "NumPy's, where torch says to and clone."
    ),
    r"^AttributeError: .*has no attribute": "A name after a dot does not exist on "
    "that object: look at its spelling, and at what __init__ has stored under self. "
    "If self itself is meant to be a tensor, the method lacks its first parameter, "
    "self.",
    r"^TypeError: .*not callable": "Brackets follow something that is no function: "
    "often a name that was given to an array, a shape (x.shape[0], not x.shape(0)), "
    "or a missing operator between two brackets.",
    r"^TypeError: .*(not subscriptable|not iterable|be an iterable|cannot unpack"
    r"|has no len\(\))": "A single thing is taken apart as if it were several: look "
    "at what the function that you call returns.",
    r"^TypeError: .*must be Tensor, not (int|float|bool)\b": "A function of torch "
    "wants a tensor and was given a plain number. For numbers there are math.sqrt, "
    "math.exp and ** 0.5; `from torch import *` hides Python's own max, sum and abs.",
    r"^TypeError: .*(must be Tensor, not numpy|can't assign a numpy|numpy\.ndarray, "
    r"|'(numpy\.ndarray|Tensor)' and '(numpy\.ndarray|Tensor)'"
    r"|Concatenation operation is not implemented for NumPy)": (
        "A NumPy array meets a tensor. Inside one function, stay in the library that "
        "the inputs come from."
    ),
    r"^TypeError: .*only (integer scalar|0-dimensional|length-1|size-1) arrays"
    r"|^ValueError: .*only one element tensors": "A whole array stands where a single "
    "number is needed: as an argument of math.exp, math.sqrt or float(), as an index, "
    "or as the second argument of a function that wants all of its arrays in one "
    "list. np.exp and torch.exp take whole arrays.",
    r"^TypeError: .*Cannot interpret '.*' as a data type": "A shape is one argument: "
    "np.zeros((3, 4)), with brackets of its own.",
    r"^TypeError: .*(be interpreted as an integer|tuple of ints, ?(not"
    r"|but got) float|got \((int, )*float(, (int|float))*\))": "A size has to be a "
    "whole number: / gives a float even where nothing is left over, // does not.",
    r"^TypeError: .*(received an invalid combination of arg|transpose\(\): argument)": (
        "A function of torch was called with arguments that do not go together: one "
        "is missing (keepdim wants a dim, too), or of another type. transpose swaps "
        "the two axes that it is given, and permute takes an order of all axes."
    ),
    r"^UnboundLocalError: ": "A variable is used on a path through the function on "
    "which it was never set.",
    r"^NameError: ": "A name is not defined: a typo, an import that is missing, or a "
    "variable of a cell that has not been run.",
    r"^TypeError: .*(only implemented on integer and B|can't multiply|bad operand)"
    r"|^RuntimeError: .*((bitwise|logical)_\w+\"? not impl|bitwise_\w+_cpu)": (
        "~, & and | combine masks of True and False. Here, one of them is asked of "
        "something else: a comparison, such as mask != 0, makes a mask of numbers."
    ),
    r"^RuntimeError: .*(\" not implemented for '(Bool|Byte|Char|Short|Int|Long)'"
    r"|could not infer output dtype|only support floating point)": (
        "This operation needs real numbers, and the tensor holds whole numbers or "
        "truth values. Convert it first, as x.float() does or mask.to(x.dtype)."
    ),
    r"^RuntimeError: .*(boolean masks|to be a boolean tensor)": (
        "A mask of True and False is needed here, and this one holds numbers: a "
        "comparison, such as mask != 0, makes one."
    ),
    r"^RuntimeError: .*([Ee]xpected dtype int|scalar types: Long|to be Long)": (
        "Ids and indices have to be whole numbers: a tensor of dtype torch.long."
    ),
    r"^RuntimeError: .*(same (dtype|datatype)|expected .* (Float|Double|Half|Long|Bool)"
    r"|scalar ty|Input type .* and weight type)": "Tensors of two dtypes meet. Make "
    "new ones in the dtype of the inputs, as x.new_zeros(...) or torch.zeros(..., "
    "dtype=x.dtype) do. Converting a module reaches the layers that are its "
    "attributes, or in an nn.ModuleList; a plain list hides them.",
    r"^ValueError: .*to unpack": "The number of names on the left differs from the "
    "number of results or axes on the right. Inputs may have more or fewer leading "
    "axes than you unpack.",
    r"^ValueError: .*input batch_size .* to match target"
    r"|^RuntimeError: Expected target size": "F.cross_entropy and F.nll_loss expect "
    "the classes along the second axis of the logits. Either move them there, "
    "(B, V, T) for targets of shape (B, T), or flatten the other axes: (B * T, V) for "
    "targets of shape (B * T,).",
    r"^RuntimeError: einsum\(\)|^ValueError: .*(einstein sum"
    r"|with remapped shapes(?!.*requested shape))": "The letters of einsum and the "
    "shapes do not fit: each operand has one letter for each of its axes, and a "
    "letter has one size wherever it stands.",
    r"^ValueError: .*(mismatch in its core|not aligned|matmul)"
    r"|^RuntimeError: .*(mat1 and mat2|batch[12]|size mismatch)": (
        "The inner sizes of a matrix product differ: (n, k) @ (k, m) needs the k "
        "twice. Write the shape beside each factor; often one has to be transposed, "
        "or the factors stand in the wrong order."
    ),
    r"^\w+: .*(repeated axis|axes don't match|duplicate value in 'axis'"
    r"|desired ordering of dim|duplicate dims|repeated dim|appears multiple times)": (
        "An axis is named twice, or more or fewer axes are named than there are: "
        "transpose and permute want every axis once."
    ),
    r"^ValueError: .*(all the input array|same shape)"
    r"|^RuntimeError: .*(equal size, but |Sizes of tensors must match"
    r"|must have same number of dim)": "Arrays that are joined have to agree in every "
    "axis but the one that they are joined along, and in the number of axes: look at "
    "axis or dim.",
    r"^ValueError: .*broadcast|^RuntimeError: .*(must match the size|expanded size"
    r"|not broadcastable)": "Two shapes do not fit each other. Axes are matched from "
    "the last one, and sizes have to be equal or 1. After a sum or a maximum, "
    "keepdims keeps the axis; elsewhere, None or an index puts in an axis of size "
    "one. .T reverses all axes, and .mT swaps the last two.",
    r"^\w+: .*(cannot reshape|shape '.*' is invalid|invalid shape)": (
        "The new shape has another number of values than the old one. Write the sizes "
        "out: what is split has to be divided, as in E = h * d, and no axis may be "
        "forgotten."
    ),
    r"^IndexError: .*(only integers, slices|used as indices must be)": (
        "An index has to be a whole number, a slice, or an array of whole numbers or "
        "of True and False. / gives a float; // does not."
    ),
    r"^IndexError: .*(index out of range in self|Target .* out of bounds)": (
        "An id lies outside of the table: ids count from 0, so the largest one is the "
        "number of rows minus one."
    ),
    r"^IndexError: (list|string|bytearray|list assignment|pop) index out of range"
    r"|^IndexError: pop from": "A list or a text has no entry of that number. It may "
    "be empty, or shorter than you think, and the last of n entries has the index n - "
    "1.",
    r"^IndexError: .*(out of range|out of bounds|too many indices)"
    r"|^\w+: .*axis .* is out of bounds": "An axis or an index does not exist. Inputs "
    "may have fewer axes than you think; counting axes from the end (-1, -2) works "
    "for any number of leading ones.",
    r"^ValueError: .*truth value of an array"
    r"|^RuntimeError: .*Boolean value of Tensor": "An if, and, or, not was asked "
    "about a whole array, which has no single answer. Ask `mask is not None` to see "
    "whether there is a mask; combine masks with & and |; say any() or all() if one "
    "answer for all of the values is meant.",
    r"^RuntimeError: .*(leaf [Vv]ariable|in-?place operation)": (
        "A parameter, or a tensor that a gradient needs, was changed in place (+=, "
        "fill_, x[...] = ...). Make a new tensor; parameters are only set under "
        "torch.no_grad()."
    ),
    r"^RuntimeError: .*(does not require grad|grad_fn|not have been used in the gr)": (
        "The result is cut off from its inputs, or does not depend on one of them: "
        "detach, item, numpy, no_grad or a new tensor made from old values stops the "
        "gradient."
    ),
    r"^RuntimeError: .*requires grad": "A tensor that has a gradient cannot become a "
    "NumPy array; stay in torch.",
}
ASSERTED = (
    "An assert statement of yours does not hold. If these arguments are allowed, "
    "something before it has another shape or value than it demands; if they are not, "
    "the exercise names the error to raise."
)
RAISED_BY_YOU = (
    "An error that you raise yourself meets arguments that are allowed. See when that "
    "line is reached: a condition is too wide, the wrong way round, or missing. If it "
    "stands in another function, your answer may call that one with wrong arguments."
)


def meaning(wrong: Sequence[Answer]) -> str:
    """What the most common of the errors in wrong answers comes from, if it is known.

    Args:
        wrong: the answers to the cases that failed although a value was expected.
    """
    told = Counter(filter(None, (_meaning(one) for one in wrong if not one.is_value)))
    if not told:
        return ""
    (words, count), *_ = told.most_common(1)
    return words if count == len(wrong) else f"In some cases: {words}"


def _meaning(answer: Answer) -> str:
    line = answer.origin.line
    if line.startswith("raise "):
        return f"{answer.raised}: {RAISED_BY_YOU}"
    if line.startswith("assert "):
        return f"{answer.raised}: {ASSERTED}"
    afterwards = AFTERWARDS.items() if answer.origin.is_ours else ()
    text = f"{answer.raised or 'Unreadable'}: {answer.detail or answer.unreadable}"
    for pattern, sentence in (*afterwards, *MEANINGS.items()):
        if re.search(pattern, text):
            return f"{answer.raised}: {sentence}" if answer.raised else sentence
    return ""
