"""Playground pages opened in a browser, and PyTorch's side of what they compute."""

import base64
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from playwright.sync_api import Browser, Page, Route
from torch import Tensor, nn

from solutions.vision_transformer import VisionTransformer, attention_rollout
from toolkit.translator import Translator

TOLERANCE = {"rtol": 0, "atol": 1e-4}
FORGET = "try { localStorage.clear(); sessionStorage.clear(); } catch {}"


def computed(page: Page, function: str, asked: Any) -> Any:
    """What a function of a page returns.

    It travels as one text: Playwright takes seconds for arrays of many numbers.
    """
    packed = f"asked => JSON.stringify(({function})(JSON.parse(asked)))"
    return json.loads(page.evaluate(packed, json.dumps(asked)))


class Window:
    """One tab without a network, in which pages of the built book are opened in turn.

    A new context costs twice what it takes to open a playground. So all tests of a file
    share one, and what a page could find of the one before is taken away.
    """

    def __init__(self, html: Path, browser: Browser, **options: Any) -> None:
        self.html = html
        self.complaints: list[str] = []
        self._untouched: str | None = None
        self.context = browser.new_context(offline=True, **options)
        self.context.add_init_script(FORGET)
        self.context.on(
            "weberror", lambda error: self.complaints.append(str(error.error))
        )
        self.context.on("console", self._console)
        self.context.on("request", self._request)
        self.page: Page = self.context.new_page()

    def close(self) -> None:
        """Close the tab, and forget the reader."""
        self.context.close()

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _request(self, asked: Any) -> None:
        if not asked.url.startswith(("file:", "data:", "blob:", "about:")):
            self.complaints.append(f"asked for {asked.url}")

    def address(self, name: str) -> str:
        """Where a page is."""
        return (self.html / "chapters" / f"{name}.html").as_uri()

    def visit(
        self,
        name: str,
        *,
        live: bool = True,
        weights: Callable[[Route], None] | None = None,
    ) -> Page:
        """Open a page anew; where ``live``, wait until its playground works.

        Args:
            name: of the page.
            live: whether to wait for the playground.
            weights: what answers where the page asks for the file with its weights.
        """
        page = self.page
        self._untouched = None
        page.mouse.move(0, 0)
        page.goto("about:blank")
        page.emulate_media(media="null", color_scheme="light")
        page.unroute_all()
        if weights:
            page.route("**/*.weights.js*", weights)
        self.complaints.clear()
        page.goto(self.address(name), wait_until="load")
        if live:
            page.wait_for_selector(".playground.is-live", timeout=120_000)
        return page

    def ask(self, name: str) -> Page:
        """A page for a test that has it compute something, and changes nothing in it.

        It is only opened if the test before did anything else.
        """
        if self._untouched != name:
            self.visit(name)
            self._untouched = name
        return self.page


def weights_file(html: Path, name: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The facts and the tensors that the built book ships.

    Of a matrix: a float32 for each row, then bytes, each of which it multiplies.
    """
    script = html / "_static" / "playground" / f"{name}.weights.js"
    text = script.read_text(encoding="ascii")
    file = json.loads(text[text.index("] = {") + 4 : text.rindex(";")])
    left = base64.b64decode(file["numbers"])
    tensors = {}
    for name, shape in file["tensors"]:
        whole = len(shape) > 1
        floats = math.prod(shape[:-1]) if whole else shape[0]
        numbers = np.frombuffer(left[: 4 * floats], "<f4")
        left = left[4 * floats :]
        if whole:
            steps = np.frombuffer(left[: math.prod(shape)], np.int8)
            left = left[math.prod(shape) :]
            numbers = steps.reshape(floats, -1) * numbers[:, None]
        tensors[name] = torch.tensor(numbers).reshape(shape)
    assert left == b""
    return file["facts"], tensors


class Watched:
    """Makes every attention of a model remember its weights (B, h, N, T), in order."""

    def __init__(self, model: nn.Module) -> None:
        self.weights: list[Tensor] = []
        for part in model.modules():
            if isinstance(part, nn.MultiheadAttention):
                part.register_forward_pre_hook(self._ask, with_kwargs=True)
                part.register_forward_hook(self._note)

    @staticmethod
    def _ask(part, args, kwargs):
        wanted = {"need_weights": True, "average_attn_weights": False}
        return args, {**kwargs, **wanted}

    def _note(self, part, args, output):
        self.weights.append(output[1].detach())


def trained_translator(html: Path) -> nn.Module:
    """The chapter's class with the weights that the page has."""
    model = Translator()
    _, tensors = weights_file(html, "dates")
    missing = model.load_state_dict(tensors, strict=False)
    assert (missing.missing_keys, missing.unexpected_keys) == (["positions"], [])
    return model  # in training mode, in which torch's layers take no short cut


def trained_vit(html: Path) -> nn.Module:
    """The chapter's class with the weights that the page has."""
    model = VisionTransformer(8, 2, 1, 64, 4, 4, 128, 10)
    _, tensors = weights_file(html, "digits")
    model.load_state_dict(tensors)
    return model


RUN_TRANSLATOR = """([lines, off]) => {
  const weights = new Playground.Weights("dates", "Translator");
  const model = new Playground.Translator(weights);
  return lines.map(([source, truth]) => {
    const done = model.translate(source, { truth, off: new Set(off) });
    const { encoder, decoder, cross, logits } = done;
    return { logits: [...logits.data], encoder, decoder, cross };
  });
}"""


def close(found: Any, expected: Tensor) -> None:
    """Fail unless numbers of a page are those of torch."""
    found = torch.tensor(found).reshape(expected.shape)
    torch.testing.assert_close(found, expected, check_dtype=False, **TOLERANCE)


@torch.no_grad()
def seen(model: nn.Module, facts: dict, pictures: Tensor, **changes: Any) -> list:
    """What torch's model gives: logits, weights, rollout; under the same changes."""
    tokens = model.embedding((pictures - facts["mean"]) / facts["deviation"])
    positions = model.embedding.positions
    patches = tokens[:, 1:] - positions[:, 1:]
    patches = patches[:, changes.get("order", range(16))]
    if changes.get("positions", True):
        patches = patches + positions[:, 1:]
    left = [p for p in range(16) if p not in changes.get("hidden", ())]
    tokens = torch.cat([tokens[:, :1], patches[:, left]], dim=1)
    watched = Watched(model)
    for layer in model.layers:
        tokens = layer(tokens)
    logits = model.head(model.norm(tokens[:, 0]))
    weights = watched.weights
    rollout = torch.from_numpy(attention_rollout([w.numpy() for w in weights]))
    return [logits, torch.stack(weights, dim=1), rollout]


def text_of(html: Path, chapter: str, pattern: str) -> str:
    """What a cell of a chapter has printed."""
    page = (html / "chapters" / f"{chapter}.html").read_text(encoding="utf-8")
    return re.search(pattern, re.sub(r"<[^>]*>", "", page))[1]


# What may be wrong with a file of weights, and what its page says then.
BROKEN = {
    "missing": (lambda text: "", "trained weights are missing"),
    "damaged": (
        lambda text: text.replace('"numbers":"', '"numbers":"AAAA'),
        "weights are damaged",
    ),
    "another format": (
        lambda text: text.replace('"format":2', '"format":3'),
        "format 3",
    ),
    "another shape": (
        lambda text: re.sub(
            r'(linear[12]\.weight",)\[(\d+),(\d+)\]', r"\1[\3,\2]", text
        ),
        re.compile(r"should have the shape \((\d+), (\d+)\), found \(\2, \1\)"),
    ),
}


def broken_weights(
    html: Path, name: str, way: str
) -> tuple[Callable[[Route], None], str | re.Pattern]:
    """What answers with a broken file of weights, and what its page says."""
    change, expected = BROKEN[way]
    script = html / "_static" / "playground" / f"{name}.weights.js"
    text = script.read_text(encoding="ascii")
    body = change(text)
    assert body != text
    kind = "text/javascript"
    return lambda route: route.fulfill(body=body, content_type=kind), expected
