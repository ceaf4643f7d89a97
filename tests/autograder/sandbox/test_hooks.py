"""What we override of other libraries without their promise that it stays."""

from __future__ import annotations

import inspect

import pytest
from ipykernel.iostream import OutStream
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from ipykernel.zmqshell import ZMQInteractiveShell
from nbclient import NotebookClient

HOOKS = {
    NotebookClient: [
        "_async_check_alive(self)",
        "_async_poll_kernel_alive(self)",
        "_async_poll_output_msg(self, parent_msg_id, cell, cell_index)",
        "_check_raise_for_error(self, cell, cell_index, exec_reply)",
        "_cleanup_kernel(args, kwargs)",
        "process_message(self, msg, cell, cell_index)",
    ],
    OutStream: ["_flush_buffers(self)"],
    IPythonKernel: [
        "_publish_execute_input(self, code, parent, execution_count)",
        "_publish_status(self, status, channel, parent)",
    ],
    IPKernelApp: [
        "_bind_socket(self, s, port)",
        "_configure_logging(self)",
        "_try_bind_socket(self, s, port)",
        "configure_tornado_logger(self)",
        "init_crash_handler(self)",
        "init_iopub(self, context)",
        "init_sockets(self)",
    ],
    ZMQInteractiveShell: ["_update_exit_now(self, change)"],
}


@pytest.mark.parametrize(
    ("owner", "hook"),
    [(owner, hook) for owner, hooks in HOOKS.items() for hook in hooks],
)
def test_every_hook_is_there_and_takes_what_it_took(owner, hook):
    name = hook.partition("(")[0]
    found = getattr(owner, name)
    found = getattr(found, "func", found)  # behind an observer of traitlets
    assert f"{name}({', '.join(inspect.signature(found).parameters)})" == hook
