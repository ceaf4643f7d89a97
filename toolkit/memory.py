"""How much memory a computation needs at its peak, counted tensor by tensor.

    with LiveTensors() as live:
        attention(query, key, value)
    live.peak_bytes, live.peak_numbers

Only tensors that come to life inside the block are counted, each storage once, until
the last tensor that uses it is gone. So the answer is the same on every machine and in
every run. What a single kernel of torch uses inside itself is not seen; ask the
operating system about that (``resident_peak``).
"""

from __future__ import annotations

import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class LiveTensors(TorchDispatchMode):
    """Count the tensors alive at the same time that operations inside it make.

    Attributes:
        peak_bytes: most bytes that were alive at once.
        peak_numbers: most numbers (of any type) that were alive at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.peak_bytes = self.peak_numbers = 0
        self._bytes = self._numbers = 0
        self._users: dict[int, int] = {}  # tensors of each storage
        self._older: dict[int, torch.UntypedStorage] = {}  # made before, so not counted

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # or torch imports its compiler, for seconds

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run one operation of torch, and note what it returns."""
        if func is not torch.ops.aten.lift_fresh.default:  # its argument is new
            for given in _tensors((args, kwargs)):
                self._given(given)
        result = func(*args, **(kwargs or {}))
        for found in _tensors(result):
            self._born(found)
        self.peak_bytes = max(self.peak_bytes, self._bytes)
        self.peak_numbers = max(self.peak_numbers, self._numbers)
        return result

    def _given(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._users:
            self._older[storage._cdata] = storage

    def _born(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata in self._older:
            return
        size = storage.nbytes()
        count = size // tensor.element_size()
        key = storage._cdata
        if key not in self._users:
            self._users[key] = 0
            self._bytes += size
            self._numbers += count
        self._users[key] += 1
        weakref.finalize(tensor, self._gone, key, size, count)

    def _gone(self, key: int, size: int, count: int) -> None:
        self._users[key] -= 1
        if not self._users[key]:
            del self._users[key]
            self._bytes -= size
            self._numbers -= count


def _tensors(value: Any) -> list[torch.Tensor]:
    """All tensors in what an operation takes or returns."""
    found, waiting = [], [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, torch.Tensor):
            found.append(one)
        elif isinstance(one, list | tuple):
            waiting.extend(one)
        elif isinstance(one, dict):
            waiting.extend(one.values())
    return found


# On Linux a process begins with its parent's peak in ru_maxrss, so ask /proc first.
_LARGEST = """
def largest():
    import pathlib, resource, sys

    status = pathlib.Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

"""


def peak_bytes(function: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """Most bytes of tensors alive at once while ``function`` runs, its result included.

    Gradients are switched off, so that nothing is kept for a backward pass.
    """
    with torch.no_grad(), LiveTensors() as live:
        function(*args, **kwargs)
    return live.peak_bytes


def resident_peak(setup: str, statement: str) -> int:
    """Bytes that ``statement`` adds to the largest size of a fresh Python process.

    This is what the operating system saw, whoever asked for the memory. The process
    runs ``setup`` first, and its size after that is taken off.

    Raises:
        OSError: the system does not say (Windows).
    """
    code = (
        f"{_LARGEST}{setup}\nbefore = largest()\n{statement}\nprint(largest() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:]
        raise OSError(f"the process could not be measured: {' '.join(last)}")
    return int(done.stdout)
