"""Which tests ``make test`` runs, and which it leaves to ``make test-all``.

What is left is read off how a test is written, and no list names it:

* its fixtures include ``artefact``: it needs something that ``make`` does not build;
* its fixtures include ``broken_machine``: it kills, stops, starves or fills something;
* its fixtures include ``attacker``, and an earlier test of its file was kept;
* it is a member of a sweep, and was not chosen. Chosen are the first member, one in
  eight by a fixed hash, and each whose files are changed here: those that are called
  like one of its parameters, as pages and chapters are.

Whoever names files or tests, or says ``-k`` or ``--all``, gets all of them. A plugin of
pytest, which ``conftest.py`` loads.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

ONE_IN = 8
REASONS = {
    "artefact": "of what make does not build",
    "broken_machine": "of broken machines",
    "attacker": "of attacks",
    "sweep": "of sweeps",
}
_Set = type(pytest.param())


@pytest.fixture(scope="session")
def attacker() -> None:
    """Somebody who wants to cheat or to harm: the input was made for that."""


@pytest.fixture(scope="session")
def broken_machine() -> None:
    """A machine on which something is killed, stopped, starved or full."""


@pytest.fixture(scope="session")
def artefact() -> None:
    """Something that ``make`` does not build and nobody needs in the first hour."""


def members(family: Iterable[Any]) -> list[Any]:
    """The parameters of a fixture whose tests ask one of a family after the other."""
    sets = [one if isinstance(one, _Set) else pytest.param(one) for one in family]
    return [
        pytest.param(
            *one.values, id=one.id, marks=[*one.marks, pytest.mark.member(number)]
        )
        for number, one in enumerate(sets)
    ]


def sweep(
    names: str | Sequence[str], family: Iterable[Any], **options: Any
) -> pytest.MarkDecorator:
    """``pytest.mark.parametrize`` for the same assertion about each of a family.

    Of several sweeps of one test, that member is first which is first in each. Other
    parameters are asked in full.
    """
    several = not isinstance(names, str) or "," in names
    sets = [
        pytest.param(*one) if several and not isinstance(one, _Set) else one
        for one in family
    ]
    return pytest.mark.parametrize(names, members(sets), **options)


def chosen(item: pytest.Item, changed: set[str]) -> bool:
    """Whether a member of a sweep stands for the others; true for all other tests."""
    places = [mark.args[0] for mark in item.iter_markers("member")]
    if not any(places):
        return True
    parameters = item.callspec.id
    if changed.intersection(re.findall(r"\w+", parameters)):
        return True
    # All tests of a file choose alike: they often share what is costly.
    return _number(f"{_file(item)} {parameters}") % ONE_IN == 0


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest(), "big")


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def left_out(items: list[pytest.Item], changed: set[str]) -> dict[str, list]:
    """The tests that ``make test`` leaves out, by the reason for it."""
    left: dict[str, list[pytest.Item]] = {reason: [] for reason in REASONS}
    attacked: set[Path] = set()
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "artefact" in fixtures:
            left["artefact"].append(item)
        elif "broken_machine" in fixtures:
            left["broken_machine"].append(item)
        elif not chosen(item, changed):
            left["sweep"].append(item)
        elif "attacker" in fixtures:
            if item.path in attacked:
                left["attacker"].append(item)
            attacked.add(item.path)
    return left


def changed_here(root: Path) -> list[str]:
    """How the files are called that differ from the main branch, without endings."""

    def git(*arguments: str) -> list[str]:
        command = ["git", "-C", str(root), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            return []
        return [] if done.returncode else done.stdout.splitlines()

    base = git("merge-base", "HEAD", "origin/main") or ["HEAD"]
    files = git("diff", "--name-only", *base, "--")
    files += git("ls-files", "--others", "--exclude-standard")
    return sorted({Path(file).stem for file in files})


def shard_of(item: pytest.Item, shards: int) -> int:
    """Which of so many parts of the tests a file belongs to, counted from one."""
    return _number(_file(item)) % shards + 1


def _shard(text: str) -> tuple[int, int]:
    part, _, shards = text.partition("/")
    if not (part.isdigit() and shards.isdigit() and 1 <= int(part) <= int(shards)):
        raise pytest.UsageError(f"--shard {text}: two numbers are expected, as in 1/3")
    return int(part), int(shards)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--all`` and ``--shard``."""
    group = parser.getgroup("suites")
    group.addoption("--all", action="store_true", help="leave no test out")
    group.addoption("--shard", metavar="1/3", help="only the first third of the files")


def pytest_configure(config: pytest.Config) -> None:
    """Say what the mark means."""
    config.addinivalue_line("markers", "member(place): of a sweep")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """All processes choose by one state of the files."""
    node.workerinput["changed"] = changed_here(node.config.rootpath)


def _whole(config: pytest.Config) -> bool:
    where = config.invocation_params.dir
    named = not all((where / argument).is_dir() for argument in config.args)
    return bool(config.option.all or config.option.keyword or named)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave tests out, and count them by reason."""
    if config.option.shard:
        part, shards = _shard(config.option.shard)
        others = [item for item in items if shard_of(item, shards) != part]
        _leave_out(config, items, others)
    if _whole(config):
        return
    worker = getattr(config, "workerinput", None)
    changed = worker["changed"] if worker else changed_here(config.rootpath)
    left = left_out(items, set(changed))
    _leave_out(config, items, [item for some in left.values() for item in some])
    counts = {reason: len(some) for reason, some in left.items()}
    config.stash[LEFT] = counts
    if worker:
        config.workeroutput["left"] = counts


LEFT = pytest.StashKey[dict[str, int]]()


def _leave_out(config: pytest.Config, items: list, left: list) -> None:
    if left:
        gone = set(left)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take the counts from one of the processes: they are the same in each."""
    output = getattr(node, "workeroutput", {})
    if "left" in output:
        node.config.stash[LEFT] = output["left"]


def pytest_terminal_summary(
    terminalreporter: Any, exitstatus: int, config: pytest.Config
) -> None:
    """Say in one line what was left out."""
    counts = config.stash.get(LEFT, {})
    said = [f"{count:,} {REASONS[reason]}" for reason, count in counts.items() if count]
    if said:
        terminalreporter.write_line(f"Left to make test-all: {', '.join(said)}.")
