"""What a page asks of Python, without a browser: cells, checks, hints, errors."""

import inspect
import json
import sys

import numpy as np
import pytest
from bs4 import BeautifulSoup

from autograder.cell_output import MAX_PRINTED
from autograder.check import examine_here
from autograder.exercise import Mistake, find_topic
from autograder.in_page import Page
from autograder.parsing import without_docstrings
from solutions import simplified_attention as right

STUB = "def softmax(scores):\n    raise NotImplementedError\n"
ABOVE = ("alignment_scores", "softmax")
BANK = "from solutions.mistakes.simplified_attention"
SETUP = {
    "name": "setup 1",
    "kind": "setup",
    "source": "import numpy as np\nfrom autograder.check import check",
}


def cell(source: str, name: str = "softmax") -> dict:
    return {"name": name, "kind": "exercise", "source": source}


@pytest.fixture
def page() -> Page:
    return Page()


def ask(page: Page, do: str, source: str, above=(), name="softmax", **more) -> dict:
    asked = {"cell": cell(source, name), "above": [SETUP, *above], **more}
    return json.loads(page.ask(json.dumps({"do": do, "with": asked})))


@pytest.mark.parametrize("name", ["softmax", "attend", "alignment_scores"])
def test_a_check_says_what_check_says_in_a_notebook(page, name):
    exercise = find_topic(name).exercises[name]
    reference = getattr(right, name)
    answers = [(inspect.getsource(reference), reference)]
    for known in find_topic(name).mistakes(name):
        source = f"{BANK} import {known.name}\n{name} = {known.name}.implementation"
        answers.append((source, known.implementation))
    above = [cell(STUB.replace("softmax", n), n) for n in ABOVE if n != name]
    for source, implementation in answers:
        found = ask(page, "check", source, above, name=name)["report"]
        assert found == examine_here(exercise, implementation).report.as_dict()


def test_the_books_answer_stands_in_for_a_stub_above_and_is_named(page):
    attend = inspect.getsource(right.attend)
    above = [cell(STUB), cell("def alignment_scores(:", "alignment_scores")]
    found = ask(page, "check", attend, above, name="attend")
    assert found["report"]["score"] == found["report"]["max_score"]
    assert "own <code>softmax</code> until yours works" in found["page"]
    assert "own <code>alignment_scores</code>" in found["page"]


def test_the_readers_own_answers_above_are_used(page):
    halved = "def softmax(scores):\n    return np.zeros_like(scores)\n"
    attend = inspect.getsource(right.attend)
    found = ask(page, "check", attend, [cell(halved)], name="attend")
    assert found["report"]["score"] < found["report"]["max_score"]
    mended = cell(inspect.getsource(right.softmax))
    found = ask(page, "check", attend, [mended], name="attend")
    assert "book’s own <code>softmax" not in found["page"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def softmax(scores)\n    return 1", "SyntaxError"),
        ("softmax = input('which?')", "a page cannot ask for input"),
        ("import no_such_module", "the notebook has everything"),
        ("import sys\nsys.exit()", "SystemExit"),
        ("1 / 0", "ZeroDivisionError"),
        ("def softmx(scores):\n    return 1", "keep the name of the stub"),
    ],
)
def test_a_cell_that_cannot_be_checked_gets_no_points_and_says_why(page, source, said):
    ask(page, "check", inspect.getsource(right.softmax))
    found = ask(page, "check", source)  # an earlier answer does not count
    assert found["report"]["score"] == 0
    assert said in found["page"]


def demo(name: str, source: str) -> dict:
    return {"name": name, "kind": "demo", "source": source}


def run_demo(page: Page, *cells: dict) -> dict:
    """Run the last of some demonstrations, the others being above it."""
    *above, last = cells
    asked = {"do": "run", "with": {"cell": last, "above": [SETUP, *above]}}
    return json.loads(page.ask(json.dumps(asked)))


def test_a_demonstration_runs_alone_and_shares_its_names_with_those_below(page):
    words = demo("cell 1", "words = ['she', 'visits']\nprint(len(words))")
    count = demo("cell 2", "np.arange(len(words))")
    assert "2" in run_demo(page, words)["page"]
    found = run_demo(page, words, count)
    assert "array([0, 1])" in found["page"]
    assert (found["failed"], found["first"]) == (False, [])


def test_cells_above_are_asked_for_when_one_of_them_makes_what_is_missing(page):
    first = demo("cell 1", "other = 1")
    words = demo("cell 2", "def words():\n    return ['she']")
    count = demo("cell 3", "print('before')\nlen(words())")
    found = run_demo(page, first, words, count)
    assert found["first"] == ["cell 1", "cell 2"]
    assert "<code>words</code>" in found["page"]
    assert "NameError" not in found["page"]
    run_demo(page, first)
    assert run_demo(page, first, words, count)["first"] == ["cell 2"]
    run_demo(page, first, words)
    assert run_demo(page, first, words, count)["failed"] is False


def test_a_cell_above_that_was_changed_or_failed_counts_as_not_run(page):
    asks = demo("cell 2", "a + b")
    run_demo(page, demo("cell 1", "a = 1"))
    changed = demo("cell 1", "a = 1\nb = 2")
    assert run_demo(page, changed, asks)["first"] == ["cell 1"]
    run_demo(page, demo("cell 1", "a = 1\n1 / 0\nb = 2"))
    assert run_demo(page, changed, asks)["first"] == ["cell 1"]


def test_a_demonstration_uses_the_readers_answer_or_else_the_books(page):
    shown = demo("cell 1", "softmax(np.zeros(2))")
    found = run_demo(page, cell(STUB), shown)
    assert "array([0.5, 0.5])" in found["page"]
    assert "own <code>softmax</code>" in found["page"]
    mine = cell("def softmax(scores):\n    return scores + 7\n")
    found = run_demo(page, mine, shown)
    assert "array([7., 7.])" in found["page"]
    assert "own <code>softmax</code>" not in found["page"]


def test_an_error_shows_the_readers_line_and_none_of_ours(page):
    found = ask(page, "run", "def twice(x):\n    return x * np.nothing\n\ntwice(2)")
    assert "return x * np.nothing" in found["page"]
    assert "in_page.py" not in found["page"]


def test_what_is_printed_is_shown_as_text_and_cut_off(page):
    found = ask(page, "run", "print('<b>bold</b>')\n[1, 2]")
    assert "&lt;b&gt;bold&lt;/b&gt;" in found["page"]
    assert "[1, 2]" in found["page"]
    found = ask(page, "run", "for _ in range(10_000):\n    print('again ' * 10)")
    assert len(found["page"]) < 2 * MAX_PRINTED
    assert "not shown" in found["page"]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("max(\n'ä',\n'a');\n", False),
        ("'ä'", True),
    ],
)
def test_a_semicolon_at_the_end_hides_the_value_as_in_a_notebook(page, source, shown):
    assert ("ä" in ask(page, "run", source)["page"]) is shown


def test_a_value_cannot_put_code_into_the_page(page):
    sly = "class Sly:\n    def _repr_html_(self):\n        return '<script>'\nSly()"
    assert "<script" not in ask(page, "run", sly)["page"]


def wrong_softmax(known: Mistake) -> str:
    """Code that answers softmax with a known mistake."""
    return f"{BANK} import {known.name}\nsoftmax = {known.name}.implementation"


def test_the_verdict_begins_with_the_mistake_and_shows_yours_beside_expected(page):
    for known in find_topic("softmax").mistakes("softmax"):
        found = ask(page, "check", wrong_softmax(known))
        shown = BeautifulSoup(found["page"], "html.parser")
        first = shown.select_one(".attention-verdict > p").get_text()
        assert known.hint.startswith(found["headline"])
        assert first.startswith(found["headline"])
        passed = sum(case["passed"] for case in found["report"]["cases"])
        assert f"{passed} of 5 tests pass" in shown.summary.get_text()
        assert len(shown.select(".attention-pip.passed")) == passed
        assert len(shown.select(".attention-pip")) == 5


def test_where_marks_are_given_no_expected_value_is_shown(page, monkeypatch):
    wrong = "def softmax(scores):\n    return scores\n"
    assert "expected" in ask(page, "check", wrong)["page"]
    monkeypatch.setattr("autograder.check.self_study", lambda: False)
    assert "attention-pair'" not in ask(page, "check", wrong)["page"]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def softmax(scores):\n    x = 1\n    return np.sqr(scores)", 3),
        ("def softmax(scores)\n    return 1", 1),
        ("x = 1\n1 / 0", 2),
        ("def softmax(scores):\n    return scores", 0),
    ],
)
def test_the_line_to_blame_is_given(page, source, line):
    assert ask(page, "check", source)["line"] == line


def test_what_an_answer_prints_while_it_is_checked_is_shown(page):
    source = "def softmax(scores):\n    print('<mine>', 1)\n    return scores"
    assert "&lt;mine&gt; 1" in ask(page, "check", source)["page"]


def test_an_answer_below_which_something_stops_is_judged_all_the_same(page):
    source = inspect.getsource(right.softmax) + "\nsoftmax(None)\n"
    found = ask(page, "check", source)
    assert found["report"]["score"] == found["report"]["max_score"]


@pytest.mark.parametrize(
    "source",
    [
        "def softmax(scores):\n    while True:\n        pass",
        "while True:\n    try:\n        pass\n    except Exception:\n        pass",
    ],
)
def test_an_endless_loop_is_ended_with_the_line_that_was_running(
    page, monkeypatch, source
):
    hours = iter(range(0, 10**9, 3600))
    monkeypatch.setattr("time.monotonic", lambda: next(hours))
    found = ask(page, "check", source)
    assert found["headline"].startswith("Stopped after 20 seconds in line ")
    assert found["line"] in range(1, 7)
    assert found["report"]["score"] == 0
    assert sys.gettrace() is None


def test_the_smallest_call_that_goes_wrong_can_be_run(page):
    tried = 0
    for known in find_topic("softmax").mistakes("softmax"):
        source = wrong_softmax(known)
        code = ask(page, "example", source)["code"]
        if code:
            tried += 1
            names = {"np": np, "nan": np.nan}
            with np.errstate(all="ignore"):
                theirs = eval(code, {**names, "softmax": known.implementation})
            ours = eval(code, {**names, "softmax": right.softmax})
            same = np.shape(theirs) == ours.shape and np.allclose(theirs, ours)
            assert not same, (known.name, code)
    assert tried > 5
    assert (
        "nothing goes wrong"
        in ask(page, "example", inspect.getsource(right.softmax))["page"]
    )
    assert "first version" in ask(page, "example", STUB)["page"]


def test_before_the_solution_comes_the_books_answer_with_blanks(page, monkeypatch):
    shown = BeautifulSoup(ask(page, "skeleton", STUB)["page"], "html.parser")
    lines = shown.pre.get_text().splitlines()
    book = without_docstrings(inspect.getsource(right.softmax)).splitlines()
    assert len(lines) == len(book) and lines[0] == book[0]
    for blank, line in zip(lines[1:], book[1:], strict=True):
        before, _, after = blank.partition("...")
        assert before.strip() and line.startswith(before) and line.endswith(after)
    monkeypatch.setattr("autograder.in_page.self_study", lambda: False)
    assert "not given" in ask(page, "skeleton", STUB)["page"]


def test_the_solution_is_a_diff_against_the_readers_code(page, monkeypatch):
    mine = "def softmax(scores: np.ndarray) -> np.ndarray:\n    return scores\n"
    shown = BeautifulSoup(ask(page, "solution", mine)["page"], "html.parser")
    kept = [part.get_text()[2:] for part in shown.pre.select("span")]
    assert kept == ["def softmax(scores: np.ndarray) -> np.ndarray:"]
    assert [part.get_text() for part in shown.select("del")] == ["-     return scores"]
    names = {"np": np}
    book = [part.get_text()[2:] for part in shown.pre.select("span, ins")]
    exec("\n".join(book), names)
    assert np.allclose(names["softmax"](np.zeros(4)), 0.25)
    monkeypatch.setattr("autograder.in_page.self_study", lambda: False)
    assert "not given" in ask(page, "solution", mine)["page"]


@pytest.fixture
def later(tmp_path, monkeypatch):
    """A page that can load a package, which is not there before."""
    (tmp_path / "plotting.py").write_text("def line():\n    return 'drawn'\n")
    yield Page(later=["plotting"]), lambda: monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("plotting", None)


def test_a_package_is_asked_for_when_it_is_used_and_not_before(later):
    page, install = later
    setup = {
        "name": "setup 2",
        "kind": "setup",
        "source": "import plotting as plt\nfrom plotting import line\nbefore = 3\n"
        "def draw():\n    before = plt.line()\n    return before",
    }
    found = ask(page, "run", "before", [setup])
    assert (found["needs"], "3" in found["page"]) == (None, True)
    for uses in ("plt.line()", "line()", "draw()"):
        assert ask(page, "run", uses, [setup])["needs"] == "plotting"
    install()
    arrived = {"do": "arrived", "with": {"package": "plotting", "above": []}}
    page.ask(json.dumps(arrived))
    assert "drawn" in ask(page, "run", "plt.line()", [setup])["page"]
    assert "drawn" in ask(page, "run", "line()", [setup])["page"]
    assert "drawn" in ask(page, "run", "draw()", [setup])["page"]


def test_a_cell_does_not_run_half_before_its_package_comes(later):
    page, install = later
    setup = {"name": "setup 2", "kind": "setup", "source": "import plotting as plt"}
    for source in ("runs.append(1)\nplt.line()", "runs.append(1)\nimport plotting"):
        ask(page, "run", "runs = []", [setup])
        assert ask(page, "run", source, [setup])["needs"] == "plotting"
        assert "[]" in ask(page, "run", "runs", [setup])["page"]
    install()
    arrived = {"do": "arrived", "with": {"package": "plotting", "above": []}}
    page.ask(json.dumps(arrived))
    ask(page, "run", source, [setup])
    assert "[1]" in ask(page, "run", "runs", [setup])["page"]


def test_a_setup_that_needs_what_a_page_has_not_leaves_the_rest_to_run():
    lines = ["from toolkit import nothing_here", "nothing_here.use()", "x = 42"]
    setup = {"name": "setup 1", "kind": "setup", "source": "\n".join(lines)}
    cell = {"name": "cell 1", "kind": "demo", "source": "print(x)"}
    asked = {"do": "run", "with": {"cell": cell, "above": [setup]}}
    answer = json.loads(Page().ask(json.dumps(asked)))
    assert "42" in answer["page"] and not answer["failed"]
