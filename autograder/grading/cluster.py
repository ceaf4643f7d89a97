"""Examine on the machines of a dask.distributed cluster."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any
from urllib.parse import urlsplit

from autograder.errors import AutograderError
from autograder.grading.apart import call_apart

CONNECT_SECONDS = 10
ENCRYPTED = ("tls", "wss")


class ClusterError(AutograderError):
    """The cluster cannot be used; the message says why."""


@contextlib.contextmanager
def cluster_executor(address: str) -> Iterator[Executor]:
    """An executor whose workers are those of the scheduler at ``address``.

    A submission whose worker is lost is examined by another one. Each thread of a
    worker has a process that examines, as on one machine; see ``apart``. Each worker
    needs the same Python packages, this project and bubblewrap.

    What travels is pickled, and a scheduler does what anybody tells it. So one on
    another machine is used only through TLS, with the certificates that the
    configuration of dask names.

    Raises:
        ClusterError: dask is not installed, the connection would not be encrypted,
            nobody answers, or there is no worker.
    """
    _require_encryption(address)
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError(
            "dask.distributed is not installed: pip install "
            "'attention-from-scratch[cluster]'"
        ) from None
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, TimeoutError) as error:
        reason = str(error) or type(error).__name__
        raise ClusterError(f"no scheduler answers at {address}: {reason}") from error
    with client:
        if not client.scheduler_info()["workers"]:
            raise ClusterError(
                f"the scheduler at {address} has no workers: start some with "
                f"`dask worker {address}`"
            )
        yield _InOwnProcesses(client.get_executor(pure=False))


class _InOwnProcesses(Executor):
    """Has another executor call functions in processes of their own."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads

    def submit(self, function: Callable, /, *arguments: Any) -> Future:
        """Have a thread of a worker wait for the process that it has."""
        return self._threads.submit(call_apart, function, *arguments)


def _require_encryption(address: str) -> None:
    """Make sure that nobody else on the network can read or send submissions."""
    url = urlsplit(address if "://" in address else f"tcp://{address}")
    try:
        host = url.hostname or ""
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local and url.scheme not in ENCRYPTED:
        raise ClusterError(
            f"the connection to {address} would not be encrypted: start scheduler and "
            "workers with --protocol tls and certificates, and give its tls:// address "
            '(see "Several machines" in the instructor\'s guide)'
        )
