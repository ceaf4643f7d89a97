"""Read the few parts of a kernel's messages that are needed: short texts and outputs.

jupyter_client reads every part of a message as JSON of any size, and looks for dates
in all of the header. A kernel runs student code. So unused parts are never parsed, and
others only if they are so short that nothing in them can fill the memory.
"""

from __future__ import annotations

import json
from hmac import compare_digest
from typing import Any

from jupyter_client.session import Session

MAX_HEADER = 4096  # bytes
# Bytes; nested lists or dictionaries take up to fifty times as many in memory.
MAX_CONTENT = 3 * 2**19
MAX_LINES = 30  # of a traceback
_TEXTS = (
    *("execution_state", "status", "name", "text", "ename", "evalue"),
    "protocol_version",
)
_SHOWN = ("text/plain", "image/png")


class UnreadableMessage(ValueError):
    """A message that is not read; ``size`` is how many bytes it has."""

    def __init__(self, why: str, size: int) -> None:
        super().__init__(why)
        self.size = size


class FlatSession(Session):
    """Jupyter's session, but it reads only the pieces that are used, all flat."""

    def feed_identities(
        self, msg_list: list[bytes], copy: bool = True
    ) -> tuple[list[bytes], list[bytes]]:
        """Take the addresses off the parts of a message.

        Raises:
            UnreadableMessage: nothing says where they end.
        """
        try:
            return super().feed_identities(msg_list, copy)
        except ValueError as error:
            size = sum(map(len, msg_list))
            raise UnreadableMessage("a message has no delimiter", size) from error

    def deserialize(
        self, msg_list: list[bytes], content: bool = True, copy: bool = True
    ) -> dict[str, Any]:
        """Read a message.

        Args:
            msg_list: its signature, header, parent header, metadata and content.
            content: part of jupyter_client's interface.
            copy: the same.

        Raises:
            UnreadableMessage: it is none, or a part of it is too large.
        """
        size = sum(map(len, msg_list))
        if len(msg_list) < 5:
            raise UnreadableMessage("a message has other parts than it should", size)
        signature, header, parent, _, body = msg_list[:5]
        if self.auth is not None and not compare_digest(
            signature, self.sign(msg_list[1:5])
        ):
            raise UnreadableMessage("a message is not signed by its kernel", size)
        try:
            header = _texts(_load(header, MAX_HEADER), ("msg_id", "msg_type"))
            parent = _texts(_load(parent, MAX_HEADER), ("msg_id",))
            pieces = _pieces(_load(body, MAX_CONTENT))
        except (ValueError, RecursionError) as error:
            raise UnreadableMessage(f"a message has no form: {error}", size) from error
        return {
            "header": header,
            "msg_id": header.get("msg_id", ""),
            "msg_type": header.get("msg_type", ""),
            "parent_header": parent,
            "metadata": {},
            "content": pieces,
            "buffers": [],
            "size": len(body),
        }


def _load(data: bytes, most: int) -> dict[str, Any]:
    if len(data) > most:
        raise ValueError(f"{len(data)} bytes where {most} may be")
    loaded = json.loads(data)
    if not isinstance(loaded, dict):
        raise ValueError("no JSON object")
    return loaded


def _texts(found: dict[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    return {name: found[name] for name in names if isinstance(found.get(name), str)}


def _pieces(content: dict[str, Any]) -> dict[str, Any]:
    pieces: dict[str, Any] = _texts(content, _TEXTS)
    if isinstance(content.get("data"), dict):
        pieces["data"] = _texts(content["data"], _SHOWN)
    if isinstance(content.get("traceback"), list):
        lines = content["traceback"][:MAX_LINES]
        pieces["traceback"] = [line for line in lines if isinstance(line, str)]
    return pieces
