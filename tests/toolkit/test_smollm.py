"""The published chat model: its file, its tokenizer, and what stands in for it."""

import struct

import matplotlib.pyplot as plt
import numpy as np
import pytest
import tokenizers
from myst_nb.core.read import read_myst_markdown_notebook

from solutions.language_model import bpe_decode, bpe_encode
from toolkit import book, gguf, smollm


@pytest.fixture(scope="module")
def published():
    """The file, where it is installed."""
    try:
        return gguf.read(smollm.find())
    except smollm.ModelMissing as error:
        pytest.skip(str(error))


@pytest.fixture
def file(tmp_path):
    """A small file that is written by hand."""

    def text(word):
        return struct.pack("<Q", len(word.encode())) + word.encode()

    settings = text("a.word") + struct.pack("<I", 8) + text("naïve")
    settings += text("a.list") + struct.pack("<IIQ3f", 9, 6, 3, 0.5, -2, 8)
    tensors = text("plain") + struct.pack("<I2QIQ", 2, 3, 2, 0, 0)
    tensors += text("blocks") + struct.pack("<I2QIQ", 2, 32, 2, 3, 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 2) + settings + tensors
    head += bytes(-len(head) % 32)
    plain = np.arange(6, dtype="<f4").tobytes()
    block = struct.pack("<2e", 0.5, -1) + bytes(range(16))
    path = tmp_path / "small.gguf"
    path.write_bytes(head + plain + bytes(8) + 2 * block)
    return path


def test_a_file_gives_its_settings_and_its_tensors(file):
    settings, tensors = gguf.read(file)
    assert settings == {"a.word": "naïve", "a.list": [0.5, -2, 8]}
    assert tensors["plain"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensors["blocks"].shape == (2, 1)
    assert tensors["blocks"]["offset"].tolist() == [[-1], [-1]]
    assert tensors["blocks"]["codes"][1, 0].tolist() == list(range(16))


def test_another_file_is_refused(tmp_path, file, monkeypatch):
    other = tmp_path / "other"
    other.write_bytes(b"PK\3\4 and more")
    with pytest.raises(ValueError, match="no GGUF file"):
        gguf.read(other)
    for place, why in [(file, "another SHA-256"), (tmp_path / "none", "no file")]:
        monkeypatch.setenv(smollm.VARIABLE, str(place))
        with pytest.raises(smollm.ModelMissing, match=why) as raised:
            smollm.find()
        assert smollm.ADVICE in str(raised.value)
        assert "\n" not in str(raised.value)


def test_tokens_are_those_of_the_tokenizers_library(published):
    settings, _ = published
    names = settings["tokenizer.ggml.tokens"]
    pairs = [tuple(m.split(" ")) for m in settings["tokenizer.ggml.merges"]]
    vocabulary = {name: i for i, name in enumerate(names)}
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, pairs))
    cut = tokenizers.pre_tokenizers
    theirs.pre_tokenizer = cut.Sequence([cut.Digits(True), cut.ByteLevel(False)])
    ours = smollm.Tokenizer(settings, bpe_encode, bpe_decode)
    for text in (
        "It's 12:30,   and we'll\n\n  run f(x_1) = 2**10.\t ",
        "naïve café, 日本語 🙂",
        "A  b   c\n\n\nd 7 8",
    ):
        ids = ours.encode(text)
        assert ids == theirs.encode(text).ids
        assert ours.decode(ids) == text
    marks = ours.encode("<|im_start|>user\nHi<|im_end|>")
    assert [marks[0], marks[-1]] == [names.index("<|im_start|>"), 2]
    assert ours.decode(marks) == "user\nHi"


def test_the_stand_in_has_the_names_of_the_published_model(published):
    settings, tensors = smollm.stand_in()
    assert settings.keys() <= published[0].keys()
    assert tensors.keys() == published[1].keys()
    for name, tensor in tensors.items():
        assert tensor.dtype == published[1][name].dtype


def test_the_chapter_runs_from_top_to_bottom_without_the_file(monkeypatch, capsys):
    text = (book.CHAPTERS / "chat_model.md").read_text(encoding="utf-8")
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    monkeypatch.setenv(smollm.VARIABLE, "/no/such/file")
    namespace = {"__name__": "__main__"}
    for cell in read_myst_markdown_notebook(text).cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "code" and "exercise" not in tags:
            exec(compile(cell.source, "chat_model.md", "exec"), namespace)
    printed = capsys.readouterr().out
    assert "THE MODEL IS MISSING: there is no file /no/such/file" in printed
    assert smollm.ADVICE in printed
