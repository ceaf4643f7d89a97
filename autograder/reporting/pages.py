"""Templates, escaping and phrases that the pages for instructors share."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup, escape

from autograder.files import printable


@cache
def templates(package: str = __package__) -> Environment:
    """The templates of a package, and those here; what is put into them is escaped."""
    found = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(__package__)]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"breakable": _breakable, "code": _code}

    def text_of(*names: str) -> Markup:
        """Style sheets, which come with the page."""
        assert found.loader is not None
        return Markup("").join(
            Markup(found.loader.get_source(found, name)[0]) for name in names
        )

    def policy(*sheets: str) -> str:
        """What a browser may do with a page: show it.

        Whatever got past the escaping would neither be run nor loaded.
        """
        digest = hashlib.sha256(text_of(*sheets).encode()).digest()
        style = f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
        return (
            f"default-src 'none'; style-src {style}; base-uri 'none'; "
            "form-action 'none'"
        )

    found.globals |= {
        "policy": policy,
        "text_of": text_of,
        "of": of,
        "number": number,
        "percent": percent,
    }
    return found


def of(count: int, total: int) -> str:
    """A part of a class as somebody would say it, such as ``3 of 26``."""
    if count == 0:
        return f"none of {total}"
    return f"all {total}" if count == total > 1 else f"{count} of {total}"


def number(value: float) -> str:
    """A number without needless decimals: 7, 7.5."""
    return f"{round(value, 1):g}" if abs(value) < 1e5 else f"{value:.0f}"


def percent(share: float) -> str:
    """A share in percent."""
    return f"{share:.0%}"


def _breakable(value: Any) -> Markup:
    """Plain characters for a cell, in which names may go on in the next line."""
    return Markup(escape(printable(str(value))).replace("_", Markup("_<wbr>")))


def _code(text: str) -> Markup:
    """Lines of code as plain characters."""
    return Markup("\n").join(escape(printable(line)) for line in text.split("\n"))
