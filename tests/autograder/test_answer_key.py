"""Credit mode: without solutions, ``check`` says the same from a key."""

from __future__ import annotations

import ast
import base64
import gzip
import json
import shutil
from pathlib import Path

import pytest

import solutions
from autograder import check as checking
from autograder.answer_key import NoKey, read_key
from autograder.book import chapter_names
from autograder.break_exercise import BreakExercise
from autograder.exercise import load_topic
from autograder.expected import expect, public_seeds
from autograder.judge import judge
from tests.autograder.conftest import TOPIC
from tests.suites import sweep


@pytest.fixture(scope="module")
def key_folder(key_of, tmp_path_factory):
    folder = tmp_path_factory.mktemp("key")
    shutil.copy(key_of(TOPIC), folder)
    return folder


def test_key_and_solutions_judge_alike(key_folder):
    topic = load_topic(TOPIC)
    for exercise in topic.exercises.values():
        if isinstance(exercise, BreakExercise):  # judged at grading
            continue
        from_key = read_key(topic, exercise, key_folder)
        expected = expect(topic, exercise, public_seeds(exercise))
        for answers in [expected.reference] + [m.answers for m in expected.mistakes]:
            one = judge(exercise, answers, from_key)
            assert one == judge(exercise, answers, expected)


@sweep("name", chapter_names())
def test_key_holds_answers_and_no_code(name, key_of):
    path = key_of(name)
    text = gzip.decompress(path.read_bytes()).decode()
    for exercise in json.loads(text)["exercises"].values():
        for answers in [exercise["reference"]] + [
            answers for _, _, answers in exercise["mistakes"]
        ]:
            text += b"".join(map(base64.b64decode, answers)).decode("latin-1")
    assert path.stat().st_size < 20 * 2**20
    folder = Path(solutions.__file__).parent
    for file in (folder / f"{name}.py", folder / "mistakes" / f"{name}.py"):
        for line in code_lines(file):
            assert json.dumps(line)[1:-1] not in text, line


def code_lines(file):
    """Lines of function bodies that would give an answer away."""
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Return | ast.Assign):
            line = ast.unparse(node)
            if len(line) > 20:
                yield line


def test_missing_key_is_one_friendly_line(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(checking.importlib.util, "find_spec", lambda name: None)
    checking.expected_here.cache_clear()

    def softmax(scores):
        return scores

    assert checking.check(softmax) == 0
    assert "needs the file simplified_attention.key" in capsys.readouterr().out
    checking.expected_here.cache_clear()


@pytest.mark.parametrize(
    "damaged",
    [
        lambda content: content[:1000],
        lambda content: content.replace(b"\n", b"\r\n"),  # taken for lines of text
    ],
)
def test_broken_key_is_named(key_folder, tmp_path, damaged):
    topic = load_topic(TOPIC)
    content = (key_folder / f"{TOPIC}.key").read_bytes()
    (tmp_path / f"{TOPIC}.key").write_bytes(damaged(content))
    with pytest.raises(NoKey, match="cannot be read"):
        read_key(topic, topic.exercises["softmax"], tmp_path)
