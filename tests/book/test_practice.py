"""Practice in a browser: cards are dealt, answered, and come back when they are due."""

import json

import pytest
from playwright.sync_api import Browser, Page

CHAPTER = "modern_attention"
KEY = "attention-from-scratch-practice"
# The card on the board, with what it was made of.
CARD = """name => {
  const { card } = document.querySelector(".practice-task").dataset;
  return Practice.chapters[name].cards.find(({ id }) => id === card);
}"""


@pytest.fixture
def page(readers_browser: Browser, site: str) -> Page:
    with readers_browser.new_context(viewport={"width": 390, "height": 780}) as context:
        page = context.new_page()
        page.goto(f"{site}chapters/{CHAPTER}.html")
        yield page


def start(page: Page) -> None:
    page.get_by_role("button", name="Start").click()


def answer(page: Page, miss: bool = False) -> dict:
    """Solve the card on the board, after a wrong choice if there is to be one.

    Returns what the card was made of.
    """
    page.wait_for_selector(".practice-ask")
    card = page.evaluate(CARD, CHAPTER)
    board = page.locator(".practice-board")
    loose, options = board.locator(".practice-loose"), board.locator(".practice-option")
    if card["kind"] == "order":
        if miss:
            board.get_by_role("button", name="Check").click()
        for line in card["order"]:
            shown = loose.all_text_contents()
            loose.nth(shown.index(line)).click()
        board.get_by_role("button", name="Check").click()
    else:
        if card["kind"] == "line":
            page.locator(".practice-line").nth(card["line"]).click()
        shown = options.all_text_contents()
        if miss:
            options.nth(shown.index(card["options"][1])).click()
        options.nth(shown.index(card["options"][0])).click()
    page.wait_for_selector(".practice-says")
    board.get_by_role("button", name="Next").click()
    return card


def kept(page: Page) -> dict:
    return json.loads(page.evaluate("key => localStorage.getItem(key)", KEY))


def test_a_round_is_six_cards_and_what_was_missed_comes_first_again(page: Page):
    start(page)
    today = page.evaluate("Math.floor(Date.now() / 86400000)")
    missed = answer(page, miss=True)["id"]
    known = [answer(page)["id"] for _ in range(5)]
    assert "5 of 6" in page.locator(".practice-message").inner_text()
    assert kept(page)["cards"] == {
        missed: [0, today + 1],
        **{card: [1, today + 1] for card in known},
    }


def test_a_card_that_is_known_again_waits_longer(page: Page):
    page.evaluate(
        """([key, name]) => localStorage.setItem(key, JSON.stringify(
          { opened: [name], cards: {} }))""",
        [KEY, CHAPTER],
    )
    start(page)
    first = answer(page)["id"]
    page.evaluate(
        """([key, id]) => { const kept = JSON.parse(localStorage.getItem(key));
          kept.cards = { [id]: [2, 0] };
          localStorage.setItem(key, JSON.stringify(kept)); }""",
        [KEY, first],
    )
    page.reload()
    start(page)
    assert answer(page)["id"] == first  # what is due comes before what is new
    today = page.evaluate("Math.floor(Date.now() / 86400000)")
    assert kept(page)["cards"][first] == [3, today + 7]


def test_the_page_for_practice_has_cards_of_opened_chapters_alone(
    readers_browser: Browser, site: str
):
    with readers_browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{site}chapters/practice.html")
        assert "Open a chapter first" in page.locator(".practice-message").inner_text()
        page.goto(f"{site}chapters/{CHAPTER}.html")
        page.goto(f"{site}chapters/practice.html")
        start(page)
        answer(page)
        assert page.evaluate("Object.keys(Practice.chapters)") == [CHAPTER]


def test_a_card_with_code_comes_once_its_exercise_is_solved(page: Page):
    start(page)
    assert {answer(page)["kind"] for _ in range(6)} <= {"predict", "which"}
    board = page.locator(".practice-board")
    name = board.get_by_role("link").inner_text()
    solved = f"""localStorage.setItem("attention-from-scratch/{name}/1",
      JSON.stringify({{ code: "1", best: "1" }}))"""
    page.evaluate(solved)
    board.get_by_role("button", name="More cards").click()
    cards = [answer(page) for _ in range(6)]
    with_code = [
        c["exercise"] for c in cards if c["kind"] in ("line", "order", "shape")
    ]
    assert set(with_code) == {name}
    board.get_by_role("button", name="I have solved them in a notebook").click()
    assert {answer(page)["kind"] for _ in range(6)} & {"line", "order", "shape"}
    assert board.get_by_role("link").count() == 0
