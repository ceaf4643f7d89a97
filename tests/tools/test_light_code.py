"""Highlighted code has elements where it has colours."""

import re
from html import unescape

import pytest
from pygments import highlight
from pygments.lexers import PythonLexer
from pygments.styles import get_style_by_name
from pygments.token import Name, Punctuation

from tools.house_colours import PLAIN, FewerElements

CODE = 'import numpy as np\n\n\ndef double(x):\n    return np.add(x, [2 * x["k"]])\n'
TAG = re.compile(r'<span class="(\w+)">([^<]*)</span>')


def test_only_what_has_a_colour_is_an_element():
    shown = unescape(highlight(CODE, PythonLexer(), FewerElements()))
    assert re.sub(r"<[^>]*>", "", shown).rstrip() == CODE.rstrip()
    assert TAG.findall(shown) == [
        *[("kn", "import"), ("k", "as"), ("k", "def"), ("nf", "double")],
        *[("k", "return"), ("o", "."), ("mi", "2"), ("o", "*"), ("s2", '"k"')],
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_tokens_that_become_text_have_one_colour(theme: str):
    style = get_style_by_name(f"a11y-high-contrast-{theme}")
    assert {Name, Punctuation} < PLAIN
    assert len({style.style_for_token(kind)["color"] for kind in PLAIN}) == 1
