"""Right answers that are written differently from the reference, by topic."""

from __future__ import annotations

import functools
from collections.abc import Callable


def after(check: Callable[..., None]) -> Callable[[Callable], Callable]:
    """Have a function call ``check`` with its arguments first.

    For answers that compute alike what shapes they refuse, and differ in the rest.
    """

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def checked(*arguments, **named):
            check(*arguments, **named)
            return function(*arguments, **named)

        return checked

    return decorate
