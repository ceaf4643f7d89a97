"""Two submissions that are graded at the same moment, and want to talk.

One of them signals: it does something, stops, and does it again. The other one looks
at the same time, and prints all that it saw. Whoever saw two different things could
read an answer from its neighbour, bit by bit.
"""

from __future__ import annotations

import pytest

from tests.autograder.sandbox.test_kernels import run_together

pytestmark = pytest.mark.usefixtures("needs_sandbox")
PAIRS = 3  # that are tried at once

PREPARE = """
import ctypes, fcntl, os, socket, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
shared = os.open('/course/autograder/__init__.py', os.O_RDONLY)
def call(function, *arguments):
    if (result := function(*arguments)) == -1:
        raise OSError(ctypes.get_errno(), 'refused')
    return result
"""
SIGNAL = """
end = time.monotonic() + 2
while time.monotonic() < end:
    try:
        kept = signal()
        time.sleep(0.1)
        stop(kept)
    except (OSError, ValueError) as error:
        failed = error
    time.sleep(0.05)
"""
LOOK = """
end, seen = time.monotonic() + 2, set()
while time.monotonic() < end:
    try:
        seen.add(str(look()))
    except (OSError, ValueError) as error:
        seen.add(type(error).__name__)
    time.sleep(0.01)
print(sorted(seen))
"""

CHANNELS = {  # how one signals, and how the other one looks
    "a lock on a file that is open for reading": (
        "def signal(): fcntl.flock(shared, fcntl.LOCK_EX)\n"
        "def stop(_): fcntl.flock(shared, fcntl.LOCK_UN)\n",
        "def look():\n"
        "    fcntl.flock(shared, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "    fcntl.flock(shared, fcntl.LOCK_UN)\n",
    ),
    "a lock on a part of a file": (
        "def signal(): fcntl.lockf(shared, fcntl.LOCK_SH, 1)\n"
        "def stop(_): fcntl.lockf(shared, fcntl.LOCK_UN, 1)\n",
        "def look():\n"
        "    asked = struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 1, 0)\n"
        "    return fcntl.fcntl(shared, fcntl.F_GETLK, asked)[0]\n",
    ),
    "a lock of an open file": (
        "lock = lambda kind: struct.pack('hhqqi4x', kind, 0, 0, 1, 0)\n"
        "def signal(): fcntl.fcntl(shared, 37, lock(fcntl.F_RDLCK))\n"
        "def stop(_): fcntl.fcntl(shared, 37, lock(fcntl.F_UNLCK))\n",
        "def look():\n"
        "    asked = struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 1, 0)\n"
        "    return fcntl.fcntl(shared, 36, asked)[0]\n",
    ),
    "notice of who opens a file": (
        "def signal(): return os.open('/usr/bin/env', os.O_RDONLY)\n"
        "def stop(kept): os.close(kept)\n",
        "def look():\n"
        "    if 'fd' not in globals():\n"
        "        globals()['fd'] = call(libc.inotify_init1, os.O_NONBLOCK)\n"
        "        call(libc.inotify_add_watch, fd, b'/usr/bin/env', 0x20)\n"
        "    return len(os.read(fd, 4096))\n",
    ),
    "the time at which a file was read": (
        "path = '/usr/share/common-licenses/GPL-3'\n"
        "path = path if os.path.exists(path) else os.__file__\n"
        "def signal(): open(path, 'rb').read()\n"
        "def stop(_): pass\n",
        "path = '/usr/share/common-licenses/GPL-3'\n"
        "path = path if os.path.exists(path) else os.__file__\n"
        "def look(): return os.stat(path).st_atime_ns\n",
    ),
    "the number of processes of the machine": (
        "def signal():\n"
        "    rest = threading.Event()\n"
        "    for _ in range(60): threading.Thread(target=rest.wait).start()\n"
        "    return rest\n"
        "def stop(rest): rest.set()\n",
        "def look(): return open('/proc/loadavg').read().split()[3].split('/')[1]\n",
    ),
    "the same, by a system call": (
        "def signal():\n"
        "    rest = threading.Event()\n"
        "    for _ in range(60): threading.Thread(target=rest.wait).start()\n"
        "    return rest\n"
        "def stop(rest): rest.set()\n",
        "info = (ctypes.c_ulong * 32)()\n"
        "def look():\n"
        "    call(libc.sysinfo, info)\n"
        "    return info[10] & 0xffff\n",
    ),
    "the number of open files of the machine": (
        "def signal(): return [os.open('/dev/null', 0) for _ in range(300)]\n"
        "def stop(kept): [os.close(fd) for fd in kept]\n",
        "def look(): return open('/proc/sys/fs/file-nr').read()\n",
    ),
    "a list of locks": (
        "def signal(): fcntl.flock(shared, fcntl.LOCK_EX)\n"
        "def stop(_): fcntl.flock(shared, fcntl.LOCK_UN)\n",
        "def look(): return open('/proc/locks').read()\n",
    ),
    "a file in shared memory": (
        "def signal(): open('/dev/shm/neighbour', 'w').close()\n"
        "def stop(_): os.unlink('/dev/shm/neighbour')\n",
        "def look(): return os.path.exists('/dev/shm/neighbour')\n",
    ),
    "room on the disk": (
        "def signal(): open('/tmp/large', 'wb').write(bytes(2**24))\n"
        "def stop(_): os.unlink('/tmp/large')\n",
        "def look(): return os.statvfs('/tmp').f_bfree\n",
    ),
    "a segment of System V": (
        "def signal(): return call(libc.shmget, 99, 4096, 0o1666)\n"
        "def stop(kept): call(libc.shmctl, kept, 0, None)\n",
        "def look(): return call(libc.shmget, 99, 4096, 0)\n",
    ),
    "which pages of a file are in memory": (
        "import mmap\n"
        "def signal(): call(libc.readahead, shared, ctypes.c_long(0), 4096)\n"
        "def stop(_): os.posix_fadvise(shared, 0, 0, os.POSIX_FADV_DONTNEED)\n",
        "import mmap\n"
        "page = mmap.mmap(shared, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | 2)\n"
        "start = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "def look():\n"
        "    resident = ctypes.c_ubyte()\n"
        "    call(libc.mincore, ctypes.c_void_p(start), 1, ctypes.byref(resident))\n"
        "    return resident.value & 1\n",
    ),
    "the name of the machine": (
        "def signal(): socket.sethostname('signal')\n"
        "def stop(_): socket.sethostname('sandbox')\n",
        "def look(): return socket.gethostname()\n",
    ),
}


@pytest.fixture(scope="module")
def told():
    """How both of a channel ended, and what one saw; most of the time, all wait."""
    told, channels = {}, list(CHANNELS)
    for start in range(0, len(channels), PAIRS):
        names = channels[start : start + PAIRS]
        pairs = [CHANNELS[name] for name in names]
        signals = [(PREPARE, signal + SIGNAL) for signal, _ in pairs]
        looks = [(PREPARE, look + LOOK) for _, look in pairs]
        done = run_together(*signals, *looks, cell_seconds=30, submission_seconds=60)
        halves = done[: len(names)], done[len(names) :]
        told |= zip(names, zip(*halves, strict=True), strict=True)
    return told


@pytest.mark.parametrize("channel", CHANNELS)
def test_what_one_does_the_other_cannot_see(told, channel):
    (_, failed), ((_, seen), ended) = told[channel]
    assert failed is None
    assert ended is None
    assert len(eval(seen)) == 1, seen
