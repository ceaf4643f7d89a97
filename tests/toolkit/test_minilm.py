"""Where the published model is looked for, and what stands in for it."""

import warnings

import matplotlib.pyplot as plt
import pytest
import torch
from myst_nb.core.read import read_myst_markdown_notebook

from toolkit import book, minilm
from toolkit.weights import WeightsUnavailable


def test_a_folder_without_the_model_is_refused_in_one_line_that_says_what_to_do(
    tmp_path, monkeypatch
):
    monkeypatch.setenv(minilm.VARIABLE, str(tmp_path))
    with pytest.raises(WeightsUnavailable, match=minilm.ADVICE) as raised:
        minilm.load(download=False)
    assert "\n" not in str(raised.value)
    assert str(tmp_path) in str(raised.value)


def test_other_weights_of_the_same_name_are_refused(tmp_path, monkeypatch):
    from safetensors.torch import save_file

    save_file({"a": torch.ones(3)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setenv(minilm.VARIABLE, str(tmp_path))
    with pytest.raises(WeightsUnavailable, match="SHA-256"):
        minilm.load(download=False)


def test_the_hub_is_the_last_place_to_look(monkeypatch):
    monkeypatch.delenv(minilm.VARIABLE, raising=False)
    monkeypatch.setattr(minilm, "PACKAGE", "no-such-distribution-anywhere")
    assert minilm.source() == minilm.NAME


def test_the_stand_in_has_the_shape_of_the_published_model():
    config, state_dict, tokenizer = minilm.stand_in(["some words", "more words"])
    assert state_dict["encoder.layer.5.output.dense.weight"].shape == (384, 1536)
    assert config["hidden_size"] == 384
    assert tokenizer.encode("some words").tokens == ["[CLS]", "some", "words", "[SEP]"]
    try:
        _, real, _ = minilm.load(download=False)
    except WeightsUnavailable as error:
        pytest.skip(str(error))
    shapes = {name: value.shape for name, value in real.items()}
    shapes.pop("embeddings.position_ids")
    assert {name: value.shape for name, value in state_dict.items()} == shapes


def test_the_chapter_runs_from_top_to_bottom_without_the_weights(monkeypatch, capsys):
    text = (book.CHAPTERS / "pretrained.md").read_text(encoding="utf-8")
    cells = read_myst_markdown_notebook(text).cells
    few = [section for section in book.sections() if section.heading == "Summary"]
    monkeypatch.setattr(book, "sections", lambda: few * 3)
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    monkeypatch.setenv(minilm.VARIABLE, "/no/such/folder")
    namespace = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for cell in cells:
            if cell.cell_type == "code" and "exercise" not in cell.metadata.get(
                "tags", []
            ):
                exec(compile(cell.source, "pretrained.md", "exec"), namespace)
    printed = capsys.readouterr().out
    assert "THE WEIGHTS ARE MISSING: /no/such/folder" in printed
    assert minilm.ADVICE in printed
