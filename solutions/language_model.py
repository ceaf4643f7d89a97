"""A language model: from text to ids, to logits, and from logits back to text.

Symbols, in this file and in the chapter:

    B sequences in a batch    T tokens of a sequence    V tokens known (vocab_size)
"""

from collections import Counter

import numpy as np
import torch
from torch import Tensor, nn

from toolkit.decoder_block import Block


def merge_pair(ids: list[int], pair: tuple[int, int], new_id: int) -> list[int]:
    """Replace every occurrence of a pair of neighbours by one new id.

    Occurrences are found from the left and do not overlap: in 7 7 7, the pair (7, 7)
    occurs once, at the front.

    Args:
        ids: the sequence.
        pair: two ids, in this order.
        new_id: occurs neither in ``ids`` nor in ``pair``.

    Returns:
        The shorter sequence, a new list.

    Source: Sennrich et al. (2016), algorithm 1.
    """
    first, second = pair
    merged, done, i = [], 0, 0  # ids[:done] are in merged
    left = ids.count(first)
    while left > 0:
        i, left = ids.index(first, i) + 1, left - 1  # faster than a look at each id
        if i > done and ids[i : i + 1] == [second]:  # empty at the end
            merged += [*ids[done : i - 1], new_id]
            done = i + 1
    return merged + ids[done:]


def train_bpe(text: str, num_merges: int) -> list[tuple[int, int]]:
    """Learn which pairs of ids to merge, the most frequent one first.

    The text begins as its bytes in UTF-8. Merge number i makes the id 256 + i. The most
    frequent pair of the sequence as merged so far comes next (overlapping occurrences
    count: "aaa" has the pair a, a twice); of several, the one that occurs first.

    Args:
        text: the training text, which is not cut into words.
        num_merges: how many merges to learn at most.

    Returns:
        The pairs in the order learned; fewer if no pair occurs twice any more.

    Source: Sennrich et al. (2016), algorithm 1; Radford et al. (2019), section 2.2, for
    bytes.
    """
    ids = list(text.encode("utf-8"))
    merges = []
    while len(merges) < num_merges:
        counts = Counter(zip(ids, ids[1:], strict=False))  # in order of occurrence
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
        merges: pairs; number i makes the id 256 + i.

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
        merges: pairs; number i makes the id 256 + i.

    Returns:
        The text. Bytes that are not valid UTF-8 become the replacement character, as
        with ``errors="replace"`` in ``bytes.decode``.

    Source: Radford et al. (2019), section 2.2.
    """
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    return b"".join(tokens[token] for token in ids).decode("utf-8", errors="replace")


class LanguageModel(nn.Module):
    """A decoder-only transformer: logits of the next token, at every position.

    x = embedding(ids);  x = layer(x, mask) for each layer
    logits = norm(x) embedding.weight^T

    Parameters: ``embedding`` (``nn.Embedding``), drawn with standard deviation 0.02;
    ``layers``, an ``nn.ModuleList`` of ``Block``; ``norm`` (``nn.LayerNorm``).

    Args:
        vocab_size: V.
        d_model: width of the tokens.
        num_heads: heads of each layer.
        num_layers: how many layers.
        d_ff: width inside a feed-forward layer.

    Source: Radford et al. (2019), section 2.3; Press and Wolf (2017) for the shared
    weight.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
    ) -> None:
        """Make the parameters."""
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embedding.weight, std=0.02)  # the first logits are small
        self.layers = nn.ModuleList(
            Block(d_model, num_heads, d_ff) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)

    def forward(self, ids: Tensor) -> Tensor:
        """Predict what follows each token.

        Args:
            ids: (B, T) tokens.

        Returns:
            (B, T, V) logits; those at position t depend on tokens 0 to t alone.
        """
        T = ids.shape[1]
        mask = torch.ones(T, T, dtype=torch.bool).tril()  # True = may attend
        x = self.embedding(ids)  # (B, T, d_model)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.weight.T  # (B, T, V)


def perplexity(
    logits: np.ndarray, targets: np.ndarray, pad_id: int | None = None
) -> float:
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
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_total = np.log(np.exp(shifted).sum(axis=-1))  # (B, T)
    chosen = np.take_along_axis(shifted, targets[..., None], axis=-1)[..., 0]
    losses = log_total - chosen  # (B, T)
    if pad_id is not None:
        losses = losses[targets != pad_id]
    with np.errstate(over="ignore"):
        return float(np.exp(losses.mean()))


def filter_logits(
    logits: np.ndarray, top_k: int | None = None, top_p: float | None = None
) -> np.ndarray:
    """Cut unlikely tokens from a distribution: top-k first, then top-p.

    Args:
        logits: (..., V) scores.
        top_k: keep every token whose logit is at least the k-th largest; all if k is
            larger than V.
        top_p: of the tokens that are left, whose probabilities sum to one again, keep
            the smallest set of largest probabilities whose sum reaches p: at least one
            token, and of equal ones the first in the vocabulary. 1 cuts nothing.

    Returns:
        (..., V) the logits, with -inf for each token that is cut.

    Source: Fan et al. (2018), section 5.4, for top-k; Holtzman et al. (2020), section
    3.1, for top-p.
    """
    if top_k is not None:
        kth = np.sort(logits, axis=-1)[..., -min(top_k, logits.shape[-1]), None]
        logits = np.where(logits < kth, -np.inf, logits)
    if top_p is not None and top_p < 1:
        order = np.argsort(-logits, axis=-1, kind="stable")  # of equal ones the first
        ranked = np.take_along_axis(logits, order, axis=-1)
        probabilities = np.exp(ranked - ranked[..., :1])
        probabilities /= probabilities.sum(axis=-1, keepdims=True)
        before = probabilities.cumsum(axis=-1) - probabilities  # (..., V)
        cut = np.empty(logits.shape, dtype=bool)
        np.put_along_axis(cut, order, before >= top_p, axis=-1)
        logits = np.where(cut, -np.inf, logits)
    return logits.copy()


def sample_tokens(
    logits: np.ndarray, uniform: np.ndarray, temperature: float = 1.0
) -> np.ndarray:
    """Choose one token for each row, with a random number that is given.

    p = softmax(logits / temperature), and the token is the first one, in the order of
    the vocabulary, at which p[0] + ... + p[token] exceeds the random number

    Args:
        logits: (B, V) scores; those of tokens that were cut are -inf.
        uniform: (B,) one number for each row, at least 0 and below 1.
        temperature: 0 chooses the largest logit, of equal ones the first.

    Returns:
        (B,) ids. Where rounding leaves no such token, the last one whose
        probability is not 0.

    Source: Devroye (1986), section III.2.1, for sampling by inversion.
    """
    if temperature == 0:
        return logits.argmax(axis=-1)
    largest = logits.max(axis=-1, keepdims=True)  # (B, 1)
    probabilities = np.exp((logits - largest) / temperature)  # (B, V)
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    ids = (probabilities.cumsum(axis=-1) <= uniform[:, None]).sum(axis=-1)  # (B,)
    last = np.where(probabilities > 0, np.arange(logits.shape[-1]), 0).max(axis=-1)
    return np.minimum(ids, last)
