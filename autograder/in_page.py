"""The Python behind the exercises of a page: runs what a reader writes, and checks it.

A page of the book starts this in the reader's browser, in Pyodide, and asks with texts
of JSON; its scripts move texts and pictures and know nothing of exercises. The judge is
the one of the notebooks. Nothing here needs a browser, so it is tested without one too.
"""

from __future__ import annotations

import ast
import contextlib
import html
import json
import linecache
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autograder import cell_output
from autograder.answer_key import NoKey
from autograder.check import Judged, examine_here, self_study, with_what_is_seen
from autograder.errors import GraderFault
from autograder.exercise import find_topic
from autograder.hints import hints_on
from autograder.judge import Report, refuse
from autograder.later import Absent, Later, Needs
from autograder.model_trial import trial
from autograder.page_cells import Cell, ends_silently, modules_in, names_in, names_made
from autograder.picture import first_difference, side_by_side
from autograder.record import is_stub
from autograder.show import STYLE, as_html
from autograder.without_torch import stand_in_for_torch


@dataclass
class Page:
    """The state of one page: its names, and the cells that were run.

    Args:
        later: packages that the page can load when they are needed.

    Attributes:
        finder: notices imports of these; it stays in ``sys.meta_path``.
    """

    later: Sequence[str] = ()
    names: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names.update(__name__="__main__", input=_no_input)
        self._run: dict[str, str] = {}  # sources by the names of cells
        self._waiting: list[tuple[ast.stmt, Cell]] = []
        stand_in_for_torch()
        self.finder = Later(set(self.later))
        if self.later:
            sys.meta_path.insert(0, self.finder)

    def ask(self, question: str) -> str:
        """Do what the page asks for.

        Args:
            question: JSON: what to ``do`` (the name of a public method) and ``with``.

        Returns:
            JSON: ``page`` is HTML to show; ``report`` what a check found, or null;
            ``drawable`` whether a picture of the difference could be drawn; ``failed``
            whether the cell stopped with an error; ``first`` names the cells to run
            before this one. ``needs`` names a package to load before the question is
            asked again, or is null.
        """
        asked = json.loads(question)
        asked["with"]["above"] = [Cell(**c) for c in asked["with"].get("above", [])]
        if "cell" in asked["with"]:
            asked["with"]["cell"] = Cell(**asked["with"]["cell"])
        try:
            return json.dumps(getattr(self, asked["do"])(**asked["with"]))
        except Needs as missing:
            return json.dumps(_answer(needs=missing.package))

    def arrived(self, package: str, above: Sequence[Cell]) -> dict[str, Any]:
        """Run what waited for a package."""
        self.finder.packages.discard(package)
        waiting, self._waiting = self._waiting, []
        for statement, cell in waiting:
            self._run_or_wait(statement, cell)
        return _answer()

    def run(self, cell: Cell, above: Sequence[Cell]) -> dict[str, Any]:
        """Run a cell, after those above it that were not run as they are now."""
        notes = self._prepare(cell, above)
        self._require_packages(cell)
        shown, error = self._execute(cell)
        first = self._to_run_first(error, above)
        if first:
            shown = (
                f"<p class='in-page-note'>This cell needs <code>"
                f"{html.escape(error.name)}</code> from a cell above that has not been "
                "run.</p>"
            )
        return _answer(notes + shown, failed=error is not None, first=first)

    def check(
        self, cell: Cell, above: Sequence[Cell], draw: bool = False
    ) -> dict[str, Any]:
        """Run the answer to an exercise and check it.

        Args:
            cell: the answer.
            above: the cells above it.
            draw: load matplotlib, if it is not, for a picture of the difference.
        """
        notes = self._prepare(cell, above)
        shown, judged = self._examined(cell)
        picture, drawable = "", False
        if self_study() and judged.given:
            exercise = find_topic(cell.name).exercises[cell.name]
            found = first_difference(
                exercise, judged.report, judged.given, judged.reference
            )
            try:
                picture = side_by_side(*found) if found else ""
            except Needs:
                if draw:
                    raise
                drawable = True
        page = notes + shown + as_html(judged.report) + _blind_to(cell.name) + picture
        return _answer(page, judged.report, drawable)

    def hint(self, cell: Cell, above: Sequence[Cell], count: int) -> dict[str, Any]:
        """The first ``count`` hints on an answer."""
        self._prepare(cell, above)
        report = self._examined(cell)[1].report
        exercise = find_topic(cell.name).exercises[cell.name]
        hints = hints_on(exercise, report)
        if report.score == report.max_score:
            hints = ["All points are there: nothing is left to hint at."]
        items = "".join(f"<li>{html.escape(text)}</li>" for text in hints[:count])
        more = "" if count < len(hints) else "<p>There are no more hints.</p>"
        page = f"{STYLE}<div class='attention-hint'><ol>{items}</ol>{more}</div>"
        return _answer(page, report)

    def model(
        self, cell: Cell, above: Sequence[Cell], file: dict[str, Any]
    ) -> dict[str, Any]:
        """Run a trained model of the book with the function that a cell defines.

        Args:
            cell: the answer to softmax.
            above: the cells above it.
            file: the model, as ``toolkit.playground`` gave it away.
        """
        notes = self._prepare(cell, above)
        self.names.pop(cell.name, None)
        shown, error = self._execute(cell)
        mine = self.names.get(cell.name)
        if error is None and (mine is None or is_stub(cell.source)):
            shown += (
                "<p class='in-page-note'>There is no answer to run it with yet.</p>"
            )
        elif error is None:
            topic = find_topic(cell.name)
            ours = topic.reference(cell.name) if self_study() else None
            with contextlib.redirect_stdout(cell_output.Printed()):
                try:
                    shown += trial(file, mine, ours)
                except BaseException as stopped:
                    shown, error = cell_output.error(stopped), stopped
        return _answer(notes + shown, failed=error is not None)

    def _examined(self, cell: Cell) -> tuple[str, Judged]:
        """What a cell shows, and how the answer that it defines was judged."""
        exercise = find_topic(cell.name).exercises[cell.name]
        self.names.pop(cell.name, None)
        shown, error = self._execute(cell)
        if error is not None:
            problem = f"The cell stops with a {type(error).__name__}."
        elif cell.name not in self.names:
            problem = f"The cell defines no {cell.name}: keep the name of the stub."
        else:
            answer = self.names[cell.name]
            try:
                judged = examine_here(exercise, answer)
            except (NoKey, GraderFault) as missing:
                problem = str(missing)
            else:
                report = with_what_is_seen(judged.report, answer, self.names)
                return shown, replace(judged, report=report)
        return shown, Judged(refuse(exercise, problem), [], [])

    def _prepare(self, cell: Cell, above: Sequence[Cell]) -> str:
        """Run what stands above a cell; note what it uses that is not the reader's.

        An exercise that is still a stub, or that does not run, is left out. The book's
        own answer takes its place where solutions are given, as in the printed page.
        """
        notes = ""
        used = names_in(cell.source)
        for other in above:
            if self._run.get(other.name) == other.source or other.kind == "demo":
                continue
            if other.kind == "setup":
                for statement in ast.parse(other.source).body:
                    self._run_or_wait(statement, other)
                self._run[other.name] = other.source
            elif is_stub(other.source) or self._execute(other)[1] is not None:
                if not self_study():
                    if other.name in used:
                        notes += (
                            f"<p class='in-page-note'>This uses <code>{other.name}"
                            "</code>, an exercise above: solve it first.</p>"
                        )
                    continue
                theirs = find_topic(other.name).reference(other.name)
                self.names[other.name] = theirs
                if other.name in used:
                    notes += (
                        f"<p class='in-page-note'>Runs with the book’s own "
                        f"<code>{other.name}</code> until yours works.</p>"
                    )
        return notes

    def _execute(self, cell: Cell) -> tuple[str, BaseException | None]:
        """Run a cell; HTML of what it printed and showed, and what stopped it."""
        _remember(cell)
        self._run.pop(cell.name, None)
        printed = cell_output.Printed()
        shown, error = "", None
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            warnings.catch_warnings(),
        ):
            # plt.show() has no window here; figures are shown all the same.
            warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
            try:
                body = ast.parse(cell.source, cell.file).body
                last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
                exec(compile(ast.Module(body, []), cell.file, "exec"), self.names)
                if last is not None:
                    code = compile(ast.Expression(last.value), cell.file, "eval")
                    value = eval(code, self.names)
                    silent = ends_silently(cell.source, last)
                    shown = "" if silent else cell_output.value(value)
                self._run[cell.name] = cell.source
            except Needs:
                raise
            except BaseException as stopped:  # even sys.exit() ends only this cell
                error = stopped
        page = printed.as_html() + shown + cell_output.figures()
        return page + (cell_output.error(error) if error else ""), error

    def _to_run_first(
        self, error: BaseException | None, above: Sequence[Cell]
    ) -> list[str]:
        """The cells above that have not run, if one of them makes what is missing."""
        waiting = [
            other
            for other in above
            if other.kind == "demo" and self._run.get(other.name) != other.source
        ]
        missing = error.name if isinstance(error, NameError) else None
        if any(missing in names_made(other.source) for other in waiting):
            return [other.name for other in waiting]
        return []

    def _require_packages(self, cell: Cell) -> None:
        """Find packages to load before a cell runs, not halfway through it.

        Half a cell would have drawn random numbers when it begins again.

        Raises:
            Needs: there is one.
        """
        for name in names_in(cell.source):
            if isinstance(self.names.get(name), Absent):
                raise Needs(self.names[name].absent_package)
        imported = {name.partition(".")[0] for name in modules_in(cell.source)}
        for package in sorted(imported & self.finder.packages):
            raise Needs(package)

    def _run_or_wait(self, statement: ast.stmt, cell: Cell) -> None:
        """Run a statement of a setup cell, or let it wait for the package it needs."""
        _remember(cell)
        try:
            exec(compile(ast.Module([statement], []), cell.file, "exec"), self.names)
        except Needs as missing:
            self._waiting.append((statement, cell))
            if isinstance(statement, ast.Import | ast.ImportFrom):
                for alias in statement.names:
                    name = (alias.asname or alias.name).partition(".")[0]
                    self.names[name] = Absent(missing.package)
        except ImportError:
            pass  # of PyTorch, say: the demonstrations that need it have no button


def _answer(
    page: str = "",
    report: Report | None = None,
    drawable: bool = False,
    failed: bool = False,
    first: Sequence[str] = (),
    needs: str | None = None,
) -> dict[str, Any]:
    return {
        "page": page,
        "report": report.as_dict() if report else None,
        "drawable": drawable,
        "failed": failed,
        "first": list(first),
        "needs": needs,
    }


def _blind_to(name: str) -> str:
    """A note on the cases of an exercise that a browser cannot look at.

    WebAssembly keeps no record of overflows, so NumPy has nothing to warn of.
    """
    cases = find_topic(name).exercises[name].cases
    titles = [f"“{html.escape(case.title)}”" for case in cases if case.warns]
    if sys.platform != "emscripten" or not titles:
        return ""
    return (
        f"<p class='in-page-note'>NumPy gives no warnings in a browser, so none can "
        f"fail {' or '.join(titles)} here; the notebook sees them.</p>"
    )


def _no_input(prompt: str = "") -> str:
    raise RuntimeError("a page cannot ask for input: write the value into the code")


def _remember(cell: Cell) -> None:
    """Let tracebacks and the judge find the lines of a cell."""
    lines = cell.source.splitlines(keepends=True)
    linecache.cache[cell.file] = (len(cell.source), None, lines, cell.file)
