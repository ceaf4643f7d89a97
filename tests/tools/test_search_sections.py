"""Search finds sections by what their titles and their prose say."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.core import publish_doctree

from tools.search_sections import Section, index_of, sections, stems

PAGE = """
A page on masks
===============

It opens with padding. ::

   forbidden = words.of(code)

Hidden keys
-----------

The future is hidden, and :math:`forbiddenformula` too.

.. image:: forbidden.png
   :alt: forbiddenpicture

Scale
-----

Divide by the square root of the width.
"""


@pytest.fixture
def book() -> SimpleNamespace:
    """Two pages, as an environment of Sphinx shows them."""
    trees = {
        "b": publish_doctree(PAGE, settings_overrides={"doctitle_xform": False}),
        "a": publish_doctree(
            "Another page\n============\n\nWords on nothing.\n",
            settings_overrides={"doctitle_xform": False},
        ),
    }
    return SimpleNamespace(
        found_docs=set(trees),
        get_doctree=trees.__getitem__,
        titles={name: next(tree.findall(nodes.title)) for name, tree in trees.items()},
    )


def test_each_section_is_a_place_with_its_own_prose_and_no_code(book: SimpleNamespace):
    found = list(sections(book))
    assert [section[:4] for section in found] == [
        ("a", "", "Another page", "Another page"),
        ("b", "", "A page on masks", "A page on masks"),
        ("b", "hidden-keys", "Hidden keys", "A page on masks"),
        ("b", "scale", "Scale", "A page on masks"),
    ]
    assert found[1].words == ["open", "pad"]
    assert found[2].words == ["futur", "hidden", "too"]


def test_what_is_written_for_short_is_found_where_it_is_written_out():
    assert list(stems("Why divide by the square root?")) == [
        *("divid", "squar", "root", "sqrt"),
    ]
    assert "mha" in stems("the multi-head attention of this layer")
    assert "mha" not in stems("multi-head, and attention")  # another word between
    assert list(stems("RoPE")) == ["rope"]


def weights(index: dict, stem: str) -> dict[int, int]:
    """The weight of a stem for each section that has it."""
    found = index["stems"][stem]
    return dict(zip(found[::2], found[1::2], strict=True))


def section(words: str, title: str = "T", page_title: str = "P") -> Section:
    return Section("page", "anchor", title, page_title, list(stems(words)))


def test_a_title_weighs_more_than_a_mention_and_a_rare_word_more_than_a_common_one():
    filler = "one two three four five six"
    index = index_of(
        [
            section(f"mask {filler}"),
            section(f"token {filler}", title="Masking"),
            section(f"mask mask {filler}"),
            section(f"token {filler}", page_title="Masks"),
            *(section(f"token {filler}") for _ in range(5)),
        ]
    )
    mask, token = weights(index, "mask"), weights(index, "token")
    assert set(mask) == {0, 1, 2, 3}
    assert mask[1] > mask[3] > mask[0]
    assert mask[2] > mask[0] > token[4] > 0
    assert index["sections"][0] == ("page", "anchor", "T", "P")
    assert index["titles"] == {"mask": [1], "t": [0, *range(2, 9)]}


def test_a_book_without_a_word_has_an_index():
    assert index_of([])["stems"] == {}
    assert list(index_of([section("", title="Masks")])["stems"]) == ["mask", "p"]


def test_one_mention_weighs_less_in_a_longer_section():
    index = index_of([section("mask"), section("mask " + "other " * 50), section("x")])
    mask = weights(index, "mask")
    assert mask[0] > mask[1]
