"""Search finds sections by what their titles and their prose say."""

from types import SimpleNamespace

from docutils import nodes
from docutils.core import publish_doctree
from sphinx import addnodes
from sphinx_exercise.nodes import exercise_node, exercise_subtitle, exercise_title

from tools.search_sections import Place, index_of, place, places, stems

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


def link(term: str) -> nodes.paragraph:
    """A paragraph that links a term to the glossary, as ``{term}`` does."""
    cross = addnodes.pending_xref("", nodes.inline("", term), reftype="term")
    cross["reftarget"] = term
    return nodes.paragraph("", "", cross)


def test_exercises_and_terms_are_places_and_a_term_belongs_where_it_is_linked_first():
    chapter, later = read(PAGE), read("Later\n=====\n\nWords.\n")
    hidden = chapter[0][3]
    assert hidden["ids"] == ["hidden-keys"]
    subtitle = exercise_subtitle("", "Causal mask")
    title = exercise_title("", "Exercise", subtitle)
    task = nodes.section("", nodes.paragraph("", "Return triangles."))
    hidden += [
        link("Causal mask"),
        exercise_node("", title, task, label="exercise-causal_mask"),
    ]
    later[0] += [link("causal mask"), link("key")]
    words = read("Glossary\n========\n\nTerms.\n")
    term = nodes.term("", "causal mask", ids=["term-causal-mask"])
    item = nodes.definition_list_item("", term, nodes.definition("", link("future")))
    words[0] += addnodes.glossary("", nodes.definition_list("", item))

    pages = {"chapter": chapter, "later": later, "words": words}
    found = list(places(environment(pages), list(pages)))
    names = {place.title: place.names for place in found if place.names}
    assert names == {"Hidden keys": ["causal mask"], "Causal mask": ["causal_mask"]} | {
        "Later": ["key"]
    }
    assert [place[:5] for place in found if not place.is_section] == [
        (
            *("chapter", "exercise-causal_mask", "Causal mask"),
            *("Exercise, A page on masks", False),
        ),
        ("words", "term-causal-mask", "causal mask", "Glossary", False),
    ]
    assert [place.words for place in found if not place.is_section] == [
        ["return", "triangl"],
        ["futur"],
    ]
    assert next(place for place in found if place.page == "words").words == ["term"]


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


def test_a_book_without_a_word_has_an_index():
    assert index_of([])["stems"] == {}
    assert list(index_of([section("", title="Masks")])["stems"]) == ["mask", "p"]


def test_one_mention_weighs_less_in_a_longer_section():
    index = index_of([section("mask"), section("mask " + "other " * 50), section("x")])
    mask = weights(index, "mask")
    assert mask[0] > mask[1]
