"""Tell whether code belongs to a library, to an import of one, or to neither.

Names can be forged: code may say that it is of any file, and a function may be given
the names of any module. So any sign that code belongs to a library counts against it,
while an excuse counts only if the frame runs the code that the file really holds.
"""

from __future__ import annotations

import _imp
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

LIBRARIES = ("torch", "numpy", "scipy", "sklearn")
SECOND = "another implementation of it"

# Folders of torch whose Python code a call of its public functions may enter: layers,
# thin wrappers, and what carries operators out. Others hold second implementations of
# them (_refs, _decomp, _inductor, onnx, ...), today or in the next version.
_PLAIN = frozenset(
    (
        *("nn", "autograd", "func", "_functorch", "utils", "linalg", "special", "fft"),
        *("masked", "sparse", "distributions", "optim", "backends", "cpu", "cuda"),
        *("amp", "accelerator", "compiler", "multiprocessing", "futures", "profiler"),
        *("_dynamo", "_library", "_prims_common", "_dispatch", "_subclasses"),
        *("_logging", "_vendor/packaging", "testing/_comparison", "fx", "jit"),
        "distributed/__init__",
    )
)
_COURSE = Path(__file__).parent.parent
_OWN = tuple(f"{_COURSE / name}/" for name in ("autograder", "toolkit"))
_MODELS = {  # of the course's own modules, those that build what exercises ask for
    f"{_COURSE / 'toolkit' / name}.py": name
    for name in (
        *("minilm", "numpy_translator", "patches"),
        *("small_language_model", "translator"),
    )
}
_STANDARD = tuple(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib"))
_FROZEN = re.compile(r"<frozen ([\w.]+)>")
_IMPORT = "<frozen importlib._bootstrap>"  # the file of the code that runs a module
_FROZEN_AS = {  # Python's own names of two modules differ from those of their files
    "importlib._bootstrap": "_frozen_importlib",
    "importlib._bootstrap_external": "_frozen_importlib_external",
}
_IMPORTS_TORCH = re.compile(rb"^(?:import|from)[ \t]+torch\b", re.MULTILINE)
_FUNCTIONS = ("torch._C._nn", "torch._C._linalg", "torch._C._fft", "torch._C._special")


class Place(NamedTuple):
    """Where in a library code stands.

    Attributes:
        modules: the parts of its module's name, without the library's.
        why: why it is refused whole; empty if it is not.
    """

    modules: list[str]
    why: str


def site_folders() -> tuple[str, ...]:
    """The folders in which packages are installed, those of a sandbox as well."""
    known = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    for name in LIBRARIES:
        library = sys.modules.get(name)
        if library is not None and library.__file__:
            known.add(str(Path(library.__file__).parent.parent))
    return tuple(f"{folder}/" for folder in sorted(known))


def place_of(frame: FrameType, site: tuple[str, ...]) -> Place | None:
    """Where in a library the code of a frame stands; None if in none that matters.

    This is asked of the file that the code names, and of that of the module whose names
    it uses: one of them may be forged. What is refused whole counts first.
    """
    names = frame.f_globals
    files = frame.f_code.co_filename, dict.get(names, "__file__")
    found = [_place_of(file, names, site) for file in files if type(file) is str]
    places = [place for place in found if place is not None]
    return next((place for place in places if place.why), places[0] if places else None)


def _place_of(
    file: str, names: Mapping[str, Any], site: tuple[str, ...]
) -> Place | None:
    if file in _MODELS:
        return Place([_MODELS[file]], f"{SECOND} (toolkit.{_MODELS[file]})")
    root = next((folder for folder in site if file.startswith(folder)), None)
    if root is None or file.startswith(_OWN):
        return None
    library, *inside = file.removeprefix(root).removesuffix(".py").split("/")
    if library == "torch":
        plain = len(inside) == 1 or not _PLAIN.isdisjoint(
            (inside[0], "/".join(inside[:2]))
        )
        return Place(inside, "" if plain else f"{SECOND} (torch.{inside[0]})")
    if library in LIBRARIES:
        return Place(inside, "")
    if not (_imports_torch(file) or _computes_with_torch(names)):
        return None
    return Place(inside, f"{SECOND} ({'.'.join((library, *inside))})")


def is_imported(frame: FrameType | None, site: tuple[str, ...]) -> bool:
    """Whether a frame belongs to the import of a module that is installed.

    All code from there to the frame has to be that of installed files.
    """
    while frame is not None and frame.f_back is not None:
        code, outer = frame.f_code, frame.f_back
        file = code.co_filename
        if not (file.startswith((*site, *_STANDARD)) or _FROZEN.fullmatch(file)):
            return False
        if code not in _codes_of(file):
            return False
        begun = code.co_name == "<module>" and outer.f_code.co_filename == _IMPORT
        if begun and outer.f_code in _codes_of(_IMPORT) and file.startswith(site):
            return True
        frame = outer
    return False


def is_given_numbers(frame: FrameType) -> bool:
    """Whether a function that begins has a tensor or an array among its arguments."""
    kinds = sys.modules["torch"].Tensor, sys.modules["numpy"].ndarray
    for value in frame.f_locals.values():
        parts = value if isinstance(value, list | tuple) else (value,)
        if any(isinstance(part, kinds) for part in parts):
            return True
    return False


def computes(called: Any) -> bool:
    """Whether a function that is written in C does something with tensors or arrays.

    The callee's type tells, however the caller disguises the arguments.
    """
    torch = sys.modules["torch"]
    of = called.__self__ if type(called) is BuiltinFunctionType else None
    if isinstance(of, ModuleType):
        return of.__name__ in _FUNCTIONS
    kind = of if isinstance(of, type) else type(of)
    if of is None:
        kind = getattr(called, "__objclass__", object)
    known = torch._C.TensorBase, sys.modules["numpy"].ndarray
    return issubclass(kind, (*known, torch._C._VariableFunctionsClass))


@cache
def _codes_of(file: str) -> frozenset[CodeType]:
    """The code that an installed file holds, or a module that Python brings along."""
    frozen = _FROZEN.fullmatch(file)
    try:
        if frozen:
            top = _imp.get_frozen_object(_FROZEN_AS.get(frozen[1], frozen[1]))
        else:
            top = compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)
    except (ImportError, OSError, SyntaxError, ValueError):
        return frozenset()
    return frozenset(_inside(top))


def _inside(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _inside(constant)


@cache
def _imports_torch(file: str) -> bool:
    """Whether a file imports torch as it is run."""
    try:
        return _IMPORTS_TORCH.search(Path(file).read_bytes()) is not None
    except (OSError, ValueError):
        return False


def _computes_with_torch(names: Mapping[str, Any]) -> bool:
    """Whether a module has torch, one of its modules, or something of these."""
    return any(
        str(
            getattr(
                value, "__name__" if isinstance(value, ModuleType) else "__module__", ""
            )
        ).split(".")[0]
        == "torch"
        for value in list(names.values())
    )
