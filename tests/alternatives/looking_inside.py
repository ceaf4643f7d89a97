"""Other right answers on the inside of a model: loops, einsum, NumPy, float32."""

import numpy as np
import torch


def previous_by_index(weights):
    rows = torch.arange(1, weights.shape[-1])
    return weights[..., rows, rows - 1].mean(-1)


def previous_in_a_loop(weights):
    n = weights.shape[-1]
    scores = torch.zeros(weights.shape[:-2], dtype=weights.dtype)
    for place in np.ndindex(*weights.shape[:-2]):
        scores[place] = sum(weights[place][i, i - 1] for i in range(1, n)) / (n - 1)
    return scores


def previous_from_a_flat_array(weights):
    weights = weights.numpy()
    *leading, n, _ = weights.shape
    flat = np.reshape(weights, (*leading, n * n))
    return torch.as_tensor(flat[..., n :: n + 1].mean(-1))


def previous_with_a_mask(weights):
    n = weights.shape[-1]
    below = torch.diag(torch.ones(n - 1), -1)
    return (weights.float() * below).sum((-1, -2)).double() / (n - 1)


def induction_by_index(weights, period):
    rows = torch.arange(period, weights.shape[-1])
    return weights[..., rows, rows - period + 1].mean(-1)


def induction_in_a_loop(weights, period):
    n = weights.shape[-1]
    found = [weights[..., i, i - period + 1] for i in range(period, n)]
    return sum(found) / len(found)


def induction_from_rolled_rows(weights, period):
    array = np.asarray(weights)[..., period:, 1:]
    return torch.tensor(np.trace(array, axis1=-2, axis2=-1) / array.shape[-2])


def induction_in_single_precision(weights, period):
    later = weights[..., period:, 1:].float()
    return torch.einsum("...ii->...i", later[..., : later.shape[-2]]).mean(-1).double()


def contributions_einsum(weights, values, W_O):
    return torch.einsum("bhnt,bhtd,hde->bhne", weights, values, W_O)


def contributions_projected_first(weights, values, W_O):
    return weights @ torch.einsum("bhtd,hde->bhte", values, W_O)


def contributions_head_by_head(weights, values, W_O):
    heads = [weights[:, i] @ (values[:, i] @ W_O[i]) for i in range(len(W_O))]
    return torch.stack(heads, dim=1)


def contributions_of_a_layer_without_other_heads(weights, values, W_O):
    found = []
    for head in range(len(W_O)):
        only = torch.zeros(len(W_O)).double()
        only[head] = 1
        mixed = (weights @ values) * only[:, None, None]
        joined = mixed.transpose(1, 2).flatten(2)  # (B, N, h * d_v)
        found.append(joined @ W_O.flatten(0, 1))
    return torch.stack(found, 1)


def attribution_with_gather(contributions, W_U, targets):
    logits = contributions @ W_U  # (B, h, N, V)
    logits = logits - logits.mean(-1, keepdim=True)
    index = targets[:, None, :, None].repeat(1, logits.shape[1], 1, 1)
    return logits.gather(-1, index).squeeze(-1)


def attribution_in_loops(contributions, W_U, targets):
    B, h, N, _ = contributions.shape
    result = torch.zeros(B, h, N, dtype=contributions.dtype)
    for b in range(B):
        for i in range(h):
            for n in range(N):
                logits = contributions[b, i, n] @ W_U
                result[b, i, n] = logits[targets[b, n]] - logits.mean()
    return result


def attribution_with_one_hot_targets(contributions, W_U, targets):
    V = W_U.shape[1]
    chosen = torch.eye(V)[targets] - 1 / V  # (B, N, V)
    logits = contributions.float() @ W_U.float()
    return torch.einsum("bhnv,bnv->bhn", logits, chosen).double()


def effects_in_a_comprehension(run, clean, corrupted, names):
    high, of_clean = run(clean, {})
    low = run(corrupted, {})[0]
    return {
        name: (run(corrupted, {name: of_clean[name]})[0] - low) / (high - low)
        for name in names
    }


def effects_corrupted_first(run, clean, corrupted, names):
    low, _ = run(corrupted, {})
    high, of_clean = run(clean, {})
    metrics = [run(corrupted, {name: of_clean[name].clone()})[0] for name in names]
    effects = (np.array(metrics) - low) / (high - low)
    return dict(zip(names, effects.tolist(), strict=True))


def lens_layer_by_layer(hidden, norm, W_U):
    return torch.stack([(norm(state) @ W_U).max(-1).indices for state in hidden])


def lens_of_all_states_in_a_row(hidden, norm, W_U):
    logits = torch.einsum("ne,ev->nv", norm(hidden.flatten(0, 2)), W_U)
    return logits.argmax(1).reshape(hidden.shape[:3])


def lens_with_numpy(hidden, norm, W_U):
    probabilities = (norm(hidden) @ W_U).log_softmax(-1)
    return torch.from_numpy(np.argmax(probabilities.numpy(), axis=-1))


def break_induction_score_with_arrays():
    weights = np.eye(6)
    weights[2, 1:3] = 0.7, 0.3
    weights[3, 2:4] = 0.2, 0.8
    return [weights, 2]


def break_induction_score_with_uneven_rows():
    weights = torch.zeros(6, 6)
    weights[:, 0] = torch.tensor([1.0, 0.5, 0.25, 0.5, 0.25, 0.75])
    weights[1:, 1] = torch.tensor([0.5, 0.75, 0.25, 0.25, 0.0])
    weights[3:, 3] = torch.tensor([0.25, 0.5, 0.25])
    return weights, 2


ALTERNATIVES = {
    "previous_token_score": [
        previous_by_index,
        previous_in_a_loop,
        previous_from_a_flat_array,
        previous_with_a_mask,
    ],
    "induction_score": [
        induction_by_index,
        induction_in_a_loop,
        induction_from_rolled_rows,
        induction_in_single_precision,
    ],
    "head_contributions": [
        contributions_einsum,
        contributions_projected_first,
        contributions_head_by_head,
        contributions_of_a_layer_without_other_heads,
    ],
    "logit_attribution": [
        attribution_with_gather,
        attribution_in_loops,
        attribution_with_one_hot_targets,
    ],
    "patching_effect": [effects_in_a_comprehension, effects_corrupted_first],
    "logit_lens": [lens_layer_by_layer, lens_of_all_states_in_a_row, lens_with_numpy],
    "break_induction_score": [
        break_induction_score_with_arrays,
        break_induction_score_with_uneven_rows,
    ],
}
