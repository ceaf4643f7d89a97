"""Only the parts of a message that are used are read, and reading them is cheap."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime

import pytest
from jupyter_client.session import Session

from autograder.sandbox.messages import FlatSession, UnreadableMessage
from tests.work import work

KEY = b"secret"
DATE = '"2026-01-01T00:00:00.123456+00:00"'


@pytest.fixture
def session():
    return FlatSession(key=KEY)


def sent(kind, content, parent=None):
    """What Jupyter's own session sends."""
    theirs = Session(key=KEY)
    return theirs.serialize(theirs.msg(kind, content=content, parent=parent))[1:]


def signed(header=b"{}", parent=b"{}", metadata=b"{}", content=b"{}"):
    parts = [header, parent, metadata, content]
    return [Session(key=KEY).sign(parts), *parts]


@pytest.mark.parametrize(
    "kind, content",
    [
        ("stream", {"name": "stdout", "text": 'a "quoted" text, [1, 2]\n \U0001f600'}),
        ("status", {"execution_state": "idle"}),
        ("error", {"ename": "E", "evalue": "v", "traceback": ["a", "b"]}),
        ("display_data", {"data": {"text/plain": "x", "image/png": "AAAA"}}),
    ],
)
def test_what_is_used_is_read_as_jupyter_reads_it(session, kind, content):
    parent = {"msg_id": "asked", "date": datetime.now(UTC)}
    parts = sent(kind, content, parent)
    ours, theirs = session.deserialize(parts), Session(key=KEY).deserialize(parts)
    assert ours["content"] == theirs["content"] == content
    assert ours["msg_type"] == theirs["msg_type"] == kind
    assert ours["parent_header"]["msg_id"] == "asked"
    assert ours["msg_id"] == theirs["msg_id"]


def test_what_is_not_used_is_forgotten(session):
    content = {"data": {"text/html": "x", "text/plain": "y"}, "more": [1], "name": 5}
    read = session.deserialize(sent("display_data", content))
    assert read["content"] == {"data": {"text/plain": "y"}}
    assert "date" not in read["header"]


def test_a_message_of_another_key_is_not_read(session):
    parts = sent("stream", {"name": "stdout", "text": "x"})
    with pytest.raises(UnreadableMessage, match="not signed"):
        FlatSession(key=b"another").deserialize(parts)


UNREADABLE = {
    "a bomb in the header": {"header": b'{"a":[' + b"[]," * 2**20 + b"[]]}"},
    "a bomb in the content": {"content": b'{"a":[' + b"[]," * 2**20 + b"[]]}"},
    "deep lists": {"content": b'{"a":' + b"[" * 40_000},
    "dates": {"header": f'{{"a":[{",".join([DATE] * 10**5)}]}}'.encode()},
    "wide letters": {"content": '{"a":"\U0001f600'.encode() + b"x" * 2**21 + b'"}'},
    "no JSON": {"content": b"\x80\x04pickle"},
    "no object": {"header": b"[]"},
}
READ = {
    "a bomb in the metadata": {"metadata": b'{"a":[' + b"[]," * 2**20 + b"[]]}"},
    "the largest content": {
        "content": b'{"a":[' + b",".join([b"[" * 900 + b"]" * 900] * 870) + b"]}"
    },
    "dates": {"header": f'{{"a":[{",".join([DATE] * 100)}]}}'.encode()},
    "wide letters": {"content": '{"a":"\U0001f600'.encode() + b"x" * 10**6 + b'"}'},
}


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        *((parts, UnreadableMessage) for parts in UNREADABLE.values()),
        *((parts, dict) for parts in READ.values()),
    ],
    ids=[*UNREADABLE, *(f"{what}, read" for what in READ)],
)
def test_to_read_a_message_costs_little_whatever_it_is(session, parts, kind):
    results, parts = [], signed(**parts)

    def read():
        try:
            results.append(session.deserialize(parts))
        except UnreadableMessage as error:
            results.append(error)

    lines = work(read)
    tracemalloc.start()
    read()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(results[0], kind)
    assert kind is dict or results[0].size == sum(map(len, parts))
    assert lines < 10**6
    assert most < 80 * 2**20
