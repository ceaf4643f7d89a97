"""What fails in the process that asks is never the fault of who is asked."""

from __future__ import annotations

import asyncio
import errno
import logging
import pickle

import pytest
import zmq
from nbformat import NotebookNode

from autograder.errors import GraderFault
from autograder.grading.client import SubmissionClient
from autograder.grading.clock import Clock
from autograder.grading.worker import Job, examine_submission
from autograder.sandbox.limits import Limits
from autograder.sandbox.manager import SandboxKernelManager
from autograder.sandbox.messages import UnreadableMessage
from autograder.submissions.submitted import Submission

OURS = [
    zmq.ZMQError(errno.EMFILE),
    RuntimeError("can't start new thread"),
    MemoryError(),
]
CELL = NotebookNode(cell_type="code", source="1", outputs=[])


@pytest.fixture
def client():
    """A client whose cells take no time, and whose kernel is not started."""
    manager = SandboxKernelManager()
    notebook = NotebookNode(cells=[], metadata=NotebookNode())
    made = SubmissionClient(notebook, manager, Limits(), Clock(Limits(), alone=True))
    made.async_execute_cell = doing(None)
    yield made
    made.door.close()
    manager.context.destroy(linger=0)


def doing(error):
    """The execution of a cell that succeeds, or fails so."""

    async def execute(cell, number):
        if error is not None:
            raise error

    return execute


@pytest.mark.parametrize("error", OURS, ids=lambda error: type(error).__name__)
def test_errors_of_this_process_blame_nobody(client, error):
    client.async_execute_cell = doing(error)
    with pytest.raises(GraderFault, match=type(error).__name__):
        asyncio.run(client.run(CELL, 1))


def test_a_limit_that_was_broken_before_stays_proven(client):
    client.async_execute_cell = doing(zmq.ZMQError(errno.EMFILE))
    client.end_for("output limit of 1 MB")
    assert asyncio.run(client.run(CELL, 1)) == "output limit of 1 MB"


def test_a_forged_reply_is_the_submissions_fault(client):
    async def reply(cell, number):
        await client._check_raise_for_error(cell, number, {"content": {}, "size": 2})

    client.async_execute_cell = reply
    said = asyncio.run(client.run(CELL, 1))
    assert said == "its messages could not be read: a reply has no status"


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.EMFILE, "x")])
def test_a_reader_of_answers_that_dies_is_ours(client, error, caplog):
    async def dies(*_):
        raise error

    client.door.read = dies
    with (
        caplog.at_level(logging.DEBUG, "asyncio"),
        pytest.raises(GraderFault, match=type(error).__name__),
    ):
        asyncio.run(client.ask("topic", "name", [1, 2]))
    client.async_execute_cell = doing(zmq.ZMQError(errno.EMFILE))
    with pytest.raises(GraderFault, match="ZMQError"):
        asyncio.run(client.ask("topic", "name", [1, 2]))
    assert not [r for r in caplog.records if "never retrieved" in r.getMessage()]


def test_what_a_worker_raises_can_be_sent_and_says_why(monkeypatch):
    def fails(*_):
        raise UnreadableMessage("two arguments", 1)  # which pickle cannot make again

    monkeypatch.setattr("autograder.grading.worker._master", fails)
    job = Job("masking", "{}", Limits())
    with pytest.raises(GraderFault) as failed:
        examine_submission(job, Submission("ada", b"{}"))
    again = pickle.loads(pickle.dumps(failed.value))  # noqa: S301
    assert str(again) == "UnreadableMessage: two arguments"
