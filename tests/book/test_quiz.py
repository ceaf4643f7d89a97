"""A quiz is answered in the page: by keyboard, offline, without a script, on paper."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from sphinx.application import Sphinx

PAGE = """# Masks

````{quiz}
Which *weight* does a hidden key get?

- [ ] All of it.

  Then nothing would be left.
- [x] None, `0`.

  Its score is minus infinity.
- [ ] A small one.

  Small is not nothing.

And how many questions has this quiz?

- [x] Two.

  You have read both.
- [ ] One.

  Count again.
- [ ] Three.

  Here it ends.
````
"""


def build(folder: Path, page: str) -> str:
    """Build a page with Sphinx; what it complained about."""
    (folder / "conf.py").touch()
    (folder / "index.md").write_text(page, encoding="utf-8")
    complaints = folder / "complaints.txt"
    with complaints.open("w", encoding="utf-8") as warnings:
        Sphinx(
            srcdir=folder,
            confdir=folder,
            outdir=folder / "html",
            doctreedir=folder / "doctrees",
            buildername="html",
            confoverrides={
                "extensions": ["myst_parser", "tools.quiz"],
                "html_static_path": [str(Path("chapters/_static").resolve())],
            },
            status=None,
            warning=warnings,
        ).build()
    return complaints.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as a file."""
    folder = tmp_path_factory.mktemp("quiz")
    assert build(folder, PAGE) == ""
    return folder / "html" / "index.html"


@pytest.fixture
def page(built: Path, browser: Browser) -> Page:
    """The page in a browser without a network and without JavaScript."""
    with browser.new_context(offline=True, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(built.as_uri())
        yield page


def test_an_option_unfolds_by_keyboard_and_says_whether_it_is_right(page: Page):
    right = page.locator("details", has_text="None, 0.")
    explanation = right.get_by_text("Its score is minus infinity.")
    assert not explanation.is_visible()
    right.locator("summary").focus()
    page.keyboard.press("Enter")
    assert explanation.inner_text() == "Right. Its score is minus infinity."
    assert explanation.is_visible()
    wrong = page.locator("details", has_text="A small one.")
    wrong.locator("summary").focus()
    page.keyboard.press("Space")
    assert wrong.get_by_text("No. Small is not nothing.").is_visible()
    assert explanation.is_visible()  # so the two can be compared


def test_questions_are_numbered_and_options_lettered(page: Page):
    questions = page.locator("ol.quiz-questions > li")
    assert questions.count() == 2
    options = questions.nth(1).locator("summary").all_inner_texts()
    assert [text[:3] for text in options] == ["A. ", "B. ", "C. "]
    assert {text[3:] for text in options} == {"One.", "Two.", "Three."}
    assert questions.nth(0).locator("summary code").inner_text() == "0"


def test_on_paper_the_answers_stand_below_the_questions(page: Page):
    answers = page.locator(".quiz-answers")
    assert not answers.is_visible()
    right = page.locator("details", has_text="None, 0.").locator("summary").inner_text()
    page.emulate_media(media="print")
    assert answers.is_visible()
    expected = f"{right[0]} is right. Its score is minus infinity."
    assert answers.get_by_text(expected).is_visible()
    assert not page.locator(".quiz-explanation", has_text="You have read").is_visible()


def test_a_broken_quiz_is_a_complaint_of_the_build(root: Path, tmp_path: Path):
    complaint = build(tmp_path, PAGE.replace("[x] Two", "[ ] Two"))
    assert "needs exactly one right option" in complaint
    assert "index.md:3" in complaint
