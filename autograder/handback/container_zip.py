"""Pack a chapter as an autograder that Gradescope runs.

The zip holds the wheel, the released notebook and a key with answers to seeds of its
own: no solutions, and not the answers that the key of the students has.
"""

from __future__ import annotations

import re
import secrets
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from importlib.resources import files
from pathlib import Path

import nbformat

import autograder
from autograder.answer_key import write_key
from autograder.errors import AutograderError
from autograder.exercise import load_topic
from autograder.files import write_atomically
from autograder.grading.seeds import draw_seeds
from autograder.handback.in_container import CHAPTER, judged_by_key
from autograder.handback.lti_settings import why_unsafe
from autograder.release.course import master_text
from autograder.release.source import source_notebook
from autograder.release.student import student_notebook

EXTRAS = ("grading", "notebooks")  # of the wheel, those that it has
_PINNED = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(\S+)")


class CannotPack(AutograderError):
    """The zip cannot be made; the message says why."""


def write_container_zip(
    chapter: str, path: Path, course: Path | None = None, index: str | None = None
) -> tuple[list[str], list[str]]:
    """Write the autograder of a chapter for Gradescope.

    Args:
        chapter: its name.
        path: of the zip.
        course: whose released notebook it is; the book's if None.
        index: another address from which the container takes packages as well.

    Returns:
        The names of what is in it, and the exercises that are not marked there.

    Raises:
        CannotPack: this is no checkout with solutions, or the index is no safe address.
        CourseError: the course has no release of the chapter.
    """
    if index is not None and (why := why_unsafe(index)):
        raise CannotPack(f"the index {index!r} {why}")
    root = Path(autograder.__file__).parents[1]
    if not (root / "solutions").is_dir() or not (root / "constraints.txt").is_file():
        raise CannotPack(
            f"{root} is no checkout of the course; only there it can be made"
        )
    topic = load_topic(chapter)
    if course is not None:
        notebook = master_text(course, chapter)
    else:
        notebook = nbformat.writes(student_notebook(source_notebook(chapter)))
    with tempfile.TemporaryDirectory() as folder:
        key, target = Path(folder, f"{chapter}.key"), Path(folder, path.name)
        write_key(chapter, key, draw_seeds(topic, secrets.token_bytes()))
        wheel = _wheel(root, Path(folder))
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("setup.sh", "run_autograder"):
                content = files(__package__).joinpath("container", name).read_bytes()
                program = zipfile.ZipInfo(name)
                program.external_attr = 0o100755 << 16
                program.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(program, content.replace(b"\r\n", b"\n"))
            archive.writestr(CHAPTER, f"{chapter}\n")
            archive.writestr("constraints.txt", "\n".join(_constraints(root)) + "\n")
            archive.writestr("extras.txt", _extras(wheel))
            options = ["--extra-index-url", index] if index else []
            archive.writestr("pip_options.txt", "".join(f"{o}\n" for o in options))
            archive.writestr(f"{chapter}.ipynb", notebook)
            archive.write(key, key.name)
            archive.write(wheel, wheel.name)
            names = archive.namelist()
        write_atomically(path, target.read_bytes())
    return names, sorted(set(topic.exercises) - set(judged_by_key(topic)))


def _wheel(root: Path, folder: Path) -> Path:
    """The wheel of this checkout."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    found = list(folder.glob("*.whl"))
    if done.returncode or len(found) != 1:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise CannotPack(f"the wheel cannot be built: {' '.join(last)}")
    return found[0]


def _extras(wheel: Path) -> str:
    """The extras that grading needs, of those that the wheel has, as pip takes them."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    has = metadata.get_all("Provides-Extra") or []
    wanted = [extra for extra in EXTRAS if extra in has]
    return f"[{','.join(wanted)}]" if wanted else ""


def _constraints(root: Path) -> Iterator[str]:
    """The versions that this checkout is tested with; a constraint has no extras."""
    for name in ("requirements.txt", "constraints.txt"):
        for line in (root / name).read_text(encoding="utf-8").splitlines():
            if found := _PINNED.fullmatch(line.strip()):
                yield f"{found[1]}=={found[2]}"
