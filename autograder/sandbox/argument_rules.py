"""What the arguments of an allowed system call may be.

As with the calls themselves, values that are not listed are refused. Only the lower 32
bits of an argument are compared: for all of these, the kernel uses no more.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass


@dataclass(frozen=True)
class OneOf:
    """An argument that must be one of some values.

    Attributes:
        argument: which one, from zero.
        values: those that are allowed.
        refused: the error with which a call fails otherwise.
    """

    argument: int
    values: tuple[int, ...]
    refused: int


@dataclass(frozen=True)
class _Flags:
    argument: int
    flags: int
    refused: int


class OnlyFlags(_Flags):
    """An argument in which no flags but these may be set; the rest as of ``OneOf``."""


class NotTogether(_Flags):
    """An argument in which any of these flags may be set, but not all at once."""


@dataclass(frozen=True)
class Never:
    """Refuses a call with an error that libraries know better than ENOSYS.

    Attributes:
        refused: the error with which it fails.
    """

    refused: int


Rule = OneOf | OnlyFlags | NotTogether | Never

_AF_UNIX = 1
_SOL_SOCKET = 1
_SOCKET_OPTIONS = (
    *(2, 15),  # SO_REUSEADDR, SO_REUSEPORT
    *(9, 13, 16, 18),  # SO_KEEPALIVE, SO_LINGER, SO_PASSCRED, SO_RCVLOWAT
    *(20, 21, 66, 67),  # SO_RCVTIMEO and SO_SNDTIMEO, old and new
)

_FLAGS_OF_CLONE = (
    0xFF  # the signal that the parent gets
    | 0x00000100  # CLONE_VM
    | 0x00000200  # CLONE_FS
    | 0x00000400  # CLONE_FILES
    | 0x00000800  # CLONE_SIGHAND
    | 0x00004000  # CLONE_VFORK
    | 0x00010000  # CLONE_THREAD
    | 0x00040000  # CLONE_SYSVSEM, which each thread sets
    | 0x00080000  # CLONE_SETTLS
    | 0x00100000  # CLONE_PARENT_SETTID
    | 0x00200000  # CLONE_CHILD_CLEARTID
    | 0x00400000  # CLONE_DETACHED, without effect
    | 0x01000000  # CLONE_CHILD_SETTID
)

_FLAGS_OF_MMAP = (
    0x000003  # MAP_SHARED, MAP_PRIVATE, MAP_SHARED_VALIDATE
    | 0x000010  # MAP_FIXED
    | 0x000020  # MAP_ANONYMOUS
    | 0x000040  # MAP_32BIT
    | 0x000800  # MAP_DENYWRITE, without effect
    | 0x001000  # MAP_EXECUTABLE, without effect
    | 0x004000  # MAP_NORESERVE
    | 0x008000  # MAP_POPULATE
    | 0x020000  # MAP_STACK
    | 0x100000  # MAP_FIXED_NOREPLACE
)
_SHARED_AND_ANONYMOUS = 0x01 | 0x20  # memory that belongs to no process and no file

# Not MADV_MERGEABLE, which merges equal pages of neighbours, nor what puts pages of
# shared files into memory or out of it (MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT).
_ADVICE = (
    *(0, 1, 2),  # MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL
    *(4, 8),  # MADV_DONTNEED, MADV_FREE
    *(10, 11, 18, 19),  # MADV_DONTFORK, MADV_DOFORK, MADV_WIPEONFORK, MADV_KEEPONFORK
    *(14, 15),  # MADV_HUGEPAGE, MADV_NOHUGEPAGE
    *(16, 17),  # MADV_DONTDUMP, MADV_DODUMP
    *(102, 103),  # MADV_GUARD_INSTALL, MADV_GUARD_REMOVE
)

_PRIVATE, _CLOCK_REALTIME = 128, 256  # flags of a futex
_FUTEX = tuple(
    operation | flags
    # FUTEX_WAIT, _WAKE, _REQUEUE, _CMP_REQUEUE, _WAKE_OP, _WAIT_BITSET, _WAKE_BITSET;
    # not those that inherit priorities.
    for operation in (0, 1, 3, 4, 5, 9, 10)
    for flags in (0, _PRIVATE, _CLOCK_REALTIME, _PRIVATE | _CLOCK_REALTIME)
)

# Not F_SETLK and its kin (each lock is kernel memory, and neighbours see one on shared
# files), F_SETLEASE and F_NOTIFY (they see who opens one), F_SETOWN, F_SETSIG,
# F_SETPIPE_SZ.
_FCNTL = (
    *(0, 1030),  # F_DUPFD, F_DUPFD_CLOEXEC
    *(1, 2, 3, 4),  # F_GETFD, F_SETFD, F_GETFL, F_SETFL
)

# Not TIOCSTI and TIOCLINUX (they type for others), TIOCSETD, FIOASYNC, and whatever
# belongs to a device or a file system.
_IOCTL = (
    *(0x5401, 0x5402, 0x5403, 0x5404),  # TCGETS, TCSETS, TCSETSW, TCSETSF
    *(0x802C542A, 0x402C542B, 0x402C542C, 0x402C542D),  # the same, with 2 at the end
    *(0x5409, 0x540A, 0x540B),  # TCSBRK, TCXONC, TCFLSH
    *(0x540E, 0x5422, 0x5429),  # TIOCSCTTY, TIOCNOTTY, TIOCGSID
    *(0x540F, 0x5410),  # TIOCGPGRP, TIOCSPGRP
    *(0x5413, 0x5414),  # TIOCGWINSZ, TIOCSWINSZ
    *(0x5411, 0x541B),  # TIOCOUTQ, FIONREAD
    *(0x80045430, 0x40045431, 0x5441),  # TIOCGPTN, TIOCSPTLCK, TIOCGPTPEER
    *(0x5421, 0x5450, 0x5451),  # FIONBIO, FIONCLEX, FIOCLEX
)

# Not PR_SET_PDEATHSIG and PR_SET_DUMPABLE, which would blind the warden, nor
# PR_SET_SECCOMP, PR_SET_MM, PR_SET_PTRACER, PR_SET_MEMORY_MERGE.
_PRCTL = (
    *(2, 3),  # PR_GET_PDEATHSIG, PR_GET_DUMPABLE
    *(15, 16),  # PR_SET_NAME, PR_GET_NAME
    *(21, 23, 39),  # PR_GET_SECCOMP, PR_CAPBSET_READ, PR_GET_NO_NEW_PRIVS
    38,  # PR_SET_NO_NEW_PRIVS
    *(29, 30),  # PR_SET_TIMERSLACK, PR_GET_TIMERSLACK
    *(41, 42),  # PR_SET_THP_DISABLE, PR_GET_THP_DISABLE
    51,  # PR_SVE_GET_VL
)

_ARCH_PRCTL = (
    *(0x1002, 0x1003),  # ARCH_SET_FS, ARCH_GET_FS: each thread has its own variables
    *(0x1021, 0x1022, 0x1023),  # ARCH_*_XCOMP_*: torch multiplies matrices in tiles
)

_NO_LIMITS = (
    0,  # RLIMIT_CPU and
    15,  # RLIMIT_RTTIME: its SIGKILL would look like one from outside
    4,  # RLIMIT_CORE: at 0, Linux still pipes a dump to a program of the host
)
_LIMITS = tuple(number for number in range(16) if number not in _NO_LIMITS)

_NOT_IN_REAL_TIME = (0, 3, 5)  # SCHED_OTHER, which ZeroMQ sets, _BATCH and _IDLE

# A call is made only if all of its rules allow it.
RULES: dict[str, tuple[Rule, ...]] = {
    "arch_prctl": (OneOf(0, _ARCH_PRCTL, errno.EINVAL),),
    "clone": (OnlyFlags(0, _FLAGS_OF_CLONE, errno.EPERM),),
    "fcntl": (OneOf(1, _FCNTL, errno.EPERM),),
    "futex": (OneOf(1, _FUTEX, errno.ENOSYS),),
    "ioctl": (OneOf(1, _IOCTL, errno.ENOTTY),),
    "madvise": (OneOf(2, _ADVICE, errno.EINVAL),),
    "mmap": (
        OnlyFlags(3, _FLAGS_OF_MMAP, errno.EINVAL),
        NotTogether(3, _SHARED_AND_ANONYMOUS, errno.EPERM),
    ),
    "prctl": (OneOf(0, _PRCTL, errno.EPERM),),
    "prlimit64": (OneOf(1, _LIMITS, errno.EACCES),),
    "setrlimit": (OneOf(0, _LIMITS, errno.EACCES),),
    "setsockopt": (
        OneOf(1, (_SOL_SOCKET,), errno.ENOPROTOOPT),
        OneOf(2, _SOCKET_OPTIONS, errno.EPERM),
    ),
    "sched_setscheduler": (OneOf(1, _NOT_IN_REAL_TIME, errno.EPERM),),
    # As on a file system without attributes: copying a file goes on without them.
    **dict.fromkeys(("setxattr", "lsetxattr", "fsetxattr"), (Never(errno.EOPNOTSUPP),)),
    "socket": (OneOf(0, (_AF_UNIX,), errno.EAFNOSUPPORT),),
    "socketpair": (OneOf(0, (_AF_UNIX,), errno.EAFNOSUPPORT),),
}
