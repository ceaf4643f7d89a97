"""Makes the library functions that an exercise rebuilds refuse while an answer runs.

Reading a source finds a name that is written there. What is hidden (in a list, in text
that is run, behind another name) is found here, when it is called:

* torch's operators are overridden through ``torch.library`` for as long as a case runs:
  below every Python name, in every thread, for compiled code as well;
* of a function or class that is written in Python, the frame is seen
  (``sys.setprofile``) when it begins, by the name that it, or its module, has;
* code that was compiled is refused as it is entered: what it holds cannot be seen.

Who catches the refusal is refused all the same, and who takes the guard away too.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from autograder.answers import answer
from autograder.exercise import BUILD_IT_YOURSELF, Case, Exercise, Implementation

LIBRARIES = ("torch", "numpy", "scipy", "sklearn")

# Operators of torch behind the functions that exercises forbid, by dispatch key. The
# composite ones are made of others, which stay allowed.
_OPERATORS = {
    "layer_norm": {
        "CompositeImplicitAutograd": ("layer_norm",),
        "CPU": ("native_layer_norm",),
    },
    "group_norm": {
        "CompositeImplicitAutograd": ("group_norm",),
        "CPU": ("native_group_norm",),
    },
    "batch_norm": {
        "CompositeImplicitAutograd": ("batch_norm", "instance_norm"),
        "CPU": (
            "native_batch_norm",
            "_native_batch_norm_legit",
            "_native_batch_norm_legit.no_stats",
            "_batch_norm_with_update",
        ),
        "CompositeExplicitAutograd": (
            "_native_batch_norm_legit_no_training",
            "_batch_norm_no_update",
        ),
    },
    "scaled_dot_product_attention": {
        "CompositeImplicitAutograd": (
            "scaled_dot_product_attention",
            "_scaled_dot_product_attention_math",
        ),
        "CPU": ("_scaled_dot_product_flash_attention_for_cpu",),
    },
    "multi_head_attention_forward": {"CPU": ("_native_multi_head_attention",)},
    "TransformerEncoderLayer": {"CPU": ("_transformer_encoder_layer_fwd",)},
}
_UNUSED = "_test_functorch_fallback"  # torch has it for tests of its own
_COMPILED = (  # files of torch in which a call of compiled code begins
    *("jit/_script.py", "_dynamo/eval_frame.py", "fx/graph_module.py"),
    "fx/interpreter.py",
)
COMPILED = "compiled code (torch.jit, torch.compile, torch.fx)"
REMOVED = "something that takes away the guard"


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
        self._watch = bool(self._names - _OPERATORS.keys())  # else no frame is needed
        self._roots = _folders()

    def __enter__(self) -> Guard:
        if self._names:
            self._operators = self._override()
        if self._watch:
            self._before = sys.getprofile(), threading.getprofile()
            self._modules = self._watch_modules()
            self._hook = self._frame_hook()
            threading.setprofile(self._hook)
            sys.setprofile(self._hook)
        return self

    def __exit__(self, *_: object) -> None:
        watched = True
        if self._watch:
            watched = sys.getprofile() is self._hook
            sys.setprofile(self._before[0])
            threading.setprofile(self._before[1])
            if self._modules is not None:
                self._modules.remove()
        if self._names and self._operators is not None:
            watched = self._still_refuses() and watched
            self._operators._destroy()
        if not watched and not self.used:
            self._note(REMOVED)

    def _override(self) -> Any:
        """Put functions that refuse in the place of torch's operators, if it is loaded.

        Taken back by the library object that holds them.
        """
        torch = sys.modules.get("torch")
        if torch is None:
            return None
        library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that they are overridden is the point
            for name in sorted(self._names & _OPERATORS.keys()):
                for key, operators in _OPERATORS[name].items():
                    for operator in operators:
                        library.impl(operator, self._refusal(name), key)
            library.impl(_UNUSED, self._refusal(_UNUSED), "CPU")
        return library

    def _still_refuses(self) -> bool:
        """Whether operators are still overridden; one that nobody needs is asked."""
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

    def _watch_modules(self) -> Any:
        """Refuse modules that run without a frame; a handle that takes it back."""
        torch = sys.modules.get("torch")
        if torch is None:
            return None

        def before(module: Any, _: Any) -> None:
            if isinstance(module, torch.jit.ScriptModule):
                self._refusal(COMPILED)()

        return torch.nn.modules.module.register_module_forward_pre_hook(before)

    def _frame_hook(self) -> Callable[[FrameType, str, Any], None]:
        """A profile function that sees frames begin.

        What is raised there ends the call, and Python then watches no longer.
        """
        of_a_library: dict[str, bool] = {}  # by the name of a file

        def hook(frame: FrameType, event: str, _: Any) -> None:
            if event == "call":
                file = frame.f_code.co_filename
                if file not in of_a_library:
                    of_a_library[file] = file.startswith(self._roots)
                if of_a_library[file] and (name := self._forbidden(frame.f_code)):
                    self._refusal(name)()

        return hook

    def _forbidden(self, code: CodeType) -> str | None:
        """The name by which a function of a library is forbidden, if it is.

        Its own, that of its class, or that of its module.
        """
        module = code.co_filename.rpartition("/")[2].removesuffix(".py")
        for part in (*code.co_qualname.split("."), module):
            if part in self._names:
                return part
        return COMPILED if code.co_filename.endswith(_COMPILED) else None

    def _note(self, name: str) -> None:
        if name not in self.used:
            self.used.append(name)


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
        raise ForbiddenCall(f"uses {', '.join(guard.used)}, {BUILD_IT_YOURSELF}")

    return answer(replace(case, run=refused), implementation, seed)


def _folders() -> tuple[str, ...]:
    """The folders of the libraries that are loaded, each with a slash."""
    loaded = (sys.modules.get(name) for name in LIBRARIES)
    return tuple(
        f"{Path(library.__file__).parent}/"
        for library in loaded
        if library is not None and library.__file__
    )
