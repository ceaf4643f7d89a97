"""The zip for Gradescope, unpacked and run as there, without any solutions."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile

import pytest

from autograder.__main__ import main
from autograder.exercise import load_topic
from autograder.expected import public_seeds
from classroom.submissions import cell_source, submission
from tests.autograder.conftest import TOPIC

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a container of Linux")
NO_SOLUTIONS = "raise ImportError('the references are not to be had here')"


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The folder of the container before a submission comes, and the wheel unpacked."""
    place = tmp_path_factory.mktemp("gradescope")
    archive = place / "out.zip"
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["gradescope", TOPIC, str(archive)]) == 0
    assert "it takes the solutions: break_softmax" in said.getvalue()
    root = place / "autograder"
    for name in ("source", "submission", "results"):
        (root / name).mkdir(parents=True)
    with zipfile.ZipFile(archive) as files:
        files.extractall(root / "source")
    shutil.copy(root / "source" / "run_autograder", root)
    (wheel,) = (root / "source").glob("*.whl")
    site = place / "site"
    with zipfile.ZipFile(wheel) as files:
        files.extractall(site)
    (site / "solutions.py").write_text(NO_SOLUTIONS)
    return archive, root, site


@pytest.fixture
def container(packed, tmp_path):
    """Run a submission in a container of its own: files, then what came out."""
    _, before, site = packed
    root = tmp_path / "autograder"
    shutil.copytree(before, root)

    def run(files):
        for name, content in files.items():
            (root / "submission" / name).write_text(content)
        env = {
            **os.environ,
            "AUTOGRADER_ROOT": str(root),
            "AUTOGRADER_PYTHON": sys.executable,
            "PYTHONPATH": str(site),
        }
        command = ["bash", str(root / "run_autograder")]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        results = root / "results" / "results.json"
        found = json.loads(results.read_text()) if results.exists() else None
        return done, found

    return run


def asked():
    """The exercises that are marked there: not those whose answer is a test."""
    exercises = load_topic(TOPIC).exercises.values()
    return [e for e in exercises if not e.name.startswith("break_")]


def most():
    return sum(exercise.points for exercise in asked())


def require_form(results):
    """As Gradescope describes ``results.json``."""
    assert results["output_format"] == "text"
    assert results["stdout_visibility"] == "hidden"
    cases = [case for exercise in asked() for case in exercise.cases]
    assert len(results["tests"]) == len(cases)
    for test in results["tests"]:
        assert set(test) == {
            *("name", "score", "max_score", "output", "output_format", "visibility")
        }
        assert 0 <= test["score"] <= test["max_score"]
        assert test["visibility"] == "visible"
    assert sum(test["max_score"] for test in results["tests"]) == most()
    assert results["score"] == sum(test["score"] for test in results["tests"])


def test_zip_has_a_key_and_no_solutions(packed, root):
    archive, place, site = packed
    with zipfile.ZipFile(archive) as files:
        modes = {f.filename: f.external_attr >> 16 for f in files.infolist()}
        text = b"".join(files.read(name) for name in modes)
    assert modes["setup.sh"] & stat.S_IXUSR
    assert modes["run_autograder"] & stat.S_IXUSR
    reference = (root / "solutions" / f"{TOPIC}.py").read_text()
    for line in (line.strip() for line in reference.splitlines()):
        if line.startswith("return ") and len(line) > 30:
            assert line.encode() not in text
    pinned = (place / "source" / "constraints.txt").read_text().splitlines()
    assert any(line.startswith("torch==") for line in pinned)
    assert not any("[" in line for line in pinned)  # pip takes no extras there


def test_key_has_seeds_of_its_own(packed):
    from autograder.answer_key import read_key

    topic = load_topic(TOPIC)
    for exercise in asked():
        seeds = read_key(topic, exercise, packed[1] / "source").seeds
        assert not set(seeds) & set(public_seeds(exercise))


def test_right_submission_under_another_name_gets_all_points(container, master, right):
    done, results = container({"my copy.ipynb": json.dumps(submission(master, right))})
    assert done.returncode == 0, done.stderr
    require_form(results)
    assert results["score"] == most()


def test_wrong_submission_is_told_its_mistake_and_finds_no_key(
    container, master, right
):
    mistake = load_topic(TOPIC).mistakes("softmax")[0]
    cell = cell_source(mistake, "softmax") + (
        "\nimport glob, os\n"
        "root = os.environ['AUTOGRADER_ROOT']\n"
        "found = glob.glob(root + '/**/*.key', recursive=True)\n"
        "if found: softmax = None\n"
    )
    data = submission(master, {**right, "softmax": cell})
    done, results = container({f"{TOPIC}.ipynb": json.dumps(data)})
    assert done.returncode == 0, done.stderr
    require_form(results)
    assert 0 < results["score"] < most()
    told = [test["output"] for test in results["tests"] if not test["score"]]
    assert any(mistake.hint in text for text in told)
    other = [t for t in results["tests"] if not t["name"].startswith("softmax:")]
    assert all(test["score"] == test["max_score"] for test in other)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, f"no notebook {TOPIC}.ipynb was submitted"),
        ({"notes.txt": "sorry"}, f"no notebook {TOPIC}.ipynb was submitted"),
        ({f"{TOPIC}.ipynb": "{"}, "not JSON"),
    ],
)
def test_missing_or_broken_submission_gets_zero_with_the_reason(container, files, why):
    done, results = container(files)
    assert done.returncode == 0, done.stderr
    require_form(results)
    assert results["score"] == 0
    assert why in results["output"]


def test_a_second_submission_needs_another_container(container):
    container({})
    done, results = container({})
    assert done.returncode == 2
    assert "A container grades one submission" in done.stderr
    assert "Traceback" not in done.stderr


def test_setup_installs_the_wheel_with_its_constraints(packed, tmp_path):
    """With a stand-in for Python that notes what it is called with."""
    root = tmp_path / "autograder"
    shutil.copytree(packed[1], root)
    (root / "source" / "pip_options.txt").write_text("--extra-index-url\nhttps://a.b\n")
    tools = tmp_path / "bin"
    tools.mkdir()
    fake = tools / "python3"
    fake.write_text(
        "#!/bin/bash\n"
        'if [ "$1" = -c ]; then exit 0; fi\n'
        'mkdir -p "$3/bin"\n'
        f'printf \'#!/bin/bash\\nprintf "%%s\\\\n" "$@" > {tmp_path}/asked\\n\''
        ' > "$3/bin/pip"\n'
        'chmod +x "$3/bin/pip"\n'
    )
    fake.chmod(0o755)
    env = {"PATH": f"{tools}:{os.environ['PATH']}", "AUTOGRADER_ROOT": str(root)}
    script = ["bash", str(root / "source" / "setup.sh")]
    done = subprocess.run(script, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *words, wheel = (tmp_path / "asked").read_text().splitlines()
    assert words == [
        *("install", "--no-cache-dir", "-c", "constraints.txt"),
        *("--extra-index-url", "https://a.b"),
    ]
    assert wheel.startswith("./attention_from_scratch-")
    name, bracket, extras = wheel.partition("[")
    assert name.endswith(".whl")
    assert not bracket or set(extras.rstrip("]").split(",")) <= {
        *("grading", "notebooks")
    }


def test_unsafe_index_and_unknown_chapter_are_one_line(tmp_path, capsys):
    out = tmp_path / "out.zip"
    assert main(["gradescope", TOPIC, str(out), "--index", "http://a.b"]) == 2
    assert "is not encrypted" in capsys.readouterr().err
    assert main(["gradescope", "maskin", str(out)]) == 2
    assert "did you mean masking" in capsys.readouterr().err
    assert not out.exists()
