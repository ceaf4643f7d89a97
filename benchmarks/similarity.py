"""How well copies are told from honest work, and how long a class takes.

Classes are made up of students who write in ways of their own (``classroom.honest``);
two copies of each kind are added to each. A false pair is one of two honest students.

    python -m benchmarks.similarity [CHAPTER ...]
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections import defaultdict

import numpy as np

from autograder.release.source import source_notebook
from autograder.release.student import student_notebook
from autograder.similarity.evidence import Likeness, likeness
from autograder.similarity.pairs import UNLIKELY
from autograder.similarity.works import ClassWork, Work
from benchmarks.environment import environment
from classroom.honest import KINDS_OF_COPY, copy_of, honest_class

CHAPTERS = ["masking", "multi_head", "scaling"]
EACH = 2  # copies of each kind in a class
FALSE = (1e-3, 1e-4)  # shares of honest pairs that are above a threshold


def given_to_all(chapter: str) -> list[str]:
    """The code of a chapter that everybody was given, and the references."""
    source = source_notebook(chapter)
    cells = [*source.cells, *student_notebook(source).cells]
    return [cell.source for cell in cells if cell.cell_type == "code"]


def compare(chapter: str, size: int, seed: int) -> tuple[Likeness, dict]:
    """A class with copies, compared; the kind of each copy by the two students."""
    chance = random.Random(seed)
    students = honest_class(chapter, size, seed)
    names, copies = list(students), {}
    for number, kind in enumerate(KINDS_OF_COPY * EACH):
        original = chance.choice(names)
        copy = f"{kind} {number}"
        students[copy] = copy_of(chapter, students[original], kind, chance)
        copies[original, copy] = kind
    works = [Work(name, s.answers, s.wrong) for name, s in students.items()]
    return likeness(ClassWork(chapter, works, given_to_all(chapter))), copies


class Tally:
    """What was found, over several classes."""

    def __init__(self) -> None:
        self.ranks: dict[str, list[tuple[float, float, bool]]] = defaultdict(list)
        self.honest = self.false = self.true = 0

    def add(self, found: Likeness, copies: dict[tuple[str, str], str]) -> None:
        """Count one class."""
        students = np.array(found.students)
        pairs = list(zip(students[found.first], students[found.second], strict=True))
        honest = np.array([f"{a}{b}".count("student") == 2 for a, b in pairs])
        both, code = found.evidence, found.parts[0].sum(axis=0)
        expected = np.array([found.chance.probability(e) for e in both.tolist()])
        stands_out = expected * len(pairs) < UNLIKELY
        self.honest += int(honest.sum())
        self.false += int((honest & stands_out).sum())
        for place, pair in enumerate(pairs):
            kind = copies.get(pair)
            if kind is not None:
                above = (float((e[honest] >= e[place]).mean()) for e in (both, code))
                self.ranks[kind].append((*above, bool(stands_out[place])))
                self.true += int(stands_out[place])

    def print(self) -> None:
        """The table."""
        print(f"{'':24}copies   recall at false pairs   by code   stands")
        print(f"{'':24}{'':6}   1 in 1,000  1 in 10,000  alone     out")
        for kind, found in self.ranks.items():
            _line(kind, found)
        _line("all", [row for rows in self.ranks.values() for row in rows])
        total = self.true + self.false
        print(
            f"\nhonest pairs: {self.honest:,}; of these stand out: {self.false}\n"
            f"of {total} pairs that stand out, copies: {self.true / max(1, total):.0%}"
        )


def _line(kind: str, found: list[tuple[float, float, bool]]) -> None:
    both, code, out = map(np.array, zip(*found, strict=True))
    shares = [(both < FALSE[0]).mean(), (both < FALSE[1]).mean()]
    shares += [(code < FALSE[1]).mean(), out.mean()]
    print(
        f"{kind:24}{len(found):6}{shares[0]:13.0%}{shares[1]:13.0%}"
        f"{shares[2]:8.0%}{shares[3]:10.0%}"
    )


def main() -> None:
    """Print the table, and how long a class of 500 takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", default=CHAPTERS)
    parser.add_argument("--size", type=int, default=200, help="honest students")
    parser.add_argument("--classes", type=int, default=3, help="of each chapter")
    parser.add_argument("--large", type=int, default=500, help="for the time")
    arguments = parser.parse_args()
    print(environment())
    print(
        f"\n{arguments.classes} classes of {arguments.size} honest students and "
        f"{EACH * len(KINDS_OF_COPY)} who copied, in each of "
        f"{', '.join(arguments.chapters)}\n"
    )
    tally = Tally()
    for chapter in arguments.chapters:
        for seed in range(arguments.classes):
            tally.add(*compare(chapter, arguments.size, seed))
    tally.print()
    if arguments.large:
        chapter = arguments.chapters[0]
        students = honest_class(chapter, arguments.large)
        works = [Work(name, s.answers, s.wrong) for name, s in students.items()]
        start = time.process_time(), time.monotonic()
        likeness(ClassWork(chapter, works, given_to_all(chapter)))
        seconds = time.process_time() - start[0], time.monotonic() - start[1]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"\n{arguments.large} submissions to {chapter} compared in "
            f"{seconds[0]:.0f} s of one processor ({seconds[1]:.0f} s), "
            f"peak {peak:.0f} MB"
        )


if __name__ == "__main__":
    main()
