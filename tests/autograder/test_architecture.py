"""Who may talk to whom: every module has a floor, and imports run downward only."""

from __future__ import annotations

import graphlib
import re
import subprocess
import sys

import pytest

from tools.rooms import FLOOR, PAGE, ROOT, imported, modules, room_of, with_rooms

MOST_LOADED = 30  # modules of ours that a right answer in a notebook needs
MOST_PASSED = 25  # modules from a command to the gradebook
MOST_WORDS = 1050  # of the page on the architecture, without its picture


def test_every_module_has_its_floor():
    rooms = {room_of(module) for module in modules("autograder", "toolkit")}
    assert rooms - {"autograder"} == set(FLOOR)


def test_the_page_on_the_architecture_shows_what_is_imported():
    """Call ``python -m tools.rooms --write`` when this fails."""
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("<!-- rooms -->") == 1
    assert with_rooms(text) == text


def test_the_page_on_the_architecture_is_short():
    text = PAGE.read_text(encoding="utf-8")
    words = re.findall(r"\S*\w\S*", re.sub("```.*?```", "", text, flags=re.DOTALL))
    assert len(words) <= MOST_WORDS


def test_check_loads_few_modules():
    code = "import sys, autograder.check; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    ours = [n for n in done.stdout.split() if n.startswith(("autograder", "toolkit"))]
    assert "autograder.judge" in ours
    assert len(ours) <= MOST_LOADED


def test_the_page_on_the_architecture_names_files_that_exist():
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"[\w/]+\.py", text))
    there = [f"/{path.relative_to(ROOT)}" for path in ROOT.glob("[a-z]*/**/*.py")]
    assert {n for n in named if not any(p.endswith(f"/{n}") for p in there)} == set()


def test_a_right_submission_passes_few_modules():
    """Those that the steps name, but for clusters and wrong answers."""
    text = PAGE.read_text(encoding="utf-8")
    _, steps, _ = re.split(r"^[39]\. ", text, maxsplit=2, flags=re.MULTILINE)
    named = set(re.findall(r"`(?:\w+/)*(\w+)\.py`", steps))
    wrong = {"search", "results", "arguments", "steps", "errors"}
    assert wrong < named
    assert len(named - wrong - {"cluster"}) <= MOST_PASSED


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
