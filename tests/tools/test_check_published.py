"""A published book with something missing is not called complete."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from tools import check_published

PAGE = (
    '<link rel="stylesheet" href="../_static/a.css?v=1"><script src="../_static/a.js">'
    '</script><nav>{many}</nav><article><h1>Title</h1>{words}<img src="../p.png">'
    '<img src="data:image/png;base64,"></article>'
)
TOC = {
    "root": "chapters/one",
    "parts": [{"chapters": [{"file": "chapters/two"}, {"file": "chapters/three"}]}],
}
PAGES = ["chapters/one", "chapters/two", "chapters/three"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(check_published, "PAUSE", 0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump(TOC))
    for file in ("_static/a.css", "_static/a.js", "p.png"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("x")
    (tmp_path / "chapters").mkdir()
    for name in PAGES:
        write(tmp_path / f"{name}.html", words=150)
    return tmp_path


def write(file: Path, words: int) -> None:
    file.write_text(PAGE.format(many="word " * 500, words="word " * words))


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_complete_book_is_called_complete(address: str, capsys):
    assert check_published.main([address]) == 0
    assert capsys.readouterr().out == "3 pages, all there\n"


@pytest.mark.parametrize("lost", ["chapters/two.html", "_static/a.css", "p.png"])
def test_what_does_not_answer_is_named(lost: str, folder: Path, address: str, capsys):
    (folder / lost).unlink()
    assert check_published.main([address]) == 1
    assert lost.rpartition("/")[2] in capsys.readouterr().out


def test_a_page_with_only_its_frame_is_named(folder: Path, address: str, capsys):
    write(folder / "chapters" / "three.html", words=20)
    (folder / "chapters" / "one.html").write_text("<article></article>")
    assert check_published.main([address]) == 1
    said = capsys.readouterr().out
    assert "three.html: 21 words" in said
    assert "one.html: no title" in said
    assert "two.html" not in said


def test_contents_that_name_nothing_are_no_success(folder: Path, address: str, capsys):
    (folder / "_toc.yml").write_text("format: jb-book\n")
    assert check_published.main([address]) == 1
