"""A kernel that runs as a user of its own: for root, where there can be no sandbox.

In a container that another system starts, namespaces are usually unavailable, but this
process often belongs to root. Then student code runs as a user that owns nothing, and
that can neither inspect this process nor end it, nor write where it writes. That is all
the protection there is: the user can read every world-readable file.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from traitlets import Int

from autograder.sandbox.manager import UnprotectedKernelManager

_FREE = range(20_000, 60_000)  # numbers of users; those of people are mostly below
_TRIES = 20
_TRIAL_SECONDS = 60
_END_ALL = "import os, signal; os.kill(-1, signal.SIGKILL)"  # that is: of this user


def new_user() -> int | None:
    """The number of a user whom nobody is, if kernels can run as this user here.

    That takes the rights of root, and installed files that everybody may read.
    """
    if os.name != "posix" or os.geteuid() != 0:
        return None
    taken = {user.pw_uid for user in pwd.getpwall()}
    user = secrets.choice([number for number in _FREE if number not in taken])
    command = [sys.executable, "-c", "import autograder.sandbox.unprotected"]
    try:
        trial = subprocess.run(
            command, cwd="/", capture_output=True, timeout=_TRIAL_SECONDS, **_as(user)
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return user if trial.returncode == 0 else None


def _as(user: int) -> dict[str, Any]:
    """How ``subprocess`` starts a process of a user who is in no other group."""
    return {"user": user, "group": user, "extra_groups": []}


class OtherUserKernelManager(UnprotectedKernelManager):
    """Starts kernels as another user, and ends all that this user has started."""

    user = Int()

    async def start_kernel(self, **kwargs: Any) -> None:
        """Start a kernel in a folder that is given to the user.

        Args:
            kwargs: ``cwd``, the folder, which is to be new; ``env`` and others as
                ``subprocess.Popen`` has them.
        """
        folder = kwargs["cwd"]
        os.chown(folder, self.user, self.user)
        self.connection_file = str(Path(folder, "kernel.json"))
        own = dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR", "MPLCONFIGDIR"), folder)
        kwargs["env"] = {**kwargs.get("env", os.environ), **own}
        await super().start_kernel(**kwargs, **_as(self.user))

    def write_connection_file(self, **kwargs: Any) -> None:
        """Write the file that the kernel has to read."""
        super().write_connection_file(**kwargs)
        os.chown(self.connection_file, self.user, self.user)

    async def shutdown_kernel(self, *args: Any, **kwargs: Any) -> None:
        """End the kernel, and whatever else belongs to its user."""
        try:
            await super().shutdown_kernel(*args, **kwargs)
        finally:
            end_all_of(self.user)


def end_all_of(user: int) -> None:
    """End all processes of a user, also those that keep forking or kill their killer.

    One call from that user ends all at once, so that none is born meanwhile; but that
    one they can end as well, so the rest is ended from here.
    """
    for _ in range(_TRIES):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                [sys.executable, "-ISc", _END_ALL],
                cwd="/",
                timeout=_TRIAL_SECONDS,
                **_as(user),
            )
        left = processes_of(user)
        if not left:
            return
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def processes_of(user: int) -> list[int]:
    """The numbers of the processes of a user that have not ended."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            lines = (folder / "status").read_text(errors="replace").splitlines()
            said = dict(line.split(":", 1) for line in lines if ":" in line)
            if str(user) in said["Uid"].split() and said["State"].split()[0] != "Z":
                found.append(int(folder.name))
    return found
