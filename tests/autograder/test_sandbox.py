"""What code in the sandbox can see and touch."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder.examine import _Client
from autograder.sandbox import (
    Limits,
    SandboxKernelManager,
    SandboxUnavailable,
    bubblewrap_command,
    require_bubblewrap,
    warm_parent,
)

pytestmark = pytest.mark.usefixtures("needs_sandbox")


def run(*sources, **limits):
    """Run cells in one sandboxed kernel; text of each, and how it ended."""
    limits = Limits(**{"cell_seconds": 10, "submission_seconds": 30, **limits})
    manager = SandboxKernelManager(limits=limits)
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])

    async def go():
        client = _Client(notebook, manager, limits)
        client.deadline = asyncio.get_running_loop().time() + 1e6
        ended = None
        try:
            async with client.async_setup_kernel():
                for number, cell in enumerate(notebook.cells):
                    ended = await client.run(cell, number)
                    if ended:
                        break
        finally:
            await client.close(manager)
        return ended

    ended = asyncio.run(go())
    return ["".join(_text(o) for o in cell.outputs) for cell in notebook.cells], ended


def _text(output):
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return output.get("text") or output.get("data", {}).get("text/plain", "")


def test_kernel_runs_with_the_libraries_of_the_course():
    (text,), ended = run("import numpy, torch, toolkit.figures; print(torch.ones(2))")
    assert text == "tensor([1., 1.])\n"
    assert ended is None


def test_neither_solutions_nor_the_project_are_there():
    root = Path(__file__).resolve().parents[2]
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


@pytest.mark.parametrize(
    "path",
    [
        "/x",
        "/usr/x",
        "/etc/x",
        "/dev/x",
        "/course/x",
        "/course/autograder/check.py",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
    ],
)
def test_nothing_outside_the_private_folders_can_be_written(path):
    (text,), _ = run(f"open({path!r}, 'w').write('x')")
    assert text.split(":")[0] in ("OSError", "PermissionError", "FileNotFoundError")


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
    assert "OSError" in connect or "unreachable" in connect
    assert "gaierror" in names


def test_other_processes_are_invisible():
    (text,), _ = run(
        "import os; print([p for p in os.listdir('/proc') if p.isdigit()])"
    )
    assert text == "['1']\n"


def test_no_further_namespaces_can_be_made():
    (text,), _ = run("import ctypes; print(ctypes.CDLL(None).unshare(0x10000000))")
    assert text == "-1\n"


def test_commands_of_the_shell_run():
    texts, ended = run(
        "!echo out\nprint('after')",
        "%%bash\necho there",
        "x = !echo a; echo b\nprint(x)",
        "import subprocess as s; print(s.getoutput('echo c'))",
    )
    assert ended is None
    assert texts[0].replace("\r", "") == "out\nafter\n"
    assert texts[1:] == ["there\n", "['a', 'b']\n", "c\n"]


def test_exit_ends_only_this_kernel():
    _, ended = run("import os; os._exit(3)")
    assert "code 3" in ended
    assert warm_parent().alive


def test_quit_ends_nothing():
    texts, ended = run("quit()", "print('still here')", "exit()", "print('and here')")
    assert ended is None
    assert texts[1:] == ["still here\n", "", "and here\n"]


def test_a_grader_of_low_priority_still_starts_kernels():
    """Whoever grades at night says ``nice``; a process cannot raise its priority."""
    low = subprocess.run(
        ["nice", "-n", "19", sys.executable, "-m", "pytest", "-q", __file__]
        + ["-k", "libraries_of_the_course"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert low.returncode == 0, low.stdout


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


def test_memory_of_the_whole_submission_is_limited():
    _, ended = run(
        "import os, time\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        block = bytearray(60 * 2**20)\n"
        "        time.sleep(30)\n"
        "time.sleep(30)",
        memory=300 * 2**20,
    )
    assert ended == "memory limit of 300 MB"


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


def count_processes():
    return sum(1 for entry in Path("/proc").iterdir() if entry.name.isdigit())


def test_fork_bomb_stays_inside():
    before = count_processes()
    (text,), ended = run(
        "import os\nfor _ in range(1000):\n    if os.fork() == 0:\n"
        "        import time; time.sleep(20)",
        processes=40,
    )
    assert "BlockingIOError" in text or ended
    run("1")
    assert count_processes() < before + 30


def test_endless_output_is_cut_off():
    _, ended = run("while True: print('x' * 10000)", output_bytes=2**20)
    # Whoever prints fast enough sends single messages that nobody accepts.
    everything = "limit of 128 MB on all it sends, outputs and answers"
    assert ended in ("output limit of 1 MB", everything)


def test_missing_bubblewrap_is_one_clear_line(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    require_bubblewrap.cache_clear()
    with pytest.raises(SandboxUnavailable, match="apt install bubblewrap"):
        require_bubblewrap()
    require_bubblewrap.cache_clear()


def test_libraries_in_a_private_folder_are_shown_elsewhere(monkeypatch, tmp_path):
    """The private /tmp of a submission would hide an environment that lies there."""
    libraries = tmp_path / "env" / "site-packages"
    libraries.mkdir(parents=True)
    monkeypatch.setattr("sys.path", [*sys.path, str(libraries)])
    monkeypatch.setattr("autograder.sandbox.PRIVATE_FOLDERS", (str(tmp_path),))
    command = bubblewrap_command(7, 8)
    bind = command.index(str(libraries))
    assert command[bind - 1] == "--ro-bind"
    place = command[bind + 1]
    assert place.startswith("/course/")
    assert place in command[command.index("PYTHONPATH") + 1].split(":")


def test_command_shows_no_folder_of_the_user():
    words = bubblewrap_command(3, 4)
    shown = [words[i + 2] for i, word in enumerate(words) if word == "--ro-bind"]
    assert str(Path.home()) not in shown
    assert "/" not in shown
    assert "--unshare-all" in words
