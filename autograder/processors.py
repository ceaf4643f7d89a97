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
    """What each cgroup (of version 2) around this process allows, in processors."""
    try:
        lines = (system / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for group in (line[3:] for line in lines if line.startswith("0::")):
        inside = Path(group.lstrip("/"))
        for folder in (inside, *inside.parents):
            with contextlib.suppress(OSError, ValueError):  # no quota is called "max"
                file = system / "sys/fs/cgroup" / folder / "cpu.max"
                quota, period = file.read_text().split()
                found.append(int(quota) / int(period))
    return found
