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
    """What each cgroup around this process allows, in processors.

    The folder of a cgroup may be missing: a container sees its own cgroup as the
    topmost one, and yet version 1 names it as the host does. So the topmost folder is
    always looked at.
    """
    try:
        lines = (system / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    mounted = system / "sys/fs/cgroup"
    for line in lines:
        number, controllers, group = line.split(":", 2)
        inside = Path(group.lstrip("/"))
        for folder in (inside, *inside.parents):
            with contextlib.suppress(OSError, ValueError):
                if number == "0":
                    found.append(_quota(mounted / folder))
                elif "cpu" in controllers.split(","):
                    found.append(_quota_of_version_1(mounted / "cpu" / folder))
    return found


def _quota(group: Path) -> float:
    """That of a cgroup of version 2.

    Raises:
        OSError: it has no such file.
        ValueError: it has no quota, which is called "max".
    """
    quota, period = (group / "cpu.max").read_text().split()
    return int(quota) / int(period)


def _quota_of_version_1(group: Path) -> float:
    """That of a cgroup of version 1.

    Raises:
        OSError: it has no such files.
        ValueError: it has no quota, which is called -1.
    """
    quota = int((group / "cpu.cfs_quota_us").read_text())
    period = int((group / "cpu.cfs_period_us").read_text())
    if quota < 0:
        raise ValueError("no quota")
    return quota / period
