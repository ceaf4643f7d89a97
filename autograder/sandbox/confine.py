"""Confine a submission: namespaces, private folders, limits, no privileges.

Two steps come before the kernel starts: ``enter_namespaces`` in its warden, and
``drop_privileges`` in the process that becomes the kernel. The last one,
``close_behind``, comes when it has its sockets and threads, and before it runs any code
of the student.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import resource
import signal
import sys

from autograder.sandbox.filter import forbid_system_calls
from autograder.sandbox.limits import Limits

HOME = "/home/student"
PRIVATE_FOLDERS = ("/tmp", HOME, "/dev/shm")
# Visible only during the imports, which look up huge pages there; and terminals, which
# submissions would share.
HIDDEN = ("/sys", "/dev/pts")
RESERVE = 64 * 2**20  # bytes for an error at the limit of memory; see ``kernel``
ONE_PROCESS = (
    "a submission is one process and starts no other: no programs (!, %%bash, "
    "subprocess), no fork, no multiprocessing; use num_workers=0 in a DataLoader"
)
_STARTS = ("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system") + (
    "subprocess.Popen",
)

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWNET = 0x00020000, 0x08000000, 0x40000000
_CLONE_NEWUSER, _CLONE_NEWPID = 0x10000000, 0x20000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP = 1, 38, 24
_LAST_CAPABILITY = 40
_CAPABILITY_VERSION_3 = 0x20080522
_libc = ctypes.CDLL(None, use_errno=True)


def enter_namespaces(limits: Limits) -> None:
    """Give this process, and those it forks, a world of their own.

    The process itself keeps seeing the processes outside; its children do not.
    """
    user, group = os.getuid(), os.getgid()
    _call(
        _libc.unshare,
        _CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWNET,
    )
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    _call(_libc.mount, b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    options = (
        f"size={int(limits.disk)},nr_inodes={int(limits.files)},mode=0755"
    ).encode()
    for folder in PRIVATE_FOLDERS:
        flags = _MS_NOSUID | _MS_NODEV
        _call(_libc.mount, b"tmpfs", folder.encode(), b"tmpfs", flags, options)
    for folder in filter(os.path.exists, HIDDEN):
        options = b"size=4k,mode=0000"
        _call(_libc.mount, b"none", folder.encode(), b"tmpfs", _MS_RDONLY, options)


def drop_privileges(limits: Limits, kept: set[int]) -> None:
    """Make the first process of the new namespaces one that can do no harm.

    Args:
        limits: what it may use.
        kept: file descriptors that stay open.
    """
    os.setsid()
    _close_everything_but(kept)
    with contextlib.suppress(OSError):  # when memory is short, this goes first
        _write("/proc/self/oom_score_adj", "1000")
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    _call(_libc.mount, b"proc", b"/proc", b"proc", flags, None)
    with contextlib.suppress(OSError):  # an older kernel may lack it
        _write("/proc/sys/user/max_user_namespaces", "0")
    # Processes alone: the counters of the machine tell what a neighbour does.
    with contextlib.suppress(OSError):  # Linux before 5.8 shows them as well
        _call(_libc.mount, b"proc", b"/proc", b"proc", flags, b"subset=pid")
    flags |= _MS_REMOUNT | _MS_BIND | _MS_RDONLY
    _call(_libc.mount, None, b"/proc", None, flags, None)
    _hide_mounts()
    os.chdir(HOME)
    _limit_resources(limits)
    _drop_capabilities()


def close_behind(limits: Limits) -> None:
    """Leave this process to the student: from now on it only has what it has.

    Memory counts from here, as address space: whatever a process gets is part of that.
    """
    memory = _address_space() + limits.memory
    _limit("RLIMIT_AS", memory + RESERVE)
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (min(int(memory), most), most))
    sys.addaudithook(_explain)
    forbid_system_calls()


def _explain(event: str, _: tuple[object, ...]) -> None:
    """Say why no other process starts. Without this, the filter would refuse it."""
    if event in _STARTS:
        raise PermissionError(ONE_PROCESS)


def _hide_mounts() -> None:
    """See the same files, without being told where on the host they come from.

    The system lists to a process the mounts of its namespace, with their places on the
    host, but only those below its root. So the namespace is a new one, and the root
    that of the warden's.
    """
    root = os.open("/", os.O_PATH | os.O_DIRECTORY)
    _call(_libc.unshare, _CLONE_NEWNS)
    os.fchdir(root)
    os.chroot(".")
    os.close(root)


def _limit_resources(limits: Limits) -> None:
    for name, value in (
        ("RLIMIT_NPROC", limits.threads),
        ("RLIMIT_NOFILE", limits.open_files),
        ("RLIMIT_FSIZE", limits.file_size),
        ("RLIMIT_CPU", math.ceil(limits.cpu_seconds)),
        ("RLIMIT_SIGPENDING", 1024),
        # At 0, Linux would still pipe a core dump to the host's handler, if one is
        # configured.
        ("RLIMIT_CORE", 1),
        ("RLIMIT_MEMLOCK", 0),
        ("RLIMIT_MSGQUEUE", 0),
        ("RLIMIT_NICE", 0),
        ("RLIMIT_RTPRIO", 0),
    ):
        _limit(name, value)


def _limit(name: str, value: float) -> None:
    """Set a limit, if no lower one is in force."""
    limit = getattr(resource, name)
    _, most = resource.getrlimit(limit)
    value = int(value) if most < 0 else min(int(value), most)
    resource.setrlimit(limit, (value, value))


def _address_space() -> int:
    """Bytes of address space in use, libraries included."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()


def _drop_capabilities() -> None:
    for capability in range(_LAST_CAPABILITY + 1):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _call(_libc.capset, header, (ctypes.c_uint32 * 6)())
    _call(_libc.prctl, _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _call(_libc.prctl, _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _close_everything_but(kept: set[int]) -> None:
    """Close inherited descriptors; standard streams become /dev/null."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd > 2 and fd not in kept:
            with contextlib.suppress(OSError):
                os.close(fd)


def _call(function: object, *arguments: object) -> None:
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function.__name__}: {os.strerror(number)}")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
