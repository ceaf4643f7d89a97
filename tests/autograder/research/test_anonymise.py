"""Names planted in every place of a course, none of which may come out."""

from __future__ import annotations

import ast
import contextlib
import csv
import json
import resource
from datetime import datetime, timedelta
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.release.settings import settings_of
from autograder.research import export
from autograder.research.people import salt_of, salted_id
from autograder.research.scrub import Scrubber
from autograder.submissions.submitted import Submission, read
from classroom.submissions import submission
from tests.autograder.conftest import TOPIC

STUDENT = "zwackelmannzora_48151"
# Names that are no words, so that none is anywhere by chance.
PEOPLE = {
    STUDENT: {STUDENT, "Zora Zwäckelmann", "zora.z@hochschule.example", "4815162342"},
    "qbrabbel": {"qbrabbel", "Quinn O'Brabbel", "quinn@hochschule.example"},
    "li_99123": {"Li Max", "99123"},
}
PLANTED = (
    "Zora Zwäckelmann",
    "ZWÄCKELMANN, ZORA",
    "zora_zwackelmann",
    "ZoraZwäckelmann",
    "Zwaeckelmann",
    "zzwackelmann",
    "zwackelmannsoftmax",
    "z\u200bora",
    "Zo\u0308ra",
    "\x1b[31mZora\x1b[0m",
    "zora.z@hochschule.example",
    "zora.private@elsewhere.example",
    "4815162342",
    "zwackelmannzora_48151",
    "Quinn",
    "O'Brabbel",
    "qbrabbel",
    "/home/zo/secret-thesis/a.py",
    r"C:\Users\zo\secret-thesis",
    "/Users/zo/secret-thesis",
    "/content/drive/MyDrive/secret-thesis/x",
    "https://github.com/secret-thesis/x",
    "2026-11-12 18:03:11",
)
# What is left of none of these.
TRACES = ("zora", "zwäck", "zwack", "zwaeck", "brabbel", "quinn", "481516", "48151")
TRACES += ("secret-thesis", "elsewhere", "hochschule", "18:03", "zz", "zöra")


@pytest.fixture(scope="module")
def scrubber():
    return Scrubber(PEOPLE, ["np.max(scores)  # see https://example.org/book"])


def traces_in(text):
    folded = text.casefold()
    return [trace for trace in TRACES if trace in folded]


@pytest.mark.parametrize("planted", PLANTED)
def test_no_name_stays_in_prose_or_in_code(scrubber, planted):
    assert traces_in(scrubber.prose(f"by {planted}, in haste", STUDENT)) == []
    for code in (f"x = 1  # {planted}", f"x = r'''{planted}'''", f"# {planted}\nx = 1"):
        done = scrubber.code(code, STUDENT)
        assert traces_in(done) == []
        assert any(isinstance(node, ast.Assign) for node in ast.parse(done).body)


def test_names_in_identifiers_go_and_the_code_stays_code(scrubber):
    code = "def zora_softmax(q, key):\n    zoraHelper = q@key.mT\n    return zoraHelper"
    done = scrubber.code(code, STUDENT)
    assert traces_in(done) == []
    ast.parse(done)
    assert "q@key.mT" in done
    assert done.count("PERSONHelper") == 2


def test_words_of_the_course_stay_in_code(scrubber):
    code = "x = np.max(scores)  # thanks, Max and Li"
    done = scrubber.code(code, STUDENT)
    assert done.startswith("x = np.max(scores)  # thanks, PERSON and ")
    assert scrubber.prose("Li was here", "li_99123").startswith("PERSON")


@pytest.mark.parametrize(
    ("code", "done"),
    [
        ("!git config user.email zed@posteo.de", "!git config user.email ADDRESS"),
        ("!git config user.name 'Z. Ed'\nx = 1", "!git config user.name PERSON\nx = 1"),
        ("!git clone https://github.com/zed/hw.git", "!git clone LINK"),
        ("!git clone \\\n  git@github.com:zed/hw.git", "!git clone \\\n  ADDRESS"),
        ("%pip install git+ssh://git@host.org/zed/hw", "%pip install git+LINK"),
        ("%pip install git+https://github.com/zed/hw", "%pip install git+LINK"),
        ("%cd ~zed/hw", "%cd /FOLDER"),
        ("log = !cat ~/zed.log  # 2026-01-02", "log = !cat /FOLDER  # TIME"),
        ("if x:\n    !scp zed@host.edu:hw .", "if x:\n    !scp ADDRESS ."),
        ("s = \"don't\n!curl ftp://zed.me 1.2.2026", "s = \"don't\n!curl LINK TIME"),
        ("%%bash\nscp 'x\n' zed@host.edu:hw", "%%bash\nscp 'x\n' ADDRESS"),
        ("by zed@host.edu, 2026-01-02:\nx = 1", "by ADDRESS, TIME:\nx = 1"),
        ("from github.com/zed/hw\nhttp://zed.me", "from LINK\nLINK"),
    ],
)
def test_commands_and_broken_code_hold_no_address_link_folder_or_date(
    scrubber, code, done
):
    assert scrubber.code(code, STUDENT) == done


@pytest.mark.parametrize(
    "code",
    [
        "w = query@key.softmax(-1)\nn = 10/4/1024",
        "%timeit f(x, ~mask)@key.float()",
        "%%time\nweights = q@self.weight",
        "x = (a\n  % b\n  != c)",
        "a != b\nx = ~mask",
        "def broken(:\n    q@key.transpose(-2, -1)\n    w@x.values.float()",
    ],
)
def test_python_stays_as_it_is(scrubber, code):
    assert scrubber.code(code, STUDENT) == code


def test_what_everybody_was_given_stays(scrubber):
    assert "https://example.org/book" in scrubber.prose("https://example.org/book")
    text = "The scores of 10000 rows sum to one; see section 3.2."
    assert scrubber.prose(text, STUDENT) == text


def test_what_all_ids_begin_with_is_no_name():
    people = {f"student{n:02}": set() for n in range(30)}
    people = {name: {name} for name in people}
    done = Scrubber(people, []).prose("a student called student07, or Student 7")
    assert done == "a student called PERSON, or Student 7"


# A course -----------------------------------------------------------------------------


@pytest.fixture
def planted(course):
    """A course with names in every place that it has."""
    path = course / "release" / TOPIC / f"{TOPIC}.ipynb"
    every = "\n".join(PLANTED).replace("\\", "/")
    code = f'"""{every}"""\ndef softmax(zora):  # Zora\n    return zora\n'
    data = submission(nbformat.read(path, 4), {"softmax": code})
    data["metadata"]["authors"] = [{"name": "Zora Zwäckelmann"}]
    data["metadata"]["colab"] = {"name": "zora.ipynb", "userId": "4815162342"}
    data["metadata"]["kernelspec"]["display_name"] = "zora-env"
    for cell in data["cells"]:
        cell["id"] = "zora-" + str(cell.get("id"))
        cell["metadata"]["executionInfo"] = {"user": {"displayName": "Zora"}}
        cell["attachments"] = {"zora.png": {"image/png": "AAAA"}}
    outputs = [
        {
            "output_type": "stream",
            "name": "stdout",
            "text": [f"{name}\n" for name in PLANTED],
        },
        {
            "output_type": "error",
            "ename": "Zora",
            "evalue": every,
            "traceback": ["\x1b[0;31mZora\x1b[0m", every],
        },
        {
            "output_type": "display_data",
            "metadata": {"zora": "Zora"},
            "data": {
                "text/plain": [f"{name}\n" for name in PLANTED],
                "text/html": "<b>Zora</b>",
                "image/png": "zora",
            },
        },
    ]
    data["cells"].insert(
        0, {"cell_type": "markdown", "metadata": {"zora": 1}, "source": every}
    )
    data["cells"].insert(
        0,
        {
            "cell_type": "code",
            "metadata": {"nbgrader": {"grade_id": "zora"}},
            "source": f"%cd /home/zora/x\nzora = '{PLANTED[0]}'",
            "outputs": outputs,
        },
    )
    folder = course / "submitted" / STUDENT / TOPIC
    folder.mkdir(parents=True)
    (folder / "masking Zora.ipynb").write_text("{}")
    (folder / f"{TOPIC}.ipynb").write_text(json.dumps(data), encoding="utf-8")
    (folder / "timestamp.txt").write_text("2026-11-12 18:03:11 UTC")
    other = course / "submitted" / "qbrabbel" / TOPIC
    other.mkdir(parents=True)
    (other / f"{TOPIC}.ipynb").write_text(json.dumps(data), encoding="utf-8")
    (other / "timestamp.txt").write_text("2026-11-11 12:03:11 UTC")
    broken = course / "submitted" / "li_99123" / TOPIC
    broken.mkdir(parents=True)
    (broken / "zora.txt").write_text("no notebook")
    (course / "research_salt").write_text("5" * 64)  # no id looks like a number
    settings = settings_of(course)
    with Gradebook(settings.gradebook, settings.course_id) as book:
        book.add_student(
            STUDENT,
            first_name="Zora",
            last_name="Zwäckelmann",
            email="zora.z@hochschule.example",
            lms_user_id="4815162342",
        )
    (course / "collected").mkdir()
    (course / "collected" / "roster.csv").write_text(
        "student,name,email\nqbrabbel,Quinn O'Brabbel,quinn@hochschule.example\n"
    )
    case = {"title": "rows", "points": 1, "passed": False, "message": every}
    exercise = {
        **{"name": "softmax", "score": 0, "max_score": 1, "mistake": "rows_mixed_up"},
        **{"message": f"In your line: {every}", "cases": [case]},
    }
    report = {
        **{"student": STUDENT, "chapter": TOPIC, "score": 0, "max_score": 1},
        **{"refused": None, "notes": [every], "exercises": [exercise]},
        **{"submission": read(course / "submitted", STUDENT, TOPIC).digest},
        **{"kept": "digest-zora", "seconds": 0.1},
    }
    reports = course / "reports" / TOPIC
    reports.mkdir(parents=True)
    (reports / f"{STUDENT}.json").write_text(json.dumps(report), encoding="utf-8")
    return course


def anonymise(course, folder):
    command = ["anonymise", TOPIC, "--course", str(course), "--into", str(folder)]
    return main(command)


def test_none_of_the_planted_names_comes_out(planted, tmp_path, capsys):
    folder = tmp_path / "out"
    assert anonymise(planted, folder) == 0
    said = capsys.readouterr().out
    assert "submissions without names: 2" in said
    for path in folder.rglob("*"):
        assert traces_in(path.name) == []
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            if path.suffix in (".ipynb", ".json"):
                text = json.dumps(json.loads(text), ensure_ascii=False)
            assert traces_in(text) == [], path
    assert traces_in(said.replace(str(planted), "").replace(str(folder), "")) == []


def test_what_research_needs_is_still_there(planted, tmp_path):
    folder = tmp_path / "out"
    anonymise(planted, folder)
    name = salted_id(salt_of(planted), STUDENT)
    notebook = nbformat.read(folder / "notebooks" / TOPIC / f"{name}.ipynb", 4)
    nbformat.validate(notebook)
    (answer,) = [
        cell.source
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "softmax"
    ]
    function = ast.parse(answer).body[-1]
    assert function.name == "softmax"
    assert function.args.args[0].arg == "PERSON"
    report = json.loads((folder / "reports" / TOPIC / f"{name}.json").read_text())
    assert report["exercises"][0]["mistake"] == "rows_mixed_up"
    assert "submission" not in report
    with (folder / "results.csv").open() as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert rows[name]["hours_after_the_first"] == "30"
    assert rows[name]["score"] == "0"
    assert list(rows) == sorted(rows)


def test_a_report_on_what_was_replaced_stays_behind(planted, tmp_path):
    notebook = planted / "submitted" / STUDENT / TOPIC / f"{TOPIC}.ipynb"
    notebook.write_text(notebook.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    folder = tmp_path / "out"
    anonymise(planted, folder)
    name = salted_id(salt_of(planted), STUDENT)
    assert (folder / "notebooks" / TOPIC / f"{name}.ipynb").exists()
    assert not (folder / "reports" / TOPIC / f"{name}.json").exists()
    with (folder / "results.csv").open() as file:
        (row,) = [row for row in csv.DictReader(file) if row["id"] == name]
    assert row["score"] == row["max_score"] == ""


def test_of_a_cell_that_grading_does_not_run_only_the_beginning_is_read(
    scrubber, master
):
    cells = [
        {"cell_type": kind, "source": "1," * 5_000_000, "metadata": {}}
        for kind in ("code", "markdown")
    ]
    cells.append({"cell_type": "code", "source": "x = 1", "metadata": {}})
    found = export.notebook_without_names({"cells": cells}, master, scrubber, STUDENT)
    sources = [cell["source"] for cell in found["cells"]]
    assert [len(source) for source in sources] == [100_000, 100_000, 5]


def test_ids_are_stable_and_need_the_salt(planted, tmp_path):
    anonymise(planted, tmp_path / "one")
    anonymise(planted, tmp_path / "two")
    one, two = (
        sorted(path.name for path in (tmp_path / name).rglob("*.ipynb"))
        for name in ("one", "two")
    )
    assert one == two
    salt = planted / "research_salt"
    assert salt.stat().st_mode & 0o777 == 0o600
    salt.unlink()
    anonymise(planted, tmp_path / "three")
    assert one != sorted(path.name for path in (tmp_path / "three").rglob("*.ipynb"))
    assert salt.stat().st_mode & 0o777 == 0o600


def test_a_changed_salt_and_a_full_folder_are_one_clear_line(planted, tmp_path, capsys):
    anonymise(planted, tmp_path / "one")
    assert anonymise(planted, tmp_path / "one") == 2
    assert "name a folder that is new or empty" in capsys.readouterr().err
    (planted / "research_salt").write_text("short")
    assert anonymise(planted, tmp_path / "two") == 2
    assert "64 hexadecimal digits" in capsys.readouterr().err
    assert not (tmp_path / "two").exists()


@contextlib.contextmanager
def room_for(most):
    """Let no file grow beyond this size, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_leaves_nothing_and_names_the_file(
    planted, tmp_path, capsys, there
):
    if there:
        (tmp_path / "out").mkdir()
    with room_for(500):  # one file fits, and then none
        assert anonymise(planted, tmp_path / "out") == 2
    assert ".ipynb)" in capsys.readouterr().err
    assert (tmp_path / "out").exists() == there
    assert not there or not list((tmp_path / "out").iterdir())
    assert anonymise(planted, tmp_path / "out") == 0
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["README.txt", "notebooks", "reports", "results.csv"]


def test_a_salt_that_did_not_fit_on_the_disk_is_made_again(planted, tmp_path, capsys):
    (planted / "research_salt").unlink()
    with room_for(10):
        assert anonymise(planted, tmp_path / "out") == 2
    assert not (planted / "research_salt").exists()
    assert anonymise(planted, tmp_path / "out") == 0


class Counted(datetime):
    """A time that counts how often it is compared."""

    compared = 0

    def __lt__(self, other):
        type(self).compared += 1
        return super().__lt__(other)


def test_times_of_a_large_class_are_looked_through_once(monkeypatch):
    names = [f"student{number}" for number in range(200)]
    begin = Counted(2026, 1, 1)
    stamps = {n: begin + timedelta(hours=7 * i % 200) for i, n in enumerate(names)}
    monkeypatch.setattr(
        export, "read", lambda _, name, __: Submission(name, b"", timestamp=name)
    )
    monkeypatch.setattr(export, "time_of", stamps.get)
    Counted.compared = 0
    times = export.Times(Path("course"), ["a", "b"], names)
    found = {n: times.hours("b", n) for n in names}
    assert found == {n: 7 * i % 200 for i, n in enumerate(names)}
    assert Counted.compared <= 2 * len(names) * 2
    assert times.hours("b", "nobody") == ""
