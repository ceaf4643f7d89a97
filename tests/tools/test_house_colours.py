"""Queries, keys and values have their colours in formulas and code."""

import re
from html import unescape

import pytest
from pygments import highlight
from pygments.lexers import PythonLexer
from pygments.styles import get_style_by_name
from pygments.token import Name, Punctuation
from sphinx.errors import ConfigError

from tools.house_colours import PLAIN, FewerElements, colouring, roles_of

ALL = "q k v Q K V query key value queries keys values"


@pytest.mark.parametrize(
    ("tex", "coloured"),
    [
        (r"q_i \cdot k_j", r"\query{q_i} \cdot \key{k_j}"),
        (r"(QK^\top)V", r"(\query{Q}\key{K}^\top)\val{V}"),
        (r"Q' = Q W_Q", r"\query{Q'} = \query{Q} \query{W_Q}"),
        (r"\frac{q}{\sqrt{d_k}}", r"\frac{\query{q}}{\sqrt{d_k}}"),
        (r"k_{j+1}", r"\key{k_{j+1}}"),
        (r"\sum_{v=1}^{V} 10000^{-2k/d}", r"\sum_{v=1}^{V} 10000^{-2k/d}"),
        (r"N_Q \times \text{any Q}", r"N_Q \times \text{any Q}"),
        (r"\operatorname{Var}[V]", r"\operatorname{Var}[\val{V}]"),
        (r"\query{q} + W_a", r"\query{q} + W_a"),
    ],
)
def test_symbols_of_formulas_are_coloured_with_their_index(tex: str, coloured: str):
    assert colouring(roles_of(ALL))(tex) == coloured


def test_what_has_no_colour_cannot_be_listed():
    with pytest.raises(ConfigError, match="'x' has no colour"):
        roles_of("q x")


CODE = '''def attend(query, keys):
    """Compare query with keys: (N, d)."""
    scores = keys @ query  # one score for each of the keys
    values = table.values  # attributes have names of their own
    return show(scores, key=1, values=values)[query == 0]
'''
TAG = re.compile(r'<span class="(query|key|value)">([^<]*)</span>')


def test_names_in_code_are_coloured_where_they_are_the_programs_own():
    shown = unescape(
        highlight(CODE, PythonLexer(), FewerElements(symbols=roles_of(ALL)))
    )
    assert re.sub(r"<[^>]*>", "", shown).rstrip() == CODE.rstrip()
    assert TAG.findall(shown) == [
        *[("query", "query"), ("key", "keys")],
        *[("query", "query"), ("key", "keys")],
        *[("key", "keys"), ("query", "query"), ("key", "keys")],
        *[("value", "values")],
        *[("value", "values"), ("query", "query")],
    ]


PROGRAM = 'import numpy as np\n\n\ndef double(x):\n    return np.add(x, [2 * x["k"]])\n'
ELEMENT = re.compile(r'<span class="(\w+)">([^<]*)</span>')


def test_only_what_has_a_colour_is_an_element():
    shown = unescape(highlight(PROGRAM, PythonLexer(), FewerElements()))
    assert re.sub(r"<[^>]*>", "", shown).rstrip() == PROGRAM.rstrip()
    assert ELEMENT.findall(shown) == [
        *[("kn", "import"), ("k", "as"), ("k", "def"), ("nf", "double")],
        *[("k", "return"), ("o", "."), ("mi", "2"), ("o", "*"), ("s2", '"k"')],
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_tokens_that_become_text_have_one_colour(theme: str):
    style = get_style_by_name(f"a11y-high-contrast-{theme}")
    assert {Name, Punctuation} < PLAIN
    assert len({style.style_for_token(kind)["color"] for kind in PLAIN}) == 1
