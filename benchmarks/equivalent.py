"""Changes to the references that change nothing, each with its proof in a line.

Nothing that the task asks for, that is: what it leaves open may be different.

A change is found by the line that it is made in, and by how ``mutants`` prints it; of
both, a part that belongs to no other change is enough.
"""

from __future__ import annotations

NUMPY = "NumPy refuses such shapes with a ValueError of its own"
AXES = "two axes are swapped, in whichever order they are named"
LAST = "there are two axes, of which the second is the last"
ONLY = "there is one axis, so the new one comes last either way"
ORDER = "neither of two numbers is the larger for being named first"
DEFAULT = "this is what it does unless it is told otherwise"
DEVICE = "the task names no device, and all inputs are on one"
SINGLE = "single precision is close enough, and the tolerance leaves room for it"
START = "the task leaves the initial values open"
SHIFT = "softmax subtracts the largest score of a row itself"
DIVISOR = "0 is divided by it, which gives 0 whatever it is"
HIDDEN = "a number that is subtracted from -inf leaves -inf"
ZERO = "none at all are refused either way: Python does not divide by 0"
WEIGHTS = "need_weights only decides on a result that is dropped"

# By exercise: a part of the line, the beginning of the change, and the proof.
PROOFS: dict[str, list[tuple[str, str, str]]] = {
    "project": [
        ("", "for tokens, weight", NUMPY),
        ("", "raise ValueError", NUMPY),
        ("", "if tokens.shape", NUMPY),
    ],
    "similarity": [
        ("", "if queries.shape", NUMPY),
        ("", "raise ValueError", NUMPY),
    ],
    "attention": [
        ("", "if len(keys)", NUMPY),
        ("", "raise ValueError", NUMPY),
    ],
    "self_attention_columns": [
        ("", "for weight in", NUMPY),
        ("", "if weight.shape", NUMPY),
        ("", "raise ValueError", NUMPY),
        ("", "if len(W_Q)", NUMPY),
    ],
    "dot_score": [
        ("", "if S.shape", NUMPY),
        ("", "raise ValueError", NUMPY),
    ],
    "cosine_score": [
        ("", "if S.shape", NUMPY),
        (
            "np.where(lengths",
            "1.0 -> 2.0",
            "the dot product with a vector of norm 0 is 0, whatever divides it",
        ),
        ("", "raise ValueError", NUMPY),
        ("np.where(lengths", "1.0 -> -1.0", DIVISOR),
    ],
    "general_score": [
        ("", "if W_a.shape", NUMPY),
        ("", "raise ValueError", NUMPY),
    ],
    "reduced_rank_score": [
        ("", "if U_a.shape", NUMPY),
        ("", "raise ValueError", NUMPY),
        ("", "U_a.shape[1] != S.shape[1] or V_a.shape", NUMPY),
    ],
    "alignment_scores": [
        ("", "if q.shape", NUMPY),
        ("", "raise ValueError", NUMPY),
        ("if q.shape", "-1 -> +1", "X has two axes, of which the second is the last"),
        ("if q.shape", "1 -> 0", "q has one axis, which is the first and the last"),
        ("return X @ q", "1 -> 0", "q has one axis, which is the first and the last"),
    ],
    "soft_lookup": [
        ("", "if len(keys)", NUMPY),
        ("", "raise ValueError", NUMPY),
    ],
    "attention_entropy": [
        (
            "np.where(weights > 0",
            "1.0 -> 2.0",
            "the logarithm is multiplied by a weight of 0",
        ),
    ],
    "score_gradient_norm": [
        ("jacobian =", "np.diag(weights) - np.outer", "a norm has no sign"),
    ],
    "linear_attention": [
        ("key.transpose", "key.transpose(-2, -1)", AXES),
    ],
    "scaled_dot_product_attention": [
        ("key.transpose", "key.transpose(-2, -1)", AXES),
    ],
    "blockwise_attention": [
        ("k.transpose", "k.transpose(-2, -1)", AXES),
        (
            "zip(query.split",
            "zip(query.split",
            "both are split alike, so strict finds nothing",
        ),
        (
            "zip(scores, columns",
            "zip(scores, columns",
            "strict is False unless it is given",
        ),
        ("torch.arange(", "torch.arange(", DEVICE),
        (
            "zip(query.split",
            "True -> False",
            "both are split alike, so strict finds nothing",
        ),
        (
            "seen = number",
            "1 -> 2",
            "the mask hides all keys of the block that is seen in addition",
        ),
    ],
    "qk_norm_scores": [
        ("np.swapaxes", "np.swapaxes(key, -1, -2)", AXES),
    ],
    "grouped_query_attention": [
        (
            "grouped = query",
            "query.reshape(B, g, h // g, N, d) -> query.reshape(B, g, N, h // g, d)",
            "the rows of a group keep their order, and are cut back in that order",
        ),
        (
            "(weights @ values)",
            "1 -> 2",
            "NumPy takes any negative size for whatever is left",
        ),
        (
            "np.where(total",
            "0 -> 1",
            "the largest score adds exp(0), so a total is 0 or at least 1",
        ),
        ("np.swapaxes", "np.swapaxes(keys, -1, -2)", AXES),
        ("np.where(total", "1.0 -> -1.0", "the weights that are divided by it are 0"),
        ("", "if h % g", NUMPY),
        ("", "raise ValueError", NUMPY),
        ("np.where(total", "1.0 -> 2.0", DIVISOR),
        ("np.isfinite(largest)", "0.0 -> 1.0", HIDDEN),
    ],
    "online_softmax_sum": [
        (
            "largest, total, output",
            "0.0 -> 1.0",
            "the first block multiplies it by exp(-inf), which is 0",
        ),
        ("total.masked_fill", "1.0 -> -1.0", "the output that is divided by it is 0"),
        (
            "zip(score_blocks",
            "zip(score_blocks",
            "there are values for each block of scores",
        ),
        (
            "zip(score_blocks",
            "True -> False",
            "there are values for each block of scores",
        ),
        ("new_largest.masked_fill", "0.0 -> 1.0", HIDDEN),
        ("total.masked_fill", "1.0 -> 2.0", DIVISOR),
    ],
    "filter_logits": [
        (
            "cut = torch.zeros_like",
            "torch.zeros_like -> torch.ones_like",
            "scatter writes to every place, since order is a permutation",
        ),
        ("min(top_k", "min(", "the smaller of two numbers, in whichever order"),
        ("logits.sort", "logits.sort(dim=-1", DEFAULT),
        ("logits.topk", "logits.topk(min(top_k, logits.shape[-1]), dim=-1)", DEFAULT),
        (
            "before >= top_p",
            "before >= top_p -> before > top_p",
            "a sum that is p to the last bit is so by rounding alone",
        ),
    ],
    "causal_linear_attention": [
        ("zip(query.unbind", "True -> False", "the shapes were compared before"),
        ("zip(query.unbind", "zip(query.unbind", "the shapes were compared before"),
        (
            "",
            "if key.shape[-2] != value",
            "zip refuses them with a ValueError of its own",
        ),
        (
            "if key.shape[-2] != value",
            "raise ValueError",
            "zip refuses them with a ValueError of its own",
        ),
    ],
    "beam_search": [
        ("", "zip(", "all lists come from one call and have one length"),
        (
            "strict=True",
            "True -> False",
            "all lists come from one call and have one length",
        ),
        (
            "topk(min(beam_size",
            "-1 -> +1",
            LAST,
        ),
        ("topk(min(beam_size", "min(beam_size", ORDER),
    ],
    "swiglu": [
        ("np.where(gate", "gate >= 0 -> gate > 0", "at 0 both sides are 1"),
    ],
    "mean_pool": [
        (
            "F.normalize(total",
            "F.normalize(total, dim=-1) -> F.normalize(total)",
            "dim is 1 unless it is given, and there are two axes",
        ),
        (
            "F.normalize(total",
            "-1 -> +1",
            LAST,
        ),
        (
            "hidden.masked_fill",
            "hidden.masked_fill(~mask.unsqueeze(-1), 0.0).sum ->",
            "the result is normalised, so no factor matters",
        ),
    ],
    "search": [
        (
            "F.normalize",
            "F.normalize(corpus, dim=-1) -> F.normalize(corpus)",
            "dim is 1 unless it is given, and there are two axes",
        ),
        (
            "F.normalize",
            "-1 -> +1",
            "the corpus has two axes, of which the second is the last",
        ),
        (
            "F.normalize",
            "1 -> 0",
            "the query has one axis, which is the first and the last",
        ),
    ],
    "context_vector": [
        (
            "softmax(dim=-1)",
            "-1 -> +1",
            LAST,
        ),
        ("if state.shape", "-1 -> +1", LAST),
    ],
    "DecoderLayer": [
        (
            "",
            "self.multihead_attn(x, memory, memory",
            WEIGHTS,
        ),
        (
            "need_weights=False",
            "False -> True",
            WEIGHTS,
        ),
        ("", "self.self_attn(x, x, x, attn_mask", WEIGHTS),
    ],
    "AttentionDecoder": [
        ("torch.cat(", "-1 -> +1", LAST),
    ],
    "greedy_translate": [
        ("token = torch.full", "torch.full", DEVICE),
        ("argmax(dim=-1)", "-1 -> +1", LAST),
    ],
    "combine_masks": [
        ("if padding.shape", "-1 -> +1", LAST),
    ],
    "additive_mask": [
        ("nothing_added =", "torch.zeros(", DEVICE),
    ],
    "masked_softmax": [
        (
            "has_a_key =",
            "mask.any(dim=-1, keepdim=True) -> mask.any(keepdim=True)",
            "a row without keys is filled with 0 afterwards, and sends nothing back",
        ),
    ],
    "split_heads": [
        ("transpose(1, 2)", "x.reshape(", AXES),
        ("if num_heads < 1", "1 -> 0", ZERO),
    ],
    "merge_heads": [
        ("transpose(1, 2)", "x.transpose(", AXES),
    ],
    "MultiHeadAttention": [
        ("if min(embed_dim", "min(embed_dim, num_heads) -> min(", ORDER),
        (
            "return output[0]",
            "0 -> -1",
            "the batch that was made has one sequence, the first and the last",
        ),
        (
            "self.bias_k.expand",
            "-1 -> +1",
            "one token is appended, so the size of this axis is 1 already",
        ),
        (
            "self.bias_v.expand",
            "-1 -> +1",
            "one token is appended, so the size of this axis is 1 already",
        ),
        ("if min(embed_dim", "1 -> 0", ZERO),
    ],
    "sinusoidal_encoding": [
        (
            "positions =",
            "torch.arange(length",
            "whole numbers become float64 when they meet the frequencies",
        ),
        ("doubled =", "torch.arange(0", SINGLE),
    ],
    "shift_matrix": [
        ("doubled =", "torch.arange(0", SINGLE),
        ("to_sine =", "-1 -> +1", ONLY),
        ("to_cosine =", "-1 -> +1", ONLY),
    ],
    "rotary_embedding": [
        (
            "doubled =",
            "torch.arange(0, d, 2, dtype=torch.float64, device=x.device) -> "
            "torch.arange(0, d, 2, device",
            SINGLE,
        ),
        ("doubled =", "torch.arange(0", DEVICE),
    ],
    "LearnedPositions": [
        ("0.02 * torch.randn", "0.02", START),
    ],
    "EncoderLayer": [
        ("", "self.self_attn(x, x, x, need_weights", WEIGHTS),
        ("need_weights=False", "False -> True", WEIGHTS),
    ],
    "warmup_learning_rate": [
        ("min(step", "min(step", ORDER),
    ],
    "greedy_decode": [
        ("argmax(dim=-1)", "-1 -> +1", LAST),
    ],
    "cached_attention": [
        ("mask = torch.ones", "torch.ones(", DEVICE),
    ],
    "LanguageModel": [
        ("future = torch.ones", "torch.ones(", DEVICE),
        ("if num_heads < 1", "1 -> 0", ZERO),
        (
            "0.02 * torch.randn",
            "0.02 -> -0.02",
            "a normal distribution about 0 is symmetric",
        ),
    ],
    "sample_tokens": [
        ("largest =", "logits.amax(dim=-1, keepdim=True) -> logits.amax(keep", SHIFT),
        ("probabilities =", "logits - largest -> logits + largest", SHIFT),
        ("places =", "torch.arange(", DEVICE),
        (
            "last =",
            "0 -> 1",
            "where token 0 has all of the probability, no rounding leads beyond it",
        ),
        (
            "last =",
            "0 -> -1",
            "some token has a probability, so no place below 0 is the last",
        ),
        ("return torch.minimum", "torch.minimum(ids", ORDER),
        ("ids = ", "-1 -> +1", LAST),
        ("", "-1 -> +1", LAST),
    ],
    "previous_token_score": [
        ("weights.ndim < 2", "2 -> ", "the task names two axes at the least"),
        (
            "if weights.shape[-1] < 2",
            "1 -> 2",
            "the maps were found to be square before",
        ),
    ],
    "induction_score": [
        ("weights.ndim < 2", "2 -> ", "the task names two axes at the least"),
        ("N = weights", "1 -> 2", "the maps were found to be square before"),
    ],
    "softmax_with_sink": [
        ("np.maximum", "np.maximum(", ORDER),
    ],
    "latent_scores": [
        ("np.swapaxes", "np.swapaxes(W_up, -1, -2)", AXES),
    ],
    "attention_rollout": [
        (
            "torch.eye",
            "-1 -> +1",
            "the maps are square, and these are the sizes of their two axes",
        ),
        (
            "torch.eye",
            "1 -> 2",
            "the maps are square, and these are the sizes of their two axes",
        ),
    ],
    "PatchEmbedding": [
        (
            "self.class_token.expand",
            "-1 -> +1",
            "one class token is put in front, so the size of this axis is 1 already",
        ),
        (
            "nn.init.trunc_normal_",
            "0.02 -> ",
            "small random numbers are promised, which these are as well",
        ),
        ("if patch_size < 1", "1 -> 0", ZERO),
    ],
    "interpolate_positions": [
        ("F.interpolate", "F.interpolate(", DEFAULT),
    ],
    "VisionTransformer": [
        ("if num_heads < 1", "1 -> 0", ZERO),
        ("if patch_size < 1", "1 -> 0", ZERO),
    ],
    "patchify": [
        ("if p < 1", "1 -> 0", ZERO),
    ],
    "unpatchify": [
        ("if p < 1", "1 -> 0", ZERO),
    ],
}


def proof(exercise: str, line: str, change: str) -> str:
    """Why a change to a reference changes nothing; empty if nobody has shown it."""
    for part, beginning, why in PROOFS.get(exercise, ()):
        if part in line and change.startswith(beginning):
            return why
    return ""
