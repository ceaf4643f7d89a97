"""What fails in the process that asks is never the fault of who is asked."""

from __future__ import annotations

import asyncio
import errno
import logging
import pickle

import pytest
import zmq
from nbclient.client import CellExecutionComplete
from nbformat import NotebookNode

from autograder.errors import GraderFault
from autograder.grading.client import MESSAGE_BYTES, SubmissionClient
from autograder.grading.clock import Clock
from autograder.grading.worker import Job, examine_submission
from autograder.sandbox.limits import Limits
from autograder.sandbox.manager import SandboxKernelManager
from autograder.sandbox.messages import FlatSession, UnreadableMessage
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
    with pytest.raises(UnreadableMessage, match="no delimiter") as failed:
        FlatSession().feed_identities([b"no", b"end"])
    assert failed.value.size == 5


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


class Channel:
    """A channel that gives these messages; an error is raised instead."""

    def __init__(self, *messages):
        self._messages = list(messages)

    async def get_msg(self, timeout):
        message = self._messages.pop(0)
        if isinstance(message, BaseException):
            raise message
        return message


def polling(client, *messages):
    """Have the client read messages until the cell is done."""
    client.kc = type("Client", (), {"iopub_channel": Channel(*messages)})()
    cell = NotebookNode(CELL, outputs=[])
    asyncio.run(client._async_poll_output_msg("asked", cell, 1))
    return cell.outputs


def message(kind, size=0, **content):
    parent = {"msg_id": "asked"}
    return {
        "msg_type": kind,
        "parent_header": parent,
        "content": content,
        "size": size,
    }


def test_forged_messages_count_and_do_no_more(client):
    room = client.room
    shown = polling(
        client,
        message("status"),
        message("stream", name="stdout"),
        message("display_data"),
        UnreadableMessage("none", 100),
        message("stream", name="stdout", text="told"),
        message("status", execution_state="idle"),
    )
    assert [output.text for output in shown] == ["told"]
    assert room - client.room >= 5 * MESSAGE_BYTES + 100


@pytest.mark.parametrize("error", OURS[:3], ids=lambda error: type(error).__name__)
def test_what_fails_while_messages_are_read_is_told_and_not_charged(client, error):
    room = client.room
    with pytest.raises(type(error)):
        polling(client, error)
    assert client.room == room
    assert not issubclass(CellExecutionComplete, type(error))


def test_what_a_worker_raises_can_be_sent_and_says_why(monkeypatch):
    def fails(*_):
        raise UnreadableMessage("two arguments", 1)  # which pickle cannot make again

    monkeypatch.setattr("autograder.grading.worker._master", fails)
    job = Job("masking", "{}", Limits())
    with pytest.raises(GraderFault) as failed:
        examine_submission(job, Submission("ada", b"{}"))
    again = pickle.loads(pickle.dumps(failed.value))  # noqa: S301
    assert str(again) == "UnreadableMessage: two arguments"
