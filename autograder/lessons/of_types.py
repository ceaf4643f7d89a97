"""What Python's errors about names, types and arguments usually mean."""

from __future__ import annotations

from autograder.lessons.sentences import (
    LAYER_GIVEN,
    LAYERS,
    NO_INIT,
    NOTHING_RETURNED,
    SINGLE_NUMBER,
    Lesson,
)

_SIGNATURE = (
    "A function was called with arguments that it does not have. If it is yours, keep "
    "the names and the order of the parameters in the stub."
)
_TOO_FEW = (
    "A call leaves out an argument that the function cannot do without. If the call is "
    "yours, add the argument; if the function is yours, keep to the parameters in the "
    "stub, with their defaults."
)
_PYTHONS_OWN = (
    "max, min, sum and abs without a dot before them are Python's own and know nothing "
    "of axes. Take the library's, such as x.sum(...), np.max or torch.amax."
)
_A_LIST = (
    "A list or a tuple stands where an array is needed. np.array, np.stack and "
    "torch.stack make one array of several; a comma at the end of a line makes a tuple."
)

_OF_TENSORS = (
    "shape|size|ndim|dim|dtype|device|T|mT|sum|mean|max|exp|softmax|view|reshape"
    "|transpose|permute|unsqueeze|masked_fill|detach|requires_grad|backward"
)

LESSONS: list[Lesson] = [
    (
        "TypeError",
        r"sort\(\) (takes from 1 to 0|received .*stable=)",
        "With stable, torch's sort needs dim by name: x.sort(dim=-1, stable=True).",
    ),
    (
        "TypeError",
        r"takes a list of texts, and got one text",
        "A function that you were given takes all of the texts at once, in a list: "
        "what it returns has a first axis for them, and so has all that follows. A "
        "list of one text is written [text].",
    ),
    (
        "TypeError",
        r"is an invalid keyword argument for (max|min|sum)\(\)"
        r"|^abs\(\) takes no keyword|^sum\(\) takes at most 2 arguments",
        _PYTHONS_OWN,
    ),
    (
        "TypeError",
        r"keyword argument '?(keepdim|dim)\b",
        "NumPy says axis and keepdims where torch says dim and keepdim. This is NumPy.",
    ),
    (
        "TypeError",
        r"^N?matrix\.\w+\(\) got an unexpected keyword argument",
        "np.matrix has methods of its own, and always two axes. np.asarray makes an "
        "array of one.",
    ),
    (
        "TypeError",
        r"keyword argument '?(keepdims|axis)\b|keepdims=|axis=",
        "torch says dim and keepdim where NumPy says axis and keepdims. This is torch.",
    ),
    *(
        (
            error,
            r"return_types\.(max|min|sort|topk|median|mode)",
            "In torch, max, min, sort and topk along an axis return two things, the "
            "values and their indices. Take .values or .indices, or call amax, amin "
            "or argmax.",
        )
        for error in ("TypeError", "AttributeError")
    ),
    (
        "TypeError",
        r"softmax\(\) missing 1 required positional arguments: \"dim\"",
        "torch's softmax has to be told along which axis the weights sum to one: dim.",
    ),
    (
        "TypeError",
        r"\.__init__\(\) takes 1 positional argument",
        NO_INIT,
    ),
    (
        "TypeError",
        r"\w\.\w+\(\) takes (from \d+ to )?\d+ positional argument.* but \d+ w",
        "A call has more arguments than the method takes, and the object itself counts "
        "as one of them. If the method is yours, its first parameter is self, and the "
        "others are those of the stub; if not, leave out what it does not take.",
    ),
    (
        "TypeError",
        r"missing \d+ required|\(0 given\)|but 0 were given"
        r"|takes (exactly [2-9]|from [2-9] to \d+) .*(\(1 given\)|but 1 was given)",
        _TOO_FEW,
    ),
    (
        "TypeError",
        r"got multiple values",
        "One argument of a call comes twice, by its position and by its name. If the "
        "function is yours, keep the order of the parameters in the stub.",
    ),
    (
        "TypeError",
        r"unexpected keyword argument|positional argument",
        _SIGNATURE,
    ),
    (
        "TypeError",
        r"NoneType' object is not callable",
        "Brackets follow something that is None: often a name that was given to the "
        "result of a function without a return statement.",
    ),
    ("TypeError", r"NoneType", NOTHING_RETURNED),
    ("AttributeError", r"NoneType", NOTHING_RETURNED),
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
    ("TypeError", rf"unsupported operand .*'({LAYERS})'", LAYER_GIVEN),
    (
        "AttributeError",
        rf"^'({LAYERS})' object has no attribute '({_OF_TENSORS})'",
        LAYER_GIVEN,
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
        r"'int' object is not callable",
        "Brackets follow a whole number: often an operator is missing before them, a "
        "number has taken the name of a function, or it is a property, such as length "
        "with @property, which is read without brackets.",
    ),
    (
        "TypeError",
        r"'torch\.dtype' object is not callable",
        "torch.float, torch.long and torch.bool name dtypes and cannot be called: "
        "x.float(), x.long() and x.bool() convert a tensor.",
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
    (
        "TypeError",
        r"unhashable type: 'numpy\.ndarray'",
        "An array is used as the key of a dictionary or as an element of a set. Curly "
        "brackets make these; an array is indexed with square ones.",
    ),
    (
        "TypeError",
        r"unhashable type",
        "A key of a dictionary or an element of a set must be something that never "
        "changes, such as a number, a text or a tuple of these: tuple(x) makes one of "
        "a list.",
    ),
    (
        "TypeError",
        r"must be Tensor, not (int|float|bool)\b",
        "A function of torch wants a tensor and was given a plain number. For numbers "
        "there are math.sqrt, math.exp and ** 0.5.",
    ),
    ("TypeError", r"must be Tensor, not (list|tuple)\b", _A_LIST),
    (
        "TypeError",
        r"must be Tensor, not numpy|can't assign a numpy|numpy\.ndarray, "
        r"|'(numpy\.ndarray|Tensor)' and '(numpy\.ndarray|Tensor)'"
        r"|Concatenation operation is not implemented for NumPy",
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
        SINGLE_NUMBER,
    ),
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
        "TypeError",
        r"unsupported operand .*'str'|can only concatenate str|must be str, not",
        "Texts can be joined by +, with texts alone: str() makes one of a number, and "
        "an f-string puts values into a text.",
    ),
    (
        "TypeError",
        r"argument 'size' .* must be tuple of ints, not int",
        "torch.full(shape, value) takes the shape first, in brackets of its own.",
    ),
    (
        "TypeError",
        r"transpose\(\): argument 'dim|transpose\(\) received an invalid",
        "torch's transpose swaps the two axes that it is given; permute takes an order "
        "of all axes, and reshape a new shape.",
    ),
    (
        "TypeError",
        r"received an invalid combination of arguments",
        "A function of torch was called with arguments that do not go together: one is "
        "missing (keepdim wants a dim, too), or of another type.",
    ),
    (
        "TypeError",
        r"Cannot cast ufunc .* to dtype\('u?int",
        "An array of whole numbers was to take up fractions in place. a = a / b makes "
        "a new array; a /= b keeps the dtype.",
    ),
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
]
