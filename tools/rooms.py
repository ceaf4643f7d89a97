"""The rooms of the grader and who imports whom, as ARCHITECTURE.md shows it.

``FLOORS`` is the rule: a module imports from its own floor or from those below. The
picture is drawn from what the modules import.

    python -m tools.rooms --write
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
OURS = ("autograder", "toolkit", "solutions", "tests", "benchmarks", "tools")
_DRAWN = re.compile(r"(<!-- rooms -->\n).*?(<!-- end of rooms -->)", re.DOTALL)


class Floor(NamedTuple):
    """A floor of the house.

    Attributes:
        name: in a word or two.
        rooms: packages, and modules that lie directly in ``autograder``.
        blind: what its rooms know nothing of.
    """

    name: str
    rooms: str
    blind: str

    @property
    def modules(self) -> set[str]:
        """The full names of its rooms."""
        return {
            room if room == "toolkit" else f"autograder.{room}"
            for room in self.rooms.split()
        }


FLOORS = [  # from the ground up
    Floor("ground", "toolkit", "anything above"),
    Floor(
        "files",
        "errors files interrupts magics notebooks parsing processors shell statements "
        "stepwise tables without_torch",
        "what an exercise is",
    ),
    Floor(
        "exercise",
        "arrays book break_exercise demonstrations exercise inputs own_topics "
        "specification",
        "any single topic",
    ),
    Floor("cases", "exercises", "how answers are judged"),
    Floor(
        "answers",
        "answers compare encoding expected forbid origin own_answers parts reasons "
        "rows usual verdict",
        "why an answer is wrong",
    ),
    Floor("reasons", "explain", "points"),
    Floor("judge", "judge", "notebooks, processes"),
    Floor(
        "student's side",
        "answer_key cell_output cells check failing hints in_page mine "
        "model_trial outside own_notebook own_transformer page_cells payoffs picture "
        "practice progress record respond show torch_payoffs watch",
        "grading, the sandbox, the gradebook",
    ),
    Floor("sandbox", "sandbox", "right answers, marks"),
    Floor("release", "release", "what is handed in"),
    Floor("submissions", "submissions", "how they arrived, what they are worth"),
    Floor("arrival", "lms", "marks"),
    Floor("marks", "marks", "how they are shown"),
    Floor("reporting", "reporting", "how work is examined"),
    Floor("grading", "grading", "where marks are sent"),
    Floor("after grading", "extras handback", "commands, options"),
    Floor("command line", "commands", "how anything is done"),
    Floor("entry", "__main__", "what a command does"),
]
FLOOR = {room: n for n, floor in enumerate(FLOORS) for room in floor.modules}


@cache
def modules(*folders: str) -> dict[str, Path]:
    """The modules below some folders, by their full names."""
    found = {}
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(p for p in parts if p != "__init__")] = path
    return found


def imported(path: Path) -> Iterator[str]:
    """Names of our modules that a file imports, inside functions too.

    Of ``from package import name``, the name is given as well: it may be a module. What
    is imported for types alone does not count.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] in OURS)


def room_of(module: str) -> str:
    """The room that a module belongs to."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "autograder" else parts[0]


def reached() -> dict[int, set[int]]:
    """The other floors that the modules of each floor import from."""
    found: dict[int, set[int]] = {number: set() for number in range(len(FLOORS))}
    for module, path in modules("autograder", "toolkit").items():
        here = FLOOR.get(room_of(module))
        if here is not None:
            found[here] |= {FLOOR.get(room_of(name), here) for name in imported(path)}
    return {here: there - {here} for here, there in found.items()}


def _drawn(edges: dict[int, set[int]]) -> Iterator[tuple[int, int]]:
    """The edges that no longer way replaces; all others follow from these."""
    below: dict[int, set[int]] = {}
    for here in sorted(edges):  # imports run downward, so what is below is known
        below[here] = set().union(edges[here], *(below[n] for n in edges[here]))
    for here in sorted(edges, reverse=True):
        indirect = set().union(*(below[n] for n in edges[here]))
        yield from ((here, there) for there in sorted(edges[here] - indirect)[::-1])


def as_markdown() -> str:
    """The picture and the table of the floors, the highest one first."""
    lines = ["```mermaid", "flowchart TB"]
    for number, floor in reversed([*enumerate(FLOORS)]):
        lines.append(f'    f{number}["{floor.name}"]')
    lines += [f"    f{here} --> f{there}" for here, there in _drawn(reached())]
    lines += ["```", "", "| floor | rooms | knows nothing of |", "|---|---|---|"]
    for floor in reversed(FLOORS):
        rooms = ", ".join(f"`{room}`" for room in floor.rooms.split())
        lines.append(f"| {floor.name} | {rooms} | {floor.blind} |")
    return "\n".join(lines) + "\n"


def with_rooms(text: str) -> str:
    """A page with picture and table between its two marks as they are now."""
    return _DRAWN.sub(lambda found: found[1] + as_markdown() + found[2], text)


def main() -> None:
    """Print picture and table, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    if parser.parse_args().write:
        PAGE.write_text(with_rooms(PAGE.read_text("utf-8")), encoding="utf-8")
    else:
        print(as_markdown(), end="")


if __name__ == "__main__":
    main()
