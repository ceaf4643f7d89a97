"""System calls that a submission may not make.

Some calls get memory that no limit counts (shared memory without a file, locks, socket
buffers of the network), some outlive the process (keys), some reach other processes,
and some are only ever used to attack the kernel. A notebook needs none of them.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys

# Numbers on x86_64 and aarch64.
_FORBIDDEN = {
    "add_key": (248, 217),
    "bpf": (321, 280),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setns": (308, 268),
    "shmget": (29, 194),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vmsplice": (278, 75),
}
_FCNTL, _MMAP, _PRCTL = (72, 25), (9, 222), (157, 167)
_SETSOCKOPT, _SOCKET = (54, 208), (41, 198)
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_AF_UNIX = 1
_SHARED_AND_ANONYMOUS = 0x01 | 0x20  # flags of mmap
_LOCKS = (6, 7, 36, 37, 38)  # F_SETLK and its kin: each lock is kernel memory
_SET_PIPE_SIZE = 1031
_PDEATHSIG, _DUMPABLE = 1, 4  # options of prctl
_SOL_SOCKET, _SNDBUF, _SNDBUFFORCE = 1, 7, 32
_X32_BIT = 0x40000000

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _AND, _EQUAL, _GREATER, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in what a filter reads

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def supported() -> bool:
    """Whether there is a filter for this machine."""
    return platform.machine() in _ARCHITECTURES and sys.byteorder == "little"


def forbid_system_calls() -> None:
    """Install the filter in this process, for good, and in all that it starts.

    Raises:
        OSError: the kernel has no seccomp.
    """
    program = b"".join(struct.pack("HBBI", *step) for step in _program())

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]

    filters = Program(len(program) // 8, program)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(filters), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls was refused")


def _program() -> list[Instruction]:
    column, architecture = _ARCHITECTURES[platform.machine()]
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        _fail(errno.ENOSYS),  # 32-bit calls have other numbers
        (_LOAD, 0, 0, _NUMBER),
        (_GREATER, 0, 1, _X32_BIT),
        _fail(errno.ENOSYS),
    ]
    for numbers in _FORBIDDEN.values():
        steps += [(_EQUAL, 0, 1, numbers[column]), _fail(errno.EPERM)]
    for numbers, rule in (
        (_SOCKET, [_argument(0), (_EQUAL, 1, 0, _AF_UNIX), _fail(errno.EAFNOSUPPORT)]),
        (
            _MMAP,
            [
                _argument(3),
                (_AND, 0, 0, _SHARED_AND_ANONYMOUS),
                *_refuse([_SHARED_AND_ANONYMOUS], errno.EPERM),
            ],
        ),
        (
            _FCNTL,
            [
                _argument(1),
                *_refuse(_LOCKS, errno.ENOLCK),
                *_refuse([_SET_PIPE_SIZE], errno.EPERM),
            ],
        ),
        (_PRCTL, [_argument(0), *_refuse([_PDEATHSIG, _DUMPABLE], errno.EPERM)]),
        (
            _SETSOCKOPT,
            [
                _argument(1),
                (_EQUAL, 1, 0, _SOL_SOCKET),
                (_RETURN, 0, 0, _ALLOW),
                _argument(2),
                *_refuse([_SNDBUF, _SNDBUFFORCE], errno.EPERM),
            ],
        ),
    ):
        rule = [*rule, (_RETURN, 0, 0, _ALLOW)]
        steps += [(_EQUAL, 0, len(rule), numbers[column]), *rule]
    return [*steps, (_RETURN, 0, 0, _ALLOW)]


def _argument(number: int) -> Instruction:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * number)


def _refuse(values: list[int] | tuple[int, ...], error: int) -> list[Instruction]:
    return [s for value in values for s in ((_EQUAL, 0, 1, value), _fail(error))]


def _fail(error: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | error)
