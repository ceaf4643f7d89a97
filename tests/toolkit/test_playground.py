"""Models that are given away arrive whole."""

import base64
import json

import numpy as np
import pytest
import torch
from torch import nn

from toolkit import playground


def stack(norm_first: bool = True, activation: str = "relu", width: int = 4):
    layer = nn.TransformerEncoderLayer(
        width, 2, 6, activation=activation, norm_first=norm_first
    )
    return nn.TransformerEncoder(
        layer, 2, nn.LayerNorm(width), enable_nested_tensor=False
    )


def object_of(script: str) -> dict:
    """The object that a script assigns, read without the code that wrote it."""
    return json.loads(script[script.index("] = {") + 4 : script.rindex(";")])


def test_every_number_of_the_model_comes_back_under_its_name():
    model = stack()
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    given = playground.GivenAway("one", model, {"letters": "ΑΒΓ<"})
    file = object_of(playground.script("one", given.file))
    numbers = np.frombuffer(base64.b64decode(file["numbers"]), dtype="<f4")
    state, start = {}, 0
    for name, shape in file["tensors"]:
        end = start + int(np.prod(shape))
        state[name] = torch.from_numpy(numbers[start:end].copy()).reshape(shape)
        start = end
    assert start == len(numbers)
    assert state.keys() == model.state_dict().keys()
    for name, tensor in model.state_dict().items():
        assert torch.equal(state[name], tensor), name
    assert file["facts"]["letters"] == "ΑΒΓ<"


def test_layers_that_compute_differently_cannot_be_given_away():
    mixed = nn.ModuleList([stack(activation="relu"), stack(activation="gelu")])
    with pytest.raises(ValueError, match="one activation for all layers"):
        playground.give_away("mixed", mixed)


def test_a_model_that_no_page_should_load_is_refused():
    with pytest.raises(ValueError, match="more than the 1,600,000"):
        playground.give_away("large", stack(width=300))
