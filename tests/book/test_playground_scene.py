"""One scene each: characters or patches, what is read of them, and the numbers."""

import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import Page, expect
from torch import Tensor, nn

from tests.book.playgrounds import (
    RUN_TRANSLATOR,
    Window,
    computed,
    seen,
    trained_translator,
    trained_vit,
    weights_file,
)
from tests.suites import sweep
from toolkit import datasets, images
from toolkit.translator import START

LINE, ANSWER = "Freitag, 3. Juli 2026", "2026-07-03"
SHOWN = {"rtol": 0, "atol": 0.0051 + 1e-4}  # two decimals, of nearly equal numbers


def number(text: str) -> float:
    return float(re.search(r"[−\d.]+(?=\D*$)", text)[0].replace("−", "-"))


# The numbers behind a line


@torch.no_grad()
def head_in_torch(
    model: nn.Module, kind: str, layer: int, head: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries (N, d), keys (T, d) and values (T, d) of one head, for the line above."""
    part = {
        "encoder": model.encoder.layers[layer].self_attn,
        "decoder": model.decoder.layers[layer].self_attn,
        "cross": model.decoder.layers[layer].multihead_attn,
    }[kind]
    inputs = []
    hook = part.register_forward_pre_hook(lambda part, given: inputs.extend(given[:3]))
    source, target = datasets.date_vocabularies()
    prefix = torch.tensor([[START, *target.encode(ANSWER)]])
    model(torch.tensor([source.encode(LINE)]), prefix)
    hook.remove()
    return projected(part, head, inputs)


def projected(
    part: nn.MultiheadAttention, head: int, inputs: list[Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """One head's queries, keys and values of the first inputs of a batch."""
    maps = zip(part.in_proj_weight.chunk(3), part.in_proj_bias.chunk(3), strict=True)
    return tuple(
        F.linear(x[0], *projection).chunk(part.num_heads, dim=-1)[head]
        for x, projection in zip(inputs, maps, strict=True)
    )


def assert_numbers(
    page: Page, q: Tensor, k: Tensor, v: Tensor, query: int, key: int
) -> None:
    """The page shows what follows from queries (N, d), keys and values (T, d)."""
    output = F.scaled_dot_product_attention(q[query : query + 1], k, v)[0]
    scores = q[query] @ k.T / q.shape[-1] ** 0.5
    weight = scores.softmax(dim=-1)[key]
    cells = [
        [number(text) for text in row.locator("td").all_inner_texts()]
        for row in page.locator(".playground-pair tbody tr").all()
    ]
    expected = [q[query], k[key], q[query] * k[key], v[key], weight * v[key], output]
    torch.testing.assert_close(torch.tensor(cells), torch.stack(expected, 1), **SHOWN)
    steps = page.locator(".playground-pair li b").all_inner_texts()
    total, score, share = map(number, steps)
    assert total == pytest.approx((q[query] @ k[key]).item(), abs=0.006)
    assert score == pytest.approx(scores[key].item(), abs=0.006)
    assert share == pytest.approx(100 * weight.item(), abs=0.06)


@sweep(
    ("kind", "layer", "head", "query", "key"),
    [
        ("cross", 0, 0, 5, 12),
        ("decoder", 1, 1, 6, 2),
        ("encoder", 1, 2, 20, 3),
    ],
)
def test_the_numbers_of_a_line_are_those_of_torch(
    html: Path, window: Window, kind: str, layer: int, head: int, query: int, key: int
):
    q, k, v = head_in_torch(trained_translator(html), kind, layer, head)
    if kind == "decoder":
        k, v = k[: query + 1], v[: query + 1]
    scene = {"line": LINE, "attention": kind, "head": f"{layer + 1}.{head + 1}"}
    scene |= {"key": key + 1, "letter" if kind == "encoder" else "position": query + 1}
    page = window.visit("playground_dates", scene)
    assert_numbers(page, q, k, v, query, key)


def pairs(page: Page) -> set[tuple[int, ...]]:
    """The lines that are shown: query and key of each."""
    drawn = page.locator("#dates-scene .is-hit").evaluate_all(
        "all => all.map(hit => hit.dataset.pair)"
    )
    return {tuple(map(int, pair.split())) for pair in drawn}


def weights_of_the_first_head(page: Page) -> list[list[float]]:
    """What each position of the output puts on each character of the line above."""
    (done,) = computed(page, RUN_TRANSLATOR, [[[LINE, ANSWER]], []])
    return done["cross"][0][0]


def test_a_character_under_the_pointer_lights_what_it_reads(dates: Page):
    before = pairs(dates)
    dates.locator("#dates-scene .is-queries label").nth(2).hover()
    assert {query for query, _ in pairs(dates)} == {2}
    weights = weights_of_the_first_head(dates)
    key = max(range(len(LINE)), key=lambda key: weights[9][key])
    dates.locator("#dates-scene .is-keys label").nth(key).hover()
    lit = {query for query, read in enumerate(weights) if read[key] >= 0.01}
    shown = {query for query, at in pairs(dates) if at == key}
    assert len(shown) == len(pairs(dates))  # of no other key
    assert shown - {5} == lit - {5}  # the chosen pair has a line in any case
    dates.mouse.move(0, 0)
    assert pairs(dates) == before


# The key of a line other than one, and a point where no other line lies over it.
NOT_COVERED = """chosen => {
  for (const path of document.querySelectorAll("#dates-scene .is-hit")) {
    const box = path.ownerSVGElement.getBoundingClientRect();
    for (let share = 0.05; share < 1 && path.dataset.pair !== chosen; share += 0.05) {
      const point = path.getPointAtLength(share * path.getTotalLength());
      const [x, y] = [box.left + point.x, box.top + point.y];
      if (document.elementFromPoint(x, y) === path) {
        return [Number(path.dataset.pair.split(" ")[1]), x, y];
      }
    }
  }
}"""


def test_a_line_that_is_clicked_shows_its_numbers(dates: Page):
    pair = dates.locator("#dates-pair")
    weights = weights_of_the_first_head(dates)[5]
    most = max(range(len(LINE)), key=lambda key: weights[key])
    expect(pair).to_contain_text(f"({most + 1})")
    dates.locator("#dates-scene svg").scroll_into_view_if_needed()
    other, x, y = dates.evaluate(NOT_COVERED, f"5 {most}")
    dates.mouse.click(x, y)
    expect(pair).to_contain_text(re.compile(rf"key of “.*” \({other + 1}\)"))
    radio = dates.locator("[name=dates-key]").nth(other)
    expect(radio).to_be_checked()


def test_the_decoder_does_not_read_what_it_has_not_written(dates: Page):
    dates.get_by_label("decoder self-attention").check()
    keys = dates.locator("[name=dates-key]")
    assert [keys.nth(n).is_enabled() for n in range(11)] == [True] * 6 + [False] * 5
    dates.get_by_role("button", name="one position forward").click()
    expect(keys.nth(6)).to_be_enabled()


# Without a mouse


def test_the_scene_is_used_with_the_keyboard_alone(dates: Page):
    focused = "document.activeElement.name"
    dates.get_by_label("A date, as people write it").focus()
    stops = []
    while dates.evaluate(focused) != "dates-head":
        dates.keyboard.press("Tab")
        stops.append(dates.evaluate("document.activeElement.name"))
        assert len(stops) < 12
    for group in ("dates-kind", "dates-key", "dates-position", "dates-head"):
        assert stops.count(group) == 1  # one stop for each group
    dates.keyboard.press("ArrowRight")
    title = dates.locator("#dates-pair .playground-title")
    expect(title).to_contain_text("Head 1.2")
    dates.locator("[name=dates-position]:checked").focus()
    dates.keyboard.press("ArrowRight")
    expect(title).to_contain_text("position 7")
    dates.keyboard.press("Shift+Tab")
    assert dates.evaluate(focused) == "dates-key"
    before = title.inner_text()
    dates.keyboard.press("ArrowLeft")
    expect(title).not_to_have_text(before)
    spoken = dates.evaluate("document.activeElement.ariaLabel")
    assert re.search(r"weight [\d.]+\s%", spoken)


def test_a_reader_who_types_is_told_once(dates: Page):
    dates.evaluate(
        """() => {
          const said = document.querySelector('#dates-said');
          window.heard = [];
          new MutationObserver(() => heard.push(said.textContent))
            .observe(said, { childList: true });
          const field = document.querySelector('#dates-source');
          for (const length of [1, 4, 6, 8, 12]) {
            field.value = 'July 4, 1776'.slice(0, length);
            field.dispatchEvent(new InputEvent('input', { bubbles: true }));
          }
        }"""
    )
    dates.wait_for_function("heard.some(text => text.includes('1776'))")
    told = dates.evaluate("heard")
    assert told == [told[0]]
    assert re.match(r"It writes [\d-]+\. Doubtful: ", told[0])


def test_playing_ends_at_the_last_position_and_when_the_reader_chooses(dates: Page):
    button = dates.locator("#dates-play")
    button.click()
    expect(dates.locator("#dates-status")).to_contain_text("Position 11 of 11")
    expect(button).to_have_text("play")
    dates.locator("[name=dates-position]").nth(5).check()
    button.click()
    expect(button).to_have_text("pause")
    expect(dates.locator("#dates-status")).to_contain_text("Position 7")
    dates.locator("[name=dates-position]").nth(1).check()
    expect(button).to_have_text("play")


# The address


def test_a_scene_is_kept_in_the_address_and_restored_from_it(window):
    page = window.visit("playground_dates")
    assert "#" not in page.url  # nothing was chosen yet
    page.get_by_label("A date, as people write it").fill("2026. július 3.")
    page.get_by_label("encoder self-attention").check()
    page.locator("[name=dates-head]").nth(6).check()
    page.get_by_label("this head is on").uncheck()
    page.locator("[name=dates-position]").nth(8).check()
    page.locator("[name=dates-key]").nth(3).check()
    page.wait_for_url(re.compile("key=4"))
    assert parse_qs(page.url.split("#")[1])["line"] == ["2026. július 3."]
    scene = "#dates-pair, #dates-result, #dates-heads .is-off"
    before = page.locator(scene).all_inner_texts()
    page.reload()
    page.wait_for_selector(".playground.is-live")
    assert page.locator(scene).all_inner_texts() == before
    assert "query of “l” (9)" in "".join(before)
    page.goto(
        f"{window.address('playground_dates')}#line=July+4,+1984"
    )  # pasted over it
    expect(page.locator("#dates-result")).to_have_text("1984-07-04")
    assert page.locator("#dates-heads .is-off").count() == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"line": "Ж" * 500, "head": "9.9", "position": "-3", "key": "1e9"},
        {"line": "", "attention": "<b>", "off": "cross 9 9,<script>", "forced": "Ж"},
    ],
)
def test_an_address_that_makes_no_sense_leaves_a_scene(window, fields):
    page = window.visit("playground_dates", fields)
    expect(page.locator("#dates-result")).to_have_text(ANSWER)
    assert page.locator("#dates-pair tbody tr").count() == 16
    assert page.locator("#dates-heads .is-off").count() == 0


# Patches


def sample(n: int) -> tuple[Tensor, str]:
    """A test image (1, 8, 8) from 0 to 1, and how an address has it."""
    image = images.digits().test_images[n : n + 1]
    levels = (16 * image).round().int().flatten().tolist()
    return image, "".join("0123456789abcdefg"[level] for level in levels)


@sweep(("layer", "head", "patch"), [(0, 1, 5), (3, 0, 15), (2, 3, 16)])
@torch.no_grad()
def test_the_numbers_of_a_patch_are_those_of_torch(
    html: Path, window: Window, layer: int, head: int, patch: int
):
    image, text = sample(7)
    model, (facts, _) = trained_vit(html), weights_file(html, "digits")
    inputs = []
    part = model.layers[layer].self_attn
    part.register_forward_pre_hook(lambda part, given: inputs.extend(given[:3]))
    seen(model, facts, image)
    q, k, v = projected(part, head, inputs)
    scene = {"image": text, "head": f"{layer + 1}.{head + 1}", "patch": patch + 1}
    page = window.visit("playground_digits", scene)
    assert_numbers(page, q, k, v, 0, 0 if patch == 16 else patch + 1)


def test_a_patch_is_chosen_with_a_click_or_with_the_arrow_keys(digits: Page):
    title = digits.locator("#digits-pair .playground-title")
    digits.locator("#digits-patches label").nth(4).click()
    expect(title).to_contain_text("row 2 column 1")
    digits.keyboard.press("ArrowRight")
    expect(title).to_contain_text("row 2 column 2")
    digits.keyboard.press("Tab")  # one stop for all of them
    assert digits.evaluate("document.activeElement.name") != "digits-patch"
    digits.get_by_label("class token").check()
    expect(title).to_contain_text("key of class token")
    assert digits.get_by_label("this patch is in the sequence").is_disabled()


def test_a_drawing_is_kept_in_the_address_and_restored_from_it(window):
    page = window.visit("playground_digits")
    page.get_by_role("button", name="clear").click()
    box = page.locator("#digits-canvas").bounding_box()
    for n, (x, y) in enumerate([(0.4, 0.3), (0.5, 0.1), (0.5, 0.9)]):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if n == 0:
            page.mouse.down()
    page.mouse.up()
    page.locator("[name=digits-patch]").nth(9).check()
    page.get_by_label("this patch is in the sequence").uncheck()
    page.locator("[name=digits-head]").nth(3).check()
    page.get_by_label("this head is on").uncheck()
    page.get_by_role("button", name="shuffle").click()
    page.get_by_label("leave the positions out").check()
    page.wait_for_url(re.compile("positions=out"))
    scene = "#digits-result, #digits-shares, #digits-pair"
    before = page.locator(scene).all_inner_texts()
    assert "patches shuffled, no positions, 1 of 16 patches" in before[0]
    page.reload()
    page.wait_for_selector(".playground.is-live")
    assert page.locator(scene).all_inner_texts() == before


def test_an_address_without_an_image_leaves_the_example(window):
    fields = {"image": "<b>", "order": "0123", "out": "0,17,-1", "head": "5.1"}
    page = window.visit("playground_digits", fields)
    expect(page.locator("#digits-truth")).to_contain_text("meant as a 3")
    expect(page.locator("#digits-result")).to_have_text(
        re.compile(r"^The model says \d with [\d.]+ %\.$")
    )


# Its place on the page
