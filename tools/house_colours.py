"""Sphinx extension: queries, keys and values in their colours, in formulas and in code.

The configuration lists, page by page, the symbols that stand for queries, keys and
values there, because the same letters mean other things elsewhere: V is the size of a
vocabulary in one chapter, k numbers the terms of a sum in another.

    house_symbols:
      chapters/scaling: q k Q K query queries keys

Exercise notebooks are made from the sources, so their formulas stay plain LaTeX.

In highlighted code there are elements only where there is a colour. Pygments makes one
of each token. Names, punctuation and spaces are most of a program, and look like plain
text in both styles of the theme. As text, they leave a chapter half of its elements,
and a browser less to do each time it lays out the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from docutils import nodes
from pygments.formatters import HtmlFormatter
from pygments.token import (
    STANDARD_TYPES,
    Comment,
    Name,
    Operator,
    Punctuation,
    String,
    Text,
    Token,
    Whitespace,
    _TokenType,
)
from sphinx.application import Sphinx
from sphinx.errors import ConfigError

Roles = dict[str, str]  # a symbol, and the class of the pages' style sheet for it

# With the name of the macro that colours it in formulas.
MACROS = {"query": "query", "key": "key", "value": "val"}
SYMBOLS: Roles = {
    **dict.fromkeys(("q", "Q", "W_Q", "query", "queries"), "query"),
    **dict.fromkeys(("k", "K", "W_K", "key", "keys"), "key"),
    **dict.fromkeys(("v", "V", "W_V", "value", "values"), "value"),
}
ALWAYS = ("W_Q", "W_K", "W_V")  # which mean nothing else anywhere

TOKENS = {role: getattr(Token.House, role.capitalize()) for role in MACROS}
STANDARD_TYPES.update({token: role for role, token in TOKENS.items()})

PLAIN = frozenset({Name, Name.Namespace, Name.Other, Punctuation, Whitespace})

# TeX that is copied: commands, with their argument where it is text, and indices.
COPIED = r"""
    \\(?:text|operatorname|mathrm|mathbb|begin|end|class|query|key|val)\*?\s*\{[^{}]*\}
  | \\[A-Za-z]+ | \\.
  | [_^]\s*(?: \{(?:[^{}]|\{[^{}]*\})*\} | \\[A-Za-z]+ | [^\s{}] )
"""
INDEX = r"'*(?:_(?:\w|\{[^{}]*\}))?"
WORD = re.compile(r"[A-Za-z_]\w*")
IN_TEXT = (nodes.literal, nodes.strong, nodes.emphasis)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_config_value("house_symbols", {}, rebuild="env", types=[dict])
    app.connect("builder-inited", choose_formatter)
    app.connect("doctree-read", colour_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def choose_formatter(app: Sphinx) -> None:
    """Have the pages highlighted by ``FewerElements``."""
    if app.builder.format == "html":
        app.builder.highlighter.formatter = FewerElements


def colour_page(app: Sphinx, doctree: nodes.document) -> None:
    """Colour the symbols of a page; names that a writer gave a colour keep it."""
    roles = roles_of(app.config.house_symbols.get(app.env.docname, ""))
    in_formula = colouring(roles)
    for formula in doctree.findall(
        lambda node: isinstance(node, nodes.math | nodes.math_block)
    ):
        formula[:] = [nodes.Text(in_formula(formula.astext()))]
    for text in doctree.findall(lambda node: isinstance(node, IN_TEXT)):
        role = roles.get(text.astext())
        if role:
            text["classes"].append(role)
    for code in doctree.findall(nodes.literal_block):
        # What Sphinx hands to the formatter.
        code["highlight_args"] = {**code.get("highlight_args", {}), "symbols": roles}


def roles_of(symbols: str) -> Roles:
    """The classes of the symbols that a page lists, and of those that need no listing.

    Raises:
        ConfigError: one of them is no symbol for a query, a key or a value.
    """
    for symbol in symbols.split():
        if symbol not in SYMBOLS:
            raise ConfigError(
                f"house_symbols: {symbol!r} has no colour; choose from "
                f"{' '.join(SYMBOLS)}"
            )
    return {symbol: SYMBOLS[symbol] for symbol in (*ALWAYS, *symbols.split())}


def colouring(roles: Roles) -> Callable[[str], str]:
    """What colours these symbols in TeX, each with its index.

    Only letters can be meant: a word is a product of variables to TeX.
    """
    letters = "".join(symbol for symbol in roles if len(symbol) == 1)
    pattern = re.compile(
        rf"(?P<copied>{COPIED}) | (?P<symbol>W_\{{?[QKV]\}}? | [{letters}\0]{INDEX})",
        re.VERBOSE,
    )

    def coloured(found: re.Match) -> str:
        if found["copied"]:
            return found["copied"]
        symbol = found["symbol"]
        name = symbol[:1] if symbol[0] != "W" else f"W_{symbol.strip('W_{}')}"
        return rf"\{MACROS[roles[name]]}{{{symbol}}}"

    return lambda tex: pattern.sub(coloured, tex)


def with_symbols(
    tokens: Iterable[tuple[_TokenType, str]], roles: Roles
) -> Iterator[tuple[_TokenType, str]]:
    """The tokens of a program, with symbols as tokens of their own.

    A name after a dot is an attribute, and one before a single equals sign within
    brackets an argument's: both are somebody else's words. Comments and docstrings are
    looked at word by word.
    """
    tokens = list(tokens)
    depth = 0
    for place, (kind, text) in enumerate(tokens):
        depth += _brackets(kind, text)
        if kind in Comment or kind in String.Doc:
            yield from _words(kind, text, roles)
        elif kind in Name and text in roles:
            before = (tokens[n] for n in range(place - 1, -1, -1))
            behind = (tokens[n] for n in range(place + 1, len(tokens)))
            is_attribute = _neighbour(before) == "."
            is_argument = depth > 0 and _neighbour(behind) == "="
            foreign = is_attribute or is_argument
            yield (kind if foreign else TOKENS[roles[text]]), text
        else:
            yield kind, text


def _brackets(kind: _TokenType, text: str) -> int:
    """How many brackets a token opens, less those that it closes."""
    if kind in String or kind in Comment:
        return 0
    return sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))


def _neighbour(tokens: Iterable[tuple[_TokenType, str]]) -> str:
    """The first of some tokens that is no space, if it is an operator."""
    for kind, text in tokens:
        if text.strip():
            return text if kind in Operator else ""
    return ""


def _words(
    kind: _TokenType, text: str, roles: Roles
) -> Iterator[tuple[_TokenType, str]]:
    """A comment in pieces: symbols, and what stands between them."""
    end = 0
    for word in WORD.finditer(text):
        if word[0] in roles:
            yield kind, text[end : word.start()]
            yield TOKENS[roles[word[0]]], word[0]
            end = word.end()
    yield kind, text[end:]


class FewerElements(HtmlFormatter):
    """Pygments' formatter, for which tokens without a colour are text.

    Its option ``symbols`` has the names that stand for queries, keys and values.
    """

    def format_unencoded(
        self, tokensource: Iterable[tuple[_TokenType, str]], outfile: TextIO
    ) -> None:
        """Write the tokens of a program; neighbours of one kind are one element."""
        named = with_symbols(tokensource, self.options.get("symbols", {}))
        tokens = ((Text if kind in PLAIN else kind, text) for kind, text in named)
        super().format_unencoded(tokens, outfile)
