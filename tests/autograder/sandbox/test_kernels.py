"""What code in the sandbox can see and touch."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from autograder.grading.client import SubmissionClient
from autograder.grading.clock import Clock
from autograder.sandbox.bubblewrap import (
    SandboxUnavailable,
    bubblewrap_command,
    site_folders,
)
from autograder.sandbox.confine import ONE_PROCESS
from autograder.sandbox.connection import ForkServers, fork_servers
from autograder.sandbox.limits import Limits
from tests.autograder.conftest import patiently

pytestmark = pytest.mark.usefixtures("needs_sandbox")
ROOT = Path(__file__).resolve().parents[3]


def run(*sources, servers=None, **limits):
    """Run cells in one sandboxed kernel; text of each, and how it ended."""
    return patiently(lambda: _run(sources, servers or fork_servers(), limits))


def _run(sources, servers, limits):
    limits = Limits(**{"cell_seconds": 10, "submission_seconds": 30, **limits})
    outputs, ended = [[] for _ in sources], None
    with SubmissionClient(limits, Clock(limits, alone=True), servers) as client:
        for source, shown in zip(sources, outputs, strict=True):
            ended = ended or client.run(source, shown)
    return ["".join(map(_text, shown)) for shown in outputs], ended


def _text(output):
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return output.get("text") or output.get("data", {}).get("text/plain", "")


def test_a_kernel_cannot_stop_or_end_itself_with_a_signal():
    """So who did was outside, and it is not to blame."""
    signals = "for number in (15, 19, 20, 21, 22): os.kill(os.getpid(), number)"
    stop = f"import os\n{signals}\nos.kill(0, 19)\nprint('goes on')"
    (text, refused), ended = run(stop, "os.kill(os.getpid(), 9)")
    assert (text, ended) == ("goes on\n", None)
    assert refused.startswith("PermissionError")


def test_what_every_case_uses_is_imported_before_the_fork():
    """Else each kernel would import it anew, in its own processor time."""
    used = ("numpy.random", "torch", "autograder.forbid", "autograder.encoding")
    told, ended = run(f"import sys; print(set({used!r}) - set(sys.modules))")
    assert (told, ended) == (["set()\n"], None)


def test_a_picture_that_nobody_has_shown_is_shown_below_its_cell():
    """As in JupyterLab, for ``plt.show()`` is often left out."""
    plots = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
    (drawn, nothing), ended = run(plots, "plt.show()")
    assert (drawn[:7], nothing, ended) == ("<Figure", "", None)


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


@pytest.mark.usefixtures("broken_machine")
def test_refused_namespaces_are_one_clear_line(monkeypatch):
    """The warden makes namespaces in the sandbox, where they may be refused too."""

    def no_more(*fds):
        words = bubblewrap_command(*fds)
        at = words.index("--unshare-all")
        return [*words[:at], "--unshare-user", "--disable-userns", *words[at:]]

    monkeypatch.setattr("autograder.sandbox.connection.bubblewrap_command", no_more)
    with ForkServers() as servers, pytest.raises(SandboxUnavailable) as caught:
        run("1", servers=servers)
    said = str(caught.value)
    assert "unshare: " in said
    assert "sysctl user.max_user_namespaces" in said
    assert "\n" not in said


@pytest.mark.usefixtures("broken_machine")
def test_a_mount_that_the_kernel_refuses_is_told():
    with pytest.raises(SandboxUnavailable, match=r"mount: Invalid argument"):
        run("1", files=2**60)


def test_no_program_of_the_host_is_given_a_core_dump():
    """A limit of 1 byte, and no other, says so to a kernel that pipes dumps."""
    (limit, *changed), _ = run(
        "print(*[x for x in open('/proc/self/limits') if 'core' in x][0].split()[4:6])",
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 1))",
        "import resource; resource.prlimit(0, resource.RLIMIT_CORE, (0, 0))",
        # Its signal would look like one from outside.
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))",
    )
    assert limit == "1 1\n"
    assert [text.partition(":")[0] for text in changed] == ["PermissionError"] * 4


def test_a_kernel_is_not_told_where_the_grader_lies():
    """Python's own folder is seen; that of the course's environment is not."""
    (text,), ended = run(
        "import glob, os, re, sys, traceback, torch\n"
        "print('PATH', os.environ['PATH'])\n"
        "seen = [dict(os.environ), sys.path, sys.argv, sys.orig_argv, sys.executable]\n"
        "seen += [sys.prefix, torch.__file__, sorted(map(str, sys.modules.values()))]\n"
        "for name in ('maps', 'cmdline', 'environ', 'mountinfo', 'mounts', 'cgroup'):\n"
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
