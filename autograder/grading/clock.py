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

import asyncio
import time
from dataclasses import dataclass, field
from typing import Protocol

from autograder.errors import GraderFault, SubmissionFault
from autograder.sandbox.limits import PATIENCE, Limits
from autograder.sandbox.usage import Used

FIRST_STEP = 0.05  # seconds; most cells are done before, and need no measuring
STEP = 0.5  # the longest; each is twice as long as the one before
MOST = 0.9  # of a limit that has to be accounted for: the clock has steps


class Meter(Protocol):
    """What knows how much a running kernel has used."""

    async def used(self) -> Used | None:
        """What it has used by now; ``None`` if nobody can say in time."""


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
    _whole: _Stretch = field(init=False)

    def __post_init__(self) -> None:
        name = self.limits.called("submission_seconds")
        self._whole = _Stretch(self.limits.submission_seconds, name)

    @property
    def is_up(self) -> bool:
        """Whether the submission has filled its whole time."""
        return self._whole.is_up

    async def watch(self, execution: asyncio.Task, meter: Meter) -> None:
        """Wait until a cell was executed.

        Args:
            execution: of the cell; cancelled when its time is up.
            meter: tells what the kernel has used.

        Raises:
            SubmissionFault: it has filled a limit itself.
            GraderFault: a limit has passed, and it is not known what it did meanwhile.
        """
        cell = _Stretch(self.limits.cell_seconds, self.limits.called("cell_seconds"))
        last, step = _Moment(), FIRST_STEP
        before: Used | None = None
        try:
            while not (await asyncio.wait([execution], timeout=step))[0]:
                used, now = await meter.used(), _Moment()
                own = charged = 0.0
                if used is not None and before is not None:
                    own = max(0.0, used.own - before.own)
                    waited = max(0.0, used.waited - before.waited)
                    charged = max(own, now.ready(last) - waited)
                for stretch in (cell, self._whole):
                    stretch.add(now.wall - last.wall, own, charged)
                    stretch.judge(self.alone)
                before, last, step = used or before, now, min(STEP, 2 * step)
        except BaseException:
            execution.cancel()
            await asyncio.wait([execution])
            if not execution.cancelled():
                execution.exception()  # else asyncio complains that nobody looked
            raise
        end = _Moment()
        self._whole.add(end.wall - last.wall, charged=end.ready(last))
        self._whole.judge(self.alone)
        await execution
