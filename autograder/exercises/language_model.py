"""Cases for the chapter on language models: pairs of bytes, a model, and sampling.

Texts are written in a few letters, so that pairs come back. Which letters these are is
drawn; their order in the alphabet is part of the text, since pairs that are equally
frequent would otherwise be told apart by luck.
"""

import numpy as np
import torch

from autograder.exercise import Exercise
from autograder.inputs import fill

merge_pair = Exercise(
    "merge_pair",
    hints=(
        "Write down what becomes of 7 7 7 7 7 if (7, 7) is merged. After a merge, how "
        "far does your position move? And otherwise?",
        "A for loop over the ids cannot skip one. Keep an index i in a while loop, and "
        "append to a new list.",
        "`ids[i : i + 2]` is a pair everywhere but at the end, where it is shorter and "
        "equal to no pair.",
    ),
)
train_bpe = Exercise(
    "train_bpe",
    hints=(
        "Go through `banana` on paper: count its neighbouring pairs, merge one, count "
        "again. What has to be repeated in the loop, and what ends it?",
        "`itertools.pairwise(ids)` gives all neighbouring pairs, those that overlap "
        "included, and a `Counter` counts them.",
        "A `Counter` keeps its keys in the order in which it first saw them, and `max` "
        "returns the first of several equals.",
    ),
)
bpe_encode = Exercise(
    "bpe_encode",
    hints=(
        "Nothing is counted here: the training text has decided. Take the text abc "
        "with merges (a, b) and (b, c). Which one gets the b?",
        "Begin with the bytes of the text, and let one `merge_pair` after the other "
        "work on the sequence that the last one returned.",
    ),
)
bpe_decode = Exercise(
    "bpe_decode",
    hints=(
        "Which bytes does id 256 stand for? And id 257, if its pair contains 256?",
        "Build a list with the bytes of every id, first the 256 single ones, then one "
        "for each merge, from two entries that are there already.",
        "Join the bytes of all ids before you decode: a letter may be divided between "
        "two ids.",
    ),
)
LanguageModel = Exercise(
    "LanguageModel",
    core=True,
    right="The logits at a position depend on the tokens up to it, and share the "
    "embedding's weight.",
    hints=(
        "List what has parameters: one table, a list of blocks, one norm. Which weight "
        "gives the logits, when the output has none of its own?",
        "The block takes a mask in which True means that a query may attend. Draw the "
        "one for three tokens: which of the nine cells are True?",
        "In an `nn.ModuleList`, each block has to be an object of its own. For the "
        "logits, `embedding.weight` is (V, d_model): transpose it.",
    ),
)
perplexity = Exercise(
    "perplexity",
    hints=(
        "A model gives the right tokens probabilities of 1/2 and 1/8. Average their "
        "logarithms, then take the exponential. What comes out?",
        "log p(target) is the target's logit minus the logarithm of the sum of all "
        "exponentials. Which logits make these exponentials overflow, and what may be "
        "subtracted from all of them?",
        "`np.take_along_axis(logits, targets[..., None], axis=-1)` picks the logit of "
        "each target.",
    ),
)
filter_logits = Exercise(
    "filter_logits",
    core=True,
    right="Top-k counts tokens, top-p adds up probabilities, and what is cut is minus "
    "infinity.",
    hints=(
        "Take the probabilities 0.5, 0.2, 0.2 and 0.1. Which are left after top_k=2, "
        "which after top_p=0.7? Both questions are about sorted values.",
        "For top-p, sort downwards and compute for each token the probability of all "
        "that rank *before* it. Below which value of that sum is a token kept?",
        '`np.argsort(-logits, axis=-1, kind="stable")` gives the order, and '
        "`np.put_along_axis` writes decisions made in it back to the vocabulary.",
    ),
)
sample_tokens = Exercise(
    "sample_tokens",
    core=True,
    right="Each token comes as often as its probability says, and one of probability "
    "0 never.",
    hints=(
        "Lay the probabilities 0.5, 0.25, 0.25 end to end on a line from 0 to 1. Into "
        "whose interval does 0.6 fall? And 0.5 exactly?",
        "The cumulative sums are the right ends of the intervals. How many of them are "
        "at most the random number?",
        "A random number just below 1 can be above the last sum, by rounding. Which is "
        "the largest id that has a probability at all?",
    ),
)


def sizes(rng, count, low=3, high=9):
    """Different sizes from ``low`` to ``high``."""
    return [int(size) for size in rng.permutation(np.arange(low, high + 1))[:count]]


def letters(rng, count):
    """Different small letters, in the order of the alphabet."""
    return [chr(97 + int(i)) for i in sorted(rng.permutation(26)[:count])]


def array(found):
    """A list of ids or of pairs as an array, so that what differs can be located."""
    if isinstance(found, np.ndarray) and found.shape == (0,):
        return found.astype(int)  # of nothing, NumPy makes real numbers
    if not isinstance(found, list | tuple):
        return found
    if not found:
        return np.zeros(0, int)
    try:
        return np.asarray(found)
    except ValueError:  # NumPy speaks of inhomogeneous shapes
        raise TypeError(
            "the list that was returned holds numbers and lists side by side"
        ) from None


# merge_pair ---------------------------------------------------------------------------


def other_ids(rng, count, *used):
    """Ids from 0 to 300 that differ from each other and from those in use."""
    left = np.setdiff1d(np.arange(301), used)
    return [int(i) for i in rng.choice(left, count, replace=False)]


@merge_pair.case(title="a pair that occurs several times, among other ids", points=2)
def merge_several(merge_pair, rng):
    a, b, c, d = other_ids(rng, 4)
    pieces = [[a, b], [c], [a, c], [d, b], [b, a, d], [a, b], [c, b]]
    ids = [i for place in rng.permutation(7) for i in pieces[place]]
    return array(merge_pair([d, *ids, c], (a, b), 301 + d))


@merge_pair.case(title="two equal ids: found from the left, not overlapping", points=2)
def merge_equal(merge_pair, rng):
    a, b = other_ids(rng, 2)
    runs = [3, *rng.permutation([1, 2, 4, 5])]
    ids = [i for run in runs for i in [*[a] * run, b]]
    return array(merge_pair(ids, (a, a), 500))


@merge_pair.case(title="occurrences at both ends, and the first id alone at the end")
def merge_ends(merge_pair, rng):
    a, b, c = other_ids(rng, 3)
    ids = [a, b, *[c] * int(rng.integers(1, 5)), a, b]
    return {
        "the ids, with the pair at both ends": array(merge_pair(ids, (a, b), 400)),
        "the ids, with one more at the end": array(merge_pair([*ids, a], (a, b), 9)),
    }


@merge_pair.case(title="no occurrence, only the two ids the other way round")
def merge_none(merge_pair, rng):
    a, b, c = other_ids(rng, 3)
    ids = [b, a, c, b, a, *[c] * int(rng.integers(1, 5)), b, b, a]
    once = [*ids, b]  # else who returns the sequence would be right
    return {
        "the ids, without the pair": array(merge_pair(ids, (a, b), 777)),
        "the ids, with the pair at the end": array(merge_pair(once, (a, b), 777)),
    }


@merge_pair.case(title="a sequence of one id, of none, and of the pair", points=1)
def merge_short(merge_pair, rng):
    a, b = other_ids(rng, 2)
    short = {"one id": [a], "no id": [], "the pair alone": [a, b]}
    return {name: array(merge_pair(ids, (a, b), 512)) for name, ids in short.items()}


# train_bpe ----------------------------------------------------------------------------


def words(rng, count):
    """A text of few different words, some of them often."""
    known = ["".join(rng.choice(letters(rng, 5), n)) for n in sizes(rng, 5, 2, 7)]
    return " ".join(known[int(i)] for i in rng.integers(5, size=count))


@train_bpe.case(title="the first merges of a text of few words", points=2)
def learn_words(train_bpe, rng):
    return array(train_bpe(words(rng, 60), 15))


@train_bpe.case(title="pairs that are equally frequent: the earliest first", points=2)
def learn_ties(train_bpe, rng):
    a, b, c, d, e, f, *gaps = letters(rng, 12)
    pairs = [c + d, e + f, a + b]  # the first is neither the largest nor the smallest
    text = "".join(p + g for p, g in zip(pairs, gaps[:3], strict=True))
    text += "".join(p + g for p, g in zip(pairs[::-1], gaps[3:], strict=True))
    return array(train_bpe(text, 3))


@train_bpe.case(title="occurrences that overlap count, each of them", points=2)
def learn_runs(train_bpe, rng):
    a, b, c, d, e = letters(rng, 5)
    text = a + b + c + a + b + d + a + b + e * 3 + c + e * 3 + d
    return {
        "the pairs of a text with runs": array(train_bpe(text, 3)),
        "the pair of a short text": array(train_bpe(e * 3 + a + b + c + a + b, 1)),
    }


@train_bpe.case(title="merges of merges, counted anew each time", points=2)
def learn_deep(train_bpe, rng):
    b, a, d, c = letters(rng, 4)
    text = (a + b + c) * 5 + (d + b + c) * 4 + (d + a) * 3
    return array(train_bpe(text, 6))


@train_bpe.case(title="stops when no pair occurs twice", points=2)
def learn_all(train_bpe, rng):
    b, a, c, e, d = letters(rng, 5)
    text = a + b + c + d + a + b + c + e
    return {
        "the pairs of a text with one that repeats": array(train_bpe(text, 50)),
        "the pairs of a text without": array(train_bpe(e + d + c + b + a, 5)),
    }


@train_bpe.case(title="letters of several bytes", points=1)
def learn_bytes(train_bpe, rng):
    x, y, z = sorted(rng.choice(list("äöüßéñ"), 3, replace=False))
    text = (y + x) * 5 + (z + " ") * 4 + "日本" * 3
    return array(train_bpe(text, 8))


# bpe_encode and bpe_decode ------------------------------------------------------------


def drawn_merges(rng):
    """Four letters, and merges of them; later ones use the ids of earlier ones."""
    names = letters(rng, 4)
    a, b, c, d = (ord(name) for name in names)
    return names, [
        (b, c),  # 256
        (a, b),  # 257: where the text has abc, the first merge has taken b already
        (a, 256),  # 258
        (d, d),  # 259
        (258, 259),  # 260
        (32, a),  # 261
        (c, 257),  # 262
    ]


@bpe_encode.case(title="a text of the letters that were merged", points=2)
def encode_letters(bpe_encode, rng):
    names, merges = drawn_merges(rng)
    return array(bpe_encode("".join(rng.choice([*names, " "], 120)), merges))


@bpe_encode.case(title="merges are applied in the order learned", points=2)
def encode_in_order(bpe_encode, rng):
    (a, b, c, d), merges = drawn_merges(rng)
    pieces = [a + b + c, a + b, c + a + b, b + c, a + b + c + d + d, " " + a + b + c]
    text = "".join(pieces[int(i)] for i in [*rng.permutation(6), *rng.permutation(6)])
    return {
        "the ids of a long text": array(bpe_encode(text, merges)),
        "the ids of three letters": array(bpe_encode(a + b + c, merges)),
        # Sorting the pairs of ids gives the right order above, and here the wrong one.
        "the ids of three letters with other merges": array(
            bpe_encode(c + b + a, [(ord(c), ord(b)), (ord(b), ord(a))])
        ),
    }


@bpe_encode.case(title="letters of several bytes, which may be merged", points=1)
def encode_bytes(bpe_encode, rng):
    text = "".join(rng.choice(list("äöß日€😀 "), 30))
    return array(bpe_encode(text + "äö", [(195, 164), (195, 182), (256, 257)]))


@bpe_encode.case(title="pairs across a space are merged", points=1)
def encode_blanks(bpe_encode, rng):
    (a, b, c, _), merges = drawn_merges(rng)
    return array(
        bpe_encode(f"{c} " + f"{a}{b}{c} {a} " * int(rng.integers(2, 5)), merges)
    )


def characters(text, which="the text"):
    """How many characters a text has, and their codes, so that a difference is found.

    What is no text is left as it is if it may be an oversight that is told in general.
    """
    if text is None or isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise TypeError(f"a text was to be returned, and not {type(text).__name__}")
    return {
        f"the number of characters of {which}": len(text),
        f"the codes of the characters of {which}": np.array(
            [ord(c) for c in text], int
        ),
    }


def several(texts):
    """The same for several texts, each under a name that says which it is."""
    found = {}
    for which, text in texts.items():
        parts = characters(text, which)
        if not isinstance(parts, dict):
            return parts
        found.update(parts)
    return found


@bpe_decode.case(title="bytes, merges, and merges of merges", points=2)
def decode_ids(bpe_decode, rng):
    names, merges = drawn_merges(rng)
    known = [*(ord(name) for name in names), 32, *range(256, 256 + len(merges))]
    return characters(bpe_decode([int(i) for i in rng.choice(known, 50)], merges))


@bpe_decode.case(title="letters whose bytes are divided among several ids", points=2)
def decode_divided(bpe_decode, rng):
    text = "".join(rng.choice(list("äöüß日本語€"), 12))
    ids = list(text.encode("utf-8"))
    # 256 ends inside a letter of three bytes, 257 reaches from one letter to the next.
    reaching = bpe_decode([256, 172, 97, 195, 257, 159], [(226, 130), (164, 195)])
    texts = {"the text of bytes": bpe_decode(ids, [])}
    return several({**texts, "the text of merges inside of letters": reaching})


@bpe_decode.case(title="bytes that are no UTF-8: the replacement character", points=1)
def decode_broken(bpe_decode, rng):
    letter = int(rng.integers(97, 123))
    broken = [[226, 130], [letter, 195], [255, letter, 254], [164, letter], [256, 32]]
    return several(
        {f"the text of {ids}": bpe_decode(ids, [(195, 195)]) for ids in broken}
    )


@bpe_decode.case(title="no ids: an empty text", points=1)
def decode_nothing(bpe_decode, rng):
    return characters(bpe_decode([], drawn_merges(rng)[1]))


# LanguageModel ------------------------------------------------------------------------

SIZES = (11, 8, 2, 3, 12)  # vocab_size, d_model, num_heads, num_layers, d_ff
LOOSE = {"rtol": 1e-4, "atol": 1e-5}  # the angles of the block have single precision


def model_and_ids(LanguageModel, rng, length=7, batch=4):
    """A model with known parameters, and ids for it."""
    model = fill(LanguageModel(*SIZES), rng)
    return model, torch.from_numpy(rng.integers(0, SIZES[0], (batch, length)))


@LanguageModel.case(title="logits of a batch", points=3, **LOOSE)
def model_logits(LanguageModel, rng):
    model, ids = model_and_ids(LanguageModel, rng)
    return model(ids)


@LanguageModel.case(title="other sizes and lengths, in evaluation", points=2, **LOOSE)
def model_evaluated(LanguageModel, rng):
    model, ids = model_and_ids(LanguageModel, rng, length=5, batch=3)
    single = fill(LanguageModel(11, 6, 1, 2, 9), rng)
    model.eval()
    with torch.no_grad():
        return model(ids), model(ids[:, :1]), single.eval()(ids)


@LanguageModel.case(
    title="later tokens are changed: logits before them stay", points=2, **LOOSE
)
def model_causal(LanguageModel, rng):
    model, ids = model_and_ids(LanguageModel, rng, length=6)
    changed = ids.clone()
    changed[:, 3:] = (changed[:, 3:] + 1 + int(rng.integers(0, 9))) % SIZES[0]
    return {"the logits before them": model(ids)[:, :3], "all": model(changed)}


@LanguageModel.case(title="names and shapes of the parameters", points=1)
def model_names(LanguageModel, rng):
    heads = int(rng.integers(2, 4))
    vocab_size, d_ff = sizes(rng, 2, 5, 40)
    model = LanguageModel(vocab_size, 4 * heads, heads, 3, d_ff)
    return {name: list(value.shape) for name, value in model.named_parameters()}


@LanguageModel.case(title="a fresh model: a small embedding, blocks that differ")
def model_initial_values(LanguageModel, rng):
    model = LanguageModel(160, 48, 4, 2, 8)
    one, other = (layer.linear1.weight for layer in model.layers)
    return {
        "0.02 for the embedding": 0.7 < model.embedding.weight.std() / 0.02 < 1.4,
        "two blocks of equal weights": torch.equal(one, other),
    }


# perplexity ---------------------------------------------------------------------------


def logits_and_targets(rng, b=None, t=None, v=None):
    """Logits (B, T, V) and targets (B, T); sizes that are not given are drawn."""
    drawn = sorted(sizes(rng, 3))
    b, t, v = b or drawn[0], t or drawn[1], v or drawn[2]
    return 1.5 * rng.standard_normal((b, t, v)), rng.integers(0, v, (b, t))


@perplexity.case(title="all tokens count", points=2)
def perplexity_of_all(perplexity, rng):
    return perplexity(*logits_and_targets(rng))


@perplexity.case(title="padding does not count, whatever its id", points=2)
def perplexity_with_padding(perplexity, rng):
    found = []
    for pad in (0, 4, 8):
        logits, targets = logits_and_targets(rng, 3, 6, 9)
        targets[targets == pad] = 2
        for row, length in zip(targets, rng.permutation([2, 4, 5]), strict=True):
            row[int(length) :] = pad
        found.append(perplexity(logits, targets, pad_id=pad))
    return found


@perplexity.case(title="logits in the thousands, targets among the largest", points=1)
def perplexity_of_sure_logits(perplexity, rng):
    logits, targets = logits_and_targets(rng)
    logits = (1000 * logits).round()
    near = logits.max(axis=-1, keepdims=True) - rng.integers(1, 7) / 4
    np.put_along_axis(logits, targets[..., None], near, axis=-1)
    return perplexity(logits, targets)


@perplexity.case(title="where the exponential overflows it is infinite", points=1)
def perplexity_overflows(perplexity, rng):
    logits, targets = logits_and_targets(rng)
    usual = perplexity(logits, targets)
    np.put_along_axis(logits, targets[..., None], -9e3, axis=-1)
    return usual, perplexity(logits, targets)


# filter_logits ------------------------------------------------------------------------


def distributions(rng, rows, *probabilities):
    """Logits of the given probabilities, shuffled and shifted in each row."""
    logits = np.log(np.asarray(probabilities))
    found = np.stack([rng.permutation(logits) for _ in range(rows)])
    return found + rng.normal(size=(rows, 1))


# No sum of the largest of these comes near a p that is asked for.
UNEVEN = (0.36, 0.26, 0.16, 0.1, 0.06, 0.04, 0.02)


@filter_logits.case(title="top_k in each row; a k above V keeps all", points=2)
def filter_top_k(filter_logits, rng):
    logits = distributions(rng, 5, *UNEVEN)
    return [filter_logits(logits, top_k=k) for k in (1, 3, 6, 7, 8, 50)]


@filter_logits.case(title="top_k where several logits are equally large", points=1)
def filter_top_k_ties(filter_logits, rng):
    logits = distributions(rng, 4, 0.3, 0.2, 0.2, 0.2, 0.06, 0.04)
    return [filter_logits(logits, top_k=k) for k in (1, 2, 3, 5)]


@filter_logits.case(title="top_p: the token that reaches p is kept", points=2)
def filter_top_p(filter_logits, rng):
    logits = distributions(rng, 5, *UNEVEN)
    return [filter_logits(logits, top_p=p) for p in (0.3, 0.5, 0.7, 0.85, 0.99)]


@filter_logits.case(title="top_p with equal ones: the first in the vocabulary")
def filter_top_p_ties(filter_logits, rng):
    even = np.full((2, 6), rng.normal())
    logits = distributions(rng, 4, 0.32, 0.16, 0.16, 0.16, 0.16, 0.04)
    # Ties far apart: sorting that is not stable exchanges them.
    many = rng.permutation(np.repeat([0.0, 1.0], 40))
    return [
        filter_logits(even, top_p=0.45),
        filter_logits(logits, top_p=0.6),
        filter_logits(many, top_p=0.31),
    ]


@filter_logits.case(title="top_p where a sum of probabilities is p exactly", points=1)
def filter_top_p_exact(filter_logits, rng):
    quarters = rng.permuted(np.tile([0.0, 0, 0, 0, -1000], (5, 1)), axis=1)
    return [filter_logits(quarters, top_p=p) for p in (0.25, 0.5, 0.75)]


@filter_logits.case(title="top_k first, then top_p of what is left", points=2)
def filter_both(filter_logits, rng):
    logits = distributions(rng, 6, *UNEVEN)
    pairs = [(2, 0.5), (3, 0.77), (4, 0.6), (5, 0.9)]
    return [filter_logits(logits, top_k=k, top_p=p) for k, p in pairs]


@filter_logits.case(title="top_p = 1 cuts nothing, however unlikely", points=1)
def filter_top_p_one(filter_logits, rng):
    logits = np.stack([rng.permutation(7) * -45.0 for _ in range(3)])
    return filter_logits(logits, top_p=1.0), filter_logits(logits, top_p=0.5)


@filter_logits.case(title="one row, several axes, some tokens cut before", points=1)
def filter_axes(filter_logits, rng):
    b, t = sizes(rng, 2, 2, 4)
    logits = distributions(rng, b * t, *UNEVEN).reshape(b, t, -1)
    smallest = logits == logits.min(axis=-1, keepdims=True)
    cut = np.where(smallest, -np.inf, logits)
    row = filter_logits(logits[0, 0], top_k=4, top_p=0.6)
    return row, filter_logits(cut, top_k=5), filter_logits(cut, top_p=0.7)


@filter_logits.case(title="logits in the thousands, which stay unchanged", points=1)
def filter_unchanged(filter_logits, rng):
    logits = distributions(rng, 4, *UNEVEN) + 4000
    return {
        "the logits after both filters": filter_logits(logits, 3, 0.6) - 4000,
        "the logits that were given": logits,
    }


# sample_tokens ------------------------------------------------------------------------


def uniforms(rng, count):
    """Random numbers that cover [0, 1) evenly, in a random order."""
    return (rng.permutation(count) + rng.uniform(0.2, 0.8)) / count


@sample_tokens.case(title="tokens in proportion to their probabilities", points=3)
def sample_evenly(sample_tokens, rng):
    b, v = 40, sizes(rng, 1, 5, 9)[0]
    return sample_tokens(rng.standard_normal((b, v)), uniforms(rng, b))


@sample_tokens.case(title="temperatures above and below 1", points=2)
def sample_temperatures(sample_tokens, rng):
    logits, uniform = 1.5 * rng.standard_normal((40, 7)), uniforms(rng, 40)
    return [sample_tokens(logits, uniform, t) for t in (0.3, 0.8, 2.0, 20.0)]


@sample_tokens.case(title="temperature 0: the largest, of equal ones the first; and 1")
def sample_cold(sample_tokens, rng):
    logits = rng.permuted(np.tile([0, 1, 4, 4.0, 4, 2], (12, 1)), axis=1)
    uniform = uniforms(rng, 12)
    return [sample_tokens(logits, uniform, temperature=t) for t in (0.0, 1.0)]


@sample_tokens.case(title="small temperatures, logits in the thousands", points=1)
def sample_nearly_cold(sample_tokens, rng):
    logits, uniform = rng.standard_normal((9, 6)), uniforms(rng, 9)
    large = logits + 3000 * rng.integers(0, 2, (9, 6))
    return [sample_tokens(logits, uniform, 1e-4), sample_tokens(large, uniform, 0.7)]


@sample_tokens.case(title="a sum that is the random number exactly does not exceed it")
def sample_exact(sample_tokens, rng):
    uniform = rng.permutation(np.arange(12) % 4 / 4)
    return sample_tokens(np.zeros((12, 4)), uniform)


@sample_tokens.case(title="a random number of 0, and tokens without probability")
def sample_cut(sample_tokens, rng):
    logits = rng.standard_normal((12, 7))
    logits[:, [0, 3]] = -np.inf
    logits[::2, 1] = -np.inf
    uniform = uniforms(rng, 12)
    uniform[:6] = 0.0
    return sample_tokens(logits, uniform)


@sample_tokens.case(title="rounding: the last token that has a probability", points=1)
def sample_rounded(sample_tokens, rng):
    logits = rng.standard_normal((60, 40))
    logits[:, 37:] = logits[::2, 20:] = -np.inf
    almost_one = np.full(60, 1 - 2.0**-53)
    return sample_tokens(logits, almost_one), sample_tokens(logits, uniforms(rng, 60))
