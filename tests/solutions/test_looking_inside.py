"""The inside of a model against loops, hooks on torch's layers, and what must hold."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from solutions.looking_inside import (
    break_induction_score,
    head_contributions,
    induction_score,
    logit_attribution,
    logit_lens,
    patching_effect,
    previous_token_score,
)

B, N, E, H, V = 2, 7, 12, 3, 11  # sequences, tokens, width, heads, vocabulary


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(20260)


def random(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def perfect(targets):
    """A map (N, N) whose query i puts all its weight on targets[i]."""
    return torch.eye(len(targets), dtype=torch.float64)[torch.tensor(targets)]


@pytest.fixture
def layer():
    torch.manual_seed(3)
    layer = nn.MultiheadAttention(E, H, bias=False, batch_first=True)
    return layer.double().requires_grad_(False)


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
        for one in self.layers:
            x = one(x)
        return self.output(self.norm(x))


@pytest.fixture
def model():
    torch.manual_seed(5)
    model = Model().double().requires_grad_(False)
    for parameter in model.layers.parameters():
        parameter.mul_(3)  # as they are, the layers change few predictions
    nn.init.normal_(model.norm.weight)
    nn.init.normal_(model.norm.bias)
    return model.train()  # eval() may take a path that calls no hooks


def parts_of(layer, x):
    """Weights, values and output projection of torch's layer, head by head."""
    _, weights = layer(x, x, x, average_attn_weights=False)
    W_V = layer.in_proj_weight[2 * E :]  # (E, E)
    values = (x @ W_V.T).unflatten(-1, (H, E // H)).transpose(1, 2)  # (B, h, N, d)
    W_O = layer.out_proj.weight.T.unflatten(0, (H, E // H))  # (h, d, E)
    return weights, values, W_O


def test_previous_token_score_agrees_with_its_definition(generator):
    weights = random(generator, 2, 3, 6, 6).softmax(-1)
    scores = previous_token_score(weights)
    for b in range(2):
        for h in range(3):
            expected = sum(weights[b, h, i, i - 1].item() for i in range(1, 6)) / 5
            assert scores[b, h].item() == pytest.approx(expected)


def test_a_head_that_attends_to_the_previous_token_scores_one_and_others_zero():
    targets = {"previous": [0, 0, 1, 2, 3], "itself": [0, 1, 2, 3, 4], "first": [0] * 5}
    scores = {k: previous_token_score(perfect(t)).item() for k, t in targets.items()}
    assert scores == {"previous": 1, "itself": 0, "first": 0.25}  # of the second token


def test_induction_score_finds_the_key_that_repeats_the_next_token():
    # an oracle without indices: the key holds the token that comes next, and is the
    # last such key that is not in the query's future
    for period, n in [(2, 7), (3, 6), (4, 13), (5, 6)]:
        ids = [i % period for i in range(n + 1)]
        targets = []
        for i in range(n):
            found = [j for j in range(i + 1) if ids[j] == ids[i + 1]]
            targets.append(found[-1] if found else i)
        assert induction_score(perfect(targets), period).item() == 1


def test_induction_score_is_the_mean_weight_over_the_repeated_queries(generator):
    weights = random(generator, 4, 9, 9).softmax(-1)
    for period in range(2, 9):
        for head in range(4):
            found = [weights[head, i, i - period + 1] for i in range(period, 9)]
            score = induction_score(weights, period)[head]
            assert score.item() == pytest.approx(torch.stack(found).mean().item())


def test_contributions_sum_to_what_torchs_layer_returns(layer, generator):
    x = random(generator, B, N, E)
    expected, _ = layer(x, x, x)
    contributions = head_contributions(*parts_of(layer, x))
    torch.testing.assert_close(contributions.sum(dim=1), expected)


def test_a_contribution_is_what_the_layer_loses_without_that_head(layer, generator):
    x = random(generator, B, N, E)
    full, _ = layer(x, x, x)
    contributions = head_contributions(*parts_of(layer, x))
    for head in range(H):
        without = nn.MultiheadAttention(E, H, bias=False, batch_first=True).double()
        without.load_state_dict(layer.state_dict())
        features = slice(head * E // H, (head + 1) * E // H)
        with torch.no_grad():
            without.out_proj.weight[:, features] = 0
            rest, _ = without(x, x, x)
        torch.testing.assert_close(contributions[:, head], full - rest)


def test_attributions_agree_with_loops(generator):
    contributions, W_U = random(generator, B, H, N, E), random(generator, E, V)
    targets = torch.randint(V, (B, N), generator=generator)
    found = logit_attribution(contributions, W_U, targets)
    for b in range(B):
        for h in range(H):
            for n in range(N):
                logits = [
                    torch.dot(contributions[b, h, n], W_U[:, v]) for v in range(V)
                ]
                expected = logits[targets[b, n]] - sum(logits) / V
                torch.testing.assert_close(found[b, h, n], expected)


def test_attributions_are_the_slope_of_the_centred_logit(generator):
    contributions = random(generator, B, H, N, E)
    W_U, targets = random(generator, E, V), torch.arange(B * N).reshape(B, N) % V
    strength = torch.ones(H, dtype=torch.float64, requires_grad=True)
    state = torch.einsum("bhne,h->bne", contributions, strength)
    logits = state @ W_U
    chosen = (F.one_hot(targets, V) * logits).sum(-1) - logits.mean(-1)
    (slope,) = torch.autograd.grad(chosen.sum(), strength)
    found = logit_attribution(contributions, W_U, targets)
    torch.testing.assert_close(found.sum((0, 2)), slope)


def test_attributions_ignore_logits_that_all_tokens_share(generator):
    contributions = random(generator, B, H, N, E)
    W_U, targets = random(generator, E, V), torch.zeros(B, N, dtype=torch.long)
    found = logit_attribution(contributions, W_U, targets)
    shifted = logit_attribution(
        contributions, W_U + 100 * random(generator, E, 1), targets
    )
    torch.testing.assert_close(found, shifted)


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
                    found = output[0] if whole else output
                    found = replace.get(name, found)
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


def test_in_a_linear_model_the_effects_sum_to_one(generator):
    weights = random(generator, 4)

    def run(inputs, replace):
        parts = {str(i): inputs[i] * weights[i] for i in range(4)} | replace
        return float(sum(parts.values())), parts

    clean, corrupted = random(generator, 4), random(generator, 4)
    effects = patching_effect(run, clean, corrupted, ["0", "1", "2", "3"])
    assert math.fsum(effects.values()) == pytest.approx(1)


def test_the_lens_at_the_last_layer_is_the_models_own_prediction(model):
    ids = torch.arange(B * N).reshape(B, N) % V
    states, handles = [], []
    for one in model.layers:
        keep = lambda module, inputs, output: states.append(output)  # noqa: E731
        handles.append(one.register_forward_hook(keep))
    logits = model(ids)
    for handle in handles:
        handle.remove()
    found = logit_lens(torch.stack(states), model.norm, model.output.weight.T)
    assert torch.equal(found[-1], logits.argmax(-1))
    assert found.shape == (3, B, N)


def test_the_lens_at_a_layer_is_a_model_that_ends_there(model):
    ids = torch.arange(B * N).reshape(B, N) % V
    states = [model.embedding(ids)]
    for one in model.layers:
        states.append(one(states[-1]))
    found = logit_lens(torch.stack(states), model.norm, model.output.weight.T)
    whole = model.layers
    for layer, ids_there in enumerate(found):
        model.layers = whole[:layer]
        assert torch.equal(ids_there, model(ids).argmax(-1))
    assert len({tuple(row.flatten().tolist()) for row in found}) == len(found)


def test_of_equal_logits_the_lens_takes_the_first():
    W_U = torch.ones(3, 4, dtype=torch.float64)
    W_U[:, 0] = 0
    hidden = torch.ones(2, 1, 5, 3, dtype=torch.float64)
    assert torch.equal(
        logit_lens(hidden, nn.Identity(), W_U), torch.ones(2, 1, 5).long()
    )


def zeros(*shape, dtype=torch.float64):
    return torch.zeros(*shape, dtype=dtype)


def constant_run(inputs, replace):
    return 1.0, {"only": torch.zeros(1)}


def test_inputs_are_left_as_they_were(generator):
    calls = [
        (previous_token_score, (2, 4, 4)),
        (lambda weights: induction_score(weights, 2), (2, 4, 4)),
        (head_contributions, (2, 3, 4, 5), (2, 3, 5, 6), (3, 6, 7)),
        (
            lambda x, W: logit_attribution(x, W, torch.ones(2, 4).long()),
            (2, 3, 4, 5),
            (5, 6),
        ),
        (lambda x, W: logit_lens(x, nn.Identity(), W), (2, 3, 4, 5), (5, 6)),
    ]
    for function, *shapes in calls:
        tensors = [random(generator, *shape) for shape in shapes]
        before = [x.clone() for x in tensors]
        function(*tensors)
        assert all(map(torch.equal, tensors, before))


def test_break_induction_score_has_a_third_copy_and_rows_that_are_distributions():
    weights, period = break_induction_score()
    n = len(weights)
    torch.testing.assert_close(weights.sum(-1), torch.ones(n).double())
    assert n > 2 * period
    assert n // 2 != period
    on_target = [weights[i, i - period + 1].item() for i in range(period - 1, n)]
    assert len(set(on_target[1:])) > 1
    assert any(0 < weight < 1 for weight in on_target)
    assert on_target[0] != pytest.approx(sum(on_target[1:]) / (n - period))
