"""The picture of a token and its projections; its numbers against torch and numpy."""

import re

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, Page

from tests.book.contents import ROOT
from tests.book.pictures_alone import Open, centre, numbers
from tools.live_pictures import projections


def chapter() -> dict:
    """What the cell of the chapter defines in which bank finds its meaning."""
    text = (ROOT / "chapters" / "qkv_projections.md").read_text(encoding="utf-8")
    code = re.search(r"^words = \[.*?^topics = [^\n]*", text, re.M | re.S)[0]
    given: dict = {"np": np}
    exec(code, given)
    return given


def test_words_and_projections_are_those_of_the_chapter():
    given = chapter()
    assert given["words"] == [*projections.OPENING, projections.LAST[0]]
    vectors = [projections.VECTORS[word] for word in given["words"]]
    np.testing.assert_array_equal(given["X"], vectors)
    np.testing.assert_array_equal(given["topics"], projections.turned(0))
    text = (ROOT / "chapters" / "qkv_projections.md").read_text(encoding="utf-8")
    firm = re.search(r"W_Q, W_K, W_V = (\d+) \* topics, topics, topics", text)
    assert float(firm[1]) == projections.FACTOR


def expected(token, last, turns=(0, 0, 0)) -> dict[str, np.ndarray]:
    """Everything the picture computes; a plane is turned as complex numbers are."""
    given = chapter()
    X = given["X"][:, 1:3].copy()  # finance and water
    X[3], X[5] = token, {"money": (3, 0), "river": (0, 3)}[last]
    as_complex = X[:, 0] + 1j * X[:, 1]
    q, k, v = (
        np.stack([turned.real, turned.imag], axis=1)
        for turned in (as_complex * np.exp(1j * np.radians(angle)) for angle in turns)
    )
    queries, keys, values = (torch.from_numpy(x) for x in (3 * q, k, v))
    sdpa = torch.nn.functional.scaled_dot_product_attention
    identity = torch.eye(len(X), dtype=torch.float64)
    return {
        "query": queries[3].numpy(),
        "keys": k,
        "values": v,
        "scores": (keys @ queries[3] / 2**0.5).numpy(),
        "weights": sdpa(queries, keys, identity)[3].numpy(),
        "output": sdpa(queries, keys, values)[3].numpy(),
    }


def check(picture: Locator, token=(1, 1), last="money", turns=(0, 0, 0)) -> None:
    """Compare all numbers that the picture shows, and where it draws."""
    found = expected(token, last, turns)
    shown = picture.locator(".live-score").all_inner_texts()
    np.testing.assert_allclose(numbers(" ".join(shown)), found["scores"], atol=0.0051)
    shown = picture.locator(".live-weight").all_inner_texts()
    np.testing.assert_allclose(
        numbers(" ".join(shown)), 100 * found["weights"], atol=0.51
    )
    told = [numbers(t) for t in picture.locator(".roles-numbers").all_inner_texts()]
    np.testing.assert_allclose(told[0], token, atol=0.0051)
    of_q = [*found["query"], *filter(None, turns[:2])]  # nothing is said of no turn
    np.testing.assert_allclose(told[1], of_q, atol=0.0051)
    of_y = [*found["output"], *filter(None, turns[2:])]
    np.testing.assert_allclose(told[2], of_y, atol=0.0051)
    says = picture.locator(".live-says").inner_text()
    assert numbers(says)[-2] == pytest.approx(found["scores"][5], abs=0.0051)
    assert f"score of “{last}”" in says
    for name, plane, point in [
        ("roles-token", "token", token),
        ("plane-query", "match", found["query"]),
        ("plane-key.is-last", "match", found["keys"][5]),
        ("roles-value.is-last", "value", found["values"][5]),
        ("plane-output", "value", found["output"]),
    ]:
        moved = picture.locator(f".{name}").get_attribute("transform")
        where = [float(n) for n in re.findall(r"-?[\d.]+(?:e-\d+)?", moved)]
        np.testing.assert_allclose(
            where, projections.place(plane, point), atol=0.01, err_msg=name
        )


def at(picture: Locator, plane: str, point: tuple[float, float]) -> tuple[float, float]:
    """Where a point of a plane is on the screen."""
    box = picture.locator(f".roles-plane-{plane} .plane-axes").bounding_box()
    unit = box["width"] / (2 * projections.MIDDLE) * projections.UNITS[plane]
    return (
        box["x"] + box["width"] / 2 + unit * point[0],
        box["y"] + box["height"] / 2 - unit * point[1],
    )


def drag(page: Page, knob: Locator, *places: tuple[float, float]) -> None:
    page.mouse.move(*centre(knob))
    page.mouse.down()
    for where in places:
        page.mouse.move(*where)
    page.mouse.up()


def test_tokens_and_projections_follow_the_mouse(opened: Open):
    with opened("projections") as (page, picture):
        check(picture)
        token = picture.locator(".roles-token .live-reach")
        drag(page, token, at(picture, "token", (0, 0.5)), at(picture, "token", (-1, 1)))
        check(picture, (-1, 1))
        drag(page, token, at(picture, "token", (3, 0)))  # no further than its reach
        check(picture, (2, 0))
        query = picture.locator(".plane-query .live-reach")
        drag(page, query, at(picture, "match", (0, 5)))
        check(picture, (2, 0), turns=(90, 0, 0))
        key = picture.locator(".plane-key .live-reach")
        drag(page, key, at(picture, "match", (-2, -2)))
        check(picture, (2, 0), turns=(90, -135, 0))
        value = picture.locator(".roles-value .live-reach")
        drag(page, value, at(picture, "value", (-3, 0)))
        check(picture, (2, 0), turns=(90, -135, 180))
        picture.get_by_text("river", exact=True).click()
        check(picture, (2, 0), "river", (90, -135, 180))
        drag(page, token, at(picture, "token", (0, 0)))  # a query of zero
        check(picture, (0, 0), "river", (90, -135, 180))
        page.mouse.click(*at(picture, "token", (0.5, -1.2)))
        check(picture, (0.5, -1.2), "river", (90, -135, 180))


def test_tokens_and_projections_follow_the_keys(opened: Open):
    with opened("projections", 360) as (page, picture):
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowRight")
        check(picture, last="river")
        page.keyboard.press("Tab")
        knob = picture.get_by_role("slider", name="Token of bank")
        assert knob.evaluate("knob => knob === document.activeElement")
        page.keyboard.press("ArrowLeft")
        check(picture, (0.9, 1.0), "river")
        page.keyboard.press("Home")
        knob = picture.get_by_role("slider", name="Turn of queries")
        knob.focus()
        for key, degrees in [("Shift+ArrowUp", 50), ("ArrowLeft", 45), ("Home", 0)]:
            page.keyboard.press(key)
            check(picture, last="river", turns=(degrees, 0, 0))
            assert numbers(knob.get_attribute("aria-valuetext")) == [degrees]
