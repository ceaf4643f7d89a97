"""What only the demonstrations of the book make, which are not run in grading.

They may take minutes, and no answer needs what they compute. But a student may have
looked at it, as in ``print(X.shape)`` above an answer, or use a function that one of
them defines, and that must not cost the answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from autograder.magics import parsed
from autograder.statements import looked_up, names_bound, only_defines

_WORD = re.compile(r"\w+")
_NOT_DEFINED = re.compile(r"NameError: name '(\w+)' is not defined")


class CodeCell(NamedTuple):
    """A code cell: its source, and whether it is a demonstration."""

    source: str
    is_demonstration: bool = False


class _Offer(NamedTuple):
    """A statement of a demonstration that costs nothing to run."""

    names: frozenset[str]
    needs: frozenset[str]
    text: str


def made_by_demonstrations(cells: Sequence[CodeCell], number: int) -> frozenset[str]:
    """The names that a demonstration binds, and no cell that was run by then.

    Args:
        cells: of a notebook.
        number: of the cell that is run.
    """
    made: set[str] = set()
    known: set[str] = set()
    for n, cell in enumerate(cells):
        if cell.is_demonstration:
            made |= _names_in(cell.source)
        elif n < number:
            known |= _names_in(cell.source)
    return frozenset(made - known)


def looks_at_one(error: str | None, made: frozenset[str]) -> bool:
    """Whether a cell stopped because such a name is not there."""
    found = _NOT_DEFINED.match(error or "")
    return found is not None and found[1] in made


def taken_over(
    cells: Sequence[CodeCell], exercises: Collection[str]
) -> Mapping[int, str]:
    """What has to be run in place of the demonstrations, for the cells that need it.

    These are imports, functions, classes and constants, with what those need in turn.
    Nothing that has the name of an exercise is among them.

    Args:
        cells: of a notebook.
        exercises: their names.

    Returns:
        Pieces of source, by the number of the demonstration.
    """
    offers = {
        n: _offers_of(cell.source)
        for n, cell in enumerate(cells)
        if cell.is_demonstration
    }
    needed = _needed(cells, [o for some in offers.values() for o in some], exercises)
    pieces: dict[int, str] = {}
    known = set(exercises)
    for n, cell in enumerate(cells):
        if not cell.is_demonstration:
            known |= _names_in(cell.source) if needed else set()
            continue
        texts = [o.text for o in offers[n] if o.names & needed and not o.names & known]
        if texts:
            pieces[n] = "\n\n".join(texts)
    return pieces


def _needed(
    cells: Sequence[CodeCell], offers: Sequence[_Offer], exercises: Collection[str]
) -> set[str]:
    """What of the names that are offered somebody looks up who has not set them."""
    offered = {name for offer in offers for name in offer.names} - set(exercises)
    needed: set[str] = set()
    known: set[str] = set()
    for cell in cells:
        if cell.is_demonstration or offered.isdisjoint(_WORD.findall(cell.source)):
            continue  # it is not read
        tree = parsed(cell.source)
        known |= _names_in(cell.source)
        needed |= looked_up(tree) & offered - known if tree else set()
    waiting = list(needed)
    while waiting:
        name = waiting.pop()
        for offer in offers:
            if name in offer.names:
                waiting += offer.needs & offered - needed
                needed |= offer.needs & offered
    return needed


@lru_cache(maxsize=200)  # the cells of a chapter
def _offers_of(source: str) -> list[_Offer]:
    tree = parsed(source)
    return [
        _Offer(
            frozenset(names_bound(node)),
            frozenset(looked_up(node)),
            ast.unparse(node),
        )
        for node in (tree.body if tree else ())
        if only_defines(node)
    ]


@lru_cache(maxsize=200)  # the cells of a chapter
def _names_in(source: str) -> frozenset[str]:
    tree = parsed(source)
    bound = map(names_bound, tree.body if tree else ())
    return frozenset().union(*bound)
