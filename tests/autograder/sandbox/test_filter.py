"""The filter of system calls, call by call, against the kernel's own tables."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from errno import (
    EBADF,
    EINVAL,
    ENOSYS,
    ENOTTY,
    EOPNOTSUPP,
    EPERM,
    ESRCH,
)
from pathlib import Path

import pytest

from autograder.sandbox.filter import ALLOWED, supported
from tests.autograder.sandbox.test_kernels import run

pytestmark = pytest.mark.skipif(not supported(), reason="no filter for this machine")

HEADERS = {
    "x86_64": (
        "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
        "/usr/include/asm/unistd_64.h",
    ),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}
# Where the generic table has a name for 32 and 64 bits, and arm64 uses the other.
RENAMED = {"fstatat": "newfstatat"}
LAST = 1100  # far beyond the calls of any kernel
# uretprobe and uprobe on x86_64: the kernel kills who calls them, past all filters.
DEADLY = {335, 336}

ARGUMENTS = {  # what is called, and the error it fails with
    "a lock on a file": (("fcntl", 0, 6, 0), EPERM),
    "a lease": (("fcntl", 0, 1024, 0), EPERM),
    "a larger pipe": (("fcntl", 0, 1031, 2**20), EPERM),
    "typing into a terminal": (("ioctl", 0, 0x5412, 0), ENOTTY),
    **{
        f"a namespace of its own ({flag:#x})": (("clone", flag | kind, 0, 0), EPERM)
        for flag in (0x20000, 0x2000000, *(0x4000000 << n for n in range(5)))
        for kind in (17, 0x10F00)  # of a process, and of a thread
    },
    "a child by clone": (("clone", 17, 0, 0, 0, 0), EPERM),
    "a child by fork": (("fork",), EPERM),
    "a program": (("execve", 0, 0, 0), EPERM),
    "no signal when the parent dies": (("prctl", 1, 0), EPERM),
    "memory that cannot be seen": (("prctl", 4, 0), EPERM),
    "pages merged with neighbours": (("madvise", 0, 4096, 12), EINVAL),
    "huge pages of the machine": (("mmap", 0, 2**21, 3, 0x40022, -1, 0), EINVAL),
    "a futex with priorities": (("futex", 0, 6, 0, 0, 0, 0), ENOSYS),
    "scheduling in real time": (("sched_setscheduler", 0, 1, 0), ENOSYS),
    "an attribute of a file": (("setxattr", 0, 0, 0, 0, 0), EOPNOTSUPP),
    "a socket": (("socket", 1, 1, 0, 0), EPERM),
    "urgent data": (("sendto", -1, 0, 0, 1, 0, 0), EOPNOTSUPP),
    "looking for urgent data": (("recvfrom", -1, 0, 0, 1, 0, 0), EOPNOTSUPP),
    "an end that looks like one from outside": (("kill", 2**22, 9), EPERM),
    "the end of a thread": (("tgkill", 2**22, 2**22, 9), EPERM),
    "a larger send buffer": (("setsockopt", 0, 1, 7, 0, 0), ENOSYS),
    # The kernel itself answers: there is no such file, or nothing to be done.
    "a flag of a descriptor": (("fcntl", -1, 1, 0), EBADF),
    "a signal to nobody": (("kill", 2**22, 15), ESRCH),
    "data for no socket": (("sendto", -1, 0, 0, 0x4040, 0, 0), EBADF),
    "a private mapping of a file": (("mmap", 0, 4096, 1, 2, -1, 0), EBADF),
    "a question about privileges": (("prctl", 39, 1, 0, 0, 0), EINVAL),
    "waking nobody": (("futex", 1, 129, 1, 0, 0, 0), EINVAL),  # not aligned
}

IN_A_CHILD = """
import ctypes, json, sys
from autograder.sandbox.filter import forbid_system_calls
libc = ctypes.CDLL(None, use_errno=True)
calls = json.load(sys.stdin)
assert libc.prctl(38, 1, 0, 0, 0) == 0  # no new privileges, as the kernel demands
forbid_system_calls()
found = []
for words in calls:
    ctypes.set_errno(0)
    result = libc.syscall(*map(ctypes.c_long, words))
    found.append(ctypes.get_errno() if result == -1 else -1)
print(json.dumps(found))
"""


def kernels_table(machine: str) -> dict[str, int]:
    """Names and numbers in the headers of the kernel, of one kind of machine."""
    for path in map(Path, HEADERS[machine]):
        if path.exists():
            text = path.read_text(encoding="utf-8")
            found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)
            return {RENAMED.get(name, name): int(number) for name, number in found}
    return pytest.skip(f"the kernel's headers for {machine} are not installed")


def errors(calls: list[tuple[int, ...]]) -> list[int]:
    """The error with which each call fails behind the filter; -1 where it does not."""
    child = subprocess.run(
        [sys.executable, "-c", IN_A_CHILD],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)


@pytest.mark.parametrize("machine", HEADERS)
def test_numbers_are_those_of_the_kernel(machine):
    column = list(HEADERS).index(machine)
    kernels = kernels_table(machine)
    newer = {name for name in ALLOWED if name not in kernels}
    ours = {name: row[column] for name, row in ALLOWED.items() if name not in newer}
    assert ours == {name: kernels[name] for name in ours}
    for name in newer:  # than the headers, or not on this kind of machine
        number = ALLOWED[name][column]
        assert number is None or number > max(kernels.values()), name


def test_every_call_that_nobody_allowed_is_unknown_and_so_are_those_to_come():
    kernels = kernels_table(platform.machine())
    allowed = {kernels[name] for name in ALLOWED if name in kernels}
    column = list(HEADERS).index(platform.machine())
    allowed |= {row[column] for name, row in ALLOWED.items() if name not in kernels}
    others = sorted(set(range(LAST)) - allowed - DEADLY)
    failed = dict(zip(others, errors([(n, *[-1] * 6) for n in others]), strict=True))
    assert {n: error for n, error in failed.items() if error != ENOSYS} == {}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="an instruction of x86")
def test_a_32_bit_call_is_refused():
    """``getpid`` by int 0x80: -38 is ENOSYS; without the filter, it is a number."""
    code = (
        "import ctypes, mmap\n"
        "from autograder.sandbox.filter import forbid_system_calls\n"
        "page = mmap.mmap(-1, 4096, flags=34, prot=7)\n"
        "page.write(bytes.fromhex('53b814000000cd805bc3'))\n"
        "start = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "getpid = ctypes.CFUNCTYPE(ctypes.c_int)(start)\n"
        "ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)\n"
        "forbid_system_calls()\n"
        "print(getpid())\n"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if child.returncode == -11:
        pytest.skip("this kernel has no 32-bit calls")
    assert child.stdout == f"{-ENOSYS}\n", child.stderr


def test_arguments_that_nobody_allowed_are_refused_and_others_reach_the_kernel():
    table = kernels_table(platform.machine())
    known = {n: (call, e) for n, (call, e) in ARGUMENTS.items() if call[0] in table}
    found = errors([(table[call[0]], *call[1:]) for call, _ in known.values()])
    expected = {what: error for what, (_, error) in known.items()}
    assert dict(zip(known, found, strict=True)) == expected


def test_threads_that_began_before_are_not_outside_of_the_filter():
    code = (
        "import ctypes, os, threading\n"
        "from autograder.sandbox.filter import forbid_system_calls\n"
        "begin = threading.Event()\n"
        "def work():\n"
        "    begin.wait()\n"
        "    try: os.fork()\n"
        "    except OSError as error: print(error.errno)\n"
        "thread = threading.Thread(target=work)\n"
        "ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)\n"
        "thread.start(); forbid_system_calls(); begin.set(); thread.join()\n"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert child.stdout == f"{EPERM}\n", child.stderr


# What a notebook needs, in a kernel of the sandbox. Each prints "fine".
NEEDED = {
    "a pool of threads": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    assert list(pool.map(abs, range(-9, 0))) == list(range(9, 0, -1))\n"
        "print('fine')"
    ),
    "numpy": (
        "import numpy as np\n"
        "a = np.random.default_rng(0).normal(size=(300, 300))\n"
        "np.testing.assert_allclose(np.linalg.inv(a) @ a, np.eye(300), atol=1e-6)\n"
        "np.save('/tmp/a.npy', a)\n"
        "m = np.load('/tmp/a.npy', mmap_mode='r+'); m[0] = 1; m.flush()\n"
        "assert np.load('/tmp/a.npy')[0, 0] == 1\n"
        "print('fine')"
    ),
    "torch with many threads": (
        "import torch\n"
        "torch.set_num_threads(2)\n"
        "net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(),\n"
        "                          torch.nn.Linear(256, 1))\n"
        "adam = torch.optim.Adam(net.parameters())\n"
        "for _ in range(3):\n"
        "    adam.zero_grad(); net(torch.randn(512, 64)).square().mean().backward()\n"
        "    adam.step()\n"
        "torch.save(net.state_dict(), '/tmp/net.pt')\n"
        "net.load_state_dict(torch.load('/tmp/net.pt', mmap=True))\n"
        "print('fine')"
    ),
    "matplotlib": (
        "import matplotlib.pyplot as plt\n"
        "fig, ax = plt.subplots(); ax.plot([1, 2]); fig.savefig('/tmp/x.pdf')\n"
        "fig.savefig('/tmp/x.png'); plt.close(fig)\n"
        "print('fine')"
    ),
    "files of its own": (
        "import mmap, os, pathlib, shutil, tempfile\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    a = pathlib.Path(folder, 'a'); a.write_bytes(bytes(9999))\n"
        "    with a.open('r+b') as f, mmap.mmap(f.fileno(), 0) as m:\n"
        "        m[:2] = b'ab'; m.flush()\n"
        "    shutil.copy2(a, a.with_name('b')); shutil.copytree(folder, '/tmp/copy')\n"
        "    os.utime(a, (1, 1)); a.chmod(0o600); a.rename(a.with_name('c'))\n"
        "    fd = os.open(f'{folder}/b', os.O_RDONLY)\n"
        "    assert os.pread(fd, 2, 0) == b'ab'; os.fsync(fd); os.close(fd)\n"
        "    os.symlink('b', f'{folder}/s')\n"
        "with tempfile.NamedTemporaryFile() as f, tempfile.TemporaryFile() as g:\n"
        "    f.write(b'x'); g.truncate(99)\n"
        "shutil.copy2(os.__file__, '/tmp/os.py')\n"
        "parts = [bytearray(2)]\n"
        "with open('/tmp/copy/b', 'rb') as f: os.preadv(f.fileno(), parts, 0)\n"
        "assert parts == [b'ab']\n"
        "print('fine')"
    ),
    "magics": (
        "get_ipython().run_line_magic('time', '1 + 1')\n"
        "get_ipython().run_line_magic('timeit', '-n1 -r1 1 + 1')\n"
        "get_ipython().run_cell_magic('writefile', '/tmp/m.py', 'x = 3')\n"
        "get_ipython().run_line_magic('history', '')\n"
        "get_ipython().run_line_magic('run', '/tmp/m.py')\n"
        "assert x == 3\n"
        "print('fine')"
    ),
}


def test_what_a_notebook_needs_works(needs_sandbox):
    texts, ended = run(*NEEDED.values(), submission_seconds=120, cell_seconds=60)
    assert ended is None
    said = dict(zip(NEEDED, texts, strict=True))
    assert {n: text for n, text in said.items() if not text.endswith("fine\n")} == {}
