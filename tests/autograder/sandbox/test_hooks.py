"""What we override of other libraries without their promise that it stays."""

from __future__ import annotations

import inspect
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from ipykernel.iostream import OutStream
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from ipykernel.zmqshell import ZMQInteractiveShell
from nbclient import NotebookClient
from packaging.requirements import Requirement

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
INSIDE = {  # set or read by us, and only there once an object is made
    NotebookClient: ["self.task_poll_for_reply"],
    OutStream: ["self._buffers"],
    IPythonKernel: ["self._execute_sleep"],
}
BOUND = ("ipykernel", "ipython", "jupyter-client", "nbclient")


@pytest.mark.parametrize(
    ("owner", "hook"),
    [(owner, hook) for owner, hooks in HOOKS.items() for hook in hooks],
)
def test_every_hook_is_there_and_takes_what_it_took(owner, hook):
    name = hook.partition("(")[0]
    found = getattr(owner, name)
    found = getattr(found, "func", found)  # behind an observer of traitlets
    assert f"{name}({', '.join(inspect.signature(found).parameters)})" == hook


@pytest.mark.parametrize(
    ("owner", "attribute"),
    [(owner, name) for owner, names in INSIDE.items() for name in names],
)
def test_every_attribute_is_still_used(owner, attribute):
    library = owner.__module__.partition(".")[0]
    sources = [
        inspect.getsource(base)
        for base in owner.__mro__
        if base.__module__.partition(".")[0] == library
    ]
    assert any(attribute in source for source in sources)


@pytest.mark.parametrize("library", BOUND)
def test_a_release_that_may_lose_a_hook_is_not_installed(library):
    project = Path(__file__).resolve().parents[3] / "pyproject.toml"
    lines = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    wanted = {(r := Requirement(line)).name: r for line in lines["dependencies"]}
    allowed = wanted[library].specifier
    assert allowed.contains(version(library))
    assert not allowed.contains("999")
