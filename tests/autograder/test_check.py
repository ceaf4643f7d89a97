"""``check(f)`` in a notebook: a table, a hint, and the points as a number."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from IPython.core.formatters import PlainTextFormatter
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from autograder.answers import Answer
from autograder.check import check
from autograder.exercise import Exercise, load_topic
from autograder.judge import Report, refuse_calls
from autograder.picture import first_difference, side_by_side
from autograder.rows import CaseReport
from autograder.show import as_html, as_text
from solutions import simplified_attention as right
from tests.autograder.conftest import TOPIC
from tests.work import work


def softmax(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def test_right_answer_returns_all_points(capsys):
    points = check(right.softmax)
    assert points == points.of == load_topic(TOPIC).exercises["softmax"].points
    assert "failed" not in capsys.readouterr().out


def test_wrong_answer_is_told_its_mistake(capsys):
    points = check(softmax)
    assert 0 < points < points.of
    assert "exp(1000) is infinite" in capsys.readouterr().out


def test_stub_gets_a_friendly_line_and_zero(capsys):
    def softmax(scores):
        raise NotImplementedError

    assert check(softmax) == 0
    assert "Not implemented yet" in capsys.readouterr().out


@pytest.mark.parametrize("given", [3, None, lambda x: x, np.zeros(3)])
def test_what_is_no_exercise_gets_one_line(capsys, given):
    assert check(given) == 0
    assert len(capsys.readouterr().out.strip().splitlines()) == 1


def test_points_print_as_the_number_that_nbgrader_reads():
    points = check(right.softmax)
    assert float(PlainTextFormatter()(points)) == points
    assert "of" in points._repr_html_()


def test_a_second_check_expects_nothing_anew(monkeypatch):
    points = check(right.softmax)
    monkeypatch.setattr("autograder.check.expect", None)
    assert check(right.softmax) == points


def test_table_escapes_what_comes_from_the_student():
    case = CaseReport("t", 1, False, "ValueError was raised: <script>x</script>")
    report = Report("<b>", 0, 1, None, "<img src=x>", [case])
    page = as_html(report)
    assert "<script>" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert "<script>" in as_text(report)


def run(*sources):
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    return NotebookClient(notebook, kernel_name="python3").execute().cells


def test_notebook_shows_a_table_and_the_points():
    cells = run(
        "from autograder.check import check\n"
        "from solutions.simplified_attention import *",
        "check(attend)",
        "def attend(q, X):\n    raise NotImplementedError",
        "check(attend)",
    )
    table, points = cells[1].outputs
    assert "<table" in table.data["text/html"]
    assert float(points.data["text/plain"]) > 0
    assert points.output_type == "execute_result"
    assert "Not implemented yet" in cells[3].outputs[0].data["text/html"]
    assert float(cells[3].outputs[1].data["text/plain"]) == 0
    assert not any(output.output_type == "error" for output in cells[3].outputs)


forbidding = Exercise("layer_norm", forbidden=("layer_norm", "LayerNorm"))


OWN = "class Own:\n    def layer_norm(x):\n        return x\n\n\n"


@pytest.mark.parametrize(
    "source",
    [
        "def layer_norm(x):\n    return F.layer_norm(x, x.shape)",
        "def layer_norm(x):\n    return torch.nn.LayerNorm(3)(x)",
        "from torch.nn.functional import layer_norm as n",
        "import torch.nn.functional.layer_norm",
        "f = getattr(F, 'layer_norm')",
        "f = eval('F.layer_norm')",
        "f = vars(F)['layer_norm']",
        "f = operator.attrgetter('nn.functional.layer_norm')(torch)",
        "f = F.__dict__['layer_norm']",
        "f = vars(F).get('layer_norm')",
        "this does not parse: F.layer_norm(x)",
        "print(f := F.layer_norm)",
        "def layer_norm(x):\n    print(F.layer_norm(x, (3,)))\n    return x",
        # Names of the author's own, and the library's all the same.
        f"{OWN}F.layer_norm(x)",
        f"{OWN}Own.LayerNorm(x)",
        f"{OWN}x.layer_norm()",
        f"{OWN}from torch.nn import functional as Own\nOwn.layer_norm(x)",
        f"{OWN}own = Own()\nown = F\nown.layer_norm(x)",
        f"{OWN}own = Own()\nfor own in [F]: own.layer_norm(x)",
        f"{OWN}own = Own()\ndef f(own):\n    return own.layer_norm(x)",
        f"{OWN}own = Own()\nimport torch.nn.functional as own\nown.layer_norm(x)",
        f"{OWN}def f(Own):\n    return Own.layer_norm(x)",
        f"{OWN}def Own():\n    return F\nOwn().layer_norm(x)",
        f"{OWN}try:\n    raise E\nexcept E as Own:\n    Own.layer_norm(x)",
        f"{OWN}match [F]:\n    case [Own]:\n        Own.layer_norm(x)",
        f"{OWN}match [F]:\n    case [*Own]:\n        Own.layer_norm(x)",
        f"{OWN}match G:\n    case {{**Own}}:\n        Own.layer_norm(x)",
        f"{OWN}own = Own()\ntry:\n    g()\nexcept E as own:\n    own.layer_norm(x)",
        f"{OWN}own = Own()\ndef own(): pass\nown.layer_norm(x)",
        f"{OWN}Own().its.layer_norm(x)",
        f"{OWN}def f(own):\n    own.LayerNorm = own.LayerNorm(3)",
        "class S:\n    pass\ns, t = S(), F\nt.layer_norm = x\ny = t.layer_norm(x)",
        "class S:\n    pass\ns = S()\ny = s.layer_norm",
        "import own_norms as F\nimport torch.nn.functional as F\ny = F.layer_norm(x)",
        "my = SimpleNamespace(f=1)\ny = my.layer_norm(x)",
        "def layer_norm(x):\n    return isinstance(nn.LayerNorm(3)(x), Tensor)",
        "from torch.nn import LayerNorm, Linear\ndef layer_norm(x):\n"
        "    return LayerNorm(x)",
        f"{OWN}layer_norm = F.layer_norm",
        f"from torch.nn.functional import *\n{OWN}Own.layer_norm(x)",
        "from torch import *\ny = layer_norm(x, 3)\ndef layer_norm(x):\n    return y",
    ],
)
def test_forbidden_calls_are_found_in_the_syntax_tree(source):
    assert forbidding.forbidden_lines(source)


@pytest.mark.parametrize(
    "source",
    [
        "def layer_norm(x):\n    '''Not F.layer_norm!'''\n    return x  # layer_norm",
        "def layer_norm(x):\n    return x if x else layer_norm(x)",
        "def layer_norm(x):\n    raise ValueError('layer_norm needs a weight')",
        "def layer_norm(x):\n    return x\nprint('layer_norm')",
        "def layer_norm(x):\n    return x\ntimes = {'layer_norm': 3}",
        "def f(weights):\n    return weights['layer_norm'] + weights.get('LayerNorm')",
        "def f(x):\n    x.layers['layer_norm'] = 1\n    assert x, 'no layer_norm'",
        "class Block(nn.Module):\n"
        "    def forward(self, x):\n        return self.layer_norm(x)",
        "def layer_norm(x):\n    return x\nprint(layer_norm(y) - F.layer_norm(y, 3))",
        "def layer_norm(x):\n    return x\nassert torch.equal(y, nn.LayerNorm(3)(y))",
        "torch.testing.assert_close(layer_norm(x), torch.layer_norm(x, (3,)))",
        "def f(x):\n    layer_norm = x / 2\n    return layer_norm + 1",
        "from my_own_norms import layer_norm",
        "from torch import *\ndef f(x):\n    LayerNorm = x\n    return LayerNorm",
        "from math import *\ndef layer_norm(x):\n    return layer_norm(x) if x else x",
        "from .norms import layer_norm",
        "def f(x, layer_norm):\n    return layer_norm(x)",
        "def f(x):\n    return [layer_norm(x) for layer_norm in x]",
        f"{OWN}Own.layer_norm(x)",
        f"{OWN}Own().layer_norm(x)",
        f"{OWN}own = Own()\nown.layer_norm(x)",
        f"{OWN}class B:\n    def f(self, x):\n        self.n: Own = Own()\n"
        "        return self.n.layer_norm(x)",
        "class Parts(NamedTuple):\n    layer_norm: Tensor\n"
        "p = Parts(layer_norm=x)\nq = p.layer_norm + Parts(x).layer_norm",
        "class Kind(Enum):\n    layer_norm = 1\n    LayerNorm = 2\n"
        "def f(kind):\n    return kind is Kind.layer_norm or Kind.LayerNorm",
        "class Block(nn.Module):\n    def __init__(self, eps):\n"
        "        self.layer_norm = lambda x: x / eps\n"
        "block = Block(3)\ny = block.layer_norm(x)",
        "class S:\n    pass\ns = S()\ns.layer_norm = x / 2\ny = s.layer_norm",
        "my = types.SimpleNamespace(layer_norm=f)\ny = my.layer_norm(x)",
        "import my_own_norms\ny = my_own_norms.layer_norm(x)",
        "from my_own import norms\ny = norms.inner.layer_norm(x)",
        f"{OWN}class B(Own):\n    def f(x):\n        return super().layer_norm(x)",
        f"{OWN}class B(Own):\n    pass\ny = B().layer_norm(x)",
        "def layer_norm(x: nn.LayerNorm) -> F.layer_norm:\n    y: LayerNorm = x",
        "def layer_norm(x):\n    return isinstance(x, (nn.LayerNorm, nn.Linear))",
        "from torch.nn import LayerNorm, Linear\ndef layer_norm(x):\n"
        "    return Linear(x)\nprint(LayerNorm(3))",
        "import torch, torch.nn.LayerNorm as N\ndef layer_norm(x):\n"
        "    return torch.ones(x)",
    ],
)
def test_own_name_comments_and_docstrings_are_not_forbidden(source):
    assert forbidding.forbidden_lines(source) == {}


BELOW = "x = torch.randn(2, 3)\nmine = layer_norm(x)\n"
COMPARISONS = {
    "a value": "expected = F.layer_norm(x, (3,))\nprint((mine - expected).abs().max())",
    "a layer": "ln = nn.LayerNorm(3)\ny = ln(x)\nassert torch.allclose(mine, y)",
    "the last line": "out = F.layer_norm(x, (3,))\ntorch.allclose(out, mine)",
    "shown as it is": "wanted: Any = F.layer_norm(x, (3,))\nwanted",
    "a difference": "y = F.layer_norm(x, (3,))\nd = mine - y\nd.abs().max().item()",
    "two names": "y, _ = F.layer_norm(x, (3,)), 1\nprint(y)",
    "below no_grad": "with torch.no_grad():\n    y = F.layer_norm(x, (3,))\nprint(y)",
    "a loop": "for n in range(3):\n    y = F.layer_norm(x, (3,))\n    assert y.any()",
    "a condition": "y = F.layer_norm(x, (3,))\nif torch.equal(y, mine):\n    print(1)",
    "an import": "from torch.nn import LayerNorm as L\nl = L(3)\nprint(l(x) - mine)",
    "a function": "def theirs(x):\n    return F.layer_norm(x, (3,))\nprint(theirs(x))",
    "a lambda": "theirs = lambda x: F.layer_norm(x, (3,))\nprint(theirs(x) - mine)",
    "an import for another cell": "from torch.nn import LayerNorm",
    "for nothing": "F.layer_norm(x, (3,))",
    "help": "help(F.layer_norm)",
    "a layer with weights": "ln = nn.LayerNorm(3)\nln.weight.data = w\nln.eval()\n"
    "ln.bias.data.copy_(b)\nprint(ln(x) - mine)",
    "a table": "by = {}\nby['torch'] = F.layer_norm(x, (3,))\nprint(by)",
    "a list": "e = []\nfor _ in range(3):\n    e.append(F.layer_norm(x, (3,)))\n"
    "print(e)",
    "time": "start = now()\nfor _ in range(9):\n    F.layer_norm(x, (3,))\n"
    "print(start)",
    "a figure": "d = F.layer_norm(x, (3,)) - mine\nplt.plot(d)\nplt.show()",
    "a layer for nothing": "nn.LayerNorm(3)(x)",
    "backwards": "F.layer_norm(x, (3,)).sum().backward()",
    "an error": "if (F.layer_norm(x, (3,)) - mine).any():\n    raise ValueError(1)",
    "a loop for nothing": "for _ in range(3):\n    assert F.layer_norm(x, (3,)).any()",
    "below try": "try:\n    assert (F.layer_norm(x, (3,)) - mine).any()\n"
    "except AssertionError as error:\n    print(error)",
    "a test with a seed": "def test():\n    torch.manual_seed(0)\n"
    "    assert F.layer_norm(x, (3,)).any()\ntest()",
    "seeds": "for seed in range(3):\n    torch.manual_seed(seed)\n"
    "    assert F.layer_norm(x, (3,)).any()",
    "a loop over shapes": "for shape in [(2, 3)]:\n    q = torch.randn(*shape)\n"
    "    assert torch.equal(layer_norm(q), F.layer_norm(q, (3,)))",
    "a decorated test": "@torch.no_grad()\ndef test():\n"
    "    assert F.layer_norm(x, (3,)).any()\ntest()",
    "a parametrised test": "@pytest.mark.parametrize('n', [3])\ndef test_it(n):\n"
    "    assert F.layer_norm(x, (n,)).any()",
    "a class of tests": "class TestNorm(unittest.TestCase):\n    def test_it(self):\n"
    "        self.assertTrue(F.layer_norm(x, (3,)).any())\n"
    "unittest.main(argv=[''], exit=False)",
    "errors kept in a test": "def test():\n    errors = []\n"
    "    errors.append(F.layer_norm(x, (3,)) - mine)\n    return errors\ntest()",
    "axes": "def show(ax):\n    ax.imshow(F.layer_norm(x, (3,)))\n"
    "    ax.set_title('theirs')\nshow(plt.gca())",
    "bars": "plt.bar([0], [F.layer_norm(x, (3,)).max()])",
    "a name for nothing": "_ = F.layer_norm(x, (3,))",
    "gradients": "torch.autograd.gradcheck(lambda x: F.layer_norm(x, (3,)), x)",
    "while": "i = 0\nwhile i < 3:\n    i += 1\n    F.layer_norm(x, (3,))",
    "a walrus": "assert (err := F.layer_norm(x, (3,)) - mine).any()",
    "all": "assert all(F.layer_norm(x, (3,)).any() for _ in range(3))",
    "a script": "if __name__ == '__main__':\n    ref = nn.LayerNorm(3)\n"
    "    ref.load_state_dict(own.state_dict())\n    print(ref(x))",
    "timed": "def timed(f):\n    start = now()\n    f()\n    return now() - start\n"
    "print(timed(lambda: F.layer_norm(x, (3,))))",
    "weights of a layer": "ln = nn.LayerNorm(3)\n"
    "own.state_dict().update(ln.state_dict())\nln.state_dict()['bias'][:] = 1\n"
    "list(own.parameters())[0].data[...] = 1",
    "below no_grad, unpacked": "with torch.no_grad():\n"
    "    x, shape = torch.randn(2, 3), nn.LayerNorm(3)(y)\n    print(x, shape)",
    "results kept with others": "M.b = F.layer_norm(x, (3,))\n"
    "by['theirs'] = sum(p.numel() for p in nn.LayerNorm(3).parameters())",
    "put into the answer": "layer_norm.reference = lambda: F.layer_norm",
    "handed to the answer": "layer_norm.compared_with(nn.LayerNorm(3))",
    "handed to somebody": "register(F.layer_norm)",
    "written into something else": "_g = y\nF.layer_norm(x, out=_g)",
    "a test": "def test():\n    y = F.layer_norm(x, (3,))\n    assert y.any()\ntest()",
}
ANSWERS = {  # they use the same names for other things
    "plain": "def layer_norm(x):\n    return x\n",
    "modules": "def layer_norm(x):\n    return torch.mean(x) + M.f(plt, unittest)\n",
    "attributes": "def layer_norm(x):\n    return x.shape, x.max(), x.q, x.i, x._\n",
    "names of its own": "def layer_norm(x, y=1):\n    l = ln = x\n    return l\n",
    "what had its name": "from torch.nn.functional import layer_norm\n"
    "def layer_norm(x):\n    return layer_norm(x) if x else x\n",
    "what had its name, kept": "from torch.nn.functional import layer_norm\n"
    "theirs = layer_norm\ndef layer_norm(x):\n    return x\nprint(theirs(1))\n",
    "what has results": "def layer_norm(x):\n    return x * len(by) + M.a\n",
    "its own attributes": "def layer_norm(x):\n    return getattr(x, 'a').shape\n",
    "a comprehension": "def layer_norm(x):\n"
    "    q, y = (x for x in (x, x))\n    return [d for d in x for e in d] + [q, y]\n",
    "words": 'def layer_norm(x):\n    """As expected."""\n    return x, "d or y"\n',
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("way", COMPARISONS)
def test_a_comparison_with_the_library_below_an_answer_is_no_call(way, answer):
    source = ANSWERS[answer] + BELOW + COMPARISONS[way]
    assert forbidding.forbidden_lines(source) == {}


METHODS = (
    "class Norm:\n    def __call__(self, x):\n        return own(x)\n"
    "    @staticmethod\n    def theirs(x):\n        return F.layer_norm(x, (3,))\n"
)
OWN_NORM = "def norm(t):\n    return t - t.mean()\n"
ANSWER = "def layer_norm(x):\n    return norm(x)\n"
LIBRARY_NORM = "def norm(x):\n    return F.layer_norm(x, x.shape)\n"


@pytest.mark.parametrize(
    "source",
    [
        f"norm = nn.LayerNorm(4)\nprint(norm(x))\n{OWN_NORM}{ANSWER}",
        f"{LIBRARY_NORM}want = norm(x)\n{OWN_NORM}{ANSWER}assert want.any()",
        f"from torch import layer_norm as norm\nnorm = rescale\n{ANSWER}",
        f"{LIBRARY_NORM}{ANSWER}{OWN_NORM}",
        f"{LIBRARY_NORM}class norm:\n    pass\n{ANSWER}",
        f"norm: Any = F.layer_norm\nimport my_own as norm\n{ANSWER}",
        f"{LIBRARY_NORM}def layer_norm(x):\n    def norm(t):\n        return t\n"
        "    return norm(x)",
        f"{LIBRARY_NORM}def layer_norm(x):\n    class norm:\n        t = x\n"
        "    return norm.t",
        f"{LIBRARY_NORM}def layer_norm(x):\n    from math import sqrt as norm\n"
        "    return norm(x)",
        f"{LIBRARY_NORM}def layer_norm(x):\n    match x:\n        case norm:\n"
        "            return norm",
        f"{LIBRARY_NORM}def layer_norm(x):\n    try:\n        return x\n"
        "    except ValueError as norm:\n        raise norm",
        f"{LIBRARY_NORM}class Parts:\n    norm = 1\n    both = norm + 1\n"
        "def layer_norm(x):\n    return Parts.both * x",
        f"{LIBRARY_NORM}{OWN_NORM}theirs = norm\ndef layer_norm(x, f=norm):\n"
        "    return f(x)",
        "for eps in y:\n    F.layer_norm(x, eps=eps)\neps = 1\n"
        "def layer_norm(x, eps=eps):\n    return x * eps",
        f"{LIBRARY_NORM}{OWN_NORM}layer_norm = norm",
        f"{LIBRARY_NORM}{OWN_NORM}layer_norm = lambda x: norm(x)",
        f"{LIBRARY_NORM}{OWN_NORM}layer_norm = partial(norm, eps=1)",
        f"{LIBRARY_NORM}{OWN_NORM}layer_norm = norm\n{LIBRARY_NORM}",
        "class L(nn.LayerNorm):\n    pass\nclass L:\n    pass\nlayer_norm = L()",
        "L = nn.LayerNorm\nclass L:\n    pass\nclass layer_norm(L):\n    pass",
        f"{LIBRARY_NORM}{OWN_NORM}if True:\n    def layer_norm(x):\n"
        "        return norm(x)",
        "for n, eps in y:\n    F.layer_norm(x, eps=eps)\nn, [eps, *_] = y\n"
        "def layer_norm(x):\n    return x * eps",
        "eps, reference = 1, F.layer_norm\ndef layer_norm(x):\n    return x * eps",
        f"{METHODS}def layer_norm(x):\n    return Norm()(x)",
        "theirs = F.layer_norm(x, (3,))\ndef layer_norm(x):\n    global theirs\n"
        "    theirs = x\n    return x",
    ],
)
def test_what_a_name_was_before_is_no_part_of_an_answer(source):
    assert forbidding.forbidden_lines(source) == {}


@pytest.mark.parametrize(
    "source",
    [
        f"{OWN_NORM}{LIBRARY_NORM}{ANSWER}",
        f"{OWN_NORM}{ANSWER}{LIBRARY_NORM}",
        f"{LIBRARY_NORM}if x:\n    {OWN_NORM.splitlines()[0]} return t\n{ANSWER}",
        f"{LIBRARY_NORM}norm: Any\n{ANSWER}",
        f"{LIBRARY_NORM}theirs = norm\n{OWN_NORM}def layer_norm(x):\n"
        "    return theirs(x)",
        f"{LIBRARY_NORM}layer_norm = norm\n{OWN_NORM}",
        f"{LIBRARY_NORM}first = norm\n{OWN_NORM}layer_norm = first",
        f"{OWN_NORM}{LIBRARY_NORM}layer_norm = lambda x: norm(x)",
        f"{LIBRARY_NORM}def first(x):\n    return norm(x)\nlayer_norm = first",
        f"{LIBRARY_NORM}def first():\n    return norm\nkept = first()\n{OWN_NORM}"
        "def layer_norm(x):\n    return kept(x)",
        f"{LIBRARY_NORM}norm, other = norm, 1\n{ANSWER}",
        f"{METHODS}def layer_norm(x):\n    return Norm().theirs(x)",
        f"{METHODS}def layer_norm(x):\n    return methodcaller('theirs', x)(Norm())",
        METHODS.replace("own(x)", "self.theirs(x)")
        + "def layer_norm(x):\n    return Norm()(x)",
        f"def late():\n    global norm\n    norm = F.layer_norm\n{OWN_NORM}late()\n"
        f"{ANSWER}",
        f"{LIBRARY_NORM}def layer_norm(x):\n    def f():\n        global norm\n"
        "        return norm(x)\n    norm = 1\n    return f()",
        f"{LIBRARY_NORM}class Parts:\n    both = norm\n    norm = 1\n"
        "def layer_norm(x):\n    return Parts.both(x)",
        f"{LIBRARY_NORM}class Parts:\n    norm = 1\n    def f(x):\n"
        "        return norm(x)\ndef layer_norm(x):\n    return Parts.f(x)",
    ],
)
def test_what_a_name_is_or_was_when_it_was_looked_up_is_part_of_an_answer(source):
    assert forbidding.forbidden_lines(source)


USES_IT = "def layer_norm(x):\n    return _f(x)\n"


@pytest.mark.parametrize(
    "source",
    [
        f"_f = F.layer_norm\nprint(_f(y))\n{USES_IT}",
        f"_g = F.layer_norm\n_f = _g\nprint(_f(y))\n{USES_IT}",
        f"from torch.nn.functional import layer_norm as _f\nprint(_f(y))\n{USES_IT}",
        f"def _f(x):\n    return F.layer_norm(x, (3,))\nprint(_f(y))\n{USES_IT}",
        f"for _f in [F.layer_norm]:\n    print(_f(y))\n{USES_IT}",
        f"_f = lambda x: F.layer_norm(x, (3,))\nprint(_f(y))\n{USES_IT}",
        "_f = F.layer_norm\nprint(_f)\ndef layer_norm(x, f=_f):\n    return f(x)",
        "f = F.layer_norm\nprint(f)\ndef layer_norm(x, f=f):\n    return f(x)",
        "f = F.layer_norm\nprint(f)\n@f\ndef layer_norm(x, f):\n    return f(x)",
        "f = F.layer_norm\nprint(f)\ndef layer_norm(x):\n    global f\n    f = f(x)",
        "f = F.layer_norm\nprint(f)\ndef layer_norm(x):\n"
        "    def g():\n        f = 1\n    return f(x)",
        "f = F.layer_norm\nprint(f)\ndef layer_norm(x):\n    return globals()['f'](x)",
        "f = F.layer_norm\nprint(f)\ndef layer_norm(x):\n    return eval('f(x) + 0')",
        "f = F.layer_norm\nprint(f)\ndef layer_norm(x):\n    return __main__.f(x)",
        "f = F.layer_norm\nprint(f)\nlayer_norm = f",
        "layer_norm = F.layer_norm\n_f = layer_norm\n" + USES_IT,
        "layer_norm = F.layer_norm\ndef layer_norm(x, f=layer_norm): return f(x)",
        "layer_norm = F.layer_norm\n@partial(of, layer_norm)\ndef layer_norm(x): pass",
        "def layer_norm(x): return x\nlayer_norm = F.layer_norm",
        "def layer_norm(x): return x\nfor layer_norm in [F.layer_norm]: pass",
        "def _g(x):\n    return F.layer_norm(x, (3,))\nprint(_g)\nlayer_norm = _g",
        "f = []\nprint(f.append(F.layer_norm))\ndef layer_norm(x):\n    return f[0](x)",
        "def put():\n    global f\n    f = F.layer_norm\nput()\n"
        "def layer_norm(x):\n    return f(x)",
        "def put():\n    M.f = F.layer_norm\nput()\n"
        "def layer_norm(x):\n    return M.f(x)",
        "def put(f):\n    pass\nput = register\nput(F.layer_norm)",
        "@register\ndef put():\n    return F.layer_norm\nprint(put)",
        "keep(F.layer_norm)",
        "class A:\n    f = F.layer_norm\nprint(A)",
        "expected = F.layer_norm(x, (3,))",
        f"from torch.nn.functional import layer_norm as _f\n{USES_IT}",
        f"try:\n    raise F.layer_norm\nexcept E as _f:\n    pass\n{USES_IT}",
        f"try:\n    _f = F.layer_norm\nexcept E:\n    pass\n{USES_IT}",
        "globals()['_f'] = F.layer_norm\nprint(1)\n" + USES_IT,
        "get_ipython().user_ns['_f'] = F.layer_norm\n" + USES_IT,
        f"_f = Own()\n_f.g = F.layer_norm\n{USES_IT}",
        f"_f = Own()\n_g = Own()\n_g.h(_f.append(F.layer_norm))\n{USES_IT}",
        f"for _f in [F.layer_norm]: pass\n{USES_IT}",
        f"_f = []\nfor g in [1]:\n    _f.append(F.layer_norm)\n{USES_IT}",
        f"_g = make(_f)\n_g.put(_f.update(F.layer_norm))\n{USES_IT}",
    ],
)
def test_what_an_answer_may_use_is_no_comparison(source):
    assert list(forbidding.forbidden_lines(source)) == ["layer_norm"]


def test_a_refusal_names_the_line():
    source = "def layer_norm(x):\n    y = 1\n    return  F.layer_norm(x, (3,))\n"
    assert forbidding.forbidden_lines(source) == {
        "layer_norm": "return  F.layer_norm(x, (3,))"
    }
    said = refuse_calls(forbidding, ["layer_norm"], "return \x1b[1m  F.layer_norm(x)")
    assert said.message.endswith("yourself, in the line `return [1m F.layer_norm(x)`")


def test_a_long_chain_of_comparisons_is_read_in_linear_time():
    def work_of(links: int) -> int:
        source = "y0 = F.layer_norm(x)\n" + "".join(
            f"y{n + 1} = y{n}\ndef f{n}(x):\n    return y{n}\n" for n in range(links)
        )
        source += f"def layer_norm(x):\n    return y{links}"
        return work(lambda: forbidding.forbidden_lines(source))

    assert work_of(400) < 8 * work_of(100)


def test_forbidden_call_earns_nothing_and_says_so(monkeypatch, capsys):
    exercise = load_topic(TOPIC).exercises["softmax"]
    monkeypatch.setattr(exercise, "forbidden", ("exp",))
    points = check(softmax)
    assert points == 0
    assert points.of == exercise.points
    assert "uses exp, which this exercise asks you to build" in capsys.readouterr().out


def test_hidden_call_is_refused_when_it_runs(capsys):
    def layer_norm(x, weight, bias, eps=1e-5):
        norm = getattr(torch.nn.functional, "layer" + "_norm")
        return norm(x, x.shape[-1:], weight, bias, eps)

    assert check(layer_norm) == 0
    assert "uses layer_norm, which this exercise asks" in capsys.readouterr().out


def test_forbidden_call_is_found_in_a_class_of_a_notebook():
    cells = run(
        "from torch import nn\nfrom autograder.check import check",
        "class MultiHeadAttention(nn.Module):\n"
        "    def __init__(self, D, h):\n"
        "        super().__init__()\n"
        "        self.inner = nn.MultiheadAttention(D, h)\n"
        "check(MultiHeadAttention)",
    )
    table, points = cells[1].outputs
    assert "uses MultiheadAttention, which this" in table.data["text/plain"]
    assert float(points.data["text/plain"]) == 0


def test_wrong_answer_is_drawn_beside_the_expected_one():
    cells = run(
        "import numpy as np\nfrom autograder.check import check",
        "def attend(q, X):\n"
        "    a = np.exp(X @ q); a /= a.sum()\n    return a @ X, a\ncheck(attend)",
    )
    page = cells[1].outputs[0].data["text/html"]
    assert "hint(attend)" in page
    assert "differ by up to" in page
    assert "data:image/png;base64," in page


def test_picture_shows_the_first_case_that_failed():
    exercise = Exercise("any")
    for title in ("first", "second"):
        exercise.case(title=title)(lambda f, rng: None)
    cases = [CaseReport("first", 1, True), CaseReport("second", 1, False)]
    report = Report("any", 1, 2, None, "", cases)
    right = Answer(value=[np.zeros((2, 3)), np.ones((4, 2, 3))])
    given = Answer(value=[np.zeros((2, 3)), np.ones((4, 2, 3)) * 2])
    title, mine, other = first_difference(
        exercise, report, [right, given], [right, right]
    )
    assert title == "second"
    assert mine.tolist() == [[2.0] * 3] * 2
    assert other.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("shape", [(2, 2), (1, 3)])
def test_odd_values_can_be_drawn(value, shape):
    page = side_by_side("<b>", np.full(shape, value), np.ones(shape))
    assert "<b>" not in page
    assert "base64" in page


def test_a_picture_outlines_what_should_be_zero_and_names_the_axis_that_sums_to_one():
    right = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]  # causal weights
    leaking = np.full((4, 4), 0.25)
    leaking[0] = [0.5, 0.5, 0, 0]
    page = side_by_side("a future", leaking, right)
    assert "4 of your values are outlined: zero is expected there." in page
    assert "sums to one" not in page  # in both, each row does
    columns = np.exp(np.arange(12.0).reshape(4, 3) % 5)
    shown = side_by_side(
        "an axis",
        columns / columns.sum(axis=0),
        columns / columns.sum(axis=1, keepdims=True),
    )
    assert "In yours, each column sums to one." in shown
    assert "In the expected one, each row sums to one." in shown
    assert "outlined" not in shown


def test_hidden_scores_that_get_through_are_outlined():
    scores = np.array([[1.0, -np.inf], [0.5, 2.0]])
    page = side_by_side("scores", np.array([[1.0, 0.0], [0.5, 2.0]]), scores)
    assert "1 of your values is outlined: minus infinity is expected there." in page
