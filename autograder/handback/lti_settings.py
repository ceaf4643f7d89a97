"""Where marks are sent, and with which key: ``lti.toml`` in the course, read strictly.

The private key stays in a file of its own, which only its owner may read, and is put
into no message.
"""

from __future__ import annotations

import ipaddress
import json
import os
import stat
import sys
import tomllib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from autograder.errors import AutograderError
from autograder.files import plain_file

if TYPE_CHECKING:
    from joserfc.jwk import RSAKey

SETTINGS = "lti.toml"
MAX_SETTINGS = 2**16  # bytes, of the settings and of the key
NEW_KEY_BITS = 3072
KEY_BITS = 2048  # the least that RS256 may have. Source: RFC 7518, section 3.3
_NEEDED = ("client_id", "token_url", "line_items_url", "key_file")
# An LMS shows its issuer beside the rest, but only launches of a tool carry it.
_OPTIONAL = ("key_id", "audience", "issuer")
_URLS = ("token_url", "line_items_url")


class BadSettings(AutograderError):
    """The settings or the key cannot be used; ``lines`` has one for each problem."""

    def __init__(self, message: str, lines: list[str] | None = None) -> None:
        self.lines = lines or []
        super().__init__(message)


@dataclass(frozen=True)
class Platform:
    """A learning management system, as LTI 1.3 knows it, and who we are there.

    Attributes:
        client_id: the platform's name of us.
        token_url: where access tokens are issued.
        line_items_url: the columns of marks of one course.
        key_file: our private key.
        key_id: its name at the platform; None for the thumbprint of the key.
        audience: to whom the assertion is addressed, usually ``token_url``.
    """

    client_id: str
    token_url: str
    line_items_url: str
    key_file: Path
    key_id: str | None
    audience: str


def platform_of(course: Path) -> Platform:
    """Read the settings of a course.

    Raises:
        Unusable: there is no such file.
        BadSettings: something in it is wrong; then nothing of it is used.
    """
    path = course / SETTINGS
    if not path.exists():
        needed = ", ".join(_NEEDED)
        raise BadSettings(f"{path} is missing: marks can be sent when it says {needed}")
    try:
        data = tomllib.loads(plain_file(path, MAX_SETTINGS, follow=True).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadSettings(f"{path} is no TOML: {error}") from None
    problems = list(_problems(data))
    if problems:
        what = "problem" if len(problems) == 1 else "problems"
        raise BadSettings(
            f"{path}: {len(problems)} {what}, so nothing is sent", problems
        )
    return Platform(
        data["client_id"],
        data["token_url"],
        data["line_items_url"],
        course / data["key_file"],
        data.get("key_id"),
        data.get("audience", data["token_url"]),
    )


def _problems(data: dict[str, Any]) -> list[str]:
    known = (*_NEEDED, *_OPTIONAL)
    found = [f"{name}: it is missing" for name in _NEEDED if name not in data]
    for name, value in data.items():
        if name not in known:
            found.append(f"{name}: unknown; there are {', '.join(known)}")
        elif not isinstance(value, str) or not value.strip():
            found.append(f"{name}: expected a text in quotation marks")
        elif name in _URLS and (why := why_unsafe(value)):
            found.append(f"{name}: {value!r} {why}")
    return found


def why_unsafe(url: str) -> str:
    """Why nothing is sent to an address; empty if it may be."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port  # an impossible port raises an error
    except ValueError:
        return "is no address"
    if not host or parts.scheme not in ("http", "https"):
        return "is no address such as https://lms.example.edu/..."
    if parts.username is not None or parts.fragment:
        return "has a user or a fragment, which such an address must not have"
    if parts.scheme == "http" and not _is_loopback(host):
        return "is not encrypted; it has to begin with https"
    return ""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def private_key(path: Path) -> RSAKey:
    """Our key, from a file in PEM that nobody else may read.

    Raises:
        Unusable: there is no such file.
        BadSettings: others may read it, or it is no private RSA key of enough bits.
    """
    from joserfc.errors import JoseError
    from joserfc.jwk import RSAKey

    content = plain_file(path, MAX_SETTINGS, follow=True)
    open_to = stat.S_IMODE(path.stat().st_mode) & 0o077
    if open_to and sys.platform != "win32":
        raise BadSettings(
            f"{path} can be read by others (mode {path.stat().st_mode & 0o777:o}): "
            f"call `chmod 600 {path}`, and make a new key if somebody may have read it"
        )
    try:
        with warnings.catch_warnings(action="ignore"):  # of few bits; they are refused
            key = RSAKey.import_key(content)
        bits = key.raw_value.key_size
    except (JoseError, ValueError, TypeError):  # which may quote it
        raise BadSettings(
            f"{path} is no RSA key in PEM without a password, such as "
            "`python -m autograder lti-key FILE` makes"
        ) from None
    if not key.is_private:
        raise BadSettings(f"{path} is a public key; the private one signs")
    if bits < KEY_BITS:
        raise BadSettings(f"{path} has {bits} bits; at least {KEY_BITS} are needed")
    return key


def make_key(path: Path) -> None:
    """Make a private key, in a new file that nobody else may read.

    Raises:
        BadSettings: there is a file already.
    """
    from joserfc.jwk import RSAKey

    content = RSAKey.generate_key(NEW_KEY_BITS).as_pem(private=True)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise BadSettings(f"{path} is there already; name a new file") from None
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
    except BaseException:
        path.unlink()
        raise


def public_half(path: Path) -> tuple[str, str]:
    """The public key that belongs to a private one, as a JWK and in PEM.

    Raises:
        Unusable: there is no such file.
        BadSettings: it is no private key that can be used.
    """
    key = private_key(path)
    jwk = key.as_dict(private=False, use="sig", alg="RS256", kid=key.thumbprint())
    return json.dumps(jwk), key.as_pem(private=False).decode()
