"""The inside of a model against loops and what torch's own layers do."""

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


def test_scores_are_mean_weights_over_the_queries_that_have_such_a_key(rng):
    weights = rng.uniform(size=(4, 9, 9))
    found = [weights[:, i, i - 1] for i in range(1, 9)]
    np.testing.assert_allclose(previous_token_score(weights), sum(found) / 8)
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


def test_in_a_linear_model_an_effect_is_the_share_of_its_activation(rng):
    weights, clean, corrupted = rng.standard_normal((3, 4))
    runs = []

    def run(inputs, replace):
        runs.append(replace)
        parts = {str(i): inputs[i] * weights[i] for i in range(4)} | replace
        return float(sum(parts.values())), parts

    effects = patching_effect(run, clean, corrupted, ["2", "0", "3"])
    shares = weights * (clean - corrupted)
    shares = dict(zip("0123", shares / shares.sum(), strict=True))
    assert effects == pytest.approx({name: shares[name] for name in ("2", "0", "3")})
    assert len(runs) == 2 + len(effects)


def test_the_lens_reads_each_layer_through_torchs_norm_and_unembedding(rng):
    norm, unembedding = nn.LayerNorm(E).double(), nn.Linear(E, V, bias=False).double()
    nn.init.uniform_(norm.weight, 0.5, 2)
    states = torch.from_numpy(rng.standard_normal((4, B, N, E)))
    found = logit_lens(
        states.numpy(),
        lambda x: norm(torch.from_numpy(x)).detach().numpy(),
        unembedding.weight.detach().T.numpy(),
    )
    assert np.array_equal(found, unembedding(norm(states)).argmax(-1))
