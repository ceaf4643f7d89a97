"""What takes long is computed once on a machine, and kept.

    @kept
    def train(model, steps, seed=0):
        ...
        return losses

Where the variable ``KEPT_RESULTS`` names a folder, as it does while the book is built,
a second call with the same code and the same values does not train: it returns what the
first one returned, prints what that printed, and leaves models and generators among its
arguments as that left them. Elsewhere, in your notebook say, ``@kept`` does nothing.

The name of a result is a hash of all that it depends on: the code of the function and
of what it calls, as far as it is ours; its arguments and the globals that it reads; the
state of torch's own generator, if it draws from it; the versions of Python and of the
libraries. So nothing is ever out of date. What the function changes elsewhere is not
kept.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from struct import Struct
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

FOLDER = "KEPT_RESULTS"
_ROOT = Path(__file__).resolve().parents[1]
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice)
_INNER = ("__", "_abc_impl")  # what Python itself puts into modules and classes

P, R = ParamSpec("P"), TypeVar("R")


def kept(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function compute each result once on this machine, if a folder is named."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        files = files_of(function, *args, **kwargs)
        given, before = [*args, *kwargs.values()], torch.get_rng_state()
        for file in files:
            if file.exists():
                found = torch.load(file, weights_only=False)
                print(found["printed"], end="")
                if found["generator"] is not None:
                    torch.set_rng_state(found["generator"])
                for value, state in zip(given, found["arguments"], strict=True):
                    _put_back(value, state)
                return found["result"]
        if not files:
            return function(*args, **kwargs)
        with redirect_stdout(_Tee(sys.stdout)) as printed:
            result = function(*args, **kwargs)
        after = torch.get_rng_state()
        drew = not torch.equal(before, after)
        file, after = (files[0], after) if drew else (files[1], None)
        _save(file, result, given, printed.getvalue(), after)
        return result

    return wrapper


def keep(result: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Keep a result as that of a function with ``@kept``, if a folder is named.

    The function would draw from torch's generator, which stays as it is.
    """
    for file in files_of(function.__wrapped__, *args, **kwargs)[:1]:
        _save(file, result, [*args, *kwargs.values()], "", torch.get_rng_state())


def files_of(function: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Path]:
    """Where the result of a call is kept; nowhere if no folder is named.

    Returns:
        The file of a call that draws from torch's generator, as it is now, and that of
        one that does not.

    Raises:
        TypeError: an argument or a global is nothing that can be told from others.
    """
    folder = os.environ.get(FOLDER)
    if not folder:
        return []
    digest = _Digest()
    digest.add((sys.version_info[:2], function, args, kwargs))
    names = [digest.name()]
    digest.add(torch.get_rng_state())
    names.insert(0, digest.name())
    return [Path(folder) / f"{function.__name__}-{name}.pt" for name in names]


def _save(
    file: Path, result: Any, given: list[Any], printed: str, generator: Tensor | None
) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(f".{os.getpid()}")
    states = [_state(value) for value in given]
    whole = {"result": result, "arguments": states, "printed": printed}
    torch.save({**whole, "generator": generator}, new)
    new.replace(file)  # at once, so that nobody reads half of it


def _state(value: Any) -> Any:
    """What a call may have changed of an argument."""
    if isinstance(value, nn.Module):
        return value.training, value.state_dict()
    if isinstance(value, torch.Generator):
        return value.get_state()
    return value.bit_generator.state if isinstance(value, np.random.Generator) else None


def _put_back(value: Any, state: Any) -> None:
    if isinstance(value, nn.Module):
        value.train(state[0]).load_state_dict(state[1])
    elif isinstance(value, torch.Generator):
        value.set_state(state)
    elif isinstance(value, np.random.Generator):
        value.bit_generator.state = state


class _Tee(io.StringIO):
    """Writes to another stream as well."""

    def __init__(self, other: Any) -> None:
        super().__init__()
        self.other = other

    def write(self, text: str) -> int:
        self.other.write(text)
        return super().write(text)


class _Digest:
    """A hash of values: equal for equal ones, also in another process."""

    def __init__(self) -> None:
        self._hash, self._seen = hashlib.sha256(), {}

    def name(self) -> str:
        """The hash, in 24 characters."""
        return self._hash.hexdigest()[:24]

    def _write(self, *words: Any) -> None:
        for word in words:
            data = word if isinstance(word, bytes | memoryview) else str(word).encode()
            self._hash.update(b"%d " % len(data))
            self._hash.update(data)

    def add(self, value: Any) -> None:
        """Take in a value, and what it consists of."""
        self._write(type(value).__qualname__)
        if isinstance(value, _PLAIN):
            self._write(repr(value))
        elif isinstance(value, set | frozenset):
            self._write(*sorted(map(repr, value)))
        elif type(value) in (list, tuple, dict):
            parts = value.items() if isinstance(value, dict) else value
            self._write(len(parts))
            for part in parts:
                self.add(part)
        elif id(value) in self._seen:
            self._write(self._seen[id(value)][0])
        else:
            # What is kept alive has an id of its own.
            self._seen[id(value)] = len(self._seen), value
            for part in _parts(value):
                if isinstance(part, memoryview):
                    self._write(part)
                else:
                    self.add(part)


def _parts(value: Any) -> Iterator[Any]:
    """What a value consists of."""
    match value:
        case torch.Tensor():
            yield from (str(value.dtype), list(value.shape), value.requires_grad)
            yield from _parts(
                value.detach().cpu().reshape(-1).view(torch.uint8).numpy()
            )
        case np.ndarray() if not value.dtype.hasobject:
            yield from (str(value.dtype), list(value.shape))
            yield memoryview(np.ascontiguousarray(value).reshape(-1).view(np.uint8))
        case torch.Generator():
            yield value.get_state()
        case Struct():
            yield value.format
        case CodeType():
            yield from (value.co_code, value.co_names, value.co_varnames)
            yield from (value.co_freevars, value.co_exceptiontable, value.co_consts)
        case FunctionType(hooked=True):  # torch wraps ``step`` of the first optimiser
            yield from _parts(value.__wrapped__)
        case FunctionType() | type() | ModuleType() if not _is_ours(value):
            yield from (_module_of(value), getattr(value, "__qualname__", ""))
            library = sys.modules.get(_module_of(value).partition(".")[0])
            yield str(getattr(library, "__version__", ""))
        case FunctionType(__code__=code):
            documented = value.__doc__ is not None  # then the first of its constants
            yield code.replace(co_consts=code.co_consts[1:]) if documented else code
            yield from (value.__defaults__, value.__kwdefaults__)
            yield from (cell.cell_contents for cell in value.__closure__ or ())
            for name in _globals_read(value):
                yield from (name, value.__globals__[name])
        case type():
            yield value.__mro__[1:]
            for name, member in vars(value).items():
                if isinstance(member, FunctionType) or not name.startswith(_INNER):
                    yield from (name, member)
        case ModuleType():
            for name, member in vars(value).items():
                if not name.startswith(_INNER):
                    yield from (name, member)
        case MethodType():
            yield from (value.__func__, value.__self__)
        case property():
            yield from (value.fget, value.fset, value.fdel)
        case staticmethod() | classmethod():
            yield value.__func__
        case functools.cached_property():
            yield value.func
        case _ if hasattr(value, "__wrapped__"):  # by functools.cache
            yield value.__wrapped__
        case _:
            reduce = copyreg.dispatch_table.get(type(value))  # of what has no method
            reduced = reduce(value) if reduce else value.__reduce_ex__(4)
            for part in reduced if isinstance(reduced, tuple) else (reduced,):
                yield list(part) if isinstance(part, Iterator) else part


def _module_of(value: Any) -> str:
    return value.__name__ if isinstance(value, ModuleType) else value.__module__ or ""


def _is_ours(value: Any) -> bool:
    """Whether something is defined in a notebook, or in a package beside this one."""
    name = _module_of(value)
    file = getattr(sys.modules.get(name), "__file__", None)
    package = _ROOT / name.partition(".")[0]
    return name == "__main__" or bool(file and Path(file).is_relative_to(package))


def _globals_read(function: FunctionType) -> list[str]:
    """Names of the globals that a function reads, in functions inside it as well.

    In a module, a global with the name of an attribute that is read counts too: telling
    the two apart takes long. The globals of a notebook are too many for that.
    """
    names = _names(function.__code__, function.__module__ == "__main__")
    return sorted(names & function.__globals__.keys())


@functools.cache
def _names(code: CodeType, exactly: bool) -> frozenset[str]:
    names = set(code.co_names)
    if exactly:
        loading = ("LOAD_GLOBAL", "LOAD_NAME")
        names = {i.argval for i in dis.get_instructions(code) if i.opname in loading}
    inside = (const for const in code.co_consts if isinstance(const, CodeType))
    return frozenset(names.union(*(_names(const, exactly) for const in inside)))
