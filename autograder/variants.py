"""The reference on altered arguments: slips that need no wrong version of their own.

Typical slips transpose an input, swap two, forget an argument or return an input. The
reference, treated alike, gives the same answer, so these versions are derived from it
and from the names of its parameters. When an answer agrees with one of them on every
case that asks for a value, the student is told which.
"""

from __future__ import annotations

import base64
import gc
import inspect
import itertools
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, wraps
from types import FrameType
from typing import Any

import numpy as np

from autograder.answers import Answer, answer, decode
from autograder.exercise import Case, Implementation, Mistake
from autograder.steps.altered import Step, file_of, steps_of, with_steps
from autograder.steps.joined import joined

Bound = dict[str, Any]  # arguments by the names of their parameters
Alteration = Callable[[Callable, Bound], Any]  # of the arguments of a call
DEPTH = 200  # calls inside each other, that an altered version may make
SEVERAL = 12  # versions that were run on a case, after which the others are run too
MOST = 2_000_000  # calls and returns, for all of these together
NO_ANSWER = Answer(unreadable="nothing was run")
Share = Callable[[str, Callable[[], Any]], Any]  # see ``Probe``


@dataclass
class Variant:
    """An altered reference, what it amounts to, and its answers so far.

    Either ``alter`` says what is done to the arguments of its calls, or ``step`` which
    step is altered. It is made when it is run for the first time. Answers are kept as
    they travel: most are looked at once.
    """

    says: str
    make: Callable[[], Implementation | None]
    alter: Alteration | None = None
    step: Step | None = None
    answers: dict[int, bytes | None] = field(default_factory=dict)

    @cached_property
    def implementation(self) -> Implementation | None:
        """The altered reference; ``None`` if the alteration makes no sense."""
        return self.make()

    def run(self, number: int, case: Case, seed: int) -> bytes | None:
        """What it answers to a case, encoded and computed once; ``None`` if nothing."""
        if number not in self.answers:
            made = self.implementation
            self.answers[number] = made and encoded_answer_of(made, case, seed)
        return self.answers[number]


def answer_of(version: Implementation, case: Case, seed: int) -> Answer:
    """What an altered version answers to a case."""
    return decode(encoded_answer_of(version, case, seed))


def encoded_answer_of(version: Implementation, case: Case, seed: int) -> bytes:
    """What an altered version answers to a case, as it travels.

    One that calls itself without end takes as long as many others, so it may call less
    deeply than Python allows.
    """
    most, depth, frame = sys.getrecursionlimit(), DEPTH, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(min(most, depth))
    try:
        return answer(case, version, seed)
    finally:
        sys.setrecursionlimit(most)


@dataclass(frozen=True)
class Role:
    """Where one part of an answer comes from.

    ``name`` is that of the parameter if the part is an input, looked at after the call;
    else the part is result number ``index`` of ``count`` of one call, and ``training``
    says whether the module that was called was in training. ``call`` is the place of
    that call among those of the case, if it is known.
    """

    name: str | None = None
    index: int = 0
    count: int = 1
    training: bool | None = None
    call: int | None = None


Path = tuple[int | str, ...]


class Probe:
    """Looks at how a case uses the reference.

    Args:
        reference: the right implementation.
        cases: of its exercise.
        seeds: of the cases.
        find_mistakes: finds the known mistakes; called once, and only when no single
            one of them explains an answer.
        share: called with a name and a function that computes a result, which JSON can
            hold; returns it, computed now or by another process with these seeds.

    Attributes:
        sharing: seconds of the processor that went into answers for other processes.
    """

    def __init__(
        self,
        reference: Implementation,
        cases: Sequence[Case],
        seeds: Sequence[int],
        find_mistakes: Callable[[], Sequence[Mistake]] = tuple,
        share: Share | None = None,
    ) -> None:
        self.reference, self._cases, self._seeds = reference, cases, seeds
        self._find_mistakes = find_mistakes
        self._altered, self._steps = steps_of(reference), []
        self._joined: dict[tuple[str, str], Variant | None] = {}
        self._runs: dict[int, _Run] = {}
        self._left: dict[tuple[int, int], bool] = {}
        self._share, self._ran = share, Counter[int]()
        self.sharing = 0.0

    @cached_property
    def mistaken(self) -> dict[str, Implementation]:
        """The known mistakes, by their names."""
        return {m.name: m.implementation for m in self._find_mistakes()}

    def joined(self, one: str, other: str) -> Variant | None:
        """Two known mistakes in one version, by their names; made once.

        Returns:
            ``None`` if they are not written so that they can be joined in this order.
        """
        if (one, other) not in self._joined:
            both = self.mistaken[one], self.mistaken[other]
            made = joined(*both, self.reference)
            self._joined[one, other] = made and Variant("", lambda: made)
        return self._joined[one, other]

    def cost(self, number: int) -> int:
        """What it costs to run a case: the calls and returns that the reference makes.

        Unlike seconds, this is the same on every machine and at every time.
        """
        return self._run(number).cost

    def leaves(self, variant: Variant, number: int) -> bool:
        """Whether a variant surely answers a case as the reference does.

        It does if it alters the arguments of no call, or a step that is not reached:
        then it need not be run.
        """
        if (id(variant), number) not in self._left:
            left = False
            if variant.step is not None:
                left = not variant.step.may_be_in(self._run(number).lines)
            elif variant.alter is not None:
                left = all(_left(variant.alter, given) for given in self.calls(number))
            self._left[id(variant), number] = left
        return self._left[id(variant), number]

    def answer(self, variant: Variant, number: int) -> Answer:
        """What a version answers to a case; computed once.

        The search for a slip begins with the same case for most of a class. So where
        processes share what they compute, one runs all versions on it for all of them.
        """
        case, seed = self._cases[number], self._seeds[number]
        if number not in variant.answers and self._share is not None:
            self._ran[number] += 1
            if self._ran[number] == SEVERAL:
                self._run_all(number)
        encoded = variant.run(number, case, seed)
        return NO_ANSWER if encoded is None else decode(encoded)

    def _run_all(self, number: int) -> None:
        """Run all versions on a case, or learn what they answered elsewhere."""
        start = time.process_time()
        case, seed = self._cases[number], self._seeds[number]
        found = itertools.chain(self.variants, self.steps)
        versions = [v for v in found if not self.leaves(v, number)]
        if len(versions) * self.cost(number) > MOST:
            return

        def texts() -> list[str | None]:
            answers = (version.run(number, case, seed) for version in versions)
            return [a and base64.b64encode(a).decode("ascii") for a in answers]

        for version, text in zip(
            versions, self._share(f"versions.{number}", texts), strict=True
        ):
            version.answers[number] = text and base64.b64decode(text)
        self.sharing += time.process_time() - start

    def _run(self, number: int) -> _Run:
        """How the reference runs a case; looked at once."""
        if number not in self._runs:
            case, seed = self._cases[number], self._seeds[number]
            self._watched  # noqa: B018 (whatever is done at first only has been done)
            self._runs[number] = _looked_at(
                lambda: decode(answer(case, self.reference, seed)),
                file_of(self.reference),
            )
        return self._runs[number]

    @cached_property
    def _watched(self) -> list[tuple[dict[Path, Role], list[Bound]]]:
        return [
            _watch(self.reference, case, seed)
            for case, seed in zip(self._cases, self._seeds, strict=True)
        ]

    @cached_property
    def variants(self) -> list[Variant]:
        """The reference on altered arguments, where altering them changes something."""
        function = _callable_of(self.reference)
        if function is None:
            return []
        parameters = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.name != "self" and p.kind is p.POSITIONAL_OR_KEYWORD
        ]
        calls = [given for _, calls in self._watched for given in calls[:2]]
        return [
            Variant(says, partial(_altered, self.reference, function, alter), alter)
            for says, alter in _alterations(parameters)
            if any(_applies(alter, given) for given in calls)
        ]

    @property
    def steps(self) -> Iterator[Variant]:
        """The reference with one step altered, found when they are asked for, and once.

        They come after the variants, since there are more of them.
        """
        for number in itertools.count():
            if number == len(self._steps):
                step = next(self._altered, None)
                if step is None:
                    return
                says = (
                    "A right solution gives your result if one step is wrong: "
                    f"{step.says}."
                )
                make = partial(with_steps, self.reference, step)
                self._steps.append(Variant(says, make, step=step))
            yield self._steps[number]

    @property
    def optional(self) -> dict[str, Any]:
        """The parameters that a call may leave out, with their defaults.

        Of a module, these are the ones of its ``__init__`` as well.
        """
        functions = [_callable_of(self.reference)]
        if isinstance(self.reference, type):
            functions.insert(0, self.reference.__init__)
        return {
            p.name: p.default
            for function in filter(None, functions)
            for p in inspect.signature(function).parameters.values()
            if p.default is not p.empty
        }

    def calls(self, number: int) -> list[Bound]:
        """The arguments of the calls that a case makes.

        Of a module, these are the ones that it was made with as well.
        """
        return self._watched[number][1]

    def roles(self, number: int) -> dict[Path, Role]:
        """The role of each part of the answer to a case, as far as it can be told."""
        return self._watched[number][0]


@dataclass(frozen=True)
class _Run:
    """How the reference runs a case: what it costs, and which lines are reached.

    No lines are known where the file is not to be had.
    """

    cost: int
    lines: frozenset[int]


def _looked_at(run: Callable[[], Any], file: str | None) -> _Run:
    """How many calls and returns there are in a run, and which lines it reaches."""
    count, lines = 0, set()

    def note(*_: Any) -> None:
        nonlocal count
        count += 1

    def trace(frame: FrameType, event: str, _: Any) -> Callable | None:
        if frame.f_code.co_filename != file:
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return trace

    before, traced, collects = sys.getprofile(), sys.gettrace(), gc.isenabled()
    kept = before if callable(before) else None
    gc.disable()  # what it would call belongs to whoever left the garbage
    sys.settrace(trace)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(kept)
        sys.settrace(traced)
        if hasattr(before, "enable"):  # cProfile's cannot be set
            before.enable()
        if collects:
            gc.enable()
    return _Run(count, frozenset(lines))


def _left(alter: Alteration, given: Bound) -> bool:
    """Whether an alteration leaves a call as it is."""
    as_it_is = object()

    def call(arguments: Bound) -> object:
        same = arguments.keys() == given.keys()
        return as_it_is if same and all(arguments[n] is given[n] for n in given) else 0

    try:
        with np.errstate(all="ignore"):
            return alter(call, given) is as_it_is
    except NotApplicable:
        return True
    except Exception:  # an error is an answer, and another one
        return False


def _applies(alter: Alteration, given: Bound) -> bool:
    """Whether an alteration means something for the arguments of a call."""
    try:
        alter(lambda arguments: None, given)
    except Exception:  # what cannot be altered is not
        return False
    return True


def _watch(
    reference: Implementation, case: Case, seed: int
) -> tuple[dict[Path, Role], list[Bound]]:
    """Run a case on the reference: what the parts of the answer are, and the calls."""
    calls: list[Bound] = []
    kept: list[Any] = []  # alive, so that no two objects share an id
    known: dict[int, Role] = {}
    found: dict[Path, Role] = {}
    made: dict[int, Bound] = {}  # what modules were made with

    def watch(call: Callable, given: Bound) -> Any:
        number = len(calls)
        calls.append({**made.get(id(call.owner), {}), **given})
        # What one call returned and the next one takes is a result, not an input.
        inputs = [
            (name, each)
            for name, value in given.items()
            for each in (value if isinstance(value, list | tuple) else [value])
            if _is_array(each) and known.get(id(each), Role(name=name)).name
        ]
        result = call(given)
        parts = list(result) if isinstance(result, list | tuple) else [result]
        kept.extend((given, result, parts))
        training = getattr(call.owner, "training", None)
        for index, part in enumerate(parts):
            known[id(part)] = Role(None, index, len(parts), training, number)
        known.update({id(value): Role(name=name) for name, value in inputs})
        return result

    def walk(path: Path, value: Any) -> None:
        if isinstance(value, list | tuple):
            for index, item in enumerate(value):
                walk((*path, index), item)
        elif isinstance(value, dict):
            for name, item in value.items():
                walk((*path, name), item)
        elif id(value) in known:
            found[path] = known[id(value)]

    def run(implementation: Implementation, rng: Any) -> Any:
        value = case.run(implementation, rng)
        walk((), value)
        return value

    function = _callable_of(reference)
    if function is not None:
        watched = replace(case, run=run)
        if isinstance(reference, type):
            reference = _noting(reference, made, kept)
        answer(watched, _altered(reference, function, watch), seed)
    return found, calls


def _noting(module: type, made: dict[int, Bound], kept: list[Any]) -> type:
    """A module that notes, by the id of each instance, what it is made with."""
    signature = inspect.signature(module.__init__)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = dict(signature.bind(self, *args, **kwargs).arguments)
        made[id(self)] = {name: bound[name] for name in list(bound)[1:]}
        kept.append(self)
        module.__init__(self, *args, **kwargs)

    return type(module.__name__, (module,), {"__init__": __init__})


def on_altered_arguments(
    implementation: Implementation, alter: Alteration
) -> Implementation | None:
    """An implementation whose arguments are altered; ``None`` if nothing is called."""
    function = _callable_of(implementation)
    return function and _altered(implementation, function, alter)


def _callable_of(reference: Implementation) -> Callable | None:
    """What is called: the function, or the ``forward`` of a module."""
    if isinstance(reference, type):
        return getattr(reference, "forward", None)
    return reference


class NotApplicable(Exception):
    """An alteration that means nothing for these arguments."""


def _require(applicable: bool) -> None:
    if not applicable:
        raise NotApplicable


def _altered(
    reference: Implementation,
    function: Callable,
    alter: Alteration,
) -> Implementation:
    """``reference`` whose calls go through ``alter(call, arguments by name)``."""
    signature = inspect.signature(function)

    @wraps(function)
    def altered(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        names = dict(bound.arguments)
        owner = {"self": names.pop("self")} if "self" in names else {}

        def call(arguments: Bound) -> Any:
            return function(**owner, **arguments)

        call.owner = owner.get("self")
        try:
            return alter(call, names)
        except NotApplicable:  # here the slip changes nothing
            return call(names)

    if isinstance(reference, type):
        return type(reference.__name__, (reference,), {"forward": altered})
    return altered


def _alterations(
    parameters: list[str],
) -> Iterator[tuple[str, Alteration]]:
    """What may be done to the arguments of a call, and how it is told."""
    for index, one in enumerate(parameters):
        for other in parameters[index + 1 :]:
            yield (
                f"Your result is the right one for `{one}` and `{other}` swapped.",
                lambda call, given, a=one, b=other: call(_swap(given, a, b)),
            )
    for one in parameters:
        for other in parameters:
            if one != other:
                yield (
                    f"Your result is the right one if `{other}` is used for `{one}` as "
                    "well.",
                    lambda call, given, a=one, b=other: call(_replace(given, a, b)),
                )
    for name in parameters:
        for what, change in _CHANGES.items():
            yield (
                f"Your result is the right one {what.format(name=name)}.",
                lambda call, given, n=name, c=change: call(_change(given, n, c)),
            )
    yield (
        "Your result is the right one if every input is first scaled to norm 1 along "
        "its last axis, so that norms no longer count.",
        lambda call, given: call(_all_unit(given)),
    )
    for name in parameters:
        yield (
            f"Your result is the right one for a call without `{name}`: it has no "
            "effect.",
            lambda call, given, n=name: call(_without(given, n)),
        )
    for name in parameters:
        yield (
            f"Your result is `{name}` itself, as it came in.",
            lambda call, given, n=name: _itself(call, given, n),
        )


def _swap(given: Bound, one: str, other: str) -> Bound:
    _require(_is_array(given.get(one)) and _is_array(given.get(other)))
    return {**given, one: given[other], other: given[one]}


def _replace(given: Bound, one: str, other: str) -> Bound:
    _require(_is_array(given.get(one)) and _is_array(given.get(other)))
    return {**given, one: given[other]}


def _change(given: Bound, name: str, change: Callable[[Any], Any]) -> Bound:
    _require(name in given)
    return {**given, name: change(given[name])}


def _without(given: Bound, name: str) -> Bound:
    _require(given.get(name) is not None)
    return {key: value for key, value in given.items() if key != name}


def _all_unit(given: Bound) -> Bound:
    changed = dict(given)
    for name, value in given.items():
        if _has_rows(value):
            changed[name] = _unit(value)
    return changed


def _itself(call: Callable, given: Bound, name: str) -> Any:
    call(dict(given))  # it refuses what it would have refused
    _require(_is_array(given.get(name)))
    return given[name]


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _is_bool(value: Any) -> bool:
    return _is_array(value) and str(value.dtype) in ("bool", "torch.bool")


def _is_real(value: Any) -> bool:
    return _is_array(value) and not _is_bool(value) and "int" not in str(value.dtype)


def _has_rows(value: Any) -> bool:
    return _is_array(value) and not _is_bool(value) and len(value.shape) >= 1


def _transposed(value: Any) -> Any:
    _require(_is_array(value) and len(value.shape) >= 2)
    return value.swapaxes(-1, -2)


def _reversed(value: Any) -> Any:
    _require(_is_array(value) and len(value.shape) >= 1 and value.shape[0] >= 2)
    if isinstance(value, np.ndarray):
        return value[::-1].copy()
    return value.flip(0)


def _inverted(value: Any) -> Any:
    _require(_is_bool(value))
    return ~value


def _negated(value: Any) -> Any:
    _require(not isinstance(value, bool) and not _is_bool(value))
    _require(_is_array(value) or isinstance(value, int | float))
    return -value


def _more(value: Any, by: int) -> Any:
    _require(isinstance(value, int) and not isinstance(value, bool))
    return value + by


def _inverse(value: Any) -> Any:
    _require(isinstance(value, float) and value != 0)
    return 1 / value


def _rooted(value: Any) -> Any:
    _require(isinstance(value, float) and value >= 0)
    return value**0.5


def _squared(value: Any) -> Any:
    _require(isinstance(value, float))
    return value * value


def _times(value: Any, factor: float) -> Any:
    _require(_is_real(value))
    return value * factor


def _times_size(value: Any, power: float) -> Any:
    _require(_is_real(value) and len(value.shape) >= 1)
    return value * float(value.shape[-1]) ** power


def _filled(value: Any, number: float) -> Any:
    _require(_is_real(value))
    return value * 0.0 + number


def _plus(value: Any, number: float) -> Any:
    _require(_is_real(value))
    return value + number


def _unit(value: Any) -> Any:
    _require(_has_rows(value))
    squares = (value * value).sum(-1)[..., None]
    return value / squares**0.5


_CHANGES: dict[str, Callable[[Any], Any]] = {
    "for a transposed `{name}` (its last two axes swapped)": _transposed,
    "for `{name}` in reverse order along its first axis": _reversed,
    "for the opposite of `{name}`: what should be `True` counts as `False`": _inverted,
    "for `{name}` with its sign changed": _negated,
    "for `{name}` larger by one": lambda value: _more(value, 1),
    "for `{name}` smaller by one": lambda value: _more(value, -1),
    "for one over `{name}`": _inverse,
    "for `{name}` squared": _squared,
    "for the square root of `{name}`": _rooted,
    "for `{name}` scaled to norm 1 along its last axis": _unit,
    "for `{name}` times the square root of its last size, so that a scale is missing "
    "or wrong": lambda value: _times_size(value, 0.5),
    "for `{name}` divided by the square root of its last size, so that there is one "
    "scale too much": lambda value: _times_size(value, -0.5),
    "for `{name}` times its last size": lambda value: _times_size(value, 1.0),
    "for `{name}` divided by its last size": lambda value: _times_size(value, -1.0),
    "for `{name}` multiplied by two": lambda value: _times(value, 2.0),
    "for half of `{name}`": lambda value: _times(value, 0.5),
    "for ones in the place of `{name}`": lambda value: _filled(value, 1.0),
    "for zeros in the place of `{name}`": lambda value: _filled(value, 0.0),
    "for `{name}` with 1 added to every value": lambda value: _plus(value, 1.0),
}
