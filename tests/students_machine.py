"""A machine as students have it: the wheel, what it declares, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

EXTRA = "notebooks"  # the one that the guides have students install


@dataclass(frozen=True)
class Student:
    """A machine on which nothing is but the wheel and what it declares."""

    python: Path
    home: Path

    def run(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess:
        """Call its Python."""
        ours = ("PYTHON", "JUPYTER", "IPYTHON")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        return subprocess.run(
            [self.python, *arguments],
            cwd=cwd,
            env=kept | {"HOME": str(self.home), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )


def declared(requirements: list[str]) -> Iterator[metadata.Distribution]:
    """What pip would install for these, of what is installed here."""
    todo, seen = [Requirement(text) for text in requirements], set()
    while todo:
        wanted = todo.pop()
        if str(wanted) in seen:
            continue
        seen.add(str(wanted))
        try:
            found = metadata.distribution(wanted.name)
        except metadata.PackageNotFoundError:
            continue  # an import of it will say so
        yield found
        todo += needed(found.requires or [], wanted.extras)


def needed(requirements: list[str], extras: set[str]) -> list[Requirement]:
    """Those that hold on this machine, with these extras."""
    return [
        each
        for each in map(Requirement, requirements)
        if each.marker is None
        or any(each.marker.evaluate({"extra": extra}) for extra in {"", *extras})
    ]


def build_wheel(root: Path, folder: Path) -> Path:
    """The wheel as it is handed out."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def machine_with(wheel: Path, home: Path, *also: str) -> Student:
    """The wheel, and other packages, installed where there is nothing else.

    What they declare, with all that this needs, is linked from the environment of the
    tests, where each is installed in the pinned version.
    """
    venv.create(home / "env", symlinks=True)
    python = home / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps"]
    subprocess.run([*pip, "--no-index", "--quiet", str(wheel)], check=True)
    (packages,) = (home / "env").glob("lib/python3*/site-packages")
    (own,) = metadata.distributions(name="attention-from-scratch", path=[str(packages)])
    wanted = [str(each) for each in needed(own.requires or [], {EXTRA})]
    for distribution in declared([*wanted, *also]):
        for file in distribution.files or []:
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (packages / top).exists():
                (packages / top).symlink_to(distribution.locate_file(top))
    return Student(python, home)
