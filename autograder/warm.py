"""The warm parent: runs inside the sandbox and forks one kernel per submission.

It imports everything a notebook needs before any thread or event loop exists, then
waits for requests. Each request forks a *warden*, which forks the kernel into user,
pid, mount and ipc namespaces of its own. The warden watches the limits and outlives
the kernel; when it ends, nothing of the submission is left.

A request is a JSON text with file descriptors attached: the lifeline, a socket on which
the warden reports how the kernel ended (and whose closing kills it), then the
listening sockets of the kernel's channels.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time
import traceback

HOME = "/home/student"
CHANNELS = ("shell", "stdin", "control", "iopub")
POLL_SECONDS = 0.05
MODULES = (
    "autograder.answers",
    "autograder.check",
    "autograder.inputs",
    "autograder.kernel",
    "autograder.respond",
    "faulthandler",
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.logger",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "ipykernel.debugger",
    "ipykernel.ipkernel",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "toolkit.figures",
    "torch",
    "tornado.platform.asyncio",
)

_CLONE_NEWNS, _CLONE_NEWIPC = 0x00020000, 0x08000000
_CLONE_NEWUSER, _CLONE_NEWPID = 0x10000000, 0x20000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP, _LAST_CAPABILITY = 38, 24, 40
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def main(control_fd: int) -> None:
    """Serve requests from the control socket until it is closed."""
    import_everything()
    control = socket.socket(fileno=control_fd)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # wardens are not waited for
    gc.collect()
    gc.freeze()  # keeps the garbage collector from copying the shared pages
    control.send(b"ready")
    while True:
        message, fds, _, _ = socket.recv_fds(control, 65536, 1 + len(CHANNELS))
        if not message:
            return
        if os.fork() == 0:
            control.close()
            _warden(json.loads(message), fds)
            os._exit(0)
        for fd in fds:
            os.close(fd)


def import_everything() -> None:
    """Import what notebooks, cases and kernels use, while there is one thread."""
    for module in MODULES:
        importlib.import_module(module)
    from autograder.exercise import load_topic, topic_names

    for name in topic_names():
        load_topic(name)
    sys.modules["torch"].set_num_threads(1)
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise RuntimeError(f"{threads} threads run after the imports; forking needs 1")


def _warden(request: dict, fds: list[int]) -> None:
    """Fork the kernel, watch it, report how it ended."""
    lifeline = socket.socket(fileno=fds[0])
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        limits = request["limits"]
        user, group = os.getuid(), os.getgid()
        _call(_libc.unshare, _CLONE_NEWUSER | _CLONE_NEWPID)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
        kernel = os.fork()
        if kernel == 0:
            lifeline.close()
            _become_kernel(request, dict(zip(CHANNELS, fds[1:], strict=True)))
            os._exit(1)
        for fd in fds[1:]:
            os.close(fd)
        ended = _watch(kernel, lifeline, limits)
    except Exception:
        ended = {"failed": traceback.format_exc(limit=3)[-500:]}
    with contextlib.suppress(OSError):
        lifeline.send(json.dumps(ended).encode())


def _watch(kernel: int, lifeline: socket.socket, limits: dict) -> dict:
    """Wait until the kernel ends, is abandoned by the grader, or breaks a limit."""
    ending = os.pidfd_open(kernel)
    poller = select.poll()
    poller.register(ending, select.POLLIN)
    poller.register(lifeline, select.POLLIN | select.POLLHUP)
    namespace = os.readlink(f"/proc/{kernel}/ns/pid")
    start, reason = time.monotonic(), None
    baseline = _anonymous_memory(kernel)
    while reason is None:
        events = {fd for fd, _ in poller.poll(POLL_SECONDS * 1000)}
        if ending in events:
            break
        if lifeline.fileno() in events:
            reason = "abandoned"
        elif time.monotonic() - start > limits["submission_seconds"]:
            reason = f"time limit of {limits['submission_seconds']:g} s"
        elif _memory(namespace, kernel, baseline) > limits["memory"]:
            reason = f"memory limit of {limits['memory'] // 2**20} MB"
    with contextlib.suppress(ProcessLookupError):
        os.kill(kernel, signal.SIGKILL)  # the first process takes the others with it
    _, status = os.waitpid(kernel, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGXCPU and reason is None:
        reason = f"processor time limit of {limits['cpu_seconds']:g} s"
    return {"exit": code, "limit": reason}


def _memory(namespace: str, kernel: int, baseline: int) -> int:
    """Bytes that all processes and the private file systems of a submission hold.

    Pages shared with the warm parent are not counted.
    """
    total = 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if os.readlink(f"/proc/{name}/ns/pid") == namespace:
                total += max(0, _anonymous_memory(int(name)) - baseline)
        except OSError:  # it ended meanwhile
            continue
    for folder in ("/tmp", HOME, "/dev/shm"):
        with contextlib.suppress(OSError):
            usage = os.statvfs(f"/proc/{kernel}/root{folder}")
            total += (usage.f_blocks - usage.f_bfree) * usage.f_frsize
    return total


def _anonymous_memory(pid: int) -> int:
    """Resident bytes of a process that no file backs."""
    total = 0
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith(("RssAnon:", "RssShmem:")):
                total += int(line.split()[1]) * 1024
    return total


def _become_kernel(request: dict, channels: dict[str, int]) -> None:
    """Shut the door behind this process, then run the kernel."""
    limits = request["limits"]
    os.setsid()
    _close_everything_but(set(channels.values()))
    _call(_libc.unshare, _CLONE_NEWNS | _CLONE_NEWIPC)
    _call(_libc.mount, b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    hardened = _MS_NOSUID | _MS_NODEV
    _call(_libc.mount, b"proc", b"/proc", b"proc", hardened | _MS_NOEXEC, None)
    options = f"size={limits['disk']},nr_inodes={limits['files']},mode=0755".encode()
    for folder in (b"/tmp", HOME.encode(), b"/dev/shm"):
        _call(_libc.mount, b"tmpfs", folder, b"tmpfs", hardened, options)
    for kind in ("user", "pid", "mnt", "net", "ipc", "uts"):  # no namespaces below
        with contextlib.suppress(OSError):
            _write(f"/proc/sys/user/max_{kind}_namespaces", "0")
    os.chdir(HOME)
    _limit_resources(limits)
    _drop_privileges()
    from autograder.kernel import run_kernel

    run_kernel(request["key"], channels)


def _limit_resources(limits: dict) -> None:
    for name, value in (
        ("RLIMIT_AS", _address_space() + limits["memory"]),
        ("RLIMIT_NPROC", limits["processes"]),
        ("RLIMIT_NOFILE", limits["open_files"]),
        ("RLIMIT_FSIZE", limits["file_size"]),
        ("RLIMIT_CPU", limits["cpu_seconds"]),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_MEMLOCK", 0),
        ("RLIMIT_MSGQUEUE", 0),
    ):
        value = int(value)
        resource.setrlimit(getattr(resource, name), (value, value))


def _address_space() -> int:
    """Bytes of address space in use, libraries included."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()


def _drop_privileges() -> None:
    for capability in range(_LAST_CAPABILITY + 1):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _call(_libc.capset, header, (ctypes.c_uint32 * 6)())
    _call(_libc.prctl, _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


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


if __name__ == "__main__":
    main(int(sys.argv[1]))
