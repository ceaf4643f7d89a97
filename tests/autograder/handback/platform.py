"""A small platform of LTI 1.3 on loopback, strict where its specifications are.

Assertions are read by PyJWT and scores held against JSON Schema, neither of which the
client uses; what PyLTI1p3 itself answers for, such as headers, is left to it. Scores
are kept as Moodle and Canvas do: the last one counts, one that is older than that is
refused, and one without ``scoreGiven`` clears the mark.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections import Counter
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema
import jwt

SCOPE = "https://purl.imsglobal.org/spec/lti-ags/scope/"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
SCORE_SCHEMA = {  # AGS 2.0, section 3.4
    "type": "object",
    "properties": {
        "userId": {"type": "string", "minLength": 1},
        "scoreGiven": {"type": "number", "minimum": 0},
        "scoreMaximum": {"type": "number", "exclusiveMinimum": 0},
        "comment": {"type": "string"},
        "timestamp": {
            "type": "string",
            "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|[+-]\d\d:\d\d)$",
        },
        "activityProgress": {
            "enum": ["Initialized", "Started", "InProgress", "Submitted", "Completed"]
        },
        "gradingProgress": {
            "enum": ["FullyGraded", "Pending", "PendingManual", "Failed", "NotReady"]
        },
    },
    "required": ["userId", "timestamp", "activityProgress", "gradingProgress"],
    "dependentRequired": {"scoreGiven": ["scoreMaximum"]},
    "additionalProperties": False,
}


class Wrong(Exception):
    """A request is refused: with a status, and words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Platform:
    """What the platform knows, and what it was asked.

    Attributes:
        scores: points by user, of each column; None where they were withdrawn.
        asked: how often each kind of request came.
        faults: status, text and headers with which the next requests of a kind are
            answered, in place of the truth.
        users: who is in the course.
    """

    def __init__(self, public_key: str, client_id: str, key_id: str) -> None:
        self.public_key, self.client_id, self.key_id = public_key, client_id, key_id
        self.url = ""
        self.columns: dict[str, dict[str, Any]] = {}
        self.scores: dict[str, dict[str, float | None]] = {}
        self.times: dict[tuple[str, str], datetime] = {}
        self.users: set[str] = set()
        self.asked: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.faults: dict[str, list[tuple[int, str, dict[str, str]]]] = {}
        self.tokens: dict[str, set[str]] = {}

    def add_column(self, label: str, **more: Any) -> str:
        """A new column; its number."""
        number = str(len(self.columns) + 1)
        self.columns[number] = {"label": label, "scoreMaximum": 100, **more}
        self.scores[number] = {}
        return number

    def shown(self, number: str) -> dict[str, Any]:
        """A column as it is given out; with a query, as Moodle's."""
        address = f"{self.url}/7/lineitems/{number}/lineitem?type_id=1"
        return {**self.columns[number], "id": address}

    def token(self, form: dict[str, list[str]]) -> dict[str, Any]:
        """Security Framework 1.0, section 4.1, and RFC 7523."""
        if form.get("grant_type") != ["client_credentials"]:
            raise Wrong(400, "unsupported_grant_type")
        if form.get("client_assertion_type") != [ASSERTION]:
            raise Wrong(400, "invalid_request")
        (assertion,) = form["client_assertion"]
        try:
            if jwt.get_unverified_header(assertion).get("kid") != self.key_id:
                raise Wrong(401, "invalid_client")
            claims = jwt.decode(
                assertion,
                self.public_key,
                algorithms=["RS256"],
                audience=f"{self.url}/token",
                issuer=self.client_id,
                options={"require": ["iss", "sub", "aud", "iat", "exp", "jti"]},
            )
        except jwt.InvalidTokenError:
            raise Wrong(401, "invalid_client") from None
        if claims["sub"] != self.client_id:
            raise Wrong(401, "invalid_client")
        scopes = set(form["scope"][0].split())
        token = secrets.token_hex()
        self.tokens[token] = scopes
        return {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": 3600,
            "scope": " ".join(sorted(scopes)),
        }

    def require(self, header: str | None, *any_of: str) -> None:
        """Let only bearers of a token with one of some scopes pass."""
        scopes = self.tokens.get((header or "").removeprefix("Bearer "))
        if scopes is None:
            raise Wrong(401, "no valid token")
        if not any(f"{SCOPE}{scope}" in scopes for scope in any_of):
            raise Wrong(403, "the scope does not allow it")

    def score(self, number: str, body: dict[str, Any]) -> None:
        """Take a score."""
        if number not in self.columns:
            raise Wrong(404, "no such line item")
        try:
            jsonschema.validate(body, SCORE_SCHEMA)
        except jsonschema.ValidationError as error:
            raise Wrong(400, error.message) from None
        user = body["userId"]
        if user not in self.users:
            raise Wrong(
                422, json.dumps({"errors": f"user {user} is not in the course"})
            )
        when = datetime.fromisoformat(body["timestamp"])
        if when <= self.times.get(
            (number, user), datetime.min.replace(tzinfo=when.tzinfo)
        ):
            raise Wrong(409, "a later score is known")
        self.times[number, user] = when
        if body["gradingProgress"] == "FullyGraded" or "scoreGiven" not in body:
            self.scores[number][user] = body.get("scoreGiven")
        self.bodies.append(body)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    platform: Platform

    def log_message(self, *words: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            self._dispatch(urlsplit(self.path), content)
        except Wrong as wrong:
            words = str(wrong)
            if self.path == "/token":
                words = json.dumps({"error": words, "error_description": "see the log"})
            self._send(wrong.status, words)

    def _dispatch(self, at: Any, content: bytes) -> None:
        platform = self.platform
        parts = at.path.strip("/").split("/")
        kind = "token" if parts == ["token"] else "scores"
        if parts == ["7", "lineitems"]:
            kind = "list" if self.command == "GET" else "create"
        platform.asked[kind] += 1
        if platform.faults.get(kind):
            self._send(*platform.faults[kind].pop(0))
            return
        bearer = self.headers.get("Authorization")
        if kind == "token":
            form = parse_qs(content.decode())
            self._send(200, json.dumps(platform.token(form)))
        elif kind == "list":
            platform.require(bearer, "lineitem", "lineitem.readonly")
            found = [platform.shown(number) for number in platform.columns]
            self._send(200, json.dumps(found))
        elif kind == "create":
            platform.require(bearer, "lineitem")
            number = platform.add_column(**json.loads(content))
            self._send(201, json.dumps(platform.shown(number)))
        elif at.query == "type_id=1" and (parts[0], parts[1], *parts[3:]) == (
            *("7", "lineitems", "lineitem", "scores"),
        ):
            platform.require(bearer, "score")
            platform.score(parts[2], json.loads(content))
            self._send(204, "")
        else:
            raise Wrong(404, "no such address")

    def _send(
        self, status: int, words: str, headers: dict[str, str] | None = None
    ) -> None:
        content = words.encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def running(platform: Platform):
    """Serve a platform on loopback."""
    handler = type("Handler", (_Handler,), {"platform": platform})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    platform.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield platform
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
