"""The filter of system calls (seccomp): a forbidden call fails as if it did not exist.

The tables say what is allowed: ``system_calls`` which calls, ``argument_rules`` with
which arguments. This module compiles them to the small programs (classic BPF) that the
kernel runs at each system call.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from functools import cache

from autograder.sandbox.argument_rules import RULES, Never, NotTogether, OneOf, Rule
from autograder.sandbox.system_calls import architecture, numbers

_LOAD, _AND, _EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in what a filter reads
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def forbid_system_calls() -> None:
    """Install the filter in this process, for good, and in all that it starts.

    Raises:
        OSError: the kernel has no seccomp.
    """
    program = compiled()

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]

    filters = Program(len(program) // 8, program)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(filters), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls was refused")


@cache
def compiled() -> bytes:
    """The filter for this machine, as the kernel reads it.

    Raises:
        KeyError: the numbers of this machine are not known.
    """
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        # 32-bit calls have other numbers. (Those of x32 have a bit more than ours.)
        (_EQUAL, 1, 0, architecture()),
        _fail(errno.ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    known = numbers()
    # Those with rules first: the kernel remembers which of the others it may skip.
    for name in sorted(known, key=lambda name: name not in RULES):
        body = [step for rule in RULES.get(name, ()) for step in _check(rule)]
        body.append((_RETURN, 0, 0, _ALLOW))
        steps += [(_EQUAL, 0, len(body), known[name]), *body]
    steps.append(_fail(errno.ENOSYS))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _check(rule: Rule) -> list[Instruction]:
    """Steps that fail if an argument breaks a rule, and otherwise go on below."""
    fail = _fail(rule.refused)
    if isinstance(rule, Never):
        return [fail]
    load = (_LOAD, 0, 0, _ARGUMENTS + 8 * rule.argument)
    if isinstance(rule, OneOf):
        last = len(rule.values)
        found = [(_EQUAL, last - i, 0, value) for i, value in enumerate(rule.values)]
        return [load, *found, fail]
    if isinstance(rule, NotTogether):
        return [load, (_AND, 0, 0, rule.flags), (_EQUAL, 0, 1, rule.flags), fail]
    others = ~rule.flags & 0xFFFFFFFF
    return [load, (_AND, 0, 0, others), (_EQUAL, 1, 0, 0), fail]


def _fail(error: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | error)
