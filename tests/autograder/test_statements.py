"""Which names code binds at the top level: Python's own symbol tables tell."""

from __future__ import annotations

import ast
import symtable

import pytest

from autograder.statements import names_bound

FORMS = [
    "import one.part",
    "from m import two, three as four",
    "one = two.three = 1",
    "(four, *five), six[0] = x",
    "one: int = 2",
    "one = {two: three for two, three in four}",
    "@one\ndef f(x: two) -> three:\n    four = 1\n    def g(): return five",
    "class A(B, metaclass=C):\n    one = 1\n    def two(self): return one",
    "async def f(): await one()",
    "g = lambda two: two + three",
]


@pytest.mark.parametrize("source", FORMS)
def test_names_are_bound_as_python_does(source):
    table = symtable.symtable(source, "<form>", "exec")
    expected = {s.get_name() for s in table.get_symbols() if s.is_assigned()}
    expected |= {s.get_name() for s in table.get_symbols() if s.is_imported()}
    (statement,) = ast.parse(source).body
    assert names_bound(statement) == expected
