"""Processor time of a submission is added up, also that of processes that are gone."""

from __future__ import annotations

import os

import pytest

from autograder.sandbox import usage

TICKS = os.sysconf("SC_CLK_TCK")


class Looks:
    """A clock that is looked at twenty times a second, at processes as they are given.

    Each is ``(pid, own, of_children)`` with seconds, or begins at another moment.
    """

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(usage.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(usage.os, "sched_getaffinity", lambda pid: {0, 1})
        self._clock = usage.ProcessorClock()

    def look(self, *processes, after=0.05):
        self.now += after
        times = [
            usage.ProcessTimes(pid, began, 1, int(own * TICKS), int(children * TICKS))
            for pid, own, children, began in (
                (*process, process[0])[:4] for process in processes
            )
        ]
        return self._clock.seconds(times)

    @property
    def unseen(self):
        return self._clock.unseen


@pytest.fixture
def looks(monkeypatch):
    return Looks(monkeypatch)


def test_time_of_all_processes_and_of_children_they_waited_for_counts(looks):
    assert looks.look((1, 2, 0), (2, 3, 4)) == 9


def test_a_process_that_nobody_waited_for_still_counts(looks):
    looks.look((1, 1, 0), (2, 5, 0))
    assert looks.look((1, 1, 0)) == 6
    assert looks.look((1, 2, 0)) == 7


def test_a_process_that_its_parent_waited_for_counts_once(looks):
    looks.look((1, 1, 0), (2, 5, 0))
    assert looks.look((1, 1, 5)) == 6
    assert looks.look((1, 1, 5)) == 6


def test_a_number_that_is_given_again_is_another_process(looks):
    looks.look((1, 1, 0), (2, 5, 0))
    assert looks.look((1, 1, 0), (2, 1, 0, 50)) == 7


def test_time_never_runs_backwards(looks):
    assert looks.look((1, 4, 3)) == 7
    assert looks.look((1, 3, 3)) == 7
    assert looks.look() == 7


def test_a_process_that_came_and_went_counts_as_if_it_had_run(looks):
    """Between the numbers 2 and 4, there was a 3 that no look has seen."""
    looks.look((1, 0, 0), (2, 0, 0))
    assert looks.look((1, 0, 0), (4, 0, 0)) == pytest.approx(0.05)
    assert looks.look((1, 0, 0), (5, 0, 0)) == pytest.approx(0.05)  # 5 was seen itself


def test_many_that_came_and_went_count_for_no_more_than_the_processors(looks):
    looks.look((1, 0, 0))
    since_the_beginning = 0.05 + 0.05
    used = looks.look((1, 0, 0), (900, 0, 0))
    assert used == pytest.approx(2 * since_the_beginning)
    more = looks.look((1, 0, 0), (900, 0, 0), (1900, 0, 0))
    assert more - used == pytest.approx(2 * 0.05)


def test_what_a_parent_waited_for_is_not_counted_as_unseen_too(looks):
    looks.look((1, 0, 0), (2, 0, 0))
    waited = int(0.04 * TICKS) / TICKS
    assert looks.look((1, 0, waited), (4, 0, 0)) == pytest.approx(0.05)


def test_what_no_look_has_seen_is_told_from_what_was_measured(looks):
    looks.look((1, 0, 0), (2, 1, 0))
    used = looks.look((1, 0, 0), (4, 2, 0))
    assert looks.unseen == pytest.approx(used - 3)
    assert looks.unseen > 0
