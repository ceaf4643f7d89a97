"""Check a whole notebook of one's own, as a student does before handing it in.

Its cells run in a kernel as in JupyterLab, with all rights of the caller, and the
answers are judged as ``check(f)`` judges them: on the public seeds, with the solutions
or the key of the chapter. So the wheel and a key are all that is needed. An instructor
grades in a sandbox instead, on seeds of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbformat.v4 import new_code_cell, new_notebook

from autograder.answer_key import NoKey, read_key
from autograder.cells import (
    RENAME,
    Interrupted,
    not_defined,
    other_name,
    without_file,
)
from autograder.check import examine_here, self_study, with_what_is_seen
from autograder.demonstrations import needed
from autograder.encoding import clean
from autograder.errors import AutograderError, GraderFault
from autograder.exercise import Exercise, Topic, find_topic, load_topic
from autograder.files import Unusable
from autograder.judge import Report, refuse
from autograder.notebooks import (
    METADATA_KEY,
    chapter_of,
    checked_in,
    only_checks,
    read_notebook,
    source,
)
from autograder.show import executed_cells, names_in_notebook

CELL_SECONDS = 60  # twice what the grader allows: a student's machine may be slower
GO_ON = "__import__('autograder.stepwise').stepwise.go_on_below_errors(get_ipython())"
HERE = (
    "examined here with the inputs that `check` always uses; other inputs are drawn "
    "for grading"
)


class NoKernel(AutograderError):
    """No kernel could be started here, or it did not survive."""


@dataclass(frozen=True)
class Step:
    """A cell to be run: the source, and how people call the cell.

    Attributes:
        exercise: what is asked in this step; empty where a cell of the notebook runs.
    """

    source: str
    name: str
    exercise: str = ""


def examine_own(path: Path, seconds: float = CELL_SECONDS) -> dict[str, Any]:
    """Run a notebook and judge its answers; the report, as ``check --json`` prints it.

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
        steps = _steps(data["cells"], topic)
    except (AttributeError, KeyError, TypeError):
        raise Unusable(f"{path}: its cells are damaged") from None
    reports, notes = _run(steps, folder, seconds)
    exercises = [
        reports.get(name) or refuse(e, "it was not examined").as_dict()
        for name, e in topic.exercises.items()
    ]
    return {
        "chapter": topic.name,
        "score": sum(report["score"] for report in exercises),
        "max_score": sum(report["max_score"] for report in exercises),
        "exercises": exercises,
        "notes": [HERE, *notes],
    }


def _steps(cells: list[dict[str, Any]], topic: Topic) -> list[Step]:
    """What is run, in order: cells, and a question below the last check of each answer.

    An exercise that is never checked is asked for at the end. A stub that is as it was
    released takes nothing away from an answer above it, so all are defined first.
    """
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    tags = {id(cell): cell.get("metadata", {}).get("tags", []) for cell in code}
    stubs = [stub for cell in code if (stub := _stub(cell))]
    asked = {name: id(cell) for cell in code for name in checked_in(source(cell))}
    demos = {id(c): source(c) for c in code if "demo" in tags[id(c)]}
    use = needed(demos, (source(c) for c in code if id(c) not in demos))
    steps = [Step(GO_ON, "")]
    steps += [Step(_define("\n\n\n".join(stubs)), "")] if stubs else []
    for number, cell in enumerate(cells, start=1):
        if cell["cell_type"] != "code":
            continue
        text, name = source(cell), f"cell {number}"
        if id(cell) in demos:
            steps += [Step(_define(use[id(cell)]), name)] if id(cell) in use else []
        elif text.strip() and text != _stub(cell) and not only_checks(text):
            steps.append(Step(text, name))
        below = [n for n in checked_in(text) if asked[n] == id(cell)]
        steps += [_question(n) for n in below if n in topic.exercises]
    return [*steps, *(_question(name) for name in topic.exercises if name not in asked)]


def _stub(cell: dict[str, Any]) -> str:
    """What a cell was released with, if an answer is asked for in it."""
    return cell.get("metadata", {}).get(METADATA_KEY, {}).get("stub", "")


def _define(text: str) -> str:
    return f"__import__('autograder.stepwise').stepwise.define({text!r})"


def _question(exercise: str) -> Step:
    code = f"__import__({__name__!r}, fromlist=['_']).answer_here({exercise!r})"
    return Step(code, f"check of {exercise}", exercise)


def _run(
    steps: list[Step], folder: Path, seconds: float
) -> tuple[dict[str, dict], list[str]]:
    """Reports by exercise, and a note for each error of a cell."""
    notebook = new_notebook(cells=[new_code_cell(step.source) for step in steps])
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
    number = 0
    try:
        with client.setup_kernel():
            for number, cell in enumerate(notebook.cells):
                client.execute_cell(cell, number)
    except (DeadKernelError, NoSuchKernel, OSError, RuntimeError) as error:
        started = "execution" in notebook.cells[number].metadata
        where = f" in {steps[number].name}" if started else ""
        raise NoKernel(
            f"the kernel stopped{where} ({type(error).__name__}): open the notebook, "
            "run all of its cells, and look at the one that does not end well"
        ) from None
    reports, notes = {}, []
    for step, cell in zip(steps, notebook.cells, strict=True):
        if step.exercise:
            reports |= _reports(cell.outputs)
        else:
            notes += [f"{step.name}: {text}" for text in _errors(cell.outputs)]
    return reports, notes


def _reports(outputs: list[nbformat.NotebookNode]) -> dict[str, dict]:
    """What ``answer_here`` has shown, by exercise."""
    found = {}
    for output in outputs:
        with suppress(AttributeError, KeyError, ValueError):
            report = json.loads(output.data["application/json"]["report"])
            found[report["name"]] = report
    return found


def _errors(outputs: list[nbformat.NotebookNode]) -> Iterator[str]:
    """What stopped a cell, in a line."""
    for output in outputs:
        if output.output_type == "error":
            kind, text = clean(output.ename), clean(output.evalue)
            if kind == "KeyboardInterrupt":
                text = "it took too long and was interrupted"
            yield without_file(f"{kind}: {text}") if text else kind


def answer_here(name: str) -> None:
    """Judge an answer in the kernel that defines it, and display the report as JSON.

    Args:
        name: of an exercise.
    """
    from IPython.display import display

    report = _report_on(find_topic(name).exercises[name], names_in_notebook())
    data = {"application/json": {"report": json.dumps(report.as_dict())}}
    display(data, raw=True)


def _report_on(exercise: Exercise, names: dict[str, Any]) -> Report:
    answer = names.get(exercise.name)
    if not callable(answer):
        return refuse(exercise, _not_there(exercise.name, names))
    problem = not_defined(exercise.name, answer, executed_cells())
    if problem:
        return refuse(exercise, problem)
    try:
        report = examine_here(exercise, answer).report
    except (GraderFault, Interrupted, NoKey) as error:
        return refuse(exercise, str(error))
    return with_what_is_seen(report, answer, names)


def _not_there(name: str, names: dict[str, Any]) -> str:
    """That an answer is not defined, and which other name it may have."""
    best = other_name(name, None, names)
    hint = f". {RENAME.format(best, name, '')}" if best else ""
    return f"{name} is not defined{hint}"
