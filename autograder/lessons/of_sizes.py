"""What errors about values, sizes and indices usually mean."""

from __future__ import annotations

from autograder.lessons.sentences import (
    INNER_SIZES,
    ITEM,
    LETTERS,
    MASK_OF_TORCH,
    NEW_SHAPE,
    NOTHING_RETURNED,
    SINGLE_NUMBER,
    TRUTH,
    TWO_SHAPES,
    Lesson,
)

_NO_SUCH_AXIS = (
    "An axis or an index does not exist. Inputs may have fewer axes than you think; "
    "counting axes from the end (-1, -2) works for any number of leading ones."
)
_UNPACKED = (
    "The number of names on the left differs from the number of results or axes on the "
    "right. Inputs may have more or fewer leading axes than you unpack."
)

LESSONS: list[Lesson] = [
    ("ValueError", r"does not have enough dimensions \(has 0", NOTHING_RETURNED),
    ("ValueError", r"to unpack", _UNPACKED),
    (
        "ValueError",
        r"input batch_size .* to match target batch_size",
        "F.cross_entropy compares one row of logits with each target. To flatten them, "
        "bring the logits to (B * T, V), and the targets to (B * T,).",
    ),
    ("ValueError", r"only one element tensors", SINGLE_NUMBER),
    ("ValueError", r"can only convert an array of size 1", ITEM),
    ("ValueError", r"einstein sum|with remapped shapes(?!.*requested shape)", LETTERS),
    ("ValueError", r"mismatch in its core|not aligned|matmul", INNER_SIZES),
    (
        "ValueError",
        r"repeated axis|axes don't match|duplicate value in 'axis'",
        "transpose wants every axis once: one is named twice, or the input has more or "
        "fewer axes than are named.",
    ),
    (
        "ValueError",
        r"non-empty list|need at least one array|List of Tensors",
        "An empty list was to be joined: the loop that should fill it does not run, or "
        "never appends.",
    ),
    (
        "ValueError",
        r"zip\(\) argument",
        "Two lists that are walked through together have different lengths: look at "
        "what each of them is split along.",
    ),
    (
        "ValueError",
        r"all the input array|same shape",
        "Arrays that are joined have to agree in every axis but the one that they are "
        "joined along: look at axis.",
    ),
    ("ValueError", r"broadcast", TWO_SHAPES),
    (
        "ValueError",
        r"inhomogeneous",
        "The rows of a nested list have different lengths, so no array can be made "
        "of it.",
    ),
    (
        "IndexError",
        r"only integers, slices|used as indices must be",
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
    (
        "IndexError",
        r"^(list|string|bytearray|list assignment|pop) index out of range|^pop from",
        "A list or a text has no entry of that number. It may be empty, or shorter "
        "than you think, and the last of n entries has the index n - 1.",
    ),
    ("IndexError", r"out of range|out of bounds|too many indices", _NO_SUCH_AXIS),
    ("ValueError", r"axis .* is out of bounds", _NO_SUCH_AXIS),
    ("ValueError", r"truth value of an array", TRUTH),
    ("ValueError", r"cannot reshape", NEW_SHAPE),
    ("AssertionError", r"key_padd(ed|ing)_mask.shape", MASK_OF_TORCH),
    (
        "ValueError",
        r"math domain error",
        "A square root or a logarithm got a number "
        "for which it is not defined, such as one below zero.",
    ),
    ("RecursionError", r"", "The function calls itself without an end."),
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
