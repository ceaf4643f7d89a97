"""The system calls that a submission may make (seccomp), call by call.

The filter closes when its kernel has started. From then on a submission is one process
with the sockets that it has: nothing starts another one, so that the system's own
limits of one process count all that it does. Whatever is not in the table does not
exist: it fails with ENOSYS, as on an older Linux, and libraries fall back to what they
did before it was invented. So a new Linux adds nothing. Some calls stay out although
they look harmless: they get memory that no limit counts (``memfd_create``, ``shmget``,
``mq_open``, ``io_setup``), or reach a neighbour through the files that all submissions
share (``flock``, leases, ``inotify_init``, ``mincore``, ``readahead``, ``sysinfo``).
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from dataclasses import dataclass
from functools import cache

# The kernel's name for an architecture (AUDIT_ARCH_*), its number of ``seccomp``, and
# its column in the table.
_ARCHITECTURES = {"x86_64": (0xC000003E, 317, 0), "aarch64": (0xC00000B7, 277, 1)}

# Name, number on x86_64 (asm/unistd_64.h) and on aarch64 (asm-generic/unistd.h); "-":
# it has no such call, but another one with which libraries do the same.
_TABLE = """
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68,
preadv 295 69, pwritev 296 70, lseek 8 62, sendfile 40 71, copy_file_range 326 285,
close 3 57, close_range 436 436, dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -,
pipe2 293 59, fcntl 72 25, ioctl 16 29,

open 2 -, openat 257 56, creat 85 -, access 21 -, faccessat 269 48, faccessat2 439 439,
stat 4 -, lstat 6 -, fstat 5 80, newfstatat 262 79, statx 332 291, statfs 137 43,
fstatfs 138 44, readlink 89 -, readlinkat 267 78, getdents 78 -, getdents64 217 61,
getcwd 79 17, chdir 80 49, fchdir 81 50, mkdir 83 -, mkdirat 258 34, rmdir 84 -,
link 86 -, linkat 265 37, symlink 88 -, symlinkat 266 36, unlink 87 -, unlinkat 263 35,
rename 82 -, renameat 264 38, renameat2 316 276, truncate 76 45, ftruncate 77 46,
fallocate 285 47, fsync 74 82, fdatasync 75 83, chmod 90 -, fchmod 91 52,
fchmodat 268 53, fchmodat2 452 452, utimensat 280 88, umask 95 166, getxattr 191 8,
lgetxattr 192 9, fgetxattr 193 10, listxattr 194 11, llistxattr 195 12,
flistxattr 196 13, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7,

brk 12 214, mmap 9 222, munmap 11 215, mremap 25 216, mprotect 10 226, madvise 28 233,
msync 26 227,

clone 56 220, fork 57 -, vfork 58 -, execve 59 221, exit 60 93, exit_group 231 94,
set_tid_address 218 96, set_robust_list 273 99, rseq 334 293, futex 202 98,
arch_prctl 158 -, prctl 157 167, getpid 39 172, getppid 110 173, gettid 186 178,
getpgrp 111 -, getpgid 121 155, getsid 124 156,

getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getresuid 118 148,
getresgid 120 150, getgroups 115 158, capget 125 90, getrlimit 97 163,
prlimit64 302 261, getrusage 98 165, times 100 153, getpriority 140 141,
setpriority 141 140, uname 63 160, sched_yield 24 124, sched_getaffinity 204 123,
sched_getparam 143 121, sched_getscheduler 145 120,
sched_get_priority_max 146 125, sched_get_priority_min 147 126, getcpu 309 168,

kill 62 129, tkill 200 130, tgkill 234 131, rt_sigaction 13 134, rt_sigprocmask 14 135,
rt_sigreturn 15 139, rt_sigpending 127 136, rt_sigsuspend 130 133,
rt_sigtimedwait 128 137, sigaltstack 131 132, pause 34 -, restart_syscall 219 128,

time 201 -, gettimeofday 96 169, clock_gettime 228 113, clock_getres 229 114,
nanosleep 35 101, clock_nanosleep 230 115, alarm 37 -, getitimer 36 102,
setitimer 38 103, select 23 -, pselect6 270 72, poll 7 -, ppoll 271 73,
epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -,
epoll_pwait 281 22, epoll_pwait2 441 441, eventfd 284 -, eventfd2 290 19,

socket 41 198, socketpair 53 199, shutdown 48 210, getsockname 51 204,
getpeername 52 205, getsockopt 55 209, sendto 44 206, recvfrom 45 207, getrandom 318 278
"""
ALLOWED = {
    name: tuple(None if number == "-" else int(number) for number in numbers)
    for name, *numbers in map(str.split, _TABLE.split(","))
}


@dataclass(frozen=True)
class Rule:
    """Lets a call pass if an argument, as far as a mask shows it, has certain values.

    Only the lower 32 bits are compared: the kernel uses no more of these arguments.

    Attributes:
        argument: which one, from zero.
        values: that are allowed.
        refused: the error with which the call fails otherwise.
        mask: the bits that count.
    """

    argument: int
    values: tuple[int, ...]
    refused: int
    mask: int = 0xFFFFFFFF


def _only(argument: int, flags: int, refused: int) -> Rule:
    """No flags but these."""
    return Rule(argument, (0,), refused, ~flags & 0xFFFFFFFF)


def _never(refused: int) -> tuple[Rule, ...]:
    """An error that libraries know better than ENOSYS."""
    return (Rule(0, (), refused),)


_CLONE_THREAD = 0x00010000
_FLAGS_OF_CLONE = (
    0xFF  # the signal that the parent gets
    | 0x00000F00  # CLONE_VM, _FS, _FILES, _SIGHAND
    | _CLONE_THREAD
    | 0x00040000  # CLONE_SYSVSEM, which each thread sets
    | 0x00780000  # CLONE_SETTLS, _PARENT_SETTID, _CHILD_CLEARTID, _DETACHED
    | 0x01000000  # CLONE_CHILD_SETTID
)
_FLAGS_OF_MMAP = (
    0x000003  # MAP_SHARED, MAP_PRIVATE, MAP_SHARED_VALIDATE
    | 0x000010  # MAP_FIXED
    | 0x000020  # MAP_ANONYMOUS
    | 0x000040  # MAP_32BIT
    | 0x001800  # MAP_DENYWRITE, MAP_EXECUTABLE, without effect
    | 0x004000  # MAP_NORESERVE
    | 0x008000  # MAP_POPULATE
    | 0x020000  # MAP_STACK
    | 0x100000  # MAP_FIXED_NOREPLACE
)
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
# FUTEX_WAIT, _WAKE, _REQUEUE, _CMP_REQUEUE, _WAKE_OP, _WAIT_BITSET, _WAKE_BITSET; not
# those that inherit priorities.
_FUTEX = Rule(1, (0, 1, 3, 4, 5, 9, 10), errno.ENOSYS, ~(128 | 256) & 0xFFFFFFFF)
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC. Not locks, each of which
# is kernel memory that neighbours see on shared files, nor F_SETPIPE_SZ.
_FCNTL = (0, 1, 2, 3, 4, 1030)
_IOCTL = (
    *(0x5401, 0x5413),  # TCGETS, TIOCGWINSZ
    *(0x5411, 0x541B),  # TIOCOUTQ, FIONREAD
    *(0x5421, 0x5450, 0x5451),  # FIONBIO, FIONCLEX, FIOCLEX
)
# PR_SET_NAME, PR_GET_NAME, PR_GET_NO_NEW_PRIVS, PR_SVE_GET_VL. Not PR_SET_PDEATHSIG: a
# kernel ends with its warden.
_PRCTL = (15, 16, 39, 51)
_XCOMP = (0x1021, 0x1022, 0x1023)  # ARCH_*_XCOMP_*: torch multiplies matrices in tiles
# Not RLIMIT_CPU and RLIMIT_RTTIME, whose SIGKILL would look like one from outside, nor
# RLIMIT_CORE: at 0, Linux still pipes a dump to a program of the host.
_LIMITS = tuple(number for number in range(16) if number not in (0, 4, 15))

# A kernel is deaf to its own SIGKILL, but for the moment between a fault that Linux
# makes deadly and its end. There, one would look like one from outside.
_SIGNALS = tuple(number for number in range(65) if number != 9)
# MSG_PEEK, MSG_DONTWAIT, MSG_WAITALL, MSG_NOSIGNAL. Not MSG_OOB: a socket is then
# readable, and there is nothing to be read.
_FLAGS_OF_MESSAGES = 0x2 | 0x40 | 0x100 | 0x4000

# A call is made only if all of its rules allow it.
RULES: dict[str, tuple[Rule, ...]] = {
    "arch_prctl": (Rule(0, _XCOMP, errno.EINVAL),),
    "clone": (
        Rule(0, (_CLONE_THREAD,), errno.EPERM, _CLONE_THREAD),
        _only(0, _FLAGS_OF_CLONE, errno.EPERM),
    ),
    **dict.fromkeys(("fork", "vfork", "execve"), _never(errno.EPERM)),
    **dict.fromkeys(("socket", "socketpair"), _never(errno.EPERM)),
    "fcntl": (Rule(1, _FCNTL, errno.EPERM),),
    **dict.fromkeys(("kill", "tkill"), (Rule(1, _SIGNALS, errno.EPERM),)),
    "tgkill": (Rule(2, _SIGNALS, errno.EPERM),),
    **dict.fromkeys(
        ("sendto", "recvfrom"), (_only(3, _FLAGS_OF_MESSAGES, errno.EOPNOTSUPP),)
    ),
    "futex": (_FUTEX,),
    "ioctl": (Rule(1, _IOCTL, errno.ENOTTY),),
    "madvise": (Rule(2, _ADVICE, errno.EINVAL),),
    "mmap": (_only(3, _FLAGS_OF_MMAP, errno.EINVAL),),
    "prctl": (Rule(0, _PRCTL, errno.EPERM),),
    "prlimit64": (Rule(1, _LIMITS, errno.EACCES),),
    # As on a file system without attributes: copying a file goes on without them.
    **dict.fromkeys(("setxattr", "lsetxattr", "fsetxattr"), _never(errno.EOPNOTSUPP)),
}

_LOAD, _AND, _EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in what a filter reads
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_SET_MODE_FILTER, _OF_ALL_THREADS = 1, 1

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def supported() -> bool:
    """Whether the numbers of this machine are known."""
    return platform.machine() in _ARCHITECTURES and sys.byteorder == "little"


def forbid_system_calls() -> None:
    """Install the filter in all threads of this process, for good.

    Raises:
        OSError: the kernel has no seccomp.
    """
    program = compiled()

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]

    filters = Program(len(program) // 8, program)
    _, seccomp, _ = _ARCHITECTURES[platform.machine()]
    libc = ctypes.CDLL(None, use_errno=True)
    words = map(ctypes.c_long, (seccomp, _SET_MODE_FILTER, _OF_ALL_THREADS))
    if libc.syscall(*words, ctypes.byref(filters)) != 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls was refused")


@cache
def compiled() -> bytes:
    """The filter for this machine, a program as the kernel reads it (classic BPF).

    Raises:
        KeyError: the numbers of this machine are not known.
    """
    architecture, _, column = _ARCHITECTURES[platform.machine()]
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        # 32-bit calls have other numbers. (Those of x32 have a bit more than ours.)
        (_EQUAL, 1, 0, architecture),
        _fail(errno.ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    # Those with rules first: the kernel remembers which of the others it may skip.
    for name in sorted(ALLOWED, key=lambda name: name not in RULES):
        if (number := ALLOWED[name][column]) is not None:
            body = [step for rule in RULES.get(name, ()) for step in _check(rule)]
            body.append((_RETURN, 0, 0, _ALLOW))
            steps += [(_EQUAL, 0, len(body), number), *body]
    steps.append(_fail(errno.ENOSYS))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _check(rule: Rule) -> list[Instruction]:
    """Steps that fail if an argument breaks a rule, and otherwise go on below."""
    last = len(rule.values)
    return [
        (_LOAD, 0, 0, _ARGUMENTS + 8 * rule.argument),
        (_AND, 0, 0, rule.mask),
        *((_EQUAL, last - i, 0, value) for i, value in enumerate(rule.values)),
        _fail(rule.refused),
    ]


def _fail(error: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | error)
