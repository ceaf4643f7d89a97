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
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.exercise import load_topic
from autograder.expected import public_seeds
from classroom.submissions import cell_source, submission
from tests.autograder.conftest import TOPIC

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a container of Linux")
NO_SOLUTIONS = "raise ImportError('the references are not to be had here')"


@pytest.fixture(scope="module")
def packed(artefact, tmp_path_factory):
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


@pytest.fixture
def container_of_root(packed, tmp_path):
    """As ``container``, with the folders and the rights that Gradescope gives.

    What runs there can write to ``/told``. The process that begins last looks around.
    """
    _, before, site = packed
    root, told = tmp_path / "autograder", tmp_path / "told"
    shutil.copytree(before, root)
    told.mkdir()
    told.chmod(0o777)
    shutil.copytree(site, root / "site")
    (root / "venv").mkdir()
    command = ["bwrap", "--unshare-pid", "--as-pid-1", "--cap-add", "ALL", *_system()]
    command += ["--proc", "/proc", "--bind", str(root), "/autograder"]
    command += [
        "--ro-bind",
        sys.prefix,
        "/autograder/venv",
        "--bind",
        str(told),
        "/told",
    ]
    with contextlib.suppress(OSError):
        trial = [*command, "sh", "-c", "test $(id -u) = 0 && chown 1 /told"]
        if subprocess.run(trial, capture_output=True).returncode == 0:
            return _runs(root, told, command)
    pytest.skip("takes root, and bubblewrap for the walls of a container")


def _system():
    """The folders of this system; that of Python as well where only root may look."""
    arguments = []
    for path in Path("/").iterdir():
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            arguments += ["--dev-bind", str(path), str(path)]
    prefix = Path(sys.base_prefix)
    hidden = [p for p in reversed(prefix.parents) if not p.stat().st_mode & 0o001]
    if hidden:
        arguments += ["--perms", "0755", "--tmpfs", str(hidden[0])]
        for folder in reversed(prefix.relative_to(hidden[0]).parents[:-1]):
            arguments += ["--perms", "0755", "--dir", str(hidden[0] / folder)]
        arguments += ["--ro-bind", str(prefix), str(prefix)]
    return arguments


def _runs(root, told, command):
    def run(notebook):
        (root / "submission" / f"{TOPIC}.ipynb").write_text(json.dumps(notebook))
        script = (
            "bash /autograder/run_autograder; code=$?; sleep 1; cat /proc/*/cmdline"
        )
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": "/autograder/site"}
        done = subprocess.run(
            [*command, "bash", "-c", f"{script} > /told/left; exit $code"],
            env=env,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        results = json.loads((root / "results" / "results.json").read_text())
        return results, {path.name: path.read_text() for path in told.iterdir()}

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


HOSTILE = """
import os, signal, time

def tell(name, attempt):
    with open(f"/told/{name}", "w") as file:
        try:
            file.write(f"done: {attempt()}")
        except OSError as error:
            file.write(f"refused: {error}")

def forge():
    with open("/autograder/results/results.json", "w") as file:
        file.write('{"score": 1000}')

def stay():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while not os.path.exists("/autograder/results/results.json"):
                time.sleep(0.01)
            tell("after", forge)
            time.sleep(20)
        os._exit(0)

grader = os.getppid()
tell("memory", lambda: open(f"/proc/{grader}/mem", "rb"))
tell("environment", lambda: open(f"/proc/{grader}/environ", "rb").read())
tell("library", lambda: open("/autograder/site/numpy.py", "w"))
tell("remove", lambda: os.rename("/autograder/results", "/autograder/other"))
stay()
tell("before", forge)
tell("kill", lambda: os.kill(grader, signal.SIGKILL))

def softmax(scores):
    return scores
"""


def test_where_the_container_is_roots_a_submission_can_do_nothing_to_the_grader(
    container_of_root, master, right
):
    data = submission(master, {**right, "softmax": HOSTILE})
    results, told = container_of_root(data)
    require_form(results)
    softmax = load_topic(TOPIC).exercises["softmax"]
    assert results["score"] <= most() - softmax.points / 2
    assert results["output"].startswith("examined without a sandbox, as a user")
    assert "ipykernel" not in told.pop("left")
    told.pop("after", None)
    assert set(told) == {
        *("memory", "environment", "library", "remove", "before", "kill")
    }
    assert all(said.startswith("refused: ") for said in told.values()), told
    others = [t for t in results["tests"] if not t["name"].startswith("softmax:")]
    assert all(test["score"] == test["max_score"] for test in others)


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


def test_results_that_cannot_be_written_are_one_line(container, tmp_path):
    """As on a disk that a submission has filled: then there is no mark."""
    (tmp_path / "autograder" / "results").rmdir()
    (tmp_path / "autograder" / "results").touch()
    done, results = container({})
    assert (done.returncode, results) == (3, None)
    (line,) = done.stderr.splitlines()
    assert line.startswith("autograder: File exists (")


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
