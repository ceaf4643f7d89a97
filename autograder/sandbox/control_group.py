"""Control groups: the system itself counts and limits what a submission uses.

They are of version 2, and may be made where the group of this process belongs to it:
for root, in a container that has its own, or in a scope that systemd delegates. The
processes of a sandbox go into one group, and each submission into another beside it.

They are used only on request (``WANTED``). Whether a group has all that is needed can
be found out, and is. But no submission has been graded in a real one yet, and if one
counted too much, honest work would lose points, so this is left to the instructor.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path

from autograder.sandbox.limits import Limits

WANTED = "AUTOGRADER_CONTROL_GROUPS"  # variable of the environment; 1 asks for groups
BY_THE_KERNEL, BY_SAMPLING = "by the kernel", "by sampling"
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
_NEEDED = {"memory", "pids", "cpu"}
IO_WEIGHT = "default 50"  # that of the wardens, in a group beside them, is 100
_TRIAL_SECONDS, _REMOVAL_SECONDS = 10, 5

_WORDS = 7  # before the command, to prepare its group
# Run by a shell in a group that is its own: $1 is where groups are mounted, $2 the file
# that will tell where that group is, $3 how to become a user without rights, who has to
# be able to enter a group with a descriptor. If anything fails, the file is not there.
_PREPARE = """
mounted=$1 told=$2 nobody=$3; shift 3
(
    set -e
    own=$mounted$(sed -n 's/^0:://p' /proc/self/cgroup)
    mkdir "$own/sandbox" "$own/trial"
    for pid in $(cat "$own/cgroup.procs"); do
        echo "$pid" > "$own/sandbox/cgroup.procs" || true
    done
    for controller in memory pids cpu io; do
        echo "+$controller" > "$own/cgroup.subtree_control" || true
    done
    for file in memory.max memory.events pids.max cpu.weight; do
        test -e "$own/trial/$file"
    done
    exec 9> "$own/trial/cgroup.procs"
    $nobody sh -c 'echo 0 >&9'
    exec 9>&-
    rmdir "$own/trial" || true
    echo "$own" > "$told"
) 2> /dev/null < /dev/null
exec "$@"
"""
# Run by a shell to enter the group $0. Where that fails, its own group may be other
# people's too, so nothing is prepared: the words of that are left out.
_ENTER = f"""
echo $$ > "$0/cgroup.procs" || shift {_WORDS}
exec "$@"
"""


class Group:
    """The control group of one submission.

    Args:
        parent: the group that the groups of a sandbox are in.
        limits: what the submission may use.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, parent: Path, limits: Limits) -> None:
        self.folder = parent / f"submission-{secrets.token_hex(8)}"
        self.folder.mkdir()
        (self.folder / "memory.max").write_text(str(int(limits.memory)))
        (self.folder / "pids.max").write_text(str(int(limits.processes)))
        with contextlib.suppress(OSError):  # a system without swap lacks this one
            (self.folder / "memory.swap.max").write_text("0")
        with contextlib.suppress(OSError):  # and one before Linux 4.19 this one
            # Kill the whole group at the limit, as at any other limit.
            (self.folder / "memory.oom.group").write_text("1")
        with contextlib.suppress(OSError):  # not every system divides up its disks
            (self.folder / "io.weight").write_text(IO_WEIGHT)

    def open_files(self) -> list[int]:
        """Descriptors: to enter it, and for ``usage.ControlGroup``."""
        return [
            os.open(self.folder / "cgroup.procs", os.O_WRONLY),
            os.open(self.folder / "memory.events", os.O_RDONLY),
            os.open(self.folder / "cpu.stat", os.O_RDONLY),
        ]

    def remove(self) -> bool:
        """Remove it if nothing is in it any more; whether it is gone."""
        try:
            self.folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True


def preparing(told: Path) -> list[str]:
    """What to write before the command of a sandbox, so that it gets groups.

    Args:
        told: file that will hold the path of the group that its groups are in. Without
            groups there will be no such file; see ``made`` for what is left then.

    Returns:
        Words of a command, none if no groups can be made here or nobody asked for them.
    """
    mounted = mount_point() if os.environ.get(WANTED) == "1" else None
    if mounted is None:
        return []
    nobody = " ".join(NOBODY) if os.geteuid() == 0 else ""
    prepare = ["sh", "-c", _PREPARE, "sh", str(mounted), str(told), nobody]
    own = own_group(mounted)
    if own is not None and make_room(own):
        group = own / f"attention-{secrets.token_hex(8)}"
        try:
            group.mkdir()
        except OSError:
            return []
        made(told).write_text(f"{group}\n", encoding="utf-8")
        return ["sh", "-c", _ENTER, str(group), *prepare]
    if (scope := _scope()) is not None:
        return [*scope, *prepare]
    return []


def made(told: Path) -> Path:
    """The file that tells of a group that was made, whether or not it can be used."""
    return told.with_name(f"{told.name}.made")


def mount_point() -> Path | None:
    """Where control groups of version 2 are mounted, if they are with all we need."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        _, _, _, root, place, *_ = before.split()
        if after.split()[0] == "cgroup2" and root == "/":
            return Path(place)
    return None


def own_group(mounted: Path) -> Path | None:
    """The group that this process is in, if others can be made in it."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    place = next((line[3:] for line in lines if line.startswith("0::")), None)
    if place is None or "/../" in f"{place}/":
        return None
    own = mounted / place.lstrip("/")
    if own.name == "grader":  # where ``make_room`` has put us
        own = own.parent
    return own if os.access(own / "cgroup.procs", os.W_OK) else None


def make_room(own: Path) -> bool:
    """Let there be groups with controllers in a group; whether there can be.

    A group whose groups have controllers may hold no processes itself, but for the
    topmost one. Ours go into one of its groups; other people's stay where they are.
    """
    try:
        if not set((own / "cgroup.controllers").read_text().split()) >= _NEEDED:
            return False
        control = own / "cgroup.subtree_control"
        if set(control.read_text().split()) >= _NEEDED:
            return True
        if (own / "cgroup.type").exists():  # not the topmost
            inside = {int(pid) for pid in (own / "cgroup.procs").read_text().split()}
            if not inside <= _relatives():
                return False
            (own / "grader").mkdir(exist_ok=True)
            for pid in inside:
                with contextlib.suppress(ProcessLookupError):
                    (own / "grader" / "cgroup.procs").write_text(str(pid))
        control.write_text(" ".join(f"+{name}" for name in sorted(_NEEDED)))
        with contextlib.suppress(OSError):  # for fairness alone
            control.write_text("+io")
    except OSError:
        return False
    return True


def _relatives() -> set[int]:
    """This process, those that it comes from, and those that come from these."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                stat = (entry / "stat").read_bytes().rpartition(b")")[2].split()
                parents[int(entry.name)] = int(stat[1])
    above = {pid := os.getpid()}
    while pid := parents.get(pid, 0):
        above.add(pid)
    return above | {
        child for child in parents if _descends(child, os.getpid(), parents)
    }


def _descends(pid: int, from_pid: int, parents: dict[int, int]) -> bool:
    while pid not in (0, from_pid):
        pid = parents.get(pid, 0)
    return pid == from_pid


@cache
def _scope() -> tuple[str, ...] | None:
    """How to have systemd run a command in a group of its own, if it does."""
    if shutil.which("systemd-run") is None:
        return None
    user = () if os.geteuid() == 0 else ("--user",)
    command = ("systemd-run", *user, "--scope", "--quiet", "--collect")
    command += ("-p", "Delegate=yes", "--")
    try:
        trial = subprocess.run(
            [*command, "true"], capture_output=True, timeout=_TRIAL_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return command if trial.returncode == 0 else None


def remove_groups(parent: Path) -> None:
    """Remove the groups of a sandbox that has ended, as soon as they are empty."""
    end = time.monotonic() + _REMOVAL_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            for group in [p for p in parent.iterdir() if p.is_dir()]:
                with contextlib.suppress(OSError):
                    group.rmdir()
            parent.rmdir()
        if not parent.exists():
            return
        time.sleep(0.02)
