"""A place where other people's code can run and touch nothing.

bubblewrap gives the warm parents (``autograder.warm``) a read-only system, no network,
no secrets and no files but the libraries. ``SandboxProvisioner`` is a Jupyter kernel
provisioner that lets a warm parent fork a kernel, so nbclient needs no change.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from functools import cache
from pathlib import Path
from queue import Empty
from typing import Any

import zmq
from jupyter_client import AsyncKernelClient, AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.provisioning import KernelProvisionerBase
from traitlets import Instance

from autograder.answers import MAX_BYTES
from autograder.confine import HOME, PRIVATE_FOLDERS
from autograder.limits import Limits
from autograder.warden import CHANNELS

NOBODY = 65534
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage"  # where malloc asks for them
START_SECONDS = 120
KILL_SECONDS = 5
KERNEL_NAME = "attention-sandbox"


class SandboxUnavailable(RuntimeError):
    """This machine cannot isolate submissions; the message says what to do."""


class Sandbox:
    """One bubblewrap, in which warm parents fork kernels.

    Everything is imported once. Then each grader that connects to ``address`` gets a
    warm parent of its own, so that what ends one costs the others nothing. The sandbox
    warms up while this process goes on. Use as a context manager, or close it.

    Raises:
        SandboxUnavailable: bubblewrap is missing or may not make namespaces here.
    """

    def __init__(self) -> None:
        require_bubblewrap()
        self._folder = tempfile.TemporaryDirectory(prefix="attention-")
        self.address = f"{self._folder.name}/sandbox"
        self._lifeline, theirs = socket.socketpair()
        with (
            theirs,
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener,
            Path(_log(self.address)).open("wb") as log,
        ):
            listener.bind(self.address)
            listener.listen(socket.SOMAXCONN)
            self._process = subprocess.Popen(
                bubblewrap_command(listener.fileno(), theirs.fileno()),
                pass_fds=[listener.fileno(), theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.defpath},
                start_new_session=True,  # an interrupt is for the grader alone
            )

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether bubblewrap still runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End everything that runs in it."""
        self._lifeline.close()
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()


class WarmParent:
    """A process in a sandbox that has imported everything and forks kernels.

    Args:
        address: of the sandbox.

    Raises:
        SandboxUnavailable: the sandbox is gone.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._ready = False
        self._control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._control.connect(address)
        except OSError as error:
            self._control.close()
            raise SandboxUnavailable(f"the sandbox is gone: {error}") from error

    def wait_until_ready(self) -> None:
        """Wait until it has imported everything.

        Raises:
            SandboxUnavailable: it did not come up.
        """
        if self._ready:
            return
        self._control.settimeout(START_SECONDS)
        try:
            self._ready = self._control.recv(16) == b"ready"
        except OSError:
            self._ready = False
        self._control.settimeout(None)
        if not self._ready:
            last = []
            with contextlib.suppress(OSError):
                log = Path(_log(self._address)).read_bytes().decode(errors="replace")
                last = log.strip().splitlines()[-1:]
            raise SandboxUnavailable(
                f"the sandbox did not start: {' '.join(last) or 'no reason given'}"
            )

    @property
    def alive(self) -> bool:
        """Whether it still listens."""
        try:
            return bool(self._control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def launch(
        self, key: str, listening: list[socket.socket], limits: Limits
    ) -> socket.socket:
        """Fork a kernel that serves the listening sockets; return its lifeline.

        Closing the lifeline kills the kernel; when the kernel ends otherwise, one
        JSON message on it says how.
        """
        self.wait_until_ready()
        lifeline, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = {"key": key, "limits": asdict(limits)}
        fds = [other.fileno(), *(sock.fileno() for sock in listening)]
        try:
            socket.send_fds(self._control, [json.dumps(request).encode()], fds)
        finally:
            other.close()
        return lifeline

    def close(self) -> None:
        """Let it end."""
        self._control.close()


def _log(address: str) -> str:
    """Where a sandbox writes what it has to complain about."""
    return f"{address}.log"


_shared: str | None = None  # address of a sandbox that belongs to another process
_own: Sandbox | None = None
_parent: WarmParent | None = None


def use_sandbox(address: str) -> None:
    """Fork kernels in the sandbox of another process, as long as it is there."""
    global _shared
    _shared = address


def warm_parent() -> WarmParent:
    """The warm parent of this process; started when needed, replaced when dead."""
    global _shared, _own, _parent
    if _own is not None and not _own.alive:
        stop_sandbox()
    if _parent is not None and not _parent.alive:
        _parent.close()
        _parent = None
    if _parent is None and _shared is not None:
        try:
            _parent = WarmParent(_shared)
        except SandboxUnavailable:
            _shared = None
    if _parent is None:
        if _own is None:
            _own = Sandbox()
            atexit.register(stop_sandbox)
        _parent = WarmParent(_own.address)
    return _parent


def stop_sandbox() -> None:
    """End the warm parent of this process, and the sandbox if it is its own."""
    global _own, _parent
    if _parent is not None:
        _parent.close()
        _parent = None
    if _own is not None:
        _own.close()
        _own = None
    atexit.unregister(stop_sandbox)


@cache
def require_bubblewrap() -> None:
    """Make sure that this machine can isolate submissions.

    Raises:
        SandboxUnavailable: it cannot, with what to install or to switch on.
    """
    advice = (
        "Grading other people's notebooks needs Linux with bubblewrap; for a notebook "
        "that you wrote yourself, `check --no-sandbox` runs it without protection."
    )
    if shutil.which("bwrap") is None:
        raise SandboxUnavailable(
            "bubblewrap is not installed: apt install bubblewrap. " + advice
        )
    trial = subprocess.run(
        ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"],
        capture_output=True,
        text=True,
    )
    if trial.returncode != 0:
        raise SandboxUnavailable(
            f"bubblewrap cannot make namespaces here ({trial.stderr.strip()}): allow "
            "unprivileged user namespaces (sysctl user.max_user_namespaces, "
            "kernel.unprivileged_userns_clone, or an AppArmor profile for bwrap). "
            + advice
        )


def bubblewrap_command(listener_fd: int, lifeline_fd: int) -> list[str]:
    """The command that starts a sandbox: for its two sockets see ``warm.main``.

    Started by root there are two stages: the first, still as root, shows the libraries
    at their places; the second, as nobody, isolates. So what is inside never has
    root's identity on the host.
    """
    shown = _shown_paths()
    as_root = os.geteuid() == 0
    staged = {i: host and i for i, host in shown.items()} if as_root else shown
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": HOME,
        "USER": "student",
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(["/course", *_site_folders().values()]),
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "MPLCONFIGDIR": "/tmp/matplotlib",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MALLOC_ARENA_MAX": "2",  # address space is limited
        # Huge pages: less to copy in each fork.
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    inner = [
        *("bwrap", "--unshare-all", "--die-with-parent", "--new-session"),
        *("--hostname", "sandbox", "--clearenv"),
        *(word for pair in environment.items() for word in ("--setenv", *pair)),
        *_bind_arguments(staged),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", HOME),
        # Memory mapped from /dev/zero is counted nowhere; /dev/full reads as zeros too.
        *("--dev-bind", "/dev/full", "/dev/zero"),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/course", "--"),
        *(
            os.path.realpath(sys.executable),
            "-s",
            "-m",
            "autograder.warm",
            str(listener_fd),
            str(lifeline_fd),
        ),
    ]
    if not as_root:
        return inner
    return [
        *("bwrap", "--die-with-parent", *_bind_arguments(shown)),
        *("--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"),
        *("--perms", "0755", "--dir", "/tmp", "--"),
        *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
        *inner,
    ]


def _shown_paths() -> dict[str, str | None]:
    """Host path of everything a submission may read, by its path in the sandbox.

    The system, the Python installation, the installed libraries, and of this project
    the packages ``autograder`` and ``toolkit``: not ``solutions``. ``None`` hides a
    folder in one that is shown.
    """
    system = [
        path for path in ("/usr", "/lib", "/lib64", "/bin") if Path(path).exists()
    ]
    system += [sys.base_prefix, sys.base_exec_prefix]
    other = ("/etc/ld.so.cache", "/etc/localtime", HUGE_PAGES)
    system += [path for path in other if Path(path).exists()]
    shown: dict[str, str | None] = {path: path for path in system}
    package = Path(__file__).resolve().parent
    checkout = package.parent
    if str(checkout) not in _site_folders() and any(
        checkout.is_relative_to(Path(path).resolve()) for path in system
    ):
        shown[str(checkout)] = None
    shown |= {inside: path for path, inside in _site_folders().items()}
    shown["/course/autograder"] = str(package)
    import toolkit

    shown["/course/toolkit"] = str(Path(toolkit.__file__).resolve().parent)
    return shown


def _site_folders() -> dict[str, str]:
    """The folders of installed libraries, and where each is shown in the sandbox.

    That is its own place, unless a private folder of the submission would hide it.
    """
    found = [
        Path(path).resolve()
        for path in dict.fromkeys(sys.path)
        if Path(path).name in ("site-packages", "dist-packages")
    ]
    return {
        str(path): f"/course/libraries/{number}"
        if any(path.is_relative_to(private) for private in PRIVATE_FOLDERS)
        else str(path)
        for number, path in enumerate(found)
    }


def _bind_arguments(shown: dict[str, str | None]) -> list[str]:
    """Read-only binds, each parent folder made first so that anyone may enter it."""
    arguments: list[str] = []
    made: set[Path] = set()
    for inside, host in shown.items():
        if host is None:
            arguments += ["--tmpfs", inside]
            continue
        if Path(host).is_symlink():
            arguments += ["--symlink", str(Path(host).readlink()), inside]
            continue
        for parent in reversed(Path(inside).parents[:-1]):
            if parent not in made and str(parent) not in shown:
                arguments += ["--perms", "0755", "--dir", str(parent)]
                made.add(parent)
        arguments += ["--ro-bind", host, inside]
    return arguments


class SandboxProvisioner(KernelProvisionerBase):
    """Kernel provisioner that forks kernels from the warm parent of this process."""

    limits = Instance(Limits, args=())

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.ended: dict[str, Any] | None = None
        self._lifeline: socket.socket | None = None
        self._folder: tempfile.TemporaryDirectory | None = None

    @property
    def has_process(self) -> bool:
        """Whether a kernel was forked and not cleaned up."""
        return self._lifeline is not None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Nothing of this process's environment reaches the kernel."""
        kwargs = await super().pre_launch(**{**kwargs, "env": {}})
        return {**kwargs, "cmd": []}

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        """Bind the kernel's channels here and have the warm parent fork it."""
        self.ended = None
        self._folder = tempfile.TemporaryDirectory(prefix="attention-")
        address = f"{self._folder.name}/kernel"
        key = secrets.token_hex(16)
        listening = []
        try:
            for port in range(1, len(CHANNELS) + 1):
                sock = socket.socket(socket.AF_UNIX)
                listening.append(sock)
                sock.bind(f"{address}-{port}")
                sock.listen(16)
            limits = getattr(self.parent, "limits", Limits())
            try:
                self._lifeline = warm_parent().launch(key, listening, limits)
            except OSError:  # the warm parent has just died
                stop_sandbox()
                self._lifeline = warm_parent().launch(key, listening, limits)
            self._lifeline.setblocking(False)
        finally:
            for sock in listening:
                sock.close()
        ports = {f"{name}_port": n for n, name in enumerate(CHANNELS, start=1)}
        self.connection_info = {
            "transport": "ipc",
            "ip": address,
            "key": key.encode(),
            "signature_scheme": "hmac-sha256",
            "hb_port": len(CHANNELS) + 1,
            **ports,
        }
        return self.connection_info

    async def poll(self) -> int | None:
        """``None`` while the kernel runs; ``ended`` says how it ended."""
        if self.ended is None and self._lifeline is not None:
            try:
                self._last_words(self._lifeline.recv(65536))
            except BlockingIOError:
                return None
            except OSError:
                self._last_words(b"")
        return (self.ended or {}).get("exit", 1)

    def _last_words(self, message: bytes) -> None:
        if self.ended is None:
            self.ended = json.loads(message) if message else {"exit": -9, "limit": None}

    async def wait(self) -> int | None:
        """Wait until the kernel has ended."""
        if await self.poll() is None:
            loop = asyncio.get_running_loop()
            try:
                self._last_words(await loop.sock_recv(self._lifeline, 65536))
            except OSError:
                self._last_words(b"")
        return await self.poll()

    async def send_signal(self, signum: int) -> None:
        """Any signal kills: a submission is never interrupted politely."""
        await self.kill()

    def abandon(self) -> None:
        """Have the warden kill every process of the submission, without waiting."""
        if self._lifeline is not None and self.ended is None:
            with contextlib.suppress(OSError):
                self._lifeline.shutdown(socket.SHUT_WR)

    async def kill(self, restart: bool = False) -> None:
        """Kill every process of the submission, and wait until all are gone."""
        self.abandon()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.wait(), KILL_SECONDS)

    async def terminate(self, restart: bool = False) -> None:
        """The same as ``kill``."""
        await self.kill(restart)

    async def cleanup(self, restart: bool = False) -> None:
        """Forget the kernel and remove its socket files."""
        if self._lifeline is not None:
            self._lifeline.close()
            self._lifeline = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


class _OnlyTheSandbox(KernelSpecManager):
    """The only kernel there is: whatever a notebook names, it gets the sandbox."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The sandboxed Python kernel."""
        return KernelSpec(
            argv=[],
            display_name="Python 3 (sandbox)",
            language="python",
            metadata={"kernel_provisioner": {"provisioner_name": KERNEL_NAME}},
        )


class SandboxKernelClient(AsyncKernelClient):
    """A client that is ready as soon as the kernel has answered once.

    The stock client waits a fixed 0.2 s for silence, and starts a heartbeat thread:
    here the warden watches the process.
    """

    def start_channels(self, *args: bool, **kwargs: bool) -> None:
        """Open the channels, without standard input and heartbeat."""
        super().start_channels(stdin=False, hb=False)

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Wait until a request was answered and its last message has arrived.

        Raises:
            RuntimeError: the kernel ended, or did not answer in ``timeout`` seconds.
        """
        deadline = time.monotonic() + (timeout or START_SECONDS)
        while time.monotonic() < deadline:
            request = self.kernel_info()
            if await self._answered(request, time.monotonic() + 0.5):
                return
            if not await self.is_alive():
                raise RuntimeError("the kernel ended before it was ready")
        raise RuntimeError("the kernel did not start in time")

    async def _answered(self, request: str, deadline: float) -> bool:
        """Whether the kernel told that it is idle again after ``request``."""
        with contextlib.suppress(Empty):
            while (left := deadline - time.monotonic()) > 0:
                message = await self.get_iopub_msg(timeout=left)
                if (
                    message["parent_header"].get("msg_id") == request
                    and message["content"].get("execution_state") == "idle"
                ):
                    return True
        return False


class SandboxKernelManager(AsyncKernelManager):
    """Starts sandboxed kernels with the given limits."""

    limits = Instance(Limits, args=())

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            kernel_spec_manager=_OnlyTheSandbox(),
            client_factory=SandboxKernelClient,
            **kwargs,
        )
        # A message larger than this cannot be an answer; it is not even received.
        self.context.setsockopt(zmq.LINGER, 0)
        self.context.setsockopt(zmq.MAXMSGSIZE, 2 * MAX_BYTES)
        self.context.setsockopt(zmq.RCVHWM, 20)
