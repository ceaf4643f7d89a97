"""Examine on the machines of a dask.distributed cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor

CONNECT_SECONDS = 10


class ClusterError(RuntimeError):
    """The cluster cannot be used; the message says why."""


@contextlib.contextmanager
def cluster_executor(address: str) -> Iterator[Executor]:
    """An executor whose workers are those of the scheduler at ``address``.

    A submission whose worker is lost is examined by another one. Each worker needs the
    same Python packages, this project and bubblewrap.

    Raises:
        ClusterError: dask is not installed, nobody answers, or there is no worker.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError(
            "dask.distributed is not installed: pip install "
            "'attention-from-scratch[cluster]'"
        ) from None
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error) or type(error).__name__
        raise ClusterError(f"no scheduler answers at {address}: {reason}") from error
    with client:
        if not client.scheduler_info()["workers"]:
            raise ClusterError(
                f"the scheduler at {address} has no workers: start some with "
                f"`dask worker {address}`"
            )
        yield client.get_executor(pure=False)
