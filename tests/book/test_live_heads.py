"""The picture of two heads; its numbers against torch's own layer."""

import itertools
import re

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator

from tests.book.contents import ROOT
from tests.book.pictures_alone import Open, numbers
from tools.live_pictures import head_loop

N = len(head_loop.WORDS)


def chapter() -> dict:
    """What the cell of the chapter defines that writes the sentence by hand."""
    text = (ROOT / "chapters" / "multi_head.md").read_text(encoding="utf-8")
    code = re.search(r"^words = .*?^W_V = [^\n]*", text, re.M | re.S)[0]
    given: dict = {"np": np}
    exec(code, given)
    return given


def expected(num_heads: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights (h, N, N) and output (N, E), by torch's layer."""
    given = {name: chapter()[name] for name in ("X", "W_Q", "W_K", "W_V")}
    X, *projections = (torch.as_tensor(array) for array in given.values())
    E = X.shape[1]
    layer = torch.nn.MultiheadAttention(E, num_heads, bias=False, batch_first=True)
    layer = layer.double()
    packed = torch.cat(projections, dim=1).T
    layer.load_state_dict({"in_proj_weight": packed, "out_proj.weight": torch.eye(E)})
    with torch.no_grad():
        output, weights = layer(X, X, X, average_attn_weights=False)
    return weights.numpy(), output.numpy()


def test_the_sentence_and_its_projections_are_those_of_the_chapter():
    given = chapter()
    assert given["words"] == list(head_loop.WORDS)
    assert given["features"] == list(head_loop.FEATURES)
    queries = head_loop.SHARPNESS * head_loop.selecting(head_loop.QUERIES)
    for theirs, ours in [
        (given["X"], head_loop.tokens()),
        (given["W_Q"], queries),
        (given["W_K"], head_loop.selecting(head_loop.KEYS)),
        (given["W_V"], head_loop.selecting(head_loop.VALUES)),
    ]:
        assert theirs.tolist() == ours.tolist()


def check(picture: Locator, view: int, query: int) -> None:
    """Compare all that the picture shows of one head and one query."""
    num_heads, head = (1, 0) if view == 2 else (2, view)
    weights, output = expected(num_heads)
    row, output = weights[head, query], output[query]
    word = head_loop.WORDS[query]
    shown = picture.locator(".heads-keys .live-weight").all_inner_texts()
    np.testing.assert_allclose(numbers(" ".join(shown)), 100 * row, atol=0.51)
    widths = picture.locator(".heads-lines path").evaluate_all(
        "all => all.map(line => Number(line.getAttribute('stroke-width')))"
    )
    shares = np.array(widths).reshape(N, N) / head_loop.THICKEST
    np.testing.assert_allclose(shares, weights[head], atol=0.001)
    cells = numbers(" ".join(picture.locator(".heads-output td").all_inner_texts()))
    side_by_side = output.reshape(2, -1).T.ravel()
    np.testing.assert_allclose(cells, side_by_side, atol=0.0051)
    joined = numbers(" ".join(picture.locator(".heads-joined li").all_inner_texts()))
    np.testing.assert_allclose(joined, output, atol=0.0051)
    names = picture.locator(".heads-name").all_inner_texts()
    assert names == (["one head"] * 2 if view == 2 else ["head 1", "head 2"])
    assert picture.locator(".heads-output b").inner_text() == word
    check_sentence(picture.locator(".live-says").inner_text(), view, query, row)


def check_sentence(says: str, view: int, query: int, row: np.ndarray) -> None:
    """The words named are those with much weight, each with its own."""
    about = says.split(". ")[0]
    assert about.startswith(("In head 1", "In head 2", "In a single head")[view])
    if np.ptp(row) < 1e-6:
        assert "all words equally" in about
        return
    told = re.findall(r"(itself|“\w+”) \((\d+)\s%\)", about)
    keys = np.flatnonzero(row >= head_loop.LEAST)
    names = ["itself" if k == query else f"“{head_loop.WORDS[k]}”" for k in keys]
    assert [name for name, _ in told] == names
    for (_, share), key in zip(told, keys, strict=True):
        assert int(share) == pytest.approx(100 * row[key], abs=0.51)


def test_each_head_shows_what_it_attends_to_for_every_word(opened: Open):
    with opened("head_loop") as (_, picture):
        check(picture, *head_loop.START)
        for view, query in itertools.product(range(3), range(N)):
            picture.get_by_text(head_loop.VIEWS[view], exact=True).click()
            radio = picture.locator(f"input[name=head-loop-query][value='{query}']")
            radio.locator("xpath=..").click()
            check(picture, view, query)
