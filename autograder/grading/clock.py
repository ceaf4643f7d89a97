"""Decide who is to blame when a time limit passes.

A time limit counts what a submission does with its time, not what its neighbours do.
Two things are known at each step: the processor time that the submission used itself,
and the wall time less that in which it waited for a processor that others had. The
difference of the two is time in which it was idle: asleep, or waiting for something
that does not come.

* What it used itself is proof at any time: a limit that it filled with processor time
  is broken by itself.
* That it was idle is no proof while others are examined: it may have waited for
  something that they hold. It is examined again, alone. Then idle time counts like
  processor time, so an endless sleep ends, and ends as its own fault.
* If its usage is unknown, nothing is proven either.
* The wait is that of its main thread. Where that waits for its siblings, these use
  processor time meanwhile, so half of the time that passes is charged at least.
* That this thread is late is no proof: it may have had no processor. But as long as it
  worked, the submission had it work: nothing else happens here while a cell runs. That
  time counts like idle time, so nothing is gained by sending what is slow to read; and
  where this thread was only held up, nothing is lost.
* When a submission has waited for long, the machine is too busy, and nobody is to
  blame.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from autograder.errors import GraderFault, SubmissionFault
from autograder.sandbox.limits import PATIENCE, Limits

FIRST_STEP = 0.05  # seconds; most cells are done before, and need no measuring
STEP = 0.5  # the longest; each is twice as long as the one before
MOST = 0.9  # of a limit that has to be accounted for: the clock has steps


@dataclass(frozen=True)
class Used:
    """What a kernel has used since it began.

    Attributes:
        own: seconds of processor time, of all its threads.
        waited: seconds in which it could have run and others had the processor: the run
            delay of its main thread (https://docs.kernel.org/scheduler/sched-stats.html).
    """

    own: float
    waited: float


@dataclass(frozen=True)
class _Moment:
    """A point in time, in seconds: wall clock, and processor time of this thread."""

    wall: float = field(default_factory=lambda: time.monotonic())
    worked: float = field(default_factory=lambda: time.thread_time())

    def ready(self, earlier: _Moment) -> float:
        """For how long since then, a step ago, this thread was not held up."""
        worked = self.worked - earlier.worked
        return min(self.wall - earlier.wall, STEP + max(STEP, worked))


@dataclass
class _Stretch:
    """What is known of the time since a cell, or a submission, began."""

    limit: float
    name: str
    wall: float = 0.0
    own: float = 0.0
    charged: float = 0.0  # in which it ran or was idle
    is_up: bool = False

    def add(self, seconds: float, own: float = 0.0, charged: float = 0.0) -> None:
        self.wall += seconds
        self.own += own
        self.charged += charged

    def judge(self, alone: bool) -> None:
        """Raise if the time is up."""
        if self.wall < self.limit:
            return
        enough = MOST * self.limit
        if self.own >= enough or (alone and self.charged >= enough):
            self.is_up = True
            raise SubmissionFault(self.name)
        idle = self.charged >= enough and self.own < self.charged / 2
        if idle or self.wall >= PATIENCE * self.limit:
            raise GraderFault(
                f"the {self.name} passed after {self.own:.1f} s of processor time of "
                "its own: this machine is too busy, or something held it up"
            )


@dataclass
class Clock:
    """The time of one submission, over all its kernels.

    Attributes:
        limits: what it may use.
        alone: whether no other submission is examined meanwhile.
    """

    limits: Limits
    alone: bool

    def __post_init__(self) -> None:
        name = self.limits.called("submission_seconds")
        self._whole = _Stretch(self.limits.submission_seconds, name)

    @property
    def is_up(self) -> bool:
        """Whether the submission has filled its whole time."""
        return self._whole.is_up

    def start(self) -> None:
        """Begin with the time of a cell, or of the questions on an exercise."""
        name = self.limits.called("cell_seconds")
        self._cell = _Stretch(self.limits.cell_seconds, name)
        self._last, self._step = _Moment(), FIRST_STEP
        self._before: Used | None = None

    def seconds_to_look(self) -> float:
        """Until the kernel is to be looked at again, unless the cell is done before."""
        return max(0.0, self._last.wall + self._step - time.monotonic())

    def look(self, used: Used | None) -> None:
        """Go on, with what the kernel has used by now; ``None`` if that is not known.

        Raises:
            SubmissionFault: it has filled a limit itself.
            GraderFault: a limit has passed, and it is not known what it did meanwhile.
        """
        now, own, charged = _Moment(), 0.0, 0.0
        if used is not None and self._before is None:  # as for a cell that is done
            charged = now.ready(self._last)
        elif used is not None:
            own = max(0.0, used.own - self._before.own)
            waited = max(0.0, used.waited - self._before.waited)
            charged = max(own, now.ready(self._last) - waited)
        for stretch in (self._cell, self._whole):
            stretch.add(now.wall - self._last.wall, own, charged)
            stretch.judge(self.alone)
        self._before, self._last = used or self._before, now
        self._step = min(STEP, 2 * self._step)

    def stop(self) -> None:
        """End with a cell, which is done; as ``look``."""
        end = _Moment()
        self._whole.add(end.wall - self._last.wall, charged=end.ready(self._last))
        self._whole.judge(self.alone)
