"""Weights come from a folder or the hub; what is missing is said in one line."""

import json

import pytest
import torch

from toolkit import weights

safetensors = pytest.importorskip("safetensors.torch")


@pytest.fixture
def folder(tmp_path):
    """A folder as the hub would send it."""
    tensors = {"layer.weight": torch.arange(6.0).reshape(2, 3)}
    safetensors.save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 3}))
    return tmp_path


def one_line(excinfo):
    message = str(excinfo.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def test_a_folder_gives_its_configuration_and_its_tensors(folder):
    for source in (folder, str(folder)):
        config, tensors = weights.load(source)
        assert config == {"hidden_size": 3}
        assert list(tensors) == ["layer.weight"]
        assert tensors["layer.weight"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_pickle_is_never_opened(folder):
    torch.save({"layer.weight": torch.zeros(2)}, folder / "model.safetensors")
    with pytest.raises(weights.WeightsUnavailable, match="no readable safetensors"):
        weights.load(folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(weights.WeightsUnavailable, match=r"model\.safetensors"):
        weights.load(folder)


@pytest.mark.parametrize("source", ["/no/such/folder", "./nowhere", "nowhere", "a/b/c"])
def test_what_is_neither_folder_nor_name_is_refused_without_asking_the_hub(source):
    with pytest.raises(weights.WeightsUnavailable, match="neither a folder"):
        weights.load(source)


def test_a_hub_that_cannot_be_reached_is_one_clear_line(monkeypatch):
    huggingface_hub = pytest.importorskip("huggingface_hub")

    def unreachable(*_, **__):
        raise ConnectionError("Name or service\nnot known " + "x" * 500)

    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_: None)
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", unreachable)
    with pytest.raises(
        weights.WeightsUnavailable, match="cannot be fetched"
    ) as excinfo:
        weights.load("owner/name")
    assert "ConnectionError" in one_line(excinfo)
