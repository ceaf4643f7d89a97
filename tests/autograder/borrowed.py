"""Try everything that ships to students as the answer to every exercise.

    python -m tests.autograder.borrowed [MODULE ...]

Prints a line of JSON, [callable, exercise, points], for each that earns points. Run it
where nothing can be broken: what is called may close files, fork, or end the process.
"""

from __future__ import annotations

import _posixsubprocess
import contextlib
import functools
import gc
import importlib
import inspect
import json
import os
import pkgutil
import resource
import select
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

import autograder
import toolkit
from autograder.answers import Answer, answer, decode, encode_outcome
from autograder.exercise import Case, Exercise, load_topic, topic_names
from autograder.expected import Expected, expect, public_seeds
from autograder.forbid import answer_by_hand
from autograder.judge import judge
from autograder.rows import disagreement

SHIPPED = ("autograder", "toolkit")
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
SECONDS = 2  # for one case; right answers need a hundredth of it, one a thirtieth
SILENCE = 8  # seconds after which what was called is not waited for
MARK = b"earned: "  # begins a result: what was called may write to any descriptor
PLAIN = (type(None), bool, int, float, str, bytes)  # cannot change once returned
STARTS = (  # audit events of who starts a process
    *("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"),
    "os.exec",
)

Call = tuple[tuple, dict[str, Any]]


class Called(Exception):
    """Ends a case as soon as it has called an implementation."""


class ProcessRefused(Exception):
    """Something that is tried starts a process."""


class NotPlain(Exception):
    """An argument that is expensive to copy, such as a model."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A callable and what its signature reveals."""

    call: Callable

    @cached_property
    def signature(self) -> inspect.Signature | None:
        """How it is called, if it says so."""
        try:
            return inspect.signature(self.call)
        except (TypeError, ValueError):
            return None

    def takes(self, arguments: Call) -> bool:
        """Whether it can be called in this way at all, whatever the values are."""
        form = len(arguments[0]), tuple(arguments[1])
        if form not in self._taken:
            self._taken[form] = self._binds(*form)
        return self._taken[form]

    @cached_property
    def _taken(self) -> dict[tuple[int, tuple[str, ...]], bool]:
        """Whether it takes so many arguments and these names, as far as was asked."""
        return {}

    @cached_property
    def called_with_nothing(self) -> tuple[Any, BaseException | None]:
        """What comes of a call with nothing, which begins many an exercise.

        It is called once, because what comes out is the same for all of them.
        """
        begun = time.process_time()
        returned, error = attempt(self.call)
        # It may have caught the error of the limit.
        used = time.process_time() - begun
        if error is None and used > SECONDS / 10:
            error = TimeoutError()
        return returned, error

    def _binds(self, number: int, names: tuple[str, ...]) -> bool:
        try:
            if self.signature is not None:
                self.signature.bind(*[None] * number, **dict.fromkeys(names))
        except TypeError:
            return False
        return True


@dataclass(frozen=True)
class Question:
    """A case, its right answer, and how it calls an implementation first."""

    case: Case
    seed: int
    right: Answer
    call: Call

    def is_refused_by(self, candidate: Candidate) -> bool:
        """Whether the first call of a candidate shows that it is not right.

        Nearly all raise an error, and the case with them, or return a plain value that
        is wrong. To copy the arguments takes a tenth of drawing them anew.
        """
        if not candidate.takes(self.call):
            return True
        if self.right.raised is not None:
            return False
        args, kwargs = (), {}
        if self.call == ((), {}):
            returned, error = candidate.called_with_nothing
        else:
            try:
                args, kwargs = copied(self.call)
            except NotPlain:
                return False
            returned, error = attempt(lambda: candidate.call(*args, **kwargs))
        if isinstance(error, TimeoutError):
            raise error
        if error is not None:
            return self._lets_out(error)
        return (
            type(returned) in PLAIN
            and is_same((args, kwargs), self.call)
            and self._is_wrong(returned)
        )

    def _lets_out(self, error: BaseException) -> bool:
        """Whether the case catches no error of this kind."""
        kind = type(error)
        if kind not in self._let_out:

            def fail(*_: Any, **__: Any) -> None:
                raise error

            self._let_out[kind] = attempt(lambda: self._run(fail))[1] is not None
        return self._let_out[kind]

    @cached_property
    def _let_out(self) -> dict[type[BaseException], bool]:
        """Which kinds of errors come out, as far as was asked."""
        return {}

    def _is_wrong(self, returned: Any) -> bool:
        """Whether a plain value, which is all that came of the first call, is wrong.

        Where the case calls again, other values may follow, so nothing is known.
        """
        key = type(returned), repr(returned)  # 0.0 and -0.0 are equal
        if key not in self._wrong:
            calls: list[None] = []

            def give(*_: Any, **__: Any) -> Any:
                calls.append(None)
                return returned

            right = self.is_right(Candidate(give))
            self._wrong[key] = not right and len(calls) == 1
        return self._wrong[key]

    @cached_property
    def _wrong(self) -> dict[tuple[type, str], bool]:
        """Which plain values are no answer, as far as was asked."""
        return {}

    def is_right(self, candidate: Candidate) -> bool:
        """Whether a candidate gives the right answer to this question."""
        if not candidate.takes(self.call):
            return False
        if self.right.raised is not None:
            given = decode(answer(self.case, candidate.call, self.seed))
        else:
            # ``answer`` would look for the line that an error came from, which takes
            # longer than the call.
            read = attempt(lambda: decode(encode_outcome(self._run(candidate.call))))
            if read[1] is not None:
                return False
            given = read[0]
        return disagreement(self.case, self.right, given) is None

    def _run(self, call: Callable) -> Any:
        rng = np.random.default_rng(self.seed)
        torch.default_generator.manual_seed(self.seed)
        return self.case.run(call, rng)

    def answer(self, candidate: Candidate, to: Exercise) -> Answer:
        """What the examiner would read of a candidate's answer to this exercise."""
        if not candidate.takes(self.call):
            return Answer(raised="TypeError")
        return decode(answer_by_hand(to, self.case, candidate.call, self.seed))


@dataclass(frozen=True)
class Asked:
    """An exercise, its questions, and what the reference answers."""

    exercise: Exercise
    questions: list[Question]
    expected: Expected

    def points(self, candidate: Candidate) -> int:
        """What a candidate earns as the answer to this exercise.

        Cases whose right answer is always the same are paid only beside another one.
        So the others come first, and who gets none of them right is asked no more. Nor
        is who takes too long for one.
        """
        limit, left, right = TimeLimit(), [], False
        with limit:
            for question in self.telling:
                limit.begin()
                if not question.is_refused_by(candidate):
                    left.append(question)
                if limit.exceeded:
                    break  # and the candidate has caught it
            for question in left:
                limit.begin()
                right = not limit.exceeded and question.is_right(candidate)
                if right or limit.exceeded:
                    break
        if limit.exceeded or not right:
            return 0
        given = []
        for question in self.questions:
            with limit:
                given.append(question.answer(candidate, self.exercise))
            if limit.exceeded:
                return 0
        return judge(self.exercise, given, self.expected).score

    def may_call(self, candidate: Candidate) -> bool:
        """Whether a candidate takes what it would be called with."""
        return any(candidate.takes(question.call) for question in self.telling)

    @cached_property
    def telling(self) -> list[Question]:
        """Those whose right answer depends on the data; all, if none does."""
        constant = self.expected.constant
        return [
            question
            for question, same in zip(self.questions, constant, strict=True)
            if not same or all(constant)
        ]


class TimeLimit:
    """Raises in whatever runs for too long, which takes it for an error of its own.

    Args:
        seconds: how long; in processor time, a tenth of it.

    Attributes:
        exceeded: whether anything has run for too long.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self.exceeded = False
        self._seconds = seconds

    def __enter__(self) -> None:
        signal.signal(signal.SIGPROF, self._stop)
        signal.signal(signal.SIGALRM, self._stop)
        self.begin()

    def begin(self) -> None:
        """Count from now on."""
        signal.setitimer(signal.ITIMER_PROF, self._seconds / 10)
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return kind is TimeoutError

    def _stop(self, *_: object) -> None:
        self.exceeded = True
        raise TimeoutError


def attempt(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """What a call returns, or the error that comes out of it."""
    try:
        return call(), None
    except BaseException as error:
        return None, error


def first_call(case: Case, seed: int) -> Call:
    """The arguments with which a case calls an implementation first."""
    seen: list[Call] = []

    def spy(*args: Any, **kwargs: Any) -> None:
        seen.append((args, kwargs))
        raise Called

    with contextlib.suppress(Called):
        case.run(spy, np.random.default_rng(seed))
    return seen[0]


def copied(value: Any) -> Any:
    """The same value, which may be changed.

    Raises:
        NotPlain: there is something in it whose copy would take long.
    """
    if type(value) in (tuple, list):
        return type(value)(copied(item) for item in value)
    if isinstance(value, dict):
        return {name: copied(item) for name, item in value.items()}
    if type(value) is np.ndarray:
        return value.copy()
    if type(value) is torch.Tensor and not value.requires_grad:
        return value.clone()
    if value is None or isinstance(value, int | float | str | np.generic | torch.dtype):
        return value
    raise NotPlain


def is_same(value: Any, other: Any) -> bool:
    """Whether a value that was ``copied`` is still as it was."""
    if type(value) is not type(other):
        return False
    if isinstance(value, tuple | list):
        return len(value) == len(other) and all(map(is_same, value, other))
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(
            is_same(item, other[name]) for name, item in value.items()
        )
    if isinstance(value, np.ndarray):
        return value.shape == other.shape and value.tobytes() == other.tobytes()
    if isinstance(value, torch.Tensor):
        return value.dtype == other.dtype and torch.equal(value, other)
    return value is other or value == other


@functools.cache
def all_asked() -> list[Asked]:
    """Every exercise of the course."""
    found = []
    for name in topic_names():
        topic = load_topic(name)
        for exercise in topic.exercises.values():
            seeds = public_seeds(exercise)
            expected = expect(topic, exercise, seeds)
            questions = [
                Question(case, seed, right, first_call(case, seed))
                for case, seed, right in zip(
                    exercise.cases, seeds, expected.reference, strict=True
                )
            ]
            found.append(Asked(exercise, questions, expected))
    return found


def modules() -> list[str]:
    """Every module that ships."""
    packages = (autograder, toolkit)
    return sorted(
        module.name
        for package in packages
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    )


def callables(module: types.ModuleType) -> dict[str, Callable]:
    """What can be called of a module, by name: functions, classes, their methods.

    Functions and lambdas inside a function count too, if they need nothing around
    them.
    """
    found: dict[str, Callable] = {}

    def add(name: str, value: Any) -> None:
        if not callable(value):
            return
        found[name] = value
        plain = inspect.unwrap(value)
        plain = getattr(plain, "__func__", plain)
        if isinstance(plain, types.FunctionType):
            for code in nested(plain.__code__):
                place = f"{name}.{code.co_name}:{code.co_firstlineno}"
                found[place] = function_inside(plain, code)

    for name, value in vars(module).items():
        home = getattr(value, "__module__", None) or type(value).__module__
        if home.split(".")[0] not in SHIPPED and home != module.__name__:
            continue
        add(name, value)
        kind = value if isinstance(value, type) else type(value)
        if kind.__module__ == module.__name__:
            for attribute in vars(kind):
                if attribute.startswith("__") and attribute != "__call__":
                    continue
                with contextlib.suppress(Exception):  # a property may need more
                    add(f"{name}.{attribute}", getattr(value, attribute))
    return found


@functools.cache
def function_inside(function: types.FunctionType, code: types.CodeType) -> Callable:
    """A function inside another one; the same wherever the other one is imported."""
    return types.FunctionType(code, function.__globals__)


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """The functions inside a function that need nothing of what is around them."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if not constant.co_freevars and constant.co_name not in COMPREHENSIONS:
                yield constant
            yield from nested(constant)


def earners(candidates: dict[str, Candidate]) -> Iterator[list[Any]]:
    """Those that earn points: name, exercise, points.

    They are tried in a process of their own, and in another one where that ends.
    """
    todo = [
        (name, asked)
        for name, candidate in candidates.items()
        for asked in all_asked()
        if asked.may_call(candidate)
    ]
    while todo:
        done = try_in_a_child(todo, candidates, prepare=refuse_processes)
        yield from (line for line in done if line[2])
        todo = todo[len(done) + 1 :]


def try_in_a_child(
    todo: list[tuple[str, Asked]],
    candidates: dict[str, Candidate],
    silence: float = SILENCE,
    prepare: Callable[[], None] = lambda: None,
) -> list[list[Any]]:
    """What came back, up to the one at which the child ended or fell silent.

    Args:
        todo: what is tried as the answer to what.
        candidates: what is tried, by name.
        silence: how many seconds to wait for the next result.
        prepare: called in the child first.
    """
    reading, writing = os.pipe()
    gc.freeze()  # or its garbage collector would copy all that was imported
    child = os.fork()
    if child == 0:
        _child(todo, candidates, writing, prepare)
    os.close(writing)
    text = b""
    while select.select([reading], [], [], silence)[0]:
        piece = os.read(reading, 1 << 16)
        if not piece:
            break
        text += piece
    os.close(reading)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    lines = text.split(b"\n")[:-1]
    return [json.loads(line[len(MARK) :]) for line in lines if line.startswith(MARK)]


def refuse_processes() -> None:
    """From now on, starting a process raises an error.

    A grader would start kernels and workers for nothing: what they import takes far
    longer than a case may.
    """

    def refuse(*_: Any) -> None:
        raise ProcessRefused

    def hear(event: str, _: tuple[Any, ...]) -> None:
        if event in STARTS:
            refuse()

    sys.addaudithook(hear)
    _posixsubprocess.fork_exec = refuse  # announced to nobody


def _child(
    todo: list[tuple[str, Asked]],
    candidates: dict[str, Candidate],
    writing: int,
    prepare: Callable[[], None],
) -> None:
    try:
        os.setsid()
        own, nowhere = os.getpid(), os.open(os.devnull, os.O_RDWR)
        resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        prepare()
        for name, asked in todo:
            points = asked.points(candidates[name])
            if os.getpid() != own:
                break  # what was called has forked
            line = json.dumps([name, asked.exercise.name, points])
            os.write(writing, b"\n" + MARK + line.encode() + b"\n")
    finally:
        os._exit(0)


def main(names: list[str]) -> None:
    """Try these modules, or all; what several of them name is tried once."""
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    known: dict[int, Callable] = {}
    for module in [importlib.import_module(name) for name in names or modules()]:
        found = callables(module)
        new = {name: each for name, each in found.items() if id(each) not in known}
        known |= {id(each): each for each in new.values()}
        for name, exercise, points in earners(
            {name: Candidate(each) for name, each in new.items()}
        ):
            earned = [f"{module.__name__}.{name}", exercise, points]
            print(json.dumps(earned), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
