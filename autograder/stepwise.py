"""Runs in a kernel: a cell statement by statement, and only what a cell defines.

Jupyter drops what is below a statement that fails. But a notebook that ran through on a
student's machine may fail on another one, at a file, a folder or a module that is not
there, and what it defines further down is needed all the same.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterable
from typing import Any

from autograder.statements import names_bound, only_defines
from autograder.without_torch import Standin

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
# Of a frame in a function, ", in f(x)" follows.
_AT = re.compile(r"^\s*Cell In\[\d{1,9}\], line (\d{1,6})\s*$", re.MULTILINE)


class StandIn(Standin):
    """Takes the place of what a module that is not installed here would have.

    So a function that only names it, in an annotation or a decorator, is defined.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """The function that it decorates, or itself."""
        decorates = len(arguments) == 1 and callable(arguments[0]) and not options
        return arguments[0] if decorates else self

    def __getitem__(self, _: Any) -> StandIn:
        return self


def go_on_below_errors(shell: Any) -> None:
    """Have IPython go on below a statement that fails.

    Args:
        shell: of the kernel.
    """
    run = shell.run_ast_nodes

    async def run_each(
        nodes: list[ast.stmt],
        cell_name: str,
        interactivity: str = "last_expr",
        compiler: Callable[..., Any] = compile,
        result: Any = None,
    ) -> bool:
        failed = False
        for node in nodes:
            how = interactivity if node is nodes[-1] else "none"
            if await run([node], cell_name, how, compiler, result):
                failed = True
                _stand_in(shell.user_ns, node, result and result.error_in_exec)
        return failed

    shell.run_ast_nodes = run_each


def begin(setup: Iterable[str], stubs: str) -> None:
    """Run what comes before a notebook, at one request.

    Args:
        setup: sources that are run, each as a cell.
        stubs: of which only the definitions count.
    """
    from IPython import get_ipython

    for source in setup:
        get_ipython().run_cell(source, store_history=False)
    define(stubs)


def define(source: str) -> None:
    """Run what a cell imports and defines, and nothing else; errors are not shown.

    Args:
        source: of the cell.
    """
    from IPython import get_ipython

    shell = get_ipython()
    text = shell.transform_cell(source)
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        tree = ast.parse(text)
        name = shell.compile.cache(text, shell.execution_count, raw_code=source)
        for node in filter(only_defines, tree.body):
            try:
                code = compile(ast.Module([node], []), name, "exec")
                exec(code, shell.user_ns)
            except Exception as error:
                _stand_in(shell.user_ns, node, error)


def _stand_in(names: dict[str, Any], node: ast.stmt, error: Any) -> None:
    """Bind what an import would have bound, if its module is not here."""
    is_import = isinstance(node, ast.Import | ast.ImportFrom)
    if is_import and isinstance(error, ModuleNotFoundError):
        for name in names_bound(node):
            names.setdefault(name, StandIn())


def stopped_in_line(traceback: Iterable[str]) -> int:
    """The line in which a statement failed; 0 if IPython's traceback names none."""
    for part in traceback:
        found = _AT.search(_COLOUR.sub("", part[:4000]))
        if found:
            return int(found[1])
    return 0
