"""Exercises are solved in the page: written, run, checked and kept, from a file."""

import gzip
import inspect
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from string import printable
from typing import Any

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from autograder.check import examine_here
from autograder.exercise import find_topic, load_topic
from solutions import simplified_attention as right
from solutions import training
from tests.book import axe
from tests.book.playgrounds import Window
from tests.suites import sweep
from tools import page_course

CHAPTER = "simplified_attention"
MOST_BYTES = 30_000  # compressed, on a page on which nobody runs anything
STARTS = 120_000  # milliseconds; for a machine that does other things as well


def region(page: Page, name: str) -> Locator:
    return page.locator(f'.in-page[data-exercise="{name}"]')


def press(page: Page, name: str, button: str) -> None:
    place = region(page, name)
    if button in ("Run", "Reset", "Copy", "Open in the notebook"):
        place.locator(".in-page-menu > summary").click()
    place.get_by_role("button", name=f"{button}: {name}").click()


def editor(page: Page, name: str) -> Locator:
    """The editor, which is there as soon as an exercise is near the window."""
    region(page, name).scroll_into_view_if_needed()
    return region(page, name).locator(".cm-content")


def write(page: Page, name: str, code: str) -> None:
    """Put code in the place of what the editor has, as if it were pasted."""
    editor(page, name).focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(code)


def check(page: Page, name: str, code: str | None = None) -> dict[str, str]:
    """Check an exercise by its key; what the region then says of it."""
    if code is not None:
        write(page, name, code)
        page.keyboard.press("Control+Enter")
    else:
        press(page, name, "Check")
    found = region(page, name)
    expect(found).to_have_attribute("data-score", re.compile(r"\d+"), timeout=STARTS)
    expect(found).to_have_attribute("aria-busy", "false")
    return found.evaluate("e => ({...e.dataset})")


def status(page: Page, name: str) -> Locator:
    return region(page, name).locator(".in-page-status")


def output(page: Page, name: str) -> Locator:
    return region(page, name).locator(".in-page-output")


def mistake_source(name: str, mistake: str, chapter: str = CHAPTER) -> str:
    """Code that answers an exercise with a known mistake."""
    module = f"solutions.mistakes.{chapter}"
    return f"from {module} import {mistake}\n{name} = {mistake}.implementation\n"


@pytest.fixture(scope="module")
def file(html: Path) -> Path:
    """The chapter's page."""
    page = html / "chapters" / f"{CHAPTER}.html"
    if "in_page/page.js" not in page.read_text(encoding="utf-8"):
        reason = "the book was built without Pyodide"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return page


@pytest.fixture(scope="module")
def address(file: Path, site: str) -> str:
    """Where a server has the page: Chromium's storage for files loses what a page that
    is left at once has just written.
    """
    return f"{site}chapters/{file.name}"


# Python takes longer to start than to run all cells of a chapter. So pages that were
# opened from another one ask the Python that runs there.
ASKS_THE_OPENER = """addEventListener("DOMContentLoaded", () => {
  if (globalThis.opener) InPage.python = opener.InPage.python;
});"""


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One reader of most tests here."""
    with browser.new_context(accept_downloads=True) as context:
        context.add_init_script(ASKS_THE_OPENER)
        context.add_init_script(PATIENT_PAGES)
        yield context


@pytest.fixture(scope="module")
def asked(context: BrowserContext) -> list[str]:
    """Addresses of everything that the pages load."""
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    return asked


@pytest.fixture(scope="module")
def page(
    context: BrowserContext, address: str, site: str, asked: list[str]
) -> Iterator[Page]:
    """A page that is opened once, since Python takes its time to start."""
    complaints: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    yield page
    assert complaints == []
    assert [u for u in asked if not u.startswith((site, "blob:", "data:"))] == []


def test_nothing_of_python_is_loaded_before_the_first_run(page, asked, html: Path):
    names = [name.split("?")[0] for name in asked]
    ours = [name.split("/_static/")[1] for name in names if "/in_page/" in name]
    assert {"in_page/runtime.js", "in_page/page.js"} <= set(ours)
    assert not [name for name in ours if "/python/" in name or "codemirror" in name]
    files = [(html / "_static" / name).read_bytes() for name in ours]
    marks = (
        (html / "chapters" / f"{CHAPTER}.html").read_bytes().count(b'class="in-page"')
    )
    assert sum(len(gzip.compress(file)) for file in files) + 100 * marks < MOST_BYTES


# The first that starts Python, so that nobody has to wait for another one.
def test_loading_begins_with_the_first_letter(page: Page):
    editor(page, "softmax").focus()
    assert page.workers == []
    with page.expect_event("worker", timeout=STARTS):
        page.keyboard.type("1")
    # What is asked meanwhile is answered by the Python that is starting.
    source = inspect.getsource(right.softmax)
    assert check(page, "softmax", source)["score"] == "7"
    assert len(page.workers) == 1
    press(page, "softmax", "Reset")


def test_a_card_is_ready_to_write_in(page: Page):
    place = region(page, "softmax")
    expect(editor(page, "softmax")).not_to_contain_text("Args:")
    place.get_by_text("The whole contract").click()
    expect(place.locator(".in-page-contract")).to_contain_text("Args:")
    place.get_by_text("The whole contract").click()
    expect(place.locator(".in-page-shapes")).to_contain_text("(..., N) → weights")
    expect(place.locator(".admonition-title")).to_contain_text("★★☆ · 10 minutes")
    expect(place.locator("button.in-page-check")).to_have_count(1)
    editor(page, "softmax").click(position={"x": 3, "y": 3})
    page.keyboard.type("return 7")
    assert editor(page, "softmax").inner_text().splitlines()[1] == "    return 7"
    press(page, "softmax", "Reset")


def test_a_known_mistake_is_what_a_reader_sees_and_hears_first(page: Page):
    known = load_topic(CHAPTER).mistakes("softmax")[0]
    left = editor(page, "softmax").bounding_box()["x"]
    found = check(page, "softmax", mistake_source("softmax", known.name))
    assert editor(page, "softmax").bounding_box()["x"] == left  # nothing jumps
    assert found["mistake"] == known.name
    assert int(found["score"]) < 7
    head = output(page, "softmax").locator(".attention-headline")
    assert known.hint.startswith(head.inner_text())
    expect(head).to_be_in_viewport()
    assert head.evaluate("e => getComputedStyle(e).fontSize") == "18px"
    expect(status(page, "softmax")).to_have_text(head.inner_text())
    captions = output(page, "softmax").locator("figcaption")
    assert captions.count() == 2
    for caption in captions.all():
        assert caption.evaluate("e => getComputedStyle(e).fontWeight") == "400"
    tests = output(page, "softmax").locator(".attention-tests")
    expect(tests.locator("table")).not_to_be_visible()
    tests.locator("summary").click()
    expect(tests.locator("tbody tr")).to_have_count(5)


def test_the_line_to_blame_is_marked_and_numpys_own_is_never_it(page: Page):
    check(page, "softmax", "def softmax(scores):\n    x = 1\n    return np.sqr(scores)")
    lines = region(page, "softmax").locator(".cm-line")
    colours = lines.evaluate_all("all => all.map(e => getComputedStyle(e).background)")
    assert colours[0] == colours[1] != colours[2]
    expect(output(page, "softmax")).to_contain_text("your line 3, return np.sqr(")


def test_an_earlier_verdict_fades_when_the_code_changes(page: Page):
    check(page, "softmax", "def softmax(scores):\n    return scores")
    write(page, "softmax", "def softmax(scores):\n    return 2 * scores")
    expect(output(page, "softmax")).to_have_class(re.compile("is-old"))
    assert region(page, "softmax").get_attribute("data-score") is None
    check(page, "softmax")
    expect(output(page, "softmax")).not_to_have_class(re.compile("is-old"))


def test_a_right_answer_pays_and_leads_to_what_follows(page: Page):
    found = check(page, "softmax", inspect.getsource(right.softmax))
    assert (found["score"], found["maxScore"]) == ("7", "7")
    assert "mistake" not in found
    expect(page.locator(".in-page-progress")).to_have_text("1 of 5 exercises solved")
    paid = output(page, "softmax").locator(".attention-payoff")
    softmax = load_topic(CHAPTER).exercises["softmax"]
    expect(paid.locator("p").first).to_have_text(softmax.right)
    dates = paid.locator(".in-page-model strong")
    expect(dates).to_have_count(3)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", d) for d in dates.all_inner_texts())
    end = output(page, "softmax").locator(".in-page-end")
    end.get_by_role("link", name="Next exercise: ").click()
    expect(editor(page, "break_softmax")).to_be_focused()
    end.get_by_role("button", name="Read on").click()
    reached = page.evaluate("document.activeElement.textContent")
    assert reached.startswith("How do you know that a softmax is right?")


def test_a_prediction_is_kept_and_stands_beside_the_right_answer(
    page: Page, context, address
):
    field = region(page, "softmax").get_by_label("Your prediction")
    field.fill("0.73, 0.27, 0")
    check(page, "softmax", inspect.getsource(right.softmax))
    expect(output(page, "softmax")).to_contain_text("You predicted: “0.73, 0.27, 0”.")
    later = context.new_page()
    later.goto(address)
    kept = region(later, "softmax").get_by_label("Your prediction")
    expect(kept).to_have_value("0.73, 0.27, 0")
    assert later.get_by_label("Your prediction").count() < 5  # where it is asked for
    later.close()


def test_what_was_solved_stays_solved(page: Page, context, address):
    code = inspect.getsource(right.softmax)
    check(page, "softmax", code)
    write(page, "softmax", "pass")
    chip = region(page, "softmax").locator(".in-page-chip")
    expect(chip).to_have_text("✓ solved, edited since")
    check(page, "softmax")
    expect(page.locator(".in-page-progress")).to_have_text("1 of 5 exercises solved")
    later = context.new_page()
    later.goto(address)
    expect(later.locator(".in-page-progress")).to_have_text("1 of 5 exercises solved")
    press(later, "softmax", "Put the solved version back")
    expect(region(later, "softmax").locator(".in-page-chip")).to_have_text("✓ solved")
    later.close()
    expect(chip).to_have_text("✓ solved")  # another tab's work arrives


def test_work_of_the_second_edition_is_not_lost(browser: Browser, address: str):
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(address)
        page.evaluate(
            """(version) => localStorage.setItem(
            `attention-from-scratch/softmax/${version}`,
            JSON.stringify({ code: "mine = 1", score: 7, of: 7 }))""",
            region(page, "softmax").get_attribute("data-version"),
        )
        page.evaluate(
            """localStorage.setItem("attention-from-scratch/attend/older",
            JSON.stringify({ code: "old = 1", score: 3, of: 3 }))"""
        )
        page.reload()
        expect(editor(page, "softmax")).to_have_text("mine = 1")
        expect(page.locator(".in-page-progress")).to_have_text(re.compile("^1 of 5"))
        expect(editor(page, "attend")).to_have_text("old = 1")
        expect(status(page, "attend")).to_contain_text("an earlier version")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import torch", "the notebook has everything"),
        ("softmax = input()", "a page cannot ask for input"),
        ("[np.empty(10**8) for _ in range(6)]", "MemoryError"),
    ],
)
def test_whatever_a_cell_does_the_page_says_it_and_lives(page: Page, code, said):
    check(page, "softmax", code)
    expect(output(page, "softmax")).to_contain_text(said)
    assert check(page, "softmax", inspect.getsource(right.softmax))["score"] == "7"


def test_stop_ends_an_endless_loop_and_no_other_cell(page: Page):
    write(page, "softmax", "while True:\n    pass")
    page.keyboard.press("Control+Enter")
    button = region(page, "softmax").locator(".in-page-check")
    expect(button).to_have_text("Checking …", timeout=STARTS)
    write(page, "attend", "6 * 7")
    press(page, "attend", "Run")
    press(page, "softmax", "Stop")
    expect(status(page, "softmax")).to_have_text("Stopped.")
    expect(output(page, "attend")).to_contain_text("42", timeout=STARTS)
    assert check(page, "softmax", inspect.getsource(right.softmax))["score"] == "7"
    assert len(page.workers) == 1  # the loop does not go on in the background


def test_code_that_a_task_is_about_is_not_folded(page: Page, site: str):
    with opened_from(page, f"{site}chapters/decoding.html") as other:
        task = region(other, "greedy_decode").locator(".exercise")
        expect(task).to_contain_text("next_logits(prefix)")


def test_the_ladder_goes_up_beside_the_verdict(page: Page):
    known = load_topic(CHAPTER).mistakes("softmax")[0]
    check(page, "softmax", mistake_source("softmax", known.name))
    place = region(page, "softmax")
    rungs = place.locator(".in-page-ladder > li")
    written = place.locator(".in-page-hints > li").count() or 1
    for count in range(1, written + 4):
        button = {1: "Stuck?", written + 3: "Show the solution"}
        press(page, "softmax", button.get(count, "Still stuck?"))
        expect(rungs).to_have_count(count)
    expect(output(page, "softmax")).to_contain_text(known.hint.split(",")[0])
    expect(place.locator(".in-page-stuck")).to_be_hidden()
    expect(rungs.last.locator("ins")).not_to_have_count(0)
    expect(rungs.last).to_contain_text("The first two weights of the prediction")
    write(page, "softmax", "def softmax(scores):\n    return 3 * scores")
    check(page, "softmax")
    old = place.locator(".is-old")  # a call that went wrong before, in grey
    expect(old).to_have_count(1)
    assert "earlier" in old.evaluate("e => getComputedStyle(e, '::before').content")
    place.get_by_role("button", name="Put it below my code").click()
    expect(editor(page, "softmax")).to_contain_text("softmax(scores=np.array(")
    expect(output(page, "softmax").locator("pre")).to_contain_text("array(")


ASK = """async ({ name, chapter, sources }) => {
  const reports = [];
  for (const source of sources) {
    const cell = { name, kind: "exercise", source };
    const question = { do: "check", with: { cell, above: [] } };
    const answer = await InPage.python.ask(question, () => {});
    reports.push(answer.report);
  }
  return reports;
}"""


def rounded(report: dict[str, Any]) -> dict[str, Any]:
    """A report in which what rounding leaves of a zero is 0, on every machine.

    Of a case about rounding, nobody can say beforehand how many values it changes.
    """
    told = [
        {**case, "message": ""} if case["title"].startswith("rounding") else case
        for case in report["cases"]
    ]
    text = json.dumps({**report, "cases": told})
    return json.loads(re.sub(r"-?\d(\.\d+)?e-(1[3-9]|[2-9]\d)", "0", text))


def cases_that_do_not_warn(report: dict[str, Any]) -> list[tuple[str, bool]]:
    """What a browser can see where a case looks for warnings: the other cases."""
    warn = {
        case.title
        for case in find_topic(report["name"]).exercises[report["name"]].cases
        if case.warns
    }
    return [
        (c["title"], c["passed"]) for c in report["cases"] if c["title"] not in warn
    ]


def test_a_case_that_no_browser_can_look_at_is_named(page: Page):
    cell = {"name": "swiglu", "kind": "exercise", "source": "1 / 0"}
    question = {"do": "check", "with": {"cell": cell, "above": []}}
    asked = "question => InPage.python.ask(question, () => {})"
    found = page.evaluate(asked, question)["page"]
    (case,) = [c for c in find_topic("swiglu").exercises["swiglu"].cases if c.warns]
    assert (
        f"NumPy gives no warnings in a browser, so none can fail “{case.title}" in found
    )


@sweep("chapter", page_course.topics())
def test_reference_and_mistakes_get_the_reports_of_native_python(page, chapter):
    topic = load_topic(chapter)
    for name in sorted(page_course.solved_in_page(chapter)):
        exercise, known = topic.exercises[name], topic.mistakes(name)
        sources = [f"from solutions.{chapter} import {name}"]
        sources += [mistake_source(name, m.name, chapter) for m in known]
        answers = [topic.reference(name), *(m.implementation for m in known)]
        native = [examine_here(exercise, answer).report for answer in answers]
        asked = {"name": name, "chapter": chapter, "sources": sources}
        seen = page.evaluate(ASK, asked)
        if any(case.warns for case in exercise.cases):
            assert list(map(cases_that_do_not_warn, seen)) == [
                cases_that_do_not_warn(report.as_dict()) for report in native
            ]
        else:
            expected = [report.as_dict() for report in native]
            assert list(map(rounded, seen)) == list(map(rounded, expected))
        assert native[0].score == native[0].max_score


def test_reset_gives_the_stub_back_and_can_be_taken_back(page: Page):
    write(page, "attend", "mine = 1")
    press(page, "attend", "Reset")
    expect(region(page, "attend").locator(".cm-content")).to_contain_text("def attend(")
    status(page, "attend").get_by_role("button", name="Take it back").click()
    expect(region(page, "attend").locator(".cm-content")).to_have_text("mine = 1")


def test_work_survives_a_reload_and_reaches_another_tab(page: Page, context, address):
    other = context.new_page()
    other.goto(address)
    write(page, "attend", "kept = 1")
    expect(editor(other, "attend")).to_have_text("kept = 1")
    other.reload()
    expect(editor(other, "attend")).to_have_text("kept = 1")
    other.close()


def test_a_notebook_takes_the_answers_away(page: Page, tmp_path):
    code = "def attend(q, X):\n    return 'from the page'"
    write(page, "attend", code)
    with page.expect_download() as download:
        press(page, "attend", "Open in the notebook")
    path = tmp_path / f"{CHAPTER}.ipynb"
    download.value.save_as(path)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    solved = {
        cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"])
        for cell in cells
        if cell["metadata"].get("nbgrader", {}).get("solution")
    }
    assert list(solved) == [
        *("alignment_scores", "softmax", "break_softmax", "attend", "soft_lookup")
    ]
    assert solved["attend"] == code
    assert "Args:" in solved["break_softmax"] or "Returns:" in solved["break_softmax"]


def test_the_keyboard_is_enough_and_is_not_trapped(page: Page):
    name = "soft_lookup"
    place = editor(page, name)
    place.focus()
    page.keyboard.press("Tab")  # leads on for who has written nothing
    expect(region(page, name).get_by_role("button", name="Check")).to_be_focused()
    place.focus()
    page.keyboard.press("Control+Home")
    page.keyboard.type("x")
    page.keyboard.press("Tab")
    assert place.inner_text().startswith("    xdef")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(region(page, name).get_by_role("button", name="Check")).to_be_focused()


def test_an_editor_comes_when_the_reader_moves_and_keeps_the_focus(
    browser: Browser, address: str
):
    page = open_fresh(browser, address)
    code = region(page, "softmax").locator(".cell_input pre").first
    code.evaluate("e => { e.tabIndex = 0; e.focus(); }")
    expect(region(page, "softmax").locator(".cm-content")).to_be_focused()
    page.context.close()


# With the space, and without what moves to another line.
TYPED = printable[:95]


def test_whatever_is_typed_stands_in_the_editor(page: Page):
    editor(page, "soft_lookup").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type(TYPED)
    expect(editor(page, "soft_lookup")).to_have_text(TYPED)
    press(page, "soft_lookup", "Reset")


def test_axe_finds_nothing_serious_in_an_exercise_at_work(page: Page):
    check(page, "attend", inspect.getsource(right.attend))
    write(page, "attend", "pass")
    wrong = "def softmax(scores):\n    return scores  # a note\n"
    check(page, "softmax", wrong)
    page.get_by_role("button", name=re.compile("^Stuck")).first.click()
    at_work = ".in-page[data-exercise]"
    for theme, rules in (("light", {}), ("dark", axe.LOOKS)):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        assert axe.serious(axe.violations(page, at_work, rules)) == []


def open_fresh(browser: Browser, address: str, **options: Any) -> Page:
    page = browser.new_context(**options).new_page()
    page.goto(address)
    return page


def cell_with(page: Page, code: str) -> Locator:
    """The region of the demonstration that has some code."""
    return page.locator(".in-page[data-cell]").filter(has_text=code).first


def run_cell(region: Locator) -> str:
    """Run a demonstration; what came out of it, without pictures."""
    folded = region.locator("details")  # the button stands below the code
    folded.evaluate_all("all => all.forEach((part) => { part.open = true; })")
    region.get_by_role("button", name=re.compile("^Run")).click()
    expect(region).to_have_attribute("aria-busy", "false", timeout=STARTS)
    expect(region.locator(".in-page-status")).not_to_be_empty()
    return region.locator(".in-page-output").inner_text()


NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(%?)")


def assert_alike(one: str, other: str) -> None:
    """Two texts have the same words; numbers may differ by what machines round.

    Of a hundred trials, that may turn out another way for one.
    """
    one, other = (re.sub(r" at 0x\w+| +$", "", t, flags=re.M) for t in (one, other))
    assert NUMBER.sub("#", one) == NUMBER.sub("#", other)
    for (ours, sign), (theirs, _) in zip(
        NUMBER.findall(one), NUMBER.findall(other), strict=True
    ):
        least = 1.0 if sign else 1e-9
        assert float(ours) == pytest.approx(float(theirs), rel=0.02, abs=least)


FORGET_NAMES = (
    "[globals().pop(name) for name in [*globals()]"
    " if name != 'input' and not name.startswith('__')]"
)


# On a machine that does other things as well, a cell may take longer than for a reader.
BE_PATIENT = (
    "__import__('autograder.watch').watch.Watch.__init__.__defaults__ = (3600.0,)"
)
PATIENT_PAGES = """{
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (work, time, ...with_) =>
    setTimeout(work, time === 30_000 ? 3_600_000 : time, ...with_);
}"""


def run_in_python(page: Page, source: str, above: list[dict[str, str]]) -> None:
    cell = {"name": "told", "kind": "demo", "source": source}
    question = {"do": "run", "with": {"cell": cell, "above": above}}
    answer = page.evaluate("asked => InPage.python.ask(asked, () => {})", question)
    assert not answer["failed"], answer


def be_patient(page: Page) -> None:
    """Have Python end no cell because of its time."""
    run_in_python(page, BE_PATIENT, [])


def forget(page: Page) -> None:
    """Take all names away from Python, and what it knows of setup cells that ran."""
    names = [f"setup {number}" for number in range(9)]
    above = [{"name": name, "kind": "setup", "source": ""} for name in names]
    run_in_python(page, FORGET_NAMES, above)


@contextmanager
def opened_from(page: Page, address: str) -> Iterator[Page]:
    """Another page, whose cells run in the Python of this one and find no names."""
    forget(page)
    with page.expect_popup() as popup:
        page.evaluate("url => { open(url); }", address)
    other = popup.value
    other.wait_for_load_state()
    yield other
    assert other.workers == []
    other.close()


def test_a_demonstration_asks_for_the_cells_above_and_runs_them(
    page: Page, address: str
):
    with opened_from(page, address) as other:
        words, weights = cell_with(other, "words = ["), cell_with(other, "river = X")
        assert "This cell needs" in run_cell(weights)
        weights.get_by_role("button", name="Run all above").click()
        found = weights.locator(".in-page-output")
        expect(found).to_contain_text("the bank for money", timeout=STARTS)
        before = found.inner_text()
        expect(words.locator(".in-page-status")).to_have_text("Done.")
        printed = weights.locator(".cell_output:not(.in-page-output) .output")
        assert not any(old.is_visible() for old in printed.all())
        expect(weights.get_by_role("button", name="Reset")).to_be_hidden()
        ratio = cell_with(other, "ratio of two weights")
        height = ratio.bounding_box()["height"]
        run_cell(ratio)
        assert ratio.bounding_box()["height"] == pytest.approx(height, abs=1)

        words.get_by_role("button", name=re.compile("^Edit")).click()
        expect(words.locator(".cm-content")).to_be_focused()
        other.keyboard.press("Control+End")
        other.keyboard.insert_text("\nq = -q\nprint('turned')")
        other.keyboard.press("Shift+Enter")
        expect(words.locator(".in-page-output")).to_have_text("turned")
        assert run_cell(weights) != before

        other.reload()
        expect(words.locator("pre").first).to_contain_text("turned")
        words.get_by_role("button", name=re.compile("^Reset")).click()
        expect(words.locator("pre").first).not_to_contain_text("turned")
        words.get_by_role("button", name="Take it back").click()
        expect(words.locator("pre").first).to_contain_text("turned")


@pytest.fixture(scope="module")
def on_disk(file: Path, only_window: Window) -> Page:
    """The chapter as a file, without a network; opened once, as Python starts once."""
    return only_window.visit(CHAPTER, live=False)


# The first on the disk, so that Python is started by a demonstration for once.
def test_what_a_cell_draws_takes_the_place_of_the_books_figure(on_disk: Page):
    first = on_disk.locator(".in-page[data-cell]:has(figcaption)").first
    caption = first.locator("figcaption")
    expect(caption).to_be_visible()
    run_cell(cell_with(on_disk, "words = ["))  # which the picture is drawn of
    run_cell(first)
    drawn = first.locator(".in-page-output img")
    expect(drawn).to_have_count(1)
    assert drawn.evaluate("image => image.naturalWidth") == 1050  # 7 in, 150 dpi
    theirs = first.locator("figure img").first.get_attribute("alt")
    assert theirs and drawn.get_attribute("alt") == theirs
    expect(first.locator("figure img.only-light")).not_to_be_visible()
    expect(caption).to_be_visible()


def run_all_demonstrations(page: Page) -> None:
    """Each prints and draws as much as the book has below it."""
    be_patient(page)
    for region in page.locator(".in-page[data-cell]").all():
        run_cell(region)
        assert region.locator(".in-page-error").all_inner_texts() == []
        said = region.locator(".in-page-output > pre").all_text_contents()
        printed = region.locator(":is(.stream, .text_plain) pre").all_text_contents()
        assert_alike("".join(said), "".join(printed))
        pictures = region.locator(
            ".cell_output:not(.in-page-output) img:not(.only-dark)"
        ).count()
        assert region.locator(".in-page-output img").count() == pictures


def test_a_book_on_a_disk_checks_exercises_and_prints_what_it_shows(on_disk: Page):
    found = check(on_disk, "softmax", inspect.getsource(right.softmax))
    assert found["score"] == "7"
    assert on_disk.locator(".in-page[data-cell]").count() > 5
    run_all_demonstrations(on_disk)


def test_the_last_exercise_pays_and_ends_the_chapter(page: Page, site: str):
    others = [
        name for name in load_topic("training").exercises if name != "shift_right"
    ]
    with opened_from(page, f"{site}chapters/training.html") as other:
        for name in others:
            version = region(other, name).get_attribute("data-version")
            other.evaluate(
                "([name, version]) => InPage.work.keep(name, version, "
                "{ code: 'mine = 1', best: 'mine = 1' })",
                [name, version],
            )
        other.reload()
        check(other, "shift_right", inspect.getsource(training.shift_right))
        shown = output(other, "shift_right")
        reads, predicts = shown.locator(".attention-grid tr:not(:first-child)").all()
        read = reads.locator("td").all_inner_texts()
        predicted = predicts.locator("td").all_inner_texts()
        assert read == ["start", "2", "0", "2", "6"] and predicted[:-1] == read[1:]
        end = shown.locator(".in-page-end")
        number = other.locator("h1 .section-number").first.inner_text().strip(" .")
        expect(end.locator("strong")).to_have_text(
            f"Chapter {number} is yours: all exercises are solved."
        )
        quiz = end.get_by_role("link", name="The quiz").get_attribute("href")
        expect(other.locator(quiz).locator(".quiz").first).to_be_attached()
        onward = end.locator("a.in-page-next").get_attribute("href")
        assert (other.locator("a.right-next").get_attribute("href") or "") in onward


@sweep("chapter", sorted({*page_course.topics()} - {CHAPTER}))
def test_each_demonstration_of_other_chapters_prints_what_the_book_prints(
    page: Page, site: str, chapter: str
):
    with opened_from(page, f"{site}chapters/{chapter}.html") as other:
        run_all_demonstrations(other)


def test_cells_that_need_what_a_page_has_not_have_no_button(html: Path):
    page = html / "chapters" / "masking.html"
    found = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    runs = [
        bool(cell.find_parent(class_="in-page")) for cell in found.select(".tag_demo")
    ]
    texts = [
        cell.select_one(".cell_input").get_text() for cell in found.select(".tag_demo")
    ]
    assert any(runs)
    for needed in ("import torch", "import altair"):
        cells = [run for run, text in zip(runs, texts, strict=True) if needed in text]
        assert cells and not any(cells)
    other = html / "chapters" / "seq2seq.html"  # a chapter with torch alone
    assert b'class="in-page"' not in other.read_bytes()


def test_without_javascript_the_page_reads_as_before(browser: Browser, address: str):
    page = open_fresh(browser, address, java_script_enabled=False)
    found = region(page, "softmax")
    assert found.locator("pre").count() >= 2  # the stub and its check
    assert "def softmax(" in found.locator("pre").first.inner_text()
    expect(found.get_by_text("check(softmax)")).to_be_visible()
    assert page.locator(".in-page button:visible, .in-page-bar:visible").count() == 0
    page.context.close()


# An observer that comes later is told of what is in view after those of the page.
VIEWED = """new Promise((done) => {
  const watch = new IntersectionObserver(done);
  document.querySelectorAll(".in-page").forEach((region) => watch.observe(region));
})"""
COUNTS = """globalThis.loaded = 0;
new MutationObserver((changes) => {
  for (const { src } of changes.flatMap(({ addedNodes }) => [...addedNodes])) {
    loaded += Boolean(src?.includes("in_page/python/"));
  }
}).observe(document, { childList: true, subtree: true });"""


SAVES_DATA = "Object.defineProperty(navigator, 'connection', {value: {saveData: true}})"


def page_with_clock(context: BrowserContext) -> Page:
    """A page whose time a test can let pass, and which counts files of Python."""
    page = context.new_page()
    page.clock.install()
    page.add_init_script(COUNTS)
    return page


def loaded_in_time(page: Page) -> int:
    """How many files of Python a page has begun to load in a minute from now."""
    page.evaluate(VIEWED)
    page.clock.run_for(60_000)
    return page.evaluate("loaded")


def test_whoever_ran_something_before_finds_python_started_at_an_exercise_in_view(
    browser: Browser, address: str
):
    with browser.new_context() as context:
        first = page_with_clock(context)
        first.goto(address)
        region(first, "softmax").scroll_into_view_if_needed()
        assert not loaded_in_time(first)  # nobody has agreed to load anything
        first.evaluate("InPage.work.rememberRun()")
        later = page_with_clock(context)
        later.goto(address)
        assert not loaded_in_time(later)  # no exercise is in view
        with later.expect_event("worker", timeout=STARTS):
            region(later, "softmax").scroll_into_view_if_needed()
            assert loaded_in_time(later)
        saving = page_with_clock(context)
        saving.add_init_script(SAVES_DATA)
        saving.goto(address)
        region(saving, "softmax").scroll_into_view_if_needed()
        assert not loaded_in_time(saving)


def test_an_exercise_that_needs_torch_leads_to_its_notebook(html: Path):
    page = html / "chapters" / "seq2seq.html"
    found = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    lines = found.select(".exercise-elsewhere")
    assert len(lines) == len(load_topic("seq2seq").exercises)
    assert not found.select(".tag_check .cell_output")  # nobody else's points
    for line in lines:
        assert "needs PyTorch" in line.get_text()
        assert line.find_previous_sibling(class_="tag_check") is not None
        assert (page.parent / line.a["href"]).resolve().is_file()
    assert not found.select(".in-page")
