"""A class in three systems goes the whole way, and every mark comes back."""

from __future__ import annotations

import csv

from autograder.__main__ import main
from classroom.lms_class import SYSTEMS
from classroom.walk import CHAPTER, Walk, compare, walk


def test_every_mark_comes_back_to_its_owner(needs_sandbox, tmp_path):
    found = walk(tmp_path, 12, lambda words: main(list(words)))
    assert found.wrong == []
    assert found.arrived == dict.fromkeys(SYSTEMS, 4)
    # Were two marks swapped, the walk would say so.
    table = tmp_path / "course" / "reports" / f"{CHAPTER}_canvas.csv"
    head, *rows = csv.reader(table.read_text().splitlines())
    by_id = {row[1]: row for row in rows}
    one, other = by_id["10000"], by_id["10001"]
    one[-1], other[-1] = other[-1], one[-1]
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    again = Walk(found.class_)
    compare(tmp_path / "course", again)
    assert [line.split()[0] for line in again.wrong] == ["student0000", "student0001"]
