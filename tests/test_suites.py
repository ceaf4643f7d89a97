"""Which tests run by default: a small tree with our own settings."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import LONG

PLANETS = ["earth", *(f"planet_{number}" for number in range(30))]
TREE = {
    "test_attacks.py": """
import pytest

@pytest.fixture
def tool(attacker):
    pass

def test_honest():
    pass

@pytest.mark.parametrize("number", range(5))
def test_an_attack(tool, number):
    pass
""",
    "test_machine.py": """
import pytest

@pytest.fixture
def killing(broken_machine):
    pass

@pytest.fixture
def pdf(artefact):
    pass

def test_killed(killing):
    pass

def test_printed(pdf):
    pass

def test_sound():
    pass
""",
    "test_planets.py": f"""
import pytest
from tests.suites import members, sweep

PLANETS = {PLANETS}
PAIRS = [(f"chapters/{{name}}", name[0]) for name in PLANETS]

@sweep("seed", [0, 1])
@pytest.mark.parametrize("name", PLANETS)
def test_seed(name, seed):
    pass

@sweep(("page", "letter"), PAIRS)
def test_page(page, letter):
    pass

@pytest.fixture(params=members(PLANETS))
def planet(request):
    return request.param

def test_moons(planet):
    pass
""",
}
OF_SWEEPS = 31 * (2 + 1 + 1)
HONEST = ("honest", "an_attack[0]")
Run = Callable[..., tuple[list[str], str]]


@pytest.fixture(scope="module")
def tree(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with these tests and some pages, one of which was changed."""
    folder = tmp_path_factory.mktemp("suites")
    (folder / "tests").mkdir()
    (folder / "chapters").mkdir()
    shutil.copy(root / "tests" / "suites.py", folder / "tests")
    (folder / "tests" / "conftest.py").write_text('pytest_plugins = ["tests.suites"]')
    shutil.copy(root / "pyproject.toml", folder)
    for name, text in TREE.items():
        (folder / "tests" / name).write_text(text, encoding="utf-8")
    changed = folder / "chapters" / "planet_17.md"
    changed.write_text("As it was.")
    for command in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "All"],
        ["update-ref", "refs/remotes/origin/main", "HEAD"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    changed.write_text("As it is.")
    (folder / "chapters" / "planet_23.md").write_text("New.")
    return folder


@pytest.fixture(scope="module")
def run(tree: Path) -> Run:
    """Runs the tests of the tree: which have passed, and what was said."""

    def run(*options: str) -> tuple[list[str], str]:
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"]
        command += ["-p", "no:hypothesispytest"]
        done = subprocess.run(
            [*command, *options],
            cwd=tree,
            # A folder of its own: others tidy up the one that runs share.
            env={**os.environ, "PYTEST_DEBUG_TEMPROOT": str(tree.parent)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found = re.findall(
            r"(tests/\S+::\S+) PASSED|PASSED (tests/\S+::\S+)", done.stdout
        )
        return sorted(one or other for one, other in found), done.stdout

    return run


@pytest.fixture(scope="module")
def default(run: Run) -> tuple[list[str], str]:
    """What runs by default."""
    return run()


def test_nothing_is_left_of_all_and_all_that_is_left_is_counted(run, default):
    passed, said = default
    everything, said_of_all = run("--all")
    assert len(everything) == 1 + 5 + 3 + OF_SWEEPS
    assert set(passed) < set(everything)
    assert "Left to" not in said_of_all
    left = len(everything) - len(passed)
    assert f"{len(passed)} passed, {left} deselected" in said
    assert (
        "Left to make test-all: 1 of what make does not build, 1 of broken machines, "
        f"4 of attacks, {left - 6} of sweeps." in said
    )
    assert {f"tests/test_attacks.py::test_{name}" for name in HONEST} < set(passed)


def test_first_and_changed_members_and_some_others_stand_for_a_family(default):
    passed = " ".join(default[0])
    for function in ("page", "moons"):
        found = set(re.findall(rf"test_{function}\[\S*?(earth|planet_\d+)", passed))
        assert {"earth", "planet_17", "planet_23"} < found
        assert len(found) < 15
    found = set(re.findall(r"test_seed\[(\S+)\]", passed))
    assert {f"{name}-0" for name in PLANETS} | {"planet_17-1", "planet_23-1"} < found
    assert len(found) < 2 * len(PLANETS)


def test_who_names_tests_gets_them_and_shards_are_parts_of_all(run, default):
    assert len(run("tests/test_attacks.py")[0]) == 6
    shards = [run("--shard=1/2")[0], run("--shard=2/2", "--numprocesses=2")[0]]
    assert sorted(sum(shards, [])) == default[0]  # several processes choose alike
    files = [{test.split("::")[0] for test in shard} for shard in shards]
    assert sum(map(len, files)) == len(set.union(*files))


def test_the_files_that_come_first_are_there(root: Path):
    assert [name for name in LONG if not (root / "tests" / name).is_file()] == []
