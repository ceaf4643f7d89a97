"""Search finds sections by what their titles and their prose say."""

from types import SimpleNamespace

from docutils import nodes
from docutils.core import publish_doctree

from tools.pages.search import Place, index_of, place, places, stems

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


def environment(trees: dict[str, nodes.document]) -> SimpleNamespace:
    """Pages, as an environment of Sphinx shows them."""
    titles = {name: next(tree.findall(nodes.title)) for name, tree in trees.items()}
    return SimpleNamespace(get_doctree=trees.__getitem__, titles=titles)


def read(text: str) -> nodes.document:
    return publish_doctree(text, settings_overrides={"doctitle_xform": False})


def test_each_section_is_a_place_with_its_own_prose_and_no_code():
    other = read("Another page\n============\n\nWords on nothing.\n")
    found = list(places(environment({"b": read(PAGE), "a": other}), ["b", "a"]))
    assert [place[:4] for place in found] == [
        ("b", "", "A page on masks", "A page on masks"),
        ("b", "hidden-keys", "Hidden keys", "A page on masks"),
        ("b", "scale", "Scale", "A page on masks"),
        ("a", "", "Another page", "Another page"),
    ]
    assert all(place.is_section and place.names == [] for place in found)
    assert found[0].words == ["open", "pad"]
    assert found[1].words == ["futur", "hidden", "too"]


def test_what_is_written_for_short_is_found_where_it_is_written_out():
    assert list(stems("Why divide by the square root?")) == [
        *("divid", "squar", "root", "sqrt"),
    ]
    assert "mha" in stems("the multi-head attention of this layer")
    assert "mha" not in stems("multi-head, and attention")  # another word between
    assert list(stems("RoPE")) == ["rope"]


def weights(index: dict, stem: str) -> dict[int, int]:
    """The weight of a stem for each place that has it."""
    found = index["stems"][stem]
    return dict(zip(found[::2], found[1::2], strict=True))


def section(words: str, title: str = "T", page_title: str = "P") -> Place:
    return place("page", "anchor", title, page_title, True, [], [words])


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
    assert index["places"][0] == ("page", "anchor", "T", "P", True, [])
    assert index["titles"] == {"mask": [1], "t": [0, *range(2, 9)]}
