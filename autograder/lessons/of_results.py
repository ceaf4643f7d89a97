"""What errors mean that are raised after a student's code, when a case uses its result.

No line of the answer is to blame, so advice on how to call something would be wrong.
"""

from __future__ import annotations

from autograder.lessons.sentences import LAYERS, NO_FORWARD, NO_INIT, Lesson

LESSONS: list[Lesson] = [
    ("RuntimeError", r"missing the required \"forward\" function", NO_FORWARD),
    ("TypeError", r"^_forward_unimplemented\(\)", NO_FORWARD),
    (
        "TypeError",
        r"\.__init__\(\) (takes 1 positional argument|got an unexpected keyword arg)",
        NO_INIT,
    ),
    (
        "TypeError",
        r"^the list that was returned holds numbers and lists side by side",
        "append puts a list in as one element; extend, and + between two lists, put in "
        "its elements. If nothing is appended, more is returned than is asked for: "
        "look at Returns.",
    ),
    (
        "TypeError",
        r"^a text was to be returned",
        'Returns in the docstring asks for one text, of type str. "".join(parts) makes '
        'one of several texts; b"".join(parts) joins bytes, and decode makes a text of '
        "these.",
    ),
    (
        "ValueError",
        r"^could not convert string to float",
        "A case goes on with what came out of your code. It is a text, and a number is "
        "needed.",
    ),
    (
        "TypeError",
        r"^float\(\) argument must be .*, not '(list|tuple)'",
        "A case goes on with what came out of your code. It is a list or a tuple, and "
        "a single number is needed. A comma in a return statement makes a tuple.",
    ),
    (
        "TypeError",
        r"^float\(\) argument must be .*, not 'NoneType'",
        "A case goes on with what came out of your code. It is None, and a number is "
        "needed: what a function computes is lost unless it ends with a return "
        "statement.",
    ),
    (
        "AttributeError",
        r"ndarray.*has no attribute",
        "A case goes on with what came out of your code. It is a NumPy array, and a "
        "tensor is needed: stay in torch from the arguments to the result.",
    ),
    (
        "AttributeError",
        r"'Tensor' object has no attribute",
        "A case goes on with what came out of your code. It is a tensor of torch, and "
        "a NumPy array is needed: stay in NumPy from the arguments to the result.",
    ),
    (
        "AttributeError",
        rf"^'(?!({LAYERS}|NoneType)')[A-Z]\w+' object has no attribute",
        "A case uses an attribute or a method that your class does not have: compare "
        "its names with those in the stub and the docstring.",
    ),
    (
        "TypeError",
        r"'(numpy\.ndarray|Tensor)' and '(numpy\.ndarray|Tensor)'",
        "A case goes on with what came out of your code, and there a NumPy array meets "
        "a tensor. Return tensors for tensors, and NumPy arrays for NumPy arrays.",
    ),
    (
        "TypeError",
        r"must be Tensor, not numpy|Concatenation operation is not implemented for",
        "A case goes on with what came out of your code, and there a NumPy array meets "
        "a tensor. Return tensors for tensors, and NumPy arrays for NumPy arrays.",
    ),
]
