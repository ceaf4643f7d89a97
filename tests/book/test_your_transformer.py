"""The capstone: a reader swaps mistakes, runs own functions, and takes it home."""

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from autograder.exercise import find_topic
from toolkit.your_transformer import BLOCKS, Transformer, in_one_file

STARTS = 120_000  # milliseconds; for a machine that does other things as well
OURS = {name: find_topic(name).reference(name) for name in BLOCKS}
OWN = """def causal_mask(n):
    # mine alone
    return np.tri(n) > 0
"""


@pytest.fixture(scope="module")
def page_file(html: Path) -> Path:
    return html / "chapters" / "your_transformer.html"


@pytest.fixture(scope="module")
def data(page_file: Path) -> dict:
    """What was computed when the book was built."""
    text = page_file.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="yours-data">(.*?)</script>', text)[1])


@pytest.fixture(scope="module")
def file(html: Path) -> dict:
    """The weights as pages have them."""
    script = html / "_static" / "playground" / "yours.weights.js"
    text = script.read_text(encoding="ascii")
    return json.loads(text[text.index("] = {") + 4 : text.rindex(";")])


@pytest.fixture(scope="module")
def board(browser: Browser, site: str) -> Iterator[Page]:
    """The page of a reader who has solved nothing."""
    with browser.new_context() as context:
        page, asked = context.new_page(), []
        page.on("request", lambda request: asked.append(request.url))
        yield opened(page, site)
        # Nobody has run anything.
        assert not [a for a in asked if "/python/" in a or "yours.weights.js" in a]


def opened(page: Page, site: str) -> Page:
    """The workbench at work: it starts when a reader comes near."""
    page.goto(f"{site}chapters/your_transformer.html", wait_until="load")
    page.locator(".playground").scroll_into_view_if_needed()
    page.wait_for_selector(".playground.is-live", timeout=STARTS)
    return page


def test_its_model_is_the_one_of_the_chapter(html: Path, file: dict):
    script = html / "_static" / "playground" / "write.weights.js"
    assert f'"crc32":{file["crc32"]}' in script.read_text(encoding="ascii")


def test_the_perplexity_falls_with_every_step(data: dict):
    numbers = list(data["stairs"].values())
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[-1] == data["right"]


def test_mistakes_of_every_kind_are_on_the_bench(data: dict):
    assert {m["verdict"] for m in data["mistakes"]} == {
        *("rots", "goes off", "hides", "text only"),
    }
    for mistake in data["mistakes"]:
        known = {
            m.name: m for m in find_topic(mistake["block"]).mistakes(mistake["block"])
        }
        found = known[mistake["title"].replace(" ", "_")]
        assert mistake["hint"] == found.hint


def test_the_texts_are_those_of_the_weights_on_the_page(data: dict, file: dict):
    model = Transformer(file, in_one_file(OURS))
    assert [model.write(data["prompt"], d) for d in data["dice"]] == data["texts"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_with_a_mistake(board: Page, theme: str):
    board.emulate_media(color_scheme=theme, reduced_motion="reduce")
    expect(board.locator("html")).to_have_attribute("data-theme", theme)
    board.select_option("#yours-mistake", "1")
    found = Axe().run(board, context=".playground").response["violations"]
    assert [v["id"] for v in found if v["impact"] in {"serious", "critical"}] == []


def test_a_mistake_changes_text_number_and_block(board: Page, data: dict):
    expect(board.locator("#yours-right")).to_have_text(data["texts"][0])
    for number, mistake in enumerate(data["mistakes"]):
        board.select_option("#yours-mistake", str(number))
        row = board.locator("#yours-blocks li").nth(
            data["blocks"].index(mistake["block"])
        )
        expect(row.locator(".yours-tag")).to_have_text("mistake")
        expect(board.locator(".yours-tag.is-mistake")).to_have_count(1)
        expect(board.locator("#yours-stairs li.is-mistake")).to_have_count(1)
        expect(board.locator("#yours-other-head")).to_contain_text(mistake["verdict"])
        expect(board.locator("#yours-why")).to_contain_text(mistake["hint"][:40])
    board.click("#yours-dice")
    expect(board.locator("#yours-right")).to_have_text(data["texts"][1])
    board.select_option("#yours-mistake", "")
    expect(board.locator(".yours-tag.is-mistake")).to_have_count(0)


def test_the_riddle_tells_which_block_it_was(browser: Browser, site: str, data: dict):
    heard = [
        mistake
        for mistake in data["mistakes"]
        if mistake["verdict"] != "hides"
        and not set(mistake["texts"]) & set(data["texts"])
    ]
    with browser.new_context() as context:
        page = context.new_page()
        page.add_init_script("Math.random = () => 0;")  # draws the first mistake
        opened(page, site)
        riddle = page.locator("#yours-riddle")
        said = riddle.get_by_role("status")
        names = riddle.get_by_role("button").all_inner_texts()
        right = heard[0]["block"]
        wrong = next(name for name in names if name != right)
        for name, expected in ((right, "Right."), (wrong, f"No, it was {right}.")):
            riddle.get_by_role("button", name=name, exact=True).click()
            expect(said).to_contain_text(expected)
            expect(said).to_contain_text(heard[0]["hint"][:40])
            riddle.get_by_role("button", name="another one").click()


@pytest.fixture(scope="module")
def run(browser: Browser, site: str, html: Path) -> Iterator[Page]:
    """The page of a reader who has solved some blocks, after a run in Python."""
    chapters = html / "_static" / "in_page" / "chapters.js"
    if not chapters.exists():
        reason = "the book was built without Pyodide"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    versions = json.loads(
        re.search(r"chapters = (.*);", chapters.read_text("ascii"))[1]
    )
    attention = inspect.getsource(OURS["scaled_dot_product_attention"])
    work = {
        "causal_mask": OWN,
        "masked_softmax": inspect.getsource(OURS["masked_softmax"]),
        "scaled_dot_product_attention": attention.replace("/ np.sqrt", "* np.sqrt"),
    }
    entries = {
        f"attention-from-scratch/{name}/{versions['masking'][name]}": json.dumps(
            {"code": code, "best": code}
        )
        for name, code in work.items()
    }
    entries["attention-from-scratch/merge_heads/older"] = json.dumps({"code": "1"})
    with browser.new_context(accept_downloads=True) as context:
        page = opened(context.new_page(), site)
        keep = "all => Object.entries(all).forEach(one => localStorage.setItem(...one))"
        page.evaluate(keep, entries)
        opened(page, site)
        expect(page.locator("#yours-count")).to_contain_text("3 of 13 are yours")
        page.click("#yours-run")
        expect(page.locator("#yours-py")).to_be_visible(timeout=STARTS)
        yield page


def test_own_functions_that_pass_run_in_the_model(run: Page, data: dict):
    expect(run.locator("#yours-status")).to_contain_text(
        "the same text, letter for letter"
    )
    expect(run.locator("#yours-other")).to_have_text(data["texts"][0])
    tags = run.locator("#yours-blocks .yours-tag").all_inner_texts()
    yours = [b for b, tag in zip(data["blocks"], tags, strict=True) if tag == "yours"]
    assert yours == ["causal_mask", "masked_softmax"]
    for block, why in (
        ("scaled_dot_product_attention", "Yours does not pass here"),
        ("merge_heads", "Yours is to an earlier version"),
    ):
        row = run.locator("#yours-blocks li").nth(data["blocks"].index(block))
        expect(row).to_contain_text(why)


def test_the_file_to_take_home_runs(run: Page, tmp_path: Path):
    for button in ("#yours-py", "#yours-json"):
        with run.expect_download() as download:
            run.click(button)
        download.value.save_as(tmp_path / download.value.suggested_filename)
    program = tmp_path / "my_transformer.py"
    assert "# mine alone" in program.read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", program, "The class"], capture_output=True, check=True
    )
    assert done.stdout.startswith(b"The class")
