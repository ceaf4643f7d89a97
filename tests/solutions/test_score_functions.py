"""Score functions against torch."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from solutions.score_functions import (
    additive_score,
    cosine_score,
    general_score,
    parameter_count,
    reduced_rank_score,
)

T_DEC, T_ENC, S_WIDTH, H_WIDTH, K, R = 3, 5, 4, 6, 2, 7


@pytest.fixture
def S(rng):
    return rng.standard_normal((T_DEC, S_WIDTH))


@pytest.fixture
def H(rng):
    return rng.standard_normal((T_ENC, H_WIDTH))


@pytest.fixture
def same_width(rng):
    return rng.standard_normal((T_DEC, H_WIDTH)), rng.standard_normal((T_ENC, H_WIDTH))


def test_cosine_scores_agree_with_torch(same_width):
    S, H = (torch.from_numpy(states) for states in same_width)
    expected = F.cosine_similarity(S[:, None], H[None], dim=2)
    np.testing.assert_allclose(cosine_score(*same_width), expected)
    assert parameter_count("cosine", 6, 6) == parameter_count("dot", 6, 6) == 0


def test_general_scores_agree_with_torch_bilinear(S, H, rng):
    W_a = rng.standard_normal((S_WIDTH, H_WIDTH))
    layer = torch.nn.Bilinear(S_WIDTH, H_WIDTH, 1, bias=False).double()
    layer.weight.data[0] = torch.from_numpy(W_a)
    pairs = (np.repeat(S, T_ENC, axis=0), np.tile(H, (T_DEC, 1)))
    expected = layer(*map(torch.from_numpy, pairs)).detach().reshape(T_DEC, T_ENC)
    np.testing.assert_allclose(general_score(S, H, W_a), expected)
    assert parameter_count("general", S_WIDTH, H_WIDTH) == W_a.size


def test_reduced_rank_is_general_with_the_product_of_the_factors(S, H, rng):
    U_a = rng.standard_normal((K, S_WIDTH))
    V_a = rng.standard_normal((K, H_WIDTH))
    scores = reduced_rank_score(S, H, U_a, V_a)
    np.testing.assert_allclose(scores, general_score(S, H, U_a.T @ V_a))
    assert np.linalg.matrix_rank(scores) == K
    count = parameter_count("reduced_rank", S_WIDTH, H_WIDTH, k=K)
    assert count == U_a.size + V_a.size


def test_additive_scores_agree_with_a_network_of_two_linear_layers(S, H, rng):
    W_a = rng.standard_normal((R, H_WIDTH))
    V_a = rng.standard_normal((R, S_WIDTH))
    v_a = rng.standard_normal(R)
    hidden = torch.nn.Linear(H_WIDTH + S_WIDTH, R, bias=False).double()
    last = torch.nn.Linear(R, 1, bias=False).double()
    hidden.weight.data = torch.from_numpy(np.hstack([W_a, V_a]))
    last.weight.data = torch.from_numpy(v_a[None])
    scores = additive_score(S, H, W_a, V_a, v_a)
    for i, j in np.ndindex(T_DEC, T_ENC):
        pair = torch.from_numpy(np.concatenate([H[j], S[i]]))
        assert scores[i, j] == pytest.approx(last(torch.tanh(hidden(pair))).item())
    count = parameter_count("additive", S_WIDTH, H_WIDTH, r=R)
    assert count == W_a.size + V_a.size + v_a.size
