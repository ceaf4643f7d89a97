"""Put the stub of an exercise back into a notebook; the answer is kept in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autograder.errors import AutograderError
from autograder.files import Unusable, printable, write_atomically
from autograder.notebooks import METADATA_KEY, grade_id, read_notebook, source


class CannotReset(AutograderError):
    """There is no such exercise, or no stub to put back; the message says which."""


def reset(notebook: Path | str, exercise: str) -> None:
    """Put the stub of an exercise back into a saved notebook, and say what was done.

    The answer that was there is kept in a file beside the notebook. What its check
    showed is removed.

    Args:
        notebook: path of the notebook.
        exercise: name of the exercise.

    Raises:
        Unusable: it is no notebook.
        CannotReset: it has no such exercise, or does not hold its stub.
    """
    path = Path(notebook)
    data = read_notebook(path)
    try:
        kept = _reset(path, data, exercise)
    except (AttributeError, KeyError, TypeError):
        raise Unusable(f"{path}: its cells are damaged") from None
    if not kept:
        print(printable(f"{exercise} is its stub already: nothing was changed"))
        return
    _write(path, data)
    names = " and ".join(str(file) for file in kept)
    done = f"{exercise} is its stub again in {path}; your answer is in {names}"
    print(printable(done))
    print("if the notebook is open: File, Reload Notebook from Disk")


def _reset(path: Path, data: dict[str, Any], exercise: str) -> list[Path]:
    """Change the data of a notebook; the files in which answers were kept."""
    names = [
        grade_id(cell).removeprefix("check-")
        for cell in data["cells"]
        if grade_id(cell).startswith("check-")
    ]
    cells = [cell for cell in data["cells"] if grade_id(cell) == exercise]
    if exercise not in names or not cells:
        given = f"it has {', '.join(names)}" if names else "it has none"
        raise CannotReset(f"{path} has no exercise {exercise!r}; {given}")
    stub = cells[0]["metadata"].get(METADATA_KEY, {}).get("stub")
    if not isinstance(stub, str):
        raise CannotReset(
            f"{path} does not hold the stub of {exercise}; take it from the notebook "
            "as you got it"
        )
    answers = [cell for cell in cells if source(cell).strip() != stub.strip()]
    kept = [_keep(path, exercise, source(cell)) for cell in answers]
    for cell in answers:
        cell["source"] = stub.splitlines(keepends=True)
    for cell in data["cells"]:
        if grade_id(cell) in (exercise, f"check-{exercise}") and kept:
            cell |= {"cell_type": "code", "outputs": [], "execution_count": None}
    return kept


def _keep(path: Path, exercise: str, answer: str) -> Path:
    """Write an answer to a file that is not there yet."""
    number = 1
    while True:
        file = path.with_name(f"{path.stem}.{exercise}.{number}.py")
        try:
            with file.open("x", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(answer.rstrip() + "\n")
            return file
        except FileExistsError:
            number += 1


def _write(path: Path, data: dict[str, Any]) -> None:
    path = path.resolve()
    mode = path.stat().st_mode
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    # Half a character is escaped, as JSON does it.
    write_atomically(path, text.encode("utf-8", "backslashreplace"))
    path.chmod(mode)
