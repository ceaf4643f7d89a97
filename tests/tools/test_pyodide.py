"""Only files of the official Pyodide release get into a page."""

import hashlib
from pathlib import Path

import pytest

from tools import pyodide
from tools.pyodide import PyodideMissing


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the maintainer has named, with two files in it."""
    (tmp_path / "one").write_bytes(b"first")
    (tmp_path / "two").write_bytes(b"second")
    monkeypatch.setenv("PYODIDE", str(tmp_path))
    return tmp_path


EXPECTED = {
    "one": hashlib.sha256(b"first").hexdigest(),
    "two": hashlib.sha256(b"second").hexdigest(),
}


def test_files_of_the_release_are_read_from_the_folder_that_is_named(named):
    assert pyodide.read(EXPECTED) == {"one": b"first", "two": b"second"}


def test_a_file_with_one_other_bit_is_refused(named):
    (named / "two").write_bytes(b"secone")
    with pytest.raises(PyodideMissing, match="two in .* is not that of the release"):
        pyodide.read(EXPECTED)


def test_without_a_folder_and_a_carrier_one_line_says_so(monkeypatch):
    monkeypatch.delenv("PYODIDE", raising=False)
    monkeypatch.setattr(pyodide, "CARRIER", "no-such-package")
    with pytest.raises(PyodideMissing) as told:
        pyodide.read(EXPECTED)
    assert "\n" not in str(told.value)
    assert "PYODIDE" in str(told.value)
