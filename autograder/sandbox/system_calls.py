"""The system calls of Linux that a submission may make, with the kernel's numbers.

Whatever is not in this table does not exist for a submission: it fails with ENOSYS, as
on an older kernel, and libraries fall back to what they did before it was invented. So
a new kernel adds nothing. Some calls stay out although they look harmless, because they
reach a neighbour through the files that all submissions share:

* ``flock`` and leases can be taken on files that are open for reading only;
* ``inotify_init``, ``fanotify_init`` tell who opens them;
* ``mincore``, ``cachestat``, ``preadv2``, ``readahead`` and ``fadvise64`` tell, or
  change, which of their pages are in memory;
* ``sysinfo`` counts the processes of the whole machine.

Others get memory that no limit counts (``memfd_create``, ``shmget``, ``mq_open``,
``add_key``, ``io_setup``), look into processes (``ptrace``, ``pidfd_getfd``), slow the
machine (``sync``, ``membarrier``), or are mostly known from attacks on the kernel
(``bpf``, ``io_uring_setup``, ``keyctl``, ``splice``, ``userfaultfd``).
"""

from __future__ import annotations

import platform
import sys

# The kernel's name for an architecture (AUDIT_ARCH_*), and its column in the table.
_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

# As in asm/unistd_64.h and, for aarch64, asm-generic/unistd.h. None: it has no such
# call, but another one with which libraries do the same.
ALLOWED: dict[str, tuple[int, int | None]] = {
    # Reading and writing.
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "preadv": (295, 69),
    "pwritev": (296, 70),
    "lseek": (8, 62),
    "sendfile": (40, 71),
    "copy_file_range": (326, 285),
    "close": (3, 57),
    "close_range": (436, 436),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "pipe": (22, None),
    "pipe2": (293, 59),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
    # Files and folders, as far as the mounts allow.
    "open": (2, None),
    "openat": (257, 56),
    "creat": (85, None),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "stat": (4, None),
    "lstat": (6, None),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getdents": (78, None),
    "getdents64": (217, 61),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "truncate": (76, 45),
    "ftruncate": (77, 46),
    "fallocate": (285, 47),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "umask": (95, 166),
    "getxattr": (191, 8),
    "lgetxattr": (192, 9),
    "fgetxattr": (193, 10),
    "listxattr": (194, 11),
    "llistxattr": (195, 12),
    "flistxattr": (196, 13),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    # Memory.
    "brk": (12, 214),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "mprotect": (10, 226),
    "madvise": (28, 233),
    "msync": (26, 227),
    # Processes and threads.
    "clone": (56, 220),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "wait4": (61, 260),
    "waitid": (247, 95),
    "set_tid_address": (218, 96),
    "set_robust_list": (273, 99),
    "rseq": (334, 293),
    "futex": (202, 98),
    "arch_prctl": (158, None),
    "prctl": (157, 167),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getpgrp": (111, None),
    "getpgid": (121, 155),
    "setpgid": (109, 154),
    "getsid": (124, 156),
    "setsid": (112, 157),
    # Identity and resource limits.
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getgroups": (115, 158),
    "capget": (125, 90),
    "getrlimit": (97, 163),
    "setrlimit": (160, 164),
    "prlimit64": (302, 261),
    "getrusage": (98, 165),
    "times": (100, 153),
    "getpriority": (140, 141),
    "setpriority": (141, 140),
    "uname": (63, 160),
    # Scheduling.
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "sched_setscheduler": (144, 119),
    "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120),
    "sched_get_priority_max": (146, 125),
    "sched_get_priority_min": (147, 126),
    "sched_rr_get_interval": (148, 127),
    "getcpu": (309, 168),
    # Signals, to its own processes.
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136),
    "rt_sigsuspend": (130, 133),
    "rt_sigtimedwait": (128, 137),
    "sigaltstack": (131, 132),
    "signalfd": (282, None),
    "signalfd4": (289, 74),
    "pause": (34, None),
    "restart_syscall": (219, 128),
    # Time.
    "time": (201, None),
    "gettimeofday": (96, 169),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "alarm": (37, None),
    "getitimer": (36, 102),
    "setitimer": (38, 103),
    "timerfd_create": (283, 85),
    "timerfd_settime": (286, 86),
    "timerfd_gettime": (287, 87),
    # Waiting.
    "select": (23, None),
    "pselect6": (270, 72),
    "poll": (7, None),
    "ppoll": (271, 73),
    "epoll_create": (213, None),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_wait": (232, None),
    "epoll_pwait": (281, 22),
    "epoll_pwait2": (441, 441),
    "eventfd": (284, None),
    "eventfd2": (290, 19),
    # Sockets, of unix alone.
    "socket": (41, 198),
    "socketpair": (53, 199),
    "bind": (49, 200),
    "connect": (42, 203),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "shutdown": (48, 210),
    "getsockname": (51, 204),
    "getpeername": (52, 205),
    "getsockopt": (55, 209),
    "setsockopt": (54, 208),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "recvfrom": (45, 207),
    "recvmsg": (47, 212),
    # Random numbers.
    "getrandom": (318, 278),
}


def supported() -> bool:
    """Whether the numbers of this machine are known."""
    return platform.machine() in _ARCHITECTURES and sys.byteorder == "little"


def architecture() -> int:
    """The kernel's name for the architecture of this machine."""
    return _ARCHITECTURES[platform.machine()][0]


def numbers() -> dict[str, int]:
    """The number of each allowed call on this machine."""
    _, column = _ARCHITECTURES[platform.machine()]
    return {
        name: number
        for name, row in ALLOWED.items()
        if (number := row[column]) is not None
    }
