"""How many processors this process may use."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path


def processors(system: Path = Path("/")) -> int:
    """Processors that this process may run on, within the quota of its cgroups.

    A container often sees all processors of its machine and may use two of them.

    Args:
        system: where ``/proc`` and ``/sys`` are.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    return max(1, min([allowed, *map(math.ceil, _quotas(system))]))


def _quotas(system: Path) -> list[float]:
    """What each cgroup (version 2) around this process allows, in processors."""
    found = []
    with contextlib.suppress(OSError):
        for line in (system / "proc/self/cgroup").read_text().splitlines():
            number, _, group = line.split(":", 2)
            inside = Path(group.lstrip("/"))
            for folder in (inside, *inside.parents) if number == "0" else ():
                with contextlib.suppress(OSError, ValueError):
                    path = system / "sys/fs/cgroup" / folder / "cpu.max"
                    quota, period = path.read_text().split()
                    found.append(int(quota) / int(period))  # or it is "max"
    return found
