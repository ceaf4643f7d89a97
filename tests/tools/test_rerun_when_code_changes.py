"""A chapter is executed again when a file that it read has changed, and only then."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from jupyter_cache import get_cache
from myst_parser.config.main import MdParserConfig

from tests.tools.test_execute_chapters import chapter, run, settings
from tools.execute_chapters import chapters, is_executed
from tools.rerun_when_code_changes import hashes_of, outdated_chapters

CELLS = (
    "import importlib, pathlib, direct\nimportlib.import_module('by_name')",
    "print(pathlib.Path('read.txt').read_text())",
    "print(*(file.name for file in pathlib.Path('listed').glob('*.md')))",
    "pathlib.Path('written.txt').write_text('x')",
    "'name' in pathlib.Path('looked_through.py').read_text()",
)
READ = ("direct.py", "through_another.py", "by_name.py", "read.txt", "listed/one.md")
NOT_READ = ("not_read.txt", ".hidden", "_build/x.txt", "looked_through.py")


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a chapter, what it reads and what it does not, and the cache."""
    folder = tmp_path_factory.mktemp("book")
    files = dict.fromkeys((*READ, *NOT_READ), "")
    files["direct.py"] = "import through_another\nopen('.hidden'), open('_build/x.txt')"
    files["listed/one.md"] = "the listing counts, and nobody reads this"
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        os.utime(file, (1, 1))
    assert run([chapter(folder, "page", *CELLS)], places=1) == []
    return folder


def is_current(folder: Path) -> bool:
    """Whether the cache in a folder has outputs of the chapter that are up to date."""
    [page] = chapters([folder / "page.md"], MdParserConfig())
    cache = get_cache(settings(folder).execution_cache_path)
    return is_executed(cache, page.notebook, folder)


@pytest.fixture
def copy(executed: Path, tmp_path: Path) -> Path:
    """The checkout in another place, with its cache."""
    return shutil.copytree(executed, tmp_path / "copy")


@pytest.mark.parametrize("name", READ[:-1])
def test_a_file_counts_however_it_was_read_also_where_the_checkout_was_copied(
    copy, name
):
    assert is_current(copy)
    (copy / name).write_text("x = 'changed'")
    assert not is_current(copy)
    assert not is_current(copy), "outdated outputs are gone from the cache"


@pytest.mark.parametrize("name", [READ[0], READ[3]])
def test_a_file_that_is_gone_counts_as_changed(copy, name):
    (copy / name).unlink()
    assert not is_current(copy)


def test_a_folder_counts_with_its_names(copy):
    (copy / "listed" / "one.md").write_text("other words")
    assert is_current(copy)
    (copy / "listed" / "two.md").touch()
    assert not is_current(copy)


@pytest.mark.parametrize("name", [*NOT_READ, "new.py", "written.txt"])
def test_what_was_not_read_is_hidden_or_was_built_does_not_count(copy, name):
    (copy / name).write_text("changed")
    assert is_current(copy)


def test_what_changed_while_a_chapter_was_executed_is_not_trusted(tmp_path):
    early, late = tmp_path / "early.txt", tmp_path / "late.txt"
    for file, when in ((early, 10), (late, 30)):
        file.write_text("text")
        os.utime(file, (when, when))
    found = hashes_of(map(str, (early, late)), tmp_path, since=20)
    assert found["early.txt"]
    assert not found["late.txt"]


def test_the_page_of_a_chapter_is_read_again_when_such_a_file_changes(tmp_path):
    (tmp_path / "read.txt").write_text("old")
    hashes = hashes_of([str(tmp_path / "read.txt")], tmp_path, since=float("inf"))
    env = SimpleNamespace(files_read={"page": hashes, "gone": hashes, "other": {}})
    env.found_docs = {"page", "other"}
    app = SimpleNamespace(srcdir=tmp_path)
    assert outdated_chapters(app, env, set(), set(), set()) == []
    (tmp_path / "read.txt").write_text("new")
    assert outdated_chapters(app, env, set(), set(), set()) == ["page"]
