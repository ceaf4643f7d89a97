"""From published weights to a search by meaning.

Symbols, in this file and in the chapter:

    B  texts    N  tokens of the longest text    D  features of a token or text
    M  texts that are searched    k  how many of them are wanted
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


def convert_bert_layer(state_dict: dict[str, Tensor], index: int) -> dict[str, Tensor]:
    """Weights of one layer of BERT, by the names of ``nn.TransformerEncoderLayer``.

    BERT keeps queries, keys and values apart; torch packs them, in this order, into
    the rows of one matrix.

    Args:
        state_dict: weights of a whole BERT, by name. All names may begin with
            "bert.", or none; what does not belong to the layer is ignored.
        index: number of the layer, from 0.

    Returns:
        State dict of the layer: self_attn.in_proj_weight, self_attn.in_proj_bias,
        and weight and bias of self_attn.out_proj, linear1, linear2, norm1 and norm2.

    Source: Devlin et al. (2019); names of the library transformers.
    """
    prefix = "bert." if any(name.startswith("bert.") for name in state_dict) else ""
    layer = f"{prefix}encoder.layer.{index}."
    names = {
        "attention.output.dense": "self_attn.out_proj",
        "attention.output.LayerNorm": "norm1",
        "intermediate.dense": "linear1",
        "output.dense": "linear2",
        "output.LayerNorm": "norm2",
    }
    converted = {}
    for kind in ("weight", "bias"):
        parts = [
            state_dict[f"{layer}attention.self.{part}.{kind}"]
            for part in ("query", "key", "value")
        ]
        converted[f"self_attn.in_proj_{kind}"] = torch.cat(parts)  # (3 D, ...)
        for theirs, ours in names.items():
            converted[f"{ours}.{kind}"] = state_dict[f"{layer}{theirs}.{kind}"]
    return converted


def mean_pool(hidden: Tensor, mask: Tensor) -> Tensor:
    """One vector of norm 1 for each text: the direction of the mean of its tokens.

    y = mean / |mean|,  mean over the tokens n with mask[n]

    Args:
        hidden: (B, N, D) vectors of the tokens.
        mask: (B, N) bool, True for real tokens and False for padding.

    Returns:
        (B, D) vectors of norm 1; zeros for a text without any token.

    Source: Reimers and Gurevych (2019), section 3.
    """
    total = hidden.masked_fill(~mask.unsqueeze(-1), 0.0).sum(dim=1)  # (B, D)
    return F.normalize(total, dim=-1)  # the length of the mean plays no part


def embed(
    texts: list[str],
    tokenizer: Callable[[list[str]], tuple[Tensor, Tensor]],
    model: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Turn texts into vectors that are near when the meanings are.

    Args:
        texts: B texts.
        tokenizer: gives ids (B, N) and a mask (B, N), True for real tokens.
        model: gives hidden states (B, N, D) for ids and mask.

    Returns:
        (B, D) one vector of norm 1 for each text, in the order of the texts.

    Source: Reimers and Gurevych (2019), section 3.
    """
    ids, mask = tokenizer(texts)  # (B, N) each
    with torch.no_grad():
        hidden = model(ids, mask)  # (B, N, D)
    return mean_pool(hidden, mask)


def search(query: Tensor, corpus: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Find the k vectors of a corpus that point most nearly where the query points.

    score_i = query . corpus_i / (|query| |corpus_i|)

    Args:
        query: (D,) vector of any norm.
        corpus: (M, D) vectors of any norms.
        k: how many to return.

    Returns:
        indices: (k,) rows of the corpus, best first.
        scores: (k,) their cosine similarities with the query.
    """
    scores = F.normalize(corpus, dim=-1) @ F.normalize(query, dim=-1)  # (M,)
    best = scores.topk(k)
    return best.indices, best.values


def break_search() -> tuple[Tensor, Tensor, int]:
    """Find a query and a corpus on which wrong versions of search go wrong.

    Returns:
        The arguments of one call of search: query (D,), corpus (M, D), from -1000 to
        1000, and k, at most M.
    """
    return torch.tensor([1.0]), torch.tensor([[-1.0], [9.0]]), 2
