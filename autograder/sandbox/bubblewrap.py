"""The bubblewrap command that isolates submissions.

Inside there is a read-only system, no network, no secrets and no files but the
libraries.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

import autograder
import toolkit
from autograder import own_topics
from autograder.errors import GraderFault
from autograder.sandbox.confine import HOME

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
PROGRAMS = ("bin", "lib", "lib32", "lib64", "libexec")  # folders of an installation
SHARED = (
    "fontconfig",
    "fonts",
    "i18n",
    "icu",
    "locale",
    "mime",
    "terminfo",
    "zoneinfo",
)
OWN_TOPICS = "/course/own"  # where the cases of the course are shown
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage"  # where malloc asks for them

ADVICE = (
    "allow unprivileged user namespaces, also inside of each other (sysctl "
    "user.max_user_namespaces, kernel.unprivileged_userns_clone, or an AppArmor "
    "profile for bwrap)"
)


class SandboxUnavailable(GraderFault):
    """This machine cannot isolate submissions; the message says what to do."""

    exit_status = 2


@cache
def require_bubblewrap() -> None:
    """Make sure that this machine can isolate submissions.

    Raises:
        SandboxUnavailable: it cannot, with what to install or to switch on.
    """
    otherwise = (
        "Grading other people's notebooks needs Linux with bubblewrap; for a notebook "
        "that you wrote yourself, `check --no-sandbox` runs it without protection."
    )
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxUnavailable(
            "bubblewrap is not installed: apt install bubblewrap. " + otherwise
        )
    trial = subprocess.run(
        [program, "--unshare-all", "--ro-bind", "/", "/", "true"],
        capture_output=True,
        text=True,
    )
    if trial.returncode != 0:
        raise SandboxUnavailable(
            f"bubblewrap cannot make namespaces here ({trial.stderr.strip()}): "
            f"{ADVICE}. {otherwise}"
        )


def bubblewrap_command(listener_fd: int, lifeline_fd: int) -> list[str]:
    """The command that starts a sandbox; for its sockets see ``fork_server.main``.

    Started by root there are two stages: the first, still as root, shows the libraries
    at their places; the second, as nobody, isolates. So what is inside never has
    root's identity on the host.
    """
    shown = _shown_paths()
    as_root = os.geteuid() == 0
    staged = {i: host and i for i, host in shown.items()} if as_root else shown
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": HOME,
        "USER": "student",
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(["/course", *site_folders().values()]),
        own_topics.VARIABLE: OWN_TOPICS,
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONBREAKPOINT": "0",  # a forgotten breakpoint() does not stop the run
        # torch.compile returns what it is given. To compile takes a compiler, and a
        # minute; an answer that has both on the student's machine has neither here.
        "TORCHDYNAMO_DISABLE": "1",
        "MPLCONFIGDIR": "/tmp/matplotlib",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MALLOC_ARENA_MAX": "2",  # address space is limited
        # Huge pages: less to copy in each fork.
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    program = str(Path(shutil.which("bwrap") or "bwrap").absolute())
    inner = [
        *(program, "--unshare-all", "--die-with-parent", "--new-session"),
        *("--hostname", "sandbox", "--clearenv"),
        *(word for pair in environment.items() for word in ("--setenv", *pair)),
        *bind_arguments(staged),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", HOME),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/course", "--"),
        *(
            os.path.realpath(sys.executable),
            "-s",
            "-m",
            "autograder.sandbox.fork_server",
            str(listener_fd),
            str(lifeline_fd),
        ),
    ]
    if not as_root:
        return inner
    return [
        *(program, "--die-with-parent", *bind_arguments(shown)),
        *("--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"),
        *("--perms", "0755", "--dir", "/tmp", "--"),
        *NOBODY,
        *inner,
    ]


def shown_folder(path: Path) -> Path | None:
    """The folder through which submissions may read a path of this machine, if any."""
    hosts = [Path(host) for host in _shown_paths().values() if host is not None]
    return next((host for host in hosts if path.is_relative_to(host.resolve())), None)


def _shown_paths() -> dict[str, str | None]:
    """Host path of everything a submission may read, by its path in the sandbox.

    Programs and libraries of the system and of Python, the installed packages, and of
    this project the packages ``autograder`` and ``toolkit``: not ``solutions``. What
    else lies in /usr, such as an exchange of nbgrader, is not there. ``None`` hides a
    folder in one that is shown: the project, and its virtual environment, of which only
    the packages are shown, at a place of their own.
    """
    prefixes = ["/usr", "/usr/local", sys.base_prefix, sys.base_exec_prefix]
    system = ["/lib", "/lib64", "/bin"]
    system += [
        str(Path(prefix) / folder)
        for prefix in dict.fromkeys(prefixes)
        for folder in (*PROGRAMS, *(f"share/{name}" for name in SHARED))
    ]
    base = {"platbase": sys.base_exec_prefix}  # not that of a virtual environment
    system += [sysconfig.get_path(name, vars=base) for name in ("stdlib", "platstdlib")]
    system = [path for path in dict.fromkeys(system) if Path(path).exists()]
    other = ("/etc/ld.so.cache", "/etc/localtime", HUGE_PAGES)
    system += [path for path in other if Path(path).exists()]
    shown: dict[str, str | None] = {path: path for path in system}
    package = Path(autograder.__file__).resolve().parent
    private = [package.parent]
    if sys.prefix != sys.base_prefix:  # a virtual environment
        private.append(Path(sys.prefix).resolve())
    for folder in private:
        if str(folder) not in site_folders() and any(
            folder.is_relative_to(Path(path).resolve()) for path in system
        ):
            shown[str(folder)] = None
    shown |= {inside: path for path, inside in site_folders().items()}
    shown["/course/autograder"] = str(package)
    shown["/course/toolkit"] = str(Path(toolkit.__file__).resolve().parent)
    if course := own_topics.course_in_use():  # its cases, and no solutions
        shown[f"{OWN_TOPICS}/exercises"] = str(course.resolve() / "exercises")
    return shown


def site_folders() -> dict[str, str]:
    """The folders of installed libraries, and where each is shown in the sandbox.

    Not at its own place, which may name the owner of this machine, and may be hidden by
    a private folder of the submission.
    """
    found = [
        Path(path).resolve()
        for path in dict.fromkeys(sys.path)
        if Path(path).name in ("site-packages", "dist-packages")
    ]
    return {
        str(path): f"/course/libraries/{number}" for number, path in enumerate(found)
    }


def bind_arguments(shown: dict[str, str | None]) -> list[str]:
    """Read-only binds, each parent folder made first so that anyone may enter it."""
    arguments: list[str] = []
    made: set[Path] = set()
    for inside, host in shown.items():
        if host is None:
            arguments += ["--tmpfs", inside]
            continue
        if Path(host).is_symlink():
            arguments += ["--symlink", str(Path(host).readlink()), inside]
            continue
        for parent in reversed(Path(inside).parents[:-1]):
            if parent not in made and str(parent) not in shown:
                arguments += ["--perms", "0755", "--dir", str(parent)]
                made.add(parent)
        arguments += ["--ro-bind", host, inside]
    return arguments
