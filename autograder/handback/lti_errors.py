"""Explain the failures of an LTI platform, in one line each."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl, unquote

import requests
from authlib.integrations.base_client import OAuthError
from urllib3.exceptions import (
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
)

from autograder.errors import AutograderError
from autograder.files import printable
from autograder.handback.lti_settings import Platform

TIMEOUT = (10, 60)  # seconds to connect, and to answer
SHOWN = 200  # characters of what a platform says
READ = 10_000  # characters in which a secret is looked for
TELLING = 12  # letters of a secret that are not shown


class Refused(AutograderError):
    """The platform refused something that concerns the whole run."""


class ScoreRefused(AutograderError):
    """The platform refused one score, and may take others."""


class ScoreNotNewer(ScoreRefused):
    """The platform has a score whose time is not before that of this one."""


class ScoreFailed(Refused):
    """The platform failed at one score; whether it takes others is to be seen."""


@contextlib.contextmanager
def one_line(url: str) -> Iterator[None]:
    """Turn what the libraries raise into one line about an address.

    Raises:
        Refused: something was raised.
    """
    try:
        yield
    except requests.TooManyRedirects:
        raise Refused(f"{url} has moved: put its new address into lti.toml") from None
    except requests.exceptions.SSLError:
        raise Refused(f"{url} has no certificate that this machine trusts") from None
    except requests.RequestException as error:
        raise Refused(f"{url} cannot be reached: {_why_unreached(error)}") from None
    except (OAuthError, ValueError, RecursionError) as error:  # may quote a token
        why = type(error).__name__
        raise Refused(f"{url} answered with what cannot be used: {why}") from None


def _why_unreached(error: requests.RequestException) -> str:
    """What became of a request that got no answer, after the last try."""
    inner = error.args[0] if error.args else None
    why = getattr(inner, "reason", inner)  # of the last try, where there were several
    if isinstance(error, requests.ConnectTimeout):
        return f"no connection within {TIMEOUT[0]} s"
    if isinstance(error, requests.ReadTimeout) or isinstance(why, ReadTimeoutError):
        return f"no answer within {TIMEOUT[1]} s"
    if isinstance(why, NameResolutionError):
        return "no such host is known, or this machine has no network"
    system = why.__cause__ if isinstance(why, BaseException) else None
    if isinstance(why, NewConnectionError) and isinstance(system, OSError):
        return system.strerror or type(error).__name__
    if isinstance(why, ProtocolError):
        return "the connection was broken off before the answer"
    return type(error).__name__


def require_token(response: requests.Response, platform: Platform) -> None:
    """Go on only with an access token that can be used.

    Authlib takes what it is given, and fails when it is used.

    Raises:
        Refused: there is none.
    """
    url, token = platform.token_url, None
    with contextlib.suppress(ValueError, RecursionError):
        token = response.json()
    found = token if isinstance(token, dict) else {}
    if response.status_code < 500 and "error" in found:
        texts = (found["error"], found.get("error_description"))
        words = ": ".join(text for text in texts if isinstance(text, str) and text)
        words = quoted(words or "it does not say why", response)
        raise Refused(
            f"{url} refused the key of client {platform.client_id}: {words}. Look "
            "whether the public key is registered there and has not expired, and "
            "whether this machine's clock is right"
        )
    if response.status_code >= 400:
        raise Refused(f"{url} answered {said(response)}")
    if not isinstance(token, dict):
        raise Refused(f"{url} issued no access token: it answered with no JSON object")
    found = {"access_token": None, **found}
    for name, fits in _FITS.items():
        if name in found and not fits(found[name]):
            raise Refused(
                f"{url} issued no access token that can be used: its {name} is not as "
                "OAuth 2 has it"
            )


def _fits_into_a_header(value: Any) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"[!-~]+", value))


def _is_whole(value: Any) -> bool:
    try:
        int(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


_FITS: dict[str, Callable[[Any], bool]] = {  # RFC 6749, section 5.1
    "access_token": _fits_into_a_header,
    "token_type": lambda v: isinstance(v, str) and v.lower() == "bearer",
    "expires_in": lambda v: not v or _is_whole(v),
    "expires_at": lambda v: v is None or isinstance(v, str) or _is_whole(v),
    "refresh_token": lambda v: v is None or _fits_into_a_header(v),
}


def require_done(response: requests.Response, url: str) -> None:
    """Go on only if a request was granted.

    Raises:
        Refused: it was not.
    """
    code = response.status_code
    if 200 <= code < 300:
        return
    words = f"{url} answered {said(response)}"
    if code in (401, 403):
        words += ": let the client use Assignment and Grade Services in this course"
    elif code == 404:
        words += ": is line_items_url in lti.toml that of this course?"
    elif 300 <= code < 400:
        words += ": put its new address into lti.toml"
    raise Refused(words)


def said(response: requests.Response) -> str:
    """What a platform answered, in one line."""
    words = response.text[:READ]
    if "<" in " ".join(words.split())[:SHOWN]:  # a page for people
        words = ""
    words = quoted(f"{response.reason} {words}", response)
    return f"{response.status_code} {words}".strip()


def quoted(words: str, response: requests.Response) -> str:
    """What a platform says in one line, unless it has a secret of the request in it."""
    words = words[:READ]
    known = _letters(words)
    parts = {known[i : i + TELLING] for i in range(len(known))}
    for secret in filter(None, map(_letters, _secrets(response.request))):
        pieces = range(max(1, len(secret) - TELLING + 1))
        if secret in known or any(secret[i : i + TELLING] in parts for i in pieces):
            return "(not shown, since a secret of the request is in it)"
    return printable(" ".join(words.split())[:SHOWN])


def _secrets(request: requests.PreparedRequest) -> Iterator[str]:
    """What nobody else may read of a request: the token, or what it is got with."""
    yield request.headers.get("Authorization", "").removeprefix("Bearer ")
    form = request.body if isinstance(request.body, str) else ""
    for name, value in parse_qsl(form):
        if name in ("client_assertion", "refresh_token"):
            yield value


def _letters(text: str) -> str:
    """Letters and digits, which are there in each way to write a text down."""
    return re.sub(r"[^A-Za-z0-9]", "", unquote(text))


def json_of(response: requests.Response) -> Any:
    """What a platform answered, as data.

    Raises:
        Refused: it is no JSON.
    """
    try:
        return response.json()
    except (ValueError, RecursionError):
        raise Refused(f"{response.url} answered with no JSON") from None
