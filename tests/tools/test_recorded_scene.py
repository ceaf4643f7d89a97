"""Where the first scene of the page for writing cannot be computed, it says so."""

from tools.recorded_scene import recording

BOARD = (
    '<div data-playground="write"><textarea id="write-text" rows="4">'
    "a &lt; b</textarea></div>"
)


def test_without_node_a_line_says_that_the_model_is_loaded_at_once(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", str(tmp_path / "no-node"))
    weights = tmp_path / "write.weights.js"
    weights.touch()
    assert recording(BOARD, tmp_path, weights) == ""
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "loads its model at once" in said
