"""Practice cards are true: the wrong is wrong there, and the right is right."""

import ast
import inspect
import itertools
import random
from functools import cache

import numpy as np

from autograder.check import examine_here
from autograder.exercise import find_topic, load_topic, topic_names
from autograder.explain.lines import line_edits
from autograder.parsing import without_docstrings
from autograder.practice import Card, cards
from tests.suites import sweep

topics = sweep("topic", topic_names())


@cache
def dealt(topic: str) -> list[Card]:
    return cards(load_topic(topic))


def of_kind(topic: str, kind: str) -> list[Card]:
    return [card for card in dealt(topic) if card.kind == kind]


def score(name: str, source: str) -> tuple[int, int]:
    """What the judge says of some source for the place of a reference."""
    reference = find_topic(name).reference(name)
    scope = dict(vars(inspect.getmodule(reference)))
    exec(source, scope)
    report = examine_here(find_topic(name).exercises[name], scope[name]).report
    return report.score, report.max_score


def in_place(card: Card, line: str) -> str:
    """The whole reference, with the lines of a card for those that they are in."""
    whole = without_docstrings(inspect.getsource(_reference(card)))
    code = list(card.code)
    if line:
        old = code[card.line]
        code[card.line] = old[: len(old) - len(old.lstrip())] + line
    name, lines = code[0].split("(")[0].removeprefix("def "), whole.splitlines()
    for node in ast.walk(ast.parse(whole)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            inside = " " * (node.body[0].col_offset - 4)
            body = [inside + text for text in code[1:]]
            lines[node.body[0].lineno - 1 : node.end_lineno] = body
            return "\n".join(lines)
    raise AssertionError(f"{name} is nowhere in {card.exercise}")


def _reference(card: Card):
    return find_topic(card.exercise).reference(card.exercise)


@topics
def test_the_line_to_find_loses_points_and_what_belongs_there_has_them_all(topic):
    for card in of_kind(topic, "line"):
        wrong, most = score(card.exercise, in_place(card, ""))
        assert wrong < most, card
        assert score(card.exercise, in_place(card, card.options[0])) == (most, most)
        for other in card.options[1:]:
            assert score(card.exercise, in_place(card, other))[0] < most, card


@topics
def test_lines_in_any_order_that_counts_are_right_and_no_other_line_belongs(topic):
    rng = random.Random(0)
    for card in of_kind(topic, "order"):
        right = range(len(card.order))
        orders = (
            itertools.permutations(right)
            if len(right) < 6
            else [rng.sample(right, len(right)) for _ in range(500)]
        )
        allowed = [
            order
            for order in orders
            if all(order.index(a) < order.index(b) for a, b in card.needs)
        ]
        for order in [tuple(right), *allowed[:5]]:
            body = "\n".join(f"    {card.order[n]}" for n in order)
            points, most = score(card.exercise, f"{card.code[0]}\n{body}")
            assert points == most, (card, order)
        assert not set(card.extra) & set(card.order)


@topics
def test_a_missing_shape_is_that_of_the_comment_in_the_reference(topic):
    for card in of_kind(topic, "shape"):
        (line,) = [text for text in card.code if text.endswith("# ?")]
        source = inspect.getsource(_reference(card))
        assert line.removesuffix("?").strip() + f" {card.options[0]}" in source
        assert len(set(card.options)) == len(card.options) >= 3


@topics
def test_a_predicted_result_is_what_the_call_gives(topic):
    for card in of_kind(topic, "predict"):
        name = card.exercise
        given = eval(card.code[0], {name: _with_arrays(_reference(card))})
        if isinstance(given, str):
            assert card.options[0] == repr(given)
            continue
        shown = card.options[0].replace("\n", " ").strip("[]").replace(",", " ").split()
        found = np.atleast_1d(np.asarray(given)).ravel()
        assert len(shown) == len(found)
        for word, value in zip(shown, found, strict=True):
            assert word in (
                str(value),
                str(int(value)),
                f"{float(value):.2f}",
                f"{float(value):.4g}",
            )


def _with_arrays(function):
    """Lists on a card stand for arrays, where the reference takes arrays."""
    kinds = {
        n: str(p.annotation) for n, p in inspect.signature(function).parameters.items()
    }

    def call(**arguments):
        return function(
            **{
                name: np.array(value) if "ndarray" in kinds[name] else value
                for name, value in arguments.items()
            }
        )

    return call


def test_there_are_cards_of_every_kind_and_each_has_an_id_of_its_own():
    every = [card for topic in topic_names() for card in dealt(topic)]
    kinds = {card.kind for card in every}
    assert kinds == {"line", "order", "shape", "predict", "which"}
    ids = [card.as_dict()["id"] for card in every]
    assert len(set(ids)) == len(ids) >= 300


def test_cards_are_the_same_at_each_build():
    again = cards(load_topic("scaling"))
    assert [card.as_dict() for card in again] == [c.as_dict() for c in dealt("scaling")]


def test_an_edit_changes_one_line_and_keeps_the_others_as_they_are_written():
    source = "def f(x, y):\n    z = x - y  # (N,)\n    return 2 * z\n"
    found = {(edit.line, edit.after.strip()) for edit in line_edits(source)}
    assert {
        (1, "z = x + y  # (N,)"),
        (1, "z = y - x  # (N,)"),
        (2, "return z"),
    } <= found
    for edit in line_edits(source):
        changed, lines = edit.source.splitlines(), source.splitlines()
        del changed[edit.line], lines[edit.line]
        assert changed == lines
