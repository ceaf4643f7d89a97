"""Which names code binds at the top level: Python's own symbol tables tell."""

from __future__ import annotations

import ast
import symtable

import pytest

from autograder.statements import names_bound

FORMS = [
    "def f():\n    def one(t): return t\n    return one(two)",
    "def f():\n    import one.part\n    return one.x",
    "def f():\n    from m import one, two as three\n    return one, two, three",
    "def f(x):\n    for one in x: print(one)\n    return [two for two in x]",
    "def f():\n    with x as one: return one",
    "def f():\n    try: pass\n    except E as one: raise one",
    "def f():\n    return (one := 1) + one",
    "def f(x):\n    return [one := y for y in x], one",
    "def f(one, *two, three=four, **five): return one, two, three, five",
    "f = lambda one: one + two",
    "def f():\n    one = 1\n    def g(): return one\n    return g",
    "def f(x):\n    match x:\n        case [one, *two]: return one, two\n"
    "        case {'a': three, **four}: return three, four, five",
    "def f():\n    global one\n    one = 1\n    return one",
    "def f():\n    one = 1\n    def g():\n        nonlocal one\n        one = 2\n"
    "    return one",
    "def f():\n    one = 1\n    def g():\n        global one\n        return one\n"
    "    return g",
    "class A:\n    def one(self): return 1\n    def g(self): return one",
    "class A(B, metaclass=C):\n    one = 1\n    two = one",
    "class A:\n    one = 1\n    two = [one for _ in three]",
    "async def f():\n    async def one(): pass\n    await one()",
    "def f():\n    def g(): return one()\n    def one(): return 1\n    return g()",
    "@one\ndef f(x: two) -> three: return f",
    "def f():\n    one: int\n    return lambda: one",
    "print({one: two for one, two in three if one > four})",
]


@pytest.mark.parametrize("source", FORMS)
def test_names_are_bound_as_python_does(source):
    table = symtable.symtable(source, "<form>", "exec")
    expected = {s.get_name() for s in table.get_symbols() if s.is_assigned()}
    expected |= {s.get_name() for s in table.get_symbols() if s.is_imported()}
    assert names_bound(ast.parse(source)) == expected
