"""The model for comparing positions is what each kind of positions promises."""

import pytest
import torch
from torch import nn

from solutions.language_model import LanguageModel
from solutions.modern_attention import rotary_half
from solutions.positional_encoding import sinusoidal_encoding
from toolkit.small_language_model import (
    POSITIONS,
    SMALL,
    SmallLanguageModel,
    fixed_table,
    turned,
)

NAMES = {  # in the layers of torch
    "in_proj.weight": "self_attn.in_proj_weight",
    "in_proj.bias": "self_attn.in_proj_bias",
    "out_proj": "self_attn.out_proj",
}


@pytest.fixture
def ids() -> torch.Tensor:
    return torch.randint(50, (3, 12), generator=torch.Generator().manual_seed(0))


def made(positions: str) -> SmallLanguageModel:
    torch.manual_seed(1)
    model = SmallLanguageModel(50, 12, positions, 16, 2, 2, 24)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model.eval()


@torch.no_grad()
def of_the_chapter(model: SmallLanguageModel) -> nn.Module:
    """The chapter's model, built of torch's layers, with the same weights."""
    other = LanguageModel(50, 12, 16, 2, 2, 24).eval()
    state = {}
    for name, value in model.state_dict().items():
        for ours, theirs in NAMES.items():
            name = name.replace(ours, theirs)
        state[name] = value
    state["positions"] = state.pop("table")[None]
    other.load_state_dict(state)
    return other


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
@torch.no_grad()
def test_with_a_table_it_is_the_model_of_the_chapter(positions, ids):
    model = made(positions)
    expected = of_the_chapter(model)(ids)
    torch.testing.assert_close(model(ids), expected, rtol=0, atol=1e-5)


def test_the_tables_are_those_of_their_chapters():
    x = torch.randn(2, 3, 7, 8, dtype=torch.float64)
    expected = rotary_half(x.numpy(), torch.arange(7).numpy())
    torch.testing.assert_close(turned(x), torch.from_numpy(expected), rtol=0, atol=1e-6)
    fixed = SmallLanguageModel(50, 300, "sinusoidal").table  # as large as a learned one
    assert fixed.square().mean().sqrt().item() == pytest.approx(SMALL, rel=1e-5)
    expected = torch.from_numpy(sinusoidal_encoding(9, 8))
    waves = fixed_table(9, 8) / (SMALL * 2**0.5)
    torch.testing.assert_close(waves, expected, rtol=0, atol=1e-5, check_dtype=False)


@torch.no_grad()
def test_rotary_positions_are_relative_and_the_others_are_not(ids):
    """A window of tokens means the same wherever it stands, if nothing else is read."""
    again = torch.cat([ids[:, :4], ids[:, :4], ids[:, :4]], dim=1)
    for positions in POSITIONS:
        model = made(positions)
        model.layers = model.layers[:1]  # two layers would read twice as far back
        logits = model(again, window=4)
        change = (logits[:, 7] - logits[:, 11]).abs().max()
        assert (change < 1e-5) == (positions == "rotary"), positions


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_later_tokens_and_those_before_the_window_change_nothing(positions, ids):
    model = made(positions)
    other = ids.clone()
    other[:, 6:] = (other[:, 6:] + 1) % 50
    assert torch.equal(model(ids)[:, :6], model(other)[:, :6])
    other = ids.clone()
    other[:, :4] = (other[:, :4] + 1) % 50
    narrow, changed = model(ids, window=3), model(other, window=3)
    reach = 4 + 2 * 2  # two layers, each of which reads two tokens further back
    torch.testing.assert_close(narrow[:, reach:], changed[:, reach:])
    assert not torch.allclose(narrow[:, reach - 1], changed[:, reach - 1])


def test_what_cannot_be_built_or_read_is_refused(ids):
    with pytest.raises(ValueError, match="positions is 'alibi', expected one of"):
        SmallLanguageModel(50, 12, "alibi")
    with pytest.raises(ValueError, match="d_model is 20, expected a multiple of 2"):
        SmallLanguageModel(50, 12, "rotary", d_model=20)
    longer = torch.cat([ids, ids], dim=1)
    with pytest.raises(ValueError, match="24 tokens, but 12 positions"):
        made("learned")(longer)
    assert made("rotary")(longer).shape == (3, 24, 50)
