"""The translator of dates, and its training, which is the one of the chapter."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from solutions.training import shift_right, warmup_learning_rate
from solutions.transformer import DecoderLayer, EncoderLayer
from toolkit import datasets, translator
from toolkit.kept import FOLDER
from toolkit.translator import PAD, START, Translator, batches, encode


@pytest.fixture(scope="module")
def lines() -> list[datasets.Line]:
    return datasets.dates(40, np.random.default_rng(0))


@torch.no_grad()
def test_a_character_depends_on_none_after_it_and_on_no_padding(lines):
    torch.manual_seed(1)
    model = Translator().double().eval()
    sources, targets = encode(lines[:4])
    logits = model(sources, targets)
    changed = targets.clone()
    changed[:, 6:] = START
    padded = torch.nn.functional.pad(sources, (0, 5), value=PAD)
    torch.testing.assert_close(model(sources, changed)[:, :6], logits[:, :6])
    torch.testing.assert_close(model(padded, targets), logits)
    assert not torch.allclose(model(sources.flip(0), targets), logits)


def test_layers_of_a_readers_own_take_the_weights_of_pytorchs(lines):
    theirs, batch = Translator(), encode(lines[:4])
    own = Translator(EncoderLayer, DecoderLayer)
    own.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(own(*batch), theirs(*batch))


def test_batches_hold_every_line_once_and_no_column_of_padding(lines):
    sources, targets = encode(lines)
    drawn = batches(sources, targets, 8, np.random.default_rng(0))
    parts = [next(drawn) for _ in range(5)]
    found = torch.cat([target for _, target in parts])
    assert sorted(found.tolist()) == sorted(targets.tolist())
    for source, target in parts:
        for row, ids in zip(source, target, strict=True):
            whole = sources[(targets == ids).all(dim=1)]
            assert (row == whole[:, : len(row)]).all(dim=1).any()
        assert (source[:, -1] != PAD).any()


def test_training_in_one_call_is_that_of_the_chapter(lines):
    finished, early = translator.trained(
        lines, steps=4, early=2, batch_size=8, warmup_steps=3, seed=5
    )
    torch.manual_seed(5)
    model, (sources, targets) = Translator(), encode(lines)
    drawn = batches(sources, targets, 8, np.random.default_rng(5))
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step in (1, 2, 3, 4):
        source, target = next(drawn)
        optimiser.param_groups[0]["lr"] = warmup_learning_rate(step, 64, 3) * (
            1 - step / 4
        )
        inputs = torch.from_numpy(shift_right(target.numpy(), START))
        logits = model(source, inputs).flatten(0, 1)
        optimiser.zero_grad()
        F.cross_entropy(logits, target.flatten()).backward()
        optimiser.step()
        kept = {2: early, 4: finished}.get(step)
        if kept:
            # Not the parameters: a bias of the keys has no effect, and Adam makes steps
            # of the rounding errors that are its gradient.
            model.eval()
            with torch.no_grad():
                found, expected = (m(sources, targets) for m in (kept, model))
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-3)
            model.train()
    assert not (finished.training or early.training)


def test_a_training_run_that_was_kept_is_not_repeated(lines, tmp_path, monkeypatch):
    model, early = Translator(), Translator()
    monkeypatch.setenv(FOLDER, str(tmp_path / "new"))
    translator.keep(lines, model.state_dict(), early.state_dict())
    torch.rand(1)  # whatever else was drawn
    found = translator.trained(lines)
    for one, kept in zip(found, (model, early), strict=True):
        assert not one.training
        for name, weight in kept.state_dict().items():
            assert torch.equal(one.state_dict()[name], weight)
    assert len(list((tmp_path / "new").iterdir())) == 1
