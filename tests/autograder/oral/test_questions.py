"""Questions about students' own code, whose lines are looked up in their files."""

from __future__ import annotations

import ast
import html
import inspect
import json
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from autograder.__main__ import main
from autograder.exercise import load_topic
from autograder.grading.examine import summary
from autograder.judge import Report
from autograder.marks.gradebook import ChapterMarks
from autograder.marks.reports import read_reports
from autograder.oral import questions as oral
from autograder.oral.features import features_of
from autograder.oral.questions import (
    ASKED,
    Answer,
    excerpt,
    possible_questions,
    reference_code,
    sheets,
)
from autograder.oral.results import in_words, result_question
from autograder.rows import CaseReport
from autograder.submissions.submitted import read
from classroom.submissions import cell_source, hand_in, submission
from tests.autograder.conftest import TOPIC

HOSTILE = "</pre><script>alert(1)</script>\x1b[31m"
IN_A_LOOP = """
import numpy as np

def softmax(scores):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):
        rows.append(np.exp(row - row.max()) / np.exp(row - row.max()).sum())
    return np.array(rows).reshape(scores.shape)
"""
STABLE = """
import numpy as np

def softmax(scores):
    shifted = scores - np.max(scores, axis=-1, keepdims=True)
    weights = np.exp(shifted)
    return weights / weights.sum(axis=-1, keepdims=True)
"""
ALL = '''
def f(q, k, v, mask):
    """Without keepdims, sqrt or einsum."""
    # axis=7
    s = torch.einsum("bhnd,bhtd->bhnt", q, k)
    s = s / math.sqrt(q.shape[-1])
    s = s.masked_fill(~mask[:, None], float("-inf"))
    m = s - s.amax(dim=-2, keepdim=True)
    w = np.where(m > 0, m, 0.0)
    w = w / (w.sum() + 1e-9)
    o = (w @ v).transpose(1, 2).astype(
        dtype=np.float32
    )
    return np.tril(
        np.exp(o)
    ).reshape(3, -1)
'''


@pytest.fixture(scope="module")
def course(released_course, tmp_path_factory, master, right):
    """A course in which some are right in different ways, wrong, blank or hostile."""
    folder = tmp_path_factory.mktemp("oral") / "course"
    shutil.copytree(released_course, folder)
    known = load_topic(TOPIC).mistakes("softmax")[0]
    wrong = cell_source(known, "softmax")
    hostile = right["softmax"].replace("np.exp(", f"np.exp( # {HOSTILE}\n        ", 1)
    answers = {
        "student01": right,
        "student02": {**right, "softmax": IN_A_LOOP},
        "student03": {**right, "softmax": STABLE},
        "student04": {**right, "softmax": wrong},
        "student05": {**right, "softmax": hostile},
        "student06": {},
    }
    hand_in(folder, TOPIC, {s: submission(master, a) for s, a in answers.items()})
    reports = {
        student: report(a, known if student == "student04" else None)
        for student, a in answers.items()
    }
    hand_in(folder, TOPIC, {"student07": {}})
    (folder / "submitted" / "student07" / TOPIC / f"{TOPIC}.ipynb").write_text("{")
    reports["student07"] = {**report({}, None), "refused": "the file is not JSON"}
    place = folder / "reports" / TOPIC
    place.mkdir(parents=True)
    for student, found in reports.items():
        digest = read(folder / "submitted", student, TOPIC).digest
        more = {"student": student, "seconds": 0.1, "submission": digest}
        (place / f"{student}.json").write_text(json.dumps({**found, **more}))
    with ChapterMarks(f"sqlite:///{folder / 'gradebook.db'}", "", TOPIC) as book:
        book.write([(student, found, None) for student, found in reports.items()])
    return folder


def report(answers, known):
    """As the grader would have said it: all is right but one known mistake."""
    topic = load_topic(TOPIC)
    found = []
    for name, exercise in topic.exercises.items():
        wrong = name == "softmax" and known is not None
        cases = [
            CaseReport(case.title, case.points, name in answers and not wrong, "")
            for case in exercise.cases
        ]
        score = sum(case.points for case in cases if case.passed)
        mistake, message = (known.name, known.hint) if wrong else (None, "")
        found.append(Report(name, score, exercise.points, mistake, message, cases))
    return summary(topic, found)


def asked(course):
    return {s.student: s for s in sheets(course, read_reports(course, TOPIC))}


def cell_of(course, student, exercise):
    """The lines of a cell, from the file that was handed in."""
    path = course / "submitted" / student / TOPIC / f"{TOPIC}.ipynb"
    for cell in json.loads(path.read_text())["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == exercise:
            return cell["source"].split("\n")
    return []


def test_everybody_who_wrote_code_gets_three_questions(course):
    found = asked(course)
    for student in ("student01", "student02", "student03", "student04", "student05"):
        assert len(found[student].questions) == ASKED == 3
        kinds = [q.kind for q in found[student].questions]
        assert len(set(kinds)) == 3
    assert found["student06"].questions == []
    assert found["student07"].questions == []
    assert "not JSON" in found["student07"].note


def test_each_line_is_in_the_students_cell_and_has_the_feature(course):
    for student, sheet in asked(course).items():
        for q in sheet.questions:
            lines = cell_of(course, student, q.exercise)
            assert dict(q.code)[q.line] == lines[q.line - 1]
            assert q.token in lines[q.line - 1].split("#")[0]


def test_questions_stay_the_same_and_differ_with_the_code(course):
    first, again = asked(course), asked(course)
    assert first == again
    about = {
        student: {(q.exercise, q.line, q.ask, str(q.code)) for q in sheet.questions}
        for student, sheet in first.items()
        if sheet.questions
    }
    different = ("student01", "student02", "student03", "student04")
    assert len({frozenset(about[s]) for s in different}) == len(different)


def test_a_mistake_is_asked_about_and_only_the_examiner_reads_the_hint(course):
    known = load_topic(TOPIC).mistakes("softmax")[0]
    (q,) = [q for q in asked(course)["student04"].questions if q.kind == "mistake"]
    assert (q.exercise, q.answer) == ("softmax", known.hint)
    assert load_topic(TOPIC).exercises["softmax"].cases[0].title in q.ask
    assert known.hint not in q.ask
    others = [s for s in asked(course).values() if s.student != "student04"]
    assert not any(q.kind == "mistake" for s in others for q in s.questions)


def test_what_is_returned_is_what_torch_returns():
    ask, answer = result_question(TOPIC, "softmax")
    given, returned = (
        ast.literal_eval(re.search(r"\[.*\]", text)[0]) for text in (ask, answer)
    )
    expected = torch.softmax(torch.tensor(given, dtype=torch.float64), -1)
    torch.testing.assert_close(
        torch.tensor(returned, dtype=torch.float64), expected, atol=6e-3, rtol=0
    )


def numbers_in(text):
    """The numbers of all arrays in a text, as they are written there."""
    arrays = re.findall(r"\[+[^()]*\] \(shape", text)
    return [re.findall(r"-?\d[\d.]*", array) for array in arrays]


@pytest.mark.parametrize("chapter", [TOPIC, "masking", "score_functions"])
def test_what_is_asked_can_be_worked_out_by_hand(chapter):
    found = [result_question(chapter, name) for name in load_topic(chapter).exercises]
    found = [question for question in found if question is not None]
    assert found
    for ask, told in found:
        assert "an array of shape" not in ask + told  # every value is shown
        sizes = re.findall(r"\(shape \(([\d, ]*)\)", ask + told)
        assert all(int(n) <= 4 for size in sizes for n in re.findall(r"\d+", size))
        values = sum(numbers_in(told), [])
        assert len(values) <= 9
        assert all(len(v.partition(".")[2]) <= 2 for v in values)
        given = sum(numbers_in(ask), [])
        assert all(float(v).is_integer() and abs(float(v)) < 100 for v in given)


LONG = [
    "def softmax(x):",
    '    """A long',
    '    docstring."""',
    *(f"    y{n} = x.max(axis=0) + {n}" for n in range(60)),
    "    return y0",
]


def test_the_excerpt_has_signature_line_and_return_without_the_docstring():
    definition = ast.parse("\n".join(LONG)).body[0]
    answer = Answer(LONG, definition, {})
    for line in (4, 30, 64):
        shown = excerpt(answer, line)
        assert {1, line, 64} <= set(shown)
        assert not {2, 3} & set(shown)
        assert len(shown) < 30
    short = LONG[:5] + LONG[-1:]
    answer = Answer(short, ast.parse("\n".join(short)).body[0], {})
    assert excerpt(answer, 4) == [1, 4, 5, 6]
    line = ['def f(x): "a text"; return x']
    assert excerpt(Answer(line, ast.parse(line[0]).body[0], {}), 1) == [1]


def kinds_about(name, source, failed, reference="", others=()):
    """The kinds of questions about an answer, if these exercises failed."""
    cases = [{"title": "a", "passed": False, "message": ""}]
    entry = {"name": name, "score": 0, "max_score": 1, "message": "", "cases": cases}
    sources = {name: source, **dict(others)}
    answers = {
        n: Answer(s.split("\n"), ast.parse(s).body[0], {**entry, "name": n})
        for n, s in sources.items()
        if n in failed
    }
    found = possible_questions(answers, {}, {name: reference})
    return [q.exercise for q in found if q.kind == "mistake"]


def test_nobody_is_asked_for_a_fault_in_the_reference_or_in_another_exercise():
    topic = load_topic(TOPIC)
    reference = reference_code(topic, "attend")
    own = inspect.getsource(topic.reference("attend"))
    wrong = own.replace("return", "return 2 *", 1)
    assert kinds_about("attend", own, ["attend"], reference) == []
    assert kinds_about("attend", wrong, ["attend"], reference) == ["attend"]
    calls = "def attend(q, X):\n    return softmax(X @ q) @ X"
    others = {"softmax": "def softmax(x):\n    return x"}
    assert kinds_about("attend", calls, ["attend"], "", others) == ["attend"]
    both = ["attend", "softmax"]
    assert kinds_about("attend", calls, both, "", others) == ["softmax"]


def test_numbers_of_many_digits_do_no_harm():
    number = "0x" + "f" * 9999
    source = f"def f(x):\n    return x.sum(axis={number})[None, None, {number}]"
    assert kinds_about("f", source, ["f"], "other") == ["f"]


def test_questions_about_types_and_new_axes_fit_the_line():
    source = "def f(n, p):\n    m = torch.ones(n, n, dtype=torch.bool)\n"
    source += "    return p[:, None, None, :] & m & p.to(dtype=torch.bool)"
    found = {
        f.name: f for f in features_of(ast.parse(source).body[0], source.split("\n"))
    }
    assert "float32" in found["default_dtype"].answer
    assert found["default_dtype"].line == 2
    assert found["dtype"].line == 3
    assert "[:, None, None, :]" in found["newaxes"].ask
    assert "(N, 1)" not in found["newaxes"].answer
    assert "newaxis" not in found


def test_many_values_are_described():
    rows = torch.full((5, 8), 0.125)
    assert in_words(rows) == (
        "an array of shape (5, 8), float32, from 0.125 to 0.125, each row sums to one"
    )
    rows[0, 0] = torch.nan
    assert in_words(rows).endswith("from 0.125 to 0.125, 1 not finite")
    assert in_words(rows > 1) == "an array of shape (5, 8), bool, 0 of 40 True"
    assert in_words(np.random.default_rng(1)) == "a Generator"  # without an address
    assert in_words((torch.tensor([1, 2]), 3)) == "([1, 2] (shape (2,), int64), 3)"


def test_features_are_found_where_they_are():
    lines = ALL.split("\n")
    found = {f.name: f for f in features_of(ast.parse(ALL).body[0], lines)}
    where = {name: f.line for name, f in found.items()}
    assert where == {
        **{"einsum": 5, "root": 6, "infinity": 7, "newaxis": 7, "maximum": 8},
        **{"axis": 8, "keepdims": 8, "where": 9, "epsilon": 10, "product": 11},
        **{"transpose": 11, "dtype": 11, "triangle": 14, "exponential": 15},
        **{"reshape": 16, "return": 14},
    }
    assert "Summed over: d." in found["einsum"].answer
    assert "several inputs: b, h." in found["einsum"].answer
    assert "dim=-2" in found["axis"].ask
    assert "dim=-1" in found["axis"].ask
    assert "Why is 1e-09 added?" in found["epsilon"].ask


def test_nothing_is_found_in_texts_and_comments():
    source = (
        'def f(x):\n    """axis=1"""\n    "keepdims=True"\n    # np.exp(x)\n    pass'
    )
    assert features_of(ast.parse(source).body[0], source.split("\n")) == []


@pytest.mark.parametrize(
    "call",
    [
        f"x.sum(axis=1{'0' * 400})",
        f"x.sum(axis=-0x{'f' * 5000})",
        "x.sum(axis=1e999)",
        "np.einsum('a- >->b', x)",
        "np.einsum('->->', x)",
        "np.einsum('\\ud800a->a', x)",
        "np.einsum('{subscripts}->{0}', x)",
    ],
)
def test_what_no_array_can_do_is_not_asked_about(call):
    source = f"def f(x):\n    return x\n    {call}\n"
    found = features_of(ast.parse(source).body[0], source.split("\n"))
    assert [feature.name for feature in found] == ["return"]


def test_blanks_in_subscripts_mean_nothing():
    source = "def f(x, y):\n    z = np.einsum('...ij, jk -> ...ik', x, y)\n"
    (found,) = features_of(ast.parse(source).body[0], source.split("\n"))
    assert "Summed over: j." in found.answer
    assert "Dimensions of the result: ...ik." in found.answer


def test_a_failure_costs_one_student_the_questions_and_not_the_class(
    course, monkeypatch
):
    def failing(definition, lines):
        if any("rows.append" in line for line in lines):
            raise OverflowError("of what nobody\x1b[31m thought")
        return features_of(definition, lines)

    before = asked(course)
    monkeypatch.setattr(oral, "features_of", failing)
    found = asked(course)
    sheet = found.pop("student02")
    assert sheet.questions == []
    assert "OverflowError: of what nobody" in sheet.note
    assert sheet.note.isprintable()
    assert found == {s: sheet for s, sheet in before.items() if s != "student02"}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.words.append(data)


def test_a_submission_that_was_taken_away_is_named_as_such(course, tmp_path):
    copied = tmp_path / "course"
    shutil.copytree(course, copied)
    shutil.rmtree(copied / "submitted" / "student02" / TOPIC)
    folder = copied / "submitted" / "student03" / TOPIC
    (folder / f"{TOPIC}.ipynb").rename(folder / "elsewhere.txt")
    sheets_ = asked(copied)
    assert f"in the place of the folder {TOPIC} is none" in sheets_["student02"].note
    assert f"no notebook {TOPIC}.ipynb was submitted" in sheets_["student03"].note
    assert sheets_["student01"].questions


def test_pages_run_nothing_and_keep_the_answers_apart(course, capsys):
    assert main(["oral", TOPIC, "--course", str(course)]) == 0
    said = capsys.readouterr().out
    assert "nothing to ask: student06" in said
    texts = {}
    for kind in ("oral", "oral_answers"):
        page = (course / "reports" / f"{TOPIC}_{kind}.html").read_text()
        read = Page(page)
        assert "script" not in read.tags
        assert read.links == []
        assert "\x1b" not in page
        assert "default-src 'none'" in html.unescape(page)
        assert "break-before: page" in page
        texts[kind] = " ".join("".join(read.words).split())
    for sheet in asked(course).values():
        for q in sheet.questions:
            ask, answer = (" ".join(text.split()) for text in (q.ask, q.answer))
            assert ask in texts["oral"]
            assert ask in texts["oral_answers"]
            assert answer in texts["oral_answers"]
            assert answer not in texts["oral"]


def test_nobody_is_asked_about_code_that_was_not_graded(course, master, right):
    later = course.parent / "later"
    shutil.copytree(course, later)
    hand_in(later, TOPIC, {"student04": submission(master, right)})
    before, found = asked(course), asked(later)
    assert before["student04"].questions
    sheet = found.pop("student04")
    assert sheet.questions == []
    assert sheet.note == oral.REPLACED
    assert found == {s: sheet for s, sheet in before.items() if s != "student04"}


def test_nobody_is_told_why_an_earlier_file_of_theirs_was_refused(
    course, tmp_path, master, right
):
    later = tmp_path / "course"
    shutil.copytree(course, later)
    hand_in(later, TOPIC, {"student07": submission(master, right)})
    assert asked(course)["student07"].note == "not examined: the file is not JSON"
    assert asked(later)["student07"].note == oral.REPLACED


def test_no_student_can_make_it_slow(course):
    """Long chains of calls, deep nesting, and a name that is defined many times."""
    folder = course.parent / "slow"
    shutil.copytree(course, folder)
    chain = "def softmax(x):\n    return x" + ".where(x)" * 500
    deep = "def softmax(x):\n    return " + "(" * 5000 + "x" + ")" * 5000
    many = "def softmax(x):\n    return x.max(axis=0)\n" * 400
    for number, source in enumerate((chain, deep, many), start=1):
        path = folder / "submitted" / f"student0{number}" / TOPIC / f"{TOPIC}.ipynb"
        data = json.loads(path.read_text())
        for cell in data["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == "softmax":
                cell["source"] = source
        path.write_text(json.dumps(data))
        told = folder / "reports" / TOPIC / f"student0{number}.json"
        digest = read(folder / "submitted", f"student0{number}", TOPIC).digest
        told.write_text(
            json.dumps({**json.loads(told.read_text()), "submission": digest})
        )
    found = asked(folder)
    assert all(len(found[f"student0{n}"].questions) == ASKED for n in (1, 2, 3))
