"""Which names code binds at the top level: Python's own symbol tables tell."""

from __future__ import annotations

import ast
import symtable

import pytest

from autograder.statements import names_bound

FORMS = [
    "import one.part\nfrom m import two, three as four",
    "one = two.three = 1\n(four, *five), six[0] = x",
    "one: int\ntwo += 1",
    "for one in x: print(two)",
    "with x as one: pass",
    "try: pass\nexcept E as one: raise one",
    "print((one := 1) + two)",
    "print({one: two for one, two in three if one > four})",
    "match x:\n    case [one, *two]: pass\n    case {'a': three, **four}: pass",
    "@one\ndef f(x: two) -> three:\n    four = 1\n    def g(): return five",
    "class A(B, metaclass=C):\n    one = 1\n    def two(self): return one",
    "async def f(): await one()\ng = lambda two: two + three",
]


@pytest.mark.parametrize("source", FORMS)
def test_names_are_bound_as_python_does(source):
    table = symtable.symtable(source, "<form>", "exec")
    expected = {s.get_name() for s in table.get_symbols() if s.is_assigned()}
    expected |= {s.get_name() for s in table.get_symbols() if s.is_imported()}
    assert names_bound(ast.parse(source)) == expected
