"""A language model: from text to ids, to logits, and from logits back to text.

Symbols, in this file and in the chapter:

    B sequences in a batch    T tokens of a sequence    V tokens known (vocab_size)
"""

import itertools
from collections import Counter

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def merge_pair(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Replace every occurrence of a pair of neighbours by one new id.

    Occurrences are found from the left and do not overlap: in 7 7 7, the pair (7, 7)
    occurs once, at the front.

    Args:
        ids: the sequence, which stays as it is.
        pair: two ids, in this order.
        new_id: occurs neither in ``ids`` nor in ``pair``.

    Returns:
        The shorter sequence, a new list.

    Source: Sennrich et al. (2016), algorithm 1.
    """
    first, second = pair
    merged, done, i = [], 0, 0  # ids[:done] are in merged
    for _ in range(ids.count(first)):
        i = ids.index(first, i) + 1  # faster than a look at each id
        if i > done and ids[i : i + 1] == [second]:  # empty at the end
            merged += [*ids[done : i - 1], new_id]
            done = i + 1
    return merged + ids[done:]


def train_bpe(text: str, num_merges: int) -> list[tuple[int, int]]:
    """Learn which pairs of ids to merge, the most frequent one first.

    The text begins as its bytes in UTF-8, ids 0 to 255, and is not cut into words.
    Merge number i, counted from 0, gives all occurrences of its pair in the sequence as
    merged so far the id 256 + i.

    Args:
        text: what to learn from.
        num_merges: how many merges to learn at most.

    Returns:
        The pairs in the order learned. Each is the pair of neighbours that occurs most
        often, where occurrences that overlap count ("aaa" holds the pair of a and a
        twice); of several, the one whose first occurrence is earliest. Learning stops
        early when no pair occurs twice.

    Source: Sennrich et al. (2016), algorithm 1; Radford et al. (2019), section 2.2, for
    bytes.
    """
    ids = list(text.encode("utf-8"))
    merges = []
    while len(merges) < num_merges:
        counts = Counter(itertools.pairwise(ids))  # in the order of first occurrence
        if not counts or max(counts.values()) < 2:
            break
        pair = max(counts, key=counts.get)  # of several, the first
        ids = merge_pair(ids, pair, 256 + len(merges))
        merges.append(pair)
    return merges


def bpe_encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    """Turn a text into ids: its bytes in UTF-8, then all merges in the order learned.

    Args:
        text: any text.
        merges: pairs; number i makes the id 256 + i, and names bytes and ids of
            earlier merges only.

    Returns:
        The ids.

    Source: Sennrich et al. (2016), section 3.2.
    """
    ids = list(text.encode("utf-8"))
    for i, pair in enumerate(merges):
        ids = merge_pair(ids, pair, 256 + i)
    return ids


def bpe_decode(ids: list[int], merges: list[tuple[int, int]]) -> str:
    """Turn ids back into a text.

    Args:
        ids: from 0 to 255 + len(merges).
        merges: pairs; number i makes the id 256 + i, and names bytes and ids of
            earlier merges only.

    Returns:
        The text. Bytes that are no valid UTF-8 become the replacement character, as in
        ``bytes.decode`` with ``errors="replace"``.

    Source: Radford et al. (2019), section 2.2.
    """
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    return b"".join(tokens[token] for token in ids).decode("utf-8", errors="replace")


class LanguageModel(nn.Module):
    """A decoder-only transformer: logits of the next token, at every position.

    x = embedding(ids) + positions[:, :T];  x = layer(x), causal, for each layer
    logits = norm(x) embedding.weight^T

    The output shares the weight of the embedding and has no bias. These are all
    parameters: ``embedding`` (``nn.Embedding``); ``positions``, of shape
    (1, max_length, d_model); ``layers``, an ``nn.ModuleList`` of layers with the names
    of ``nn.TransformerEncoderLayer``, each of which normalises first (pre-norm, eps
    1e-5), has gelu between its two linear maps, and drops nothing out; ``norm``
    (``nn.LayerNorm``). The embedding and the positions begin as normal random numbers
    with mean 0 and standard deviation 0.02.

    Args:
        vocab_size: V.
        max_length: the longest sequence.
        d_model: width of the tokens.
        num_heads: heads, which divide d_model.
        num_layers: how many layers.
        d_ff: width inside a feed-forward layer.

    Source: Radford et al. (2019), section 2.3; Press and Wolf (2017) for the shared
    weight.
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
    ) -> None:
        """Make the parameters."""
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embedding.weight, std=0.02)  # the first logits are small
        self.positions = nn.Parameter(0.02 * torch.randn(1, max_length, d_model))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                d_model,
                num_heads,
                d_ff,
                dropout=0.0,
                activation="gelu",
                batch_first=True,
                norm_first=True,
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)

    def forward(self, ids: Tensor) -> Tensor:
        """Predict what follows each token.

        Args:
            ids: (B, T) tokens.

        Returns:
            (B, T, V) logits; those at position t depend on the tokens 0 to t alone.
        """
        length = ids.shape[1]
        x = self.embedding(ids) + self.positions[:, :length]  # (B, T, d_model)
        future = torch.ones(length, length, dtype=torch.bool, device=ids.device).triu(1)
        for layer in self.layers:
            x = layer(x, src_mask=future)  # torch's layer marks what it ignores
        return self.norm(x) @ self.embedding.weight.T  # (B, T, V)


def perplexity(logits: Tensor, targets: Tensor, pad_id: int | None = None) -> float:
    """How many tokens the model hesitates between, on average.

    exp(mean of -log p(target)), over the tokens that count, in nats

    Args:
        logits: (B, T, V) scores of the token at each position of ``targets``.
        targets: (B, T) the tokens that came, already shifted.
        pad_id: targets with this id do not count; if None, all count.

    Returns:
        The perplexity, infinite where the exponential overflows.

    Source: Jelinek et al. (1977).
    """
    counted = torch.ones_like(targets, dtype=torch.bool)
    if pad_id is not None:
        counted = targets != pad_id
    loss = F.cross_entropy(logits[counted], targets[counted])  # of (n, V) and (n,)
    return loss.double().exp().item()


def filter_logits(
    logits: Tensor, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """Cut unlikely tokens from a distribution: top-k first, then top-p.

    Args:
        logits: (..., V) scores, which stay as they are.
        top_k: keep every token whose logit is at least the k-th largest, and so more
            than k where several are equal to it; all if k is larger than V.
        top_p: of the tokens that are left, whose probabilities sum to one again, keep
            the smallest set of largest probabilities whose sum reaches p: at least one
            token, and of equal ones the first in the vocabulary. 1 cuts nothing.

    Returns:
        (..., V) the logits, with -inf for each token that is cut.

    Source: Fan et al. (2018), section 5.4, for top-k; Holtzman et al. (2020), section
    3.1, for top-p.
    """
    if top_k is not None:
        kth = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < kth, -torch.inf)
    if top_p is not None and top_p < 1:
        sorted_logits, order = logits.sort(dim=-1, descending=True, stable=True)
        probabilities = sorted_logits.softmax(dim=-1)
        before = probabilities.cumsum(dim=-1) - probabilities  # (..., V)
        cut = torch.zeros_like(logits, dtype=torch.bool)
        cut = cut.scatter(-1, order, before >= top_p)
        logits = logits.masked_fill(cut, -torch.inf)
    return logits.clone()


def sample_tokens(logits: Tensor, uniform: Tensor, temperature: float = 1.0) -> Tensor:
    """Choose one token for each row, with a random number that is given.

    p = softmax(logits / temperature), and the token is the first one, in the order of
    the vocabulary, at which p[0] + ... + p[token] exceeds the random number

    Args:
        logits: (B, V) scores; those of tokens that were cut are -inf, others finite.
        uniform: (B,) one number for each row, at least 0 and below 1.
        temperature: from 0, where the largest logit is chosen, of equal ones the first.

    Returns:
        (B,) ids. Where rounding leaves no such token, the last one that has a
        probability.

    Source: Devroye (1986), section III.2.1, for sampling by inversion.
    """
    if temperature == 0:
        return logits.argmax(dim=-1)
    largest = logits.amax(dim=-1, keepdim=True)  # (B, 1)
    probabilities = ((logits - largest) / temperature).softmax(dim=-1)  # (B, V)
    ids = (probabilities.cumsum(dim=-1) <= uniform.unsqueeze(-1)).sum(dim=-1)  # (B,)
    places = torch.arange(logits.shape[-1], device=logits.device)
    last = torch.where(probabilities > 0, places, 0).amax(dim=-1)  # (B,)
    return torch.minimum(ids, last)


def break_filter_logits() -> tuple[Tensor, int, float]:
    """Find a call on which wrong versions of filter_logits go wrong.

    Returns:
        The arguments of one call of filter_logits: logits (N, V) from -1000 to 1000,
        top_k from 1 to 64, and top_p from 0.01 to 1.
    """
    return torch.tensor([[2.0, 2.0, 3.0], [1.0, 3.0, 2.0]]), 2, 0.7
