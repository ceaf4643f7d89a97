"""Which submissions are alike: from single lines to the page of a made-up class."""

from __future__ import annotations

import csv
import io
import json
import random
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations

import nbformat
import numpy as np
import pytest

from autograder.__main__ import main
from autograder.similarity.evidence import Chance, likeness
from autograder.similarity.page import as_page, cut_short, in_words
from autograder.similarity.pairs import groups_of, pairs_of
from autograder.similarity.syntax import MAX_TOKENS, Token, tokens_of, trees_of
from autograder.similarity.winnow import WINDOW, K, compared, fingerprints
from autograder.similarity.works import (
    OWN_CELLS,
    ClassWork,
    Work,
    outcome_of,
    read_class,
    texts_of,
)
from autograder.submissions.cells import as_handed_in
from autograder.submissions.submitted import read
from classroom.honest import DISGUISES, HALF, PARTLY, copy_of, honest_class
from classroom.submissions import hand_in, submission
from tests.autograder.conftest import TOPIC, code_cell

ATTENTION = """
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
"""
DISGUISED = """
import torch as t
def attention(q: t.Tensor, k, v, m = None) -> tuple:
    "Not as it was."
    root = k.shape[-1] ** 0.5     # the scale
    s = t.matmul(q, k.swapaxes(-1, -2)) / root
    if m is not None:
        s = s.masked_fill(~m, -t.inf)

    w = s.softmax(-1)
    return (w @ v, w)
"""


def labels(source):
    return [token.label for token in tokens_of(source, trees_of(source))]


def test_names_form_comments_and_synonyms_leave_no_trace():
    assert labels(ATTENTION) == labels(DISGUISED)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a + b * c", "c * b + a"),
        ("x > y", "y < x"),
        ("x.mT", "x.transpose(-2, -1)"),
        ("f(x, dim=2)", "f(x, axis=2)"),
        ("y = g(x)\nh(y, 1)", "h(g(x), 1)"),
        ("x * 2.0", "2 * x"),
    ],
)
def test_two_ways_to_write_one_thing_are_one(one, other):
    assert labels(one) == labels(other)


def test_code_in_a_text_that_is_executed_is_code():
    assert set(labels(ATTENTION)) <= set(labels(f"exec({ATTENTION!r})"))
    assert labels("exec('(')") == ["Expr", "call exec", "text"]


def test_no_value_is_lost_in_a_chain_of_names():
    chain = "\n".join(f"v{n} = v{n - 1}.step{n}(0)" for n in range(1, 100))
    assert {f"step{n}" for n in range(1, 100)} <= set(labels(chain))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a - b", "b - a.sum()"),
        ("x.softmax(-1)", "x.softmax(-2)"),
        ("x.max()", "x.min()"),
        ("x[:, None]", "x[None, :]"),
        ("x < y", "x <= y"),
        ("x + 1e-9", "x + 1e-8"),
    ],
)
def test_what_computes_something_else_stays_apart(one, other):
    assert labels(one) != labels(other)


def test_every_long_enough_match_has_a_fingerprint():
    chance = np.random.default_rng(0)
    least = WINDOW + K - 1
    for _ in range(50):
        words = [f"w{n}" for n in chance.integers(0, 12, 200)]
        start = int(chance.integers(0, 200 - least))
        common = words[start : start + least]
        before, after = (["(" for _ in range(n)] for n in chance.integers(0, 30, 2))
        whole, part = " ".join(words), " ".join([*before, *common, *after])
        found = [fingerprints(_as_tokens(text)) for text in (whole, part)]
        assert set(found[0].hashes.tolist()) & set(found[1].hashes.tolist())


def _as_tokens(text):
    """Each word as a label of its own."""
    return [Token(word, 1, 1) for word in text.split()]


def test_nothing_shorter_than_a_run_matches():
    tokens = _as_tokens("a b c d e")
    assert fingerprints(tokens).hashes.size == 0


def test_unreadable_code_is_compared_by_its_words():
    broken = ATTENTION.replace("return weights", "return weights)")
    one, other = compared(broken), compared(broken.replace("scores", "thing"))
    assert not one.is_code
    assert set(one.runs.hashes) == set(other.runs.hashes) != set()
    shared = set(compared(ATTENTION).as_text.hashes) & set(one.as_text.hashes)
    assert len(shared) > one.as_text.hashes.size / 2


HOSTILE = {
    "brackets": "(" * 50_000,
    "minus": "x = " + "-" * 50_000 + "1",
    "sum": "x = " + "+".join("a" * 1 for _ in range(30_000)),
    "dots": "x" + ".a" * 30_000,
    "chain": "\n".join(f"v{n} = v{n - 1}(1)" for n in range(1, 5000)),
    "one line": "x = '" + "a b " * 20_000 + "'",
    "digits": "x = 0x" + "f" * 50_000,
    "half characters": "x = '\ud800'",
    "nul": "x = 1\0",
    "magics": "%%bash\nrm\n" + "!ls\n" * 5000,
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_of_hostile_text_no_more_is_kept_than_its_length(source):
    for features in compared(source)[:4]:
        assert len(features.hashes) == len(features.lines) <= len(source)
        assert len(features.hashes) <= MAX_TOKENS


# A class ------------------------------------------------------------------------------


def works_of(students):
    return [
        Work(name, solved.answers, solved.wrong) for name, solved in students.items()
    ]


@pytest.fixture(scope="module")
def class_():
    """Sixty honest students, and one copy of each kind, of different originals."""
    students = honest_class("masking", 60)
    chance = random.Random(1)
    copies = {}
    for number, kind in enumerate((*DISGUISES, PARTLY, HALF)):
        original = f"student{number:03}"
        copies[original] = f"copy {kind}"
        students[f"copy {kind}"] = copy_of("masking", students[original], kind, chance)
    return ClassWork("masking", works_of(students), []), copies


@pytest.fixture(scope="module")
def found(class_):
    return likeness(class_[0])


def evidence_of(found, one, other):
    for pair, (a, b) in enumerate(zip(found.first, found.second, strict=True)):
        if {found.students[a], found.students[b]} == {one, other}:
            return float(found.evidence[pair])
    raise KeyError(one, other)


def test_copies_outrank_honest_pairs(class_, found):
    copies = class_[1]
    honest = [
        float(found.evidence[pair])
        for pair, (a, b) in enumerate(zip(found.first, found.second, strict=True))
        if found.students[a].startswith("student")
        and found.students[b].startswith("student")
    ]
    above = {}
    for original, copy in copies.items():
        given = evidence_of(found, original, copy)
        kept = copy not in (f"copy {HALF}", f"copy {PARTLY}")
        assert given > np.quantile(honest, 0.99 if kept else 0.9), copy
        above[copy] = given > max(honest)
    assert sum(above.values()) > len(DISGUISES) / 2  # more than any honest pair


def test_hardly_any_pair_of_an_honest_class_stands_out():
    honest = ClassWork("masking", works_of(honest_class("masking", 60, seed=7)), [])
    found = likeness(honest)
    # In one class of twenty, one pair is expected to.
    assert sum(pair.stands_out for pair in pairs_of(honest, found, 30)) <= 1


def test_a_ring_of_copies_does_not_make_copies_usual():
    students = honest_class("masking", 24, seed=1)

    def length(name):
        return sum(map(len, students[name].answers.values()))

    name = max(students, key=length)  # whose answers are not those of many
    original, ring = students[name], [name, *(f"twin{n}" for n in range(5))]
    class_ = ClassWork("masking", works_of(dict(students)), [])
    class_.works.extend(
        Work(twin, dict(original.answers), original.wrong) for twin in ring[1:]
    )
    found = likeness(class_)
    pairs = [pair for pair in pairs_of(class_, found, 30) if pair.stands_out]
    two_by_two = {frozenset(two) for two in combinations(ring, 2)}
    standing_out = {frozenset(pair.students) for pair in pairs}
    assert two_by_two <= standing_out
    assert len(standing_out - two_by_two) <= 1  # as in any honest class, now and then
    assert groups_of(pairs)[0] == ring
    assert "More pairs stand out" in as_page(class_, found, pairs[:3])
    assert "More pairs stand out" not in as_page(class_, found, pairs)


def test_many_who_share_a_few_lines_with_a_small_work_are_no_ring():
    few = "".join(f"    x += [x.step{n}(x), {n} - x]\n" for n in range(4))
    class_ = plain([], "")
    for place in range(len(class_.works)):
        own = (f"    z{n} = x.own{place}({n}) - n{n}\n" for n in range(40))
        text = "def f(x):\n" + few * (place < 6) + "".join(own)
        class_.works[place] = Work(f"long{place}", {"f": text})
    class_.works[6] = Work("small", {"f": "def f(x):\n" + few})
    found = likeness(class_)
    assert evidence_of(found, "long0", "small") > 0
    assert found.chance.sorted.size == found.first.size  # nobody is left out


def plain(names, text, **outcomes):
    """A class in which each has an answer of their own, but for some."""
    works = [
        Work(
            f"s{n:02}", {"f": f"def f(x):\n    return x.{'a' * (n + 1)}(x, {n}) + {n}"}
        )
        for n in range(30)
    ]
    for place, name in enumerate(names):
        said = {"f": outcomes["wrong"]} if "wrong" in outcomes else {}
        works[place] = Work(name, {"f": text}, said)
    return ClassWork("c", works, [])


def test_a_rare_wrong_answer_that_two_share_is_evidence():
    class_ = plain(
        ["ann", "bob"], "def f(x):\n    return x", wrong="upside down\none: no"
    )
    pair = pairs_of(class_, likeness(class_), 5)[0]
    assert set(pair.students) == {"ann", "bob"}
    assert pair.common[0].wrong == ["upside down", "one: no"]
    assert pair.common[0].others == 0
    assert pair.powers[2] > 0


def test_what_everybody_was_given_is_no_evidence():
    text = ATTENTION + "\n# a remark about wombats"
    class_ = plain(["ann", "bob"], text)
    assert evidence_of(likeness(class_), "ann", "bob") > 0
    given = ClassWork("c", class_.works, [text])
    assert evidence_of(likeness(given), "ann", "bob") == 0


def test_what_many_share_is_no_evidence():
    names = [f"n{n}" for n in range(20)]
    assert evidence_of(likeness(plain(names, ATTENTION)), "n0", "n1") == 0


def test_padding_with_what_nobody_else_has_hides_nothing():
    class_ = plain(["ann", "bob"], ATTENTION)
    junk = "\n".join(f"unused{n} = [{n}] * {n} - ({n},)" for n in range(500))
    class_.works[1] = Work("bob", {"f": junk + ATTENTION + junk})
    half = "def g(x):\n    return x.sum(-1) / x.shape[-1] - x.mean()\n"
    for place, rest in ((2, "x.cumsum(0) * 3"), (3, "[x, 4, x.numel()]")):
        class_.works[place] = Work(f"half{place}", {"f": f"{half}{rest} + 1"})
    found = likeness(class_)
    padded = evidence_of(found, "ann", "bob")
    assert padded > evidence_of(found, "half2", "half3") > 0


def test_the_tail_is_that_of_the_distribution():
    draws = np.random.default_rng(3).exponential(2.0, 200_000)
    chance = Chance.of(draws)
    for value in (2.0, 6.0, 20.0):
        assert np.log(chance.probability(value)) == pytest.approx(-value / 2, abs=0.35)


def test_words_for_chance():
    assert in_words(None).startswith("too few")
    assert in_words(1 / 3217) == "by chance in about one of 3,200 classes like this"
    assert in_words(12.4) == "by chance, a class like this has about 12 such pairs"
    assert "1,000,000" in in_words(0.0)


def test_three_who_share_are_one_group():
    rest = [
        Work(
            f"s{n:02}", {"f": f"def f(x):\n    return x.{'a' * (n + 1)}(x, {n}) + {n}"}
        )
        for n in range(60)
    ]
    three = [
        Work(name, {"f": ATTENTION}, {"f": "odd"}) for name in ("ann", "bob", "cy")
    ]
    class_ = ClassWork("c", [*rest, *three], [])
    found = likeness(class_)
    pairs = pairs_of(class_, found, 30)
    assert [set(pair.students) for pair in pairs[:3]] == [
        {"ann", "bob"},
        {"ann", "cy"},
        {"bob", "cy"},
    ]
    out = [replace(pair, expected=0.01) for pair in pairs[:3]]
    assert groups_of(out) == [["ann", "bob", "cy"]]
    assert groups_of(out[:1]) == groups_of(pairs[3:]) == []


# Notebooks ----------------------------------------------------------------------------


def test_code_in_cells_of_their_own_belongs_to_the_answer_that_uses_it(master, right):
    data = submission(master, {**right, "softmax": "softmax = lambda s: helper(s)"})
    data["cells"].insert(2, code_cell("def helper(s):\n    return deeper(s)"))
    data["cells"].insert(2, code_cell("def deeper(s):\n    return s / s.sum()"))
    data["cells"].insert(2, code_cell("zeal = 1"))
    texts = texts_of(as_handed_in(master, data, right), master)
    assert "deeper(s)" in texts["softmax"]
    assert "s / s.sum()" in texts["softmax"]
    assert texts[OWN_CELLS] == "zeal = 1"


def test_stubs_are_no_text(master, right):
    assert texts_of(as_handed_in(master, submission(master, {}), right), master) == {}


PADDING = {"comments": "# x\n", "blank lines": " \n", "a comment": "# " + "x" * 80_000}


@pytest.mark.parametrize("padding", PADDING.values(), ids=PADDING)
def test_padding_that_is_no_code_pushes_nothing_out_of_sight(handed_in, padding):
    class_ = read_padded(handed_in, padding * (90_000 // len(padding)) + "\n")
    work = next(work for work in class_.works if work.student == "cy")
    assert "s.wombat('# 1') * 17" in work.texts["softmax"]
    assert cut_short(class_, likeness(class_)) == {}


@pytest.mark.parametrize("padding", ["x = 1234567890\n" * 6_000, "[1,1,1]\n" * 5_000])
def test_what_is_cut_is_said(handed_in, padding, capsys):
    class_ = read_padded(handed_in, padding)
    found = likeness(class_)
    assert cut_short(class_, found) == {"cy": ["softmax"]}
    assert "Compared in part" in as_page(class_, found, [])
    assert main(["similar", TOPIC, "--course", str(handed_in)]) == 0
    assert "compared in part: cy: softmax" in capsys.readouterr().out


def read_padded(course, padding):
    """The class, in which one has padded an answer and the cell that it uses."""
    path = course / "release" / TOPIC / f"{TOPIC}.ipynb"
    answer = padding + "def softmax(s):\n    return helper(s)"
    data = submission(nbformat.read(path, 4), {"softmax": answer})
    helper = padding + "def helper(s):\n    return s.wombat('# 1') * 17"
    data["cells"].insert(2, code_cell(helper))
    hand_in(course, TOPIC, {"cy": data})
    return read_class(course, TOPIC)


def test_outcomes_are_equal_for_equal_ways_to_be_wrong():
    def exercise(message, passed=False):
        case = {"title": "one", "passed": passed, "message": message}
        return {"mistake": None, "message": "It is 2 times too large.", "cases": [case]}

    assert outcome_of(exercise("3 of 7 differ: 0.25")) == outcome_of(
        exercise("5 of 11 differ: 1e-7")
    )
    assert outcome_of(exercise("", passed=True)) == ""
    assert outcome_of(exercise("not implemented yet")) == ""


EVIL = "</mark></pre><script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture
def handed_in(course):
    """A course in which three have handed in, and one a file that cannot be read."""
    path = course / "release" / TOPIC / f"{TOPIC}.ipynb"
    master = nbformat.read(path, 4)
    answer = f"def softmax(scores):  # {EVIL}\n    return scores.wombat() * 17 + 4\n"
    students = {
        "ann": submission(master, {"softmax": answer}),
        "b<i>ob": submission(master, {"softmax": answer.replace("scores", "s")}),
        "cy": submission(master, {"softmax": "def softmax(s):\n    return s.odd(3)"}),
    }
    hand_in(course, TOPIC, students)
    broken = course / "submitted" / "dan" / TOPIC
    broken.mkdir(parents=True)
    (broken / f"{TOPIC}.ipynb").write_text("no notebook")
    (course / "submitted" / "ann" / TOPIC / "timestamp.txt").write_text(
        "2026-11-02 10:00:00 UTC"
    )
    (course / "submitted" / "b<i>ob" / TOPIC / "timestamp.txt").write_text(
        "2026-11-01 10:00:00 UTC"
    )
    return course


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.marked = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert not any(name.startswith("on") or name == "src" for name, _ in attrs)

    def handle_data(self, data):
        self.words.append(data)
        if self.tags and self.tags[-1] == "mark":
            self.marked.append(data)


def test_the_command_writes_a_page_that_runs_nothing(handed_in, capsys):
    assert main(["similar", TOPIC, "--course", str(handed_in)]) == 0
    said = capsys.readouterr().out
    assert "evidence and no verdict" in said
    assert "not compared: dan" in said
    path = handed_in / "reports" / f"{TOPIC}_similar.html"
    page = Page(path.read_text(encoding="utf-8"))
    assert not {"script", "img", "i"} & set(page.tags)
    text = "".join(page.words)
    assert "<script>alert(1)" in text
    assert "This is evidence and no verdict" in text
    assert "wombat" in "".join(page.marked)
    # Who handed in first comes first.
    assert text.index("b<i>ob") < text.index("ann")


def test_where_no_pair_stands_out_the_first_of_the_page_is_named(course, capsys):
    path = course / "release" / TOPIC / f"{TOPIC}.ipynb"
    master = nbformat.read(path, 4)
    answers = {
        f"s{n:02}": f"def softmax(zoo):\n    return zoo.{'abcdefg'[n // 2] * 9}(zoo)"
        for n in range(14)
    }
    hand_in(
        course,
        TOPIC,
        {s: submission(master, {"softmax": a}) for s, a in answers.items()},
    )
    assert main(["similar", TOPIC, "--course", str(course)]) == 0
    said = capsys.readouterr().out
    assert "no pair is so alike that chance hardly explains it" in said
    (line,) = [line for line in said.splitlines() if "most alike:" in line]
    page = Page((course / "reports" / f"{TOPIC}_similar.html").read_text())
    one, other = line.split("most alike: ")[1].split(": ")[0].split(" and ")
    first = next(word for word in page.words if "s0" in word or "s1" in word)
    assert {one, other} <= set(first.split())
    assert int(one[1:]) // 2 == int(other[1:]) // 2


def test_the_export_is_what_dolos_and_jplag_read(handed_in, tmp_path):
    folder = tmp_path / "out"
    command = ["similar", TOPIC, "--course", str(handed_in), "--export", str(folder)]
    assert main(command) == 0
    with zipfile.ZipFile(folder / "dolos.zip") as archive:
        names = archive.namelist()
        rows = list(csv.DictReader(io.StringIO(archive.read("info.csv").decode())))
        codes = {row["full_name"]: archive.read(row["filename"]) for row in rows}
    assert names[0] == "info.csv"
    assert set(codes) == {"ann", "b<i>ob", "cy"}
    assert b"wombat" in codes["ann"]
    submissions = {path.name for path in (folder / "jplag").iterdir()}
    assert submissions == set(codes)
    assert (folder / "jplag" / "cy" / f"{TOPIC}.py").read_bytes() == codes["cy"]
    base = (folder / "jplag-base" / "base.py").read_text(encoding="utf-8")
    assert "def softmax" in base
    assert main(command) == 2  # nothing is overwritten


def test_reports_and_submissions_are_joined_by_student(handed_in):
    folder = handed_in / "reports" / TOPIC
    folder.mkdir(parents=True)
    case = {"title": "rows", "points": 1, "passed": False, "message": "too large"}
    exercise = {
        **{"name": "softmax", "score": 0, "max_score": 1, "mistake": "odd_one"},
        **{"message": "You did.", "cases": [case]},
    }
    report = {
        **{"student": "ann", "chapter": TOPIC, "score": 0, "max_score": 1},
        **{"refused": None, "notes": [], "exercises": [exercise]},
        **{"submission": read(handed_in / "submitted", "ann", TOPIC).digest},
    }
    (folder / "ann.json").write_text(json.dumps(report))
    works = {work.student: work for work in read_class(handed_in, TOPIC).works}
    assert works["ann"].outcomes == {"softmax": "odd one\nrows: too large"}
    assert works["cy"].outcomes == {}
    assert works["ann"].time == "2026-11-02 10:00"
    report["submission"] = "of an earlier one"
    (folder / "ann.json").write_text(json.dumps(report))
    works = {work.student: work for work in read_class(handed_in, TOPIC).works}
    assert works["ann"].outcomes == {}


def test_too_few_and_unknown_are_one_clear_line(course, capsys):
    assert main(["similar", TOPIC, "--course", str(course)]) == 2
    assert "nothing was submitted" in capsys.readouterr().err
    assert main(["similar", "maskin", "--course", str(course)]) == 2
    assert "did you mean masking" in capsys.readouterr().err


def test_a_page_without_pairs_says_so():
    works = [Work("ann", {"f": "x = 1"}), Work("bob", {"f": "y = [2, 3]"})]
    class_ = ClassWork("masking", works, [], graded=False)
    found = likeness(class_)
    page = as_page(class_, found, pairs_of(class_, found, 5))
    assert "too few to say" in page
    assert "was not graded" in page
