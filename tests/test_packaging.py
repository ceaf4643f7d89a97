"""What students install."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement


@pytest.fixture(scope="module")
def project(root: Path) -> dict:
    """What pyproject.toml declares."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


@pytest.fixture(scope="module")
def pinned(root: Path) -> dict[str, str]:
    """The versions that all tests are run with, by name."""
    lines = [
        line
        for name in ("requirements.txt", "constraints.txt")
        for line in (root / name).read_text(encoding="utf-8").splitlines()
    ]
    pins = [re.fullmatch(r"([\w.-]+)(?:\[\w+\])?==(\S+)", line) for line in lines]
    return {plain(pin[1]): pin[2] for pin in pins if pin}


def plain(name: str) -> str:
    """The name of a package, as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


PINNED_WITH = {"dask": "distributed"}  # always released together


def test_tested_versions_lie_in_the_declared_ranges(project, pinned):
    extras = project["optional-dependencies"].values()
    texts = [*project["dependencies"], *(text for extra in extras for text in extra)]
    requirements = {plain(r.name): r for r in map(Requirement, texts)}
    del requirements["attention-from-scratch"]  # an extra that contains another one
    for name, requirement in requirements.items():
        version = pinned[PINNED_WITH.get(name, name)]
        assert version in requirement.specifier, f"{requirement} and {version}"
        bounds = {specifier.operator for specifier in requirement.specifier}
        assert bounds == {">=", "<"}, requirement


@pytest.mark.parametrize(
    "page", ["README.md", "chapters/teaching/students_machines.md"]
)
def test_pages_say_how_students_install_this_version(root, project, page):
    text = (root / page).read_text(encoding="utf-8")
    name = project["name"].replace("-", "_")
    wheel = f"{name}-{project['version']}-py3-none-any.whl[notebooks]"
    assert f'pip install "{wheel}"' in text
    assert "notebooks" in project["optional-dependencies"]
