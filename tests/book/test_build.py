"""A build stops at anything that a reader would stumble over."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.small_books import NOTEBOOK, SmallBook, code_cell

PAGE = "# A page\n\nSome words.\n"


def is_up_to_date(book: SmallBook) -> bool:
    """Whether make finds nothing to do for the book."""
    return book.make("--question", "book").returncode == 0


@pytest.fixture
def book(artefact: None, tmp_path: Path) -> SmallBook:
    return SmallBook(tmp_path)


def test_every_broken_reference_is_named_and_fails_the_build_again_and_again(book):
    book.write(
        "chapters/page.md",
        PAGE + "{ref}`nowhere` {term}`nonsense` {cite:t}`nobody1900nothing`\n",
    )
    book.write("chapters/empty.md", "")
    book.write(
        "_toc.yml",
        "{format: jb-book, root: chapters/page, chapters: "
        "[{file: chapters/empty}, {file: chapters/missing}]}",
    )
    for _ in range(2):
        done = book.build()
        assert done.returncode != 0
        assert "undefined label: 'nowhere'" in done.stdout
        assert "term not in glossary: 'nonsense'" in done.stdout
        assert 'could not find bibtex key "nobody1900nothing"' in done.stdout
        assert "'chapters/empty' that doesn't have a title" in done.stdout
        assert "nonexisting document 'chapters/missing'" in done.stdout


@contextmanager
def times_put_back(*paths: Path) -> Iterator[None]:
    """Let files and folders look as old as they were before."""
    before = [(path, path.stat()) for path in paths]
    yield
    for path, was in before:
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def test_make_has_something_to_do_when_anything_is_new_and_not_otherwise(book):
    book.write("chapters/page.md", PAGE)
    book.write("solutions/deep/old.py", "")
    assert not is_up_to_date(book)
    book.built()
    assert is_up_to_date(book)

    for name in ("_toc.yml", "chapters/_static/print.css", "solutions/deep/old.py"):
        with times_put_back(book.folder / name):
            (book.folder / name).touch()
            assert not is_up_to_date(book), name
        assert is_up_to_date(book)
    old, new = (book.folder / "solutions" / "deep" / f"{n}.py" for n in ("old", "new"))
    with times_put_back(old.parent):
        aside = old.rename(book.folder / "aside")
        assert not is_up_to_date(book)
        aside.rename(old)
        assert is_up_to_date(book)
        new.touch()
        os.utime(new, (1, 1))
        assert not is_up_to_date(book)
        new.unlink()
    book.write("solutions/deep/__pycache__/old.pyc", "compiled by a run of the book")
    assert is_up_to_date(book)
    shutil.rmtree(book.folder / "_build" / "html")
    assert not is_up_to_date(book)


def test_a_build_that_failed_is_not_up_to_date_nor_one_during_which_something_changed(
    book,
):
    changes = "import pathlib\npathlib.Path('page.md').touch()"
    book.write("chapters/page.md", NOTEBOOK + PAGE + code_cell(changes))
    book.built()
    assert not is_up_to_date(book)
    book.write("chapters/page.md", PAGE + "{ref}`nowhere`\n")
    assert book.build().returncode != 0
    assert not is_up_to_date(book)


def test_one_page_is_built_alone_and_the_book_is_not_up_to_date(book):
    contents = "root: chapters/page, chapters: [{file: chapters/other}]"
    book.write("_toc.yml", f"{{format: jb-book, {contents}}}")
    for name in ("page", "other"):
        book.write(f"chapters/{name}.md", PAGE)
    book.built()
    more = PAGE + "More words.\n"
    book.write("chapters/other.md", more)
    book.write("chapters/page.md", more + "{ref}`nowhere`\n")
    for _ in range(2):  # what is wrong with it is said again
        assert "undefined label" in book.build(BOOK_PAGE="page").stdout
    assert "More words" in book.page()
    assert "More words" not in book.page("other")
    book.write("chapters/page.md", more)
    assert not is_up_to_date(book)
    book.built()
    assert "More words" in book.page("other")
