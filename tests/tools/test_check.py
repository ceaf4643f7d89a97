"""What a name after ``make check`` stands for."""

import pytest

from tools.check import ROOT, Unknown, subject_of

NAMES = {
    "masking": ("masking", "", "solutions/test_masking.py"),
    "chapters/masking.md": ("masking", "", "solutions/test_masking.py"),
    "tests/alternatives/masking.py": ("masking", "", "solutions/test_masking.py"),
    "causal_mask": ("masking", "causal_mask", "solutions/test_masking.py"),
    "preface": ("preface", "", "book/test_pages.py"),
    "autograder/practice.py": ("", "", "autograder/test_practice.py"),
    "toolkit/language_model.py": ("", "", "toolkit/test_language_model.py"),
    "tests/toolkit/test_kept.py": ("", "", "toolkit/test_kept.py"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_for_its_tests(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    topic, exercise, test = NAMES[name]
    subject = subject_of(name)
    assert (subject.topic, subject.exercise) == (topic, exercise)
    assert ROOT / "tests" / test in subject.tests
    assert subject.concerns(f"test_something[{topic}]")
    assert subject.concerns("test_something[other-seed]") == (not topic)


@pytest.mark.parametrize("name", ["masks", "chapters/masks.md", "Makefile.txt"])
def test_an_unknown_name_is_refused(name):
    with pytest.raises(Unknown, match=name):
        subject_of(name)
