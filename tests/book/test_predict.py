"""A prediction is written before the cell that answers it is read."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.small_books import build_pages
from tools.chromium import served

PAGE = """# Widths

```{predict} 66.7
:line: d = 64
:near: 5
What is the *variance* for `d=64`?
```

````{container} cell

```{container} cell_output
d =   64: variance 66.7, divided by d 1.04
```
````

The variance is close to d.

```{predict} all the same
:line: 0.5 of the first
:choices: 1.0 | 0.5 | all the same
Which share?
```

````{container} cell

```{container} cell_output
0.5 of the first: error 0.50
```
````
"""


# Docutils gives no class an underline, and the cells of notebooks have one.
CONF = """
from docutils import nodes

def name(app, doctree):
    for place in doctree.findall(nodes.container):
        place["classes"] = [c.replace("-", "_") for c in place["classes"]]

def setup(app):
    app.connect("doctree-read", name, priority=1)
"""


def build(folder: Path, page: str) -> str:
    """Build a page with Sphinx; what it complained about."""
    (folder / "conf.py").write_text(CONF, encoding="utf-8")
    static = str(Path("chapters/_static").resolve())
    with StringIO() as complaints:
        build_pages(
            folder,
            {"index.md": page},
            ["tools.predict"],
            complaints=complaints,
            html_static_path=[static],
            html_js_files=["elements.js"],  # as _config.yml has it
        )
        return complaints.getvalue()


@pytest.fixture(scope="module")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the page."""
    folder = tmp_path_factory.mktemp("predict")
    assert build(folder, PAGE) == ""
    return folder / "html"


@pytest.fixture
def page(built: Path, browser: Browser) -> Iterator[Page]:
    """The page as a new reader finds it."""
    with served(built) as site, browser.new_context() as context:
        page = context.new_page()
        page.goto(site)
        yield page


def test_an_output_waits_for_a_number_and_is_compared_with_it(page: Page):
    output, verdict = page.locator(".cell_output").first, page.locator("[role=status]")
    told = page.get_by_text("The variance is close to d.")
    expect(output).not_to_be_visible()
    expect(told).not_to_be_visible()
    page.get_by_role("spinbutton", name="Your prediction").fill("8")
    page.keyboard.press("Enter")
    expect(output).to_be_visible()
    expect(told).to_be_visible()
    expect(verdict.first).to_have_text(
        "✗ You said “8”. It is “66.7”. The cell prints: "
        "d = 64: variance 66.7, divided by d 1.04"
    )
    page.get_by_role("spinbutton").fill("64")
    page.get_by_role("button", name="Predict").first.click()
    expect(verdict.first).to_contain_text("✓ You said “64”. The cell prints:")


def test_a_choice_is_remembered_and_leaves_other_outputs_waiting(page: Page):
    page.get_by_label("all the same").check()
    page.get_by_role("button", name="Predict").last.click()
    page.reload()
    expect(page.get_by_label("all the same")).to_be_checked()
    expect(page.locator("[role=status]").last).to_contain_text("✓ You said “all")
    expect(page.locator(".cell_output").last).to_be_visible()
    expect(page.locator(".cell_output").first).not_to_be_visible()
    page.get_by_role("button", name="Show it").first.click()
    expect(page.locator(".cell_output").first).to_be_visible()
    expect(page.locator("[role=status]").first).to_be_empty()


def test_what_a_reader_printed_is_compared_rather_than_the_book(page: Page):
    page.evaluate(
        """() => document.querySelector(".cell").insertAdjacentHTML("beforeend",
        "<div class='in-page-output cell_output'>d = 64: variance 60.1</div>")"""
    )
    page.get_by_role("spinbutton").fill("64")
    page.keyboard.press("Enter")
    expect(page.locator("[role=status] code").first).to_have_text(
        "d = 64: variance 60.1"
    )


def test_without_a_script_it_is_a_paragraph_and_nothing_waits(
    built: Path, browser: Browser
):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto((built / "index.html").as_uri())
        expect(page.locator(".predict").first).to_have_text(
            "Predict. What is the variance for d=64?"
        )
        expect(page.locator(".cell_output").first).to_be_visible()
        assert page.locator("input[name=prediction], form.predict-form").count() == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{predict} 66.7", "{predict} 70.1", "the answer is 70.1, and the output has"),
        (":line: d = 64", ":line: d = 128", "no line with 'd = 128'"),
        ("{predict} 66.7", "{predict} many", "no number and none of its choices"),
    ],
)
def test_the_build_complains_about_an_answer_that_is_not_printed(
    tmp_path: Path, old: str, new: str, said: str
):
    assert said in build(tmp_path, PAGE.replace(old, new))
