"""Made-up classes whose students each write in a way of their own, and copies.

An honest student begins with an answer of the book's (a reference, another right answer
or a known mistake) and writes it down as people do: with names, comments, and turns of
their own. Somebody who copies begins with what another student handed in.
"""

from __future__ import annotations

import ast
import importlib
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from autograder.exercise import load_topic
from classroom.submissions import cell_source

SHARE_WRONG = 0.25  # of the answers of an honest student
SHARE_BLANK = 0.03
NAMES = [
    "out",
    "res",
    "result",
    "ret",
    "tmp",
    "tmp2",
    "val",
    "vals",
    "arr",
    "mat",
    "m",
    "w",
    "wts",
    "weight",
    "ws",
    "a",
    "b",
    "c",
    "s",
    "sc",
    "scr",
    "score_matrix",
    "att",
    "attn",
    "probs",
    "p",
    "q2",
    "k2",
    "v2",
    "x",
    "x1",
    "x2",
    "y",
    "z",
    "xs",
    "ys",
    "data",
    "inp",
    "dim",
    "dims",
    "d",
    "n",
    "rows",
    "cols",
    "batch",
    "total",
    "num",
    "den",
    "exps",
    "shifted",
    "maxes",
    "mx",
    "acc",
    "idx",
    "i",
    "j",
    "pos",
    "mask_",
    "keep",
    "ok",
    "allowed",
    "final",
    "ans",
    "answer",
    "o",
    "hidden",
    "h1",
    "h2",
    "head",
    "g",
    "tt",
    "u",
    "e",
    "f",
    "norm",
    "scale",
    "factor",
    "root",
]
REMARKS = (
    "first the scores",
    "broadcast over the batch",
    "shape should be fine here",
    "see the formula in the text",
    "not sure this is needed",
    "same as in the lecture",
    "avoid overflow",
    "sum over the last axis",
    "TODO check again",
    "works for batches too",
    "now the weights",
    "keepdims so that it broadcasts",
    "this took me forever",
    "rows are queries",
    "convert to the right type",
    "return the result",
    "numerically stable",
    "loop is slower but clear",
    "transpose the keys",
    "as in exercise one",
)
PREPARED = (
    "if {x} is None:\n    raise ValueError('{x} is missing')",
    "{new} = {x}.shape",
    "{new} = {x}.shape[-1]",
    "{new} = {x}.shape[:-1]",
    "assert {x} is not None",
    "assert {x}.ndim >= 1",
    "{new} = {x}.dtype",
    "{new} = 1e-9",
    "{new} = -1",
    "{new} = len({x})",
    "{new} = None",
    "{new} = []",
    "print({x}.shape)",
    "if {x}.ndim == 0:\n    raise ValueError",
    "{new} = {x}.ndim - 1",
    "if not hasattr({x}, 'shape'):\n    raise TypeError('no array')",
)
TURNED = {
    "Div": ("{left} * (1 / ({right}))", "({left}) * ({right}) ** -1"),
    "Sub": ("{left} + -({right})", "-({right}) + {left}"),
    "Mult": ("np.multiply({left}, {right})", "{left} / (1 / ({right}))"),
    "Add": ("{left} - -({right})", "sum([{left}, {right}])"),
    "MatMult": ("np.dot({left}, {right})", "({left}) @ ({right}) * 1.0"),
    "Pow": ("np.power({left}, {right})", "pow({left}, {right})"),
    "BitAnd": ("torch.logical_and({left}, {right})", "~(~({left}) | ~({right}))"),
}
REWRITES = (
    (r"\.softmax\((?:dim=)?-1\)", ".softmax(-1)"),
    (r"\.softmax\((?:dim=)?-1\)", ".softmax(dim=-1)"),
    (r"keepdim=True", "keepdim = True"),
    (r"\.mT\b", ".transpose(-2, -1)"),
    (r"\.transpose\(-2, -1\)", ".transpose(-1, -2)"),
    (r"\.transpose\(-2, -1\)", ".swapaxes(-2, -1)"),
    (r"math\.sqrt\(([^()]*)\)", r"(\1) ** 0.5"),
    (r"np\.sqrt\(([^()]*)\)", r"math.sqrt(\1)"),
    (r"(\w+) @ (\w+)$", r"torch.matmul(\1, \2)"),
    (r"-torch\.inf", "float('-inf')"),
    (r"-torch\.inf", "-float('inf')"),
    (r"\.masked_fill\(~(\w+), ", r".masked_fill(\1 == False, "),
    (r" is None", " == None"),
    (r"torch\.zeros\(", "torch.zeros(size="),
    (r"dim=", "axis="),
    (r"\[\.\.\., None\]", ".unsqueeze(-1)"),
    (r"\[:, None\]", ".unsqueeze(1)"),
)


@dataclass(frozen=True)
class Solved:
    """What a made-up student handed in.

    Attributes:
        answers: code by exercise.
        wrong: the mistake that was made, by exercise.
    """

    answers: dict[str, str]
    wrong: dict[str, str]


def honest_class(chapter: str, size: int, seed: int = 0) -> dict[str, Solved]:
    """Students who never saw each other's work, by name; always the same ones."""
    chance = random.Random(f"{chapter}/{seed}")
    return {f"student{n:03}": _honest(chapter, chance) for n in range(size)}


def _honest(chapter: str, chance: random.Random) -> Solved:
    answers, wrong = {}, {}
    talkative, own_names = chance.random() * 0.6, chance.random()
    for name in load_topic(chapter).exercises:
        if chance.random() < SHARE_BLANK:
            continue
        right, mistakes = _sources(chapter, name)
        if chance.random() < SHARE_WRONG and mistakes:
            # Some mistakes are made by many, most by few.
            place = min(int(chance.expovariate(5 / len(mistakes))), len(mistakes) - 1)
            wrong[name], text = mistakes[place]
        else:
            place = min(int(chance.expovariate(2.5 / len(right))), len(right) - 1)
            text = right[place]
        text = _own_names(text, name, chance, own_names)
        text = ast.unparse(_Habits(chance).visit(ast.parse(text)))
        text = _own_turns(text, chance, 0.35)
        answers[name] = _with_remarks(text, chance, talkative)
    return Solved(answers, wrong)


_SOURCES: dict[tuple[str, str], tuple[list[str], list[tuple[str, str]]]] = {}


def _sources(chapter: str, name: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Right answers to an exercise, and mistakes with their names."""
    if (chapter, name) not in _SOURCES:
        topic = load_topic(chapter)
        others = importlib.import_module(f"tests.alternatives.{chapter}").ALTERNATIVES
        right = [topic.reference(name), *others.get(name, [])]
        _SOURCES[chapter, name] = (
            [_without_docstrings(cell_source(one, name)) for one in right],
            [
                (one.name, _without_docstrings(cell_source(one, name)))
                for one in topic.mistakes(name)
                if "ModuleType" not in cell_source(one, name)  # a whole chapter
            ],
        )
    return _SOURCES[chapter, name]


def _without_docstrings(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and len(body) > 1 and _is_text(body[0]):
            del body[0]
    return ast.unparse(tree)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _own_names(text: str, exercise: str, chance: random.Random, share: float) -> str:
    """Some local variables called otherwise."""
    tree = ast.parse(text)
    stored = {
        n.id
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    taken = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {exercise}
    new = {}
    for name in sorted(stored):
        fresh = chance.choice(NAMES)
        if chance.random() < share and fresh not in taken:
            new[name] = fresh
            taken.add(fresh)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = new.get(node.id, node.id)
    return ast.unparse(tree)


def _own_turns(text: str, chance: random.Random, share: float) -> str:
    """Some expressions written in another way, or given a name before they are used."""
    lines = []
    for line in text.split("\n"):
        for pattern, other in REWRITES:
            if chance.random() < share and re.search(pattern, line):
                line = re.sub(pattern, other, line, count=1)
        found = re.fullmatch(r"(\s+)return (.+\(.+\).*)", line)
        if found and chance.random() < share and _balanced(found[2]):
            name = chance.choice(NAMES)
            line = f"{found[1]}{name} = {found[2]}\n{found[1]}return {name}"
        lines.append(line)
        if chance.random() < 0.04 * share and line.startswith("    ") and _simple(line):
            lines.append(re.match(r"\s+", line)[0] + "assert True")
    return _readable("\n".join(lines), text)


class _Habits(ast.NodeTransformer):
    """Writes some things as one of many students would: longer, and no better.

    Args:
        chance: draws what is written otherwise.
    """

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:  # noqa: N802
        """Something is prepared or looked at before the work begins."""
        self.generic_visit(node)
        given = [arg.arg for arg in node.args.args if arg.arg != "self"]
        while given and self.chance.random() < 0.45:
            text = self.chance.choice(PREPARED).format(
                x=self.chance.choice(given), new=self.chance.choice(NAMES)
            )
            place = self.chance.randrange(1 + min(2, len(node.body) - 1))
            node.body[place:place] = ast.parse(text).body
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:  # noqa: N802
        """One operation by others."""
        self.generic_visit(node)
        left, right = ast.unparse(node.left), ast.unparse(node.right)
        forms = TURNED.get(type(node.op).__name__, ())
        if not forms or self.chance.random() > 0.3:
            return node
        text = self.chance.choice(forms).format(left=left, right=right)
        return ast.parse(text, mode="eval").body

    def visit_For(self, node: ast.For) -> ast.For:  # noqa: N802
        """A loop over things becomes one over their places."""
        self.generic_visit(node)
        over = isinstance(node.iter, ast.Name) and isinstance(node.target, ast.Name)
        if not over or self.chance.random() > 0.4:
            return node
        place = self.chance.choice(("i", "j", "k", "index", "pos"))
        first = f"{node.target.id} = {node.iter.id}[{place}]"
        loop = ast.parse(f"for {place} in range(len({node.iter.id})):\n    {first}")
        loop.body[0].body += node.body
        return loop.body[0]


def _balanced(text: str) -> bool:
    return text.count("(") == text.count(")") and text.count("[") == text.count("]")


def _simple(line: str) -> bool:
    return bool(re.match(r"\s+\w+ = ", line)) and _balanced(line)


def _readable(text: str, otherwise: str) -> str:
    try:
        ast.parse(text)
    except SyntaxError:
        return otherwise
    return text


def _with_remarks(text: str, chance: random.Random, share: float) -> str:
    lines = []
    for line in text.split("\n"):
        if chance.random() < share and re.match(r"\s+\S", line) and _balanced(line):
            remark = chance.choice(REMARKS)
            lines.append(f"{line}  # {remark}")
        else:
            lines.append(line)
    return _readable("\n".join(lines), text)


# Copies -------------------------------------------------------------------------------


def verbatim(text: str, name: str, chance: random.Random) -> str:
    """Nothing is changed."""
    return text


def renamed(text: str, name: str, chance: random.Random) -> str:
    """All variables, parameters too, have new names."""
    tree = ast.parse(text)
    new: dict[str, str] = {}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            old = node.id if stored else getattr(node, "arg", None)
            if (
                isinstance(old, str)
                and old not in new
                and isinstance(node, ast.Name | ast.arg)
            ):
                new[old] = f"{chance.choice(NAMES)}_{len(new)}"
    new.pop("self", None)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = new.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = new.get(node.arg, node.arg)
    return ast.unparse(tree)


def reordered(text: str, name: str, chance: random.Random) -> str:
    """Definitions, and statements that do not use each other, change places."""
    tree = ast.parse(text)
    chance.shuffle(tree.body)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for place in range(len(body) - 1):
            one, other = body[place], body[place + 1]
            both = isinstance(one, ast.Assign) and isinstance(other, ast.Assign)
            if both and not (
                _names(one) & _stored(other) or _names(other) & _stored(one)
            ):
                body[place], body[place + 1] = other, one
    return ast.unparse(tree)


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _stored(node: ast.AST) -> set[str]:
    walk = ast.walk(node)
    return {
        n.id for n in walk if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def reformatted(text: str, name: str, chance: random.Random) -> str:
    """Another indentation, more blank lines and brackets, no comments."""
    text = ast.unparse(ast.parse(text))
    lines = []
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        line = " " * (indent // 2) + line.lstrip()
        line = re.sub(r"return (.+)$", r"return (\1)", line)
        lines += [line, ""] if chance.random() < 0.4 else [line]
    return _readable("\n".join(lines), text)


def other_comments(text: str, name: str, chance: random.Random) -> str:
    """The comments are replaced by others."""
    return _with_remarks(ast.unparse(ast.parse(text)), chance, 0.5)


def inlined(text: str, name: str, chance: random.Random) -> str:
    """Values are used where they were named, and others get a name."""
    tree = ast.parse(text)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for _ in range(2):
                _inline_one(function)
    return _own_turns(ast.unparse(tree), chance, 0.9)


def _inline_one(function: ast.FunctionDef) -> None:
    """Put a value that is used once, in the next statement, where it is used."""
    for place, one in enumerate(function.body[:-1]):
        if not (isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)):
            continue
        name = one.targets[0].id
        used = [
            n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name
        ]
        after = function.body[place + 1]
        here = [n for n in ast.walk(after) if isinstance(n, ast.Name) and n.id == name]
        if len(used) == 2 and len(here) == 1:
            _Replace(name, one.value).visit(after)
            del function.body[place]
            return


class _Replace(ast.NodeTransformer):
    """Replaces a name by an expression."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802
        """Replace it where it is read."""
        read = isinstance(node.ctx, ast.Load)
        return self.value if read and node.id == self.name else node


def everything(text: str, name: str, chance: random.Random) -> str:
    """Renamed, reordered, with values inlined, other comments, another form."""
    for change in (reordered, inlined, renamed, other_comments):
        text = change(text, name, chance)
    return text


Disguise = Callable[[str, str, random.Random], str]
DISGUISES: dict[str, Disguise] = {
    "verbatim": verbatim,
    "renamed": renamed,
    "reordered": reordered,
    "reformatted": reformatted,
    "other comments": other_comments,
    "values inlined": inlined,
    "all of these": everything,
}
PARTLY = "partly rewritten"
HALF = "half of the exercises"
KINDS_OF_COPY = (*DISGUISES, PARTLY, HALF)


def copy_of(chapter: str, original: Solved, kind: str, chance: random.Random) -> Solved:
    """What somebody hands in who copied.

    Args:
        chapter: of the exercises.
        original: what was copied.
        kind: how, one of ``KINDS_OF_COPY``. Partly rewritten is a third of the
            exercises solved alone and the others disguised in all ways; of half of the
            exercises, the rest was solved alone.
        chance: draws what is left open.
    """
    alone = _honest(chapter, chance)
    share = {PARTLY: 1 / 3, HALF: 1 / 2}.get(kind, 0.0)
    names = list(original.answers)
    own = set(chance.sample(names, round(share * len(names))))
    disguise = DISGUISES.get(kind, everything if kind == PARTLY else renamed)
    copied = {
        name: disguise(text, name, chance)
        for name, text in original.answers.items()
        if name not in own
    }
    answers = {n: alone.answers[n] for n in own & alone.answers.keys()} | copied
    wrong = {n: alone.wrong[n] for n in own & alone.wrong.keys()}
    wrong |= {n: said for n, said in original.wrong.items() if n not in own}
    return replace(original, answers=answers, wrong=wrong)
