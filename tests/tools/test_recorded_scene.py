"""Where the first scene of the page for writing cannot be computed, it says so."""

from types import SimpleNamespace

from tools import recorded_scene

BOARD = (
    '<div data-playground="write"><textarea id="write-text" rows="4">'
    "a &lt; b</textarea></div>"
)


def test_without_node_a_line_says_that_the_model_is_loaded_at_once(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", str(tmp_path / "no-node"))
    for folder in ("static/playground", "_static/playground"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "_static/playground/write.weights.js").touch()
    config = SimpleNamespace(html_static_path=["static"])
    app = SimpleNamespace(outdir=tmp_path, srcdir=tmp_path, config=config)
    context = {"body": BOARD}
    recorded_scene.record(app, "page", "page.html", context, None)
    assert context["body"] == BOARD
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "loads its model at once" in said
