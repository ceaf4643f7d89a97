"""A class in three systems goes the whole way, and every mark comes back."""

from __future__ import annotations

import csv

import pytest

from autograder.__main__ import main
from classroom.lms_class import KINDS, SYSTEMS, made_up_class
from classroom.walk import CHAPTER, Walk, compare, walk


def test_every_mark_comes_back_to_its_owner(needs_sandbox, tmp_path):
    found = walk(tmp_path, len(KINDS), lambda words: main(list(words)))
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


def test_two_of_one_name_are_in_one_system_and_have_other_marks_and_numbers():
    class_ = [p for p in made_up_class(CHAPTER, 200) if p.kind == "namesake"]
    by_name: dict[tuple, list] = {}
    for pupil in class_:
        by_name.setdefault((pupil.system, pupil.name), []).append(pupil)
    pairs = [pair for pair in by_name.values() if len(pair) == 2]
    assert len(pairs) >= 14
    for one, other in pairs:
        assert one.id != other.id
        assert one.wrong != other.wrong


def test_command_that_fails_ends_the_walk(tmp_path):
    with pytest.raises(RuntimeError, match="release two chapters ended with status 3"):
        walk(tmp_path, 12, lambda words: 3)
