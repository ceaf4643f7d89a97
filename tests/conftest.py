"""Fixtures and settings that several folders of tests share."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import settings

from autograder.processors import processors

# Tensors are small, and waking other threads costs more: here, where torch is imported
# later, and in the kernels and commands that tests start.
ONE_THREAD = ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(ONE_THREAD, "1"))

# Deterministic and without deadlines, so that a busy machine fails no test.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

# A process that runs in the background, or under nohup, may have been started with
# these ignored. Commands that a test starts and ends would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
HANGUP = getattr(signal, "SIGHUP", None)  # not on Windows
if HANGUP and signal.getsignal(HANGUP) is signal.SIG_IGN:
    signal.signal(HANGUP, signal.SIG_DFL)

pytest_plugins = ["tests.suites"]

# These measure time, memory or processes, so they never run beside each other.
MEASURING = (
    "autograder/attacks/test_resources.py",
    "autograder/sandbox/test_kernels.py",
)
# Each takes a minute or more. They start first, so that none still runs when the other
# processes have finished.
LONG = (
    *MEASURING,
    "autograder/test_borrowed.py",
    "autograder/test_exercises.py",
    "autograder/attacks/test_format.py",
    "autograder/attacks/test_instructor_side.py",
    "autograder/grading/test_cluster.py",
    "autograder/grading/test_examine.py",
    "autograder/grading/test_grade.py",
    "autograder/grading/test_resume.py",
    "autograder/grading/test_faults.py",
    "autograder/reporting/test_feedback.py",
    "book/test_in_page.py",
    "book/test_pdf.py",
    "book/test_live_pictures.py",
    "book/test_playground.py",
    "book/test_playground_scene.py",
    "book/test_accessibility.py",
    "book/test_pages.py",
    "book/test_build.py",
    "book/test_hidden_site.py",
    "book/test_theme.py",
    "book/test_phone.py",
    "test_contributing.py",
    "test_wheel.py",
)


def path_of(nodeid: str) -> str:
    """The file of a test, in the folder of the tests."""
    return nodeid.split("::")[0].removeprefix("tests/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long files; the order within each stays."""
    place = {file: number for number, file in enumerate(LONG)}
    items.sort(key=lambda item: place.get(path_of(item.nodeid), len(LONG)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage meanwhile, nor later among the million objects imported."""
    gc.disable()
    try:
        result = yield
        gc.collect()
        gc.freeze()
        return result
    finally:
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """For ``--numprocesses=auto``: in a container of two processors, not sixty-four."""
    return processors()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist=loadfile``, also keep files in one process that must not overlap.

    The tests of one file share a process anyway, because expensive fixtures (a course,
    a kernel with all imports, an open page) are made once per file.
    """
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "measuring" if path_of(file) in MEASURING else file

    config.option.loadscopereorder = False  # tests are sorted by time here
    return ByFile(config, log)


@pytest.fixture(scope="module", autouse=True)
def no_event_loop_is_left() -> Iterator[None]:
    """Fail where a file leaves an event loop running, as an open playwright does.

    No test that needs one of its own could follow in the same process.
    """
    yield
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return
    pytest.fail(f"an event loop outlives this file: {loop}")


@pytest.fixture(scope="module", autouse=True)
def nothing_of_sphinx_is_left() -> Iterator[None]:
    """Forget what applications of Sphinx registered for the whole process."""
    docutils = sys.modules.get("sphinx.util.docutils")  # of a file of tests, if any
    with docutils.docutils_namespace() if docutils else nullcontext():
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def key_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The public key of a chapter, written once for all processes of this run."""
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent  # each process's folder is inside the run's
    folder = folder / "keys"
    folder.mkdir(exist_ok=True)

    def key_of(chapter: str) -> Path:
        from autograder.answer_key import write_key

        path = folder / f"{chapter}.key"
        with FileLock(f"{path}.lock"):
            if not path.exists():
                begun = path.with_suffix(".begun")
                write_key(chapter, begun)
                begun.rename(path)
        return path

    return key_of


@pytest.fixture(scope="session")
def needs_chromium() -> None:
    """Skip where there is no browser; on CI there has to be one."""
    from tools.chromium import NoChromium, chromium

    try:
        chromium()
    except NoChromium as error:
        pytest.fail(str(error)) if os.environ.get("CI") else pytest.skip(str(error))
