"""The kernel of a submission where there is no sandbox.

Some slips of honest students cost nothing in a sandbox, and must not here either:
``quit()`` does not end the kernel, streams that a cell has closed are replaced, and
answers still arrive after a cell has emptied the environment.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ipykernel.kernelapp import IPKernelApp

from autograder import respond
from autograder.sandbox.kernel import Kernel, Stream, own_streams


class UnprotectedKernelApp(IPKernelApp):
    """Runs the kernel that submissions have in a sandbox, on sockets of its own."""

    kernel_class = Kernel
    outstream_class = f"{Stream.__module__}.{Stream.__name__}"

    def initialize(self, argv: list[str] | None = None) -> None:
        """Keep what a cell may take away."""
        super().initialize(argv)
        own_streams.update(stdout=sys.stdout, stderr=sys.stderr)
        respond.channel = int(os.environ[respond.CHANNEL])


if __name__ == "__main__":
    if sys.path[0] in ("", str(Path.cwd())):  # as IPython's own launcher does
        del sys.path[0]
    UnprotectedKernelApp.launch_instance()
