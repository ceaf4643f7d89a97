"""Misconceptions about greedy and beam search, and the key-value cache."""

import numpy as np

from autograder.break_exercise import hide
from autograder.exercise import edit, mistake
from autograder.exercises.decoding import (
    KVCache,
    beam_search,
    break_cached_attention,
    cached_attention,
    greedy_decode,
)
from solutions import decoding as right

# greedy_decode ------------------------------------------------------------------------


@edit(greedy_decode, "prefix[:, 1:]", "prefix")
def start_kept():
    """You kept the start in what you return. It is an input of the model, not something
    that the model has generated."""


@edit(
    greedy_decode,
    "np.where(ended, end_id, next_logits(prefix).argmax(axis=-1))",
    "next_logits(prefix).argmax(axis=-1)",
)
def goes_on_after_the_end():
    """You let rows that have ended go on. What comes after an end means nothing; pad
    the row with the end while the others finish."""


@edit(
    greedy_decode,
    "ended = ended | (token == end_id)",
    "ended = np.full_like(ended, (token == end_id).all())",
)
def waits_for_a_common_end():
    """You stopped only when all rows generated the end at the same step. Rows end at
    different steps, so remember which have ended."""


@edit(greedy_decode, "ended.all()", "ended.any()")
def stops_at_the_first_end():
    """You stopped as soon as one row had ended. All others are cut off in the middle;
    wait until the last one has ended."""


@edit(greedy_decode, " and not ended.all()", "")
def never_stops():
    """You always generated max_length tokens. When all rows have ended there is nothing
    left to generate, and each further step costs a pass through the model."""


@mistake(greedy_decode)
def end_dropped(next_logits, start_ids, end_id, max_length):
    """You left the end itself out, so a row that has ended cannot be told from one that
    was cut off. Keep it."""
    ids = right.greedy_decode(next_logits, start_ids, end_id, max_length)
    return ids[:, :-1] if (ids == end_id).any(axis=1).all() else ids


@edit(greedy_decode, "next_logits(prefix)", "next_logits(prefix[:, -1:])")
def only_the_last_token():
    """You gave the model the last token only. A transformer has no state: it knows the
    earlier tokens only if they are in the prefix."""


@edit(greedy_decode, "prefix.shape[1] <= max_length", "prefix.shape[1] < max_length")
def start_counted():
    """You stopped one token early: the start counted towards max_length, which is the
    number of tokens to generate."""


@mistake(greedy_decode)
def stops_before_the_first_end(next_logits, start_ids, end_id, max_length):
    """You stopped as soon as one row came to its end, and left that step out. All other
    rows are cut off in the middle, and the end is missing, which tells a row that has
    ended from one that was cut off. Keep it, and wait for the last row."""
    prefix = start_ids[:, None]
    for _ in range(max_length):
        token = next_logits(prefix).argmax(axis=-1)
        if end_id in token:
            break
        prefix = np.concatenate([prefix, token[:, None]], axis=1)
    return prefix[:, 1:]


@edit(greedy_decode, "np.zeros(len(start_ids), dtype=bool)", "start_ids == end_id")
def start_taken_for_the_end():
    """A row whose start has the id of the end counts as ended before its first token.
    Some models use one id for both, so the start ends nothing: note which rows have
    ended from the first generated token on."""


# beam_search --------------------------------------------------------------------------


@edit(
    beam_search,
    """ended = [hypothesis for hypothesis in beam if hypothesis[0][-1] == end_id]
        growing = [hypothesis for hypothesis in beam if hypothesis[0][-1] != end_id]
        if not growing:""",
    """growing = beam
        if all(ids[-1] == end_id for ids, _ in beam):""",
)
def continues_after_the_end():
    """You continued hypotheses after their end. A hypothesis that has ended is a
    finished sentence; it keeps its score and its place and is not continued."""


@edit(
    beam_search,
    """for ids, _ in growing])  # (K, t)
        grown = [
            ([*ids, token], total + log_prob)
            for (ids, total), row in zip(growing, next_log_probs(prefixes), strict=True)
""",
    """for ids, _ in growing])  # (K, t)
        finished = [start_id] + [end_id] * (prefixes.shape[1] - 1)
        prefixes = np.concatenate([prefixes, *[[finished]] * len(ended)])
        rows = next_log_probs(prefixes)[: len(growing)]
        grown = [
            ([*ids, token], total + log_prob)
            for (ids, total), row in zip(growing, rows, strict=True)
""",
)
def ended_are_shown():
    """You passed hypotheses that have ended to the model and ignored its prediction.
    Each of them is one more row in every later pass; only those that continue should
    be computed."""


@edit(beam_search, "sorted(ended + grown,", "sorted(grown,")
def ended_are_forgotten():
    """A hypothesis that ends is gone at the next step: only the continuations of the
    others are compared. It is complete, and may well be the best; it stays as it is and
    competes for its place in the next beam."""


@edit(
    beam_search,
    """beam = sorted(ended + grown, key=score, reverse=True)[:beam_size]
        ended = [hypothesis for hypothesis in beam if hypothesis[0][-1] == end_id]
        growing = [hypothesis for hypothesis in beam if hypothesis[0][-1] != end_id]
""",
    """grown.sort(key=score, reverse=True)
        ended = ended + [one for one in grown if one[0][-1] == end_id]
        growing = [one for one in grown if one[0][-1] != end_id][:beam_size]
        beam = ended + growing
""",
)
def ended_leave_the_beam():
    """You set ended hypotheses aside and gave their places to others. That is a
    different algorithm; here an ended hypothesis keeps its place in the beam for as
    long as its score is good enough."""


@edit(
    beam_search,
    "sorted(ended + grown, key=score",
    "sorted(ended + grown, key=lambda one: one[1]",
)
def penalty_only_at_the_end():
    """You ranked by the plain sum during the search and applied the length penalty only
    at the end. Long hypotheses have then been dropped before the penalty could help
    them."""


@edit(beam_search, "total / len(ids) ** length_penalty", "total")
def penalty_forgotten():
    """You accepted the length penalty and never used it. Sums of log-probabilities fall
    with every token, so without it short outputs win."""


@edit(beam_search, "float(score(best))", "float(best[1])")
def plain_sum_returned():
    """You searched with the length penalty and returned the plain sum. The score that
    is returned is the one by which the hypotheses were compared."""


@edit(beam_search, "len(ids)", "(len(ids) + 1)")
def start_in_the_length():
    """You counted the start when you divided by the length. It has no probability of
    its own; the length is that of the ids that are returned."""


@edit(beam_search, "if not growing:", "if ended:")
def stops_with_an_end_in_the_beam():
    """You stopped as soon as one hypothesis had ended and returned the best of the beam
    at that moment, ended or cut off. Others may have a better score once they are
    complete; the search goes on until all have ended."""


@edit(beam_search, "enumerate(row)", "[(int(np.argmax(row)), np.max(row))]")
def each_its_own_best():
    """You continued each hypothesis with its best token only, so the beam never holds
    more than one and the search is greedy. All continuations of all hypotheses compete
    for the places in the next beam."""


@edit(beam_search, "max(beam, key=score)", "max(ended or beam, key=score)")
def only_ended_may_win():
    """You took the best hypothesis among those that have ended. At max_length one that
    was cut off may have the best score, and then it is the answer."""


# KVCache ------------------------------------------------------------------------------


@edit(KVCache, "axis=2", "axis=1")
def joined_along_heads():
    """You joined the new tokens along the heads. The number of heads is fixed; the axis
    that grows is the third, the tokens."""


@edit(KVCache, "np.concatenate(pair,", "np.concatenate(pair[::-1],")
def joined_in_front():
    """You put the new tokens in front of the old ones. The causal mask counts from the
    oldest key on, so the order has to be that of the text."""


@edit(
    KVCache,
    "self._keys, self._values = key, value\n        return self._keys, self._values",
    "new = key[:, :, self.length :], value[:, :, self.length :]\n"
    "        self._keys, self._values = key, value\n        return new",
)
def returns_new_only():
    """You returned the new keys and values only. The new queries need all of them; that
    is what the cache is for."""


@edit(KVCache, "np.concatenate(pair, axis=2)", "pair[1]")
def replaces():
    """You replaced the old tokens by the new ones. Then every token attends to itself
    only, and the text before it is forgotten."""


@mistake(KVCache)
class CountsCalls(right.KVCache):
    """You counted how often something was appended. The length is the number of tokens,
    and several can come at once."""

    @property
    def length(self):
        return self.calls

    def reset(self):
        super().reset()
        self.calls = 0

    def append(self, key, value):
        result = super().append(key, value)
        self.calls += 1
        return result


@mistake(KVCache)
class SharedByAll(right.KVCache):
    """All your caches share their tokens, because the arrays belong to the class and
    not to the object. Each layer needs a cache of its own."""

    shared = right.KVCache()

    def reset(self):
        self.shared.reset()

    def append(self, key, value):
        return self.shared.append(key, value)

    @property
    def length(self):
        return self.shared.length


# cached_attention ---------------------------------------------------------------------


@edit(cached_attention, "length - n, dtype", "0, dtype")
def triangle_at_the_first_key():
    """You aligned the triangle with the first key, as is_causal=True does. The new
    queries are the last tokens of the text: a single one must attend to all the keys,
    and yours attends to the first."""


@edit(cached_attention, "np.where(seen, scores, -np.inf)", "scores")
def no_mask():
    """Nothing is hidden: you used no mask, or one whose edge is too far to the right,
    as when it counts from the length that the cache has after the new tokens. One token
    at a time needs no mask, but of several the first attends to those after it."""


@edit(cached_attention, "np.sqrt(query.shape[-1])", "np.sqrt(query[0, :, 0].size)")
def scaled_by_all_heads():
    """You scaled by all heads together. Each head compares its own features, so the
    square root is that of one head's width."""


@edit(cached_attention, "cache.append(key, value)", "cache.append(query, value)")
def queries_cached():
    """You put the queries into the cache where the keys belong. A token is found by its
    key; its query is used once and never needed again."""


@edit(cached_attention, " / np.sqrt(query.shape[-1])", "")
def not_scaled():
    """You forgot to divide the scores by the square root of the width of the keys. The
    weights become too sharp, and the numbers differ from those in training."""


@edit(
    cached_attention,
    "np.where(seen, scores, -np.inf)",
    "np.where(seen, -np.inf, scores)",
)
def mask_turned_round_until_nan():
    """Your mask is the wrong way round: the new tokens attend to those after them, and
    to none before. The last one has nothing left to attend to, which gives NaN. Hide
    what the mask does not allow."""


@edit(
    cached_attention,
    "keys, values = cache.append(key, value)",
    "keys, values = cache.append(key, value) and (key, value)",
)
def cache_not_read():
    """Your new tokens attend to the new keys only, and the cache is filled in vain.
    They should attend to the text before them as well."""


@edit(cached_attention, "length - n, dtype", "length - n - 1, dtype")
def hidden_from_itself_until_nan():
    """You hid each token from itself, so the first token of a text has nothing to
    attend to, which gives NaN. The diagonal belongs to the past: a token may attend to
    its own key."""


@edit(cached_attention, "length - n, dtype", "length - n + 1, dtype")
def one_key_too_many():
    """Your mask lets each token see one token of its own future. Within a chunk, token
    i attends to the new tokens 0 to i."""


@edit(
    cached_attention,
    """scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ values""",
    """weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return seen * weights / weights.sum(axis=-1, keepdims=True) @ values""",
)
def zeroed_after_softmax():
    """You zeroed the future after the softmax. Its scores are still in the denominator,
    so the weights that are left sum to less than one."""


@edit(
    cached_attention,
    "scores - scores.max(axis=-1, keepdims=True)",
    "scores",
)
def overflowing():
    """You computed exponentials of the raw scores, and large ones overflow. A softmax
    subtracts the largest score of each row first."""


# break_cached_attention ---------------------------------------------------------------

wrong_versions_of_cached_attention = hide(
    break_cached_attention,
    triangle_at_the_first_key,
    no_mask,
    scaled_by_all_heads,
    queries_cached,
)


@mistake(break_cached_attention)
def test_with_an_empty_cache():
    """Without a token in the cache you test ordinary causal attention: where a mask
    begins shows only when new tokens come behind old ones. And with a single head, the
    width of one is the width of all."""
    return 3, *np.random.default_rng(4).standard_normal((3, 1, 1, 3, 2))


@mistake(break_cached_attention)
def test_with_one_new_token():
    """All versions are found but one, which lets new tokens attend to those after them.
    A single new token has none after it: let at least two come in one call."""
    return 1, *np.random.default_rng(4).standard_normal((3, 1, 2, 2, 2))


@mistake(break_cached_attention)
def test_with_equal_tokens():
    """None of the wrong versions was found. Where all tokens are equal, it makes no
    difference which of them are attended to, nor how their scores are scaled."""
    return 1, *np.zeros((3, 1, 2, 3, 1))
