"""The language model is trained in one call, or taken from what the chapter kept."""

import math

import pytest
import torch
import torch.nn.functional as F

from solutions.language_model import LanguageModel, bpe_encode, train_bpe
from toolkit import language_model

PARTS = LanguageModel, train_bpe, bpe_encode
TEXT = "the cat sat on the mat, and the dog sat on the log. " * 30


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(language_model, "manual", lambda: (TEXT, ""))
    monkeypatch.setattr(language_model, "SIZES", (16, 2, 1, 32))
    monkeypatch.setattr(language_model, "NUM_MERGES", 10)
    monkeypatch.setattr(language_model, "STEPS", 30)
    monkeypatch.setattr(language_model, "WARMUP", 3)


def test_training_lowers_the_loss_and_is_the_same_each_time(small, monkeypatch):
    monkeypatch.delenv("KEPT_RESULTS", raising=False)
    before = torch.get_rng_state()
    merges, weights = language_model.trained(*PARTS)
    assert torch.equal(before, torch.get_rng_state())
    assert merges == train_bpe(TEXT, 10)
    model = LanguageModel(266, 16, 2, 1, 32)
    model.load_state_dict(weights)
    ids = torch.tensor([bpe_encode(TEXT, merges)[:65]])
    with torch.no_grad():
        loss = F.cross_entropy(model(ids[:, :-1])[0], ids[0, 1:])
    assert loss < 0.7 * math.log(266)
    _, again = language_model.trained(*PARTS)
    assert all(torch.equal(weights[name], again[name]) for name in weights)


def test_what_the_chapter_kept_is_taken(small, monkeypatch, tmp_path):
    monkeypatch.setenv("KEPT_RESULTS", str(tmp_path))
    torch.manual_seed(3)
    model = LanguageModel(258, 16, 2, 1, 32)
    language_model.keep([(1, 2), (3, 4)], model.state_dict(), *PARTS)
    merges, weights = language_model.trained(*PARTS)
    assert merges == [(1, 2), (3, 4)]
    assert torch.equal(weights["norm.weight"], model.norm.weight)
    assert torch.equal(weights["embedding.weight"], model.embedding.weight)
