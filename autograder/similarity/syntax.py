"""Normalise code to a sequence of tokens that only keeps what it does.

Names, comments, annotations, formatting and the order of commuting operands are gone,
and ways to write one operation (``x.softmax(-1)`` and ``torch.softmax(x, dim=-1)``,
``@`` and ``matmul``, a value named once or used in place) have one form. What Python
cannot read is cut into words and signs.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from autograder.magics import parsed

MAX_DEPTH = 120  # of a tree; of what is deeper, words and signs are compared
MAX_INLINED = 20  # values used in place, one within the other
MAX_TOKENS = 20_000  # of one text; what is beyond is not compared

_MODULES = {"torch", "np", "numpy", "math", "F", "nn", "functional"}
_BUILTINS = frozenset(dir(builtins))
_SYNONYMS = {
    **dict.fromkeys(("matmul", "mm", "bmm", "MatMult"), "matmul"),
    **dict.fromkeys(("transpose", "swapaxes", "swapdims"), "transpose"),
    **dict.fromkeys(("add", "Add"), "add"),
    **dict.fromkeys(("sub", "subtract", "Sub"), "subtract"),
    **dict.fromkeys(("mul", "multiply", "Mult"), "multiply"),
    **dict.fromkeys(("div", "divide", "true_divide", "Div"), "divide"),
    **dict.fromkeys(("concatenate", "concat", "cat"), "concatenate"),
    **dict.fromkeys(("Gt", "gt", "Lt", "lt"), "less"),
    **dict.fromkeys(("GtE", "ge", "LtE", "le"), "less_equal"),
}
_COMMUTE = {"add", "multiply", "BitAnd", "BitOr", "Eq", "NotEq", "And", "Or"}
_MIRRORED = (ast.Gt, ast.GtE)
_WORD = re.compile(r"[^\W\d]\w*|\d[\w.]*|\"[^\"\n]*\"|'[^'\n]*'|[^\s\w]")
_COMMENT = re.compile(r"#.*")
KEYWORDS = frozenset(
    [
        "and",
        "as",
        "assert",
        "async",
        "await",
        "break",
        "class",
        "continue",
        "def",
        "del",
        "elif",
        "else",
        "except",
        "finally",
        "for",
        "from",
        "global",
        "if",
        "import",
        "in",
        "is",
        "lambda",
        "nonlocal",
        "not",
        "or",
        "pass",
        "raise",
        "return",
        "try",
        "while",
        "with",
        "yield",
        "True",
        "False",
        "None",
    ]
)


class _TooDeep(Exception):
    """A tree that is nested more deeply than any that a person writes."""


@dataclass(frozen=True)
class Token:
    """A node of a normalised tree, or a word of what is none, with its lines."""

    label: str
    line: int
    last: int


@dataclass
class Tree:
    """A node of a normalised syntax tree.

    Attributes:
        label: what it does.
        children: on what, in a canonical order.
        line: where it begins in the source, counted from 1.
        last: where it ends.
        digest: equal for equal trees.
        size: nodes in it.
    """

    label: str
    children: list[Tree]
    line: int
    last: int
    digest: bytes = field(init=False, repr=False)
    size: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.label in _COMMUTE:
            self.children.sort(key=lambda child: child.digest)
        text = self.label.encode("utf-8", "replace")
        inner = b"".join(child.digest for child in self.children)
        self.digest = blake2b(text + b"\0" + inner, digest_size=8).digest()
        self.size = 1 + sum(child.size for child in self.children)

    def walk(self) -> Iterator[Tree]:
        """The tree in preorder."""
        waiting = [self]
        while waiting:
            tree = waiting.pop()
            yield tree
            waiting += reversed(tree.children)


def trees_of(source: str) -> list[Tree] | None:
    """The normalised statements of a source; ``None`` if Python cannot read them."""
    module = parsed(source)
    if module is None:
        return None
    try:
        normaliser = _Normaliser(module)
        trees = list(normaliser.statements(module.body, 0))
        trees += normaliser.left_over()
        for text, line in _executed(module):  # or code could hide in a text
            inner = parsed(text)
            if inner is not None:
                hidden = _Normaliser(inner, line)
                trees += [*hidden.statements(inner.body, 0), *hidden.left_over()]
        return trees
    except (_TooDeep, RecursionError):
        return None


def tokens_of(source: str, trees: list[Tree] | None) -> list[Token]:
    """The tokens of a source, at most ``MAX_TOKENS``.

    Args:
        source: the text.
        trees: its normalised statements; if None, it is cut into words and signs.
    """
    if trees is None:
        return _words(source)
    found = []
    for tree in trees:
        for node in tree.walk():
            if len(found) == MAX_TOKENS:
                return found
            found.append(Token(node.label, node.line, node.last))
    return found


def _words(source: str) -> list[Token]:
    """Words and signs of a text, names without what they are."""
    found = []
    for number, line in enumerate(source.split("\n"), 1):
        for match in _WORD.finditer(_COMMENT.sub("", line)):
            word = match[0]
            if word[0] in "\"'":
                word = "text"
            elif word[0].isidentifier() and word not in KEYWORDS | _BUILTINS:
                word = "name"
            found.append(Token(word, number, number))
            if len(found) == MAX_TOKENS:
                return found
    return found


def _executed(module: ast.Module) -> Iterator[tuple[str, int]]:
    """The texts that a cell executes as code, and the lines on which they begin."""
    for node in ast.walk(module):
        match node:
            case ast.Call(
                func=ast.Name(id="exec" | "eval" | "compile"),
                args=[ast.Constant(value=str(text), lineno=line), *_],
            ):
                yield text, line


class _Normaliser:
    """Turns the syntax tree of a cell into normalised trees.

    Args:
        module: the syntax tree.
        line: the one line on which all of it stands; None if it has lines of its own.
    """

    def __init__(self, module: ast.Module, line: int | None = None) -> None:
        if line is not None:
            for node in ast.walk(module):
                if hasattr(node, "lineno"):
                    node.lineno = node.end_lineno = line
        self._modules = set(_MODULES)
        stored: Counter[str] = Counter()
        loaded: Counter[str] = Counter()
        for node in ast.walk(module):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._modules |= {a.asname or a.name for a in node.names}
            elif isinstance(node, ast.Name):
                (loaded if isinstance(node.ctx, ast.Load) else stored)[node.id] += 1
            elif isinstance(node, ast.arg):
                stored[node.arg] += 1
        # A value that is named once and used once is read where it is used.
        self._once = {n for n in stored if stored[n] == 1 and loaded[n] == 1}
        self._values: dict[str, ast.expr] = {}
        self._inlined = 0

    def statements(self, body: list[ast.stmt], depth: int) -> Iterator[Tree]:
        """The statements that do something."""
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom | ast.Pass):
                continue
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            if isinstance(node, ast.Assign | ast.AnnAssign) and self._is_read_later(
                node
            ):
                continue
            yield self._tree(node, depth)

    def left_over(self) -> Iterator[Tree]:
        """The values that were not read after all, or too deep within others."""
        while self._values:
            yield self._tree(self._values.pop(next(iter(self._values))), 0)

    def _is_read_later(self, node: ast.Assign | ast.AnnAssign) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        (target, *others) = targets
        if others or not isinstance(target, ast.Name) or node.value is None:
            return False
        if target.id not in self._once:
            return False
        self._values[target.id] = node.value
        return True

    def _tree(self, node: ast.AST, depth: int) -> Tree:
        if depth > MAX_DEPTH:
            raise _TooDeep
        label, children = self._parts(node)
        below = depth + 1
        trees = []
        for child in children:
            if isinstance(child, list):
                trees += self.statements(child, below)
            elif isinstance(child, str):
                trees.append(self._leaf(child, node))
            elif isinstance(child, ast.Name) and child.id in self._values:
                trees.append(self._in_place(child, below))
            else:
                trees.append(self._tree(child, below))
        if label == "transpose":
            trees[1:] = sorted(trees[1:], key=lambda tree: tree.digest)
        line = getattr(node, "lineno", 0)
        inner = [tree.line for tree in trees if tree.line]
        line = line or min(inner, default=0)
        # A definition or a loop is matched by its head; its body speaks for itself.
        last = line if _has_body(node) else getattr(node, "end_lineno", None) or line
        return Tree(label, trees, line, last)

    def _in_place(self, name: ast.Name, depth: int) -> Tree:
        if self._inlined >= MAX_INLINED:
            return self._leaf("name", name)
        self._inlined += 1
        tree = self._tree(self._values.pop(name.id), depth)
        self._inlined -= 1
        return tree

    def _leaf(self, label: str, node: ast.AST) -> Tree:
        line = getattr(node, "lineno", 0)
        return Tree(label, [], line, line)

    def _parts(self, node: ast.AST) -> tuple[str, list]:
        """The label of a node, and its children: nodes, bodies and labels of leaves."""
        match node:
            case ast.Name(id=name):
                return (name if name in _BUILTINS else "name"), []
            case ast.Constant(value=value):
                return _constant(value), []
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
                return "-" + _constant(value), []
            case ast.Attribute(value=base, attr="mT" | "T"):
                return "transpose", [base, "-1", "-2"]
            case ast.Attribute(value=base, attr=name):
                own = isinstance(base, ast.Name) and base.id in ("self", "cls")
                label = "own" if own else _SYNONYMS.get(name, name)
                return label, [] if own or self._is_module(base) else [base]
            case ast.Call(func=function, args=args, keywords=keywords):
                return self._call(function, [*args, *keywords])
            case ast.keyword(value=value):
                return "given", [value]
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=0.5)):
                return "sqrt", [left]
            case ast.BinOp(left=left, op=op, right=right):
                return _label(op), [left, right]
            case ast.AugAssign(target=target, op=op, value=value):
                return _label(op), [target, value]
            case ast.AnnAssign(value=value):
                return "Assign", ["name", value] if value else ["name"]
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                both = [right, left] if isinstance(op, _MIRRORED) else [left, right]
                return _label(op), both
            case ast.JoinedStr():
                return "text", []
            case ast.Slice(lower=lower, upper=upper, step=step):
                return "slice", [
                    lower or "to",
                    upper or "to",
                    *([step] if step else []),
                ]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return "def", [node.args, node.body]
            case ast.Lambda(args=args, body=body):
                return "def", [args, body]
            case ast.arg():
                return "name", []
            case ast.ClassDef(bases=bases, body=body):
                return "class", [*bases, body]
        return type(node).__name__, _fields(node)

    def _call(self, function: ast.expr, given: list[ast.AST]) -> tuple[str, list]:
        given = [one.value if isinstance(one, ast.keyword) else one for one in given]
        if isinstance(function, ast.Attribute):
            label, base = self._parts(function)
            return label, [*base, *given]
        if isinstance(function, ast.Name):
            return "call " + self._parts(function)[0], given
        return "call", [function, *given]

    def _is_module(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self._modules


def _fields(node: ast.AST) -> list:
    """The children of a node; statements in lists of their own."""
    found: list = []
    for name, value in ast.iter_fields(node):
        if name in ("ctx", "type_comment", "annotation", "returns", "decorator_list"):
            continue
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            found.append(value)
        elif isinstance(value, list):
            found += [_label(v) if _is_sign(v) else v for v in value if _is_node(v)]
        elif _is_sign(value):
            found.append(_label(value))
        elif _is_node(value):
            found.append(value)
    return found


def _is_node(value: object) -> bool:
    return isinstance(value, ast.AST)


def _is_sign(value: object) -> bool:
    return isinstance(value, ast.operator | ast.cmpop | ast.unaryop | ast.boolop)


def _has_body(node: ast.AST) -> bool:
    return isinstance(getattr(node, "body", None), list)


def _label(node: ast.AST) -> str:
    name = type(node).__name__
    return _SYNONYMS.get(name, name)


def _constant(value: object) -> str:
    """A constant as a label; texts are all alike, and so are 2 and 2.0."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int) and value.bit_length() <= 64:
        return str(value)
    if isinstance(value, float):
        return (
            str(int(value))
            if value.is_integer() and abs(value) < 2**53
            else f"{value:g}"
        )
    return "text" if isinstance(value, str | bytes) else type(value).__name__
