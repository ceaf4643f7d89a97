"""Cases for the chapter on language models: pairs of bytes, a model, and sampling.

Texts are written in a few letters, so that pairs come back. Which letters these are is
drawn; their order in the alphabet is part of the text, since pairs that are equally
frequent would otherwise be told apart by luck.
"""

import numpy as np
import torch

from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import fill, strided, tensor
from autograder.specification import real, reals, whole

merge_pair = Exercise("merge_pair")
train_bpe = Exercise("train_bpe")
bpe_encode = Exercise("bpe_encode")
bpe_decode = Exercise("bpe_decode")
LanguageModel = Exercise("LanguageModel")
perplexity = Exercise("perplexity")
filter_logits = Exercise("filter_logits")
sample_tokens = Exercise("sample_tokens")


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


@merge_pair.case(title="ids whose digits are part of those of others", points=1)
def merge_digits(merge_pair, rng):
    d = int(rng.integers(1, 9))
    long, short, next_one = 10 * (d + 1) + d, d, 10 * d + 9
    ids = [long, next_one, short, next_one, short, 10 * next_one, long, next_one]
    return array(merge_pair(ids, (short, next_one), 1000 + d))


@merge_pair.case(title="a sequence of one id, of none, and of the pair", points=1)
def merge_short(merge_pair, rng):
    a, b = other_ids(rng, 2)
    short = {"one id": [a], "no id": [], "the pair alone": [a, b]}
    return {name: array(merge_pair(ids, (a, b), 512)) for name, ids in short.items()}


@merge_pair.case(title="the sequence that is given stays as it is", points=1)
def merge_unchanged(merge_pair, rng):
    a, b, c = other_ids(rng, 3)
    ids = [c, a, b, a, b, *[c] * int(rng.integers(1, 5)), a]
    merged = array(merge_pair(ids, (a, b), 600))
    return {"the shorter sequence": merged, "`ids` after the call": array(ids)}


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


@train_bpe.case(title="pairs across blanks and line ends", points=1)
def learn_across_words(train_bpe, rng):
    c, a, b, d = letters(rng, 4)
    text = f"{a} {b}\n" * 6 + f"{c} {d}" + f"{b}\n{a}" * 3
    return array(train_bpe(text, 5))


@train_bpe.case(title="no merge asked for; a text of one byte, and of none", points=1)
def learn_nothing(train_bpe, rng):
    text = words(rng, 9)
    return {
        "the pairs where no merge is asked for": array(train_bpe(text, 0)),
        "the pairs of a text of one byte": array(train_bpe(text[0], 3)),
        "the pairs of an empty text": array(train_bpe("", 3)),
    }


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


@bpe_encode.case(title="equal neighbours, in runs of odd and even length", points=1)
def encode_runs(bpe_encode, rng):
    (a, _, _, d), merges = drawn_merges(rng)
    text = a.join(d * int(run) for run in [3, *rng.permutation([1, 2, 4, 5])])
    return array(bpe_encode(text, merges))


@bpe_encode.case(title="some of the merges do not occur in the text", points=1)
def encode_few(bpe_encode, rng):
    (a, b, _, d), merges = drawn_merges(rng)
    pieces = [a + b, d + d, b + a, a + d, b]
    text = "".join(pieces[int(i)] for i in [*rng.permutation(5), 0, 1])
    return array(bpe_encode(text, merges))


@bpe_encode.case(title="letters of several bytes, which may be merged", points=1)
def encode_bytes(bpe_encode, rng):
    text = "".join(rng.choice(list("äöß日€😀 "), 30))
    return array(bpe_encode(text + "äö", [(195, 164), (195, 182), (256, 257)]))


@bpe_encode.case(title="pairs across a blank are merged", points=1)
def encode_blanks(bpe_encode, rng):
    (a, b, c, _), merges = drawn_merges(rng)
    return array(
        bpe_encode(f"{c} " + f"{a}{b}{c} {a} " * int(rng.integers(2, 5)), merges)
    )


@bpe_encode.case(title="without merges: bytes; and nothing for an empty text", points=1)
def encode_plain(bpe_encode, rng):
    _, merges = drawn_merges(rng)
    return {
        "the bytes": array(bpe_encode(words(rng, 5) + "é", [])),
        "the ids of an empty text": array(bpe_encode("", merges)),
    }


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


@bpe_decode.case(title="every merge once, and the first of the bytes", points=1)
def decode_each(bpe_decode, rng):
    _, merges = drawn_merges(rng)
    each = [*range(256, 256 + len(merges)), 0]
    return several({f"the text of id {i}": bpe_decode([i], merges) for i in each})


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


@bpe_decode.case(title="ids and merges stay as they are", points=1)
def decode_unchanged(bpe_decode, rng):
    _, merges = drawn_merges(rng)
    ids = [int(i) for i in rng.integers(256, 256 + len(merges), 9)]
    text = several({"the text": bpe_decode(ids, merges)})
    changed = {
        "`ids` after the call": array(ids),
        "`merges` after the call": array(merges),
    }
    return {**text, **changed} if isinstance(text, dict) else text


# LanguageModel ------------------------------------------------------------------------

# vocab_size, max_length, d_model, num_heads, num_layers, d_ff
SIZES = (11, 7, 8, 2, 3, 12)
LOOSE = {"rtol": 1e-4, "atol": 3e-4}  # room for a slightly different eps


def model_and_ids(LanguageModel, rng, length=7, batch=4):
    """A model with known parameters, and ids for it."""
    model = fill(LanguageModel(*SIZES), rng)
    return model, torch.from_numpy(rng.integers(0, SIZES[0], (batch, length)))


@LanguageModel.case(title="logits of a batch as long as can be", points=3, **LOOSE)
def model_logits(LanguageModel, rng):
    model, ids = model_and_ids(LanguageModel, rng)
    return model(ids)


@LanguageModel.case(
    title="shorter sequences, then a single head; without gradients", points=2, **LOOSE
)
def model_evaluated(LanguageModel, rng):
    model, ids = model_and_ids(LanguageModel, rng, length=5, batch=3)
    single = fill(LanguageModel(11, 7, 5, 1, 2, 9), rng)
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
    numbers = sizes(rng, 3, 5, 40)
    model = LanguageModel(numbers[0], numbers[1], 4 * heads, heads, 3, numbers[2])
    return {name: list(value.shape) for name, value in model.named_parameters()}


@LanguageModel.case(
    title="gradients reach the parameters of every part",
    points=2,
    rtol=1e-4,
    atol=3e-3,
)
def model_gradients(LanguageModel, rng):
    model, ids = model_and_ids(LanguageModel, rng)
    ids[:, 0] = torch.arange(4)  # id 0 is among them
    (model(ids) * tensor(rng, 4, 7, 11)).sum().backward()
    parts = ("embedding.weight", "positions", "in_proj_weight", "linear1.bias")
    return {
        name: value.grad
        for name, value in model.named_parameters()
        if name.endswith(parts) or name == "norm.weight"
    }


@LanguageModel.case(title="nearly equal features: eps counts, 1e-5", points=1, **LOOSE)
def model_small_tokens(LanguageModel, rng):
    model, ids = model_and_ids(LanguageModel, rng)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if any(part in name for part in ("emb", "pos", "out_proj", "linear2")):
                value *= 2e-3
    return model(ids) * 1000


@LanguageModel.case(title="strided ids are read correctly, left unchanged", **LOOSE)
def model_unchanged(LanguageModel, rng):
    model, ids = model_and_ids(LanguageModel, rng, length=6)
    ids = strided(ids)
    return model(ids), ids


@LanguageModel.case(title="a fresh model: small embedding and positions, random")
def model_initial_values(LanguageModel, rng):
    model = LanguageModel(160, 64, 48, 4, 1, 8)
    drawn = {"embedding": model.embedding.weight, "positions": model.positions}
    return {
        f"0.02 for {name}": 0.7 < value.detach().std() / 0.02 < 1.4
        for name, value in drawn.items()
    }


# perplexity ---------------------------------------------------------------------------


def logits_and_targets(rng, b=None, t=None, v=None):
    """Logits (B, T, V) and targets (B, T); sizes that are not given are drawn."""
    drawn = sorted(sizes(rng, 3))
    b, t, v = b or drawn[0], t or drawn[1], v or drawn[2]
    return 1.5 * tensor(rng, b, t, v), torch.from_numpy(rng.integers(0, v, (b, t)))


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


@perplexity.case(title="one sequence of one token", points=1)
def perplexity_of_one(perplexity, rng):
    return perplexity(*logits_and_targets(rng, 1, 1))


@perplexity.case(title="equal logits: as many as there are tokens", points=1)
def perplexity_of_no_idea(perplexity, rng):
    logits, targets = logits_and_targets(rng)
    even = perplexity(torch.zeros_like(logits) + float(rng.normal()), targets)
    return even, perplexity(logits * 0.1, targets)


@perplexity.case(title="logits in the thousands, targets among the largest", points=1)
def perplexity_of_sure_logits(perplexity, rng):
    logits, targets = logits_and_targets(rng)
    logits = (1000 * logits).round()  # exact in float32 as well
    near = logits.amax(dim=-1) - int(rng.integers(1, 7)) / 4
    logits = logits.scatter(-1, targets.unsqueeze(-1), near.unsqueeze(-1))
    return perplexity(logits, targets)


@perplexity.case(title="where the exponential overflows it is infinite", points=1)
def perplexity_overflows(perplexity, rng):
    logits, targets = logits_and_targets(rng)
    usual = perplexity(logits, targets)
    return usual, perplexity(logits.scatter(-1, targets.unsqueeze(-1), -9e3), targets)


@perplexity.case(title="strided inputs, which stay unchanged", points=1)
def perplexity_unchanged(perplexity, rng):
    logits, targets = logits_and_targets(rng)
    logits, targets = logits.permute(1, 0, 2), targets.T
    return perplexity(logits, targets), logits, targets


# filter_logits ------------------------------------------------------------------------


def distributions(rng, rows, *probabilities):
    """Logits of the given probabilities, shuffled and shifted in each row."""
    logits = np.log(np.asarray(probabilities))
    found = np.stack([rng.permutation(logits) for _ in range(rows)])
    return torch.from_numpy(found + rng.normal(size=(rows, 1)))


# No sum of the largest of these comes near a p that is asked for.
UNEVEN = (0.36, 0.26, 0.16, 0.1, 0.06, 0.04, 0.02)


@filter_logits.case(title="neither top_k nor top_p: nothing is cut", points=1)
def filter_nothing(filter_logits, rng):
    logits = tensor(rng, *sizes(rng, 2))
    return filter_logits(logits), filter_logits(logits, top_p=0.4)


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


@filter_logits.case(title="top_p below the largest probability keeps it", points=1)
def filter_top_p_small(filter_logits, rng):
    sure = distributions(rng, 3, 0.9, 0.05, 0.03, 0.02)
    return filter_logits(sure, top_p=0.5), filter_logits(sure, top_p=0.01)


@filter_logits.case(title="top_p with equal ones: the first in the vocabulary")
def filter_top_p_ties(filter_logits, rng):
    even = torch.zeros(2, 6, dtype=torch.float64) + float(rng.normal())
    logits = distributions(rng, 4, 0.32, 0.16, 0.16, 0.16, 0.16, 0.04)
    # Ties far apart: sorting that is not stable exchanges them.
    many = torch.from_numpy(rng.permutation(np.repeat([0.0, 1.0], 40)))
    return [
        filter_logits(even, top_p=0.45),
        filter_logits(logits, top_p=0.6),
        filter_logits(many, top_p=0.31),
    ]


@filter_logits.case(title="top_p where a sum of probabilities is p exactly", points=1)
def filter_top_p_exact(filter_logits, rng):
    quarters = rng.permuted(np.tile([0.0, 0, 0, 0, -1000], (5, 1)), axis=1)
    logits = torch.from_numpy(quarters)
    return [filter_logits(logits, top_p=p) for p in (0.25, 0.5, 0.75)]


@filter_logits.case(title="top_k first, then top_p of what is left", points=2)
def filter_both(filter_logits, rng):
    logits = distributions(rng, 6, *UNEVEN)
    pairs = [(2, 0.5), (3, 0.77), (4, 0.6), (5, 0.9)]
    return [filter_logits(logits, top_k=k, top_p=p) for k, p in pairs]


@filter_logits.case(title="top_p = 1 cuts nothing, however unlikely", points=1)
def filter_top_p_one(filter_logits, rng):
    logits = torch.from_numpy(np.stack([rng.permutation(7) * -45.0 for _ in range(3)]))
    return filter_logits(logits, top_p=1.0), filter_logits(logits, top_p=0.5)


@filter_logits.case(title="one row, several axes, some tokens cut before", points=1)
def filter_axes(filter_logits, rng):
    b, t = sizes(rng, 2, 2, 4)
    logits = distributions(rng, b * t, *UNEVEN).reshape(b, t, -1)
    cut = logits.masked_fill(logits == logits.amin(-1, keepdim=True), -torch.inf)
    row = filter_logits(logits[0, 0], top_k=4, top_p=0.6)
    return row, filter_logits(cut, top_k=5), filter_logits(cut, top_p=0.7)


@filter_logits.case(
    title="logits in the thousands; strided, left unchanged",
    points=1,
    atol=1e-3,  # float32 keeps few digits of thousands
)
def filter_unchanged(filter_logits, rng):
    logits = strided(distributions(rng, 4, *UNEVEN) + 4000)
    found = [filter_logits(logits, 3, 0.6), filter_logits(logits, top_k=50)]
    names = "the logits after top_k and top_p", "the logits after a k above V"
    shifted = dict(zip(names, (one - 4000 for one in found), strict=True))
    return {**shifted, "logits": logits}


# sample_tokens ------------------------------------------------------------------------


def uniforms(rng, count):
    """Random numbers that cover [0, 1) evenly, in a random order."""
    return torch.from_numpy((rng.permutation(count) + rng.uniform(0.2, 0.8)) / count)


@sample_tokens.case(title="tokens in proportion to their probabilities", points=3)
def sample_evenly(sample_tokens, rng):
    b, v = 40, sizes(rng, 1, 5, 9)[0]
    return sample_tokens(tensor(rng, b, v), uniforms(rng, b))


@sample_tokens.case(title="temperatures above and below 1", points=2)
def sample_temperatures(sample_tokens, rng):
    logits, uniform = 1.5 * tensor(rng, 40, 7), uniforms(rng, 40)
    return [sample_tokens(logits, uniform, t) for t in (0.3, 0.8, 2.0, 20.0)]


@sample_tokens.case(title="temperature 0: the largest, of equal ones the first; and 1")
def sample_cold(sample_tokens, rng):
    logits = torch.from_numpy(
        rng.permuted(np.tile([0, 1, 4, 4.0, 4, 2], (12, 1)), axis=1)
    )
    uniform = uniforms(rng, 12)
    return [sample_tokens(logits, uniform, temperature=t) for t in (0.0, 1.0)]


@sample_tokens.case(title="small temperatures, logits in the thousands", points=1)
def sample_nearly_cold(sample_tokens, rng):
    logits, uniform = tensor(rng, 9, 6), uniforms(rng, 9)
    large = logits + 3000 * torch.from_numpy(rng.integers(0, 2, (9, 6)))
    return [sample_tokens(logits, uniform, 1e-4), sample_tokens(large, uniform, 0.7)]


@sample_tokens.case(title="a sum that is the random number exactly does not exceed it")
def sample_exact(sample_tokens, rng):
    uniform = torch.from_numpy(rng.permutation(np.arange(12) % 4 / 4))
    return sample_tokens(torch.zeros(12, 4, dtype=torch.float64), uniform)


@sample_tokens.case(title="a random number of 0, and tokens without probability")
def sample_cut(sample_tokens, rng):
    logits = tensor(rng, 12, 7)
    logits[:, [0, 3]] = -torch.inf
    logits[::2, 1] = -torch.inf
    uniform = uniforms(rng, 12)
    uniform[:6] = 0.0
    return sample_tokens(logits, uniform)


@sample_tokens.case(title="rounding: the last token that has a probability", points=1)
def sample_rounded(sample_tokens, rng):
    logits = tensor(rng, 60, 40)
    logits[:, 37:] = logits[::2, 20:] = -torch.inf
    almost_one = torch.full((60,), 1 - 2.0**-53, dtype=torch.float64)
    return sample_tokens(logits, almost_one), sample_tokens(logits, uniforms(rng, 60))


@sample_tokens.case(title="as many rows as tokens; strided, left unchanged", points=1)
def sample_square(sample_tokens, rng):
    (n,) = sizes(rng, 1, 6, 9)
    logits, uniform = strided(tensor(rng, n, n)), uniforms(rng, n)
    return sample_tokens(logits, uniform, 0.5), logits, uniform


# break_filter_logits ------------------------------------------------------------------

break_filter_logits = BreakExercise(
    name="break_filter_logits",
    target=filter_logits,
    parameters=[
        reals("logits", "N V"),
        whole("top_k", 1, 64),
        real("top_p", 0.01, 1.0),
    ],
    make=torch.tensor,
)
break_filter_logits.version("right where top_k cuts nothing")
break_filter_logits.version("right where no two logits are equal")
break_filter_logits.version("right where the largest probability reaches p alone")
break_filter_logits.version(
    "right where the logits of each row fall from left to right"
)
break_filter_logits.version("right for a single row")
break_filter_logits.small(most=8, points=2)
