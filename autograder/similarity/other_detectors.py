"""Submissions in the forms that two well-known detectors read, Dolos and JPlag.

Sources: https://dolos.ugent.be/docs/adding-metadata.html (files and ``info.csv`` in a
ZIP archive), https://github.com/jplag/JPlag/wiki (one folder for each submission, and a
folder of base code).
"""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

from autograder.errors import AutograderError
from autograder.similarity.works import OWN_CELLS, ClassWork, Work

_DATE = (1980, 1, 1, 0, 0, 0)  # the first that an archive can hold


class InTheWay(AutograderError):
    """What is to be written is there already."""


def write_exports(folder: Path, class_: ClassWork) -> dict[str, Path]:
    """Write the works of a class into a new folder.

    Each becomes one Python file, without stubs. ``dolos.zip`` holds them with
    ``info.csv``; ``jplag/`` holds a folder for each. The code that everybody was given,
    references too, is beside them: ``base.py`` for Dolos (``--ignore``), and
    ``jplag-base/`` for JPlag (``-bc``).

    Returns:
        What was written, by the detector that reads it.

    Raises:
        InTheWay: the folder exists and is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InTheWay(f"{folder} exists; name a folder that is new or empty")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    base = "\n\n".join(class_.given) + "\n"
    (folder / "base.py").write_text(base, encoding="utf-8", errors="replace")
    _write(folder / "jplag-base" / "base.py", base)
    with zipfile.ZipFile(folder / "dolos.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "info.csv", _info(class_))
        for work in class_.works:
            _add(archive, _file(work), as_file(work))
    for work in class_.works:
        _write(folder / "jplag" / work.student / f"{class_.chapter}.py", as_file(work))
    return {"for Dolos": folder / "dolos.zip", "for JPlag": folder / "jplag"}


def as_file(work: Work) -> str:
    """All that a student wrote as one Python file."""
    parts = [
        f"# {'Cells of their own' if name == OWN_CELLS else name}\n{text}"
        for name, text in work.texts.items()
    ]
    return "\n\n\n".join(parts) + "\n"


def _file(work: Work) -> str:
    return f"submissions/{work.student}.py"


def _info(class_: ClassWork) -> str:
    """The table of Dolos; a path begins with its folder, so none is a formula."""
    table = io.StringIO()
    writer = csv.writer(table)
    timed = all(work.time for work in class_.works)  # Dolos takes all times or none
    writer.writerow(["filename", "full_name", *(["created_at"] if timed else [])])
    for work in class_.works:
        when = [f"{work.time}:00 +0000"] if timed else []
        writer.writerow([_file(work), " " * _formula(work) + work.student, *when])
    return table.getvalue()


def _formula(work: Work) -> bool:
    return work.student[:1] in "=+-@"


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    """Add a file, the same bytes whenever it is written."""
    info = zipfile.ZipInfo(name, _DATE)
    info.external_attr = 0o600 << 16
    archive.writestr(info, text.encode("utf-8", "replace"), zipfile.ZIP_DEFLATED)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="replace")
