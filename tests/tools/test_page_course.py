"""What pages carry of the course."""

import io
import zipfile
from pathlib import Path

import pytest

from autograder.exercise import load_topic
from autograder.hints import where_to_read
from tools import page_course


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course as a page has it."""
    folder = tmp_path_factory.mktemp("course")
    with zipfile.ZipFile(io.BytesIO(page_course.archive())) as packed:
        packed.extractall(folder)
    return folder


@pytest.mark.parametrize("chapter", page_course.topics())
def test_hints_in_a_page_name_the_section_that_hints_in_a_notebook_name(
    chapter: str, unpacked: Path, monkeypatch: pytest.MonkeyPatch
):
    names = list(load_topic(chapter).exercises)
    expected = [where_to_read(name) for name in names]
    assert all("section “" in place for place in expected)
    monkeypatch.setattr(
        "autograder.hints.chapter_file",
        lambda name: unpacked / "chapters" / f"{name}.md",
    )
    assert [where_to_read(name) for name in names] == expected


def test_pages_carry_headings_of_chapters_and_no_text():
    chapter = (
        "# A\n\nText.\n\n```{code-cell}\n# a comment\n```\n## B\n:label: exercise-f\n"
    )
    assert page_course.outline(chapter) == "# A\n## B\n:label: exercise-f\n"
