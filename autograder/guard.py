"""Makes the library functions that an exercise rebuilds refuse while an answer runs.

Reading a source finds a name that is written there. What is hidden (in a list, in text
that is run, behind another name) is found here, when it is called:

* torch's operators are overridden through ``torch.library`` for as long as a case runs:
  below every Python name, in every thread, for compiled code as well;
* of a function or class that is written in Python, the frame is seen
  (``sys.setprofile``) when it begins, by the name that it, or its module, has; those
  of torch have code that refuses, for threads that are not watched;
* code that implements torch once more is refused whole, whatever it is called: parts of
  torch that are neither its public functions nor what carries them out, and modules of
  other packages that compute with torch;
* code that was compiled is refused as it is entered: what it holds cannot be seen
  (``compiled``);
* what runs code unseen (trace functions and the like, see ``unseen``) is refused too.

An answer that catches the refusal is refused all the same, and so is one that removes
the guard.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from types import CodeType, FrameType
from typing import Any

from autograder.answers import answer
from autograder.compiled import COMPILED, Compiled, runs_compiled
from autograder.exercise import BUILD_IT_YOURSELF, Case, Exercise, Implementation
from autograder.library_code import (
    Place,
    computes,
    is_given_numbers,
    is_imported,
    place_of,
    site_folders,
)
from autograder.named_functions import NamedFunctions
from autograder.unseen import (
    NOBODY_SEES,
    PROFILED,
    THREAD,
    WAYS,
    Unseen,
    begins_thread,
)

# Words in the names of torch's operators that do what an exercise forbids. All of them
# are overridden, with all their overloads. So are those for gradients: the gradient of
# attention with respect to the values is attention, with queries and keys exchanged.
_OPERATORS = {
    # oneDNN's own is no operator that can be overridden: its tensors are not made.
    "layer_norm": ("layer_norm", "to_mkldnn", "mkldnn_reorder"),
    "group_norm": ("group_norm",),
    "batch_norm": ("batch_norm", "instance_norm"),
    "rms_norm": ("rms_norm",),
    "scaled_dot_product_attention": ("scaled_dot_product", "attention_forward"),
    "multi_head_attention_forward": ("multi_head_attention",),
    "TransformerEncoderLayer": ("transformer_encoder_layer",),
}
_KEYS = (  # of the dispatcher, under which a processor finds what to call
    *("CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd"),
    "CompositeExplicitAutogradNonFunctional",
    *("NestedTensorCPU", "QuantizedCPU", "MkldnnCPU", "SparseCPU", "SparseCsrCPU"),
    # Under torch.vmap, an operator is taken apart, or has a rule of its own.
    *("FuncTorchBatched", "FuncTorchBatchedDecomposition", "FuncTorchVmapMode"),
)
_UNUSED = "_test_functorch_fallback"  # torch has it for tests of its own
_COMPILED = (  # files of torch in which a call of compiled code begins
    *("jit/_script.py", "fx/graph_module.py", "fx/interpreter.py"),
)
_DYNAMO = "_dynamo/eval_frame.py"  # of which these begin one, and others avoid it
_COMPILING = ("_TorchDynamoContext.__call__.", "OptimizeContext", "OptimizedModule")
FORGED = "code that forges its own name"
REMOVED = "something that takes away the guard"
_MOST_NAMED = 200  # characters of what was called: the reason behind it is not cut off


class ForbiddenCall(RuntimeError):
    """A library function was called that the exercise asks students to build."""


class Guard:
    """A context in which the library functions of these names refuse.

    Args:
        names: what may not be called; see ``Exercise.forbidden``.

    Attributes:
        used: names of what was called all the same, in the order of the calls.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.used: list[str] = []
        self._names = frozenset(names)
        self._site = site_folders()

    def __enter__(self) -> Guard:
        if self._names:
            self._operators = self._override()
            self._hook = self._frame_hook()
            self._modules = self._watch_modules()
            self._compiled = Compiled(self._refusal(COMPILED))
            self._compiled.close()
            self._functions = NamedFunctions(self._names)
            self._functions.close()
            self._unseen = Unseen(self._refuse_unseen, self._hook)
            for way in self._unseen.close():
                self._note(way)
        return self

    def __exit__(self, *_: object) -> None:
        if not self._names:
            return
        watched = sys.getprofile() is self._hook
        self._unseen.open()
        self._functions.open()
        watched = self._compiled.open() and watched
        if self._modules is not None:
            self._modules.remove()
        if self._operators is not None:
            watched = self._still_refuses() and watched
            self._operators.take_back()
        if not watched and not self.used:
            self._note(REMOVED)

    def _override(self) -> Any:
        """Put functions that refuse in the place of torch's operators, if it is loaded.

        Taken back by the library objects that hold them.
        """
        torch = sys.modules.get("torch")
        if torch is None:
            return None
        libraries = _Libraries()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that they are overridden is the point
            for name in sorted(self._names & _OPERATORS.keys()):
                for operator, key in _kernels(_OPERATORS[name]):
                    libraries.impl(operator, self._refusal(name), key)
            libraries.impl(f"aten::{_UNUSED}", self._refusal(_UNUSED), "CPU")
        return libraries

    def _still_refuses(self) -> bool:
        """Whether operators are still overridden; tried on one that nobody needs."""
        torch = sys.modules["torch"]
        try:
            getattr(torch.ops.aten, _UNUSED)(torch.zeros(1), torch.zeros(1))
        except ForbiddenCall:
            self.used.remove(_UNUSED)
            return True
        except RuntimeError:  # torch's own answer
            return False
        return False

    def _refusal(self, name: str) -> Callable[..., Any]:
        def refuse(*_: Any, **__: Any) -> None:
            self._note(name)
            raise ForbiddenCall(f"{name} is what this exercise asks you to build")

        return refuse

    def _refuse_unseen(self, way: str) -> None:
        """Refuse what runs code unseen.

        When a profile function raises, Python itself takes it away, and announces that.
        """
        if not (way == PROFILED and self.used):
            self._refusal(way)()

    def _watch_modules(self) -> Any:
        """Refuse modules that run without a frame; a handle that takes it back.

        A module's forward hook runs even in a thread that is not profiled, such as one
        of an earlier cell, so the callers can be inspected there.
        """
        torch = sys.modules.get("torch")
        if torch is None:
            return None

        def before(module: Any, _: Any) -> None:
            if issubclass(type(module), torch.jit.ScriptModule):
                self._refusal(COMPILED)()
            frame = None if sys.getprofile() is self._hook else sys._getframe(1)
            while frame is not None:
                place = place_of(frame, self._site)
                if place and (name := self._named(frame.f_code, place.modules)):
                    self._refusal(name)()
                frame = frame.f_back

        return torch.nn.modules.module.register_module_forward_pre_hook(before)

    def _frame_hook(self) -> Callable[[FrameType, str, Any], None]:
        """A profile function that sees frames begin.

        An exception raised here ends the call, and Python then stops profiling. It does
        not profile a profile function either; but inspecting a frame may run code of
        the objects in it, so there ``sys.call_tracing`` keeps profiling on.
        """
        # By file and names, which are kept, so that no others get their number. The
        # functions that inspect frames are not inspected themselves.
        places: dict[tuple[str, int], tuple[Place | None, dict[str, Any]]] = {}
        for looks in (place_of, Guard._named):
            names = looks.__globals__
            places[looks.__code__.co_filename, id(names)] = None, names
        # Code of files that are refused whole, by its address, and why they are.
        second: dict[int, tuple[CodeType, str]] = {}

        def hook(frame: FrameType, event: str, called: Any) -> None:
            if event == "c_call":
                if begins_thread(called):
                    self._unseen.asked(THREAD, frame)
                elif runs_compiled(called):
                    self._refusal(COMPILED)()
                found = second and second.get(id(frame.f_code))
                if found and sys.call_tracing(self._computes, (frame, called)):
                    self._refusal(found[1])()
                return
            if event != "call":
                return
            code, names = frame.f_code, frame.f_globals
            file = code.co_filename
            if type(file) is not str or type(code.co_qualname) is not str:
                self._refusal(FORGED)()  # methods of a class of its own see no hook
            known = places.get((file, id(names)))
            if known is None:
                known = sys.call_tracing(place_of, (frame, self._site)), names
                places[file, id(names)] = known
            place = known[0]
            if place is None:
                return
            name = self._named(code, place.modules)
            if place.why:
                second[id(code)] = code, place.why
            if name is None and (place.why or _begins_compiled(code)):
                name = sys.call_tracing(self._refused_whole, (frame, place.why))
            if name is not None:
                self._refusal(name)()

        return hook

    def _named(self, code: CodeType, modules: list[str]) -> str | None:
        """The name by which a function of a library is forbidden, if it is.

        Its own, that of its class, or that of a module on the way to it.
        """
        for part in (*code.co_qualname.split("."), *reversed(modules)):
            if part in self._names:
                return part
        return None

    def _refused_whole(self, frame: FrameType, why: str) -> str | None:
        """Why the file of a function is refused whole, if there is what to compute."""
        if _begins_compiled(frame.f_code):
            return None if is_imported(frame, self._site) else COMPILED
        if why and is_given_numbers(frame) and not is_imported(frame, self._site):
            return why
        return None

    def _computes(self, frame: FrameType, called: Any) -> bool:
        """Whether a file that is refused whole computes, whatever it was given."""
        return computes(called) and not is_imported(frame, self._site)

    def _note(self, name: str) -> None:
        if name not in self.used:
            self.used.append(name)


def _begins_compiled(code: CodeType) -> bool:
    """Whether compiled code is called here, or what torch was told not to compile."""
    file = code.co_filename
    if file.endswith(_DYNAMO):
        return code.co_qualname.startswith(_COMPILING)
    return file.endswith(_COMPILED)


class _Libraries:
    """What is put in the place of operators, by the namespaces of these."""

    def __init__(self) -> None:
        self._of: dict[str, Any] = {}

    def impl(self, operator: str, function: Callable[..., Any], key: str) -> None:
        """Put a function in the place of a kernel."""
        namespace, _, name = operator.partition("::")
        if namespace not in self._of:
            library = sys.modules["torch"].library.Library(namespace, "IMPL")
            self._of[namespace] = library
        self._of[namespace].impl(name, function, key)

    def take_back(self) -> None:
        """Give all operators their own kernels again."""
        for library in self._of.values():
            library._destroy()


def guarded_answer(
    exercise: Exercise, case: Case, implementation: Implementation, seed: int
) -> bytes:
    """``answer``, with the library functions that the exercise rebuilds refusing.

    Args:
        exercise: the exercise that the case belongs to.
        case: the case.
        implementation: the function or class under test.
        seed: seed of the case's random generator.

    Returns:
        The encoded answer, which is a refusal if such a function was called, whatever
        the implementation made of that.
    """
    with Guard(exercise.forbidden) as guard:
        given = answer(case, implementation, seed)
    if not guard.used:
        return given

    def refused(*_: Any) -> None:
        why = NOBODY_SEES if set(guard.used) <= set(WAYS) else BUILD_IT_YOURSELF
        called = ", ".join(guard.used)[:_MOST_NAMED]
        raise ForbiddenCall(f"uses {called}, {why}")

    return answer(replace(case, run=refused), implementation, seed)


@cache
def _kernels(words: Sequence[str]) -> list[tuple[str, str]]:
    """Operators with one of these words in their names, each with a dispatch key."""
    known = sys.modules["torch"]._C
    return [
        (operator, key)
        for operator in sorted(known._dispatch_get_all_op_names())
        for key in _KEYS
        if any(word in operator for word in words)
        and known._dispatch_has_kernel_for_dispatch_key(operator, key)
    ]
