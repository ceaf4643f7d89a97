"""Tensors on a device that this machine lacks, for cases that ask where results lie.

Their values are in ordinary memory, so all that an answer may do with them works. What
would fail on a GPU fails here: they and tensors of the CPU do not go together. (The
``meta`` device of PyTorch has no values, and its first use imports half a compiler.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

THERE = torch.device("cuda:0")
APART = (
    "Expected all tensors to be on the same device, but found at least two devices, "
    f"{THERE} and cpu"
)
_COPYING = {"__setitem__", "copy_"}  # from whatever device


@contextmanager
def on_another_device(tensor: Tensor) -> Iterator[Tensor]:
    """The same values as if they lay on a GPU, as long as the context is entered."""
    with _Devices():
        yield tensor.as_subclass(_There)


class _There(Tensor):
    """A tensor that is not on the CPU; what is computed from it is not, either."""


class _Devices(TorchFunctionMode):
    """Keeps track of where tensors are."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name, kwargs = getattr(function, "__name__", ""), dict(kwargs or {})
        if function == Tensor.device.__get__:
            return THERE if isinstance(args[0], _There) else function(*args)
        if name in ("cpu", "cuda"):
            return _moved(args[0], THERE if name == "cuda" else torch.device("cpu"))
        if name in ("to", "type_as"):
            return _converted(function, args, kwargs)
        device = kwargs.pop("device", None)
        tensors = list(_tensors([*args, *kwargs.values()]))
        if device is None and name not in _COPYING:
            _refuse_two_devices(tensors[:1] if _may_index(name, args) else tensors)
        result = function(*args, **kwargs)
        return result if device is None else _moved(result, torch.device(device))


def _may_index(name: str, args: Sequence[Any]) -> bool:
    """Whether this indexes a tensor of a GPU, which indices of the CPU may do."""
    return name == "__getitem__" and isinstance(args[0], _There)


def _refuse_two_devices(tensors: Sequence[Tensor]) -> None:
    """Single numbers are the exception: those of the CPU go everywhere."""
    there = any(isinstance(tensor, _There) for tensor in tensors)
    here = any(tensor.dim() and not isinstance(tensor, _There) for tensor in tensors)
    if there and here:
        raise RuntimeError(APART)


def _converted(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """What ``x.to(...)`` or ``x.type_as(...)`` gives: a device, a type, or both."""
    tensor, *targets = args
    device, others = kwargs.pop("device", None), []
    for target in targets:
        if isinstance(target, str | torch.device):
            device = target
        elif isinstance(target, Tensor):
            device = THERE if isinstance(target, _There) else "cpu"
            others.append(target.dtype)
        else:
            others.append(target)
    result = Tensor.to(tensor, *others, **kwargs) if others or kwargs else tensor
    return result if device is None else _moved(result, torch.device(device))


def _moved(result: Any, device: torch.device) -> Any:
    if not isinstance(result, Tensor):
        return result
    return result.as_subclass(_There if device.type == THERE.type else Tensor)


def _tensors(values: Sequence[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)
