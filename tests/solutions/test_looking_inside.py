"""The inside of a model against loops, hooks on torch's layers, and what must hold."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from solutions.looking_inside import (
    head_contributions,
    induction_score,
    logit_attribution,
    logit_lens,
    patching_effect,
    previous_token_score,
)

B, N, E, H, V = 2, 7, 12, 3, 11  # sequences, tokens, width, heads, vocabulary


@pytest.fixture
def rng():
    return np.random.default_rng(20260)


def perfect(targets):
    """A map (N, N) whose query i puts all its weight on targets[i]."""
    return np.eye(len(targets))[targets]


def test_previous_token_score_tells_three_perfect_heads_apart():
    targets = {
        "previous": [0, 0, 1, 2, 3],
        "itself": [0, 1, 2, 3, 4],
        "first": [0, 0, 0, 0, 0],
    }
    scores = previous_token_score(np.stack([perfect(t) for t in targets.values()]))
    assert scores.tolist() == [1, 0, 0.25]  # the second token's previous one is first


def test_induction_score_finds_the_key_that_repeats_the_next_token():
    # an oracle without indices: the key holds the token that comes next, and is the
    # last such key that is not in the query's future
    for period, n in [(2, 7), (3, 6), (4, 13), (5, 6)]:
        ids = [i % period for i in range(n + 1)]
        targets = []
        for i in range(n):
            found = [j for j in range(i + 1) if ids[j] == ids[i + 1]]
            targets.append(found[-1] if found else i)
        assert induction_score(perfect(targets), period) == 1


def test_induction_score_is_the_mean_weight_over_the_repeated_queries(rng):
    weights = rng.uniform(size=(4, 9, 9))
    for period in range(2, 9):
        found = [weights[:, i, i - period + 1] for i in range(period, 9)]
        expected = sum(found) / len(found)
        np.testing.assert_allclose(induction_score(weights, period), expected)


@pytest.fixture
def layer():
    torch.manual_seed(3)
    layer = nn.MultiheadAttention(E, H, bias=False, batch_first=True)
    return layer.double().requires_grad_(False)


def parts_of(layer, x):
    """The weights, values and split output projection of torch's layer."""
    _, weights = layer(x, x, x, average_attn_weights=False)
    values = (x @ layer.in_proj_weight[2 * E :].T).unflatten(-1, (H, -1))
    W_O = layer.out_proj.weight.T.unflatten(0, (H, -1))
    return weights.numpy(), values.transpose(1, 2).numpy(), W_O.numpy()


def test_contributions_sum_to_the_output_of_torchs_layer(layer, rng):
    x = torch.from_numpy(rng.standard_normal((B, N, E)))
    expected, _ = layer(x, x, x)
    contributions = head_contributions(*parts_of(layer, x))
    np.testing.assert_allclose(contributions.sum(axis=1), expected)


def test_a_contribution_is_what_the_layer_loses_without_that_head(layer, rng):
    x = torch.from_numpy(rng.standard_normal((B, N, E)))
    contributions = head_contributions(*parts_of(layer, x))
    full, _ = layer(x, x, x)
    complete = layer.out_proj.weight.clone()
    for head in range(H):
        layer.out_proj.weight.copy_(complete)
        layer.out_proj.weight[:, head * E // H : (head + 1) * E // H] = 0
        rest, _ = layer(x, x, x)
        np.testing.assert_allclose(contributions[:, head], full - rest, atol=1e-12)


def test_attributions_agree_with_loops(rng):
    contributions, W_U = rng.standard_normal((B, H, N, E)), rng.standard_normal((E, V))
    targets = rng.integers(V, size=(B, N))
    found = logit_attribution(contributions, W_U, targets)
    for b, h, n in np.ndindex(B, H, N):
        logits = [math.fsum(contributions[b, h, n] * W_U[:, v]) for v in range(V)]
        expected = logits[targets[b, n]] - sum(logits) / V
        assert found[b, h, n] == pytest.approx(expected)


def test_attributions_are_the_slope_of_the_centred_logit(rng):
    contributions, W_U = rng.standard_normal((B, H, N, E)), rng.standard_normal((E, V))
    targets = np.arange(B * N).reshape(B, N) % V
    strength = torch.ones(H, dtype=torch.float64, requires_grad=True)
    state = torch.einsum("bhne,h->bne", torch.from_numpy(contributions), strength)
    logits = state @ torch.from_numpy(W_U)
    chosen = logits.gather(-1, torch.from_numpy(targets)[..., None])
    (chosen.sum() - logits.mean(-1).sum()).backward()
    found = logit_attribution(contributions, W_U, targets)
    np.testing.assert_allclose(found.sum((0, 2)), strength.grad)


class Model(nn.Module):
    """Three of torch's layers with an embedding and an unembedding around them."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(V, E)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                E, H, 2 * E, dropout=0.0, batch_first=True, norm_first=True
            )
            for _ in range(3)
        )
        self.norm = nn.LayerNorm(E)
        self.output = nn.Linear(E, V, bias=False)

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))


@pytest.fixture
def model():
    torch.manual_seed(5)
    model = Model().double().eval().requires_grad_(False)
    model.norm.weight.uniform_(0.5, 2)
    model.norm.bias.normal_()
    return model


@pytest.fixture
def hooked(model):
    """``run`` on a real model: forward hooks read activations and replace them."""

    def run(ids, replace):
        activations, handles = {}, []
        for number, one in enumerate(model.layers):
            for part in ("self_attn", "linear2"):
                name = f"{number}.{part}"

                def keep(module, inputs, output, name=name):
                    whole = isinstance(output, tuple)
                    found = replace.get(name, output[0] if whole else output)
                    activations[name] = found
                    return (found, *output[1:]) if whole else found

                handles.append(getattr(one, part).register_forward_hook(keep))
        logits = model(ids)
        for handle in handles:
            handle.remove()
        run.count += 1
        return logits[:, -1, 0].mean().item(), activations

    run.count = 0
    return run


def test_patching_restores_everything_where_everything_passes_through(hooked, model):
    # only the last token is read, and the inputs differ in the first alone: all that
    # the last token learns of it in a model of one layer comes through attention
    del model.layers[1:]
    clean = torch.tensor([[1, 2, 3, 4]])
    corrupted = torch.tensor([[5, 2, 3, 4]])
    effects = patching_effect(hooked, clean, corrupted, ["0.self_attn"])
    assert effects["0.self_attn"] == pytest.approx(1)
    assert hooked.count == 3


def test_effects_agree_with_runs_that_are_made_by_hand(hooked):
    clean, corrupted = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[1, 6, 3, 4]])
    names = ["2.linear2", "0.self_attn", "1.self_attn"]
    effects = patching_effect(hooked, clean, corrupted, names)
    assert hooked.count == 2 + len(names)
    high, activations = hooked(clean, {})
    low, _ = hooked(corrupted, {})
    for name in names:
        metric, _ = hooked(corrupted, {name: activations[name]})
        assert effects[name] == pytest.approx((metric - low) / (high - low))
    assert len({round(effect, 9) for effect in effects.values()}) == 3


def test_in_a_linear_model_the_effects_sum_to_one(rng):
    weights, clean, corrupted = rng.standard_normal((3, 4))

    def run(inputs, replace):
        parts = {str(i): inputs[i] * weights[i] for i in range(4)} | replace
        return float(sum(parts.values())), parts

    effects = patching_effect(run, clean, corrupted, ["0", "1", "2", "3"])
    assert math.fsum(effects.values()) == pytest.approx(1)


def test_the_lens_at_a_layer_is_a_model_that_ends_there(model):
    ids = torch.arange(B * N).reshape(B, N) % V
    states = [model.embedding(ids)]
    for one in model.layers:
        states.append(one(states[-1]))
    norm = lambda x: model.norm(torch.from_numpy(x)).numpy()  # noqa: E731
    W_U = model.output.weight.T.numpy()
    found = logit_lens(torch.stack(states).numpy(), norm, W_U)
    whole = model.layers
    for layer, ids_there in enumerate(found):
        model.layers = whole[:layer]
        assert np.array_equal(ids_there, model(ids).argmax(-1))
    assert len({tuple(row.flatten().tolist()) for row in found}) == len(found)
