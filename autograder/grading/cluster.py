"""Examine on the machines of a dask.distributed cluster."""

from __future__ import annotations

import atexit
import contextlib
import ipaddress
import logging
import multiprocessing
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from functools import cache
from typing import Any
from urllib.parse import SplitResult, urlsplit

from autograder.errors import AutograderError
from autograder.grading.workers import Workers, warm_up

CONNECT_SECONDS = 10
MOST_THREADS = 1000  # of one dask worker
ENCRYPTED = ("tls", "wss")
# With --no-dashboard, HTTP would still be served, and on every interface.
OPTIONS = "--host {host} --dashboard-address 127.0.0.1:0"
LOGGERS = ("distributed", "distributed.client")  # with a level and handler of their own


class ClusterError(AutograderError):
    """The cluster cannot be used; the message says why."""


@contextlib.contextmanager
def cluster_executor(address: str) -> Iterator[Executor]:
    """An executor whose workers are those of the scheduler at ``address``.

    A submission whose worker is lost is examined by another one. Each thread of a
    worker has a process that examines, as on one machine. Each worker needs the same
    Python packages, this project and bubblewrap.

    What travels is pickled, and schedulers and workers do what anybody tells them. So
    a scheduler on another machine is used through TLS alone, with the certificates that
    the configuration of dask names. Where else its servers listen is not looked at.

    Raises:
        ClusterError: dask is not installed, nobody answers, there is no worker, or the
            connection would not be encrypted.
    """
    _require_encryption(address)
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError(
            "dask.distributed is not installed: pip install "
            "'attention-from-scratch[cluster]'"
        ) from None
    with _quiet():
        try:
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError, TimeoutError) as error:
            reason = str(error) or type(error).__name__
            raise ClusterError(
                f"no scheduler answers at {address}: {reason}"
            ) from error
        with client:
            if not client.scheduler_info()["workers"]:
                raise ClusterError(
                    f"the scheduler at {address} has no workers: start some with "
                    f"`dask worker {address} {_options(address)}`"
                )
            yield _InProcesses(client.get_executor(pure=False))


class _InProcesses(Executor):
    """Has the threads of dask workers call functions in processes."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads

    def submit(self, function: Callable, /, *arguments: Any) -> Future:
        """Have a thread of a dask worker wait for one of the processes there."""
        return self._threads.submit(_in_a_process, function, *arguments)


_starting = threading.Lock()


def _in_a_process(function: Callable, *arguments: Any) -> Any:
    with _starting:
        workers = _processes()
    return workers.submit(function, *arguments).result()


@cache
def _processes() -> Workers:
    """The processes of this dask worker."""
    multiprocessing.current_process().daemon = False  # as dask's nannies start it
    warm_up()
    folder = tempfile.TemporaryDirectory(prefix="attention-")
    atexit.register(folder.cleanup)
    return Workers(MOST_THREADS, folder.name)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leave it to us to say what becomes of the cluster: dask does so in tracebacks."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _require_encryption(address: str) -> None:
    """Make sure that nobody else on the network can read or send submissions."""
    if _parts(address).scheme not in ENCRYPTED and not _is_loopback(address):
        raise ClusterError(
            f"the connection to {address} would not be encrypted: start scheduler and "
            "workers with --protocol tls and certificates, and give its tls:// address "
            '(see "Several machines" in the instructor\'s guide)'
        )


def _options(address: str) -> str:
    """How to start what listens to this machine alone, or with TLS on one address."""
    host = "127.0.0.1" if _is_loopback(address) else "ADDRESS"
    return OPTIONS.format(host=host)


def _is_loopback(address: str) -> bool:
    host = _parts(address).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _parts(address: str) -> SplitResult:
    return urlsplit(address if "://" in address else f"tcp://{address}")
