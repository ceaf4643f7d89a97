"""Read untrusted notebooks, and nbgrader's metadata in them.

Nothing about such a file is trusted: only the parts that are used are read, and a file
that cannot be used is reported in one line.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.files import Unusable, plain_file

if TYPE_CHECKING:
    from nbformat import NotebookNode

METADATA_KEY = "attention_from_scratch"  # where a notebook holds what is ours
MAX_FILE_BYTES = 40 * 2**20  # which takes a gigabyte or two to read at the worst
MAX_WRITTEN = 10 * 2**20  # characters of what was written, without what cells showed
MAX_CELLS = 2000
_COPY = re.compile(r"^Copy of |[ _]?\(\d+\)$|-Copy\d+$")  # of a file
_CHECK = re.compile(r"^check\([ \t]*(\w+)[ \t]*\)", re.MULTILINE)


def read_notebook(path: Path) -> dict[str, Any]:
    """The JSON data of a notebook file, checked only as far as we use it.

    Raises:
        Unusable: it is no notebook of format 4, or too large.
    """
    return parse_notebook(plain_file(path, MAX_FILE_BYTES, follow=True))


def parse_notebook(content: bytes) -> dict[str, Any]:
    """The JSON data of a notebook, checked only as far as we use it.

    Raises:
        Unusable: it is no notebook of format 4, or has too much in it.
    """
    if not content:
        raise Unusable("the file is empty (0 bytes), so it is no notebook")
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Unusable("the file is not UTF-8 text") from None
    except (ValueError, RecursionError):
        raise Unusable("the file is not JSON, so it is no notebook") from None
    if not isinstance(data, dict) or ("cells" not in data and "nbformat" not in data):
        raise Unusable("the file is JSON, but no notebook")
    if data.get("nbformat") != 4:
        raise Unusable("the notebook is not of format 4: save it anew in JupyterLab")
    if not isinstance(data.get("cells"), list):
        raise Unusable("the notebook has no list of cells")
    if len(data["cells"]) > MAX_CELLS:
        raise Unusable(f"the notebook has more than {MAX_CELLS} cells")
    if sum(len(_text(cell)) for cell in data["cells"]) > MAX_WRITTEN:
        raise Unusable(
            f"the notebook has more than {MAX_WRITTEN // 2**20} MB without its outputs"
        )
    return data


def chapter_of(data: dict[str, Any], path: Path) -> str:
    """The chapter a notebook belongs to, by its metadata, else by its file name."""
    named = _ours(data).get("chapter")
    return named if isinstance(named, str) else _COPY.sub("", path.stem)


def is_untouched(data: dict[str, Any]) -> bool:
    """Whether a notebook has exercises of ours, all of them as they were released."""
    stubs = [(_ours(cell).get("stub"), cell) for cell in data["cells"]]
    ours = [(stub, cell) for stub, cell in stubs if isinstance(stub, str)]
    return bool(ours) and all(_text(cell) == stub for stub, cell in ours)


def _ours(part: Any) -> dict[str, Any]:
    """What a notebook or one of its cells holds that is ours; it may be anything."""
    metadata = part.get("metadata") if isinstance(part, dict) else None
    ours = metadata.get(METADATA_KEY) if isinstance(metadata, dict) else None
    return ours if isinstance(ours, dict) else {}


def _text(cell: Any) -> str:
    """The source of a cell, which may be anything."""
    text = cell.get("source") if isinstance(cell, dict) else None
    lines = text if isinstance(text, list) else [text]
    return "".join(line for line in lines if isinstance(line, str))


def source(cell: dict[str, Any]) -> str:
    """The source of a cell, which a file holds as a text or as lines."""
    text = cell["source"]
    return text if isinstance(text, str) else "".join(text)


def checked_in(code: str) -> list[str]:
    """The names for which the code of a cell calls ``check``, each once, in order."""
    return list(dict.fromkeys(_CHECK.findall(code)))


def only_checks(code: str) -> bool:
    """Whether a cell calls ``check`` and does nothing else."""
    lines = [line.partition("#")[0].strip() for line in code.splitlines()]
    return all(_CHECK.fullmatch(line.rstrip(";")) for line in lines if line)


def grade_id(cell: dict[str, Any]) -> str:
    """The name of a cell in nbgrader; empty if it has none."""
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))


def tests_in(notebook: NotebookNode) -> dict[str, float]:
    """The cells that nbgrader takes for tests: points by grade id."""
    entries = [
        cell.metadata.get("nbgrader", {})
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    return {
        entry["grade_id"]: entry["points"]
        for entry in entries
        if entry.get("grade") and not entry.get("solution")
    }


def points_in(notebook: NotebookNode) -> dict[str, float]:
    """The points of the exercises in a notebook, by name."""
    tests = tests_in(notebook).items()
    return {grade_id.removeprefix("check-"): points for grade_id, points in tests}
