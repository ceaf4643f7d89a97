"""Sphinx extension: in highlighted code, elements only where there is a colour.

Pygments makes an element of each token. Names, punctuation and spaces are most of a
program, and look like plain text in both styles of the theme. As text, they leave a
chapter half of its elements, and a browser less to do each time it lays out the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from pygments.formatters import HtmlFormatter
from pygments.token import Name, Punctuation, Text, Whitespace, _TokenType
from sphinx.application import Sphinx

from tools.house_colours import with_symbols

PLAIN = frozenset({Name, Name.Namespace, Name.Other, Punctuation, Whitespace})


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", choose_formatter)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def choose_formatter(app: Sphinx) -> None:
    """Have the pages highlighted by ``FewerElements``."""
    if app.builder.format == "html":
        app.builder.highlighter.formatter = FewerElements


class FewerElements(HtmlFormatter):
    """Pygments' formatter, for which tokens without a colour are text.

    Its option ``symbols`` has the names that stand for queries, keys and values, as
    ``tools.house_colours`` describes them.
    """

    def format_unencoded(
        self, tokensource: Iterable[tuple[_TokenType, str]], outfile: TextIO
    ) -> None:
        """Write the tokens of a program; neighbours of one kind are one element."""
        named = with_symbols(tokensource, self.options.get("symbols", {}))
        tokens = ((Text if kind in PLAIN else kind, text) for kind, text in named)
        super().format_unencoded(tokens, outfile)
