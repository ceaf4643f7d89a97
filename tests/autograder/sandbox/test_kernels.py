"""What code in the sandbox can see and touch."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder.grading.client import SubmissionClient
from autograder.grading.clock import Clock
from autograder.sandbox.bubblewrap import (
    SandboxUnavailable,
    bubblewrap_command,
    require_bubblewrap,
    site_folders,
)
from autograder.sandbox.confine import ONE_PROCESS
from autograder.sandbox.connection import ForkServer, Sandbox, fork_servers
from autograder.sandbox.limits import Limits
from autograder.sandbox.manager import SandboxKernelManager

pytestmark = pytest.mark.usefixtures("needs_sandbox")
ROOT = Path(__file__).resolve().parents[3]


def run(*sources, **limits):
    """Run cells in one sandboxed kernel; text of each, and how it ended."""
    return asyncio.run(_run(sources, limits))


def run_together(*kernels, **limits):
    """The same for several kernels at once, each given by its cells."""

    async def go():
        return await asyncio.gather(*(_run(sources, limits) for sources in kernels))

    return asyncio.run(go())


async def _run(sources, limits):
    limits = Limits(**{"cell_seconds": 10, "submission_seconds": 30, **limits})
    manager = SandboxKernelManager(limits=limits, servers=fork_servers())
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    client = SubmissionClient(notebook, manager, limits, Clock(limits, alone=True))
    ended = None
    try:
        async with client.async_setup_kernel():
            for number, cell in enumerate(notebook.cells):
                ended = await client.run(cell, number)
                if ended:
                    break
    finally:
        await client.close(manager)
    return ["".join(_text(o) for o in cell.outputs) for cell in notebook.cells], ended


def _text(output):
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return output.get("text") or output.get("data", {}).get("text/plain", "")


def test_kernel_runs_with_the_libraries_of_the_course():
    (text,), ended = run("import numpy, torch, toolkit.figures; print(torch.ones(2))")
    assert text == "tensor([1., 1.])\n"
    assert ended is None


def test_a_kernel_cannot_stop_or_end_itself_with_a_signal():
    """So who did was outside, and it is not to blame."""
    signals = "for number in (9, 15, 19, 20, 21, 22): os.kill(os.getpid(), number)"
    tell = "print('goes on')"
    (_, text), ended = run(f"import os\n{signals}\nos.kill(0, 19)", tell)
    assert (text, ended) == ("goes on\n", None)


def test_what_every_case_uses_is_imported_before_the_fork():
    """Else each kernel would import it anew, in its own processor time."""
    used = ("numpy.random", "torch", "autograder.forbid", "autograder.encoding")
    told, ended = run(f"import sys; print(set({used!r}) - set(sys.modules))")
    assert (told, ended) == (["set()\n"], None)


def test_neither_solutions_nor_the_project_are_there():
    root = Path(__file__).resolve().parents[3]
    (imported, listed), _ = run(
        "import solutions",
        "import os\n"
        f"found = [f for d, _, fs in os.walk({str(root)!r}) for f in fs\n"
        "         if f.endswith('.md') and 'site-packages' not in d]\n"
        "print(found, os.listdir('/course'))",
    )
    assert imported.startswith("ModuleNotFoundError")
    assert listed.startswith("[] ")
    assert "solutions" not in listed


def test_environment_holds_no_secret(monkeypatch):
    monkeypatch.setenv("AWS_SECRET", "hunter2")
    (text,), _ = run(
        "import os; print(dict(os.environ)); open('/proc/self/environ').read()"
    )
    assert "hunter2" not in text


def test_user_is_nobody_without_capabilities():
    (text,), _ = run(
        "import os\n"
        "status = open('/proc/self/status').read()\n"
        "print(os.getuid() != 0, [l for l in status.splitlines() if 'Cap' in l])\n"
        "print('NoNewPrivs:\\t1' in status)"
    )
    assert text.startswith("True")
    assert text.count("0000000000000000") == 5
    assert text.endswith("True\n")


def test_nothing_outside_the_private_folders_can_be_written():
    paths = ["/x", "/usr/x", "/etc/x", "/dev/x", "/course/x"]
    paths += ["/course/autograder/check.py", "/proc/sys/kernel/hostname"]
    paths += ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"]
    texts, _ = run(*(f"open({path!r}, 'w').write('x')" for path in paths))
    refused = {text.partition(":")[0] for text in texts}
    assert refused <= {"OSError", "PermissionError", "FileNotFoundError"}


def test_private_folders_can_be_written_and_do_not_survive():
    code = (
        "from pathlib import Path\n"
        "places = [Path(p) / 'left' for p in ('/tmp', '/dev/shm', Path.home())]\n"
        "print([p.exists() for p in places]); [p.write_text('x') for p in places];"
    )
    for _ in range(2):
        (text,), _ = run(code)
        assert text.startswith("[False, False, False]")


def test_there_is_no_network():
    (connect, names), _ = run(
        "import socket; socket.create_connection(('1.1.1.1', 53), 3)",
        "import socket; socket.getaddrinfo('example.org', 80)",
    )
    assert connect.startswith("PermissionError")
    assert "gaierror" in names


def test_other_processes_are_invisible():
    (text,), _ = run(
        "import os; print([p for p in os.listdir('/proc') if p.isdigit()])"
    )
    assert text == "['1']\n"


def test_no_further_namespaces_can_be_made():
    (text,), _ = run("import ctypes; print(ctypes.CDLL(None).unshare(0x10000000))")
    assert text == "-1\n"


STARTS = (
    "!echo out",
    "x = !echo out",
    "%%bash\necho out",
    "%%script sh\necho out",
    "import os; os.system('echo out')",
    "import os; os.fork()",
    "import subprocess; subprocess.run(['echo', 'out'])",
    "import multiprocessing; multiprocessing.Process(target=print).start()",
    "from concurrent.futures import ProcessPoolExecutor as P; P(1).submit(print)",
    "import torch.utils.data as d; list(d.DataLoader([1.0], num_workers=1))",
)


def test_a_submission_is_one_process_and_says_so():
    texts, ended = run(*STARTS, "print('goes on')", cell_seconds=30)
    assert ended is None
    assert texts == [f"PermissionError: {ONE_PROCESS}"] * len(STARTS) + ["goes on\n"]


def test_who_passes_by_that_line_starts_no_process_either():
    code = "import ctypes; libc = ctypes.CDLL(None); print(libc.fork(), libc.getppid())"
    assert run(code) == (["-1 0\n"], None)


def test_exit_ends_only_this_kernel():
    _, ended = run("import os; os._exit(3)")
    assert "code 3" in ended
    assert fork_servers().current().alive


def test_quit_ends_nothing():
    texts, ended = run("quit()", "print('still here')", "exit()", "print('and here')")
    assert ended is None
    assert texts[1:] == ["still here\n", "", "and here\n"]


def test_a_grader_of_low_priority_still_starts_kernels():
    """Whoever grades at night says ``nice``; a process cannot raise its priority."""
    code = f"from {__name__} import run; print(run('print(7)'))"
    low = subprocess.run(
        ["nice", "-n", "10", sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert low.stdout == "(['7\\n'], None)\n", low.stderr


def test_a_kernel_is_gone_when_killing_returns():
    async def go():
        manager = SandboxKernelManager()
        await manager.start_kernel()
        assert await manager.provisioner.poll() is None
        await manager.provisioner.kill()
        ended = await manager.provisioner.poll()
        await manager.shutdown_kernel(now=True)
        return ended

    assert asyncio.run(go()) is not None


def test_endless_loop_is_killed_at_its_limit():
    _, ended = run(
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "while True:\n    try:\n        while True: pass\n"
        "    except BaseException: pass",
        cell_seconds=2,
    )
    assert ended == "time limit of 2 s"


def test_one_huge_block_is_a_memory_error():
    (text,), _ = run("bytearray(8 * 2**30)", memory=500 * 2**20)
    assert text.startswith("MemoryError")


def test_disk_and_inodes_are_limited():
    (full, many), _ = run(
        "f = open('/tmp/x', 'wb')\nfor _ in range(100): f.write(bytes(2**20))",
        "for n in range(500): open(f'/dev/shm/{n}', 'w')",
        disk=20 * 2**20,
        files=100,
        open_files=1000,
    )
    assert "No space left" in full
    assert "No space left" in many


def test_missing_bubblewrap_is_one_clear_line(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    require_bubblewrap.cache_clear()
    with pytest.raises(SandboxUnavailable, match="apt install bubblewrap"):
        require_bubblewrap()
    require_bubblewrap.cache_clear()


@pytest.fixture
def other_bubblewrap(broken_machine, monkeypatch, tmp_path):
    """Puts a bubblewrap in front of the one of the system, in a folder of its own."""
    real = shutil.which("bwrap")

    def make(first_line):
        wrapper = tmp_path / "bin" / "bwrap"
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\n{first_line}\nexec {real} "$@"\n')
        wrapper.chmod(0o755)
        monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
        fork_servers().close()
        require_bubblewrap.cache_clear()

    yield make
    fork_servers().close()
    require_bubblewrap.cache_clear()


def test_bubblewrap_may_be_installed_anywhere(other_bubblewrap, tmp_path):
    tmp_path.chmod(0o755)
    other_bubblewrap("echo started >&2")
    (text,), _ = run("print('runs')")
    assert text == "runs\n"
    log = Path(fork_servers().own.address + ".log").read_text(encoding="utf-8")
    stages = 2 if os.geteuid() == 0 else 1
    assert log.count("started") == stages


def test_refused_namespaces_are_one_clear_line(other_bubblewrap):
    """The warden makes namespaces in the sandbox, where they may be refused too."""
    real = shutil.which("bwrap")
    no_more = "--unshare-user --disable-userns"
    other_bubblewrap(f'[ "$1" = --unshare-all ] && exec {real} {no_more} "$@"')
    with pytest.raises(SandboxUnavailable) as caught:
        run("1")
    said = str(caught.value)
    assert "unshare: " in said
    assert "sysctl user.max_user_namespaces" in said
    assert "\n" not in said


@pytest.mark.usefixtures("broken_machine")
def test_a_mount_that_the_kernel_refuses_is_told():
    with pytest.raises(SandboxUnavailable, match=r"mount: Invalid argument"):
        run("1", files=2**60)


def test_threads_that_wait_for_one_warm_parent_all_get_it():
    with Sandbox() as sandbox, contextlib.closing(ForkServer(sandbox.address)) as one:
        with ThreadPoolExecutor(4) as threads:
            waiting = [threads.submit(one.wait_until_ready) for _ in range(4)]
            done = wait(waiting, timeout=100).done
            if len(done) < 4:  # let them go: they would wait for two minutes
                one.close()
        assert len(done) == 4
        assert all(future.exception() is None for future in waiting)


def test_no_program_of_the_host_is_given_a_core_dump():
    """A limit of 1 byte, and no other, says so to a kernel that pipes dumps."""
    (limit, *changed), _ = run(
        "print(*[x for x in open('/proc/self/limits') if 'core' in x][0].split()[4:6])",
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 1))",
        "import resource; resource.prlimit(0, resource.RLIMIT_CORE, (0, 0))",
    )
    assert limit == "1 1\n"
    assert [text.partition(":")[0] for text in changed] == ["PermissionError"] * 3


def test_libraries_are_shown_in_a_folder_that_tells_nothing(monkeypatch, tmp_path):
    libraries = tmp_path / "somebody" / "site-packages"
    libraries.mkdir(parents=True)
    monkeypatch.setattr("sys.path", [*sys.path, str(libraries)])
    command = bubblewrap_command(7, 8)
    bind = command.index(str(libraries))
    assert command[bind - 1] == "--ro-bind"
    place = command[bind + 1]
    assert place.startswith("/course/")
    assert place in command[command.index("PYTHONPATH") + 1].split(":")


def test_the_libraries_of_the_course_are_shown_at_one_place():
    """What else is there belongs to the system's Python, which is found where it is."""
    known = ["/proc", "/sys", "/dev", "/tmp", "/usr", "/lib", "/lib64", "/bin"]
    known += ["/course/libraries", sys.base_prefix, sys.base_exec_prefix]
    environment = sys.prefix if sys.prefix != sys.base_prefix else "/nowhere"
    (text,), ended = run(
        "import os, numpy, scipy.linalg, torch\n"
        "import _ctypes, _decimal, math, select, zlib\n"
        "print(*(m.__file__.split('/')[1:3] for m in (numpy, scipy, torch)))\n"
        "found = []\n"
        "for folder, inside, _ in os.walk('/'):\n"
        f"    known = {known!r}\n"
        "    inside[:] = [n for n in inside if os.path.join(folder, n) not in known]\n"
        "    if folder.endswith(('/site-packages', '/dist-packages')):\n"
        "        found.append(folder)\n"
        f"    if folder.startswith({environment!r}) and inside: found.append(folder)\n"
        "print(found)"
    )
    assert ended is None
    assert text.splitlines() == [" ".join(["['course', 'libraries']"] * 3), "[]"]


def test_an_environment_inside_a_folder_that_is_shown_is_hidden(monkeypatch):
    place = str(Path(sysconfig.get_path("stdlib")).resolve() / "environment")
    monkeypatch.setattr(sys, "prefix", place)
    command = bubblewrap_command(7, 8)
    assert ("--tmpfs", place) in zip(command, command[1:], strict=False)


def test_a_kernel_is_not_told_where_the_grader_lies():
    """Python's own folder is seen; that of the course's environment is not."""
    (text,), ended = run(
        "import glob, os, re, sys, traceback, torch\n"
        "print('PATH', os.environ['PATH'])\n"
        "seen = [dict(os.environ), sys.path, sys.argv, sys.orig_argv, sys.executable]\n"
        "seen += [sys.prefix, torch.__file__, sorted(map(str, sys.modules.values()))]\n"
        "for name in ('maps', 'cmdline', 'environ', 'mountinfo', 'cgroup'):\n"
        "    try: seen += [open(f'/proc/self/{name}').read()]\n"
        "    except OSError: pass\n"
        "try: torch.zeros(2).view(3)\n"
        "except RuntimeError: seen += [traceback.format_exc()]\n"
        "seen += [n for d in sys.path for n in glob.glob(d + '/*')]\n"
        f"for place in {_places()!r}:\n"
        r"    whole = rf'(?<![\w/.-]){re.escape(place)}(?![\w.-])'"
        "\n"
        "    if re.search(whole, str(seen)): print('SEEN', place)\n"
    )
    assert ended is None
    assert "PATH /usr/local/bin:/usr/bin:/bin\n" in text
    assert "SEEN" not in text


def _places():
    """Where the project and its environment lie, if that is not where Python does."""
    places = [ROOT, Path(sys.prefix), *map(Path, site_folders())]
    python = Path(sys.base_prefix)
    return [str(place) for place in places if not place.is_relative_to(python)]


def test_command_shows_no_folder_of_the_user():
    words = bubblewrap_command(3, 4)
    shown = [words[i + 2] for i, word in enumerate(words) if word == "--ro-bind"]
    assert str(Path.home()) not in shown
    assert "/" not in shown
    assert "--unshare-all" in words
