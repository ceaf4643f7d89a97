"""Block the ways to run code that no profile function sees, while a case runs.

Python does not profile its own callbacks: trace functions, those of
``sys.monitoring``, audit hooks. And a thread that is begun with ``_thread`` alone has
no profile function. No answer needs any of these, so asking for one is refused, and
what was set before is set aside until the end. Python announces such requests to audit
hooks, of which ours cannot be taken away, and threads to those only in newer versions:
before, the profile function has to see who begins one.

Threads of ``threading`` are begun by us meanwhile, and watched from their first line:
what ``threading`` itself does before it sets a profile function can be replaced, piece
by piece.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, CodeType, FrameType
from typing import Any

# As people know them: of pdb or cProfile, nobody has written the function's name.
TRACED = "a debugger or other trace function (sys.settrace)"
PROFILED = "a profiler (sys.setprofile)"
MONITORED = "a profiler or debugger (sys.monitoring)"
AUDITED = "an audit hook (sys.addaudithook)"
THREAD = "a bare thread (_thread.start_new_thread)"
WAYS = (TRACED, PROFILED, MONITORED, AUDITED, THREAD)
NOBODY_SEES = "which can run code where the grader does not see what it calls"

_ANNOUNCED = {
    "sys.settrace": TRACED,
    "sys.setprofile": PROFILED,
    "sys.addaudithook": AUDITED,
    "_thread.start_new_thread": THREAD,
    "_thread.start_joinable_thread": THREAD,
    "sys.monitoring.register_callback": MONITORED,
}
_TOOLS = 6  # of sys.monitoring, numbered from 0
# What ``threading`` begins threads with, under the names that it has for these.
_STARTS: dict[str, Callable[..., Any]] = {
    name: getattr(threading, name)
    for name in ("_start_new_thread", "_start_joinable_thread")
    if hasattr(threading, name)
}
# What begins a thread; by name, since a module may be made anew with other objects.
_BEGINS = ("start_new_thread", "start_new", "start_joinable_thread")

_closed: list[Unseen] = []  # the last one is at work
_told: list[str] = []  # permanent hooks that were added while no guard was active
_listening = False


def listen() -> None:
    """From now on, know which audit hooks are added: they can never be removed."""
    global _listening
    if not _listening:
        sys.addaudithook(_hear)
        _listening = True


def _hear(event: str, _: tuple[Any, ...]) -> None:
    way = _ANNOUNCED.get(event)
    if way is None:
        return
    if _closed:
        _closed[-1].asked(way, sys._getframe(1))
    elif way == AUDITED and AUDITED not in _told:
        _told.append(AUDITED)


def begins_thread(called: object) -> bool:
    """Whether a function that is written in C begins a thread of Python."""
    return type(called) is BuiltinFunctionType and called.__name__ in _BEGINS


def _begin(name: str, function: Callable, *rest: Any, **more: Any) -> Any:
    """Begin a thread that is watched; see ``_STARTS`` for the name."""
    return _STARTS[name](partial(_run, function), *rest, **more)


def _run(function: Callable, *arguments: Any) -> None:
    """Run a function in a new thread, watched from the first line."""
    if _closed:
        sys.setprofile(_closed[-1].hook)
    function(*arguments)


_OURS: tuple[CodeType, ...] = (_begin.__code__, _run.__code__)


class Unseen:
    """Closes these ways from ``close`` to ``open``.

    Args:
        refuse: told which of ``WAYS`` was tried; what it raises is raised there.
        hook: the profile function that new threads have.
    """

    def __init__(self, refuse: Callable[[str], None], hook: Callable) -> None:
        self._refuse = refuse
        self.hook = hook
        self._mine = False  # whether the guard itself asks

    def close(self) -> list[str]:
        """Close them; what was open before and cannot be closed."""
        listen()
        _closed.append(self)
        self._mine = True
        self._traced = sys.gettrace(), threading.gettrace()
        self._profiled = sys.getprofile(), threading.getprofile()
        if self._traced[0] is not None:
            sys.settrace(None)
        threading.settrace(None)
        self._monitored = _without_monitoring()
        threading.setprofile(None)
        self._starts = {name: getattr(threading, name, None) for name in _STARTS}
        for name in _STARTS:
            setattr(threading, name, partial(_begin, name))
        sys.setprofile(self.hook)
        self._mine = False
        return list(_told)

    def open(self) -> None:
        """Give back what was there before."""
        self._mine = True
        _profile_again(self._profiled[0])
        threading.setprofile(self._profiled[1])
        for name, begins in self._starts.items():
            setattr(threading, name, begins)
        for tool, event, callback in self._monitored:
            sys.monitoring.register_callback(tool, event, callback)
        threading.settrace(self._traced[1])
        if self._traced[0] is not None:
            sys.settrace(self._traced[0])
        _closed.remove(self)

    def asked(self, way: str, by: FrameType) -> None:
        """Refuse, but for the guard, which also begins threads for ``threading``.

        Args:
            way: one of ``WAYS``.
            by: the frame in which it was asked for. A function with our code and with
                other names is none of ours.
        """
        ours = by.f_globals is globals() and any(by.f_code is own for own in _OURS)
        if not (self._mine or ours):
            self._refuse(way)


def _profile_again(by: Any) -> None:
    """Give back a profile function, or a profiler that is written in C: no function."""
    if by is None or callable(by):
        sys.setprofile(by)
    else:  # cProfile of Python 3.11
        sys.setprofile(None)
        by.enable()


def _without_monitoring() -> list[tuple[int, int, Callable]]:
    """Take all callbacks from ``sys.monitoring``; what they were, by tool and event."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:  # before Python 3.12
        return []
    events = [
        value
        for name, value in vars(monitoring.events).items()
        if name.isupper() and value
    ]
    taken = []
    for tool in range(_TOOLS):
        for event in events:
            callback = None
            with contextlib.suppress(ValueError):  # in some version it takes none
                callback = monitoring.register_callback(tool, event, None)
            if callback is not None:
                taken.append((tool, event, callback))
    return taken
