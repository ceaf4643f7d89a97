"""The picture of a playground shows the numbers that a chapter gave away."""

from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup

from tools.playground_example import fill_in, picture_of

EXAMPLE = {
    "tokens": ["if·", "x", "<"],
    "weights": [0.125, 0.8, 0.075],
    "layer": 2,
    "head": 3,
    "next": [["y", 0.5], ["<&>", 0.25], ['"', 0.0625], ["z", 0.01]],
}
PLACE = '<div data-playground-example="write"></div>'


def app_with(examples: dict[str, dict]) -> SimpleNamespace:
    """As much of Sphinx as is looked at, with models that one page gave away."""
    given = {name: {"facts": facts} for name, facts in examples.items()}
    return SimpleNamespace(env=SimpleNamespace(playground_models={"page": given}))


def test_tokens_are_shaded_and_bars_as_long_as_their_shares():
    soup = BeautifulSoup(picture_of(EXAMPLE), "html.parser")
    words = soup.select(".playground-example-tokens span")
    assert [word.get_text() for word in words] == EXAMPLE["tokens"]
    assert [float(w["style"].partition(":")[2]) for w in words] == EXAMPLE["weights"]
    assert [w.get("class") for w in words] == [None, ["is-strong"], ["is-query"]]
    rows = [
        (row.th.get_text(), float(row.span["style"].partition(":")[2]))
        for row in soup.select("tr")
    ]
    assert rows == [(token, share) for token, share in EXAMPLE["next"]]
    assert "layer 2, head 3" in soup.get_text()


def test_the_picture_has_a_name_and_its_texts_are_escaped():
    soup = BeautifulSoup(picture_of(EXAMPLE), "html.parser")
    name = soup.select_one('[role="img"]')["aria-label"]
    assert '“y” with 50.0 %, “<&>” with 25.0 %, “"” with 6.2 %' in name
    assert "<&>" not in picture_of(EXAMPLE)


@pytest.mark.parametrize(
    ("examples", "filled"),
    [
        ({"write": {"example": EXAMPLE}}, True),
        ({"other": {"example": EXAMPLE}}, False),
        ({"dates": {}}, False),  # gives no example, and no page asks for one
        ({}, False),
    ],
)
def test_only_the_model_of_the_place_fills_it(examples, filled):
    context = {"body": f"<p>Before</p>{PLACE}"}
    fill_in(app_with(examples), "page", "page.html", context, None)
    assert (PLACE not in context["body"]) == filled
    assert context["body"].startswith("<p>Before</p>")
    fill_in(app_with(examples), "search", "search.html", context := {}, None)
    assert context == {}
