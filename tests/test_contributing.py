"""The contributor's guide is followed to the letter, in a copy of the repository."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from autograder.break_exercise import BreakExercise
from autograder.exercise import load_topic, topic_names

ROOT = Path(__file__).resolve().parents[1]
NEEDED = (
    *("autograder", "chapters", "classroom", "solutions", "tests", "toolkit", "tools"),
    *("_toc.yml", "pyproject.toml"),
)
STEP = re.compile(
    r"^(?P<how>Append to|Insert into) `(?P<file>[^`]+)`"
    r"(?: (?P<where>before|after) (?P<first>the first )?`(?P<line>[^`]+)`)?:\n\n"
    r"(?P<fence>`{3,})\w+\n(?P<text>.*?)^(?P=fence)$",
    re.M | re.S,
)
CHECK = "python -m tools.check"  # what make calls
COMMANDS = re.compile(r"^```bash\n(.*?)^```$", re.M | re.S)


def guide() -> str:
    return (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def apply(step: re.Match[str], folder: Path) -> None:
    """Do what a step of the guide says."""
    file = folder / step["file"]
    source, text = file.read_text(encoding="utf-8"), step["text"]
    if step["how"] == "Append to":
        source += text
    else:
        line = f"\n{step['line']}\n"
        unique = source.count(line) == 1
        assert unique or step["first"] and line in source, (step["file"], line)
        both = f"\n{text}{line[1:]}" if step["where"] == "before" else line + text
        source = source.replace(line, both, 1)
    file.write_text(source, encoding="utf-8")


@pytest.fixture(scope="module")
def repository(artefact: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository in which every step has been done."""
    folder = tmp_path_factory.mktemp("repository")
    for name in NEEDED:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".*")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder)
    for step in STEP.finditer(guide()):
        apply(step, folder)
    return folder


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the guide in the copy, with the programs of this environment."""
    program, *arguments = shlex.split(command.replace("make check", CHECK))
    return subprocess.run(
        [Path(sys.executable).parent / Path(program).name, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_every_block_of_code_belongs_to_a_step():
    text = guide()
    fences = len(re.findall(r"^`{3,}\w", STEP.sub("", text), re.M))
    assert fences == len(COMMANDS.findall(text)) == 1
    assert len(list(STEP.finditer(text))) >= 10


def test_every_exercise_stands_in_the_files_that_the_guide_names():
    files = {step["file"] for step in STEP.finditer(guide())}
    assert len(files) == 6
    for name in topic_names():
        for file in {file.replace("simplified_attention", name) for file in files}:
            text = (ROOT / file).read_text(encoding="utf-8")
            asked = load_topic(name).exercises.values()
            missing = {e.name for e in asked if e.name not in text}
            if file.startswith("tests/solutions/"):  # the oracle of a test are versions
                missing -= {e.name for e in asked if isinstance(e, BreakExercise)}
            assert not missing, f"{file} has nothing of {missing}"


@pytest.mark.parametrize("command", COMMANDS.search(guide())[1].splitlines())
def test_the_commands_of_the_guide_succeed(command: str, repository: Path):
    done = run(command, repository)
    assert done.returncode == 0, done.stdout
    assert re.search(r"\d+ passed", done.stdout)


def test_the_progress_of_a_student_counts_the_new_exercise(repository: Path):
    """Its tests work through this chapter, so a new exercise must not break them."""
    done = run("python -m pytest -q tests/autograder/test_progress.py", repository)
    assert done.returncode == 0, done.stdout
    assert re.search(r"\d+ passed", done.stdout)


def test_a_mistake_that_no_case_catches_is_reported(repository: Path):
    file = repository / "autograder" / "exercises" / "simplified_attention.py"
    complete = file.read_text(encoding="utf-8")
    without_ties = complete.replace("scores[:, rng.permutation(n)[:2]] = 5.0", "pass")
    assert without_ties != complete
    file.write_text(without_ties, encoding="utf-8")
    try:
        done = run(
            "python -m pytest -q tests/autograder/test_exercises.py -k hard_weights",
            repository,
        )
    finally:
        file.write_text(complete, encoding="utf-8")
    assert done.returncode == 1
    assert "was not caught" in done.stdout


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    newest = re.search(
        r"^## (\S+) \((\S+)\)", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    assert citation["version"] == newest[1] == version
    assert str(citation["date-released"]) == newest[2]
