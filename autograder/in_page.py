"""The Python behind the exercises of a page: runs what a reader writes, and checks it.

A page of the book starts this in the reader's browser, in Pyodide, and asks with texts
of JSON; its scripts move texts and pictures and know nothing of exercises. The judge is
the one of the notebooks. Nothing here needs a browser, so it is tested without one too.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import html
import inspect
import json
import linecache
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

from autograder import cell_output, own_transformer
from autograder.answer_key import NoKey
from autograder.check import (
    Judged,
    below_verdict,
    examine_here,
    self_study,
    with_what_is_seen,
)
from autograder.errors import GraderFault
from autograder.exercise import Exercise, find_topic
from autograder.failing import example_call
from autograder.judge import refuse
from autograder.model_trial import trial
from autograder.page_cells import (
    Cell,
    modules_in,
    names_in,
    names_made,
)
from autograder.parsing import with_blanks, without_docstrings
from autograder.reasons import Reason
from autograder.record import is_stub
from autograder.show import as_html, headline
from autograder.statements import names_bound
from autograder.watch import TooLong, Watch
from autograder.without_torch import stand_in_for_torch
from toolkit.your_transformer import IMPORTS

NOT_GIVEN = "<p>Solutions are not given in this course.</p>"
FEW_LINES = 8  # that were printed during a check, and are shown at once


class Needs(Exception):
    """A package is used that the page can load, and has not loaded yet: its name."""


@dataclass
class Page:
    """The state of one page: its names, and the cells that were run.

    Args:
        later: packages that the page can load when they are needed.
    """

    later: Sequence[str] = ()
    names: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names.update(__name__="__main__", input=_no_input)
        self._run: dict[str, str] = {}  # sources by the names of cells
        self._waiting: list[_Waiting] = []
        self._blocks: dict[str, str] = {}  # sources that passed, by exercise
        stand_in_for_torch()
        self._watch = Watch()
        self._later = set(self.later)

    def ask(self, question: str) -> str:
        """Do what the page asks for.

        Args:
            question: JSON: what to ``do`` (the name of a public method) and ``with``.

        Returns:
            JSON: ``page`` is HTML to show; ``report`` what a check found, or null;
            ``headline`` says it in a sentence, and ``line`` is the number of the line
            to blame, or 0; ``code`` is a line to try; ``failed`` is whether the cell
            stopped with an error; ``first`` names the cells to run before this one.
            ``needs`` names a package to load before the question is asked again, or is
            null.
        """
        self._watch = Watch()
        asked = json.loads(question)
        asked["with"]["above"] = [Cell(**c) for c in asked["with"].get("above", [])]
        if "cell" in asked["with"]:
            asked["with"]["cell"] = Cell(**asked["with"]["cell"])
        try:
            return json.dumps(getattr(self, asked["do"])(**asked["with"]))
        except Needs as missing:
            return json.dumps(_answer(needs=str(missing)))

    def arrived(self, package: str, above: Sequence[Cell]) -> dict[str, Any]:
        """Run what waited for a package."""
        self._later.discard(package)
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            self._run_or_wait(one.statement, one.cell)
        return _answer()

    def run(self, cell: Cell, above: Sequence[Cell]) -> dict[str, Any]:
        """Run a cell, after those above it that were not run as they are now."""
        notes = self._prepare(cell, above)
        shown, error = self._execute(cell)
        first = self._to_run_first(error, above)
        if first:
            shown = (
                f"<p class='in-page-note'>This cell needs <code>"
                f"{html.escape(error.name)}</code> from a cell above that has not been "
                "run.</p>"
            )
        return _answer(notes + shown, failed=error is not None, first=first)

    def check(self, cell: Cell, above: Sequence[Cell]) -> dict[str, Any]:
        """Run the answer to an exercise and check it.

        Args:
            cell: the answer.
            above: the cells above it.
        """
        notes = self._prepare(cell, above)
        found = self._examined(cell)
        report = found.judged.report
        exercise = find_topic(cell.name).exercises[cell.name]
        extra = below_verdict(exercise, found.judged, self.names.get(cell.name))
        page = as_html(report, extra) + found.shown + notes + _blind_to(cell.name)
        said = headline(report)[0].replace("`", "")
        return _answer(page, report=report.as_dict(), headline=said, line=found.line)

    def example(self, cell: Cell, above: Sequence[Cell]) -> dict[str, Any]:
        """The smallest call that goes wrong, as a line that can be run."""
        self._prepare(cell, above)
        judged = self._examined(cell).judged
        report, exercise = judged.report, find_topic(cell.name).exercises[cell.name]
        if report.score == report.max_score:
            return _answer("<p>All tests pass: nothing goes wrong.</p>")
        if not judged.given or report.reason is Reason.STUB:
            return _answer(
                "<p>Write a first version: then this shows where it fails.</p>"
            )
        answer = self.names[cell.name]
        with contextlib.redirect_stdout(cell_output.Printed()):
            found = example_call(exercise, answer, report)
        if found is None:
            return _answer("<p>No small call goes wrong: unfold the tests above.</p>")
        title, code = found
        page = (
            f"<p>It goes wrong here, in the test “{html.escape(title)}”:</p>"
            f"<pre>{html.escape(code)}</pre>"
        )
        return _answer(page, code=code)

    def skeleton(self, cell: Cell, above: Sequence[Cell]) -> dict[str, Any]:
        """The book's answer with blanks, where it is given."""
        if not self_study():
            return _answer(NOT_GIVEN)
        blank = with_blanks(_answer_of_the_book(cell.name))
        if blank.count("...") < 2:
            return _answer("<p>The book’s answer is a single expression.</p>")
        return _answer(
            "<p>The book’s answer, with blanks to fill in:</p>"
            f"<pre>{html.escape(blank)}</pre>"
        )

    def solution(self, cell: Cell, above: Sequence[Cell]) -> dict[str, Any]:
        """The book's answer as a diff against the reader's, where it is given."""
        if not self_study():
            return _answer(NOT_GIVEN)
        mine, ours = without_docstrings(cell.source), _answer_of_the_book(cell.name)
        lines = difflib.ndiff(mine.splitlines(), ours.splitlines())
        tags = {"+": "ins", "-": "del", " ": "span"}
        page = "".join(
            f"<{tags[line[0]]}>{html.escape(line)}</{tags[line[0]]}>"
            for line in lines
            if line[0] in tags
        )
        said = "From yours (−) to the book’s (+):"
        return _answer(f"<p>{said}</p><pre class='in-page-diff'>{page}</pre>")

    def model(
        self, cell: Cell, above: Sequence[Cell], file: dict[str, Any]
    ) -> dict[str, Any]:
        """Run a trained model of the book with the function that a cell defines.

        Args:
            cell: the answer to an exercise of ``model_trial.PLACES``.
            above: the cells above it.
            file: the model, as ``toolkit.playground`` gave it away.
        """
        self._prepare(cell, above)
        shown, error = self._execute(cell)
        if error is None:
            mine = self.names[cell.name]
            return self._tried(lambda: {"page": trial(file, cell.name, mine)})
        return _answer(shown, failed=True)

    def block(self, cell: Cell, above: Sequence[Cell] = ()) -> dict[str, Any]:
        """Check an answer in the file of the language model, among its other blocks."""
        if not self_study():
            return _answer("<p>This needs the book’s solutions.</p>", failed=True)
        book = own_transformer.references()
        self.names |= {n: book[n] for n in book if n not in self.names}
        answer = self.check(cell, [Cell("imports", "setup", IMPORTS)])
        if answer["report"]["score"] < answer["report"]["max_score"]:
            self.names[cell.name] = book[cell.name]
        else:
            self._blocks[cell.name] = cell.source
        return answer

    def transformer(
        self, above: Sequence[Cell], file: dict[str, Any], **asked: Any
    ) -> dict[str, Any]:
        """Run the language model on the blocks that passed, and on the book's.

        Args:
            above: nothing.
            file: the model, as ``toolkit.playground`` gave it away.
            asked: for ``own_transformer.trial``.
        """
        if not self_study():
            return _answer("<p>This needs the book’s solutions.</p>", failed=True)
        own = {name: self.names[name] for name in self._blocks}
        more = {"own": sorted(own), "program": own_transformer.program(self._blocks)}
        return self._tried(lambda: own_transformer.trial(file, own, **asked) | more)

    def _tried(self, trial: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What a model makes of a reader's functions, or where it stopped."""
        try:
            printed = contextlib.redirect_stdout(cell_output.Printed())
            with printed, self._watch.watching():
                return _answer(**trial())
        except BaseException as stopped:
            return _answer(cell_output.error(stopped), failed=True)

    def _examined(self, cell: Cell) -> _Examined:
        """How the answer that a cell defines was judged."""
        exercise = find_topic(cell.name).exercises[cell.name]
        self.names.pop(cell.name, None)
        shown, error = self._execute(cell)
        if cell.name not in self.names or isinstance(error, TooLong):
            return _refused(exercise, cell, error, shown)
        answer = self.names[cell.name]  # what stops below it does not matter
        printed = cell_output.Printed()
        try:
            with contextlib.redirect_stdout(printed), self._watch.watching():
                judged = examine_here(exercise, answer)
        except (NoKey, GraderFault) as missing:
            return _Examined(Judged(refuse(exercise, str(missing)), [], []), shown)
        except KeyboardInterrupt as stopped:
            return _refused(exercise, cell, stopped.__context__ or stopped, shown)
        if printed.getvalue():
            few = " open" if printed.getvalue().count("\n") <= FEW_LINES else ""
            shown += (
                f"<details class='in-page-printed'{few}><summary>Printed during the "
                f"check</summary>{printed.as_html()}</details>"
            )
        report = with_what_is_seen(judged.report, answer, self.names)
        told = zip(judged.given, report.cases, strict=True)
        lines = (given.origin.number for given, case in told if not case.passed)
        return _Examined(replace(judged, report=report), shown, next(lines, 0))

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
        self._require_packages(cell.source)
        _remember(cell)
        self._run.pop(cell.name, None)
        printed = cell_output.Printed()
        shown, error = "", None
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            warnings.catch_warnings(),
            self._watch.watching(),
        ):
            # plt.show() has no window here; figures are shown all the same.
            warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
            try:
                _refuse_torch(cell)
                body = ast.parse(cell.source, cell.file).body
                last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
                exec(compile(ast.Module(body, []), cell.file, "exec"), self.names)
                if last is not None:
                    code = compile(ast.Expression(last.value), cell.file, "eval")
                    value = eval(code, self.names)
                    silent = cell.source.rstrip().endswith(";")  # as in a notebook
                    shown = "" if silent else cell_output.value(value)
                self._run[cell.name] = cell.source
            except BaseException as stopped:  # even sys.exit() ends only this cell
                self._require_missing(stopped)
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

    def _require_packages(self, source: str) -> None:
        """Find packages to load before code runs, not halfway through it.

        Half a cell would have drawn random numbers when it begins again.

        Raises:
            Needs: there is one.
        """
        used = names_in(source)
        for one in self._waiting:
            if used & names_bound(one.statement):
                raise Needs(one.package)
        imported = {name.partition(".")[0] for name in modules_in(source)}
        for package in sorted(imported & self._later):
            raise Needs(package)

    def _require_missing(self, error: BaseException) -> None:
        """Ask for a package that one of our modules did not find when it was imported.

        Raises:
            Needs: the page can load it.
        """
        if isinstance(error, ModuleNotFoundError):
            package = str(error.name).partition(".")[0]
            if package in self._later:
                raise Needs(package) from None

    def _run_or_wait(self, statement: ast.stmt, cell: Cell) -> None:
        """Run a statement of a setup cell, or let it wait for the package it needs."""
        _remember(cell)
        try:
            self._require_packages(ast.unparse(statement))
            try:
                code = compile(ast.Module([statement], []), cell.file, "exec")
                exec(code, self.names)
            except (ImportError, NameError) as missing:
                # PyTorch, say, or what needs it: its demonstrations have no button.
                self._require_missing(missing)
        except Needs as missing:
            self._waiting.append(_Waiting(statement, cell, str(missing)))


@dataclass(frozen=True)
class _Waiting:
    """A statement of a setup cell that needs a package which is not loaded yet."""

    statement: ast.stmt
    cell: Cell
    package: str


@dataclass(frozen=True)
class _Examined:
    """An answer as it was judged, what its cell ``shown``, and the line to blame."""

    judged: Judged
    shown: str
    line: int = 0


def _refuse_torch(cell: Cell) -> None:
    """Stop a reader's cell that imports PyTorch, where there is only a stand-in.

    Raises:
        ModuleNotFoundError: it does.
    """
    used = {name.partition(".")[0] for name in modules_in(cell.source)}
    if "torch" in used and not find_spec("torch").has_location:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")


def _refused(
    exercise: Exercise, cell: Cell, error: BaseException | None, shown: str
) -> _Examined:
    """A cell that was not judged, because it stopped or defines something else."""
    line = _line_of(error, cell)
    where = f" in your line {line}" if line else ""
    if error is None:
        problem = f"The cell defines no `{cell.name}`: keep the name of the stub."
    elif isinstance(error, TooLong):
        problem = str(error)
    else:
        said = getattr(error, "msg", None) or str(error)
        problem = f"{type(error).__name__}{where}: {said}"
    return _Examined(Judged(refuse(exercise, problem), [], []), shown, line)


def _line_of(error: BaseException | None, cell: Cell) -> int:
    """The innermost line of a cell that an error went through; 0 if there is none."""
    if isinstance(error, SyntaxError) and error.filename == cell.file:
        return error.lineno or 0
    line, at = 0, error.__traceback__ if error else None
    while at is not None:
        if at.tb_frame.f_code.co_filename == cell.file:
            line = at.tb_lineno
        at = at.tb_next
    return line


def _answer(page: str = "", **more: Any) -> dict[str, Any]:
    nothing = {"report": None, "headline": "", "line": 0, "code": ""}
    return {
        "page": page,
        **nothing,
        "failed": False,
        "first": [],
        "needs": None,
        **more,
    }


def _answer_of_the_book(name: str) -> str:
    """The code of a reference, without what its docstring says."""
    return without_docstrings(inspect.getsource(find_topic(name).reference(name)))


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
