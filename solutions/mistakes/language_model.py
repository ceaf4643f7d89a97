"""Misconceptions about language models, as code that can be recognised."""

import math
from collections import Counter
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.language_model import (
    LanguageModel,
    bpe_decode,
    bpe_encode,
    break_filter_logits,
    filter_logits,
    merge_pair,
    perplexity,
    sample_tokens,
    train_bpe,
)
from solutions import language_model as right

# merge_pair ---------------------------------------------------------------------------


def is_at(ids, i, pair):
    return tuple(ids[i : i + 2]) == tuple(pair)


@mistake(merge_pair)
def merged_from_the_right(ids, pair, new_id):
    """You found occurrences from the right. In a run of three equal ids this merges the
    last two in place of the first two, so a text is encoded with other ids than those
    with which the model was trained."""
    flipped = right.merge_pair(ids[::-1], tuple(pair)[::-1], new_id)
    return flipped[::-1]


@mistake(merge_pair)
def first_occurrence_only(ids, pair, new_id):
    """You replaced only the first occurrence, so all the others keep their two ids. A
    merge applies to the whole sequence, or the pair stays the most frequent one."""
    for i in range(len(ids)):
        if is_at(ids, i, pair):
            return [*ids[:i], new_id, *ids[i + 2 :]]
    return list(ids)


@mistake(merge_pair)
def either_order(ids, pair, new_id):
    """You replaced the two ids in either order. The order matters: "on" and "no" would
    become one token, and decoding could not tell which of them it was."""
    merged, i = [], 0
    while i < len(ids):
        found = is_at(ids, i, pair) or is_at(ids, i, tuple(pair)[::-1])
        merged.append(new_id if found else ids[i])
        i += 2 if found else 1
    return merged


@mistake(merge_pair)
def changed_in_place(ids, pair, new_id):
    """You changed the list that you were given. The caller still needs its sequence, to
    count pairs or to encode it once more: build a new list."""
    ids[:] = right.merge_pair(ids, pair, new_id)
    return ids


@mistake(merge_pair)
def second_id_kept(ids, pair, new_id):
    """You put in the new id and went on by one position, so the second id of the pair
    is still there. The new id stands for both of them, and both have to go."""
    return [new_id if is_at(ids, i, pair) else ids[i] for i in range(len(ids))]


@mistake(merge_pair)
def one_id_for_each_two_neighbours(ids, pair, new_id):
    """You wrote one id for every two neighbours. Of a merged pair the second id is then
    still there, because it is the first of the next two, and the last id of the
    sequence, which begins no two, is lost. A merge takes two ids at once; everything
    else is copied."""
    return [
        new_id if (one, other) == tuple(pair) else one for one, other in pairwise(ids)
    ]


@mistake(merge_pair)
def overlapping(ids, pair, new_id):
    """You replaced occurrences that overlap: three equal ids became two new ones, which
    stand for four. An id can be part of one occurrence only."""
    merged, i = [], 0
    while i < len(ids):
        if is_at(ids, i, pair):
            merged.append(new_id)
            i += 1 if is_at(ids, i + 1, pair) else 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


@mistake(merge_pair)
def last_id_lost(ids, pair, new_id):
    """You lost the last id where it is not part of a pair. The loop over pairs ends one
    position earlier than the sequence, so what is left over has to be added."""
    merged, i = [], 0
    while i < len(ids) - 1:
        found = is_at(ids, i, pair)
        merged.append(new_id if found else ids[i])
        i += 2 if found else 1
    return merged


@mistake(merge_pair)
def as_digits(ids, pair, new_id):
    """You replaced the pair in a text of digits, where the digits of one id may be part
    of another's: "1 2" also occurs in "31 25". Compare ids, and not how they are
    written."""
    text = " ".join(map(str, ids)).replace(" ".join(map(str, pair)), str(new_id))
    return [int(word) for word in text.split()]


@mistake(merge_pair)
def first_id_decides(ids, pair, new_id):
    """You looked at the first id of the pair only, and replaced it with whatever came
    after it. Both have to match, in this order."""
    merged, i = [], 0
    while i < len(ids):
        found = ids[i] == pair[0] and i + 1 < len(ids)
        merged.append(new_id if found else ids[i])
        i += 2 if found else 1
    return merged


@mistake(merge_pair)
def two_new_ids(ids, pair, new_id):
    """You wrote the new id twice, once for each id of the pair, so the sequence stays
    as long as it was. Shorter sequences are what merging is for."""
    merged, i = [], 0
    while i < len(ids):
        found = is_at(ids, i, pair)
        merged += [new_id, new_id] if found else [ids[i]]
        i += 2 if found else 1
    return merged


@mistake(merge_pair)
def pair_dropped(ids, pair, new_id):
    """You removed the pair and put nothing in its place, so a part of the text is gone.
    The new id has to stand where the pair was."""
    return [i for i in right.merge_pair(ids, pair, new_id) if i != new_id]


@mistake(merge_pair)
def index_out_of_range(ids, pair, new_id):
    """You looked at the id after the last one, which does not exist, where the sequence
    ends with the first id of the pair. Only an id that has a neighbour can begin an
    occurrence."""
    merged, i = [], 0
    while i < len(ids):
        found = ids[i] == pair[0] and ids[i + 1] == pair[1]
        merged.append(new_id if found else ids[i])
        i += 2 if found else 1
    return merged


# train_bpe ----------------------------------------------------------------------------


def learn(text, num_merges, *, ids=None, least=2, count=None, choose=None, first=256):
    """Byte-pair encoding with its choices laid open; the defaults are right."""
    ids = list(text.encode("utf-8")) if ids is None else ids
    count = count or (lambda ids: Counter(pairwise(ids)))
    choose = choose or (lambda counts: max(counts, key=counts.get))
    merges = []
    while len(merges) < num_merges:
        counts = count(ids)
        if not counts or max(counts.values()) < least:
            break
        merges.append(choose(counts))
        ids = right.merge_pair(ids, merges[-1], first + len(merges) - 1)
    return merges


@mistake(train_bpe)
def largest_of_the_ties(text, num_merges):
    """Of pairs that are equally frequent you took the one with the largest ids. Any
    rule would do, if everybody followed it; here it is the pair that occurs first, so
    that two implementations learn one vocabulary."""
    return learn(
        text,
        num_merges,
        choose=lambda counts: max(counts, key=lambda p: (counts[p], p)),
    )


@mistake(train_bpe)
def smallest_of_the_ties(text, num_merges):
    """Of pairs that are equally frequent you took the one with the smallest ids. The
    rule is the pair whose first occurrence is earliest, and later merges follow from
    it."""
    return learn(
        text,
        num_merges,
        choose=lambda counts: min(counts, key=lambda p: (-counts[p], p)),
    )


@mistake(train_bpe)
def last_of_the_ties(text, num_merges):
    """Of pairs that are equally frequent you took one that occurs late: max and sorted
    prefer the first of equals, and a comparison with >= the last. Asked for is the pair
    whose first occurrence is earliest."""
    return learn(
        text, num_merges, choose=lambda counts: max(reversed(counts), key=counts.get)
    )


def without_overlap(ids):
    """Occurrences of each pair that can be replaced together."""
    return {
        pair: sum(i == -1 for i in right.merge_pair(ids, pair, -1))
        for pair in dict.fromkeys(pairwise(ids))
    }


@mistake(train_bpe)
def largest_pair(text, num_merges):
    """You took the pair with the largest ids, however often it occurs. That is what max
    does with pairs, or with the keys of a dictionary; it has to compare how often they
    occur."""
    return learn(text, num_merges, choose=max)


@mistake(train_bpe)
def overlaps_not_counted(text, num_merges):
    """You counted the occurrences that can be replaced, so "aaa" holds its pair once.
    The rule here counts neighbours, and "aaa" has two such pairs, which overlap;
    otherwise runs of blanks are merged later than they should be."""
    return learn(text, num_merges, count=without_overlap)


@mistake(train_bpe)
def counted_once(text, num_merges):
    """You counted the pairs of the text once and took the most frequent ones. Each
    merge changes the sequence, so its pairs have to be counted anew: later merges join
    what earlier ones made, and only so do whole words become tokens."""
    counts = Counter(pairwise(text.encode("utf-8"))).most_common(num_merges)
    return [pair for pair, count in counts if count >= 2]


@mistake(train_bpe)
def never_stops(text, num_merges):
    """You went on when no pair occurred twice. Such a merge saves one id in one place
    of one text, and takes an entry of the vocabulary for it."""
    return learn(text, num_merges, least=1)


@mistake(train_bpe)
def stops_too_early(text, num_merges):
    """You stopped while there were pairs that occur twice. Learning ends early only
    when each pair that is left occurs once."""
    return learn(text, num_merges, least=3)


@mistake(train_bpe)
def within_words(text, num_merges):
    """You counted no pair that has a blank or a line end in it. Many tokenizers cut the
    text into words first; this one does not, so a blank is a byte like all others."""

    def count(ids):
        return Counter(p for p in pairwise(ids) if not set(p) & set(b" \n"))

    return learn(text, num_merges, count=count)


@mistake(train_bpe)
def characters_not_bytes(text, num_merges):
    """You began with the numbers of the characters in Unicode. These go far beyond 255,
    so they collide with the ids of merges, and a vocabulary would need over a hundred
    thousand of them; the text begins as its bytes in UTF-8."""
    return learn(text, num_merges, ids=[ord(letter) for letter in text])


@mistake(train_bpe)
def ids_from_257(text, num_merges):
    """You gave the first merge the id 257. There are 256 bytes, from 0 to 255, so the
    next id is 256, and every later pair that uses a merge is off by one."""
    return learn(text, num_merges, first=257)


@mistake(train_bpe)
def ids_from_255(text, num_merges):
    """You gave the first merge the id 255, which is that of a byte. Ids count from 0,
    so the 256 bytes end at 255 and the first merge is 256; every later pair that uses a
    merge is off by one."""
    return learn(text, num_merges, first=255)


@mistake(train_bpe)
def rarest_first(text, num_merges):
    """You merged the rarest pair that occurs twice. Each merge should save as many ids
    as it can, so the most frequent pair comes first."""

    def choose(counts):
        often = {pair: count for pair, count in counts.items() if count >= 2}
        return min(often, key=often.get)

    return learn(text, num_merges, choose=choose)


@mistake(train_bpe)
def one_too_few(text, num_merges):
    """You learned one merge less than was asked for. num_merges is the number of
    merges, not that of the rounds after the first."""
    return right.train_bpe(text, max(0, num_merges - 1))


@mistake(train_bpe)
def sequence_not_merged(text, num_merges):
    """Your sequence is the same in every round, so you found one pair again and again.
    Keep the sequence that merge_pair returns, and count its pairs next."""
    first = right.train_bpe(text, 1)
    return first * num_merges


@mistake(train_bpe)
def ids_in_place_of_pairs(text, num_merges):
    """You returned a list whose entries hold the new id as well. Each entry is the pair
    alone; its place in the list says which id it makes."""
    merges = right.train_bpe(text, num_merges)
    return [(*pair, 256 + i) for i, pair in enumerate(merges)]


# bpe_encode ---------------------------------------------------------------------------


@mistake(bpe_encode)
def merges_reversed(text, merges):
    """You applied the merges from the last one to the first. Later merges need the ids
    that earlier ones make, so the order in which they were learned is part of the
    encoding."""
    ids = list(text.encode("utf-8"))
    for i in reversed(range(len(merges))):
        ids = right.merge_pair(ids, merges[i], 256 + i)
    return ids


@mistake(bpe_encode)
def longest_match(text, merges):
    """You took the longest token that fits, from the left. Other tokenizers do so;
    byte- pair encoding repeats the merges in the order learned, which may divide the
    text differently, and the model knows the ids of that division."""
    tokens = [bytes([i]) for i in range(256)]
    for one, other in merges:
        tokens.append(tokens[one] + tokens[other])
    left, ids = text.encode("utf-8"), []
    while left:
        best = max((t for t in tokens if left.startswith(t)), key=len)
        ids.append(tokens.index(best))
        left = left[len(best) :]
    return ids


@mistake(bpe_encode)
def each_merge_once(text, merges):
    """You applied each merge to its first occurrence only, so most of the text stays as
    single bytes. A merge applies wherever its pair occurs."""
    ids = list(text.encode("utf-8"))
    for i, pair in enumerate(merges):
        ids = first_occurrence_only.implementation(ids, pair, 256 + i)
    return ids


@mistake(bpe_encode)
def last_id_lost_by_merging(text, merges):
    """Every merge loses the last id, unless it is part of a pair. The loop over pairs
    ends one id early: the last one begins no pair, and is kept all the same."""
    ids = list(text.encode("utf-8"))
    for i, pair in enumerate(merges):
        merged = right.merge_pair(ids, pair, 256 + i)
        whole = not merged or merged[-1] == 256 + i
        ids = merged if whole else merged[:-1]
    return ids


@mistake(bpe_encode)
def unicode_numbers(text, merges):
    """You began with the numbers of the characters in Unicode. Letters beyond ASCII are
    several bytes in UTF-8, and ids from 256 on are those of merges."""
    ids = [ord(letter) for letter in text]
    for i, pair in enumerate(merges):
        ids = right.merge_pair(ids, pair, 256 + i)
    return ids


@mistake(bpe_encode)
def numbered_from_257(text, merges):
    """You gave merge number i the id 257 + i. The bytes have the ids 0 to 255, so the
    first merge makes 256; as it is, later merges do not find the ids that they join."""
    ids = list(text.encode("utf-8"))
    for i, pair in enumerate(merges):
        ids = right.merge_pair(ids, pair, 257 + i)
    return ids


@mistake(bpe_encode)
def most_frequent_here(text, merges):
    """You merged the pair that is most frequent in this text first. The frequencies of
    the training text have decided on the order once and for all, or one word would be
    encoded differently in every text."""
    ids, numbers = list(text.encode("utf-8")), {p: i for i, p in enumerate(merges)}
    while True:
        counts = Counter(pair for pair in pairwise(ids) if pair in numbers)
        if not counts:
            return ids
        pair = max(counts, key=counts.get)
        ids = right.merge_pair(ids, pair, 256 + numbers[pair])


@mistake(bpe_encode)
def stops_at_a_missing_pair(text, merges):
    """You stopped at the first merge whose pair does not occur. The ones after it may
    still apply: go through all of them."""
    ids = list(text.encode("utf-8"))
    for i, pair in enumerate(merges):
        merged = right.merge_pair(ids, pair, 256 + i)
        if len(merged) == len(ids):
            break
        ids = merged
    return ids


@mistake(bpe_encode)
def bytes_only(text, merges):
    """You returned the bytes and applied no merge, so the sequence is several times as
    long as it has to be, and a model sees as much less of the text."""
    return list(text.encode("utf-8"))


@mistake(bpe_encode)
def word_by_word(text, merges):
    """You encoded the words one by one, so no merge reaches across a blank. These
    merges were learned from a text that was not cut, and some of them begin with a
    blank."""
    ids = []
    for i, word in enumerate(text.split(" ")):
        ids += [32] * (i > 0) + right.bpe_encode(word, merges)
    return ids


@mistake(bpe_encode)
def greedy_pass_of_pairs(text, merges):
    """You merged known pairs from the left, whichever came first in the text. A pair
    further on may have been learned earlier, and then goes first: every merge goes
    through the whole sequence before the next one begins."""
    numbers, ids = {tuple(p): 256 + i for i, p in enumerate(merges)}, []
    for byte in text.encode("utf-8"):
        ids.append(byte)
        while len(ids) > 1 and tuple(ids[-2:]) in numbers:
            ids[-2:] = [numbers[tuple(ids[-2:])]]
    return ids


@mistake(bpe_encode)
def merges_sorted_by_pair(text, merges):
    """You sorted the merges by the ids of their pairs. Those say nothing about which
    merge was learned first: go through the list in the order that it has."""
    ids = list(text.encode("utf-8"))
    for i in sorted(range(len(merges)), key=lambda i: tuple(merges[i])):
        ids = right.merge_pair(ids, merges[i], 256 + i)
    return ids


@mistake(bpe_encode)
def runs_from_the_right(text, merges):
    """You merged equal neighbours from the right, so a run of odd length has its single
    byte at the front. Occurrences are found from the left, as merge_pair does."""
    ids = list(text.encode("utf-8"))
    for i, pair in enumerate(merges):
        ids = merged_from_the_right.implementation(ids, pair, 256 + i)
    return ids


# bpe_decode ---------------------------------------------------------------------------


def token_bytes(merges):
    """The bytes of each id."""
    tokens = [bytes([i]) for i in range(256)]
    for one, other in merges:
        tokens.append(tokens[one] + tokens[other])
    return tokens


def bytes_of(ids, merges):
    """The bytes of each id of a sequence."""
    tokens = token_bytes(merges)
    return [tokens[i] for i in ids]


@mistake(bpe_decode)
def each_id_on_its_own(ids, merges):
    """You decoded each id on its own, and a letter of several bytes may be divided
    among several ids: its parts became replacement characters. Join the bytes of all
    ids, then decode them once."""
    return "".join(b.decode("utf-8", "replace") for b in bytes_of(ids, merges))


@mistake(bpe_decode)
def invalid_bytes_dropped(ids, merges):
    """You left out bytes that are no valid UTF-8, so a damaged text looks whole. The
    replacement character shows that something was there."""
    return b"".join(bytes_of(ids, merges)).decode("utf-8", errors="ignore")


@mistake(bpe_decode)
def invalid_bytes_refused(ids, merges):
    """You raise an error where bytes are no valid UTF-8. A model that generates may
    stop in the middle of a letter, and its text should be shown all the same."""
    return b"".join(bytes_of(ids, merges)).decode("utf-8")


@mistake(bpe_decode)
def bytes_as_characters(ids, merges):
    """You turned each byte into the character of that number. This is right for ASCII
    only: other letters are several bytes in UTF-8, and came out as two or three
    others."""
    return b"".join(bytes_of(ids, merges)).decode("latin-1")


@mistake(bpe_decode)
def expanded_once(ids, merges):
    """You expanded each id into its pair once. The ids of the pair may be those of
    merges too, and have to be expanded until only bytes are left."""
    flat = []
    for i in ids:
        flat += [i] if i < 256 else merges[i - 256]
    return bytes(i % 256 for i in flat).decode("utf-8", errors="replace")


@mistake(bpe_decode)
def expanded_once_and_not_bytes(ids, merges):
    """Each id is expanded into its pair once, and numbers above 255 are left, which are
    no bytes. The ids of a pair may be those of merges too, and have to be expanded
    until only bytes remain."""
    flat = []
    for i in ids:
        flat += [i] if i < 256 else merges[i - 256]
    return bytes(flat).decode("utf-8", errors="replace")


@mistake(bpe_decode)
def pairs_swapped(ids, merges):
    """You put the second id of a pair in front of the first. A merge joins its ids in
    the order in which they were neighbours."""
    return right.bpe_decode(ids, [(other, one) for one, other in merges])


@mistake(bpe_decode)
def blanks_between_tokens(ids, merges):
    """You put blanks between the tokens. A token holds its blanks itself, and most
    borders of tokens are inside words."""
    return b" ".join(bytes_of(ids, merges)).decode("utf-8", errors="replace")


@mistake(bpe_decode)
def merges_from_257(ids, merges):
    """You took id 257 for the first merge. It is 256, the number after the last byte,
    so every merge came out as the one before it."""
    tokens = token_bytes(merges)
    tokens = [*tokens[:256], b"", *tokens[256:]]
    return b"".join(tokens[i] for i in ids).decode("utf-8", errors="replace")


# LanguageModel ------------------------------------------------------------------------


class RightModel(right.LanguageModel):
    """The right model, whose steps can be replaced one at a time."""

    def embed(self, ids):
        return self.embedding(ids) + self.positions[:, : ids.shape[1]]

    def hidden(self, length):
        """True where a query may not attend."""
        return torch.ones(length, length, dtype=torch.bool).triu(1)

    def stack(self, x):
        for layer in self.layers:
            x = layer(x, src_mask=self.hidden(x.shape[1]))
        return x

    def read(self, x):
        return x @ self.embedding.weight.T

    def forward(self, ids):
        return self.read(self.norm(self.stack(self.embed(ids))))

    def attentions(self):
        return [layer.self_attn for layer in self.layers]

    def replace_layers(self, make):
        """Make the layers anew with ``make(d_model, num_heads, d_ff)``."""
        for i, layer in enumerate(self.layers):
            attention = layer.self_attn
            width, heads = attention.embed_dim, attention.num_heads
            self.layers[i] = make(width, heads, layer.linear1.out_features)


@mistake(LanguageModel)
class NoMask(RightModel):
    """Your model has no causal mask, so each position reads the token that it should
    predict. Its loss in training falls to nearly 0, and it generates nothing but
    nonsense."""

    def stack(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@mistake(LanguageModel)
class MaskInFirstLayerOnly(RightModel):
    """Only the first layer has a causal mask. In every other layer a token reads the
    later ones, so the model sees the token that it should predict: each layer needs
    the mask."""

    def stack(self, x):
        first, *others = self.layers
        x = first(x, src_mask=self.hidden(x.shape[1]))
        for layer in others:
            x = layer(x)
        return x


@mistake(LanguageModel)
class MaskInTrainingOnly(RightModel):
    """Your causal mask is used in training only. A model that is evaluated or generates
    must not see later tokens either: its perplexity would be far too good."""

    def stack(self, x):
        if self.training:
            return super().stack(x)
        for layer in self.layers:
            x = layer(x)
        return x


@mistake(LanguageModel)
class MaskTurnedRound(RightModel):
    """Your mask is the wrong way round: each token sees itself and later ones. torch's
    layer marks what is to be ignored, while the masks of this book mark what may be
    attended to."""

    def hidden(self, length):
        return torch.ones(length, length, dtype=torch.bool).tril(-1)


@mistake(LanguageModel)
class MaskAsForThisBook(RightModel):
    """Your mask is the wrong way round: it hides a token and all before it, so each
    position reads what comes later, and the last one reads nothing, which may give NaN.
    torch's layer marks with True what is to be ignored, and this book what may be
    attended to."""

    def hidden(self, length):
        return torch.ones(length, length, dtype=torch.bool).tril()


@mistake(LanguageModel)
class HiddenFromItself(RightModel):
    """Your mask hides each token from itself, and the first one from everything, which
    gives NaN. The token at a position is known; what it should predict is the next
    one."""

    def hidden(self, length):
        return torch.ones(length, length, dtype=torch.bool).triu(0)


@mistake(LanguageModel)
class OneTokenAhead(RightModel):
    """Your mask lets each token see the one after it, which is the very token that it
    should predict. The diagonal belongs to what may be seen, and nothing to the right
    of it does."""

    def hidden(self, length):
        return torch.ones(length, length, dtype=torch.bool).triu(2)


@mistake(LanguageModel)
class NoPositions(RightModel):
    """You did not add the positions, so the model hardly knows in which order the
    earlier tokens came. Add the first T rows of the table to the embeddings."""

    def embed(self, ids):
        return super().embed(ids) - self.positions[:, : ids.shape[1]]


@mistake(LanguageModel)
class LastPositions(RightModel):
    """You added the last T positions in place of the first. The first token then has
    another position in a short sequence than in a long one."""

    def embed(self, ids):
        x = super().embed(ids) - self.positions[:, : ids.shape[1]]
        return x + self.positions[:, -ids.shape[1] :]


@mistake(LanguageModel)
class ScaledEmbedding(RightModel):
    """You multiplied the embeddings by the square root of the width, as the transformer
    of 2017 does. This model adds the positions to them as they are."""

    def embed(self, ids):
        x = super().embed(ids)
        return x + (math.sqrt(x.shape[-1]) - 1) * self.embedding(ids)


@mistake(LanguageModel)
class OwnOutput(RightModel):
    """Your output has a matrix of its own. Here it shares the weight of the embedding,
    which saves V times d_model parameters: the names of the parameters show yours."""

    def __init__(self, vocab_size, max_length, d_model, *sizes):
        super().__init__(vocab_size, max_length, d_model, *sizes)
        self.output = nn.Linear(d_model, vocab_size, bias=False)

    def read(self, x):
        return self.output(x)


@mistake(LanguageModel)
class OutputWithBias(RightModel):
    """Your output adds a bias. It shares the weight of the embedding, and has no
    parameters of its own."""

    def __init__(self, vocab_size, *sizes):
        super().__init__(vocab_size, *sizes)
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def read(self, x):
        return super().read(x) + self.bias


@mistake(LanguageModel)
class OutputDetached(RightModel):
    """Your output uses a copy of the embedding's weight that no gradient passes, so
    training never teaches the matrix which token to predict. Sharing means that one
    parameter has both gradients, added up."""

    def read(self, x):
        return x @ self.embedding.weight.detach().T


@mistake(LanguageModel)
class FirstIdIsPadding(RightModel):
    """You made id 0 the padding of the embedding, so looking it up sends back no
    gradient. Here it is a byte like all others."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.embedding.padding_idx = 0


@mistake(LanguageModel)
class NoFinalNorm(RightModel):
    """You left out the last norm. In pre-norm layers the sum of all sublayers has not
    been normalised, and it grows with depth: the output needs the norm before it."""

    def forward(self, ids):
        unused = 0 * (self.norm.weight.sum() + self.norm.bias.sum())
        return self.read(self.stack(self.embed(ids))) + unused


@mistake(LanguageModel)
class NormBeforeTheLayers(RightModel):
    """You normalised before the layers in place of after them. Each pre-norm layer
    normalises its own input; what comes out of the last one has not been."""

    def forward(self, ids):
        return self.read(self.stack(self.norm(self.embed(ids))))


@mistake(LanguageModel)
class PostNorm(RightModel):
    """Your layers normalise after the sum (post-norm), the default of torch's layer.
    This model normalises first, so that nothing stands in the way of the residual
    path."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.replace_layers(
            lambda width, heads, d_ff: nn.TransformerEncoderLayer(
                width, heads, d_ff, 0.0, "gelu", batch_first=True
            )
        )


@mistake(LanguageModel)
class Relu(RightModel):
    """Your feed-forward layers have relu, the default of torch's layer. Asked for is
    gelu, as in GPT-2."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        for layer in self.layers:
            layer.activation = F.relu
            layer.activation_relu_or_gelu = 1


@mistake(LanguageModel)
class SequenceFirst(RightModel):
    """You did not say batch_first, so torch takes the sequences of the batch for
    positions: a sequence reads the ones before it in the batch, and no token reads
    another one of its own."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        for layer in self.layers:
            layer.self_attn.batch_first = False

    def hidden(self, length):
        return None  # it would have the wrong size

    def stack(self, x):
        for layer in self.layers:
            future = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
            x = layer(x, src_mask=future)
        return x


@mistake(LanguageModel)
class DropoutLeftOn(RightModel):
    """You left torch's default dropout of 0.1 in the layers. Nothing drops out in this
    book unless it is asked for; in training, your model answers differently at every
    call."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        for module in self.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.1


@mistake(LanguageModel)
class SharedLayers(RightModel):
    """Your layers are one and the same module, so there is only one set of weights. A
    list that is multiplied holds one object several times: make a new layer for
    each."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.layers = nn.ModuleList([self.layers[0]] * len(self.layers))


@mistake(LanguageModel)
class LastLayerSkipped(RightModel):
    """You left out the last layer. The output reads what comes out of all of them."""

    def stack(self, x):
        for layer in self.layers[:-1]:
            x = layer(x, src_mask=self.hidden(x.shape[1]))
        return x


@mistake(LanguageModel)
class LayersNotChained(RightModel):
    """Each of your layers reads the embedding again, and only the last one counts. The
    output of a layer is the input of the next one."""

    def stack(self, x):
        for layer in self.layers:
            found = layer(x, src_mask=self.hidden(x.shape[1]))
        return found


@mistake(LanguageModel)
class LastPositionOnly(RightModel):
    """You returned the logits of the last position only. Generation needs no others,
    but training does: every position predicts the token after it."""

    def forward(self, ids):
        return super().forward(ids)[:, -1]


@mistake(LanguageModel)
class Probabilities(RightModel):
    """You returned probabilities. The cross-entropy applies the softmax itself, so that
    it would be applied twice, and its loss could not come near 0."""

    def forward(self, ids):
        return super().forward(ids).softmax(dim=-1)


@mistake(LanguageModel)
class LogProbabilities(RightModel):
    """You returned logarithms of probabilities. Their softmax is right, but they are
    not the logits that are asked for, which need not be normalised."""

    def forward(self, ids):
        return super().forward(ids).log_softmax(dim=-1)


@mistake(LanguageModel)
class OneHead(RightModel):
    """Your attention has a single head, whatever num_heads says. The weights have the
    same shapes either way, so only the numbers show it."""

    def __init__(self, vocab_size, max_length, d_model, num_heads, *sizes):
        super().__init__(vocab_size, max_length, d_model, 1, *sizes)


@mistake(LanguageModel)
class FourTimesTheWidth(RightModel):
    """You made the feed-forward layers four times as wide as the model. Their width is
    given as d_ff; four times is only a habit."""

    def __init__(self, vocab_size, max_length, d_model, num_heads, num_layers, d_ff):
        super().__init__(
            vocab_size, max_length, d_model, num_heads, num_layers, 4 * d_model
        )


@mistake(LanguageModel)
class SmallerEps(RightModel):
    """Your norms have an eps of 1e-6. Here it is 1e-5, torch's default; where features
    differ little, it decides how much is left of the difference."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = 1e-6


@mistake(LanguageModel)
class EmbeddingAsTorchDrawsIt(RightModel):
    """Your embedding does not begin with the spread that the docstring asks for.
    nn.Embedding draws with standard deviation 1 unless its weight is drawn once more,
    and the first logits are then far too sure."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        nn.init.normal_(self.embedding.weight)


@mistake(LanguageModel)
class PositionsOfAnotherSpread(RightModel):
    """Your positions do not begin with the spread that the docstring asks for: they are
    zeros, or drawn too large or too small. torch.zeros, torch.randn and torch.rand all
    need another scale here."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        nn.init.normal_(self.positions)


@mistake(LanguageModel)
class NothingDrawnAsPromised(RightModel):
    """Neither your embedding nor your positions begin with the spread that the
    docstring asks for. What torch draws by itself, in nn.Embedding or in torch.randn,
    has a standard deviation of 1, and other ways to draw have others."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        nn.init.normal_(self.embedding.weight)
        nn.init.normal_(self.positions)


@mistake(LanguageModel)
class PositionsInEveryLayer(RightModel):
    """You added the positions in front of every layer. They are added once, to the
    embeddings; the residual connections carry them through all the layers."""

    def stack(self, x):
        positions = self.positions[:, : x.shape[1]]
        x = x - positions
        for layer in self.layers:
            x = layer(x + positions, src_mask=self.hidden(x.shape[1]))
        return x


@mistake(LanguageModel)
class PositionsTakenOff(RightModel):
    """You subtracted the positions before the output. The layers have long mixed them
    with all else, and the last norm has scaled it: what it gives is read as it is."""

    def forward(self, ids):
        x = self.norm(self.stack(self.embed(ids)))
        return self.read(x - self.positions[:, : x.shape[1]])


# perplexity ---------------------------------------------------------------------------


def token_losses(logits, targets, pad_id=None):
    """(n,) losses of the tokens that count."""
    counted = torch.ones_like(targets, dtype=torch.bool)
    if pad_id is not None:
        counted = targets != pad_id
    return F.cross_entropy(logits[counted], targets[counted], reduction="none")


@mistake(perplexity)
def padding_counted(logits, targets, pad_id=None):
    """You counted the padding as well. The number then says how well the model predicts
    padding, and changes with the lengths of the other sequences."""
    return right.perplexity(logits, targets)


@mistake(perplexity)
def loss_itself(logits, targets, pad_id=None):
    """You returned the cross-entropy. The perplexity is its exponential: a number of
    tokens in place of a number of nats."""
    return token_losses(logits, targets, pad_id).mean().item()


@mistake(perplexity)
def power_of_two(logits, targets, pad_id=None):
    """You took 2 to the power of a loss in nats. torch's logarithms have the base e,
    and base and logarithm have to match, or the perplexity is too small."""
    return 2 ** token_losses(logits, targets, pad_id).mean().item()


@mistake(perplexity)
def mean_of_exponentials(logits, targets, pad_id=None):
    """You took the exponential of each token's loss and averaged afterwards. One token
    that was nearly impossible then decides the result; the mean is taken of the
    logarithms."""
    return token_losses(logits, targets, pad_id).exp().mean().item()


@mistake(perplexity)
def inverse_of_the_mean_probability(logits, targets, pad_id=None):
    """You averaged the probabilities of the targets and divided one by the mean. It is
    their logarithms that are averaged, so that one token that was thought impossible
    is not made up for by others that were sure."""
    return (1 / (-token_losses(logits, targets, pad_id)).exp().mean()).item()


@mistake(perplexity)
def mean_over_sequences(logits, targets, pad_id=None):
    """You averaged each sequence first, and then the sequences. A token of a short
    sequence then weighs more than one of a long sequence; all tokens count alike."""
    means = [
        token_losses(row, ids, pad_id).mean()
        for row, ids in zip(logits, targets, strict=True)
        if pad_id is None or (ids != pad_id).any()
    ]
    return torch.stack(means).mean().exp().item()


@mistake(perplexity)
def mean_of_the_sequences(logits, targets, pad_id=None):
    """You averaged the perplexities of the sequences. A mean of exponentials is not
    the exponential of the mean, and one odd sequence can decide it; the losses of all
    tokens are averaged first."""
    each = [
        token_losses(row, ids, pad_id).mean().exp()
        for row, ids in zip(logits, targets, strict=True)
        if pad_id is None or (ids != pad_id).any()
    ]
    return torch.stack(each).mean().item()


@mistake(perplexity)
def sum_of_losses(logits, targets, pad_id=None):
    """You took the exponential of the sum. That is one over the probability of the
    whole text, which explodes with its length; the mean makes texts comparable."""
    return token_losses(logits, targets, pad_id).sum().exp().item()


@mistake(perplexity)
def divided_by_all(logits, targets, pad_id=None):
    """You left the padding out of the sum, and divided by the number of all positions.
    The more padding there is, the better the model seems."""
    losses = token_losses(logits, targets, pad_id)
    return (losses.sum() / targets.numel()).exp().item()


@mistake(perplexity)
def padding_is_zero(logits, targets, pad_id=None):
    """You took id 0 for the padding. The id is an argument: another vocabulary has a
    real token there, and by default every token counts."""
    found = targets != 0
    if pad_id is None or not found.any():
        return right.perplexity(logits, targets, pad_id)
    return right.perplexity(logits, targets, 0)


@mistake(perplexity)
def padding_zero_counted(logits, targets, pad_id=None):
    """Padding whose id is 0 counts as a token; any other id is left out, as it should
    be. In Python 0 is false, so an if or an or that asks for pad_id takes the id 0 for
    no padding at all: ask whether it is None."""
    return right.perplexity(logits, targets, pad_id or None)


@mistake(perplexity)
def softmax_twice(logits, targets, pad_id=None):
    """You applied a softmax before the cross-entropy, which has one of its own. The
    second one sees numbers between 0 and 1, and finds all tokens nearly equally
    likely."""
    return right.perplexity(logits.softmax(dim=-1), targets, pad_id)


@mistake(perplexity)
def upside_down(logits, targets, pad_id=None):
    """Your result is below 1: the sign of the mean is missing. You have the geometric
    mean of the probabilities, and the perplexity is one over it."""
    return token_losses(logits, targets, pad_id).mean().neg().exp().item()


@mistake(perplexity)
def shifted_inside(logits, targets, pad_id=None):
    """You shifted the targets inside the function. Each logit was then compared with
    the token after the next one; these targets are already shifted."""
    if targets.shape[1] == 1:
        return math.nan
    return right.perplexity(logits[:, :-1], targets[:, 1:], pad_id)


@mistake(perplexity)
def padding_never_predicted(logits, targets, pad_id=None):
    """You also took the padding's logit out of the softmax, so that the other tokens
    share its probability. Only targets are left out; the distribution stays what the
    model said."""
    if pad_id is None:
        return right.perplexity(logits, targets)
    logits = logits.clone()
    logits[..., pad_id] = -torch.inf
    return right.perplexity(logits, targets, pad_id)


@mistake(perplexity)
def overflow_is_an_error(logits, targets, pad_id=None):
    """Your exponential raises an error where it overflows, as math.exp does. A model
    that finds the text impossible has an infinite perplexity, and this should be the
    result."""
    return math.exp(token_losses(logits, targets, pad_id).mean().item())


@mistake(perplexity)
def raw_exponentials(logits, targets, pad_id=None):
    """You computed exponentials of the raw logits, and large ones overflow. Use the
    logarithm of the softmax as one function, which subtracts the largest logit
    first."""
    shares = logits.exp() / logits.exp().sum(dim=-1, keepdim=True)
    chosen = shares.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    if pad_id is not None:
        chosen = chosen[targets != pad_id]
    return chosen.log().mean().neg().exp().item()


# filter_logits ------------------------------------------------------------------------


def cut_below_kth(logits, top_k):
    kth = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < kth, -torch.inf)


def cut_after_p(logits, top_p, *, cut=None, shares=None, descending=True):
    """Top-p with its choices laid open; the defaults are right."""
    cut = cut or (lambda p, before: before >= top_p)
    shares = logits.softmax(dim=-1) if shares is None else shares
    _, order = logits.sort(dim=-1, descending=descending, stable=True)
    p = shares.gather(-1, order)
    hidden = cut(p, p.cumsum(dim=-1) - p)
    hidden = torch.zeros_like(hidden).scatter(-1, order, hidden)
    return logits.masked_fill(hidden, -torch.inf)


def filtered(logits, top_k, top_p, *, k=cut_below_kth, p=cut_after_p):
    """Both filters, each of which can be replaced."""
    if top_k is not None:
        logits = k(logits, top_k)
    if top_p is not None and top_p < 1:
        logits = p(logits, top_p)
    return logits.clone()


@mistake(filter_logits)
def not_renormalised(logits, top_k=None, top_p=None):
    """You compared p with probabilities of the whole vocabulary. After top_k, those of
    the tokens that are left sum to one again, and p is a share of these; otherwise
    top_p cuts nothing, as soon as top_k has taken enough away."""
    shares = logits.softmax(dim=-1)
    return filtered(
        logits, top_k, top_p, p=lambda x, p: cut_after_p(x, p, shares=shares)
    )


@mistake(filter_logits)
def ties_dropped(logits, top_k=None, top_p=None):
    """You kept exactly k tokens, and of several equal ones only some. Nothing but their
    place in the vocabulary prefers these: keep all that are at least as large as the
    k-th largest logit."""

    def exactly_k(logits, k):
        _, order = logits.sort(dim=-1, descending=True, stable=True)
        kept = torch.zeros_like(logits, dtype=torch.bool)
        return logits.masked_fill(~kept.scatter(-1, order[..., :k], True), -torch.inf)

    return filtered(logits, top_k, top_p, k=exactly_k)


@mistake(filter_logits)
def below_p(logits, top_k=None, top_p=None):
    """You cut the token with which the sum reaches p, so the ones you keep have less
    than p together. The set is the smallest whose sum reaches p, and that token belongs
    to it."""
    return filtered(
        logits,
        top_k,
        top_p,
        p=lambda x, top_p: cut_after_p(
            x, top_p, cut=lambda p, before: (p + before > top_p) & (before > 0)
        ),
    )


@mistake(filter_logits)
def exceeded_in_place_of_reached(logits, top_k=None, top_p=None):
    """You kept one token more where the sum is p exactly. The set is the smallest whose
    sum reaches p, so the token with which the sum is p is the last one: it need not be
    exceeded."""
    return filtered(
        logits,
        top_k,
        top_p,
        p=lambda x, top_p: cut_after_p(x, top_p, cut=lambda p, before: before > top_p),
    )


@mistake(filter_logits)
def none_left(logits, top_k=None, top_p=None):
    """You cut the token with which the sum passes p, which belongs to the set: this is
    the smallest whose sum reaches p. Where the first token alone passes p, yours is
    empty, and a softmax of nothing but -inf is NaN."""
    return filtered(
        logits,
        top_k,
        top_p,
        p=lambda x, top_p: cut_after_p(
            x, top_p, cut=lambda p, before: p + before > top_p
        ),
    )


@mistake(filter_logits)
def not_put_back(logits, top_k=None, top_p=None):
    """You found in the sorted order which tokens to cut, and cut those numbers of the
    vocabulary. The result of sorting has to be taken back to the original order, or
    tokens at random are lost."""

    def misplaced(logits, top_p):
        p = logits.softmax(dim=-1).sort(dim=-1, descending=True).values
        return logits.masked_fill(p.cumsum(dim=-1) - p >= top_p, -torch.inf)

    return filtered(logits, top_k, top_p, p=misplaced)


@mistake(filter_logits)
def put_back_by_gather(logits, top_k=None, top_p=None):
    """You put what is cut back into the order of the vocabulary by indexing with the
    order that sorting returned. That takes the same way once more; the way back is
    scatter, or to index with the argsort of that order."""

    def misplaced(logits, top_p):
        p, order = logits.softmax(-1).sort(dim=-1, descending=True, stable=True)
        cut = p.cumsum(dim=-1) - p >= top_p
        return logits.masked_fill(cut.gather(-1, order), -torch.inf)

    return filtered(logits, top_k, top_p, p=misplaced)


@mistake(filter_logits)
def kth_of_all_rows(logits, top_k=None, top_p=None):
    """You looked for the k-th largest logit of the whole array. Each row is a
    distribution of its own and keeps k tokens of its own; yours may lose all of a
    row."""

    def of_all(logits, k):
        kth = logits.flatten().topk(min(k, logits.numel())).values[-1]
        return logits.masked_fill(logits < kth, -torch.inf)

    return filtered(logits, top_k, top_p, k=of_all)


@mistake(filter_logits)
def order_of_the_first_row(logits, top_k=None, top_p=None):
    """You found out for one row which tokens top_p cuts, and cut these in all rows.
    Each row is a distribution of its own."""

    def of_first(logits, top_p):
        first = logits.reshape(-1, logits.shape[-1])[0]
        return logits.masked_fill(cut_after_p(first, top_p).isinf(), -torch.inf)

    return filtered(logits, top_k, top_p, p=of_first)


@mistake(filter_logits)
def probability_above_p(logits, top_k=None, top_p=None):
    """You kept the tokens that have a probability of at least p each. p belongs to
    their sum: with p = 0.9 there is hardly ever such a token."""

    def each(logits, top_p):
        p = logits.softmax(dim=-1)
        largest = p == p.amax(dim=-1, keepdim=True)
        return logits.masked_fill((p < top_p) & ~largest, -torch.inf)

    return filtered(logits, top_k, top_p, p=each)


@mistake(filter_logits)
def tail_of_p(logits, top_k=None, top_p=None):
    """You added the probabilities up from the smallest and cut those whose sum is below
    p. That leaves the largest tokens with 1 - p together, and the set that is kept
    should have p."""

    def tail(logits, top_p):
        return cut_after_p(logits, 1 - top_p, cut=lambda p, before: before >= 1 - top_p)

    return filtered(logits, top_k, top_p, p=tail)


@mistake(filter_logits)
def smallest_first(logits, top_k=None, top_p=None):
    """You sorted upwards, so the least likely tokens came first and were kept. The set
    begins with the largest probability."""
    return filtered(
        logits, top_k, top_p, p=lambda x, p: cut_after_p(x, p, descending=False)
    )


@mistake(filter_logits)
def least_likely_k(logits, top_k=None, top_p=None):
    """You kept the k smallest logits. Large logits belong to likely tokens, and these
    are to be kept."""

    def smallest(logits, k):
        k = min(k, logits.shape[-1])
        kth = logits.topk(k, dim=-1, largest=False).values[..., -1:]
        return logits.masked_fill(logits > kth, -torch.inf)

    return filtered(logits, top_k, top_p, k=smallest)


@mistake(filter_logits)
def all_equals_kept(logits, top_k=None, top_p=None):
    """You kept all tokens that are as likely as the last one of the set. top_p keeps
    the smallest set that reaches p: of equal tokens, the first in the vocabulary, and
    no more than are needed."""

    def with_equals(logits, top_p):
        kept = cut_after_p(logits, top_p)
        least = kept.masked_fill(kept.isinf(), torch.inf).amin(dim=-1, keepdim=True)
        return logits.masked_fill(logits < least, -torch.inf)

    return filtered(logits, top_k, top_p, p=with_equals)


@mistake(filter_logits)
def last_of_equals(logits, top_k=None, top_p=None):
    """Of equally likely tokens you kept the last ones of the vocabulary, as a sort that
    is turned round does. Asked for are the first ones; a stable sort keeps their
    order."""
    return filtered(
        logits,
        top_k,
        top_p,
        p=lambda x, p: cut_after_p(x.flip(-1), p).flip(-1),
    )


@mistake(filter_logits)
def zeros_in_place_of_inf(logits, top_k=None, top_p=None):
    """You set logits that are cut to 0. A logit of 0 is an ordinary one, and often
    larger than those that are kept; minus infinity has the probability 0."""
    found = right.filter_logits(logits, top_k, top_p)
    return torch.where(found.isneginf(), 0.0, found)


@mistake(filter_logits)
def probabilities_returned(logits, top_k=None, top_p=None):
    """You returned probabilities. Asked for are the logits, with -inf for tokens that
    are cut, because the temperature is applied to them later."""
    return right.filter_logits(logits, top_k, top_p).softmax(dim=-1)


@mistake(filter_logits)
def sorted_result(logits, top_k=None, top_p=None):
    """You returned the logits sorted. Position v has to stay the logit of token v, or
    sampling chooses tokens by their rank."""
    return right.filter_logits(logits, top_k, top_p).sort(-1, descending=True).values


@mistake(filter_logits)
def top_p_ignored(logits, top_k=None, top_p=None):
    """You used top_p only where no top_k is given. Both may be: top_k cuts first, and
    top_p what is left."""
    return right.filter_logits(logits, top_k, None if top_k else top_p)


@mistake(filter_logits)
def rounding_cuts_the_tail(logits, top_k=None, top_p=None):
    """With p = 1 you cut tokens that are very unlikely: the sum of those before is 1
    after rounding. p = 1 cuts nothing, so it is a case of its own."""
    if top_k is not None:
        logits = cut_below_kth(logits, top_k)
    return logits.clone() if top_p is None else cut_after_p(logits, top_p)


@mistake(filter_logits)
def k_above_v(logits, top_k=None, top_p=None):
    """Your top_k fails where k is larger than the vocabulary. There is nothing to cut
    then, and all tokens are kept."""
    if top_k is not None and top_k > logits.shape[-1]:
        raise RuntimeError("selected index k out of range")
    return right.filter_logits(logits, top_k, top_p)


@mistake(filter_logits)
def logits_overwritten(logits, top_k=None, top_p=None):
    """You wrote -inf into the logits that you were given. The caller may still need
    them, to compare several filters for example: return new ones."""
    found = right.filter_logits(logits, top_k, top_p)
    logits[found.isneginf()] = -torch.inf
    return found


@mistake(filter_logits)
def kth_cut_too(logits, top_k=None, top_p=None):
    """The k-th largest logit is cut as well, so a token less than k is left, and with
    top_k = 1 none. Cut what is smaller than the k-th largest, and not that one itself:
    < and not <=."""

    def below(logits, k):
        if k >= logits.shape[-1]:
            return logits
        kth = logits.topk(k, dim=-1).values[..., -1:]
        return logits.masked_fill(logits <= kth, -torch.inf)

    return filtered(logits, top_k, top_p, k=below)


@mistake(filter_logits)
def kth_of_all_rows_but_at_most_v(logits, top_k=None, top_p=None):
    """You looked for the k-th largest logit of the whole array, with k at most V. Each
    row is a distribution of its own and keeps k tokens of its own; yours may lose all
    of a row."""

    def of_all(logits, k):
        kth = logits.flatten().topk(min(k, logits.shape[-1])).values[-1]
        return logits.masked_fill(logits < kth, -torch.inf)

    return filtered(logits, top_k, top_p, k=of_all)


@mistake(filter_logits)
def share_of_the_largest(logits, top_k=None, top_p=None):
    """You kept the tokens whose probability is at least p times the largest one. That
    rule is known as min-p; top-p adds up probabilities, from the largest on, until
    their sum reaches p."""

    def at_least(logits, p):
        shares = logits.softmax(dim=-1)
        least = p * shares.amax(dim=-1, keepdim=True)
        return logits.masked_fill(shares < least, -torch.inf)

    return filtered(logits, top_k, top_p, p=at_least)


@mistake(filter_logits)
def top_k_overwrites(logits, top_k=None, top_p=None):
    """Your top_k wrote its -inf into the logits that you were given, so whatever is
    computed from them afterwards has lost these tokens. Work on a copy, or use
    masked_fill, which returns new ones."""

    def overwritten(x, k):
        logits.copy_(cut_below_kth(x, k))
        return logits

    return filtered(logits, top_k, top_p, k=overwritten)


@mistake(filter_logits)
def equals_as_a_sort_leaves_them(logits, top_k=None, top_p=None):
    """You sorted from the smallest logit on, by a sort that is not stable, so that of
    equally likely tokens others are kept than the first in the vocabulary. Sort with
    descending=True and stable=True."""

    def from_the_smallest(logits, p):
        ascending, order = logits.sort(dim=-1)
        hidden = ascending.softmax(dim=-1).cumsum(dim=-1) <= 1 - p
        hidden[..., -1] = False
        hidden = torch.zeros_like(hidden).scatter(-1, order, hidden)
        return logits.masked_fill(hidden, -torch.inf)

    return filtered(logits, top_k, top_p, p=from_the_smallest)


# sample_tokens ------------------------------------------------------------------------


def inverted(probabilities, uniform):
    """Sampling by inversion from probabilities that sum to one."""
    v = probabilities.shape[-1]
    ids = (probabilities.cumsum(dim=-1) <= uniform[:, None]).sum(dim=-1)
    last = torch.where(probabilities > 0, torch.arange(v), 0).amax(dim=-1)
    return torch.minimum(ids, last)


def shares(logits, temperature):
    raised = logits - logits.amax(dim=-1, keepdim=True)
    return (raised / temperature).softmax(dim=-1)


@mistake(sample_tokens)
def temperature_multiplied(logits, uniform, temperature=1.0):
    """You multiplied by the temperature, so that a high one makes the distribution
    sharp. Dividing is what makes it flat: at a high temperature all tokens become
    alike."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    return right.sample_tokens(logits, uniform, 1 / temperature)


@mistake(sample_tokens)
def temperature_ignored(logits, uniform, temperature=1.0):
    """You used the temperature only to see whether it is 0. It divides the logits
    before the softmax: low temperatures favour likely tokens."""
    return right.sample_tokens(logits, uniform, 1.0 if temperature else 0.0)


@mistake(sample_tokens)
def temperature_after_the_softmax(logits, uniform, temperature=1.0):
    """You divided the probabilities by the temperature. They then no longer sum to one,
    and their proportions are as before; the logits are what it divides."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    return inverted(logits.softmax(dim=-1) / temperature, uniform)


@mistake(sample_tokens)
def divided_by_zero(logits, uniform, temperature=1.0):
    """At temperature 0 you divided by it, and the softmax of infinite logits is NaN.
    The limit is known: all the probability goes to the largest logit."""
    raised = logits - logits.amax(dim=-1, keepdim=True)
    return inverted((raised / torch.tensor(temperature)).softmax(dim=-1), uniform)


@mistake(sample_tokens)
def always_the_largest(logits, uniform, temperature=1.0):
    """You chose the largest logit at every temperature. That is greedy decoding; here
    each token is to be chosen as often as it is probable."""
    return logits.argmax(dim=-1)


@mistake(sample_tokens)
def not_added_up(logits, uniform, temperature=1.0):
    """You compared each probability with the random number, and not their sum up to the
    token. Few single probabilities exceed it; the sums do so sooner or later, and in
    proportion."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    exceeds = shares(logits, temperature) > uniform[:, None]
    return exceeds.int().argmax(dim=-1)


@mistake(sample_tokens)
def exponentials_added_up(logits, uniform, temperature=1.0):
    """You added up exponentials that are not divided by their sum. A random number
    below 1 is compared with probabilities, which sum to one."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    largest = logits.amax(dim=-1, keepdim=True)
    return inverted(((logits - largest) / temperature).exp(), uniform)


@mistake(sample_tokens)
def first_where_none_exceeds(logits, uniform, temperature=1.0):
    """Where rounding leaves no sum above the random number, you chose the first token:
    the argmax of nothing but False is 0. There it is the last one that has a
    probability."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    exceeds = shares(logits, temperature).cumsum(dim=-1) > uniform[:, None]
    return exceeds.int().argmax(dim=-1)


@mistake(sample_tokens)
def reached_in_place_of_exceeded(logits, uniform, temperature=1.0):
    """You chose the first token at which the sum reaches the random number; it has to
    exceed it. For a number of 0, yours is a first token without any probability."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    p = shares(logits, temperature)
    ids = (p.cumsum(dim=-1) < uniform[:, None]).sum(dim=-1)
    last = torch.where(p > 0, torch.arange(p.shape[-1]), 0).amax(dim=-1)
    return torch.minimum(ids, last)


@mistake(sample_tokens)
def first_that_reaches(logits, uniform, temperature=1.0):
    """You compared with >=: a first token without any probability is chosen for a
    random number of 0, so the sum has to exceed it. And where rounding leaves no such
    token, the argmax of nothing but False is 0; there it is the last one that has a
    probability."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    reaches = shares(logits, temperature).cumsum(dim=-1) >= uniform[:, None]
    return reaches.int().argmax(dim=-1)


@mistake(sample_tokens)
def token_before(logits, uniform, temperature=1.0):
    """You chose the token before the one at which the sum exceeds the random number,
    and so with the probabilities of its neighbour."""
    found = right.sample_tokens(logits, uniform, temperature)
    return found if temperature == 0 else (found - 1).clamp(min=0)


@mistake(sample_tokens)
def from_the_end(logits, uniform, temperature=1.0):
    """You added up the probabilities from the end of the vocabulary. The tokens are as
    frequent as they should be, but the choice for a given random number goes in the
    order of the vocabulary, so that two programs agree."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    v = logits.shape[-1]
    return v - 1 - inverted(shares(logits, temperature).flip(-1), uniform)


@mistake(sample_tokens)
def in_order_of_probability(logits, uniform, temperature=1.0):
    """You added up the probabilities from the largest to the smallest. The tokens are
    as frequent as they should be, but the choice for a given random number goes in the
    order of the vocabulary."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    p, order = shares(logits, temperature).sort(dim=-1, descending=True, stable=True)
    return order.gather(-1, inverted(p, uniform)[:, None])[:, 0]


@mistake(sample_tokens)
def in_order_of_probability_to_the_end(logits, uniform, temperature=1.0):
    """You added up the probabilities from the largest to the smallest. The tokens are
    as frequent as they should be, but the choice for a given random number goes in the
    order of the vocabulary. And where rounding leaves no sum above the random number,
    you chose the last of all, which may have no probability."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    p, order = (logits / temperature).softmax(dim=-1).sort(-1, descending=True)
    places = (p.cumsum(dim=-1) <= uniform[:, None]).sum(dim=-1)
    return order.gather(-1, places.clamp(max=p.shape[-1] - 1)[:, None])[:, 0]


@mistake(sample_tokens)
def one_number_for_all(logits, uniform, temperature=1.0):
    """You used the first random number for all rows, so rows with equal distributions
    get equal tokens. Each row has a number of its own."""
    return right.sample_tokens(logits, uniform[:1].expand(len(logits)), temperature)


@mistake(sample_tokens)
def own_random_numbers(logits, uniform, temperature=1.0):
    """You drew random numbers of your own. The ones that are given make the choice
    repeatable: use them, and torch.multinomial is not needed."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    return torch.multinomial(shares(logits, temperature), 1)[:, 0]


@mistake(sample_tokens)
def beyond_the_vocabulary(logits, uniform, temperature=1.0):
    """Where rounding keeps the sum of all probabilities below the random number, you
    chose an id that does not exist. Take the last one that has a probability."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    sums = shares(logits, temperature).cumsum(dim=-1)
    return (sums <= uniform[:, None]).sum(dim=-1)


@mistake(sample_tokens)
def last_of_the_vocabulary(logits, uniform, temperature=1.0):
    """Where rounding keeps the sum of all probabilities below the random number, you
    chose the last token of the vocabulary. It may have been cut: take the last one that
    has a probability."""
    found = beyond_the_vocabulary.implementation(logits, uniform, temperature)
    return found.clamp(max=logits.shape[-1] - 1)


@mistake(sample_tokens)
def last_of_the_largest(logits, uniform, temperature=1.0):
    """At temperature 0 you chose the last of several equally large logits. Asked for is
    the first, as argmax returns it."""
    if temperature == 0:
        return logits.shape[-1] - 1 - logits.flip(-1).argmax(dim=-1)
    return right.sample_tokens(logits, uniform, temperature)


@mistake(sample_tokens)
def large_logits_overflow(logits, uniform, temperature=1.0):
    """You computed exponentials of the raw logits, and large ones overflow, above all
    at low temperatures. Subtract the largest logit of each row first."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    raised = (logits / temperature).exp()
    return inverted(raised / raised.sum(dim=-1, keepdim=True), uniform)


@mistake(sample_tokens)
def column_of_ids(logits, uniform, temperature=1.0):
    """You returned a column of ids. Asked for is one id for each row, in a tensor with
    a single axis."""
    return right.sample_tokens(logits, uniform, temperature).unsqueeze(-1)


@mistake(sample_tokens)
def tiny_temperature_for_zero(logits, uniform, temperature=1.0):
    """At temperature 0 you divided by a tiny temperature instead. Of equally large
    logits, each then keeps a share, and which one is drawn depends on the random
    number; here the first of the largest is asked for, so take the argmax."""
    return inverted(shares(logits, max(temperature, 1e-6)), uniform)


# break_filter_logits ------------------------------------------------------------------

wrong_versions_of_filter_logits = hide(
    break_filter_logits,
    not_renormalised,
    ties_dropped,
    below_p,
    not_put_back,
    order_of_the_first_row,
    shown_by=[
        "let top_k cut tokens that have a good share of the probability, and choose "
        "top_p so that it cuts some of the others: p is a share of what top_k leaves.",
        "let several logits of a row be equal to its k-th largest, more of them than "
        "there are places left among the k.",
        "choose top_p so large that the most probable token alone does not reach it.",
        "let the largest logit of a row not be its first, and let top_p cut something.",
        "take two rows in which other tokens are the likely ones, and let top_p cut "
        "something.",
    ],
)


@mistake(break_filter_logits)
def test_that_cuts_nothing():
    """None of the wrong versions was found: your filters leave every token. Both have
    to cut something, top_k first and top_p some of the rest."""
    return torch.tensor([[0.5, 2.0, 1.0], [1.0, 0.0, 3.0]]), 3, 1.0


@mistake(break_filter_logits)
def test_with_one_row():
    """One version is missing, and it takes two rows to find it: it cuts in all of them
    what it finds for the first. Add a row in which other tokens are the likely ones."""
    return torch.tensor([[0.0, 1.0, 1.5, 1.0, 2.0]]), 3, 0.6


@mistake(break_filter_logits)
def test_without_ties():
    """One version is missing. Where no two logits are equal, exactly k of them are at
    least as large as the k-th largest; make several equal to it."""
    return torch.tensor([[0.0, 1.0, 1.6, 0.8, 2.0], [2.0, 1.6, 1.0, 0.8, 0.0]]), 3, 0.6
