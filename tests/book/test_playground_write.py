"""The page for writing computes what PyTorch computes, and a reader can use it."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, Route, expect
from torch import Tensor, nn

from solutions.language_model import (
    LanguageModel,
    bpe_decode,
    bpe_encode,
    filter_logits,
    perplexity,
    sample_tokens,
)
from tests.book.playgrounds import (
    Window,
    close,
    computed,
    weights_file,
)
from toolkit.manual import manual

NAME = "playground_write"
CONTEXT, HALF = 64, 32
TEXTS = [
    "",
    "The class has no attribute of this name.",
    "for i in range(10):\n    print(i)\n\n\nx",
    "Η κλάση δεν το έχει.",
    "a\u0301 \ufeffé 東京 \U0001f600 \x00 \u2028end",
    "        " * 5 + "aaaaaa",
]


def with_model(page: Page) -> Page:
    """The page, once it has its model, and no longer a recording of it."""
    page.locator("#write-text").hover()
    page.wait_for_selector(".playground.has-model", timeout=120_000)
    return page


@pytest.fixture
def write(window: Window) -> Page:
    return with_model(window.visit(NAME))


@pytest.fixture(scope="module")
def shipped(html: Path) -> tuple[dict[str, Any], nn.Module]:
    """The facts, and the chapter's class with the weights as the page has them."""
    facts, tensors = weights_file(html, "write")
    model = LanguageModel(256 + len(facts["merges"]), 96, 4, 2, 384)
    model.load_state_dict(tensors)
    return facts, model.eval()


@pytest.fixture(scope="module")
def merges(shipped) -> list[tuple[int, int]]:
    return [tuple(pair) for pair in shipped[0]["merges"]]


@pytest.fixture(scope="module")
def held_out(merges) -> Tensor:
    """(windows, 64) tokens of the text that training never had."""
    ids = torch.tensor(bpe_encode(manual()[1], merges))
    return ids.unfold(0, CONTEXT, CONTEXT)


@torch.no_grad()
def attention(model: nn.Module, ids: Tensor) -> list[Tensor]:
    """The weights (B, h, N, N) of each layer, from the block's own parts."""
    past = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
    x = model.embedding(ids)
    found = []
    for layer in model.layers:
        parts = layer.in_proj(layer.norm1(x)).unflatten(-1, (3, layer.num_heads, -1))
        query, key, _ = parts.permute(2, 0, 3, 1, 4)  # (B, h, N, d)
        scores = layer.rotate(query) @ layer.rotate(key).mT / query.shape[-1] ** 0.5
        found.append(scores.masked_fill(~past, -torch.inf).softmax(dim=-1))
        x = layer(x, past)
    return found


# The model

MODEL = """
  const weights = new Playground.Weights("write", "LanguageModel");
  const model = new Playground.LanguageModel(weights);
"""
READ = f"""([windows, parts]) => {{{MODEL}
  return windows.map((ids) => {{
    const cache = new Playground.KeyValueCache();
    const logits = [], weights = [];
    let from = 0;
    for (const to of parts) {{
      const done = model.read(ids.slice(from, to), cache);
      logits.push(...done.logits.data);
      for (let n = 0; n < to - from; n++) {{
        const rows = done.weights.map((layer) => layer.map((head) => head[n]));
        weights.push(rows.map((layer) => layer.map((row) =>
          [...row, ...Array(ids.length - row.length).fill(0)])));
      }}
      from = to;
    }}
    return {{ logits, weights }};
  }});
}}"""


@pytest.mark.parametrize(
    "parts",
    [[64], list(range(1, 65)), [1, 8, 9, 40, 64]],
    ids=["at once", "token by token", "in parts"],
)
@torch.no_grad()
def test_the_model_computes_what_torch_computes_with_and_without_the_cache(
    window, shipped, held_out, parts
):
    write = with_model(window.ask(NAME))
    _, model = shipped
    windows = held_out[:4]
    logits, weights = model(windows), attention(model, windows)
    found = computed(write, READ, [windows.tolist(), parts])
    for n, there in enumerate(found):
        close(there["logits"], logits[n])
        expected = torch.stack([layer[n] for layer in weights])  # (layers, h, N, N)
        close(there["weights"], expected.permute(2, 0, 1, 3))


@torch.no_grad()
def test_the_stored_weights_have_the_perplexity_that_chapter_and_page_tell(
    window, shipped, merges
):
    write = with_model(window.ask(NAME))
    facts, model = shipped
    ids = torch.tensor(bpe_encode(manual()[1], merges))
    windows = ids.unfold(0, CONTEXT + 1, HALF)
    logits = torch.cat([model(part[:, :-1])[:, HALF:] for part in windows.split(32)])
    found = perplexity(logits.numpy(), windows[:, HALF + 1 :].numpy())
    assert found == pytest.approx(facts["perplexity"]["stored"], abs=2e-4)
    expect(write.locator("#write-stored")).to_contain_text(f"{found:.2f}")
    change = found - facts["perplexity"]["trained"]
    assert abs(change) < 0.1
    told = re.search(r"by (\S+?)\.$", write.locator("#write-stored").inner_text())[1]
    assert float(told) == pytest.approx(change, abs=3e-4)


# Tokens

TOKENS = f"""([texts, ids]) => {{{MODEL}
  const {{ tokens }} = model;
  return [texts.map((t) => tokens.encode(t)), ids.map((i) => tokens.decode(i))];
}}"""


def test_texts_become_the_tokens_of_the_chapter_and_tokens_its_texts(window, merges):
    write = with_model(window.ask(NAME))
    rng = np.random.default_rng(0)
    drawn = [rng.integers(256 + len(merges), size=30).tolist() for _ in range(20)]
    encoded, decoded = computed(write, TOKENS, [TEXTS, drawn])
    assert encoded == [bpe_encode(text, merges) for text in TEXTS]
    assert decoded == [bpe_decode(ids, merges) for ids in drawn]


# Sampling

SAMPLE = """rows => rows.map(({ logits, temperature, uniform }) => {
  const left = logits.map((logit) => logit ?? -Infinity);
  const shares = Playground.distribution(left, temperature);
  return Playground.sampleToken(shares, uniform);
})"""


def test_a_token_is_chosen_as_the_chapter_chooses_it(window):
    write = with_model(window.ask(NAME))
    rng = torch.Generator().manual_seed(1)
    logits = torch.randn(200, 30, generator=rng, dtype=torch.float64) * 2
    logits[:, 3] = logits[:, 5]  # of equals, the first
    logits[::2, 20:] = -torch.inf
    uniform = torch.rand(200, generator=rng, dtype=torch.float64)
    uniform[:10], uniform[10:20] = 0, 1 - 2**-53
    for temperature in (0.0, 0.3, 1.0, 2.0):
        asked = [
            {
                "logits": [x if math.isfinite(x) else None for x in row.tolist()],
                "temperature": temperature,
                "uniform": u.item(),
            }
            for row, u in zip(logits, uniform, strict=True)
        ]
        expected = sample_tokens(logits.numpy(), uniform.numpy(), temperature)
        assert computed(write, SAMPLE, asked) == expected.tolist()


# A reader writes

PROMPT = "The class is "


def field(page: Page) -> Any:
    return page.get_by_label("Your text, which the model continues")


def bars(page: Page) -> list[dict]:
    return page.locator("#write-shares tr").evaluate_all(
        """rows => rows.map(row => ({
          name: row.cells[0].textContent, text: row.cells[2].textContent,
          cut: row.classList.contains('is-cut'),
        }))"""
    )


def shares(page: Page) -> list[float]:
    return [float(re.search(r"[\d.]+", bar["text"])[0]) for bar in bars(page)]


def slide(page: Page, name: str, key: str, times: int = 1) -> None:
    page.get_by_role("slider", name=name).focus()
    for _ in range(times):
        page.keyboard.press(key)


@torch.no_grad()
def next_logits(shipped, merges, text: str) -> Tensor:
    return shipped[1](torch.tensor([bpe_encode(text, merges)]))[0, -1]


@torch.no_grad()
def test_the_bars_are_the_distribution_and_grey_ones_are_cut(write, shipped, merges):
    field(write).fill(PROMPT)
    slide(write, "temperature", "Home")
    slide(write, "temperature", "ArrowRight", 20)  # 1
    slide(write, "top-p", "End")
    expect(write.locator("#write-temperature-text")).to_have_text("1.00")
    logits = next_logits(shipped, merges, PROMPT)
    largest = logits.softmax(-1).sort(descending=True).values
    expected = [*largest[:12].tolist(), largest[12:].sum().item()]
    assert shares(write) == pytest.approx([100 * p for p in expected], abs=0.06)
    assert not any(bar["cut"] for bar in bars(write))
    expect(write.locator("#write-left")).to_contain_text("576 tokens of 576")

    slide(write, "top-k", "Home")
    slide(write, "top-k", "ArrowRight", 3)
    expect(write.locator("#write-top-k-text")).to_have_text("5")
    shown = bars(write)
    assert [bar["cut"] for bar in shown] == [False] * 5 + [True] * 8
    assert all(bar["text"].startswith("cut") == bar["cut"] for bar in shown)
    cut = torch.from_numpy(filter_logits(logits.numpy(), top_k=5))
    left = cut.softmax(-1).sort(descending=True).values
    expected = [*left[:5].tolist(), *largest[5:12].tolist(), largest[12:].sum().item()]
    assert shares(write) == pytest.approx([100 * p for p in expected], abs=0.06)
    expect(write.locator("#write-left")).to_contain_text("5 tokens of 576")


@torch.no_grad()
def greedy(shipped, merges, text: str, count: int) -> str:
    ids = bpe_encode(text, merges)
    for _ in range(count):
        ids.append(shipped[1](torch.tensor([ids]))[0, -1].argmax().item())
    return bpe_decode(ids, merges)


def test_steps_at_temperature_0_write_what_torch_writes(write, shipped, merges):
    field(write).fill(PROMPT)
    slide(write, "temperature", "Home")
    button = write.get_by_role("button", name="next token")
    button.focus()
    for count in range(1, 7):
        write.keyboard.press("Enter")
        assert field(write).input_value() == greedy(shipped, merges, PROMPT, count)
        expect(write.locator("#write-status")).to_contain_text("probability of 100 %")
    write.get_by_role("button", name="take back").click()
    assert field(write).input_value() == greedy(shipped, merges, PROMPT, 5)
    write.get_by_role("button", name="clear").click()
    assert field(write).input_value() == ""


PAUSE_WHEN_LONG = """() => {
  const button = document.querySelector('#write-play');
  const isLong = document.querySelector('#write-text').value.length > 40;
  if (isLong && button.textContent === 'pause') button.click();
  return isLong && button.textContent === 'play';
}"""


def test_it_plays_until_it_is_paused_or_has_written_enough(window):
    page = window.visit(NAME)  # with less motion, it does not wait between tokens
    page.get_by_role("button", name="play").click()
    page.wait_for_function(PAUSE_WHEN_LONG, polling=20, timeout=120_000)
    expect(page.locator("#write-status")).to_have_text("Paused.")
    page.get_by_role("button", name="play").click()
    expect(page.locator("#write-status")).to_contain_text("120 tokens and paused")
    expect(page.get_by_role("button", name="play")).to_be_visible()


def labels(page: Page) -> list[dict]:
    return page.locator("#write-tokens label").evaluate_all(
        """all => all.map(label => ({
          name: label.textContent, weight: +label.style.getPropertyValue('--weight'),
        }))"""
    )


@torch.no_grad()
def test_each_head_and_query_shows_its_weights(write, shipped, merges):
    text = "If the first argument is a string"
    field(write).fill(text)
    ids = torch.tensor([bpe_encode(text, merges)])
    weights = attention(shipped[1], ids)
    write.locator("[name=write-layer][value='1']").check()
    write.locator("[name=write-head][value='2']").check()
    expected = weights[1][0, 2]
    found = [label["weight"] for label in labels(write)]
    assert found == pytest.approx(expected[-1].tolist(), abs=6e-4)
    write.locator("#write-tokens input").last.focus()
    write.keyboard.press("ArrowLeft")  # another query, by keyboard
    write.keyboard.press("ArrowLeft")
    found = [label["weight"] for label in labels(write)]
    assert found == pytest.approx(expected[-3].tolist(), abs=6e-4)
    best = labels(write)[int(expected[-3].argmax())]["name"]
    reads = write.locator("#write-reads").inner_text()
    assert f"layer 2, head 3 most to: {best} " in reads


def test_the_cache_fills_up_and_keeps_what_an_edit_leaves(write, merges):
    text = write.locator("#write-cache-text")
    field(write).fill(PROMPT)
    tokens = len(bpe_encode(PROMPT, merges))
    numbers = 2 * 2 * tokens * 96
    expect(text).to_contain_text(f"{tokens} of 64 positions")
    expect(text).to_contain_text(f"{numbers:,} numbers, {4 * numbers:,} bytes")
    write.get_by_role("button", name="next token").click()
    expect(text).to_contain_text(f"{tokens + 1} of 64 positions")
    expect(text).to_contain_text("computed 1 token;")
    expect(text).to_contain_text(f"it would have been {tokens + 1}.")
    field(write).fill("X" + PROMPT)  # nothing at the beginning is left
    changed = len(bpe_encode("X" + PROMPT, merges))
    expect(text).to_contain_text(f"computed {changed} tokens")
    name = write.get_by_role("img", name=re.compile("positions are filled"))
    assert f"{changed} of 64" in name.get_attribute("aria-label")


@torch.no_grad()
def test_a_full_context_is_said_and_goes_on_with_its_second_half(
    write, shipped, merges, held_out
):
    ids = held_out[3].tolist()
    full = bpe_decode(ids, merges)
    while len(bpe_encode(full, merges)) < CONTEXT:  # at its edges it may merge again
        full += "."
    while len(bpe_encode(full, merges)) > CONTEXT:
        full = full[:-1]
    ids = bpe_encode(full, merges)
    assert len(ids) == CONTEXT
    field(write).fill(full)
    notes = write.locator("#write-notes")
    expect(notes).to_contain_text("The context is full: 64 tokens")
    slide(write, "temperature", "Home")
    logits = shipped[1](torch.tensor([ids]))[0, -1]
    write.get_by_role("button", name="next token").click()
    ids.append(logits.argmax().item())
    assert field(write).input_value() == bpe_decode(ids, merges)
    expect(notes).to_contain_text("no longer reads the first 32 of 65")
    expect(write.locator("#write-cache-text")).to_contain_text("33 of 64 positions")
    expect(write.locator("#write-cache-text")).to_contain_text("computed 33 tokens")
    write.get_by_role("button", name="next token").click()
    ids.append(shipped[1](torch.tensor([ids[32:]]))[0, -1].argmax().item())
    assert field(write).input_value() == bpe_decode(ids, merges)
    expect(write.locator("#write-cache-text")).to_contain_text("computed 1 token;")


# The model comes when it is used

FIRST = 'The "class" statement'


class Held:
    """A file of weights that comes when a test lets it."""

    def __init__(self) -> None:
        self.routes: list[Route] = []

    def __call__(self, route: Route) -> None:
        self.routes.append(route)

    def come(self, page: Page) -> None:
        while not self.routes:
            page.wait_for_timeout(20)
        self.routes.pop().continue_()
        page.wait_for_selector(".playground.has-model", timeout=120_000)


@pytest.fixture
def held(window: Window) -> tuple[Page, Held]:
    """The page as it opens, whose weights are held back."""
    held = Held()
    return window.visit(NAME, weights=held), held


@torch.no_grad()
def test_the_first_scene_is_that_of_torch_and_needs_no_weights(held, shipped, merges):
    page, weights = held
    assert field(page).input_value() == FIRST
    ids = torch.tensor([bpe_encode(FIRST, merges)])
    logits = next_logits(shipped, merges, FIRST)
    left = torch.from_numpy(filter_logits(logits.numpy(), top_p=0.9))
    expected = (left / 0.8).softmax(-1).sort(descending=True).values[:12]
    assert shares(page)[:12] == pytest.approx((100 * expected).tolist(), abs=0.06)
    choose = """e => {
      e.checked = true;
      e.dispatchEvent(new Event('change', { bubbles: true }));
    }"""
    for layer, weights_there in enumerate(attention(shipped[1], ids)):
        page.locator(f"[name=write-layer][value='{layer}']").evaluate(choose)
        for head in range(4):
            page.locator(f"[name=write-head][value='{head}']").evaluate(choose)
            page.locator("#write-tokens input").nth(3).evaluate(choose)
            found = [label["weight"] for label in labels(page)]
            read = weights_there[0, head, 3].tolist()
            assert found == pytest.approx(read, abs=6e-4)
    expect(page.locator("#write-cache-text")).to_contain_text(f"{ids.shape[1]} of 64")
    assert weights.routes == []


def test_what_is_typed_before_the_model_comes_is_read_when_it_is_there(
    held, shipped, merges
):
    page, weights = held
    before = bars(page)
    field(page).fill("for i in")
    status = page.locator("#write-status")
    expect(status).to_have_text("Loading the model …")
    expect(page.locator("#write-scene")).to_have_class(re.compile("is-stale"))
    assert bars(page) == before
    slide(page, "temperature", "Home")
    page.get_by_role("button", name="next token").click()
    field(page).evaluate("e => { e.value += ' range'; }")  # as one who types on
    weights.come(page)
    text = greedy(shipped, merges, "for i in range", 1)
    assert field(page).input_value() == text
    expect(status).to_contain_text("It wrote")
    expect(page.locator("#write-scene")).not_to_have_class(re.compile("is-stale"))
    left = next_logits(shipped, merges, text)
    assert bars(page)[0]["text"] == "100 %"
    best = bpe_decode([int(left.argmax())], merges)
    assert bars(page)[0]["name"] == best.replace(" ", "·").replace("\n", "↵")


# Something is seen without scripts


def test_without_javascript_a_picture_shows_what_one_would_see(
    window, window_without_scripts, shipped, merges
):
    example = shipped[0]["example"]
    page = window_without_scripts.visit(NAME, live=False)
    picture = page.locator(".playground-example")
    assert picture.is_visible()
    shown = picture.locator("tr th").all_inner_texts()
    assert shown == [name for name, _ in example["next"]]
    text = "".join(example["tokens"]).replace("·", " ").replace("↵", "\n")
    logits = next_logits(shipped, merges, text)
    best = logits.softmax(-1).sort(descending=True).values[:10]
    given = torch.tensor([share for _, share in example["next"]])
    torch.testing.assert_close(given, best, rtol=0, atol=1e-4)
    page = window.visit(NAME)
    assert not page.locator(".playground-example").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".playground-example").is_visible()
