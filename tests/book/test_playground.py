"""The playground computes what PyTorch computes, and a reader can use it."""

import datetime
import re
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect
from torch import nn

from tests.book.playgrounds import (
    BROKEN,
    RUN_TRANSLATOR,
    Watched,
    Window,
    broken_weights,
    close,
    computed,
    seen,
    text_of,
    trained_translator,
    trained_vit,
    weights_file,
)
from tests.suites import sweep
from toolkit import datasets, images
from toolkit.translator import START

PAGES = ("playground_dates", "playground_digits", "playground_write")
SAMPLES = 20
ROUNDING = 1.0  # points of an exam that weights of 8 bits may cost, or win


# PyTorch's side


@pytest.fixture
def translator(html: Path) -> nn.Module:
    return trained_translator(html)


@pytest.fixture
def vit(html: Path) -> nn.Module:
    return trained_vit(html)


def switch_off(attention: nn.MultiheadAttention, head: int) -> None:
    """Nothing that the head reads gets through the output projection."""
    d = attention.head_dim
    with torch.no_grad():
        attention.out_proj.weight[:, head * d : (head + 1) * d] = 0


def held_out_dates() -> list[datasets.Line]:
    """The lines that the chapter tests its model with."""
    rng = np.random.default_rng(0)
    datasets.dates(12_000, rng)
    return datasets.dates(600, rng, held_out=True)


# In the page: everything that is to be compared, as plain numbers

RUN_VIT = """([images, options]) => {
  const weights = new Playground.Weights("digits", "VisionTransformer");
  const model = new Playground.VisionTransformer(weights);
  const asked = { ...options };
  asked.hidden = new Set(options.hidden ?? []);
  asked.off = new Set(options.off ?? []);
  return images.map((image) => {
    const { logits, weights } = model.forward(image, asked);
    return { logits: [...logits], weights, rollout: Playground.rollout(weights) };
  });
}"""


@pytest.mark.parametrize("off", [(), ("encoder 0 1", "decoder 1 3", "cross 1 2")])
@torch.no_grad()
def test_the_translator_computes_what_torch_computes(window, translator, off):
    parts = {
        "encoder": [layer.self_attn for layer in translator.encoder.layers],
        "decoder": [layer.self_attn for layer in translator.decoder.layers],
        "cross": [layer.multihead_attn for layer in translator.decoder.layers],
    }
    for name in off:
        part, layer, head = name.split()
        switch_off(parts[part][int(layer)], int(head))
    lines = held_out_dates()[:SAMPLES]
    pairs = [[line.source, line.target] for line in lines]
    asked = [pairs, list(off)]
    found = computed(window.ask("playground_dates"), RUN_TRANSLATOR, asked)
    source, target = datasets.date_vocabularies()
    watched = Watched(translator)
    for line, there in zip(lines, found, strict=True):
        watched.weights.clear()
        prefix = torch.tensor([[START, *target.encode(line.target)]])
        logits = translator(torch.tensor([source.encode(line.source)]), prefix)
        close(there["logits"], logits[0])
        e0, e1, d0, c0, d1, c1 = (weights[0] for weights in watched.weights)
        close(there["encoder"], torch.stack([e0, e1]))
        close(there["decoder"], torch.stack([d0, d1]))
        close(there["cross"], torch.stack([c0, c1]))


SHUFFLED = [int(p) for p in np.random.default_rng(0).permutation(16)]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"order": SHUFFLED},
        {"positions": False, "order": SHUFFLED},
        {"hidden": [0, 5, 6]},
        {"off": ["0 1", "3 2"]},
    ],
    ids=["nothing", "shuffled", "no positions", "hidden patches", "heads off"],
)
def test_the_vision_transformer_computes_what_torch_computes(
    window, html, vit, changes
):
    facts, _ = weights_file(html, "digits")
    for name in changes.get("off", []):
        layer, head = map(int, name.split())
        switch_off(vit.layers[layer].self_attn, head)
    pictures = images.digits().test_images[:SAMPLES]
    logits, weights, rollout = seen(vit, facts, pictures, **changes)
    asked = [pictures.flatten(1).tolist(), changes]
    found = computed(window.ask("playground_digits"), RUN_VIT, asked)
    close([there["logits"] for there in found], logits)
    close([there["weights"] for there in found], weights)
    close([there["rollout"] for there in found], rollout)


# The same score as in the chapter


@sweep(
    ("name", "chapter", "printed"),
    [
        ("digits", "vision_transformer", r"ViT .* test ([\d.]+)%"),
        ("dates", "training", r"held-out dates without an error: ([\d.]+)%"),
    ],
)
def test_the_model_passes_its_exam_with_nearly_the_chapters_score(
    html, request, name, chapter, printed
):
    page = request.getfixturevalue(name)
    page.locator(f"#{name}-exam").click()
    score = page.locator(f"#{name}-score")
    expect(score).to_contain_text("right", timeout=300_000)
    percent = re.search(r"right, ([\d.]+)\s%", score.inner_text())[1]
    assert abs(float(percent) - float(text_of(html, chapter, printed))) <= ROUNDING


# A reader types


def test_a_date_is_written_and_can_be_stepped_through(dates: Page):
    field = dates.get_by_label("A date, as people write it")
    field.fill("2001. ma\u0301jus 5.")  # a letter and an accent, as some systems do
    expect(dates.locator("#dates-result")).to_have_text("2001-05-05")
    field.fill("July 4, 1984")
    expect(dates.locator("#dates-result")).to_have_text("1984-07-04")
    assert dates.get_by_role("radio", name=re.compile("position")).count() == 11
    dates.get_by_role("radio", name=re.compile("position 1:")).focus()
    dates.keyboard.press("Space")
    status = dates.locator("#dates-status")
    expect(status).to_contain_text("Position 1 of 11 has read “start” and writes “1”")
    dates.get_by_role("button", name="one position forward").click()
    expect(status).to_contain_text("Position 2 of 11 has read “1” and writes “9”")
    back = dates.get_by_role("button", name="one position back")
    back.click()
    expect(back).to_be_disabled()


def shares(page: Page, name: str) -> list[float]:
    cells = page.locator(f"#{name}-shares td:last-child").all_inner_texts()
    return [float(text.split()[0]) for text in cells]


def test_with_teacher_forcing_the_decoder_reads_what_it_is_told(dates: Page):
    dates.get_by_label("teacher forcing").check()
    truth = dates.get_by_label("Text that the decoder reads")
    assert truth.input_value() == "2026-07-03"  # begins with what was written
    truth.fill("1999-12")
    reads = dates.locator("#dates-scene .is-queries small").all_inner_texts()
    assert reads == ["start", *"1999-12"]
    dates.get_by_label("teacher forcing").uncheck()
    expect(dates.locator("#dates-result")).to_have_text("2026-07-03")


def test_a_character_without_an_id_is_named_and_the_last_answer_stays_in_grey(
    dates: Page,
):
    field = dates.get_by_label("A date, as people write it")
    field.fill("July 4, 1984")
    result, answer = dates.locator("#dates-result"), dates.locator("#dates-answer")
    expect(result).to_have_text("1984-07-04")
    field.fill("3. Juli 2026 ☀ Ж")
    problem = dates.locator("#dates-problem")
    expect(problem).to_contain_text("no ids for “☀”, “Ж”")
    expect(problem).to_contain_text("what it wrote for “July 4, 1984”")
    expect(result).to_have_text("1984-07-04")
    look = "e => getComputedStyle(e).filter"
    assert "grayscale" in answer.locator("> div").first.evaluate(look)
    field.fill("")
    expect(problem).to_contain_text("Type a date.")
    field.fill("3. Juli 2026")
    expect(problem).to_be_empty()
    expect(result).to_have_text("2026-07-03")
    assert answer.locator("> div").first.evaluate(look) == "none"


DOUBTS = "lines => lines.map(([source, text]) => Playground.doubts(source, text))"


def test_no_right_answer_is_doubted_and_every_wrong_date_is(window: Window):
    dates = window.ask("playground_dates")
    lines = held_out_dates()
    right = [[line.source, line.target] for line in lines]
    assert computed(dates, DOUBTS, right) == [[] for _ in lines]
    wrong = []
    for line in lines:
        day = datetime.date.fromisoformat(line.target)
        other = day.replace(year=day.year - 1 if day.year % 4 else day.year + 4)
        wrong.append([line.source, other.isoformat()])
    assert all(computed(dates, DOUBTS, wrong))


# A reader draws


A_FOUR = [[(0.56, 0.16), (0.28, 0.62), (0.76, 0.62)], [(0.6, 0.4), (0.6, 0.88)]]


def test_a_digit_that_is_drawn_with_the_pointer_is_recognised(digits: Page):
    canvas = digits.locator("#digits-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for stroke in A_FOUR:
        for n, (x, y) in enumerate(stroke):
            digits.mouse.move(
                box["x"] + x * box["width"], box["y"] + y * box["height"], steps=3
            )
            if n == 0:
                digits.mouse.down()
        digits.mouse.up()
    said = re.compile(r"^The model says 4 with [\d.]+ %\.$")
    expect(digits.locator("#digits-result")).to_have_text(said)


def test_a_finger_draws_and_does_not_move_the_page(html, browser):
    with closing(Window(html, browser, has_touch=True)) as window:
        page = window.visit("playground_digits")
        box = page.locator("#digits-canvas").bounding_box()
        session = window.context.new_cdp_session(page)
        before = page.evaluate("scrollY")
        for kind, x, y in [
            ("touchStart", 0.36, 0.3),
            ("touchMove", 0.5, 0.12),
            ("touchMove", 0.5, 0.9),
        ]:
            at = {"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"]}
            session.send(
                "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [at]}
            )
        session.send(
            "Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []}
        )
        expect(page.locator("#digits-result")).to_contain_text("says 1 with")
        assert page.evaluate("scrollY") == before


def test_a_digit_is_drawn_with_the_keyboard_alone(digits: Page):
    digits.get_by_role("button", name="clear").click()
    expect(digits.locator("#digits-result")).to_contain_text("board is empty")
    assert "%" not in digits.locator("#digits-shares").inner_text()
    digits.locator("#digits-canvas").focus()
    slanted = ["ArrowUp", "ArrowRight"] * 2
    for key in [
        *["ArrowLeft"] * 2,
        *["Space", *slanted, *["ArrowDown"] * 12, "Space"],
    ]:
        digits.keyboard.press(key)
    expect(digits.locator("#digits-result")).to_contain_text("says 1 with")
    expect(digits.locator("#digits-said")).to_contain_text("Pen up, row 14")
    digits.keyboard.press("Backspace")
    expect(digits.locator("#digits-result")).to_contain_text("board is empty")
    digits.keyboard.press("Tab")  # the board does not hold the focus
    assert digits.evaluate("document.activeElement.id") != "digits-canvas"


# What goes wrong is said


@pytest.mark.parametrize("way", BROKEN)
def test_weights_that_do_not_fit_stop_the_page_with_a_message(html, only_window, way):
    weights, expected = broken_weights(html, "dates", way)
    page = only_window.visit("playground_dates", live=False, weights=weights)
    message = page.locator(".playground-message")
    expect(message).to_be_visible()
    expect(message).to_contain_text(expected)
    assert not page.locator(".playground-board").is_visible()


@pytest.mark.parametrize("name", PAGES)
def test_without_javascript_the_page_says_what_it_needs(window_without_scripts, name):
    page = window_without_scripts.visit(name, live=False)
    assert "needs JavaScript" in page.locator(".playground-message").inner_text()
    assert not page.locator(".playground-board").is_visible()
