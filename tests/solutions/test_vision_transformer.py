"""The vision transformer against Hugging Face's, written formulas and invariants."""

import os

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograder.exercises.vision_transformer import published
from autograder.inputs import fill, tensor
from solutions.vision_transformer import (
    VisionTransformer,
    attention_rollout,
    contrastive_loss,
    convert_huggingface_vit,
    vit_parameter_count,
)
from toolkit import weights

SIZES = (8, 4, 3, 12, 3, 3, 20, 5)


@pytest.fixture
def rng():
    return np.random.default_rng(12)


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
    config, state_dict = weights.load(tmp_path)
    assert config["layer_norm_eps"] == eps
    ours.load_state_dict(convert_huggingface_vit(state_dict), strict=True)
    images = tensor(rng, 4, 3, 8, 8)
    with torch.no_grad():
        assert (ours(images) - model(images).logits).abs().max() < 1e-8


def test_gradients_equal_those_of_hugging_faces_model(hugging_face, tmp_path, rng):
    model, ours = theirs(hugging_face)
    model.save_pretrained(tmp_path)
    ours.load_state_dict(convert_huggingface_vit(weights.load(tmp_path)[1]))
    images, labels = tensor(rng, 4, 3, 8, 8), torch.tensor([0, 1, 2, 3])
    F.cross_entropy(ours(images), labels).backward()
    F.cross_entropy(model(images).logits, labels).backward()
    expected = model.vit.embeddings
    assert torch.allclose(ours.embedding.class_token.grad, expected.cls_token.grad)
    assert torch.allclose(
        ours.embedding.positions.grad, expected.position_embeddings.grad
    )


def test_rollout_over_hugging_faces_attentions_equals_ours(hugging_face, tmp_path, rng):
    model, ours = theirs(hugging_face)
    model.save_pretrained(tmp_path)
    ours.load_state_dict(convert_huggingface_vit(weights.load(tmp_path)[1]))
    model.set_attn_implementation("eager")
    images = tensor(rng, 2, 3, 8, 8)
    with torch.no_grad():
        expected = model(images, output_attentions=True).attentions
        found, tokens = [], ours.embedding(images)
        for layer in ours.layers:
            x = layer.norm1(tokens)
            _, weight = layer.self_attn(x, x, x, average_attn_weights=False)
            found.append(weight)
            tokens = layer(tokens)
    found, expected = ([a.numpy() for a in layers] for layers in (found, expected))
    assert np.allclose(attention_rollout(found), attention_rollout(expected))


def test_the_formula_written_out_gives_the_same_logits(rng):
    model = fill(VisionTransformer(*SIZES), rng)
    images = tensor(rng, 2, 3, 8, 8)
    p = dict(model.named_parameters())

    def norm(x, name):
        x = x - x.mean(-1, keepdim=True)
        x = x / (x.var(-1, unbiased=False, keepdim=True) + 1e-6).sqrt()
        return x * p[name + ".weight"] + p[name + ".bias"]

    def linear(x, name):
        return x @ p[name + ".weight"].T + p[name + ".bias"]

    logits = []
    for image in images:
        patches = [
            image[:, i : i + 4, j : j + 4].flatten() for i in (0, 4) for j in (0, 4)
        ]
        x = linear(torch.stack(patches), "embedding.projection")
        x = torch.cat([p["embedding.class_token"][0], x]) + p["embedding.positions"][0]
        for i in range(3):
            layer = f"layers.{i}."
            y = norm(x, layer + "norm1")
            packed = y @ p[layer + "self_attn.in_proj_weight"].T
            packed = packed + p[layer + "self_attn.in_proj_bias"]
            query, key, value = packed.split(12, dim=1)
            heads = []
            for h in range(3):
                part = slice(4 * h, 4 * h + 4)
                scores = query[:, part] @ key[:, part].T / 2
                heads.append(scores.softmax(-1) @ value[:, part])
            x = x + linear(torch.cat(heads, 1), layer + "self_attn.out_proj")
            y = linear(norm(x, layer + "norm2"), layer + "linear1")
            y = y * (1 + torch.erf(y / 2**0.5)) / 2
            x = x + linear(y, layer + "linear2")
        logits.append(linear(norm(x[0], "norm"), "head"))
    assert torch.allclose(model(images), torch.stack(logits))


def test_evaluation_without_gradients_takes_torchs_fast_path_to_the_same_logits(rng):
    model = fill(VisionTransformer(*SIZES), rng)
    images = tensor(rng, 4, 3, 8, 8)
    trained = model(images)
    with torch.no_grad():
        assert torch.allclose(model.eval()(images), trained)


def test_without_positions_shuffled_patches_give_the_same_logits(rng):
    model = fill(VisionTransformer(*SIZES), rng)
    with torch.no_grad():
        model.embedding.positions.zero_()
    image = tensor(rng, 1, 3, 8, 8)
    quarters = [image[..., i : i + 4, j : j + 4] for i in (0, 4) for j in (0, 4)]
    rows = [torch.cat([quarters[2], quarters[0]], -1)]
    rows.append(torch.cat([quarters[1], quarters[3]], -1))
    assert torch.allclose(model(torch.cat(rows, -2)), model(image))


def test_layers_begin_with_weights_of_their_own():
    model = VisionTransformer(*SIZES)
    first, second = (model.layers[i].linear1.weight for i in (0, 1))
    assert not torch.equal(first, second)


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


def test_rollout_of_even_attention_is_even_over_the_patches():
    even = np.full((2, 3, 5, 5), 0.2)
    shares = attention_rollout([even] * 4)
    own = 0.5**4  # what never left the class token's residual path
    assert shares == pytest.approx(np.full((2, 4), (1 - own) / 5))


@pytest.mark.parametrize("temperature", [1.0, 0.07, 0.001])
def test_contrastive_loss_is_torchs_cross_entropy_in_both_directions(rng, temperature):
    images, texts = (tensor(rng, 6, 4) for _ in range(2))
    logits = F.cosine_similarity(images[:, None], texts, dim=-1) / temperature
    right = torch.arange(6)
    there, back = F.cross_entropy(logits, right), F.cross_entropy(logits.T, right)
    found = contrastive_loss(images.numpy(), texts.numpy(), temperature)
    assert isinstance(found, float)
    assert found == pytest.approx((there + back).item() / 2)


def test_contrastive_loss_of_embeddings_that_say_nothing_is_that_of_a_guess(rng):
    alike = np.ones((5, 3))
    assert contrastive_loss(alike, alike, 0.1) == pytest.approx(np.log(5))


@pytest.mark.parametrize(
    ("sizes", "published_count"),
    [
        ((224, 16, 3, 768, 12, 3072, 1000), 86_567_656),  # ViT-B/16
        ((224, 32, 3, 768, 12, 3072, 1000), 88_224_232),  # ViT-B/32
        ((224, 16, 3, 1024, 24, 4096, 1000), 304_326_632),  # ViT-L/16
    ],
)
def test_published_models_have_the_published_number_of_parameters(
    sizes, published_count
):
    assert vit_parameter_count(*sizes) == published_count


@pytest.mark.parametrize("heads", [1, 2, 6])
def test_the_count_is_that_of_the_model_whatever_the_heads(heads):
    with torch.device("meta"):
        model = VisionTransformer(15, 5, 2, 12, 3, heads, 17, 7)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert vit_parameter_count(15, 5, 2, 12, 3, 17, 7) == count


def test_hugging_faces_base_model_has_as_many_parameters(hugging_face):
    with torch.device("meta"):
        config = hugging_face.ViTConfig(num_labels=1000)
        model = hugging_face.ViTForImageClassification(config)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert vit_parameter_count(224, 16, 3, 768, 12, 3072, 1000) == count


def test_converted_weights_have_every_name_and_number_of_the_model(rng):
    model = VisionTransformer(4, 2, 3, 4, 12, 2, 6, 5)
    converted = convert_huggingface_vit(published(rng, 12))
    model.double().load_state_dict(converted, strict=True)
    assert sum(value.numel() for value in converted.values()) == vit_parameter_count(
        4, 2, 3, 4, 12, 6, 5
    )
