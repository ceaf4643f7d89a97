"""Cases for `decoding`: greedy and beam search, the key-value cache.

Sizes are drawn, all different from each other, so that an axis that is mistaken for
another one shows. The models that are decoded here are small tables of numbers: the
next token depends on every token of the prefix and on the order of the tokens.
"""

import numpy as np

from autograder.arrays import different, noted
from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.specification import reals, whole

greedy_decode = Exercise(
    "greedy_decode",
    core=True,
    right="Each row goes on with its most probable token until it has ended, and the "
    "batch ends with the last row.",
    hints=(
        "Two rows, of which one ends after a single token: write down the array that "
        "should be returned. How does the loop know which row has ended?",
        "Keep an array of B truth values beside the prefix. Update it from the token "
        "just chosen, never from the prefix, which begins with the start.",
        "Begin with prefix = start_ids[:, None] and "
        "ended = np.zeros(len(start_ids), dtype=bool).",
    ),
)
beam_search = Exercise(
    "beam_search",
    results=("ids", "score"),
    hints=(
        "Follow a beam of two through the tree on paper. Which hypotheses compete at "
        "each step: only the new ones, or also those that have ended?",
        "A list of (ids, total) pairs is enough. Split it into those that end with "
        "end_id and those that do not, and show the model only the second list.",
        "Sort old ended and newly grown hypotheses together by total / "
        "len(ids) ** length_penalty, and keep the first beam_size.",
    ),
)
KVCache = Exercise(
    "KVCache",
    results=("keys", "values"),
    hints=(
        "Which of the four axes of (B, h, n, d) grows when tokens are added?",
        "The first call has nothing to join the new keys to. reset can bring the "
        "object back to that state, and __init__ can call it.",
    ),
)
cached_attention = Exercise(
    "cached_attention",
    core=True,
    right="New queries see all keys of the cache, and among the new ones none that "
    "come later.",
    hints=(
        "Draw the grid for two new queries and five keys, three of which were in the "
        "cache. Which cells lie in the future?",
        "Append first: the new tokens also attend to each other. The triangle ends at "
        "the last key, so its diagonal is offset by the number of older keys.",
        "np.tri(n, length, length - n, dtype=bool) is that grid. Mask the scores with "
        "it before the softmax.",
    ),
)


# Models to decode ---------------------------------------------------------------------


def log_shares(logits):
    """(K, V) logits of moderate size -> (K, V) log-probabilities."""
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


class PrefixModel:
    """Logits of the next token that depend on the whole prefix and on its order.

    Each token of a prefix has a vector, each position a factor for every feature. The
    products are summed, and the sum is mapped to logits. ``end_bonus`` is added to the
    logit of the end.
    """

    def __init__(self, rng, vocab_size, end_id, end_bonus=0.0, sharpness=1.5, width=6):
        self.table = rng.standard_normal((vocab_size, width))
        self.places = rng.standard_normal((16, width))
        self.output = sharpness * rng.standard_normal((width, vocab_size))
        self.bonus = np.zeros(vocab_size)
        self.bonus[end_id] = end_bonus

    def logits(self, prefixes):
        """(K, t) ids -> (K, V) logits."""
        tokens, places = self.table[prefixes], self.places[: prefixes.shape[1]]
        return np.tanh((tokens * places).sum(axis=1)) @ self.output + self.bonus

    def log_probs(self, prefixes):
        """(K, t) ids -> (K, V) log-probabilities."""
        return log_shares(self.logits(prefixes))


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
        self.start_ids = np.array(start_ids)
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
    batch, length = different(rng, 2, 3, 9)
    model = ScriptedModel(rng, [NEVER] * batch)
    return greedy_decode(noted(model)[0], model.start_ids, model.end_id, length)


@greedy_decode.case(title="rows that end early are padded with the end", points=2)
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


@greedy_decode.case(title="a start that has the id of the end ends nothing", points=1)
def decode_after_the_end(greedy_decode, rng):
    batch, length = different(rng, 2, 4, 9)
    model = PrefixModel(rng, 11, 0, end_bonus=-99.0)
    start_ids = 1 + rng.permutation(batch)
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
        probabilities = np.exp(log_shares(self.logits(prefixes)))
        for row, prefix in zip(probabilities, prefixes.tolist(), strict=True):
            branch = self.branches.get(tuple(prefix), {})
            row[list(branch)] = 0.0
            row *= (1 - sum(branch.values())) / row.sum()
            for token, probability in branch.items():
                row[token] = probability
        return np.log(probabilities)


def near(rng, probability, by=0.02):
    """A probability drawn near the given one."""
    return probability + float(rng.uniform(-by, by))


def names(rng, vocab_size):
    """All ids in a random order: the start, the end, and the words."""
    start_id, end_id, *words = (int(i) for i in rng.permutation(vocab_size))
    return start_id, end_id, words


def found(beam_search, model, *arguments):
    """The ids as an array, whether they come as one or as a list; and the score."""
    ids, score = beam_search(noted(model)[0], *arguments)
    return np.asarray(ids), score


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
        results.append(found(beam_search, model, start, end, 2, 6, length_penalty))
    return results


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
        found(beam_search, model, start, end, 2, 5, penalty) for penalty in (0.0, 1.0)
    ]
    return results


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
        results.append(found(beam_search, model, start, end, 2, 6, length_penalty))
    return results


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
        results.append(found(beam_search, model, start, end, 2, 5, length_penalty))
    return results


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
        result = found(beam_search, call, start, end, 2, 6, length_penalty)
        results.append({"found": result, "an ended one was shown": any(ended)})
    return results


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
        found(beam_search, model, start, end, 3, max_length, 0.4)
        for max_length in (1, 3)
    ]
    return results


# KVCache ------------------------------------------------------------------------------


def keys_and_values(rng, b, h, n, d, d_v):
    return rng.standard_normal((b, h, n, d)), rng.standard_normal((b, h, n, d_v))


@KVCache.case(title="a new cache is empty, and counts what is appended", points=1)
def cache_length(KVCache, rng):
    b, h, d, d_v = different(rng, 4, 3, 9)
    cache = KVCache()
    lengths = {"the length of a new cache": cache.length}
    for call, n in enumerate(rng.integers(1, 7, 3).tolist(), start=1):
        cache.append(*keys_and_values(rng, b, h, n, d, d_v))
        lengths[f"the length after append number {call}"] = cache.length
    return lengths


@KVCache.case(title="new tokens come behind the old ones", points=4)
def cache_grows(KVCache, rng):
    b, h, n, d, d_v = different(rng, 5, 3, 9)
    cache = KVCache()
    return [
        cache.append(*keys_and_values(rng, b, h, count, d, d_v))
        for count in (n, 1, 1, 2)
    ]


@KVCache.case(title="forgets everything at reset, sizes included", points=2)
def cache_resets(KVCache, rng):
    b, h, d, d_v = different(rng, 4, 3, 9)
    cache = KVCache()
    cache.append(*keys_and_values(rng, b, h, 4, d, d_v))
    cache.reset()
    found = {"the length after a reset": cache.length}
    found["appended"] = [
        cache.append(*keys_and_values(rng, b + 1, h + 1, count, d + 1, d_v + 1))
        for count in (2, 1)
    ]
    return {**found, "the length at the end": cache.length}


@KVCache.case(title="two caches know nothing of each other", points=2)
def two_caches(KVCache, rng):
    b, h, d, d_v = different(rng, 4, 3, 9)
    one, other = KVCache(), KVCache()
    results = []
    for count in (2, 3):
        results.append(one.append(*keys_and_values(rng, b, h, count, d, d_v)))
        results.append(other.append(*keys_and_values(rng, b, h, 1, d, d_v)))
    lengths = {"the length of one": one.length, "the length of the other": other.length}
    return {"appended": results, **lengths}


# cached_attention ---------------------------------------------------------------------


class DealtCache:
    """Deals out keys and values that were known before, as many as are appended.

    So each exercise is judged on its own, and this one's cases answer no other. What is
    appended is only added up, in ``sums``.
    """

    def __init__(self, keys, values):
        self._known = keys, values
        self.sums = np.zeros(()), np.zeros(())
        self.reset()

    @property
    def length(self):
        """How many tokens were dealt out."""
        return 0 if self.keys is None else self.keys.shape[2]

    def append(self, key, value):
        """Deal as many tokens as there are in ``key``; all keys and all values."""
        self.sums = self.sums[0] + key.sum(axis=2), self.sums[1] + value.sum(axis=2)
        count = self.length + key.shape[2]
        self.keys, self.values = (known[:, :, :count] for known in self._known)
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
    return rng.standard_normal((b, h, n, d)), *keys_and_values(rng, b, h, n, d, d_v)


def attend_in_chunks(cached_attention, counts, *tokens):
    """Outputs of some tokens after the other, and the cache that they went into."""
    cache = DealtCache(*tokens[1:])
    edges = np.cumsum(counts)[:-1]
    chunks = zip(*(np.split(x, edges, axis=2) for x in tokens), strict=True)
    return [cached_attention(*chunk, cache) for chunk in chunks], cache


def attend_to_random_tokens(cached_attention, rng, counts):
    b, h, d, d_v = different(rng, 4, 3, 9)
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


@cached_attention.case(title="several new tokens behind those in the cache", points=3)
def attend_to_chunks(cached_attention, rng):
    return attend_to_random_tokens(cached_attention, rng, [4, 3, 1, 5])


@cached_attention.case(title="as many sequences as heads as tokens", points=1)
def attend_in_a_cube(cached_attention, rng):
    (n,) = different(rng, 1, 3, 5)
    tokens = all_tokens(rng, n, n, 2 * n, n, n)
    outputs, cache = attend_in_chunks(cached_attention, [n, n], *tokens)
    return {"outputs": outputs, **cache.appended()}


@cached_attention.case(title="scores of a thousand do not overflow", points=1)
def attend_with_long_queries(cached_attention, rng):
    (b, h, d_v), d = different(rng, 3, 3, 9), 16
    query = rng.integers(-4, 5, (b, h, 5, d)) / 2.0
    key = rng.integers(-4, 5, (b, h, 5, d)) / 4.0
    query[..., 0], key[..., 0] = 1000.0, 4.0
    tokens = query, key, rng.standard_normal((b, h, 5, d_v))
    outputs, cache = attend_in_chunks(cached_attention, [3, 2], *tokens)
    return {"outputs": outputs, **cache.appended()}


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
    hints=(
        "Which wrong versions are right for an empty cache? Which for a single new "
        "token? Your tokens must rule out both cases at once.",
        "One token in the first call and two in the second, with two heads of one "
        "feature each, are enough. Choose queries that differ from the keys.",
    ),
    parameters=[
        whole("before", 0, 64),
        reals("query", "B h N d"),
        reals("key", "B h N d"),
        reals("value", "B h N d_v"),
    ],
    use=attend_in_two_calls,
    rule=too_many_before,
)
break_cached_attention.version("right where the cache is empty")
break_cached_attention.version("right for one new token at a time")
break_cached_attention.version("right for a single head")
break_cached_attention.version("right where the queries are the keys")
break_cached_attention.small(most=19, points=2)
