"""Changes to the references that change nothing, each with its proof in a line.

A change is found by the line that it is made in, and by how ``mutants`` prints it; of
both, a part that belongs to no other change is enough.
"""

from __future__ import annotations

NUMPY = "NumPy refuses such shapes with a ValueError of its own"
AXES = "two axes are swapped, in whichever order they are named"

# By exercise: a part of the line, the beginning of the change, and the proof.
PROOFS: dict[str, list[tuple[str, str, str]]] = {
    "project": [
        ("", "for tokens, weight", NUMPY),
        ("", "raise ValueError", NUMPY),
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
    ],
    "general_score": [
        ("", "if W_a.shape", NUMPY),
        ("", "raise ValueError", NUMPY),
    ],
    "reduced_rank_score": [
        ("", "if U_a.shape", NUMPY),
        ("", "raise ValueError", NUMPY),
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
    ],
    "online_softmax_sum": [
        (
            "largest, total, output",
            "0.0 -> 1.0",
            "the first block multiplies it by exp(-inf), which is 0",
        ),
        ("total.masked_fill", "1.0 -> -1.0", "the output that is divided by it is 0"),
    ],
    "filter_logits": [
        (
            "cut = torch.zeros_like",
            "torch.zeros_like -> torch.ones_like",
            "scatter writes to every place, since order is a permutation",
        ),
        ("min(top_k", "min(", "the smaller of two numbers, in whichever order"),
    ],
    "causal_linear_attention": [
        ("zip(query.unbind", "True -> False", "the shapes were compared before"),
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
            "there are two axes, of which the second is the last",
        ),
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
            "there are two axes, of which the second is the last",
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
            "there are two axes, of which the second is the last",
        ),
    ],
    "DecoderLayer": [
        (
            "",
            "self.multihead_attn(x, memory, memory",
            "need_weights only decides on a result that is dropped",
        ),
        (
            "need_weights=False",
            "False -> True",
            "need_weights only decides on a result that is dropped",
        ),
    ],
}


def proof(exercise: str, line: str, change: str) -> str:
    """Why a change to a reference changes nothing; empty if nobody has shown it."""
    for part, beginning, why in PROOFS.get(exercise, ()):
        if part in line and change.startswith(beginning):
            return why
    return ""
