"""The page for writing carries its first scene, unless that could not be computed."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup

from tools import recorded_scene
from tools.node import NodeFailed, run_script

BOARD = (
    '<div data-playground="write"><textarea id="write-text" rows="4">'
    "a &lt; b</textarea></div>"
)


@pytest.fixture
def app(tmp_path: Path) -> SimpleNamespace:
    """As much of Sphinx as is looked at, with a model that was given away."""
    for folder in ("source/static/playground", "html/_static/playground"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "html/_static/playground/write.weights.js").touch()
    return SimpleNamespace(
        outdir=tmp_path / "html",
        srcdir=tmp_path / "source",
        config=SimpleNamespace(html_static_path=["missing", "static"]),
    )


def body_with_scene(app: SimpleNamespace, body: str) -> str:
    context = {"body": body}
    recorded_scene.record(app, "page", "page.html", context, None)
    return context["body"]


def test_the_scene_is_that_of_the_text_on_the_page(app, monkeypatch):
    asked = []

    def run(program: Path, *scripts: Path, text: str) -> str:
        asked.append(([script.name for script in scripts], text))
        return json.dumps({"characters": "</script><b>"})

    monkeypatch.setattr(recorded_scene, "run_script", run)
    soup = BeautifulSoup(body_with_scene(app, BOARD), "html.parser")
    ((scripts, text),) = asked
    assert text == "a < b"
    assert scripts[0] == "weights.js"  # before those that need it
    assert scripts[-1] == "write.weights.js"
    found = soup.select_one("script#write-recording")
    assert json.loads(found.string) == {"characters": "</script><b>"}
    assert soup.find("b") is None


def test_other_pages_stay_as_they_are(app):
    other = BOARD.replace('"write"', '"dates"')
    assert body_with_scene(app, other) == other


def test_without_a_model_there_is_no_scene(app):
    (app.outdir / "_static/playground/write.weights.js").unlink()
    assert body_with_scene(app, BOARD) == BOARD


def test_without_node_a_line_says_that_the_model_is_loaded_at_once(
    app, monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", str(tmp_path / "no-node"))
    assert body_with_scene(app, BOARD) == BOARD
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "loads its model at once" in said


def test_a_script_that_fails_is_an_error_with_its_message(tmp_path):
    program = tmp_path / "program.js"
    program.write_text("throw new Error('no such model')")
    with pytest.raises(NodeFailed, match="no such model"):
        run_script(program, text="")
