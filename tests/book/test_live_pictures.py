"""Pictures moved with mouse, finger and keys; their numbers against NumPy and torch."""

import math
import re

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator

from tests.book.contents import ROOT
from tests.book.pictures_alone import Open, centre, numbers
from tools.attention_scene import LAST, OPENING, VECTORS
from tools.live_pictures import PICTURES, mask_grid, position_curve, score_spread
from tools.live_pictures.query_plane import SHOWN

# Everything that can be seen of a picture, but for the hint on how to move it.
DRAWN = """picture => [...picture.querySelectorAll('*')].filter(
  e => !e.closest('script, .live-hint, fieldset')).map(e => [
    e.tagName, e.tagName === 'svg' ? '' : e.getAttribute('class') ?? '',
    e.children.length ? '' : e.textContent,
    ...['d', 'x1', 'y1', 'x2', 'y2', 'x', 'y', 'width', 'height', 'transform', 'style',
        'stroke-width', 'stroke-opacity'].map(
      a => (e.getAttribute(a) ?? '').replace(/[ ;]+$|(?<=:) /g, ''))])"""
BOX = """() => ['.live-picture', '#after'].map(name => {
  const box = document.querySelector(name).getBoundingClientRect();
  return [box.x, box.y, box.width, box.height];
})"""


def rounded(drawn: list[list[str]]) -> list[tuple]:
    """What is drawn, with numbers as precise as anybody can see."""
    return [
        tuple(
            (re.sub(r"-?\d+(\.\d+)?(e-\d+)?", "#", text),
             tuple(round(float(n), 1) + 0.0
                   for n in re.findall(r"-?\d+(?:\.\d+)?(?:e-\d+)?", text)))
            for text in texts
        )
        for texts in drawn
    ]  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_changes_when_the_script_takes_over(name: str, opened: Open):
    with opened(name, width := 360, java_script_enabled=False) as (page, picture):
        before, where = picture.evaluate(DRAWN), page.evaluate(BOX)
        assert picture.locator("[tabindex], input:not([disabled])").count() == 0
        assert not picture.locator(".live-hint").is_visible()
        drawn = picture.locator("[role=img]")
        for one in drawn.all():
            assert len(one.get_attribute("aria-label").split()) >= 15
        assert drawn.count() or picture.locator("table, [role=grid]").count()
    with opened(name, width) as (page, picture):
        after = picture.evaluate(DRAWN)
        assert picture.locator(".live-hint").is_visible()
        assert page.evaluate(BOX) == where
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    for one, other in zip(rounded(before), rounded(after), strict=True):
        for (text, values), (live_text, live_values) in zip(one, other, strict=True):
            assert text == live_text
            np.testing.assert_allclose(values, live_values, atol=0.11)


# The query in the plane --------------------------------------------------------------


def expected(q: tuple[float, float], last: str) -> tuple[np.ndarray, ...]:
    """Scores, weights and output by torch."""
    X = torch.tensor([VECTORS[w] for w in (*OPENING, last)], dtype=torch.float64)
    query = torch.zeros(1, X.shape[1], dtype=X.dtype)
    query[0, list(SHOWN)] = torch.tensor(q, dtype=X.dtype)
    sdpa = torch.nn.functional.scaled_dot_product_attention
    weights = sdpa(query, X, torch.eye(len(X), dtype=X.dtype))[0]
    scores = (X * query / X.shape[1] ** 0.5).sum(dim=1)
    output = sdpa(query, X, X)[0][list(SHOWN)]
    return scores.numpy(), weights.numpy(), output.numpy()


def check_plane(picture: Locator, q: tuple[float, float], last: str) -> None:
    """Compare all numbers that the picture shows, and where it draws."""
    scores, weights, output = expected(q, last)
    said = picture.locator(".plane-query").get_attribute("aria-valuetext")
    assert numbers(said) == pytest.approx(q)
    shown = picture.locator(".live-score").all_inner_texts()
    np.testing.assert_allclose(numbers(" ".join(shown)), scores, atol=0.0051)
    shown = picture.locator(".live-weight").all_inner_texts()
    np.testing.assert_allclose(numbers(" ".join(shown)), 100 * weights, atol=0.51)
    says = picture.locator(".live-says").inner_text()
    np.testing.assert_allclose(numbers(says)[-2:], output, atol=0.0051)
    assert numbers(says)[0] == pytest.approx(100 * weights.max(), abs=0.51)
    words = (*OPENING, last)
    best = [
        w for w, a in zip(words, weights, strict=True) if np.isclose(a, max(weights))
    ]
    named = re.findall("“(.+?)”", says)
    assert named == (best if len(best) < len(words) else [])
    for name, point in [("plane-output path", output), ("plane-query .live-reach", q)]:
        where = in_page(picture, point)
        np.testing.assert_allclose(centre(picture.locator(f".{name}")), where, atol=2)


def in_page(picture: Locator, q: tuple[float, float]) -> tuple[float, float]:
    """Where a point of the plane is on the screen."""
    box = picture.locator(".plane-grid").bounding_box()
    unit = box["width"] / 6
    return box["x"] + (q[0] + 2) * unit, box["y"] + (4 - q[1]) * unit


def test_the_query_follows_the_mouse(opened: Open):
    with opened("query_plane") as (page, picture):
        check_plane(picture, (3, 3), "money")
        page.mouse.move(*in_page(picture, (3, 3)))
        page.mouse.down()
        for q in [(2.5, 0.5), (0, 0), (4, -2)]:
            page.mouse.move(*in_page(picture, q))
            check_plane(picture, q, "money")
        page.mouse.move(0, 0)  # out of the plane: it stays at the edge
        check_plane(picture, (-2, 4), "money")
        page.mouse.up()
        page.mouse.move(*in_page(picture, (1, 1)))
        check_plane(picture, (-2, 4), "money")
        page.mouse.click(*in_page(picture, (1.5, -1.5)))
        check_plane(picture, (1.5, -1.5), "money")


def test_the_query_follows_the_keys(opened: Open):
    with opened("query_plane", 360) as (page, picture):
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowRight")
        check_plane(picture, (3, 3), LAST[1])
        page.keyboard.press("Tab")
        knob = picture.get_by_role("slider", name="Query")
        assert knob.evaluate("knob => knob === document.activeElement")
        for key, q in [
            ("ArrowLeft", (2.9, 3.0)),
            ("Shift+ArrowUp", (2.9, 4.0)),
            ("Shift+ArrowRight", (3.9, 4.0)),
            ("Home", (3.0, 3.0)),
        ]:
            page.keyboard.press(key)
            check_plane(picture, q, LAST[1])
        assert page.evaluate("scrollY") == 0


def test_the_query_follows_a_finger(opened: Open):
    with opened("query_plane", 360, has_touch=True) as (page, picture):
        page.touchscreen.tap(*in_page(picture, (-1, 2)))
        check_plane(picture, (-1, 2), "money")
        finger = page.context.new_cdp_session(page)

        def touch(kind: str, *points: tuple[float, float]) -> None:
            at = [dict(zip("xy", in_page(picture, q), strict=True)) for q in points]
            asked = {"type": kind, "touchPoints": at}
            finger.send("Input.dispatchTouchEvent", asked)

        touch("touchStart", (-1, 2))
        for q in [(0, 1.5), (1, 0), (2, -1)]:
            touch("touchMove", q)
        touch("touchEnd")
        check_plane(picture, (2, -1), "money")
        assert page.evaluate("scrollY") == 0


# The mask ----------------------------------------------------------------------------

N = len(mask_grid.WORDS)
CAUSAL = np.tril(np.ones((N, N), dtype=bool))


def check_mask(picture: Locator, allowed: np.ndarray) -> None:
    """Compare weights, sums, marks and words with torch's attention."""
    scores = torch.tensor(mask_grid.SCORES, dtype=torch.float64)
    weights = scores.masked_fill(~torch.from_numpy(allowed), -torch.inf).softmax(dim=-1)
    weights = weights.nan_to_num(0.0).numpy()  # of rows that are fully masked
    cells = picture.locator(".mask-cell")
    pressed = cells.evaluate_all("all => all.map(c => c.ariaPressed === 'true')")
    np.testing.assert_array_equal(pressed, allowed.ravel())
    shown = cells.evaluate_all("all => all.map(c => c.textContent)")
    for text, weight, may in zip(shown, weights.ravel(), allowed.ravel(), strict=True):
        assert (text == "hidden") == (not may)
        assert not may or numbers(text) == pytest.approx([weight], abs=0.0051)
    sums = numbers(" ".join(picture.locator(".mask-sum").all_inner_texts()))
    np.testing.assert_allclose(sums, weights.sum(axis=1), atol=0.0051)
    leaks = allowed & (np.arange(N)[:, None] < np.arange(N))
    marked = cells.evaluate_all("all => all.map(c => c.matches('.is-leak'))")
    np.testing.assert_array_equal(marked, leaks.ravel())
    words = np.array(mask_grid.WORDS)
    leaking, empty = words[leaks.any(axis=1)], words[~allowed.any(axis=1)]
    says = picture.locator(".live-says").inner_text()
    assert re.findall("“(.+?)”", says) == [*leaking, *empty]
    assert says.startswith("No leak:") == (not leaking.size)
    assert ("fully masked" in says) == bool(empty.size)


def test_the_mask_leaves_no_half_of_its_box_empty(opened: Open):
    with opened("mask_grid", 1280) as (_, picture):
        box, grid = picture.bounding_box(), picture.locator("table").bounding_box()
        assert grid["width"] > 0.6 * box["width"]


def test_the_words_and_scores_are_those_of_the_chapter():
    text = (ROOT / "chapters" / "masking.md").read_text(encoding="utf-8")
    given: dict = {"np": np}
    for pattern in (r"^words = .*?^\)", r"^scores = .*?$"):
        exec(re.search(pattern, text, re.M | re.S)[0], given)
    assert tuple(given["words"][2:]) == mask_grid.WORDS
    assert given["scores"][2:, 2:].tolist() == [list(row) for row in mask_grid.SCORES]


def over(picture: Locator, query: int, key: int) -> tuple[float, float]:
    return tuple(centre(picture.locator(".mask-cell").nth(query * N + key)))


def test_cells_are_painted_with_the_mouse(opened: Open):
    with opened("mask_grid") as (page, picture):
        check_mask(picture, CAUSAL)
        allowed = CAUSAL.copy()
        page.mouse.move(*over(picture, 3, 0))
        page.mouse.down()
        allowed[3, 0] = False
        check_mask(picture, allowed)
        for key in (1, 2, 1, 3):  # what is painted stays painted
            page.mouse.move(*over(picture, 3, key))
            allowed[3, key] = False
            check_mask(picture, allowed)
        page.mouse.up()
        page.mouse.move(*over(picture, 1, 1))
        check_mask(picture, allowed)
        page.mouse.click(*over(picture, 1, 3))
        allowed[1, 3] = True
        check_mask(picture, allowed)
        for name, preset in [
            ("hide all", np.zeros_like(CAUSAL)),
            ("allow all", np.ones_like(CAUSAL)),
            ("causal", CAUSAL),
        ]:
            picture.get_by_role("button", name=name, exact=True).click()
            check_mask(picture, preset)


def test_cells_are_changed_with_the_keys(opened: Open):
    with opened("mask_grid", 360) as (page, picture):
        picture.get_by_role("button", name="hide all").focus()
        page.keyboard.press("Tab")
        allowed = CAUSAL.copy()
        for keys, place in [
            ([], (0, 0)),
            (["ArrowUp", "ArrowLeft", "ArrowRight"], (0, 1)),
            (["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown"], (3, 1)),
        ]:
            for key in keys:
                page.keyboard.press(key)
            page.keyboard.press("Space")
            allowed[place] ^= True
            check_mask(picture, allowed)
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")  # the grid is one stop, at the last cell
        page.keyboard.press("Space")
        allowed[3, 1] ^= True
        check_mask(picture, allowed)


# The spread of scores ----------------------------------------------------------------


def check_spread(picture: Locator, power: int) -> None:
    """Compare both rows of dots with the vectors themselves."""
    d = 2**power
    rng = np.random.default_rng(score_spread.SEED)
    query, *keys = (
        rng.standard_normal(2**score_spread.LARGEST)[:d]
        for _ in range(1 + score_spread.NUM_KEYS)
    )
    said = numbers(picture.locator(".live-says").inner_text())
    assert said[0] == d
    told = picture.locator(".spread-width").get_attribute("aria-valuetext")
    assert told == f"d = {d}"
    for row, scale, (deviation, largest) in [
        ("is-raw", 1.0, said[1:3]),
        ("is-scaled", math.sqrt(d), said[3:5]),
    ]:
        raw = torch.tensor([query @ key / scale for key in keys])
        scores, weights = raw.numpy(), raw.softmax(dim=0).numpy()
        dots = picture.locator(f".{row} title").evaluate_all(
            "all => all.map(title => title.textContent)"
        )
        shown = np.array([numbers(dot) for dot in dots])
        np.testing.assert_allclose(shown[:, 0], scores, atol=0.0061)
        np.testing.assert_allclose(shown[:, 1], 100 * weights, atol=0.55)
        assert deviation == pytest.approx(scores.std(), abs=0.051)
        assert largest == pytest.approx(100 * weights.max(), abs=0.55)


def test_the_width_of_vectors_follows_mouse_and_keys(opened: Open):
    last = score_spread.LARGEST
    with opened("score_spread", reduced_motion="reduce") as (page, picture):
        knob = picture.get_by_role("slider", name="Width d")
        check_spread(picture, score_spread.START)
        ends = picture.locator(".spread-track").bounding_box()
        middle = ends["y"] + ends["height"] / 2
        for power in (8.2, 0.1, last + 0.4):
            page.mouse.click(ends["x"] + ends["width"] * power / last, middle)
            check_spread(picture, round(power))
        knob.focus()
        page.keyboard.press("ArrowLeft")
        check_spread(picture, last - 1)


# Positions ---------------------------------------------------------------------------


def check_positions(picture: Locator, query: int, key: int) -> None:
    """Compare the curve with a closed form: the cosines of all angles between two."""
    frequencies = 10000.0 ** (
        -2 * np.arange(position_curve.DIM // 2) / position_curve.DIM
    )
    apart = np.arange(position_curve.LENGTH) - query  # (N,)
    cosines = np.cos(apart[:, None] * frequencies).mean(axis=1)  # (N,)
    said = numbers(picture.locator(".live-says").inner_text())
    assert said[:2] == [query, key]
    assert said[2:-1] == ([abs(key - query)] if key != query else [])
    assert said[-1] == pytest.approx(cosines[key], abs=0.00051)
    drawn = np.array(
        re.findall(r"-?[\d.]+", picture.locator(".position-curve").get_attribute("d")),
        dtype=float,
    ).reshape(-1, 2)
    assert len(drawn) == position_curve.LENGTH
    below = (drawn[:, 1] - position_curve.TOP) / (
        position_curve.GROUND - position_curve.TOP
    )
    np.testing.assert_allclose(1 - below, cosines, atol=0.001)
    for who, position in (("Query", query), ("Key", key)):
        knob = picture.get_by_role("slider", name=who)
        assert knob.get_attribute("aria-valuenow") == str(position)
        told = numbers(knob.get_attribute("aria-valuetext"))
        assert told == pytest.approx([position, cosines[key]], abs=0.00051)


def test_positions_are_dragged_and_their_dot_products_follow(opened: Open):
    last = position_curve.LENGTH - 1
    query, key = position_curve.START
    with opened("position_curve") as (page, picture):
        check_positions(picture, query, key)
        box = picture.locator(".plane-grid").bounding_box()

        def at(position: float, who: str) -> tuple[float, float]:
            knob = picture.locator(f".position-{who} .live-reach")
            return box["x"] + box["width"] * position / last, float(centre(knob)[1])

        for who in ("query", "key"):
            page.mouse.move(*at({"query": query, "key": key}[who], who))
            page.mouse.down()
            for position in (33, 200, 12.2):
                page.mouse.move(*at(position, who))
                moved = min(last, round(position))
                query, key = (moved, key) if who == "query" else (query, moved)
                check_positions(picture, query, key)
            page.mouse.up()
        page.mouse.click(at(40, "query")[0], box["y"] + 5)
        check_positions(picture, 40, key)
        picture.get_by_role("slider", name="Key").focus()
        page.keyboard.press("Shift+ArrowUp")
        check_positions(picture, 40, key + 10)
