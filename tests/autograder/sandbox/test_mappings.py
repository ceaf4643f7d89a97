"""Mappings of memory are counted a few at a time, and never for too few."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autograder.sandbox import mappings
from autograder.sandbox.mappings import (
    MOST_AT_ONCE,
    PAGE,
    ROUND_SECONDS,
    Mappings,
    count_mappings,
)

LARGE = 2**47  # bytes of address space, as much as a process can have


class Submission:
    """Processes with mappings, and what it costs to count these."""

    def __init__(self, monkeypatch):
        self.now, self.read = 100.0, 0
        self.has: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        monkeypatch.setattr(mappings.time, "monotonic", lambda: self.now)
        self._mappings = Mappings(self._count)

    def _count(self, process):
        self.read += self.has[process]
        return self.has[process]

    def start(self, process, count, size=LARGE):
        self.has[process], self.sizes[process] = count, size

    def look(self, after=0.05):
        self.now += after
        self.read = 0
        return self._mappings.look(self.sizes)


@pytest.fixture
def submission(monkeypatch):
    return Submission(monkeypatch)


def test_a_look_at_millions_of_mappings_costs_no_more_than_one_at_some(submission):
    for number in range(40):
        submission.start(str(number), 60_000)
    for _ in range(200):
        assert submission.look() == 40 * 60_000
        assert submission.read < MOST_AT_ONCE + 60_000


def test_all_are_counted_in_turn(submission):
    for number in range(40):
        submission.start(str(number), 60_000)
    submission.look()
    for process in submission.has:
        submission.has[process] = 50_000
    found = [submission.look() for _ in range(40)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == 40 * 50_000


def test_what_was_not_counted_yet_has_as_many_as_it_can_have(submission):
    submission.start("1", 65_000)
    for number in range(2, 30):
        submission.start(str(number), 65_000)
    assert submission.look() == 29 * 65_000
    submission.start("30", 30, size=40 * PAGE)
    submission.start("31", 30, size=LARGE)
    assert submission.look(after=0) == 29 * 65_000 + 40 + 65_000
    for _ in range(15):
        submission.look(after=0)
    assert submission.look(after=0) == 29 * 65_000 + 30 + 30


def test_few_processes_are_counted_no_more_often_than_needed(submission):
    submission.start("1", 100)
    assert submission.look() == 100
    submission.has["1"] = 200
    assert (submission.look(), submission.read) == (100, 0)
    assert (submission.look(after=ROUND_SECONDS), submission.read) == (200, 200)


def test_a_number_that_is_given_again_is_another_process(submission):
    submission.start("7", 100)
    submission.look()
    del submission.sizes["7"]
    assert submission.look() == 0
    submission.start("7", 300)
    assert submission.look() == 300


def test_the_mappings_of_a_real_process_are_counted():
    about = Path("/proc/self/maps").read_text(encoding="utf-8").count("\n")
    assert abs(count_mappings(str(os.getpid())) - about) < 20
    assert count_mappings("0") == 0  # there is none of this number
