"""The vision transformer against Hugging Face's, torch and published numbers."""

import os

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from autograder.inputs import tensor
from solutions.vision_transformer import (
    VisionTransformer,
    attention_rollout,
    contrastive_loss,
    convert_huggingface_vit,
    vit_parameter_count,
)


@pytest.fixture(scope="module")
def hugging_face():
    """The published implementation, which must not ask the network for anything."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    return pytest.importorskip("transformers")


def theirs(hugging_face, eps=1e-12):
    """Their model with random weights in double precision, and ours of that size."""
    config = hugging_face.ViTConfig(
        image_size=8,
        patch_size=4,
        num_channels=3,
        hidden_size=12,
        num_hidden_layers=11,
        num_attention_heads=3,
        intermediate_size=20,
        num_labels=5,
        layer_norm_eps=eps,
    )
    torch.manual_seed(5)
    model = hugging_face.ViTForImageClassification(config).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    ours = VisionTransformer(8, 4, 3, 12, 11, 3, 20, 5, eps=eps).double().eval()
    return model, ours


@pytest.mark.parametrize("eps", [1e-12, 1e-6])
def test_equals_hugging_faces_model_after_a_trip_through_its_file(
    hugging_face, eps, tmp_path, rng
):
    model, ours = theirs(hugging_face, eps)
    model.save_pretrained(tmp_path)
    state_dict = load_file(tmp_path / "model.safetensors")
    ours.load_state_dict(convert_huggingface_vit(state_dict), strict=True)
    images = tensor(rng, 4, 3, 8, 8)
    with torch.no_grad():
        assert (ours(images) - model(images).logits).abs().max() < 1e-8


def test_rollout_equals_the_sum_over_all_paths_through_the_layers(rng):
    layers = [rng.dirichlet(np.ones(3), (1, 2, 3)) for _ in range(3)]
    first, second, third = (a.mean(1)[0] / 2 + np.eye(3) / 2 for a in layers)
    expected = [
        sum(
            third[0, i] * second[i, j] * first[j, patch]
            for i in range(3)
            for j in range(3)
        )
        for patch in (1, 2)
    ]
    assert attention_rollout(layers)[0] == pytest.approx(expected)


@pytest.mark.parametrize("temperature", [1.0, 0.07, 0.001])
def test_contrastive_loss_is_torchs_cross_entropy_in_both_directions(rng, temperature):
    images, texts = (tensor(rng, 6, 4) for _ in range(2))
    logits = F.cosine_similarity(images[:, None], texts, dim=-1) / temperature
    right = torch.arange(6)
    there, back = F.cross_entropy(logits, right), F.cross_entropy(logits.T, right)
    found = contrastive_loss(images.numpy(), texts.numpy(), temperature)
    assert isinstance(found, float)
    assert found == pytest.approx((there + back).item() / 2)


@pytest.mark.parametrize("heads", [1, 2, 6])
def test_the_count_is_that_of_the_model_whatever_the_heads(heads):
    with torch.device("meta"):
        model = VisionTransformer(15, 5, 2, 12, 3, heads, 17, 7)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert vit_parameter_count(15, 5, 2, 12, 3, 17, 7) == count
