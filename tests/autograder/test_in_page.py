"""What a page asks of Python, without a browser: cells, checks, hints, errors."""

import inspect
import json
import sys

import pytest

from autograder.check import examine_here
from autograder.exercise import find_topic
from autograder.in_page import MAX_PRINTED, Page
from solutions import simplified_attention as right

STUB = "def softmax(scores):\n    raise NotImplementedError\n"
ABOVE = ("alignment_scores", "softmax")
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
        called = f"{known.implementation.__module__} import {known.name}"
        source = f"from {called}\n{name} = {known.name}.implementation"
        answers.append((source, known.implementation))
    above = [cell(STUB.replace("softmax", n), n) for n in ABOVE if n != name]
    for source, implementation in answers:
        found = ask(page, "check", source, above, name=name)["report"]
        assert found == examine_here(exercise, implementation).report.as_dict()


def test_a_stub_is_not_implemented_yet(page):
    found = ask(page, "check", STUB)
    assert (found["report"]["score"], found["report"]["mistake"]) == (0, None)
    assert "Not implemented yet" in found["page"]


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


def test_a_value_cannot_put_code_into_the_page(page):
    sly = "class Sly:\n    def _repr_html_(self):\n        return '<script>'\nSly()"
    assert "<script" not in ask(page, "run", sly)["page"]


def test_hints_become_more_and_end(page):
    known = "from solutions.mistakes.simplified_attention import no_shift as known"
    wrong = f"{known}\nsoftmax = known.implementation"
    pages = [ask(page, "hint", wrong, count=n)["page"] for n in range(1, 5)]
    assert [text.count("<li>") for text in pages] == [1, 2, 3, 3]
    assert "no more hints" in pages[3]
    done = ask(page, "hint", inspect.getsource(right.softmax), count=1)
    assert "nothing is left" in done["page"]


def test_a_forbidden_call_is_found_in_the_whole_cell(page):
    exercise = find_topic("softmax").exercises["softmax"]
    exercise.forbidden = ("special",)
    try:
        source = "import special\n" + inspect.getsource(right.softmax)
        judged = examine_here(exercise, right.softmax, source)
    finally:
        exercise.forbidden = ()
    assert judged.report.score == 0


@pytest.fixture
def later(tmp_path, monkeypatch):
    """A page that can load a package, which is not there before."""
    (tmp_path / "plotting.py").write_text("def line():\n    return 'drawn'\n")
    page = Page(later=["plotting"])
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield page, lambda: monkeypatch.syspath_prepend(tmp_path)
    sys.meta_path.remove(page._finder)
    sys.modules.pop("plotting", None)


def test_a_package_is_asked_for_when_it_is_used_and_not_before(later):
    page, install = later
    setup = {
        "name": "setup 2",
        "kind": "setup",
        "source": "import plotting as plt\nfrom plotting import line\nbefore = 3",
    }
    found = ask(page, "run", "before", [setup])
    assert (found["needs"], "3" in found["page"]) == (None, True)
    assert ask(page, "run", "plt.line()", [setup])["needs"] == "plotting"
    install()
    arrived = {"do": "arrived", "with": {"package": "plotting", "above": []}}
    page.ask(json.dumps(arrived))
    assert "drawn" in ask(page, "run", "plt.line()", [setup])["page"]
    assert "drawn" in ask(page, "run", "line()", [setup])["page"]
