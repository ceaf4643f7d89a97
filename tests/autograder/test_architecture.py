"""Who may talk to whom: every module has a floor, and imports run downward only."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# From the ground floor up. A module imports from its own floor or from those below.
FLOORS = [
    {"toolkit"},
    {
        *("autograder.errors", "autograder.files"),
        "autograder.interrupts",
        *("autograder.magics", "autograder.notebooks", "autograder.parsing"),
        *("autograder.processors", "autograder.shell", "autograder.statements"),
        *("autograder.stepwise", "autograder.tables", "autograder.without_torch"),
    },
    {
        *("autograder.arrays", "autograder.inputs"),
        *("autograder.break_exercise", "autograder.exercise"),
        *("autograder.own_topics", "autograder.specification"),
        *("autograder.book", "autograder.demonstrations"),
    },
    {"autograder.exercises"},
    {
        *("autograder.answers", "autograder.compare", "autograder.encoding"),
        *("autograder.expected", "autograder.forbid"),
        *("autograder.origin", "autograder.own_answers"),
        *("autograder.parts", "autograder.reasons"),
        *("autograder.rows", "autograder.usual"),
        "autograder.verdict",
    },
    {"autograder.explain"},
    {"autograder.judge"},
    {
        *("autograder.answer_key", "autograder.check"),
        *("autograder.hints", "autograder.in_page", "autograder.picture"),
        *("autograder.mine", "autograder.own_transformer"),
        *("autograder.own_notebook", "autograder.practice", "autograder.progress"),
        *("autograder.record", "autograder.reset", "autograder.respond"),
        *("autograder.cells", "autograder.failing", "autograder.show"),
        *("autograder.cell_output", "autograder.later", "autograder.model_trial"),
        *("autograder.outside", "autograder.page_cells", "autograder.payoffs"),
        "autograder.watch",
    },
    {"autograder.sandbox"},
    {"autograder.release"},
    {"autograder.submissions"},
    {"autograder.lms"},
    {"autograder.marks"},
    {"autograder.reporting"},
    {"autograder.grading"},
    {"autograder.extras", "autograder.handback"},
    {"autograder.commands"},
    {"autograder.__main__"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
OURS = ("autograder", "toolkit", "solutions", "tests", "benchmarks", "tools")


@cache
def modules(*folders: str) -> dict[str, Path]:
    """The modules below some folders, by their full names."""
    found = {}
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(p for p in parts if p != "__init__")] = path
    return found


def imported(path: Path) -> Iterator[str]:
    """Names of our modules that a file imports, inside functions too.

    Of ``from package import name``, the name is given as well: it may be a module. What
    is imported for types alone does not count.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] in OURS)


def room_of(module: str) -> str:
    """The entry of ``FLOORS`` that a module belongs to."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "autograder" else parts[0]


def test_every_module_has_its_floor():
    rooms = {room_of(module) for module in modules("autograder", "toolkit")}
    assert rooms - {"autograder"} == set(FLOOR)


def floors_on_the_page() -> list[set[str]]:
    """The floors in the table of ARCHITECTURE.md, from the ground up."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = re.search(r"^\| floor \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.M)[1]
    floors = []
    for row in reversed(table.splitlines()):
        names = re.findall(r"`([^`]+)`", row.split("|")[2])
        paths = [name.removesuffix("/").removesuffix(".py") for name in names]
        paths = [name.removeprefix("autograder/") for name in paths]
        floors.append({n if n == "toolkit" else f"autograder.{n}" for n in paths})
    return floors


def test_the_page_on_the_architecture_shows_these_floors():
    assert floors_on_the_page() == FLOORS


def test_the_page_on_the_architecture_names_files_that_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w/]+\.py", text))
    there = [f"/{path.relative_to(ROOT)}" for path in ROOT.glob("[a-z]*/**/*.py")]
    assert {n for n in named if not any(p.endswith(f"/{n}") for p in there)} == set()


@pytest.mark.parametrize("module", modules("autograder", "toolkit"))
def test_no_import_runs_upward(module):
    if module == "autograder":
        return
    known = modules("autograder", "toolkit")
    for name in imported(known[module]):
        room = room_of(name)
        if room in FLOOR:
            assert FLOOR[room] <= FLOOR[room_of(module)], f"{module} imports {name}"
        else:
            assert room not in ("solutions", "tests", "benchmarks", "tools"), name


def test_no_circle_of_imports():
    known = modules("autograder", "toolkit")
    graph = {
        module: {n for n in imported(path) if n in known and n != module}
        for module, path in known.items()
    }
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_no_circle_of_packages():
    """Where a floor has several, too."""
    known = modules("autograder", "toolkit")
    packages = {room_of(module) for module in known if module.count(".") > 1}
    graph = {package: set() for package in packages}
    for module, path in known.items():
        met = {room_of(name) for name in imported(path)} & packages
        if room_of(module) in packages:
            graph[room_of(module)] |= met - {room_of(module)}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


@pytest.mark.parametrize(
    ("folder", "other"), [("tests", "benchmarks"), ("benchmarks", "tests")]
)
def test_tests_and_benchmarks_do_not_import_each_other(folder, other):
    for module, path in modules(folder).items():
        for name in imported(path):
            assert name.split(".")[0] != other, f"{module} imports {name}"
