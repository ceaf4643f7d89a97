"""Attacks 29 to 36: out of the sandbox, or from one submission into another."""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.exercise import load_topic, topic_names
from autograder.release.settings import CourseError, settings_of
from autograder.sandbox import bubblewrap
from autograder.sandbox.bubblewrap import bubblewrap_command
from autograder.sandbox.connection import fork_servers
from tests.autograder.attacks.conftest import about, left_behind, processes
from tests.autograder.conftest import TOPIC
from tests.autograder.sandbox.test_kernels import run

pytestmark = pytest.mark.usefixtures("needs_sandbox")
ROOT = Path(__file__).resolve().parents[3]
REFUSED = (
    "OSError",
    "PermissionError",
    "FileNotFoundError",
    "gaierror",
    "NotADirectoryError",
    "ConnectionRefusedError",
    "ProcessLookupError",
)

PREPARE = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result == -1: raise OSError(ctypes.get_errno(), 'refused')
"""

FORBIDDEN = {
    "29 a connection": "socket.create_connection(('1.1.1.1', 53), 3)",
    "29 a name look-up": "socket.getaddrinfo('example.org', 80)",
    "32 a signal to the process outside": "os.kill(os.getppid() or 99999, 15)",
    "32 a signal to any process": "os.kill(30000, 15)",
    "33 a trace of another process": "check(libc.ptrace(16, 2, 0, 0))",
    "33 memory of another process": "open('/proc/30000/mem', 'rb')",
    "33 memory of the machine": "open('/dev/mem', 'rb')",
    "a new user namespace": "check(libc.unshare(0x10000000))",
    "a disk": "open('/dev/sda', 'rb')",
    "a kernel setting": "open('/proc/sys/kernel/core_pattern', 'w').write('x')",
    "a 32-bit system call": "check(libc.syscall(0x40000000 + 39))",
}


@pytest.fixture(scope="module")
def tried():
    texts, ended = run(PREPARE, *FORBIDDEN.values())
    assert ended is None
    return dict(zip(FORBIDDEN, texts[1:], strict=True))


@pytest.mark.parametrize("what", FORBIDDEN)
def test_what_is_forbidden_fails(tried, what):
    assert tried[what].partition(":")[0] in REFUSED, tried[what]


def test_30_and_31_nothing_outside_can_be_read_or_written(released_course, tmp_path):
    canary = tmp_path / "canary"
    canary.write_text("alive")
    private = [
        ROOT / "solutions" / f"{TOPIC}.py",
        ROOT / "solutions",
        ROOT / "tests",
        ROOT / "chapters",
        ROOT / ".git",
        ROOT / "pyproject.toml",
        released_course,
        released_course / "gradebook.db",
        released_course / "source" / TOPIC / f"{TOPIC}.ipynb",
        canary,
        Path.home() / ".ssh",
        Path.home() / ".bashrc",
        Path.home() / ".ipython",
        Path("/etc/passwd"),
        Path("/etc/shadow"),
        Path("/srv"),
        Path("/var"),
        Path("/run"),
        Path("/sys"),
        Path("/boot"),
        Path("/proc/1/root") / str(canary).lstrip("/"),
    ]
    site = next(p for p in sys.path if p.endswith("site-packages"))
    written = [
        canary,
        Path(site) / "sitecustomize.py",
        Path(site) / "numpy" / "__init__.py",
        ROOT / "solutions" / "new.py",
        Path.home() / ".ipython" / "profile_default" / "startup" / "00.py",
        Path("/course/autograder/judge.py"),
        Path("/course/libraries/0/numpy/__init__.py"),
        Path("/etc/ld.so.preload"),
        Path("/usr/lib/python3/dist-packages/x.pth"),
    ]
    read = (
        "import os\nfrom pathlib import Path\n"
        f"for p in {[str(p) for p in private]!r}:\n"
        "    read = os.listdir if os.path.isdir(p) else lambda p: open(p).read()\n"
        "    try: print('READ', p, read(p))\n"
        "    except OSError: pass\n"
        f"for p in {[str(p) for p in written]!r}:\n"
        "    try: Path(p).write_text('x'); print('WRITTEN', p)\n"
        "    except OSError: pass\n"
        "print('TRIED')"
    )
    (text,), _ = run(read)
    assert text.splitlines() == ["TRIED"]
    assert canary.read_text() == "alive"


def test_an_exchange_among_what_is_shown_is_refused(course):
    config = course / "nbgrader_config.py"
    text = config.read_text(encoding="utf-8")
    place = Path(sys.base_prefix) / "lib" / "exchange"
    config.write_text(f"{text}\nc.Exchange.root = {str(place)!r}\n")
    with pytest.raises(CourseError, match="submissions may read .*: move the exchange"):
        settings_of(course)
    config.write_text(f"{text}\nc.Exchange.root = '/srv/nbgrader/exchange'\n")
    settings_of(course)


def test_of_the_system_only_programs_and_libraries_are_there():
    (text,), _ = run(
        "import os, zoneinfo\n"
        "print([sorted(os.listdir(p)) if os.path.exists(p) else [] for p in\n"
        "       ('/usr', '/usr/share', '/usr/local', '/usr/local/share', '/etc')])"
    )
    programs = {"bin", "lib", "lib32", "lib64", "libexec"}
    data = {"fontconfig", "fonts", "i18n", "icu", "locale", "mime", "terminfo"}
    data |= {"zoneinfo"}
    usr, share, local, local_share, etc = map(set, ast.literal_eval(text))
    assert {"bin", "lib"} <= usr <= programs | {"share", "local"}
    assert share <= data
    assert local <= programs | {"share"}
    assert local_share <= data
    assert etc <= {"ld.so.cache", "localtime"}


def test_11_no_solution_or_hint_is_in_what_a_submission_sees():
    """The files that can be read are searched, compiled ones too."""
    needles = set()
    for name in topic_names():
        path = ROOT / "solutions" / f"{name}.py"
        if path.exists():
            lines = [line.strip() for line in _code(path.read_text(encoding="utf-8"))]
            needles |= {x for x in lines if len(x.partition("  # ")[2].split()) > 4}
            topic = load_topic(name)
            names = [m.name for e in topic.exercises for m in topic.mistakes(e)]
            needles |= {n for n in names if n.count("_") > 3}
    assert len(needles) > 50
    command = bubblewrap_command(3, 4)  # whatever is started in there sees the same
    inside = command[: len(command) - command[::-1].index("--")]
    kinds = ["py", "pyc", "json", "ipynb", "md", "txt", "pth", "key", "db"]
    include = " ".join(f"--include=*.{kind}" for kind in kinds)
    roots = "/course /usr/local /usr/lib/python3* /home/* /etc"
    named = " -o ".join(f"-name {n}" for n in ("solutions", "mistakes", ".git", ".ssh"))
    script = (
        f"grep -rlF -f - {include} {roots}\n"
        f"find {roots} '(' {named} ')' -not -path '*/site-packages/*' "
        "-not -path '/course/libraries/*'\n"
        "ls /course"
    )
    searched = subprocess.run(
        [*inside, "sh", "-c", script],
        input="\n".join(sorted(needles)),
        env={"LC_ALL": "C", "PATH": os.defpath},
        capture_output=True,
        text=True,
    )
    assert searched.stdout.split() == ["autograder", "libraries", "toolkit"]


def _code(source):
    """Lines of code; not the signatures and docstrings that a stub has too."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body:
                yield from lines[body[0].lineno - 1 : body[-1].end_lineno]


def test_34_the_environment_is_hidden_and_so_is_a_checkout_in_a_shown_folder(
    monkeypatch,
):
    """Python may be installed in the folder in which the course lies."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    fork_servers().close()
    monkeypatch.setattr(bubblewrap.sys, "base_exec_prefix", str(ROOT))
    try:
        (text, environment), _ = run(
            "import glob, os, numpy\n"
            f"found = glob.glob({str(ROOT / '*')!r}, include_hidden=True)\n"
            "print([os.path.basename(path) for path in found], os.listdir('/course'))",
            "print(dict(os.environ))\n"
            "for p in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):\n"
            "    print(open(p, 'rb').read())",
        )
    finally:
        fork_servers().close()
    assert text.startswith("[] "), text
    assert "PATH" in environment and "hunter2" not in environment


def test_32_a_signal_to_all_processes_reaches_no_other_submission():
    run("1")
    before = fork_servers()._control
    _, ended = run("import os, signal\nos.kill(-1, 9)\nos.kill(1, 9)\nos.kill(0, 9)")
    assert ended is None or "process" in ended
    assert run("print('alive')") == (["alive\n"], None)
    assert fork_servers()._control is before


def test_no_descriptor_of_the_grader_is_inherited():
    (text,), _ = run(
        "import os, socket, stat\n"
        "for name in os.listdir('/proc/self/fd'):\n"
        "    try: target = os.readlink(f'/proc/self/fd/{name}')\n"
        "    except OSError: continue\n"
        "    kind = ''\n"
        "    if target.startswith('socket:'):\n"
        "        s = socket.socket(fileno=os.dup(int(name)))\n"
        "        kind = s.type\n"
        "    print(target.split(':')[0].split('[')[0], int(kind or 0))\n"
    )
    lines = set(text.splitlines())
    seqpacket = int(socket.SOCK_SEQPACKET)  # how the grader talks to the fork server
    assert not any(line.endswith(f" {seqpacket}") for line in lines), lines
    files = {line for line in lines if line.startswith("/")}
    assert files <= {"/dev/null 0", "/dev/ptmx 0"}, files


LEAVE = """
import os
from pathlib import Path
for folder in ('/tmp', '/dev/shm', Path.home()):
    (Path(folder) / 'left').write_text('x')
startup = Path.home() / '.ipython' / 'profile_default' / 'startup'
startup.mkdir(parents=True, exist_ok=True)
(startup / '00.py').write_text("print('SURVIVED')")
import numpy, torch
numpy.pi = torch.pi = 3
print('LEFT')
"""
LOOK = """
import os
from pathlib import Path
found = [str(p) for p in ('/tmp/left', '/dev/shm/left', Path.home() / 'left')
         if os.path.exists(p)]
found += [p for p in os.listdir('/proc') if p.isdigit() and p != '1']
found += [str(p) for p in Path.home().rglob('00.py')]
import numpy, torch
found += [numpy.pi] * (numpy.pi == 3) + [torch.pi] * (torch.pi == 3)
print('FOUND', found)
"""


def test_27_nothing_of_a_submission_is_left_to_the_next():
    run("1")
    before = processes()
    (left,), _ = run(LEAVE)
    (found,), _ = run(LOOK)
    assert "LEFT" in left
    assert found == "FOUND []\n"
    assert not left_behind(before)


def test_the_sandbox_never_has_roots_identity_on_the_host():
    (text, status), _ = run(
        "import os\nprint(os.getuid(), open('/proc/self/uid_map').read().split())",
        "print(open('/proc/self/status').read())",
    )
    powers = [line.split() for line in status.splitlines() if line.startswith("Cap")]
    assert {power for _, power in powers} == {16 * "0"}
    assert "NoNewPrivs:\t1" in status
    uid = int(text.split()[0])
    inside, _, count = ast.literal_eval(text[text.index("[") :])
    assert uid != 0 != int(inside)
    assert count == "1"
    if os.geteuid() == 0:
        assert "setpriv" in bubblewrap_command(3, 4)


def test_36_a_pickle_is_never_read(examination, attacking):
    done = examination(
        attacking(
            "import pickle, numpy as np\n"
            "from pathlib import Path\n"
            "class Bad:\n"
            "    def __reduce__(self):\n"
            "        return (Path.touch, (Path('/tmp/attention-was-unpickled'),))\n"
            "def softmax(scores): return np.array([Bad()], dtype=object)\n"
        )
    )
    assert "values of type object" in about(done.report)
    assert not Path("/tmp/attention-was-unpickled").exists()
