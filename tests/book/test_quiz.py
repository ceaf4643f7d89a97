"""A quiz is answered in the page: by keyboard, offline, without a script, on paper.

With its script, the first choice counts.
"""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.small_books import build_pages
from tools.chromium import served

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
    static = str(Path("chapters/_static").resolve())
    with StringIO() as complaints:
        build_pages(
            folder,
            {"index.md": page},
            ["tools.quiz"],
            complaints=complaints,
            html_static_path=[static],
            html_js_files=["elements.js"],  # as _config.yml has it
        )
        return complaints.getvalue()


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


def test_on_paper_the_answers_stand_below_the_questions(page: Page):
    answers = page.locator(".quiz-answers")
    assert not answers.is_visible()
    right = page.locator("details", has_text="None, 0.").locator("summary").inner_text()
    page.emulate_media(media="print")
    assert answers.is_visible()
    expected = f"{right[0]} is right. Its score is minus infinity."
    assert answers.get_by_text(expected).is_visible()
    assert not page.locator(".quiz-explanation", has_text="You have read").is_visible()


@pytest.fixture
def scored(built: Path, browser: Browser) -> Iterator[Page]:
    """The page with its script, in a browser that keeps what it is given."""
    with served(built.parent) as address, browser.new_context() as context:
        page = context.new_page()
        page.goto(address)
        yield page


def choose(page: Page, words: str) -> None:
    page.locator("summary", has_text=words).focus()
    page.keyboard.press("Enter")


def test_the_first_choice_counts_and_the_score_outlives_a_reload(scored: Page):
    score = scored.locator(".quiz-score")
    again = scored.get_by_role("button", name="Start over")
    assert "first option that you choose counts" in score.inner_text()
    assert not again.is_visible()
    choose(scored, "A small one.")
    expect(score).to_have_text("0 of 1 right, 1 question left.")
    scored.set_viewport_size({"width": 160, "height": 600})
    option = scored.locator("summary", has_text="A small one.")
    below = option.locator(".quiz-choice").bounding_box()["y"]
    below -= option.bounding_box()["y"]
    assert below < option.bounding_box()["height"] / 2  # beside the first line
    choose(scored, "None, 0.")  # too late, but it says why
    assert scored.get_by_text("Its score is minus infinity.").first.is_visible()
    expect(score).to_have_text("0 of 1 right, 1 question left.")
    choose(scored, "Two.")
    expect(score).to_have_text("1 of 2 right.")
    scored.reload()
    expect(score).to_have_text("1 of 2 right.")
    chosen = scored.locator("details", has=scored.get_by_text("your answer"))
    texts = [text.split(".")[1].strip() for text in chosen.all_inner_texts()]
    assert sorted(texts) == ["A small one", "Two"]
    assert scored.get_by_text("No. Small is not nothing.").is_visible()
    again.click()
    assert "first option that you choose counts" in score.inner_text()
    assert scored.locator("details[open]").count() == 0
    scored.reload()
    assert "first option that you choose counts" in score.inner_text()


def test_an_answer_belongs_to_the_words_of_its_question(scored: Page):
    choose(scored, "Two.")
    keys = scored.evaluate("Object.keys(localStorage)")
    (key,) = [key for key in keys if "-quiz/" in key]
    kept = "key => JSON.parse(localStorage.getItem(key))"
    name = "And how many questions has this quiz?"
    assert scored.evaluate(kept, key) == {name: "Two."}
    for entry in (json.dumps({"Another question?": "Two."}), "3", "no JSON"):
        scored.evaluate(
            "([key, text]) => localStorage.setItem(key, text)", [key, entry]
        )
        scored.reload()
        assert scored.get_by_text("your answer").count() == 0
        assert "first option" in scored.locator(".quiz-score").inner_text()
    choose(scored, "Two.")
    expect(scored.locator(".quiz-score")).to_have_text("1 of 1 right, 1 question left.")


def test_a_broken_quiz_is_a_complaint_of_the_build(root: Path, tmp_path: Path):
    complaint = build(tmp_path, PAGE.replace("[x] Two", "[ ] Two"))
    assert "needs exactly one right option" in complaint
    assert "index.md:3" in complaint
