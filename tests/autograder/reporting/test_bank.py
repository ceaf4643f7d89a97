"""Skeletons of mistakes from wrong answers: they do what was done, and run nothing."""

from __future__ import annotations

import ast
import json
import shlex

import numpy as np
import pytest

from autograder.__main__ import main
from autograder.exercise import Mistake, NoHint
from autograder.marks.reports import read_reports
from autograder.reasons import Reason
from autograder.reporting.bank import MAX_CODE, bank_command, write_skeleton
from autograder.reporting.exports import write_class_report
from autograder.submissions.submitted import read
from classroom.submissions import hand_in, submission
from tests.autograder.conftest import TOPIC
from tests.autograder.made_up import exercise, report

HALVED = '''
import os  # ada@example.org
HALF = 0.5
TWICE = 2 * HALF

def shifted(x):
    """Ada's own."""
    return x - x.max(axis=-1, keepdims=True)

def softmax(scores):
    """By Ada Quill."""
    # a remark of Ada's
    e = np.exp(shifted(scores) * HALF)
    return TWICE * e / e.sum(axis=-1, keepdims=True)

print(softmax(np.zeros(3)))
'''
SCORES = np.array([[1.0, 2.0, 4.0], [0.0, -3.0, 1.0]])


@pytest.fixture
def hand_in_wrong(course, master):
    """Hand an answer in, with a report that knows no cause unless it is told one."""

    def do(
        source, name="softmax", student="student01", passed=False, refused=None, **more
    ):
        data = submission(master, {name: source})
        hand_in(course, TOPIC, {student: data})
        cases = {"one row": True, "large scores": passed}
        points = dict.fromkeys(cases, 1)
        found = report(student, [exercise(name, cases, points, **more)], refused)
        path = course / "reports" / TOPIC / f"{student}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        found["exercises"][0]["cases"][1]["message"] = "3 of 6 values\x1b[31m differ"
        found["submission"] = read(course / "submitted", student, TOPIC).digest
        path.write_text(json.dumps(found))

    do.course = course
    return do


def loaded(path, hint="Every score was halved."):
    """What the file defines, once its hint is written."""
    text = path.read_text()
    assert '""""""' in text
    names: dict = {}
    exec(text.replace('""""""', f'"""{hint}"""'), names)
    return names


def test_skeleton_gives_what_the_student_gave(hand_in_wrong):
    hand_in_wrong(HALVED)
    path = write_skeleton(
        hand_in_wrong.course, TOPIC, "softmax", "student01", "scores_halved"
    )
    assert path == hand_in_wrong.course / "bank" / "scores_halved.py"
    mistake = loaded(path)["scores_halved"]
    assert isinstance(mistake, Mistake)
    assert (mistake.name, mistake.exercise) == ("scores_halved", "softmax")
    theirs: dict = {"np": np}
    exec(HALVED, theirs)
    np.testing.assert_array_equal(
        mistake.implementation(SCORES), theirs["softmax"](SCORES)
    )


def test_nothing_but_what_the_answer_uses_comes_along(hand_in_wrong):
    hand_in_wrong(HALVED)
    path = write_skeleton(hand_in_wrong.course, TOPIC, "softmax", "student01")
    text = path.read_text()
    assert path.name == "unexplained_softmax.py"
    for gone in ("Ada", "ada@", "print", "import os", "student01"):
        assert gone not in text
    assert "import numpy as np" in text
    assert "“large scores”: 3 of 6 values\\x1b[31m differ" in text
    assert text.isprintable() or all(line.isprintable() for line in text.split("\n"))


def test_bank_refuses_a_skeleton_without_its_hint(hand_in_wrong):
    hand_in_wrong(HALVED)
    path = write_skeleton(hand_in_wrong.course, TOPIC, "softmax", "student01")
    with pytest.raises(NoHint, match="write it as the docstring"):
        exec(path.read_text(), {})


def test_another_answer_of_the_student_is_the_reference_in_the_bank(hand_in_wrong):
    hand_in_wrong(
        "def attend(q, X):\n    a = softmax(X @ q)\n    return a @ X, a", "attend"
    )
    path = write_skeleton(hand_in_wrong.course, TOPIC, "attend", "student01")
    text = path.read_text()
    assert "a = right.softmax(X @ q)" in text
    assert "the student's own may" in " ".join(text.replace("#", "").split())
    q, keys = np.ones(3), SCORES
    output, weights = loaded(path)["unexplained_attend"].implementation(q, keys)
    np.testing.assert_allclose(weights.sum(), 1)
    np.testing.assert_allclose(output, weights @ keys)


def test_hostile_answer_is_pointed_out_and_never_run(hand_in_wrong, tmp_path):
    canary = tmp_path / "canary"
    touch = f"open({str(canary)!r}, 'w').close()"
    hand_in_wrong(
        f"import os\n{touch}\nSEEN = {touch}\n"
        f"def softmax(scores, x={touch}, y=SEEN):\n"
        "    os.system('true')\n    return ().__class__, '\u202e\x1b[2J', f'\x9b{x}'"
    )
    path = write_skeleton(hand_in_wrong.course, TOPIC, "softmax", "student01")
    text = path.read_text()
    assert not canary.exists()
    comments = [line for line in text.split("\n") if line.startswith("#")]
    noted = " ".join(" ".join(comments).replace("#", "").split())
    assert "; import os; " in noted
    assert "(at import)" in noted
    assert "__class__" in noted
    assert all(line.isprintable() for line in text.split("\n"))
    (function,) = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    assert ast.literal_eval(function.body[-1].value.elts[1]) == "\u202e\x1b[2J"


def noted_in(path):
    """What the file points out, in one line."""
    lines = [li for li in path.read_text().split("\n") if li.startswith("#")]
    text = " ".join(" ".join(lines).replace("#", "").split())
    return text.partition("look here first: ")[2].partition(". What was told")[0]


@pytest.mark.parametrize(
    ("source", "noted"),
    [
        ("@halved\ndef softmax(s):\n    return s", "@halved (at import)"),
        ("def softmax(s: halved(1)):\n    return s", "halved(1) (at import)"),
        ("def softmax(s) -> halved(1):\n    return s", "halved(1) (at import)"),
        ("def softmax(s):\n    return Called", "metaclass=halved (at import)"),
        ("def softmax(s):\n    return Below", "def __init_subclass__"),
        ("def softmax(s):\n    return np.os.getcwd()", "os"),
        ("def softmax(s):\n    return np.load(s)", "load"),
        ("def softmax(s):\n    return np._core", "_core"),
        ("def softmax(s):\n    return system(s)", "from numpy.ctypeslib import os as"),
        ("def softmax(s):\n    return (lambda: halved(s))()", ""),
    ],
)
def test_what_runs_at_import_or_leads_out_is_pointed_out(hand_in_wrong, source, noted):
    hand_in_wrong(
        "import numpy as np\nfrom numpy.ctypeslib import os as system\n"
        "def halved(x):\n    return x / 2\n"
        "class Called(metaclass=halved):\n    pass\n"
        "class Above:\n    def __init_subclass__(cls):\n        halved(1)\n"
        "class Below(Above):\n    pass\n"
        f"{source}"
    )
    path = write_skeleton(hand_in_wrong.course, TOPIC, "softmax", "student01")
    found = noted_in(path)
    assert noted in found
    assert bool(found) == bool(noted)


@pytest.mark.parametrize(
    "helper",
    [
        "mistake = RUNS",
        "HALF = (mistake := RUNS)",
        "def mistake(exercise):\n    HALF.append(1)",
        "import numpy as mistake",
        "class HALF:\n    global mistake\n    mistake = RUNS",
        "softmax = HALF = RUNS",
    ],
)
def test_student_cannot_put_anything_in_the_place_of_a_name_of_the_file(
    hand_in_wrong, capsys, helper
):
    hand_in_wrong(
        f"RUNS = lambda exercise: print\n{helper}\n"
        "def softmax(scores):\n    return scores, HALF, mistake"
    )
    assert main(command(hand_in_wrong.course)) == 2
    assert "which the file needs" in capsys.readouterr().err
    assert not (hand_in_wrong.course / "bank").exists()


def test_local_names_of_the_answer_stay_its_own(hand_in_wrong):
    hand_in_wrong(
        "HALF = 3\ndef softmax(scores):\n    attend = scores\n    HALF = 2\n"
        "    return attend / HALF"
    )
    path = write_skeleton(hand_in_wrong.course, TOPIC, "softmax", "student01")
    assert "right." not in path.read_text()
    assert "HALF = 3" not in path.read_text()
    answered = loaded(path)["unexplained_softmax"].implementation(SCORES)
    np.testing.assert_array_equal(answered, SCORES / 2)


LONG = "def softmax(s):\n    return s" + " + 1" * (MAX_CODE // 4)


@pytest.mark.parametrize(
    ("source", "said", "more"),
    [
        ("def softmax(s): return s", "passes all cases", {"passed": True}),
        ("def softmax(s): return s", "did not begin softmax", {"reason": Reason.STUB}),
        ("def softmax(s): return s", "is the mistake halved", {"mistake": "halved"}),
        (
            "def softmax(s): return s",
            "not examined: too \\x1b",
            {"refused": "too \x1b"},
        ),
        ("softmax = lambda s: s", "no definition of softmax", {}),
        ("x = 1", "no definition of softmax", {}),
        ("def softmax(s:\n  return", "cannot be written out", {}),
        (LONG, f"more than {MAX_CODE:,} are too long", {}),
    ],
)
def test_answer_without_a_skeleton_is_one_line(
    hand_in_wrong, capsys, source, said, more
):
    hand_in_wrong(source, **more)
    assert main(command(hand_in_wrong.course)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1
    assert not (hand_in_wrong.course / "bank").exists()


def test_answer_that_was_replaced_after_the_report_has_no_skeleton(
    hand_in_wrong, master, capsys
):
    hand_in_wrong(HALVED)
    right = submission(master, {"softmax": "def softmax(scores):\n    return scores"})
    hand_in(hand_in_wrong.course, TOPIC, {"student01": right})
    assert main(command(hand_in_wrong.course)) == 2
    assert "is not on what is in" in capsys.readouterr().err
    assert not (hand_in_wrong.course / "bank").exists()


def command(course, student="student01", exercise="softmax", *more):
    return [
        *("bank", TOPIC, exercise, "--course", str(course)),
        *(f"--student={student}", *more),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("student01", "softmx"), "did you mean softmax?"),
        (("student02",), "there is no report on student02"),
        (("../student01",), "there is no report on ../student01"),
        (("-x\x1b",), "there is no report on -x\\x1b"),
        (("student01", "softmax", "--name", "a b"), "'a b' cannot be the name"),
        (("student01", "softmax", "--name", "../a"), "cannot be the name"),
        (("student01", "softmax", "--name", "sum"), "cannot be the name"),
        (("student01", "softmax", "--name", "class"), "cannot be the name"),
        (
            ("student01", "softmax", "--name", "over_the_first_axis"),
            "has the name over_the_first_axis already",
        ),
    ],
)
def test_request_that_cannot_be_met_is_one_line(hand_in_wrong, capsys, arguments, said):
    hand_in_wrong(HALVED)
    assert main(command(hand_in_wrong.course, *arguments)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_skeleton_is_never_overwritten(hand_in_wrong, capsys):
    hand_in_wrong(HALVED)
    assert main(command(hand_in_wrong.course)) == 0
    (path,) = (hand_in_wrong.course / "bank").iterdir()
    path.write_text("edited")
    assert main(command(hand_in_wrong.course)) == 2
    assert "exists already" in capsys.readouterr().err
    assert path.read_text() == "edited"


def test_folder_that_is_no_course_is_one_line(tmp_path, capsys):
    assert main(command(tmp_path)) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_class_report_has_the_command_that_works(hand_in_wrong):
    student = "<b>o'neill</b> & co"
    hand_in_wrong(HALVED, student="student01", mistake="halved", message="You halved.")
    report_on_class = read_reports(hand_in_wrong.course, TOPIC)
    page = write_class_report(hand_in_wrong.course, report_on_class)["page"]
    assert "autograder bank" not in page.read_text()  # a cause is known
    hand_in_wrong(HALVED, student="student02")
    report_on_class = read_reports(hand_in_wrong.course, TOPIC)
    page = write_class_report(hand_in_wrong.course, report_on_class)["page"]
    typed = bank_command(hand_in_wrong.course, TOPIC, "softmax", "student02")
    assert page.read_text().count(typed) == 1
    words = shlex.split(typed)
    assert words[:3] == ["python", "-m", "autograder"]
    assert main(words[3:]) == 0
    assert shlex.split(bank_command(hand_in_wrong.course, TOPIC, "softmax", student))[
        -1
    ] == (f"--student={student}")
