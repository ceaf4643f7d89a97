"""What a platform of LTI may answer in place of what was wanted, in one line each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import requests
from authlib.integrations.base_client import OAuthError

from autograder.errors import AutograderError
from autograder.files import printable
from autograder.lms.lti_settings import Platform

SHOWN = 200  # characters of what a platform says


class Refused(AutograderError):
    """The platform refused something that concerns the whole run."""


class ScoreRefused(AutograderError):
    """The platform refused one score, and may take others."""


@contextlib.contextmanager
def one_line(url: str, platform: Platform) -> Iterator[None]:
    """Turn what the libraries raise into one line about an address.

    Raises:
        Refused: something was raised.
    """
    try:
        yield
    except OAuthError as error:
        words = ": ".join(str(s) for s in (error.error, error.description) if s)
        raise Refused(
            f"{platform.token_url} refused the key of client {platform.client_id}: "
            f"{printable(words[:SHOWN])}. Look whether the public key is registered "
            "there and has not expired, and whether this machine's clock is right"
        ) from None
    except requests.TooManyRedirects:
        raise Refused(f"{url} has moved: put its new address into lti.toml") from None
    except requests.exceptions.SSLError:
        raise Refused(f"{url} has no certificate that this machine trusts") from None
    except requests.HTTPError as error:
        raise Refused(f"{url} answered {said(error.response)}") from None
    except requests.RequestException as error:
        why = type(error).__name__
        raise Refused(f"{url} cannot be reached: {why}") from None
    except ValueError as error:  # from Authlib, about what is no token
        words = printable(str(error)[:SHOWN])
        raise Refused(f"{platform.token_url} issued no access token: {words}") from None


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
    words = " ".join(response.text.split())[:SHOWN]
    if "<" in words:  # a page for people
        words = ""
    return printable(f"{response.status_code} {response.reason} {words}".strip())


def json_of(response: requests.Response) -> Any:
    """What a platform answered, as data.

    Raises:
        Refused: it is no JSON.
    """
    try:
        return response.json()
    except (ValueError, RecursionError):
        raise Refused(f"{response.url} answered with no JSON") from None
