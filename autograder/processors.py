"""How many processors this process may use."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")  # as a container sees its own (version 2)


def processors(quota: Path = QUOTA) -> int:
    """Processors that this process may run on, within the quota of its container.

    A container often sees all processors of its machine and may use two of them.

    Args:
        quota: the file that holds it, if there is one.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # no quota is called "max"
        most, period = map(int, quota.read_text().split())
        allowed = min(allowed, math.ceil(most / period))
    return max(1, allowed)
