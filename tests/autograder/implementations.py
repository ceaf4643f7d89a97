"""Try what is installed as an implementation of what exercises forbid.

    python -m tests.autograder.implementations [MODULE ...]

Prints a line of JSON, [callable, what it computes, 1 or 2], for each that computes it:
1 if the guards of all exercises concerned refuse it, 2 if it is called all the same.
Run it where nothing can be broken: what is called may close files, fork, or end the
process.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from autograder.exercise import Exercise, load_topic
from autograder.guard import ForbiddenCall, Guard
from tests.autograder.borrowed import Candidate, TimeLimit, try_in_a_child

Way = Callable[[Callable], Any]  # calls an implementation, however it wants its input


class Passing:
    """A way that passes these arguments on."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs

    def __call__(self, implementation: Callable) -> Any:
        """What an implementation makes of the arguments."""
        return implementation(*self.args, **self.kwargs)

    def fits(self, operator: torch._ops.OpOverload) -> bool:
        """Whether an operator takes as many; to ask itself would take much longer."""
        wanted = operator._schema.arguments
        required = [a for a in wanted if not a.has_default_value()]
        most = sum(not a.kwarg_only for a in wanted)
        return (
            self.kwargs.keys() <= {a.name for a in wanted}
            and sum(not a.kwarg_only for a in required) <= len(self.args) <= most
            and {a.name for a in required if a.kwarg_only} <= self.kwargs.keys()
        )


SECONDS = 20  # for one way to call something, on a machine that is busy
NAMESPACES = ("aten", "quantized", "mkldnn")
CHANGES_SETTINGS = ("set_", "_set_", "use_deterministic", "seed", "manual_seed")
MODULES = (
    *("torch", "torch._VF", "torch._C._nn", "torch.nn", "torch.nn.functional"),
    *("torch.nn.modules.normalization", "torch.masked", "torch._numpy"),
    *("torch._refs", "torch._refs.nn.functional", "torch._prims"),
    *("torch._decomp.decompositions", "torch._decomp.decompositions_for_jvp"),
    *("torch._inductor.decomposition", "torch._inductor.fx_passes.fuse_attention"),
    *("torch.onnx.ops", "torch.onnx.ops._impl", "torch.nested._internal.sdpa"),
    *("scipy.stats", "sklearn.preprocessing", "sklearn.utils.extmath"),
    "transformers.integrations.sdpa_attention",
    *(f"transformers.models.{name}.modeling_{name}" for name in ("bert", "t5", "vit")),
)


class Settings(torch.nn.Module):
    """What functions of models want to know of the layer that calls them."""

    is_causal, num_key_value_groups, dropout, layer_idx = False, 1, 0.0, 0
    config = types.SimpleNamespace(_attn_implementation="eager")


@dataclass
class Computation:
    """A forbidden operation, and the ways in which it could be called.

    Attributes:
        exercise: one of those that ask for it; its name is printed.
        guarded: all of them.
        right: the results that count, each in the order in which it lies in memory.
        ways: how implementations may want to be called.
    """

    exercise: Exercise
    guarded: list[Exercise]
    right: list[np.ndarray]
    ways: list[Way] = field(repr=False)

    def __post_init__(self) -> None:
        passed = [x for way in self.ways if isinstance(way, Passing) for x in way.args]
        self._inputs = [x for x in passed if isinstance(x, torch.Tensor)]
        self._values = [x.clone() for x in self._inputs]

    def points(self, candidate: Candidate) -> int:
        """0 if it computes something else, 1 if it is refused, 2 if it is not."""
        for x, value in zip(self._inputs, self._values, strict=True):
            x.requires_grad_(False).data = value.clone()  # what came before may write
        limit, found = TimeLimit(SECONDS), None
        with limit:
            for way in self.ways:
                limit.begin()
                if self._computes(way, candidate.call):
                    found = way
                if found is not None or limit.exceeded:
                    break
        if limit.exceeded:
            return 0
        if found is None:
            return 0
        return 1 if all(self._refuses(e, found, candidate) for e in self.guarded) else 2

    def _computes(self, way: Way, call: Callable) -> bool:
        operator = isinstance(call, torch._ops.OpOverload)
        if operator and not (isinstance(way, Passing) and way.fits(call)):
            return False
        try:
            return any(self._is_right(leaf) for leaf in tree_leaves(way(call)))
        except (KeyboardInterrupt, TimeoutError):
            raise
        except BaseException:  # nearly everything wants other arguments
            return False

    def _is_right(self, leaf: Any) -> bool:
        if isinstance(leaf, torch.Tensor):
            leaf = leaf.detach().numpy()
        if not isinstance(leaf, np.ndarray) or leaf.dtype.kind != "f":
            return False
        if leaf.size != self.right[0].size:
            return False
        layouts = [leaf, leaf.T]
        if leaf.ndim > 2:
            layouts += [leaf.swapaxes(0, 1), leaf.swapaxes(1, 2)]
        return any(
            np.allclose(layout.ravel(), right, 1e-3, 1e-3)
            for right in self.right
            for layout in layouts
        )

    def _refuses(self, exercise: Exercise, way: Way, candidate: Candidate) -> bool:
        with Guard(exercise.forbidden) as guard, contextlib.suppress(ForbiddenCall):
            self._computes(way, candidate.call)
        return bool(guard.used)


def normalisation() -> Computation:
    """Tokens shifted and scaled to mean 0 and variance 1, as ``layer_norm`` does."""
    rng, eps = np.random.default_rng(1), 1e-5
    x = torch.from_numpy(rng.standard_normal((3, 5, 6)) * 4 + 2).float()
    w, b = torch.from_numpy(rng.standard_normal((2, 6))).float()
    plain = (x - x.mean(-1, keepdim=True)) * (
        x.var(-1, correction=0, keepdim=True) + eps
    ) ** -0.5
    centred, rows = x - x.mean(-1, keepdim=True), x.reshape(15, 6).clone()
    channels = rows[None].clone()
    columns, one, zero = rows.T.contiguous(), torch.ones(15), torch.zeros(15)
    none, table = 4 * [None], columns.numpy().copy()

    ways: list[Way] = [
        Passing(x),
        Passing(x, -1),
        Passing(x, 6),
        Passing(x, [6]),
        Passing(x, w, b),
        Passing(x, w, b, eps),
        Passing(x, [6], w, b, eps),
        Passing(x, 6, w, b, eps),
        Passing(x, [-1], eps),
        Passing(x, [2], eps),
        Passing(x, w=w, b=b, eps=eps),
        Passing(centred, [6], w, eps),
        Passing(centred, w, eps),
        Passing(rows, 1, w, b, eps),
        Passing(rows, w, b, 15, 6, 1, 1, eps),
        Passing(channels, *none, True, 0.1, eps),
        Passing(channels, *none, True, 0.1, eps, False),
        Passing(channels, None, None, True, 0.1, eps),
        Passing(channels, one, zero, zero.clone(), one.clone(), True, 0.1, eps),
        Passing(channels, one, zero, zero.clone(), one.clone(), True, 0.1, eps, False),
        Passing(channels, zero.clone(), one.clone(), one, zero, True, 0.1, eps),
        Passing(channels, one, zero, zero.clone(), one.clone(), 0.1, eps),
        Passing(columns),
        Passing(x.numpy().copy()),
        Passing(x.numpy().copy(), axis=-1),
        Passing(table),
        Passing(table, table),
        lambda f: f(6)(x),
        lambda f: f([6])(x),
        lambda f: f(6, eps)(centred),
        lambda f: f([6], eps=eps)(x),
        lambda f: f(1, 6)(rows),
        lambda f: f(15)(channels),
        lambda f: f().fit_transform(table),
    ]
    exercise = load_topic("transformer").exercises["layer_norm"]
    right = [plain, plain * w + b, plain * w]
    return Computation(exercise, [exercise], [r.numpy().ravel() for r in right], ways)


def attention() -> Computation:
    """Values weighted by the softmax of scaled scores."""
    rng = np.random.default_rng(2)
    q, k, v = (
        torch.from_numpy(rng.standard_normal((2, n, 8))).float() for n in (5, 6, 6)
    )
    heads = q4, k4, v4 = [x[:, None].clone() for x in (q, k, v)]
    behind = [x[:, :, None].clone() for x in (q, k, v)]  # (B, N, h, d)
    single = [x[:1].clone() for x in (q, k, v)]
    right = (q @ k.mT / 8**0.5).softmax(-1) @ v
    caller, everything = Settings(), torch.ones(2, 1, 5, 6, dtype=torch.bool)
    nothing = torch.zeros(2, 1, 5, 6)
    eye = torch.eye(8)

    ways: list[Way] = [
        Passing(q, k, v),
        Passing(*heads),
        Passing(*behind),
        Passing(*heads, None),
        Passing(q, k, v, None),
        Passing(*heads, everything),
        Passing(*heads, nothing),
        Passing(*heads, None, 0.0, False),
        Passing(*heads, 0.0, False),
        Passing(*heads, nothing, False, 0.0, False),
        Passing(*heads, None, qk_matmul_output_mode=3),
        Passing(*heads, scale=8**-0.5),
        Passing(caller, *heads, None),
        Passing(caller, *heads, nothing),
        Passing(caller, *heads, None, 8**-0.5),
        Passing(caller, *heads, None, scaling=8**-0.5),
        Passing(caller, *heads, None, scaling=8**-0.5, dropout=0.0),
        Passing(q4, k4, v4, 8**-0.5),
        Passing(q4, k4, v4, 8**0.5),
        Passing(q4, k4, v4, 8**0.5, 0.0),
        Passing(*single, 8**-0.5),
        Passing(
            *(x.transpose(0, 1).contiguous() for x in (q, k, v)),
            *(8, 1, torch.cat([eye, eye, eye]), None, None, None, False, 0.0, eye),
            None,
            training=False,
        ),
    ]
    masking = load_topic("masking").exercises["scaled_dot_product_attention"]
    blockwise = load_topic("efficient_attention").exercises["blockwise_attention"]
    return Computation(masking, [masking, blockwise], [right.numpy().ravel()], ways)


def candidates(name: str) -> dict[str, Candidate]:
    """What can be called of a module, or the operators of a namespace of torch."""
    if name in NAMESPACES:
        return {n: Candidate(f) for n, f in operators(name)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name.startswith("torch._C."):
            module: Any = getattr(torch._C, name.rpartition(".")[2])
        else:
            module = importlib.import_module(name)
        found = {n: getattr(module, n, None) for n in dir(module)}
    return {
        n: Candidate(f)
        for n, f in found.items()
        if callable(f) and not type(f).__module__.startswith("scipy.stats")
        if not n.startswith(CHANGES_SETTINGS)  # and no distribution: each takes long
    }


def operators(namespace: str) -> Iterator[tuple[str, Callable]]:
    """Each operator that torch has registered under a namespace, by its full name."""
    for name in sorted(torch._C._dispatch_get_all_op_names()):
        space, _, rest = name.partition("::")
        if space == namespace:
            packet, _, overload = rest.partition(".")
            with contextlib.suppress(AttributeError, RuntimeError):
                found = getattr(getattr(torch.ops, space), packet)
                yield rest, getattr(found, overload or "default")


def main(names: list[str]) -> None:
    """Try these modules, or all."""
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    asked, known = [normalisation(), attention()], set()
    # All are imported first: what torch imports late, each child would import anew.
    everything = {name: candidates(name) for name in names or (*NAMESPACES, *MODULES)}
    for name, found in everything.items():
        new = {n: c for n, c in found.items() if id(c.call) not in known}
        known |= {id(c.call) for c in new.values()}
        todo = [(n, computation) for n in new for computation in asked]
        while todo:
            done = try_in_a_child(todo, new, silence=2 * SECONDS)
            for each, what, points in done:
                if points:
                    print(json.dumps([f"{name}.{each}", what, points]), flush=True)
            todo = todo[len(done) + 1 :]


if __name__ == "__main__":
    main(sys.argv[1:])
