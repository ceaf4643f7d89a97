"""One scene each: characters or patches, what is read of them, and the numbers."""

import re
from pathlib import Path

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
from toolkit import datasets
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


def choose(page: Page, name: str, **places: int) -> None:
    """Choose one of each of these groups, by its place."""
    for group, place in places.items():
        page.locator(f"[name={name}-{group}][value='{place}']").check()


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
    page = window.visit("playground_dates")
    page.locator("#dates-source").fill(LINE)
    page.locator(f"[name=dates-kind][value={kind}]").check()
    choose(page, "dates", head=4 * layer + head, position=query, key=key)
    assert_numbers(page, q, k, v, query, key)


def weights_of_the_first_head(page: Page) -> list[list[float]]:
    """What each position of the output puts on each character of the line above."""
    (done,) = computed(page, RUN_TRANSLATOR, [[[LINE, ANSWER]], []])
    return done["cross"][0][0]


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


# The address


# Patches


@sweep(("layer", "head", "patch"), [(0, 1, 5), (3, 0, 15), (2, 3, 16)])
@torch.no_grad()
def test_the_numbers_of_a_patch_are_those_of_torch(
    html: Path, window: Window, layer: int, head: int, patch: int
):
    model, (facts, _) = trained_vit(html), weights_file(html, "digits")
    shown = facts["test_images"][facts["test_labels"].index(3)]
    image = torch.tensor(shown).reshape(1, 1, 8, 8) / 16
    inputs = []
    part = model.layers[layer].self_attn
    part.register_forward_pre_hook(lambda part, given: inputs.extend(given[:3]))
    seen(model, facts, image)
    q, k, v = projected(part, head, inputs)
    page = window.visit("playground_digits")
    choose(page, "digits", head=4 * layer + head, patch=patch)
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
