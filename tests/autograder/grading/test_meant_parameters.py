"""Which parameter a name that is not there may be meant for."""

from __future__ import annotations

import ast

import pytest

from autograder.grading.meant_parameters import Meant, meant_by, parameters_in


def meant(missing, *sources, stub="def other(): pass"):
    stubs = parameters_in([ast.parse(stub)])
    return meant_by(missing, map(ast.parse, sources), stubs)


@pytest.mark.parametrize(
    ("missing", "source", "parameters"),
    [
        ("x", "def f(X, eps): return (x - x.mean()) / eps", ["X"]),
        ("x", "def f(X, eps): return (x - X.mean()) / eps", ["X"]),  # once only
        ("N", "def f(n): return zeros(N, N)", ["n"]),
        ("image", "def f(images, size): return image.shape, size", ["images"]),
        ("lengths", "def f(length, most): return most < lengths", ["length"]),
        ("query", "def f(queries, keys): return query @ keys", ["queries"]),
        ("q", "def f(query, X): return X @ q", ["query"]),
        ("Q", "def f(queries, X): return X @ Q", ["queries"]),
        ("p", "def f(images, patch_size): return images[::p]", ["patch_size"]),
        ("ps", "def f(images, patch_size): return images[::ps]", ["patch_size"]),
        ("wieghts", "def f(weights): return wieghts, weights", ["weights"]),
        ("m", "def f(mask, memory): return m", ["mask", "memory"]),
        # sizes: nothing speaks for a parameter
        ("d_k", "def f(queries, keys): return queries @ keys / d_k", []),
        ("T", "def f(targets, start): return targets[:T], start", []),
        ("B", "def f(x): return x.reshape(B, -1)", []),
        # of two that are not used, either may be meant, or none
        ("z", "def f(first, second): return z", []),
        # what a function inside or around the lookup has
        ("q", "def f(query):\n    def g(): return q\n    return g()", ["query"]),
        ("q", "def f(a):\n    def g(query): return q\n    return g(a)", ["query"]),
        ("x", "class A:\n    def forward(self, X): return x", ["X"]),
    ],
)
def test_a_parameter_is_told_by_its_name(missing, source, parameters):
    found = meant(missing, source)
    assert (list(found.parameters), found.unused) == (parameters, False)


def test_the_only_parameter_that_is_not_used_may_be_meant():
    source = "def f(embeddings, scale): return z * scale"
    assert meant("z", source) == Meant(
        "f", ("embeddings",), ("embeddings",), unused=True
    )


@pytest.mark.parametrize(
    ("stub", "source", "parameters"),
    [
        (
            "def f(x, weight): pass",
            "def f(tokens, gain):\n    return x * gain + tokens",
            ["tokens"],
        ),
        (
            "class B:\n    def forward(self, mask, x): pass\n"
            "class A:\n    def forward(self, x, mask): pass",
            "class A:\n    def forward(self, a, b):\n        return x + a + b",
            ["a"],
        ),
        ("def f(x, y): pass", "def f(y):\n    return x + y", []),  # it was left out
        ("def f(y, x): pass", "def f(y):\n    return x + y", []),
    ],
)
def test_a_parameter_that_was_renamed_is_told_by_its_place_in_the_stub(
    stub, source, parameters
):
    assert list(meant("x", source, stub=stub).parameters) == parameters


def test_the_first_code_that_needs_the_name_counts():
    answer, helper = "def f(a): return helper(a)", "def helper(X): return x"
    assert meant("x", answer, helper, "def g(xs): return x") == Meant(
        "helper", ("X",), ("X",)
    )


@pytest.mark.parametrize(
    "source", ["def f(X):\n    x = X\n    return x", "print(x)", "def f(x): return x"]
)
def test_a_name_that_no_function_looks_up_is_meant_by_none(source):
    assert meant("x", source) is None


def test_no_name_that_is_too_long_to_be_shown_is_told():
    long = "x" * 61
    assert meant("x", f"def f({long}): return x").parameters == ()
    assert meant("x", f"def {long}(X): return x") is None
