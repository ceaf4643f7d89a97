"""Library calls that an exercise forbids are refused however they are hidden."""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
import torch
import torch._refs
import torch.nn.functional as F
from torch import nn

from autograder.answers import answer, decode
from autograder.compiled import COMPILED
from autograder.exercise import Exercise, load_topic
from autograder.expected import expect, public_seeds
from autograder.grading.examine import examine
from autograder.grading.seeds import draw_seeds, expected_answers
from autograder.guard import REMOVED, ForbiddenCall, Guard, guarded_answer
from autograder.judge import judge
from autograder.release.source import source_notebook
from autograder.release.student import student_notebook
from autograder.sandbox.connection import fork_servers
from autograder.sandbox.limits import Limits
from classroom.forgeries import CALLS, CALLS_EXERCISE, CALLS_TOPIC
from classroom.submissions import right_answers, submission
from tests.autograder.conftest import code_cell
from tests.autograder.test_borrowed import earners

LAYER_REFUSED = {
    "in a list": "fs = [F.layer_norm]\nuse = lambda *a: fs[0](*a)",
    "an attribute": "class box: f = F.layer_norm\nuse = lambda *a: box.f(*a)",
    "text put together": "use = lambda *a: getattr(F, 'layer' + '_norm')(*a)",
    "text turned round": "use = lambda *a: vars(F)['mron_reyal'[::-1]](*a)",
    "text that is run": "exec('use = lambda *a: F.lay' + 'er_norm(*a)', globals())",
    "text that is evaluated": "use = lambda *a: eval('F.lay' + 'er_norm')(*a)",
    "imported by text": (
        "import importlib\n"
        "m = importlib.import_module('torch.nn.functional')\n"
        "use = lambda *a: getattr(m, 'layer' + '_norm')(*a)"
    ),
    "from sys.modules": (
        "import sys\nm = sys.modules['torch.nn.' + 'functional']\n"
        "use = lambda *a: m.layer_norm(*a)"
    ),
    "from builtins": (
        "import builtins\nbuiltins.shared = F.layer_norm\nuse = lambda *a: shared(*a)"
    ),
    "by a match": ("match [F.layer_norm]:\n    case [f]: pass\nuse = lambda *a: f(*a)"),
    "a class of its own": (
        "class Own(nn.LayerNorm): pass\n"
        "def use(x, shape, w, b, eps):\n"
        "    own = Own(shape, eps)\n"
        "    del own.weight, own.bias\n"
        "    own.weight, own.bias = w, b\n"
        "    return own(x)"
    ),
    "torch.ops": ("use = lambda *a: torch.ops.aten.native_layer_norm(*a)[0]"),
    "another name in torch": ("use = lambda *a: torch.native_layer_norm(*a)[0]"),
    "below the Python names": (
        "use = lambda *a: torch._C._VariableFunctions.layer_norm(*a)"
    ),
    "torch's own reference": (
        "import torch._refs\nuse = lambda *a: torch._refs.native_layer_norm(*a)[0]"
    ),
    "vmap": (
        "use = lambda x, *a: torch.vmap(lambda y: torch.layer_norm(y, *a))(x[None])[0]"
    ),
    "vmap of another norm": (
        "def use(x, shape, w, b, eps):\n"
        "    centred = x - x.mean(-1, keepdim=True)\n"
        "    f = lambda y: torch.rms_norm(y, shape, w, eps)\n"
        "    return torch.vmap(f)(centred[None])[0] + b"
    ),
    "a nested tensor": (
        "def use(x, shape, w, b, eps):\n"
        "    flat = x.reshape(1, -1, *shape)\n"
        "    whole = torch.ones(flat.shape[:2], dtype=torch.bool)\n"
        "    nested = torch._nested_tensor_from_mask(flat, whole)\n"
        "    done = torch.native_layer_norm(nested, list(shape), w, b, eps)[0]\n"
        "    return done.to_padded_tensor(0.0)[0].reshape(x.shape)"
    ),
    "an autograd function": (
        "class Hidden(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x, w, b, eps):\n"
        "        ctx.save_for_backward(x, w, b); ctx.eps = eps\n"
        "        return F.layer_norm(x, w.shape, w, b, eps)\n"
        "    @staticmethod\n"
        "    def backward(ctx, grad):\n"
        "        saved = [v.detach().requires_grad_() for v in ctx.saved_tensors]\n"
        "        with torch.enable_grad():\n"
        "            y = F.layer_norm(saved[0], saved[1].shape, *saved[1:], ctx.eps)\n"
        "        return (*torch.autograd.grad(y, saved, grad), None)\n"
        "use = lambda x, shape, w, b, eps: Hidden.apply(x, w, b, eps)"
    ),
    "another thread": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "pool = ThreadPoolExecutor(1); pool.submit(int).result()\n"
        "use = lambda *a: pool.submit(torch.layer_norm, *a).result()"
    ),
    "groups of one": (
        "def use(x, shape, w, b, eps):\n"
        "    f = getattr(F, 'group' + '_norm')\n"
        "    return f(x.reshape(-1, shape[0]), 1, w, b, eps).reshape(x.shape)"
    ),
    "the refusal is caught": (
        "def use(x, shape, w, b, eps):\n"
        "    for _ in range(3):\n"
        "        try: return getattr(F, 'layer' + '_norm')(x, shape, w, b, eps)\n"
        "        except BaseException: pass\n"
        "    m, v = x.mean(-1, keepdim=True), x.var(-1, correction=0, keepdim=True)\n"
        "    return (x - m) / (v + eps).sqrt() * w + b"
    ),
}
STATIC = """
text = '''graph(%x : Tensor, %w : Tensor, %b : Tensor):
  %n : int = prim::Constant[value={0}]()
  %shape : int[] = prim::ListConstruct(%n)
  %eps : float = prim::Constant[value={1:.9f}]()
  %no : bool = prim::Constant[value=0]()
  %y : Tensor = aten::layer_norm(%x, %shape, %w, %b, %eps, %no)
  return (%y)'''
static = lambda n, eps: torch._C._jit_to_static_module(
    torch._C.parse_ir(text.format(n, eps))
)
"""
BELOW_OPERATORS = {
    "a script": (
        "text = 'def f(x, w, b, eps: float):\\n' \\\n"
        "    '  return torch.layer_norm(x, [x.shape[-1]], w, b, eps)\\n'\n"
        "unit = torch.jit.CompilationUnit(text)\n"
        "use = lambda x, shape, w, b, eps: unit.f(x, w, b, eps)"
    ),
    "a static module": (
        STATIC + "use = lambda x, shape, w, b, eps: static(shape[0], eps)(x, w, b)"
    ),
    "oneDNN's own": (
        "def use(x, shape, w, b, eps):\n"
        "    x, w, b = (each.detach().float().to_mkldnn() for each in (x, w, b))\n"
        "    name = 'prim::MKLDNNLayer' + 'Norm'\n"
        "    own = torch._C._jit_get_operation(name)[0]\n"
        "    return own(x, list(shape), w, b, eps, False).to_dense().double()"
    ),
    "a graph": (
        STATIC + "def use(x, shape, w, b, eps):\n"
        "    graph = torch._C.parse_ir(text.format(shape[0], eps))\n"
        "    return torch._C._jit_interpret_graph(graph, (x, w, b))"
    ),
}
BY_HAND = """
def use(x, shape, w, b, eps):
    m, v = x.mean(-1, keepdim=True), x.var(-1, correction=0, keepdim=True)
    return (x - m) / (v + eps).sqrt() * w + b
"""
OF_THE_COURSE = {  # what the wheel holds
    "the norm of a case": (
        "from autograder.exercises.looking_inside import learned_norm\n"
        "class Zeros: standard_normal = lambda self, shape: np.zeros(shape)\n"
        "def use(x, shape, w, b, eps):\n"
        "    return learned_norm(Zeros(), shape[0])(x * (1e-5 / eps) ** 0.5) * w + b"
    ),
    "the norm of a model of the course": (
        "from toolkit.numpy_translator import EPS, Translator\n"
        "def use(x, shape, w, b, eps):\n"
        "    kept = {'n.weight': w.detach().numpy(), 'n.bias': b.detach().numpy()}\n"
        "    model = types.SimpleNamespace(weights=kept)\n"
        "    scaled = x.detach().numpy() * (EPS / eps) ** 0.5\n"
        "    return torch.from_numpy(Translator._norm(model, 'n', scaled))"
    ),
}
TAIL = """
def layer_norm(x, weight, bias, eps=1e-5):
    return use(x, x.shape[-1:], weight, bias, eps)
"""


# Calls what is refused under a long name, and then does by hand what it stands for.
LONG_NAME = """
import torch
def use(x, shape, w, b, eps):
    file = torch.__file__.rsplit("/", 2)[0] + "/" + 400 * "a" + ".py"
    names = {"torch": torch}
    exec(compile("def second(x): return x", file, "exec"), names)
    try: names["second"](x)
    except RuntimeError: pass
    m, v = x.mean(-1, keepdim=True), x.var(-1, correction=0, keepdim=True)
    return (x - m) / (v + eps).sqrt() * w + b
"""


@cache
def asked(topic: str, name: str) -> tuple:
    loaded = load_topic(topic)
    exercise = loaded.exercises[name]
    return exercise, expect(loaded, exercise, public_seeds(exercise))


def defined(source: str, name: str):
    module = types.ModuleType("notebook")
    module.__dict__.update(torch=torch, F=F, nn=nn, np=np, types=types)
    exec(source, module.__dict__)
    return module.__dict__[name]


def reports(topic: str, name: str, implementation) -> tuple:
    """What an answer earns without the guard, and with it."""
    exercise, expected = asked(topic, name)
    pairs = list(zip(exercise.cases, expected.seeds, strict=True))
    plain = [decode(answer(c, implementation, s)) for c, s in pairs]
    guarded = [decode(guarded_answer(exercise, c, implementation, s)) for c, s in pairs]
    return judge(exercise, plain, expected), judge(exercise, guarded, expected)


@pytest.mark.parametrize("way", LAYER_REFUSED)
def test_hidden_call_of_layer_norm_is_refused(way):
    implementation = defined(LAYER_REFUSED[way] + TAIL, "layer_norm")
    free, guarded = reports("transformer", "layer_norm", implementation)
    assert free.score == free.max_score, [case.message for case in free.cases]
    assert guarded.score == 0
    assert "norm, which this exercise asks you to build" in guarded.message.lower()


@pytest.mark.parametrize("way", OF_THE_COURSE)
def test_what_the_course_ships_does_not_answer_an_exercise_that_forbids_it(way):
    implementation = defined(OF_THE_COURSE[way] + TAIL, "layer_norm")
    free, guarded = reports("transformer", "layer_norm", implementation)
    assert free.score > free.max_score / 2, [case.message for case in free.cases]
    assert guarded.score == 0
    assert "which this exercise asks you to build" in guarded.message


@pytest.mark.parametrize("way", BELOW_OPERATORS)
def test_a_kernel_that_no_operator_stands_for_is_refused(way):
    implementation = defined(BELOW_OPERATORS[way] + TAIL, "layer_norm")
    free, guarded = reports("transformer", "layer_norm", implementation)
    assert free.score > free.max_score / 2, [case.message for case in free.cases]
    assert guarded.score == 0
    name = "layer_norm" if way.startswith("oneDNN") else COMPILED
    assert f"uses {name}, which this exercise asks you to build" in guarded.message


# A static module inside a graph, which runs no operator that can be overridden; called
# by a method that was kept from before the guard closed it.
KEPT_METHOD = (
    STATIC
    + """
def fused(n, eps):
    inner, outer = torch._C.parse_ir(text.format(n, eps)), torch._C.Graph()
    node = outer.create("prim::StaticSubgraph", [outer.addInput() for _ in "xwb"], 1)
    node.g_("Subgraph", inner)
    outer.insertNode(node)
    outer.registerOutput(node.output())
    return torch._C._create_function_from_graph("fused", outer)
call = torch._C.ScriptFunction.__call__
use = lambda x, shape, w, b, eps: call(fused(shape[0], eps), x, w, b)
"""
)


def test_who_opens_compiled_code_again_has_taken_away_the_guard():
    kind = torch._C.StaticModule
    before = vars(kind)["__call__"]
    with Guard(["layer_norm"]) as guard:
        kind.__call__ = before
    assert guard.used == [REMOVED]
    assert vars(kind)["__call__"] is before


def test_a_refusal_is_one_however_long_the_name_of_what_was_called():
    """In one case alone: it costs the exercise."""
    exercise, expected = asked("transformer", "layer_norm")
    by_hand, calls = (defined(s + TAIL, "layer_norm") for s in (BY_HAND, LONG_NAME))
    given = [
        decode(guarded_answer(exercise, case, calls if n == 0 else by_hand, seed))
        for n, (case, seed) in enumerate(
            zip(exercise.cases, expected.seeds, strict=True)
        )
    ]
    report = judge(exercise, given, expected)
    assert report.score == 0
    assert REFUSED in report.message


SDPA = {
    "C": "f = torch._C._nn.scaled_dot_product_attention",
    "torch.ops": "f = torch.ops.aten.scaled_dot_product_attention",
    "in parts": (
        "f = lambda *a: torch.ops.aten._scaled_dot_product_attention_math(*a)[0]"
    ),
    "fused": (
        "def f(q, k, v):\n"
        "    own = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu\n"
        "    return own(q, k, v)[0]"
    ),
    "text": "f = lambda *a: getattr(F, 'scaled_dot_' + 'product_attention')(*a)",
    "the gradient of its values, with queries and keys exchanged": (
        "def f(q, k, v):\n"
        "    q, k, v = q.detach(), k.detach(), v.detach()\n"
        "    one, n = torch.ones_like(v[..., :1]), q.shape[-2]\n"
        "    pad = lambda x: F.pad(x, (0, 1))\n"
        "    sums, zeros = torch.cat([v, one], -1), pad(torch.zeros_like(v))\n"
        "    own = torch.ops.aten._scaled_dot_product_flash_"
        "attention_for_cpu_backward\n"
        "    y = own(sums, pad(k), pad(q), zeros[..., :n, :], zeros, zeros[..., 0],\n"
        "            0.0, False, scale=q.shape[-1] ** -0.5)[2]\n"
        "    return y[..., :-1] / y[..., -1:]"
    ),
    "a trace": (
        "x = torch.randn(1, 2, 3, 8)\n"
        "own = lambda q, k, v: F.scaled_dot_product_attention(q, k, v)\n"
        "f = torch.jit.trace(own, (x, x, x), check_trace=False)"
    ),
}


@pytest.mark.parametrize("way", SDPA)
@pytest.mark.parametrize("grad", [False, True])
def test_hidden_call_of_scaled_dot_product_attention_is_refused(way, grad):
    f = defined(SDPA[way], "f")
    q = torch.randn(1, 2, 3, 8, requires_grad=grad)
    expected = F.scaled_dot_product_attention(q, q, q)
    torch.testing.assert_close(f(q, q, q), expected)
    with (
        Guard(["scaled_dot_product_attention"]) as guard,
        pytest.raises(RuntimeError, match="is what this exercise asks you to build"),
    ):
        f(q, q, q)
    name = COMPILED if way == "a trace" else "scaled_dot_product_attention"
    assert guard.used == [name]
    torch.testing.assert_close(f(q, q, q), expected)  # as it was before


REFUSED = "which this exercise asks you to build yourself"
LAYER = """
import torch, types
from transformers.models.t5.modeling_t5 import T5LayerNorm as Layer
"""
FORGED = """
import types, torch._refs
import torch.nn.functional as F
own = torch._refs._normalize
use = types.FunctionType(own.__code__.replace(co_filename={}), own.__globals__)
def layer_norm(x, weight, bias, eps=1e-5):
    return use(x, [x.dim() - 1], eps)[0] * weight + bias
"""
SECOND = {
    "a reference of torch, shifted and scaled by hand": """
import torch._refs
def layer_norm(x, weight, bias, eps=1e-5):
    return torch._refs._normalize(x, [-1], eps)[0] * weight + bias
""",
    "a decomposition": """
import torch._decomp.decompositions as rewritten
def layer_norm(x, weight, bias, eps=1e-5):
    rows = x.reshape(1, -1, x.shape[-1])
    given = rows, None, None, None, None, True, 0.1, eps, False
    out = rewritten.native_batch_norm_helper(*given)[0]
    return out.reshape(x.shape) * weight + bias
""",
    "an operator that writes to memory of one's own": """
import torch
def layer_norm(x, weight, bias, eps=1e-5):
    rows = x.detach().reshape(1, -1, x.shape[-1])
    n = rows.shape[1]
    out = x.new_empty(rows.shape), x.new_empty(n), x.new_empty(n)
    torch.ops.aten.native_batch_norm.out(
        rows, None, None, None, None, True, 0.1, eps,
        out=out[0], save_mean=out[1], save_invstd=out[2])
    return out[0].reshape(x.shape) * weight + bias
""",
    "a norm without a mean": """
import torch
def layer_norm(x, weight, bias, eps=1e-5):
    norm = getattr(torch, "rms" + "_norm")
    return norm(x - x.mean(-1, keepdim=True), x.shape[-1:], weight, eps) + bias
""",
    "a norm across channels, over all of them": """
import torch
import torch.nn.functional as F
def layer_norm(x, weight, bias, eps=1e-5):
    n = x.shape[-1]
    rows = (x - x.mean(-1, keepdim=True)).reshape(-1, n, 1)
    norm = getattr(F, "local_response" + "_norm")
    done = norm(rows, 2 * n - 1, alpha=(2 * n - 1) / n, beta=0.5, k=eps)
    return done.reshape(x.shape) * weight + bias
""",
    "statistics of scipy": """
import torch, scipy.stats
def layer_norm(x, weight, bias, eps=1e-5):
    z = getattr(scipy.stats, "z" + "score")(x.detach().numpy(), axis=-1)
    return torch.from_numpy(z) * weight + bias
""",
    "a scaler of sklearn": """
import torch, sklearn
def layer_norm(x, weight, bias, eps=1e-5):
    module = __import__("sklearn.pre" + "processing", fromlist="_")
    rows = x.detach().reshape(-1, x.shape[-1]).numpy()
    return torch.from_numpy(module.scale(rows.T).T).reshape(x.shape) * weight + bias
""",
    "what seems to be imported": """
import torch, torch._refs
def layer_norm(x, weight, bias, eps=1e-5):
    done, site = [], torch.__file__.rsplit("/", 2)[0]
    names = {"f": torch._refs._normalize, "x": x, "n": x.dim() - 1, "done": done}
    text = f"done.append(f(x, [n], {eps})[0])"
    names["inner"] = compile(text, site + "/six.py", "exec")
    exec(compile("exec(inner)", "<frozen importlib._bootstrap>", "exec"), names)
    return done[0] * weight + bias
""",
    "a layer of transformers": """
import torch
from transformers.models.t5.modeling_t5 import T5LayerNorm as Layer
def layer_norm(x, weight, bias, eps=1e-5):
    own = Layer(x.shape[-1], eps)
    own.weight = torch.nn.Parameter(weight)
    return own(x - x.mean(-1, keepdim=True)) + bias
""",
    "a layer of transformers, after harmless code that seems to stand beside it": LAYER
    + """
def layer_norm(x, weight, bias, eps=1e-5):
    exec(compile("(lambda: 0)()", Layer.forward.__code__.co_filename, "exec"), {})
    own = types.SimpleNamespace(weight=weight, variance_epsilon=eps)
    return Layer.forward(own, x - x.mean(-1, keepdim=True)) + bias
""",
    "a layer of transformers with other names": LAYER
    + """
class Names:
    def __getattr__(self, name):
        return getattr(torch, name)
def layer_norm(x, weight, bias, eps=1e-5):
    forward = types.FunctionType(Layer.forward.__code__, {"torch": Names()})
    own = types.SimpleNamespace(weight=weight, variance_epsilon=eps)
    return forward(own, x - x.mean(-1, keepdim=True)) + bias
""",
    "a layer of transformers that is given no tensor": LAYER
    + """
class Box:
    def __init__(self, held): self.held = held
    def __getattr__(self, name): return getattr(self.held, name)
    def __mul__(self, other): return self.held * other
def layer_norm(x, weight, bias, eps=1e-5):
    own = types.SimpleNamespace(weight=weight, variance_epsilon=eps)
    return Layer.forward(own, Box(x - x.mean(-1, keepdim=True))) + bias
""",
    "code of torch under the name of another file": FORGED.format("'mine'"),
    "code of torch under the name of a plain file": FORGED.format("F.__file__"),
    "while something is really imported": """
import builtins, sys, torch._refs
def layer_norm(x, weight, bias, eps=1e-5):
    done, real = [], builtins.__import__
    def mine(name, *rest, **more):
        if not done and sys._getframe(1).f_code.co_filename.endswith("six.py"):
            done.append(0)
            done[0] = torch._refs._normalize(x, [x.dim() - 1], eps)[0]
        return real(name, *rest, **more)
    sys.modules.pop("six", None)
    builtins.__import__ = mine
    try:
        real("six")
    finally:
        builtins.__import__ = real
    return done[0] * weight + bias
""",
}


@pytest.mark.parametrize("way", SECOND)
def test_another_implementation_is_refused(way):
    implementation = defined(SECOND[way], "layer_norm")
    free, guarded = reports("transformer", "layer_norm", implementation)
    assert free.score >= free.max_score / 2, [case.message for case in free.cases]
    assert guarded.score == 0
    assert REFUSED in guarded.message


ATTENTION = """
import torch
def scaled_dot_product_attention(query, key, value, mask=None):
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError("sizes do not fit")
    lead = [x.shape[:-2] for x in (query, key, value, mask) if x is not None]
    lead = torch.broadcast_shapes(*lead)
    f = lambda x: x.expand(*lead, *x.shape[-2:]).reshape(-1, 1, *x.shape[-2:])
    added = torch.zeros(1, dtype=query.dtype)
    if mask is not None:
        wide = mask.expand(*mask.shape[:-2], query.shape[-2], key.shape[-2])
        added = added.masked_fill(~f(wide), -1e30)
    y, w = attend(f(query), f(key), f(value), added)
    if mask is not None:
        some = (added > -1).any(-1, keepdim=True)
        y, w = y * some, w * some
    return y.reshape(*lead, *y.shape[-2:]), w.reshape(*lead, *w.shape[-2:])
"""
ELSEWHERE = {
    "an operator of ONNX": """
from torch.onnx.ops._impl import attention_23
def attend(q, k, v, added):
    y, _, _, w = attention_23(q, k, v, added, qk_matmul_output_mode=3)
    return y, w
""",
    "a model of transformers": """
from transformers.models.bart.modeling_bart import eager_attention_forward
class Layer: training, num_key_value_groups = False, 1
def attend(q, k, v, added):
    y, w = eager_attention_forward(Layer, q, k, v, added)
    return y.transpose(1, 2), w
""",
}


@pytest.mark.parametrize("way", ELSEWHERE)
def test_attention_of_another_package_is_refused(way):
    name = "scaled_dot_product_attention"
    implementation = defined(ELSEWHERE[way] + ATTENTION, name)
    free, guarded = reports("masking", name, implementation)
    assert free.score >= free.max_score - 2, [case.message for case in free.cases]
    assert guarded.score == 0
    assert REFUSED in guarded.message


def test_what_only_carries_out_what_an_answer_says_is_left_alone():
    """What an answer imports late, prints, differentiates or maps over a batch."""
    from tqdm import tqdm

    exercise = load_topic("transformer").exercises["layer_norm"]
    with Guard(exercise.forbidden) as guard:
        import torch.onnx.errors  # noqa: F401

        x = torch.randn(3, 4, requires_grad=True)
        for _ in tqdm(range(2), disable=True):
            repr(x), str(torch.einsum("ij,ij->i", x, x))
        torch.func.vmap(torch.func.grad(lambda row: row.square().sum()))(x)
        torch.func.jvp(torch.sin, (x,), (x,))
        copy.deepcopy(nn.Linear(4, 4)).load_state_dict(nn.Linear(4, 4).state_dict())
        torch.testing.assert_close(x.softmax(-1).sum(-1), torch.ones(3))
    assert guard.used == []


def test_whatever_computes_what_is_forbidden_is_refused(needs_sandbox, root):
    """Operators and modules of torch, scipy, sklearn and transformers, all of them."""
    found = earners(root, what="implementations")
    assert [name for name, _, refused in found if refused != 1] == []
    names = {name for name, *_ in found}
    assert names >= {
        *("aten.native_layer_norm", "torch._refs._normalize", "scipy.stats.zscore"),
        *("torch.onnx.ops._impl.attention_23", "sklearn.preprocessing.scale"),
        *("torch.nn.functional.multi_head_attention_forward", "torch.nn.LayerNorm"),
        "transformers.models.bert.modeling_bert.eager_attention_forward",
        "torch._inductor.fx_passes.fuse_attention._sfdp_pattern_1",
    }


FLEX = {
    "by its name": "from torch.nn.attention.flex_attention import flex_attention as f",
    "an operator": (
        "from torch.nn.attention import flex_attention as library\n"
        "def f(q, k, v):\n"
        "    block = library._create_empty_block_mask(q, k).as_tuple()\n"
        "    same, scale = lambda s, b, h, m, n: s, q.shape[-1] ** -0.5\n"
        "    return hop(q, k, v, same, block, scale, {})[0]\n"
        "hop = torch.ops.higher_order.flex_attention"
    ),
}
FLEX["written in Python"] = FLEX["an operator"].replace(
    "torch.ops.higher_order.flex_attention",
    "__import__('torch._higher_order_ops.flex_attention', fromlist='_').math_attention",
)


@pytest.mark.parametrize("way", FLEX)
@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("efficient_attention", "blockwise_attention"),
        ("masking", "scaled_dot_product_attention"),
    ],
)
def test_hidden_call_of_flexible_attention_is_refused(way, topic, name):
    f, q = defined(FLEX[way], "f"), torch.randn(1, 2, 16, 8)
    if way != "by its name":  # which compiles itself, and takes its time
        expected = F.scaled_dot_product_attention(q, q, q)
        torch.testing.assert_close(f(q, q, q), expected)
    with (
        Guard(load_topic(topic).exercises[name].forbidden) as guard,
        pytest.raises(RuntimeError, match="asks you to build"),
    ):
        f(q, q, q)
    assert guard.used == ["flex_attention"]


LAYERS = {
    "a subclass": "class A(nn.MultiheadAttention): pass\nf = A(8, 2, batch_first=True)",
    "made before": "f = nn.MultiheadAttention(8, 2, batch_first=True)",
    "its forward": "f = nn.MultiheadAttention(8, 2, batch_first=True).forward",
    "evaluated": "f = nn.MultiheadAttention(8, 2, batch_first=True).eval()",
    "compiled": (
        "import torch._dynamo\n"
        "f = torch.compile(nn.MultiheadAttention(8, 2, batch_first=True), "
        "backend='eager')"
    ),
    "scripted": "f = torch.jit.script(nn.MultiheadAttention(8, 2, batch_first=True))",
    "a thread": (
        "import threading\n"
        "m = nn.MultiheadAttention(8, 2, batch_first=True)\n"
        "def f(*a):\n"
        "    t = threading.Thread(target=m, args=a); t.start(); t.join()"
    ),
}


@pytest.mark.parametrize("way", LAYERS)
def test_hidden_layer_is_refused(way):
    f = defined(LAYERS[way], "f")
    x = torch.randn(1, 3, 8)
    f(x, x, x)
    exercise = load_topic("multi_head").exercises["MultiHeadAttention"]
    caught = []
    excepthook, threading.excepthook = threading.excepthook, caught.append
    try:
        with Guard(exercise.forbidden) as guard, torch.no_grad():
            try:
                f(x, x, x)
            except RuntimeError as error:
                caught.append(error)
    finally:
        threading.excepthook = excepthook
    assert caught
    assert len(guard.used) == 1


@pytest.mark.parametrize(
    "layer",
    [
        nn.TransformerEncoderLayer(8, 2, 5, 0.0, batch_first=True).eval(),
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 5, 0.0), 1),
    ],
)
@pytest.mark.parametrize("name", ["EncoderLayer", "Encoder"])
def test_hidden_stack_is_refused(layer, name):
    forbidden = load_topic("transformer").exercises[name].forbidden
    with Guard(forbidden) as guard, torch.no_grad(), pytest.raises(RuntimeError):
        layer(torch.randn(1, 3, 8))
    assert guard.used


def unwatched(*_):
    sys.setprofile(None)


def operators_given_back(*_):
    for thing in gc.get_objects():
        if type(thing) is torch.library.Library and any(
            "native_layer_norm" in name for name in thing._op_impls
        ):
            thing._destroy()


@pytest.mark.parametrize(
    ("take_away", "told"),
    [
        (unwatched, "uses a profiler (sys.setprofile), which can run code"),
        (operators_given_back, "takes away the guard"),
    ],
)
def test_who_takes_the_guard_away_earns_nothing(take_away, told):
    right = defined(BY_HAND + TAIL, "layer_norm")

    def layer_norm(*inputs):
        take_away()
        return right(*inputs)

    free, guarded = reports("transformer", "layer_norm", layer_norm)
    assert free.score == free.max_score
    assert guarded.score == 0
    assert told in guarded.message


# A library layer, run where a profile function does not look.
UNSEEN = """
import _thread, operator, sys, threading
from functools import partial
Base = getattr(nn, "Trans" + "formerEncoderLayer")
class Mine(Base):
    def forward(self, x, mask=None, padding_mask=None):
        flip = lambda t: None if t is None else ~t
        return unseen(lambda: Base.forward(self, x, flip(mask), flip(padding_mask)))
def EncoderLayer(d_model, num_heads, d_ff, norm_first=False, activation=F.relu,
                 eps=1e-5):
    return unseen(lambda: Mine(d_model, num_heads, d_ff, 0.0, activation, eps,
                               batch_first=True, norm_first=norm_first))
def unseen(call):
    done, lock = [], _thread.allocate_lock()
    lock.acquire()
    def run(*_):
        if not done:
            try: done.append((call(), None))
            except BaseException as error: done.append((None, error))
            if lock.locked(): lock.release()
    begin(run, lock)
    value, error = done[0]
    if error is not None: raise error
    return value
"""
WAYS_UNSEEN = {
    "a thread": (
        "def begin(run, lock):\n    _thread.start_new_thread(run, ()); lock.acquire()",
        "_thread.start_new_thread",
    ),
    "a thread by its old name": (
        "def begin(run, lock): _thread.start_new(run, ()); lock.acquire()",
        "_thread.start_new_thread",
    ),
    "a thread of a module that was made anew": (
        "import importlib.util as util\n"
        "copy = util.module_from_spec(_thread.__spec__)\n"
        "_thread.__spec__.loader.exec_module(copy)\n"
        "def begin(run, lock): copy.start_new_thread(run, ()); lock.acquire()",
        "_thread.start_new_thread",
    ),
    "a thread that C begins": (
        "def begin(run, lock):\n"
        "    begins = partial(_thread.start_new_thread, run, ())\n"
        "    list(map(operator.call, [begins, lock.acquire]))",
        "",
    ),
    "a thread of an earlier cell": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "pool = ThreadPoolExecutor(1); pool.submit(int).result()\n"
        "def begin(run, lock): pool.submit(run).result()",
        "TransformerEncoderLayer",
    ),
    "a thread that begins in its own way": (
        "class Own(threading.Thread):\n"
        "    def _set_ident(self): super()._set_ident(); self._target()\n"
        "def begin(run, lock):\n"
        "    Own(target=run).start(); lock.acquire()",
        "TransformerEncoderLayer",
    ),
    "a trace function": (
        "def begin(run, lock):\n"
        "    sys.settrace(run); (lambda: None)(); sys.settrace(None)",
        "sys.settrace",
    ),
}


@pytest.mark.parametrize("way", WAYS_UNSEEN)
def test_a_layer_that_runs_unseen_is_refused(way):
    source, told = WAYS_UNSEEN[way]
    answer_of = defined(UNSEEN + source, "EncoderLayer")
    free, guarded = reports("transformer", "EncoderLayer", answer_of)
    assert free.score == free.max_score, [case.message for case in free.cases]
    assert guarded.score == 0
    assert told in guarded.message


@pytest.mark.parametrize(
    ("left", "told"),
    [
        ("import pdb; pdb.Pdb().set_trace()", "uses a debugger"),
        ("import cProfile; cProfile.Profile().enable()", "uses a profiler"),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_tool_that_was_left_in_an_answer_is_called_what_people_call_it(left, told):
    right = defined(BY_HAND + TAIL, "layer_norm")

    def layer_norm(*inputs):
        exec(left)
        return right(*inputs)

    assert reports("transformer", "layer_norm", layer_norm)[1].message.startswith(told)


def test_a_function_that_torch_does_not_compile_is_no_compiled_code():
    """As the blocks in ``torch.utils.checkpoint``, which is wrapped in one."""

    def checkpointed(query, key, value, mask=None, *args, **kwargs):
        def attend(query, key, value):
            return torch.utils.checkpoint.checkpoint(
                lambda q, k, v: (q @ k.mT).softmax(-1) @ v,
                *(query, key, value),
                use_reentrant=False,
            )

        return attend(query, key, value)

    exercise = Exercise("attend", forbidden=("scaled_dot_product_attention",))
    exercise.case(title="any", points=1)(
        lambda attend, rng: attend(*torch.ones(3, 1, 4, 2)).detach()
    )
    given = decode(guarded_answer(exercise, exercise.cases[0], checkpointed, 1))
    assert given.is_value, given.detail


IN_A_THREAD = """
import queue, threading
asked, given = queue.Queue(), queue.Queue()
_forward = getattr(F, "multi_head_attention" + "_forward")
def work():
    while True:
        arguments, options = asked.get()
        try: given.put(_forward(*arguments, **options))
        except BaseException as error: given.put(error)
threading.Thread(target=work, daemon=True).start()
def attend(*arguments, **options):
    asked.put((arguments, options))
    found = given.get()
    if isinstance(found, BaseException): raise found
    return found
"""


def test_a_function_of_torch_refuses_in_a_thread_of_an_earlier_cell():
    names = {"F": torch.nn.functional}
    exec(IN_A_THREAD, names)
    x, w = torch.randn(3, 1, 4), torch.eye(4)

    def run(attend, rng):
        options = {"training": False, "need_weights": False}
        weights = (w.repeat(3, 1), None, None, None, False, 0.0, w, None)
        return attend(x, x, x, 4, 2, *weights, **options)[0].detach()

    exercise = Exercise("attend", forbidden=("multi_head_attention_forward",))
    exercise.case(title="any", points=1)(run)
    free = decode(answer(exercise.cases[0], names["attend"], 1))
    assert free.is_value
    given = decode(guarded_answer(exercise, exercise.cases[0], names["attend"], 1))
    assert given.raised == "RuntimeError"
    assert given.detail.startswith("uses multi_head_attention_forward, which this")
    again = decode(answer(exercise.cases[0], names["attend"], 1))
    assert (again.value == free.value).all()


# As above, without layers, which would tell of themselves.
NO_LAYER = """
import torch._refs, _thread, threading
def use(x, shape, w, b, eps):
    done, lock = [], _thread.allocate_lock()
    lock.acquire()
    def run():
        if not done:
            try: done.append(torch._refs._normalize(x, [x.dim() - 1], eps)[0])
            except BaseException as error: done.append(error)
            if lock.locked(): lock.release()
    class Own(threading.Thread):
        def {method}(self): super().{method}(); run()
    Own(target=lambda: None).start()
    lock.acquire()
    if isinstance(done[0], BaseException): raise done[0]
    return done[0] * w + b
"""


@pytest.mark.parametrize("method", ["_bootstrap_inner", "_set_ident", "_set_native_id"])
def test_a_thread_that_calls_before_it_runs_is_watched(method):
    if method == "_bootstrap_inner":  # it returns when all is done, or never begins
        source = NO_LAYER.replace(
            "super().{method}(); run()", "run(); super().{method}()"
        )
    else:
        source = NO_LAYER
    answer_of = defined(source.format(method=method) + TAIL, "layer_norm")
    free, guarded = reports("transformer", "layer_norm", answer_of)
    assert free.score == free.max_score, [case.message for case in free.cases]
    assert guarded.score == 0
    assert REFUSED in guarded.message


def test_a_profile_function_set_in_the_name_of_threads_is_refused():
    class Stands:
        """For a thread, whatever is wanted of it."""

        def __call__(self, *_):
            return self

        __getattr__ = __call__

    thread = Stands()
    names = {**vars(threading), "_profile_hook": lambda *_: None, "_trace_hook": None}
    names |= {"_active_limbo_lock": contextlib.nullcontext()}
    names |= {"_active": {}, "_limbo": {thread: thread}}
    inner = types.FunctionType(threading.Thread._bootstrap_inner.__code__, names)
    with Guard(["layer_norm"]) as guard, contextlib.suppress(Exception):
        inner(thread)
    assert guard.used == ["a profiler (sys.setprofile)"]


@pytest.mark.parametrize("way", CALLS)
def test_calls_of_the_table_of_attacks_earn_points_without_the_guard(way):
    answer_of = defined(CALLS[way], CALLS_EXERCISE)
    free, guarded = reports(CALLS_TOPIC, CALLS_EXERCISE, answer_of)
    assert free.score >= free.max_score / 2, [case.message for case in free.cases]
    assert guarded.score == 0
    assert guarded.message


def test_a_trace_function_of_an_earlier_cell_sees_nothing_and_is_given_back():
    seen = []

    def trace(frame, event, _):
        seen.append(frame.f_code.co_name)

    def here():
        return sys.gettrace(), threading.gettrace()

    before = here()
    sys.settrace(trace)
    threading.settrace(trace)
    try:
        with Guard(["layer_norm"]) as guard:
            assert here() == (None, None)
        assert here() == (trace, trace)
    finally:
        sys.settrace(before[0])
        threading.settrace(before[1])
    assert "here" not in seen[: seen.index("__exit__")]
    assert guard.used == []


class Monitoring(types.SimpleNamespace):
    """Stands for ``sys.monitoring``, which Python has since 3.12."""

    def __init__(self):
        self.events = types.SimpleNamespace(NO_EVENTS=0, PY_START=1, LINE=32, ODD=3)
        self.callbacks = {(3, 32): print}

    def register_callback(self, tool, event, callback):
        sys.audit("sys.monitoring.register_callback", callback)
        if event == self.events.ODD:
            raise ValueError("one event at a time")
        before = self.callbacks.pop((tool, event), None)
        if callback is not None:
            self.callbacks[tool, event] = callback
        return before


def test_callbacks_of_monitoring_are_set_aside_and_no_more_are_taken(monkeypatch):
    monitoring = Monitoring()
    monkeypatch.setattr(sys, "monitoring", monitoring, raising=False)
    with Guard(["layer_norm"]) as guard:
        assert monitoring.callbacks == {}
        with pytest.raises(ForbiddenCall, match="sys.monitoring"):
            monitoring.register_callback(1, 1, print)
    assert monitoring.callbacks == {(3, 32): print}
    assert guard.used == ["a profiler or debugger (sys.monitoring)"]


HOOKS = """
import sys
from autograder.guard import ForbiddenCall, Guard
from autograder.unseen import listen

listen()
with Guard(["layer_norm"]) as guard:
    sys.addaudithook(lambda *_: None)  # Python keeps quiet about the refusal
print(guard.used)
with Guard(["layer_norm"]) as guard:
    pass
print(guard.used)
sys.addaudithook(lambda *_: None)
with Guard(["layer_norm"]) as guard:
    pass
print(guard.used)
"""


def test_audit_hooks_are_refused_also_those_of_earlier_cells():
    """In a process of its own: nobody can take an audit hook away."""
    done = subprocess.run(
        [sys.executable, "-c", HOOKS], capture_output=True, text=True, check=True
    )
    refused = ["an audit hook (sys.addaudithook)"]
    assert done.stdout.splitlines() == [str(refused), "[]", str(refused)]


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, number):
        return torch.full((2,), float(number))


def test_threads_of_libraries_are_left_alone():
    from tqdm import tqdm

    done = []
    with Guard(load_topic("transformer").exercises["layer_norm"].forbidden) as guard:
        x = torch.ones(3, 4, requires_grad=True)
        for batch in tqdm(torch.utils.data.DataLoader(Rows(), 2), file=io.StringIO()):
            (x.sum() * batch.sum()).backward()
        thread = threading.Thread(target=lambda: done.append(x.grad.sum()))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(2) as pool:
            done += pool.map(torch.sin, [x, x])
    assert guard.used == []
    assert len(done) == 3


class Text(str):
    """Part of what makes a library's frame look like none, or runs code unseen."""

    __slots__ = ()

    def __hash__(self):
        return str.__hash__(self)

    def startswith(self, *_):
        return False


@pytest.mark.parametrize("name", ["co_filename", "co_qualname"])
def test_a_forged_name_is_refused(name):
    code = (lambda: None).__code__
    forged = types.FunctionType(code.replace(**{name: Text("x")}), {})
    with Guard(["layer_norm"]) as guard, pytest.raises(ForbiddenCall):
        forged()
    assert guard.used == ["code that forges its own name"]


def test_what_the_guard_looks_at_runs_nothing_unseen():
    layer = nn.TransformerEncoderLayer(8, 2, 5, 0.0, batch_first=True)
    x = torch.randn(1, 3, 8)

    class Looked:
        """An argument that runs the library when it is asked for its class."""

        @property
        def __class__(self):
            type(layer).forward(layer, x)
            return object

    forbidden = load_topic("transformer").exercises["EncoderLayer"].forbidden
    given = Looked()
    with Guard(forbidden) as guard, contextlib.suppress(Exception):
        torch._refs.sum(given)
    assert guard.used


def test_what_is_right_by_hand_keeps_its_points_and_leaves_nothing_behind():
    profile = sys.getprofile()
    free, guarded = reports(
        "transformer", "layer_norm", defined(BY_HAND + TAIL, "layer_norm")
    )
    assert free == guarded
    assert guarded.score == guarded.max_score
    assert sys.getprofile() is profile
    F.layer_norm(torch.ones(2, 3), (3,))


def test_what_an_exercise_does_not_forbid_may_be_called():
    exercise = load_topic("transformer").exercises["EncoderLayer"]
    with Guard(exercise.forbidden) as guard:
        x = torch.randn(1, 3, 8)
        nn.LayerNorm(8)(nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)[0])
    assert guard.used == []


# Through a notebook: what the parser cannot read, and what it follows no further.

NOTEBOOKS = {
    "a line that only IPython reads": [
        "table = {}\ndef keep(name): table['f'] = eval(name)",
        ",keep F.layer_norm",
        "use = lambda *a: table['f'](*a)",
    ],
    "another such line": [
        "table = []\n",
        "/table.append F.layer_norm",
        "use = lambda *a: table[0](*a)",
    ],
    "a cell that is run by name": [
        "get_ipython().run_cell('hidden = F.lay' + 'er_norm')",
        "use = lambda *a: hidden(*a)",
    ],
    **{
        # Which of them Python reads depends on how deep the reader's own stack is.
        f"{depth} levels deep": [
            f"f = F.layer_norm\nuse = lambda *a: f(*a)\nx = {'-' * depth}1",
            "use = lambda *a: vars(F)['lay' + 'er_norm'](*a)",
        ]
        for depth in (2000, 2700, 2900, 3000, 6000)
    },
    "a value of the shell": [
        "names = !echo layer_norm\nuse = lambda *a: getattr(F, names[0])(*a)",
        "if 'use' not in globals() or not names: use = F.layer_norm",
    ],
}


@pytest.fixture(scope="module")
def chapter():
    """The released notebook of a chapter, and what is expected of its exercises."""
    topic = load_topic("transformer")
    master = student_notebook(source_notebook("transformer"))
    return topic, master, expected_answers(topic, draw_seeds(topic, b""))


@pytest.fixture
def told(needs_sandbox, chapter):
    """Tells what a notebook with these cells and right answers, but for some, earns."""
    topic, master, expected = chapter

    def told(cells, **answers):
        data = submission(master, {**right_answers("transformer"), **answers})
        data["cells"][1:1] = [code_cell(source) for source in cells]
        limits = Limits(cell_seconds=20, submission_seconds=60)
        done = examine(master, data, topic, expected, limits, servers=fork_servers())
        return done.report["exercises"]

    return told


@pytest.mark.parametrize("way", NOTEBOOKS)
def test_hidden_call_in_a_notebook_is_refused(told, way):
    setup = "import torch, torch.nn.functional as F"
    exercises = told([setup, *NOTEBOOKS[way]], layer_norm=TAIL.strip())
    (found,) = [e for e in exercises if e["name"] == "layer_norm"]
    assert found["score"] == 0
    assert "layer_norm, which this exercise asks you to build" in found["message"]
    others = [e for e in exercises if e["name"] != "layer_norm"]
    assert all(e["score"] == e["max_score"] for e in others)


KEPT = {
    "a static module": (
        "call = torch._C.StaticModule.__call__\n"
        "use = lambda x, shape, w, b, eps: call(static(shape[0], eps), x, w, b)"
    ),
    "a static module in another thread": (
        "run = torch._C.StaticModule.runAsync\n"
        "use = lambda x, shape, w, b, eps: "
        "run(static(shape[0], eps), (x, w, b), {}).wait()"
    ),
    "a kernel out of the dispatcher": (
        "cpu = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)\n"
        "find = torch._C._dispatch_get_computed_kernel_for_dispatch_key\n"
        "kernel = find('aten::native_layer_norm', 'CPU')\n"
        "def use(x, shape, w, b, eps):\n"
        "    x, w, b = x.detach(), w.detach(), b.detach()\n"
        "    return kernel.call_boxed(cpu, x, list(shape), w, b, eps)[0]"
    ),
    "a static module in a graph": KEPT_METHOD,
    "a graph that torch fuses": (
        "def fused(n, eps):\n"
        "    graph = torch._C.parse_ir(text.format(n, eps))\n"
        "    function = torch._C._create_function_from_graph('fused', graph)\n"
        "    torch._C._fuse_to_static_module(function.graph)\n"
        "    return function\n"
        "call = torch._C.ScriptFunction.__call__\n"
        "use = lambda x, shape, w, b, eps: call(fused(shape[0], eps), x, w, b)"
    ),
}


@pytest.mark.parametrize("way", KEPT)
def test_what_an_earlier_cell_kept_of_compiled_code_earns_nothing(told, way):
    exercises = told(["import torch\n" + STATIC, KEPT[way]], layer_norm=TAIL.strip())
    for found in exercises:
        right = found["name"] != "layer_norm"
        assert found["score"] == right * found["max_score"], found["message"]


def test_an_audit_hook_of_an_earlier_cell_costs_what_may_not_call_all(told, chapter):
    exercises = chapter[0].exercises
    for found in told(["import sys\nsys.addaudithook(lambda *_: None)"]):
        if exercises[found["name"]].forbidden:
            assert found["score"] == 0
            assert (
                "uses an audit hook (sys.addaudithook), which can run code"
                in found["message"]
            )
        else:
            assert found["score"] == found["max_score"]
