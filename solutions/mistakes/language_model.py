"""Misconceptions about language models, as code that can be recognised."""

from collections import Counter
from itertools import pairwise

import numpy as np

from autograder.exercise import edit, mistake
from autograder.exercises.language_model import (
    LanguageModel,
    bpe_decode,
    bpe_encode,
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


@edit(train_bpe, "key=counts.get", "key=lambda pair: (counts[pair], pair)")
def largest_of_the_ties():
    """Of pairs that are equally frequent you took the one with the largest ids. The
    rule is the pair that occurs first, so that two implementations learn the same
    vocabulary."""


@edit(train_bpe, "max(counts, key", "max(reversed(counts), key")
def last_of_the_ties():
    """Of pairs that are equally frequent you took one that occurs late. max and sorted
    return the first of equals, a comparison with >= the last; the rule is the pair
    whose first occurrence is earliest."""


@edit(train_bpe, "max(counts, key=counts.get)", "max(counts)")
def largest_pair():
    """You took the pair with the largest ids, however often it occurs. That is what max
    does with the keys of a dictionary; it has to compare how often they occur."""


@mistake(train_bpe)
def overlaps_not_counted(text, num_merges):
    """You counted the occurrences that can be replaced, so "aaa" holds its pair once.
    The rule here counts neighbours, and "aaa" has two such pairs, which overlap;
    otherwise runs of spaces are merged later than they should be."""
    ids, merges = list(text.encode("utf-8")), []
    while len(merges) < num_merges:
        counts = {
            pair: sum(i == -1 for i in right.merge_pair(ids, pair, -1))
            for pair in dict.fromkeys(pairwise(ids))
        }
        if max(counts.values(), default=0) < 2:
            break
        merges.append(max(counts, key=counts.get))
        ids = right.merge_pair(ids, merges[-1], 255 + len(merges))
    return merges


@mistake(train_bpe)
def counted_once(text, num_merges):
    """You counted the pairs of the text once and took the most frequent ones. Each
    merge changes the sequence, so its pairs have to be counted anew: later merges join
    what earlier ones made, and only so do whole words become tokens."""
    counts = Counter(pairwise(text.encode("utf-8"))).most_common(num_merges)
    return [pair for pair, count in counts if count >= 2]


@edit(train_bpe, "< 2", "< 1")
def never_stops():
    """You went on when no pair occurred twice. Such a merge saves one id at one
    position of one text, and takes an entry of the vocabulary for it."""


@edit(
    train_bpe,
    "itertools.pairwise(ids)",
    "p for p in itertools.pairwise(ids) if not set(p) & set(b' \\n')",
)
def within_words():
    """You counted no pair that has a space or a line end in it. Many tokenizers cut the
    text into words first; this one does not, so a space is a byte like all others."""


@edit(train_bpe, 'list(text.encode("utf-8"))', "[ord(letter) for letter in text]")
def characters_not_bytes():
    """You began with the numbers of the characters in Unicode. These go far beyond 255
    and collide with the ids of merges; the text begins as its bytes in UTF-8."""


@edit(train_bpe, "256 + len(merges)", "257 + len(merges)")
def ids_from_257():
    """You gave the first merge the id 257. There are 256 bytes, from 0 to 255, so the
    next id is 256, and every later pair that uses a merge is off by one."""


@edit(train_bpe, "ids = merge_pair", "merge_pair")
def sequence_not_merged():
    """Your sequence stays as it was in every round, so you found one pair again and
    again. Keep the sequence that merge_pair returns, and count its pairs next."""


# bpe_encode ---------------------------------------------------------------------------


@edit(bpe_encode, "enumerate(merges)", "reversed(list(enumerate(merges)))")
def merges_reversed():
    """You applied the merges from the last one to the first. Later merges need the ids
    that earlier ones make, so the order in which they were learned is part of the
    encoding."""


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
def word_by_word(text, merges):
    """You encoded the words one by one, so no merge reaches across a space. These
    merges were learned from a text that was not cut, and some of them begin with a
    space."""
    ids = []
    for i, word in enumerate(text.split(" ")):
        ids += [32] * (i > 0) + right.bpe_encode(word, merges)
    return ids


@edit(bpe_encode, 'list(text.encode("utf-8"))', "[ord(letter) for letter in text]")
def unicode_numbers():
    """You began with the numbers of the characters in Unicode. Letters beyond ASCII are
    several bytes in UTF-8, and ids from 256 on are those of merges."""


# bpe_decode ---------------------------------------------------------------------------


@edit(
    bpe_decode,
    'b"".join(tokens[token] for token in ids).decode("utf-8", errors="replace")',
    '"".join(tokens[token].decode("utf-8", errors="replace") for token in ids)',
)
def each_id_on_its_own():
    """You decoded each id on its own. A letter whose bytes are divided among several
    ids then becomes replacement characters; join the bytes of all ids first."""


@edit(bpe_decode, '"replace"', '"ignore"')
def invalid_bytes_dropped():
    """You dropped bytes that are not valid UTF-8. Each should become the replacement
    character, so that a reader sees that something is wrong."""


@edit(bpe_decode, ', errors="replace"', "")
def invalid_bytes_refused():
    """Your function fails on bytes that are not valid UTF-8. A model may generate any
    sequence of ids, and one bad token should not stop the program."""


@edit(bpe_decode, '"utf-8", errors="replace"', '"latin-1"')
def bytes_as_characters():
    """You turned each byte into the character of that number. Beyond ASCII a letter is
    several bytes in UTF-8, and yours becomes several letters."""


@edit(bpe_decode, "tokens[left] + tokens[right]", "tokens[right] + tokens[left]")
def pairs_swapped():
    """You put the second member of a pair before the first. Merges keep the order of
    the text, and so does what they stand for."""


@edit(bpe_decode, "range(256)]", "range(256)] + [b'']")
def merges_from_257():
    """You took id 257 for the first merge. It is 256, the number after the last byte,
    so every merge comes out as the one before it."""


# LanguageModel ------------------------------------------------------------------------


@edit(LanguageModel, "dtype=torch.bool).tril()", "dtype=torch.bool)")
def no_mask():
    """Your model has no causal mask, so each position reads the token that it should
    predict. Its loss in training falls to nearly 0, and it generates nothing but
    nonsense."""


@edit(LanguageModel, "x = layer(x, mask)", "x = layer(x, mask | (not self.training))")
def mask_in_training_only():
    """Your causal mask is used in training only. A model that is evaluated or generates
    must not see later tokens either: its perplexity would be far too good."""


@edit(LanguageModel, ".tril()", ".triu(1)")
def mask_of_what_is_hidden():
    """Your mask marks what is to be hidden, as torch's own layers expect it. The block
    of this chapter takes True for "may attend", so each token reads only what comes
    after it."""


@edit(LanguageModel, ".tril()", ".tril(1)")
def one_token_ahead():
    """Your mask lets each token see the one after it, which is the very token that it
    should predict. The diagonal belongs to what may be seen, and nothing to the right
    of it does."""


@edit(
    LanguageModel,
    "self.embedding(ids)  #",
    "self.embedding(ids) * self.norm.weight.numel() ** 0.5  #",
)
def scaled_embedding():
    """You multiplied the embeddings by the square root of their width, as the first
    transformer does. The specification has no factor here."""


@edit(
    LanguageModel,
    """        self.norm = nn.LayerNorm(d_model)
""",
    """        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, vocab_size, bias=False)
""",
)
def output_of_its_own():
    """Your output layer has a weight of its own. With weight tying the embedding's
    weight is the output's as well, which saves as many parameters as the embedding
    has."""


@edit(LanguageModel, "self.norm(x) @", "x @")
def no_final_norm():
    """You left out the norm after the last block. Each block adds to x without
    normalising the sum, so the logits grow with the depth of the model."""


@edit(
    LanguageModel,
    "Block(d_model, num_heads, d_ff) for _ in range(num_layers)",
    "[Block(d_model, num_heads, d_ff)] * num_layers",
)
def one_block_for_all():
    """All your layers are one and the same block, because a list times a number repeats
    the object. Each layer needs parameters of its own."""


@edit(
    LanguageModel,
    """nn.ModuleList(
            Block(d_model, num_heads, d_ff) for _ in range(num_layers)
        )""",
    "[Block(d_model, num_heads, d_ff) for _ in range(num_layers)]",
)
def layers_in_a_list():
    """Your layers are in a plain list, where PyTorch does not find their parameters, so
    no optimiser trains them. An nn.ModuleList registers them."""


@edit(
    LanguageModel,
    "        nn.init.normal_(self.embedding.weight, std=0.02)  #",
    "        #",
)
def embedding_as_torch_draws_it():
    """Your embedding begins as PyTorch draws it, with a standard deviation of 1. As the
    output shares it, the first logits are then large and the first loss is far above
    that of a guess; the specification says 0.02."""


# perplexity ---------------------------------------------------------------------------


@edit(perplexity, "losses[targets != pad_id]", "losses")
def padding_counted():
    """You counted the padding as well. The number then says how well the model predicts
    padding, and changes with the lengths of the other sequences."""


@edit(perplexity, "np.exp(losses.mean())", "losses.mean()")
def loss_itself():
    """You returned the cross-entropy. The perplexity is its exponential: a number of
    tokens in place of a number of nats."""


@edit(perplexity, "np.exp(losses.mean())", "2.0 ** losses.mean()")
def power_of_two():
    """You took 2 to the power of a loss in nats. The base has to match that of the
    logarithm, e, or the perplexity is too small."""


@edit(perplexity, "np.exp(losses.mean())", "np.exp(losses).mean()")
def mean_of_exponentials():
    """You took the exponential of each token's loss and averaged afterwards. One token
    that was nearly impossible then decides the result; the mean is taken of the
    logarithms."""


@mistake(perplexity)
def mean_over_sequences(logits, targets, pad_id=None):
    """You averaged each sequence first, and then the sequences. A token of a short
    sequence then weighs more than one of a long sequence; all tokens count equally."""
    means = [
        np.log(right.perplexity(row[None], ids[None], pad_id))
        for row, ids in zip(logits, targets, strict=True)
        if pad_id is None or (ids != pad_id).any()
    ]
    return float(np.exp(np.mean(means)))


@edit(perplexity, "losses.mean()", "losses.sum()")
def sum_of_losses():
    """You took the exponential of the sum. That is one over the probability of the
    whole text, which explodes with its length; the mean makes texts comparable."""


@edit(perplexity, "losses.mean()", "(losses.sum() / targets.size)")
def divided_by_all():
    """You left the padding out of the sum, and divided by the number of all positions.
    The more padding there is, the better the model seems."""


@edit(perplexity, "if pad_id is not None", "if pad_id")
def padding_zero_counted():
    """Padding whose id is 0 counts as a token; any other id is left out, as it should
    be. In Python 0 is false: ask whether pad_id is None."""


@mistake(perplexity)
def shifted_inside(logits, targets, pad_id=None):
    """You shifted the targets inside the function. Each logit was then compared with
    the token after the next one; these targets are already shifted."""
    if targets.shape[1] == 1:
        return float("nan")
    return right.perplexity(logits[:, :-1], targets[:, 1:], pad_id)


@edit(perplexity, " - logits.max(axis=-1, keepdims=True)", "")
def raw_exponentials():
    """You computed exponentials of the raw logits, and large ones overflow. Subtract
    the largest logit of each position first; the softmax does not change."""


# filter_logits ------------------------------------------------------------------------


@mistake(filter_logits)
def not_renormalised(logits, top_k=None, top_p=None):
    """You compared p with probabilities of the whole vocabulary. After top_k, those of
    the tokens that are left sum to one again, and p refers to these; otherwise top_p
    cuts nothing as soon as top_k has removed enough."""
    by_k, by_p = (
        right.filter_logits(logits, top_k),
        right.filter_logits(logits, None, top_p),
    )
    return np.minimum(by_k, by_p)


@edit(
    filter_logits,
    """kth = np.sort(logits, axis=-1)[..., -min(top_k, logits.shape[-1]), None]
        logits = np.where(logits < kth, -np.inf, logits)""",
    """rank = np.argsort(np.argsort(-logits, axis=-1, kind="stable"), axis=-1)
        logits = np.where(rank >= top_k, -np.inf, logits)""",
)
def ties_dropped():
    """You kept exactly k tokens, and of several equal ones only some. Nothing but their
    place in the vocabulary prefers these: keep all that are at least as large as the
    k-th largest logit."""


@edit(filter_logits, "logits < kth", "logits <= kth")
def kth_cut_too():
    """The k-th largest logit is cut as well, so one token less than k is left, and with
    top_k = 1 none. Cut only what is smaller than the k-th largest."""


@edit(
    filter_logits,
    "np.sort(logits, axis=-1)[..., -min(top_k, logits.shape[-1]), None]",
    "np.sort(logits, axis=None)[-min(top_k, logits.size)]",
)
def kth_of_all_rows():
    """You looked for the k-th largest logit of the whole array. Each row is a
    distribution of its own and keeps k tokens of its own; yours may lose all of a
    row."""


@edit(
    filter_logits, "before >= top_p", "(before + probabilities > top_p) & (before > 0)"
)
def below_p():
    """You cut the token with which the sum reaches p, so the ones you keep have less
    than p together. The set is the smallest whose sum reaches p, and that token belongs
    to it."""


@edit(filter_logits, "before >= top_p", "before > top_p")
def exceeded_in_place_of_reached():
    """You kept one token more where the sum is p exactly. The set is the smallest whose
    sum reaches p: it need not exceed it."""


@edit(
    filter_logits,
    "np.put_along_axis(cut, order, before >= top_p, axis=-1)",
    "cut = before >= top_p",
)
def not_put_back():
    """You found in sorted order which tokens to cut, and cut the vocabulary at those
    positions. The decisions have to go back to the order of the vocabulary, or tokens
    at random are lost."""


@edit(
    filter_logits,
    "np.put_along_axis(cut, order, before >= top_p, axis=-1)",
    "cut = np.take_along_axis(before >= top_p, order, axis=-1)",
)
def put_back_by_taking():
    """You went back to the order of the vocabulary by taking along the order that
    sorting returned. That sorts once more; put the decisions along it, or take along
    its argsort."""


@edit(
    filter_logits,
    'np.argsort(-logits, axis=-1, kind="stable")',
    'np.argsort(logits, axis=-1, kind="stable")[..., ::-1]',
)
def last_of_equals():
    """Of equally likely tokens you kept the last ones of the vocabulary, as a sort does
    that is turned round afterwards. The first ones are wanted; a stable sort of the
    negative logits keeps their order."""


@mistake(filter_logits)
def zeros_in_place_of_inf(logits, top_k=None, top_p=None):
    """You set logits that are cut to 0. A logit of 0 is an ordinary one, and often
    larger than those that are kept; minus infinity has the probability 0."""
    found = right.filter_logits(logits, top_k, top_p)
    return np.where(np.isneginf(found), 0.0, found)


@edit(filter_logits, "if top_p is not None", "elif top_p is not None")
def top_p_ignored():
    """You used top_p only where no top_k is given. Both may be: top_k cuts first, and
    top_p what is left."""


@mistake(filter_logits)
def logits_overwritten(logits, top_k=None, top_p=None):
    """You wrote -inf into the logits that you were given. The caller may still need
    them, to compare several filters for example: return new ones."""
    logits[:] = right.filter_logits(logits, top_k, top_p)
    return logits


# sample_tokens ------------------------------------------------------------------------


@edit(
    sample_tokens,
    "(logits - largest) / temperature",
    "(logits - largest) * temperature",
)
def temperature_multiplied():
    """You multiplied by the temperature, so that a high one makes the distribution
    sharp. Dividing makes it flat: at a high temperature all tokens become equally
    likely."""


@edit(
    sample_tokens,
    """    if temperature == 0:
        return logits.argmax(axis=-1)
""",
    "",
)
def divided_by_zero():
    """At temperature 0 you divided by it, and 0 / 0 is not a number. The limit is
    known: all the probability goes to the largest logit."""


@edit(sample_tokens, "if temperature == 0", "if temperature >= 0")
def always_the_largest():
    """You chose the largest logit at every temperature. That is greedy decoding; here
    each token is to be chosen as often as it is probable."""


SUMS = "(probabilities.cumsum(axis=-1) <= uniform[:, None]).sum(axis=-1)"


@edit(sample_tokens, SUMS, "(probabilities > uniform[:, None]).argmax(axis=-1)")
def not_added_up():
    """You compared each probability with the random number, and not their sum up to the
    token. Few single probabilities exceed it; the sums do sooner or later, and in
    proportion."""


@edit(
    sample_tokens,
    SUMS,
    "(probabilities.cumsum(axis=-1) > uniform[:, None]).argmax(axis=-1)",
)
def first_where_none_exceeds():
    """Where rounding leaves no sum above the random number, you chose the first token:
    the argmax of nothing but False is 0. There it is the last one that has a
    probability."""


@edit(sample_tokens, "<= uniform", "< uniform")
def reached_in_place_of_exceeded():
    """You chose the first token at which the sum reaches the random number; it has to
    exceed it. For a number of 0, yours is a first token without any probability."""


@mistake(sample_tokens)
def in_order_of_probability(logits, uniform, temperature=1.0):
    """You added up the probabilities from the largest to the smallest. The tokens are
    as frequent as they should be, but the choice for a given random number goes in the
    order of the vocabulary."""
    order = np.argsort(-logits, axis=-1, kind="stable")
    ranked = np.take_along_axis(logits, order, axis=-1)
    found = right.sample_tokens(ranked, uniform, temperature)
    return np.take_along_axis(order, found[:, None], axis=-1)[:, 0]


@edit(sample_tokens, "np.minimum(ids, last)", "ids")
def beyond_the_vocabulary():
    """Where rounding keeps the sum of all probabilities below the random number, you
    chose an id that does not exist, or one that was cut. Choose the last one that has a
    probability."""


@edit(sample_tokens, "(logits - largest)", "logits")
def large_logits_overflow():
    """You computed exponentials of the raw logits, and large ones overflow, above all
    at low temperatures. Subtract the largest logit of each row first."""
