"""What an implementation answers to a case, and how an answer travels.

The student's process calls ``answer`` and sends the bytes: one letter that says what
came out, and a value in the flat format of ``encoding``. The examiner reads them with
``decode``, which accepts nothing else. What the course's own code answers comes from
``own_answers``. Nothing that comes out of a sandbox is ever unpickled; what processes
of the grader pass to each other has been through ``decode``.
"""

from __future__ import annotations

import builtins
import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.encoding import Unreadable, clean
from autograder.encoding import decode as decode_value
from autograder.encoding import encode as encode_value
from autograder.exercise import Case, Implementation
from autograder.origin import Origin, origin_of, read_origin
from autograder.without_torch import loaded_torch

VALUE, RAISED, UNREADABLE, REFUSED = b"V", b"R", b"U", b"F"  # what came out


@dataclass(frozen=True)
class Answer:
    """The outcome of one case.

    Exactly one of ``value``, ``raised``, ``unreadable`` and ``called`` speaks: a nested
    value of arrays; the name of the built-in exception type that was raised, with its
    ``detail`` and the ``origin`` in the student's code that it came from; the reason
    why the value could not be read; or the name of a library function that was called,
    though the exercise forbids it.
    """

    value: Any = None
    raised: str | None = None
    detail: str = ""
    origin: Origin = Origin()
    unreadable: str | None = None
    called: str | None = None

    @property
    def is_value(self) -> bool:
        """Whether a value came out that could be read."""
        return self.raised is self.unreadable is self.called is None


def answer(case: Case, implementation: Implementation, seed: int) -> bytes:
    """Run one case on one implementation and encode what comes out of it.

    Args:
        case: the case.
        implementation: the function or class under test.
        seed: seed of the case's random generator, and of torch's if it is loaded.

    Returns:
        The encoded answer, see ``decode``.
    """
    try:
        value = outcome(case, implementation, seed)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also sys.exit(): only this case is lost
        return encode_error(error)
    try:
        return encode_outcome(value)
    except Exception as error:  # a value may do anything while it is looked at
        why = f"reading the result raised {type(error).__name__}"
        return UNREADABLE + encode_value(why)


def outcome(case: Case, implementation: Implementation, seed: int) -> Any:
    """Run one case on one implementation; what that raises is raised."""
    rng = np.random.default_rng(seed)
    with _seeded_torch(seed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.run(implementation, rng)


def encode_error(error: BaseException, traced: bool = True) -> bytes:
    """The answer of a case that stopped with an error, and in which line if traced."""
    origin = origin_of(error) if traced else ["", "", ""]
    kind, is_own = builtin_type(error), origin[0].startswith("raise")
    if kind == "NotImplementedError" and error.args and not is_own:
        kind = "RuntimeError"  # not of a stub: a library says what it has not got
    return RAISED + encode_value([kind, _brief(error), *origin])


def encode_outcome(value: Any) -> bytes:
    """The answer of a case that returned a value."""
    try:
        return VALUE + encode_value(value)
    except Unreadable as error:
        return UNREADABLE + encode_value(_brief(error))


def encode_refusal(name: str) -> bytes:
    """The answer of a case in which a forbidden function of this name was called."""
    return REFUSED + encode_value(name)


@contextlib.contextmanager
def _seeded_torch(seed: int) -> Iterator[None]:
    """Seed torch, if it is loaded, and give back the caller's generator after.

    One thread is enough: the inputs are small, and waking others costs more.
    """
    torch = loaded_torch()
    if torch is None:
        yield
        return
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    torch.set_num_threads(1)
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(state)
        torch.set_num_threads(threads)


def builtin_type(error: BaseException) -> str:
    """Name of the most specific built-in type that ``error`` is an instance of."""
    for kind in type(error).__mro__:
        if getattr(builtins, kind.__name__, None) is kind:
            return kind.__name__
    return "Exception"


def decode(data: bytes) -> Answer:
    """Read an encoded answer, trusting nothing about it.

    Bytes that are no well-formed answer give an ``Answer`` that is unreadable.
    """
    try:
        kind, value = data[:1], decode_value(data[1:])
    except Unreadable as error:
        return Answer(unreadable=str(error))
    if kind == VALUE:
        return Answer(value=value)
    texts = value if isinstance(value, list) else [value]
    if all(isinstance(text, str) for text in texts):
        if kind == RAISED and len(texts) == 5:
            name = texts[0] if _is_exception(texts[0]) else "Exception"
            origin = read_origin(*texts[2:])
            return Answer(raised=name, detail=clean(texts[1]), origin=origin)
        if kind == UNREADABLE and len(texts) == 1:
            return Answer(unreadable=clean(texts[0]))
        if kind == REFUSED and len(texts) == 1:
            return Answer(called=clean(texts[0]))
    return Answer(unreadable="the answer is malformed")


def _is_exception(name: str) -> bool:
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _brief(error: BaseException) -> str:
    try:
        return clean(str(error))
    except Exception:  # a student's own exception may fail to print
        return ""
