"""Cases for `decoding`: greedy and beam search, the key-value cache.

Sizes are drawn, all different from each other, so that an axis that is mistaken for
another one shows. The models that are decoded here are small tables of numbers: what
comes next depends on every token of the prefix and on the order of the tokens.
"""

import numpy as np
import torch

from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import gradients, noted, sizes, tensor
from autograder.specification import reals, whole

greedy_decode = Exercise("greedy_decode")
beam_search = Exercise("beam_search", results=("ids", "score"))
KVCache = Exercise("KVCache", results=("keys", "values"))
cached_attention = Exercise("cached_attention")


# Models to decode ---------------------------------------------------------------------


class PrefixModel:
    """Logits of the next token that depend on the whole prefix and on its order.

    Each token of a prefix has a vector, each place a factor for every feature. The
    products are summed, and the sum is mapped to logits. ``end_bonus`` is added to the
    logit of the end.
    """

    def __init__(self, rng, vocab_size, end_id, end_bonus=0.0, sharpness=1.5, width=6):
        self.table = tensor(rng, vocab_size, width)
        self.places = tensor(rng, 16, width)
        self.write = sharpness * tensor(rng, width, vocab_size)
        self.bonus = torch.zeros(vocab_size, dtype=torch.float64)
        self.bonus[end_id] = end_bonus

    def logits(self, prefixes):
        """(K, t) ids -> (K, V) logits."""
        tokens, places = self.table[prefixes.long()], self.places[: prefixes.shape[1]]
        return torch.tanh((tokens * places).sum(dim=1)) @ self.write + self.bonus

    def log_probs(self, prefixes):
        """(K, t) ids -> (K, V) log-probabilities."""
        return self.logits(prefixes).log_softmax(dim=-1)


# greedy_decode ------------------------------------------------------------------------


class ScriptedModel(PrefixModel):
    """A model that knows by heart what follows each start, word for word.

    After a prefix of its scripts the scripted token has the largest logit. After
    anything else it rambles and never ends.
    """

    def __init__(self, rng, lengths, places=12):
        self.end_id, *start_ids = (
            int(i) for i in 1 + rng.permutation(19)[: 1 + len(lengths)]
        )
        super().__init__(rng, 20, self.end_id, end_bonus=-8.0)
        words = np.delete(np.arange(20), self.end_id)
        self.start_ids = torch.tensor(start_ids)
        self.following = {}
        for start_id, length in zip(start_ids, lengths, strict=True):
            script = rng.choice(words, places).tolist()
            script[length - 1 :] = [self.end_id][: max(0, places - length + 1)]
            for place, token in enumerate(script):
                self.following[start_id, *script[:place]] = token

    def __call__(self, prefixes):
        """(B, t) ids, start included -> (B, V) logits, all of them negative."""
        logits = self.logits(prefixes) - 30.0
        for row, prefix in zip(logits, prefixes.tolist(), strict=True):
            if tuple(prefix) in self.following:
                row[self.following[tuple(prefix)]] = row.max() + 1.0
        return logits


NEVER = 99


def length_of(prefixes):
    """How long the prefixes are that a model is asked about."""
    return prefixes.shape[1]


@greedy_decode.case(title="each token is the best one after all before it", points=2)
def decode_without_end(greedy_decode, rng):
    batch, length = sizes(rng, 2)
    model = ScriptedModel(rng, [NEVER] * batch)
    return greedy_decode(noted(model)[0], model.start_ids, model.end_id, length)


@greedy_decode.case(title="rows that end early are filled up with the end", points=2)
def decode_different_lengths(greedy_decode, rng):
    model = ScriptedModel(rng, [*rng.permutation([1, 3, 4, 6]), NEVER])
    return greedy_decode(noted(model)[0], model.start_ids, model.end_id, 9)


@greedy_decode.case(title="stops when all rows have ended", points=2)
def decode_stops(greedy_decode, rng):
    model = ScriptedModel(rng, rng.permutation([2, 3, 5, 5]))
    call, lengths = noted(model, length_of)
    ids = greedy_decode(call, model.start_ids, model.end_id, 11)
    return {"ids": ids, "the longest prefix": max(lengths, default=0)}


@greedy_decode.case(title="a single sequence, and a single token", points=1)
def decode_one(greedy_decode, rng):
    model = ScriptedModel(rng, [4])
    one = greedy_decode(noted(model)[0], model.start_ids, model.end_id, 8)
    model = ScriptedModel(rng, [1, 3, NEVER])
    return one, greedy_decode(noted(model)[0], model.start_ids, model.end_id, 1)


@greedy_decode.case(title="an end in the last place that is allowed", points=1)
def decode_to_the_last_place(greedy_decode, rng):
    length = int(rng.integers(4, 9))
    model = ScriptedModel(rng, [length, 2, length + 1])
    call, lengths = noted(model, length_of)
    ids = greedy_decode(call, model.start_ids, model.end_id, length)
    return {"ids": ids, "the longest prefix": max(lengths, default=0)}


@greedy_decode.case(title="the same start in all rows; starts stay unchanged", points=1)
def decode_conditioned_rows(greedy_decode, rng):
    batch, length = sizes(rng, 2, 4, 9)
    model = PrefixModel(rng, 11, 0)
    source = 3 * tensor(rng, batch, 11)  # what an encoder would have read
    source[:, 0] -= 99.0  # none of them ends
    start_ids = torch.full((batch,), 1)
    ids = greedy_decode(lambda p: model.logits(p) + source, start_ids, 0, length)
    return ids, start_ids


@greedy_decode.case(title="a start that has the id of the end ends nothing", points=1)
def decode_after_the_end(greedy_decode, rng):
    batch, length = sizes(rng, 2, 4, 9)
    model = PrefixModel(rng, 11, 0, end_bonus=-99.0)
    start_ids = torch.from_numpy(1 + rng.permutation(batch))
    start_ids[::2] = 0
    return greedy_decode(noted(model.logits)[0], start_ids, 0, length)


# beam_search --------------------------------------------------------------------------


class TreeModel(PrefixModel):
    """Log-probabilities with some branches prescribed.

    ``branches`` maps a prefix without its start to {token: probability}. What is left
    of the probability goes to the other tokens, as the random model would have it.
    """

    def __init__(self, rng, vocab_size, start_id, end_id, branches, sharpness=0.3):
        super().__init__(rng, vocab_size, end_id, sharpness=sharpness)
        self.branches = {(start_id, *key): tokens for key, tokens in branches.items()}

    def __call__(self, prefixes):
        """(K, t) ids, start included -> (K, V)."""
        probabilities = self.logits(prefixes).softmax(dim=-1)
        for row, prefix in zip(probabilities, prefixes.tolist(), strict=True):
            branch = self.branches.get(tuple(prefix), {})
            row[list(branch)] = 0.0
            row *= (1 - sum(branch.values())) / row.sum()
            for token, probability in branch.items():
                row[token] = probability
        return probabilities.log()


def near(rng, probability, by=0.02):
    """A probability drawn near the given one."""
    return probability + float(rng.uniform(-by, by))


def names(rng, vocab_size):
    """All ids in a random order: the start, the end, and the words."""
    start_id, end_id, *words = (int(i) for i in rng.permutation(vocab_size))
    return start_id, end_id, words


def found(result):
    """Ids as a tensor, whether they came as one or as a list; and the score."""
    ids, score = result
    return torch.as_tensor(ids), score


def searches(beam_search, rng, structures, length_penalty):
    """Searches in models whose structure is known to tell mistakes apart.

    The structures are those of seeds that were chosen for it; the names of the tokens
    and the exact probabilities are drawn.
    """
    results = []
    for seed in structures:
        own = np.random.default_rng(seed)
        vocab_size, beam_size = int(own.integers(5, 8)), int(own.integers(2, 5))
        model = PrefixModel(own, vocab_size, end_id=1, end_bonus=0.3)
        order = torch.from_numpy(rng.permutation(vocab_size))
        model.table[order] = model.table.clone()
        model.write[:, order] = model.write + 0.002 * tensor(rng, *model.write.shape)
        model.bonus[order] = model.bonus.clone()
        start_id, end_id = order[:2].tolist()
        result = beam_search(
            model.log_probs, start_id, end_id, beam_size, 7, length_penalty
        )
        results.append(found(result))
    return results


@beam_search.case(title="a beam of one is greedy", points=1)
def beam_of_one(beam_search, rng):
    start, end, (a, b, c, *_) = names(rng, 9)
    branches = {
        (): {a: near(rng, 0.6), b: near(rng, 0.3)},
        (a,): {b: near(rng, 0.5), c: near(rng, 0.3)},
        (a, b): {end: near(rng, 0.6)},
        (b,): {c: near(rng, 0.9)},
    }
    model = TreeModel(rng, 9, start, end, branches)
    results = [
        beam_search(noted(model)[0], start, end, 1, length) for length in (1, 2, 5)
    ]
    return [found(result) for result in results]


@beam_search.case(title="finds what greedy misses: the better second choice", points=2)
def beam_in_a_garden_path(beam_search, rng):
    results = []
    for length_penalty in (0.0, 1.0):
        start, end, (a, b, c, d, *_) = names(rng, 9)
        branches = {
            (): {a: near(rng, 0.5), b: near(rng, 0.38)},
            (a,): {c: near(rng, 0.4), d: near(rng, 0.2)},
            (a, c): {end: near(rng, 0.9)},
            (b,): {c: near(rng, 0.93)},
            (b, c): {end: near(rng, 0.93)},
        }
        model = TreeModel(rng, 9, start, end, branches)
        results.append(beam_search(noted(model)[0], start, end, 2, 6, length_penalty))
    return [found(result) for result in results]


@beam_search.case(title="no length penalty: sums of log-probabilities", points=2)
def beam_without_penalty(beam_search, rng):
    return searches(beam_search, rng, (41, 45, 51, 74), 0.0)


@beam_search.case(title="both places may go to children of one hypothesis", points=1)
def beam_of_siblings(beam_search, rng):
    start, end, (a, b, c, d, *_) = names(rng, 9)
    branches = {
        (): {a: near(rng, 0.65), b: near(rng, 0.25)},
        (a,): {c: near(rng, 0.5), d: near(rng, 0.43)},
        (a, c): {b: near(rng, 0.3), d: near(rng, 0.25)},
        (a, d): {b: near(rng, 0.95)},
        (a, d, b): {end: near(rng, 0.95)},
        (b,): {c: near(rng, 0.5)},
    }
    model = TreeModel(rng, 9, start, end, branches)
    results = [
        beam_search(noted(model)[0], start, end, 2, 5, penalty)
        for penalty in (0.0, 1.0)
    ]
    return [found(result) for result in results]


@beam_search.case(title="with a length penalty", points=2)
def beam_with_penalty(beam_search, rng):
    return [
        *searches(beam_search, rng, (4, 5, 183, 242), 1.0),
        *searches(beam_search, rng, (9, 53), 0.6),
    ]


@beam_search.case(title="the length penalty decides who stays, at every step", points=2)
def beam_with_penalty_throughout(beam_search, rng):
    results = []
    for length_penalty in (0.9, 1.2):
        start, end, (a, b, c, d, *_) = names(rng, 9)
        branches = {
            (): {a: near(rng, 0.6), end: near(rng, 0.3)},
            (a,): {b: near(rng, 0.55, 0.01), c: near(rng, 0.36, 0.01)},
            (a, b): {d: near(rng, 0.3)},
            (a, c): {d: near(rng, 0.96)},  # third by its sum, second by its mean
            (a, c, d): {end: near(rng, 0.96)},
        }
        model = TreeModel(rng, 9, start, end, branches)
        results.append(beam_search(noted(model)[0], start, end, 2, 6, length_penalty))
    return [found(result) for result in results]


@beam_search.case(
    title="a hypothesis that has ended keeps its place and is not continued", points=3
)
def beam_with_early_end(beam_search, rng):
    results = []
    for length_penalty in (0.0, 1.0):
        start, end, (a, b, c, d, *_) = names(rng, 9)
        branches = {
            (): {end: near(rng, 0.5), a: near(rng, 0.28), b: near(rng, 0.17)},
            (end,): {c: near(rng, 0.97, 0.01)},  # nobody should ask
            (end, c): {d: near(rng, 0.97, 0.01)},
            (end, c, d): {end: near(rng, 0.97, 0.01)},
            (a,): {c: near(rng, 0.5)},
            (a, c): {d: near(rng, 0.5)},
            (a, c, d): {end: near(rng, 0.5)},
            (b,): {c: near(rng, 0.97, 0.01)},  # dropped while the end keeps its place
            (b, c): {d: near(rng, 0.97, 0.01)},
            (b, c, d): {end: near(rng, 0.97, 0.01)},
        }
        model = TreeModel(rng, 9, start, end, branches)
        results.append(beam_search(noted(model)[0], start, end, 2, 5, length_penalty))
    return [found(result) for result in results]


@beam_search.case(title="the model is shown none that has ended", points=1)
def beam_shows_the_living(beam_search, rng):
    results = []
    for length_penalty in (0.0, 1.0):
        start, end, (a, b, c, d, *_) = names(rng, 9)
        branches = {
            (): {a: near(rng, 0.52), end: near(rng, 0.35)},  # both stay in the beam
            (a,): {b: near(rng, 0.95)},
            (a, b): {c: near(rng, 0.95)},
            (a, b, c): {end: near(rng, 0.95)},
        }
        model = TreeModel(rng, 9, start, end, branches)
        call, ended = noted(model, lambda prefixes, end=end: end in prefixes[:, 1:])
        result = beam_search(call, start, end, 2, 6, length_penalty)
        results.append({"found": found(result), "an ended one was shown": any(ended)})
    return results


@beam_search.case(title="a better hypothesis may overtake one that has ended", points=1)
def beam_overtakes(beam_search, rng):
    results = []
    for at_once, later in ((0.45, 0.4), (0.38, 0.46)):
        start, end, (a, b, c, d, *_) = names(rng, 9)
        branches = {
            (): {end: near(rng, at_once), a: near(rng, later)},
            (end,): {b: near(rng, 0.6)},
            (a,): {b: near(rng, 0.9)},
            (a, b): {c: near(rng, 0.9)},
            (a, b, c): {d: near(rng, 0.9)},
            (a, b, c, d): {end: near(rng, 0.9)},
        }
        model = TreeModel(rng, 9, start, end, branches)
        results += [
            beam_search(noted(model)[0], start, end, 2, 7, p) for p in (0.5, 1.0)
        ]
    return [found(result) for result in results]


@beam_search.case(title="the best at max_length may not have ended", points=1)
def beam_cut_off(beam_search, rng):
    start, end, (a, b, c, d, *_) = names(rng, 9)
    branches = {
        (): {a: near(rng, 0.7), end: near(rng, 0.2)},
        (a,): {b: near(rng, 0.9), end: near(rng, 0.05)},
        (a, b): {c: near(rng, 0.9), end: near(rng, 0.05)},
        (a, b, c): {d: near(rng, 0.9), end: near(rng, 0.05)},
    }
    model = TreeModel(rng, 9, start, end, branches)
    results = [
        beam_search(noted(model)[0], start, end, 3, max_length, 0.4)
        for max_length in (1, 3)
    ]
    return [found(result) for result in results]


@beam_search.case(title="a beam wider than the vocabulary", points=1)
def wide_beam(beam_search, rng):
    start, end, (a, b, c) = names(rng, 5)
    branches = {
        (): {a: near(rng, 0.5), end: near(rng, 0.2)},
        (a,): {b: near(rng, 0.6), end: near(rng, 0.1)},
        (a, b): {c: near(rng, 0.6), end: near(rng, 0.1)},
        (a, b, c): {end: near(rng, 0.7)},
    }
    model = TreeModel(rng, 5, start, end, branches)
    results = [
        beam_search(noted(model)[0], start, end, 9, 5, penalty)
        for penalty in (0.0, 1.0)
    ]
    return [found(result) for result in results]


@beam_search.case(title="eight random models", points=1)
def beam_in_random_models(beam_search, rng):
    structures = rng.integers(10**6, 10**9, 8).tolist()
    return [
        *searches(beam_search, rng, structures[:3], 0.0),
        *searches(beam_search, rng, structures[3:], 1.0),
    ]


# KVCache ------------------------------------------------------------------------------


def keys_and_values(rng, b, h, n, d, d_v):
    return tensor(rng, b, h, n, d), tensor(rng, b, h, n, d_v)


@KVCache.case(title="a new cache is empty, and counts what is appended", points=1)
def cache_length(KVCache, rng):
    b, h, d, d_v = sizes(rng, 4)
    cache = KVCache()
    lengths = {"the length of a new cache": cache.length}
    for call, n in enumerate(rng.integers(1, 7, 3).tolist(), start=1):
        cache.append(*keys_and_values(rng, b, h, n, d, d_v))
        lengths[f"the length after append number {call}"] = cache.length
    return lengths


@KVCache.case(title="new tokens come behind the old ones", points=4)
def cache_grows(KVCache, rng):
    b, h, n, d, d_v = sizes(rng, 5)
    cache = KVCache()
    return [
        cache.append(*keys_and_values(rng, b, h, count, d, d_v))
        for count in (n, 1, 1, 2)
    ]


@KVCache.case(title="as many sequences as heads as new tokens as features", points=2)
def cache_of_a_cube(KVCache, rng):
    (n,) = sizes(rng, 1, 2, 4)
    cache = KVCache()
    return [cache.append(*keys_and_values(rng, n, n, n, n, n)) for _ in range(3)]


def empty(cache):
    """Whether the keys of a cache are None, and whether its values are."""
    return {
        "keys are None": cache.keys is None,
        "values are None": cache.values is None,
    }


@KVCache.case(title="its keys and values, None while it is empty", points=1)
def cache_attributes(KVCache, rng):
    b, h, n, d, d_v = sizes(rng, 5)
    cache = KVCache()
    before = empty(cache)
    cache.append(*keys_and_values(rng, b, h, n, d, d_v))
    held = cache.keys, cache.values
    cache.reset()
    return {"at first": before, "held": held, "after a reset": empty(cache)}


@KVCache.case(title="forgets everything at reset", points=2)
def cache_resets(KVCache, rng):
    b, h, d, d_v = sizes(rng, 4)
    cache = KVCache()
    cache.append(*keys_and_values(rng, b, h, 4, d, d_v))
    cache.reset()
    found = {"the length after a reset": cache.length}
    found["appended"] = [
        cache.append(*keys_and_values(rng, b, h, count, d, d_v)) for count in (2, 1)
    ]
    return {**found, "the length at the end": cache.length}


@KVCache.case(title="takes tokens of other sizes after a reset", points=1)
def cache_resets_sizes(KVCache, rng):
    b, h, d, d_v = sizes(rng, 4)
    cache = KVCache()
    cache.append(*keys_and_values(rng, b, h, 2, d, d_v))
    cache.reset()
    results = cache.append(*keys_and_values(rng, b + 1, h + 1, 3, d + 1, d_v + 1))
    return {"appended": results, "the length at the end": cache.length}


@KVCache.case(title="two caches know nothing of each other", points=2)
def two_caches(KVCache, rng):
    b, h, d, d_v = sizes(rng, 4)
    one, other = KVCache(), KVCache()
    results = []
    for count in (2, 3):
        results.append(one.append(*keys_and_values(rng, b, h, count, d, d_v)))
        results.append(other.append(*keys_and_values(rng, b, h, 1, d, d_v)))
    lengths = {"the length of one": one.length, "the length of the other": other.length}
    return {"appended": results, **lengths}


@KVCache.case(
    title="strided keys and values, which stay unchanged; gradients flow", points=2
)
def cache_keeps_gradients(KVCache, rng):
    b, h, d, d_v = sizes(rng, 4)
    cache, pieces = KVCache(), []
    for n in (2, 1):
        pieces.append(tensor(rng, b, n, h, d).transpose(1, 2).requires_grad_())
        pieces.append(tensor(rng, b, n, h, d_v).transpose(1, 2).requires_grad_())
        keys, values = cache.append(*pieces[-2:])
    both = torch.cat([keys.square().flatten(), values.square().flatten()])
    return keys, values, gradients(both, *pieces), pieces


# cached_attention ---------------------------------------------------------------------


class DealtCache:
    """Deals out keys and values that were known before, as many as are appended.

    So each exercise is judged on its own, and this one's cases answer no other. What is
    appended is only added up, in ``sums``.
    """

    def __init__(self, keys, values):
        self._known = keys, values
        self.sums = torch.zeros(()), torch.zeros(())
        self.reset()

    @property
    def length(self):
        """How many tokens were dealt out."""
        return 0 if self.keys is None else self.keys.shape[2]

    def append(self, key, value):
        """Deal as many tokens as there are in ``key``; all keys and all values."""
        self.sums = self.sums[0] + key.sum(dim=2), self.sums[1] + value.sum(dim=2)
        count = self.length + key.shape[2]
        dealt = (known[:, :, :count].to(key.dtype) for known in self._known)
        self.keys, self.values = dealt
        return self.keys, self.values

    def reset(self):
        """Begin to deal anew."""
        self.keys = self.values = None

    def appended(self):
        """What was appended, added up, under names."""
        keys, values = self.sums
        return {"the keys that were appended": keys, "the values that were": values}


def all_tokens(rng, b, h, n, d, d_v):
    """Queries, keys and values of n tokens."""
    return tensor(rng, b, h, n, d), *keys_and_values(rng, b, h, n, d, d_v)


def attend_in_chunks(cached_attention, counts, *tokens):
    """Outputs of some tokens after the other, and the cache that they went into."""
    cache = DealtCache(*tokens[1:])
    chunks = zip(*(x.split(counts, dim=2) for x in tokens), strict=True)
    return [cached_attention(*chunk, cache) for chunk in chunks], cache


def attend_to_random_tokens(cached_attention, rng, counts):
    b, h, d, d_v = sizes(rng, 4)
    tokens = all_tokens(rng, b, h, sum(counts), d, d_v)
    outputs, cache = attend_in_chunks(cached_attention, counts, *tokens)
    return {
        "outputs": outputs,
        "the length of the cache": cache.length,
        **cache.appended(),
    }


@cached_attention.case(title="one token after the other", points=3)
def attend_token_by_token(cached_attention, rng):
    return attend_to_random_tokens(cached_attention, rng, [1] * 5)


@cached_attention.case(title="all tokens at once, into an empty cache", points=2)
def attend_at_once(cached_attention, rng):
    return attend_to_random_tokens(cached_attention, rng, sizes(rng, 1, 5, 9))


@cached_attention.case(title="several new tokens behind those in the cache", points=3)
def attend_to_chunks(cached_attention, rng):
    return attend_to_random_tokens(cached_attention, rng, [4, 3, 1, 5])


@cached_attention.case(
    title="the cache holds the new keys and values afterwards, once", points=1
)
def attention_fills_the_cache(cached_attention, rng):
    b, h, d, d_v = sizes(rng, 4)
    tokens = all_tokens(rng, b, h, 6, d, d_v)
    outputs, cache = attend_in_chunks(cached_attention, [3, 1, 2], *tokens)
    return {
        "output": outputs[-1],
        "the keys of the cache": cache.keys,
        "the values of the cache": cache.values,
        **cache.appended(),
    }


@cached_attention.case(title="as many sequences as heads as tokens", points=1)
def attend_in_a_cube(cached_attention, rng):
    (n,) = sizes(rng, 1, 3, 5)
    tokens = all_tokens(rng, n, n, 2 * n, n, n)
    outputs, cache = attend_in_chunks(cached_attention, [n, n], *tokens)
    return {"outputs": outputs, **cache.appended()}


@cached_attention.case(title="scores of a thousand do not overflow", points=1)
def attend_with_long_queries(cached_attention, rng):
    (b, h, d_v), d = sizes(rng, 3), 16
    query = torch.from_numpy(rng.integers(-4, 5, (b, h, 5, d)) / 2.0)
    key = torch.from_numpy(rng.integers(-4, 5, (b, h, 5, d)) / 4.0)
    query[..., 0], key[..., 0] = 1000.0, 4.0  # exact in float32 as well
    tokens = query, key, tensor(rng, b, h, 5, d_v)
    outputs, cache = attend_in_chunks(cached_attention, [3, 2], *tokens)
    return {"outputs": outputs, **cache.appended()}


@cached_attention.case(
    title="strided inputs, which stay unchanged; gradients flow", points=2
)
def attention_gradients(cached_attention, rng):
    b, h, d, d_v = sizes(rng, 4)
    tokens = [
        tensor(rng, b, 5, h, width).transpose(1, 2).requires_grad_()
        for width in (d, d, d_v)
    ]
    (_, output), cache = attend_in_chunks(cached_attention, [3, 2], *tokens)
    kept = sum(x.sum() for x in cache.sums)
    inputs = "query", "key", "value"
    found = {"output": output}
    for name, gradient in zip(inputs, gradients(output, *tokens), strict=True):
        found[f"the gradient of `{name}`"] = gradient
    for name, gradient in zip(inputs, gradients(kept, *tokens), strict=True):
        found[f"the gradient of `{name}` through the cache"] = gradient
    for name, token in zip(inputs, tokens, strict=True):
        found[f"`{name}` after the call"] = token
    return found


# break_cached_attention ---------------------------------------------------------------


def attend_in_two_calls(cached_attention, before, query, key, value):
    """The outputs of a call with the first tokens and of one with the others."""
    chunks = [n for n in (before, query.shape[2] - before) if n]
    outputs, cache = attend_in_chunks(cached_attention, chunks, query, key, value)
    return outputs, cache.sums


def too_many_before(before, query, key, value):
    """Refuse more tokens than there are."""
    return "`before` may be N at most" if before > query.shape[2] else ""


break_cached_attention = BreakExercise(
    name="break_cached_attention",
    target=cached_attention,
    parameters=[
        whole("before", 0, 64),
        reals("query", "B h N d"),
        reals("key", "B h N d"),
        reals("value", "B h N d_v"),
    ],
    make=torch.tensor,
    use=attend_in_two_calls,
    rule=too_many_before,
)
break_cached_attention.version("right where the cache is empty")
break_cached_attention.version("right for one new token at a time")
break_cached_attention.version("right for a single head")
break_cached_attention.version("right where the queries are the keys")
break_cached_attention.small(most=19, points=2)
