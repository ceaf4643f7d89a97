"""Check a whole notebook of one's own, as a student does before handing it in.

Its cells run in a kernel as in JupyterLab, with all rights of the caller, and the
report is what its checks found: on the public seeds, with the solutions or the key of
the chapter. So the wheel and a key are all that is needed. An instructor grades in a
sandbox instead, on seeds of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from jupyter_client.kernelspec import NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from autograder.answer_key import read_key
from autograder.cells import without_file
from autograder.check import self_study
from autograder.demonstrations import needed
from autograder.encoding import clean
from autograder.errors import AutograderError
from autograder.exercise import Topic, load_topic
from autograder.files import Unusable
from autograder.judge import refuse
from autograder.notebooks import chapter_of, checked_in, read_notebook, source
from autograder.record import RECORD

CELL_SECONDS = 60  # twice what the grader allows: a student's machine may be slower
DEFINE = "__import__('autograder.stepwise').stepwise.define({!r})"  # without errors
HERE = (
    "examined here with the inputs that `check` always uses; other inputs are drawn "
    "for grading"
)


class NoKernel(AutograderError):
    """No kernel could be started here, or it did not survive."""


def examine_own(path: Path, seconds: float = CELL_SECONDS) -> dict[str, Any]:
    """Run a notebook with its checks; the report, as ``check --json`` prints it.

    Args:
        path: of the notebook; the key of the chapter, if one is needed, is beside it.
        seconds: how long one cell may take.

    Raises:
        Unusable: it is no notebook, or damaged.
        UnknownExercise: there is no such chapter.
        NoKey: neither solutions nor a usable key are at hand.
        NoKernel: no kernel could be started, or it ended.
    """
    data = read_notebook(path)
    topic = load_topic(chapter_of(data, path))
    folder = path.resolve().parent
    if not self_study():
        for exercise in topic.exercises.values():
            read_key(topic, exercise, folder)  # says so before anything is run
    try:
        sources = _sources(data["cells"], topic)
    except (AttributeError, KeyError, TypeError):
        raise Unusable(f"{path}: its cells are damaged") from None
    reports, notes = _run(sources, folder, seconds)
    exercises = [
        reports.get(name) or refuse(e, "its check did not run to its end").as_dict()
        for name, e in topic.exercises.items()
    ]
    return {
        "chapter": topic.name,
        "score": sum(report["score"] for report in exercises),
        "max_score": sum(report["max_score"] for report in exercises),
        "exercises": exercises,
        "notes": [HERE, *notes],
    }


def _sources(cells: list[dict[str, Any]], topic: Topic) -> dict[str, str]:
    """What is run, by how people call a cell: its cells, and the checks that it lacks.

    Of demonstrations, which may take minutes, it is what others use.
    """
    code = {
        f"cell {number}": cell
        for number, cell in enumerate(cells, start=1)
        if cell["cell_type"] == "code"
    }
    demos = {
        name: source(cell)
        for name, cell in code.items()
        if "demo" in cell.get("metadata", {}).get("tags", [])
    }
    written = {name: source(cell) for name, cell in code.items() if name not in demos}
    used = needed(demos, written.values())
    found = {name: DEFINE.format(text) for name, text in used.items()} | written
    checked = {name for text in written.values() for name in checked_in(text)}
    missing = {
        f"check of {name}": f"from autograder.check import check\ncheck({name})"
        for name in topic.exercises
        if name not in checked
    }
    return {name: found[name] for name in code if name in found} | missing


def _run(
    sources: dict[str, str], folder: Path, seconds: float
) -> tuple[dict[str, dict], list[str]]:
    """Reports by exercise, and a note for each error of a cell."""
    notebook = new_notebook(cells=[new_code_cell(text) for text in sources.values()])
    client = NotebookClient(
        notebook,
        timeout=seconds,
        startup_timeout=180,
        interrupt_on_timeout=True,
        allow_errors=True,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.log.disabled = True  # the notes say it
    reports, notes, where = {}, [], ""
    try:
        with client.setup_kernel(stdout=DEVNULL, stderr=DEVNULL):
            for number, name in enumerate(sources):
                where = f" before the end of {name}"
                outputs = client.execute_cell(notebook.cells[number], number).outputs
                reports |= _reports(outputs)
                notes += [f"{name}: {text}" for text in _errors(outputs)]
    except (DeadKernelError, NoSuchKernel, OSError, RuntimeError) as error:
        raise NoKernel(
            f"the kernel stopped{where} ({type(error).__name__}): open the notebook, "
            "run all of its cells, and look at the one that does not end well"
        ) from None
    return reports, notes


def _reports(outputs: list[NotebookNode]) -> dict[str, dict]:
    """What checks have found, by exercise."""
    records = [output.get("metadata", {}).get(RECORD) for output in outputs]
    return {found["exercise"]: found["report"] for found in records if found}


def _errors(outputs: list[NotebookNode]) -> Iterator[str]:
    """What stopped a cell, in a line."""
    for output in outputs:
        if output.output_type == "error":
            kind, text = clean(output.ename), clean(output.evalue)
            if kind == "KeyboardInterrupt":
                text = "it took too long and was interrupted"
            yield without_file(f"{kind}: {text}") if text else kind
