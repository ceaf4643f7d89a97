"""Misconceptions about greedy and beam search, and the key-value cache."""

import math
import operator
from typing import NamedTuple

import torch
import torch.nn.functional as F

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.decoding import (
    KVCache,
    beam_search,
    break_cached_attention,
    cached_attention,
    greedy_decode,
)
from solutions import decoding as right

# greedy_decode ------------------------------------------------------------------------


def decode(next_logits, start_ids, end_id, max_length, *, stop=torch.all, fill_up=True):
    """Greedy decoding with its choices laid open; the defaults are right."""
    prefix = start_ids.unsqueeze(1)
    ended = torch.zeros_like(start_ids, dtype=torch.bool)
    while prefix.shape[1] <= max_length and not stop(ended):
        token = next_logits(prefix).argmax(dim=-1)
        if fill_up:
            token = token.masked_fill(ended, end_id)
        ended = ended | (token == end_id)
        prefix = torch.cat([prefix, token.unsqueeze(1)], dim=1)
    return prefix[:, 1:]


@mistake(greedy_decode)
def start_kept(next_logits, start_ids, end_id, max_length):
    """You kept the start in what you return. It is what the model reads first, not
    something that it has written."""
    ids = right.greedy_decode(next_logits, start_ids, end_id, max_length)
    return torch.cat([start_ids.unsqueeze(1), ids], dim=1)


@mistake(greedy_decode)
def goes_on_after_the_end(*arguments):
    """You let rows that have ended go on writing. What comes after an end means
    nothing; fill the row up with the end while the others finish."""
    return decode(*arguments, fill_up=False)


@mistake(greedy_decode)
def waits_for_a_common_end(next_logits, start_ids, end_id, max_length):
    """You stopped only when all rows wrote the end at the same step. Rows end at
    different steps, so remember which have ended."""
    prefix = start_ids.unsqueeze(1)
    for _ in range(max_length):
        token = next_logits(prefix).argmax(dim=-1)
        prefix = torch.cat([prefix, token.unsqueeze(1)], dim=1)
        if (token == end_id).all():
            break
    return prefix[:, 1:]


@mistake(greedy_decode)
def stops_at_the_first_end(*arguments):
    """You stopped as soon as one row had ended. All others are cut off in the middle;
    wait until the last one has ended."""
    return decode(*arguments, stop=torch.any)


@mistake(greedy_decode)
def never_stops(*arguments):
    """You always wrote max_length tokens. When all rows have ended there is nothing
    left to write, and each further step costs a pass through the model."""
    return decode(*arguments, stop=lambda ended: False)


@mistake(greedy_decode)
def filled_with_zero(next_logits, start_ids, end_id, max_length):
    """You filled ended rows up with 0. The task asks for the end, because 0 may be a
    word in another vocabulary."""
    ids = right.greedy_decode(next_logits, start_ids, end_id, max_length)
    after = ((ids == end_id).cumsum(dim=1) - (ids == end_id).long()) > 0
    return ids.masked_fill(after, 0)


@mistake(greedy_decode)
def end_dropped(next_logits, start_ids, end_id, max_length):
    """You left the end itself out, so nobody can tell a row that has ended from one
    that was cut off. Keep it."""
    ids = right.greedy_decode(next_logits, start_ids, end_id, max_length)
    return ids[:, :-1] if (ids == end_id).any(dim=1).all() else ids


@mistake(greedy_decode)
def only_the_last_token(next_logits, start_ids, end_id, max_length):
    """You gave the model the last token only. A transformer has no state: what was
    written before is known to it only if it stands in the prefix."""
    return right.greedy_decode(
        lambda prefix: next_logits(prefix[:, -1:]), start_ids, end_id, max_length
    )


@mistake(greedy_decode)
def start_forgotten(next_logits, start_ids, end_id, max_length):
    """You left the start out of the prefix after the first step. The model was trained
    with a start in front of everything, so all places are now off by one."""

    def without_start(prefix):
        return next_logits(prefix[:, 1:] if prefix.shape[1] > 1 else prefix)

    return right.greedy_decode(without_start, start_ids, end_id, max_length)


@mistake(greedy_decode)
def one_start_for_all(next_logits, start_ids, end_id, max_length):
    """You began every row with the start of the first row. Each row has a start of its
    own, for example the language to translate into."""
    starts = start_ids[:1].expand_as(start_ids)
    return right.greedy_decode(next_logits, starts, end_id, max_length)


@mistake(greedy_decode)
def sampled(next_logits, start_ids, end_id, max_length):
    """You drew the next token at random by its probability. Greedy decoding takes the
    most probable one, so that the same input gives the same output every time."""

    def drawn(prefix):
        logits = next_logits(prefix)
        chosen = logits.softmax(dim=-1).multinomial(1).squeeze(1)
        return F.one_hot(chosen, logits.shape[-1])

    return right.greedy_decode(drawn, start_ids, end_id, max_length)


@mistake(greedy_decode)
def start_counted(next_logits, start_ids, end_id, max_length):
    """You stopped one token early: the start counted towards max_length, which is how
    many tokens to write."""
    return right.greedy_decode(next_logits, start_ids, end_id, max_length - 1)


@mistake(greedy_decode)
def least_probable(next_logits, start_ids, end_id, max_length):
    """You took the least probable token at every step. The largest logit belongs to the
    most probable one."""
    return right.greedy_decode(
        lambda prefix: -next_logits(prefix), start_ids, end_id, max_length
    )


@mistake(greedy_decode)
def stops_before_the_first_end(next_logits, start_ids, end_id, max_length):
    """You stopped as soon as one row came to its end, and left that step out. All other
    rows are cut off in the middle, and the end is missing, which tells a row that has
    ended from one that was cut off. Keep it, and wait for the last row."""
    ids = decode(next_logits, start_ids, end_id, max_length, stop=torch.any)
    return ids[:, :-1] if (ids[:, -1] == end_id).any() else ids


@mistake(greedy_decode)
def start_taken_for_the_end(next_logits, start_ids, end_id, max_length):
    """A row whose start has the id of the end counts as ended before anything is
    written. Some models use one id for both, so the start ends nothing: note which rows
    have ended from the first token that the model has written."""
    ids = right.greedy_decode(next_logits, start_ids, end_id, max_length)
    return ids.masked_fill((start_ids == end_id).unsqueeze(1), end_id)


# beam_search --------------------------------------------------------------------------


class Hypothesis(NamedTuple):
    ids: list
    total: float
    ended: bool


def by_score(hypothesis, penalty):
    return hypothesis.total / len(hypothesis.ids) ** penalty


def by_score_if_ended(hypothesis, penalty):
    return hypothesis.ended, by_score(hypothesis, penalty)


def by_total(hypothesis, penalty):
    return hypothesis.total


def all_ended(beam):
    return all(hypothesis.ended for hypothesis in beam)


def search(
    next_log_probs,
    start_id,
    end_id,
    beam_size,
    max_length,
    length_penalty=0.0,
    *,
    rank=by_score,
    choose=by_score,
    report=by_score,
    extend=operator.add,
    stop=all_ended,
    expand_ended=False,
    show_ended=False,
    ended_keep_their_place=True,
    leave_when_ended=False,
    forget_ended=False,
):
    """Beam search with its choices laid open; the defaults are right.

    ``rank`` decides who stays in the beam, ``choose`` who wins, and ``report`` is what
    is returned of the winner; ``extend`` adds the log-probability of one more token.
    """

    def with_penalty(key):
        return lambda hypothesis: key(hypothesis, length_penalty)

    beam, retired = [Hypothesis([], 0.0, False)], []
    for _ in range(max_length):
        longest = max(len(ids) for ids, _, _ in beam)
        shown = [old for old in beam if show_ended or expand_ended or not old.ended]
        drop = expand_ended or forget_ended
        candidates = [] if drop else [old for old in beam if old.ended]
        prefixes = torch.tensor(
            [[start_id, *ids] + [end_id] * (longest - len(ids)) for ids, _, _ in shown]
        )
        for old, row in zip(shown, next_log_probs(prefixes).tolist(), strict=True):
            if old.ended and not expand_ended:
                continue
            candidates += [
                Hypothesis(
                    [*old.ids, token], extend(old.total, log_prob), token == end_id
                )
                for token, log_prob in enumerate(row)
            ]
        if not ended_keep_their_place:
            retired += [new for new in candidates if new.ended]
            candidates = [new for new in candidates if not new.ended]
        beam = sorted(candidates, key=with_penalty(rank), reverse=True)[:beam_size]
        if leave_when_ended:
            retired += [new for new in beam if new.ended]
            beam = [new for new in beam if not new.ended]
        if not beam or stop(beam):
            break
    best = max([*beam, *retired], key=with_penalty(choose))
    return torch.tensor(best.ids), report(best, length_penalty)


@mistake(beam_search)
def continues_after_the_end(*arguments):
    """You went on writing after the end. A hypothesis that has ended is a finished
    sentence; it keeps its score and its place and is not continued."""
    return search(*arguments, expand_ended=True)


@mistake(beam_search)
def ended_are_shown(*arguments):
    """You passed hypotheses that have ended to the model and ignored its prediction.
    Each of them is one more row in every later pass; only those that continue should
    be computed."""
    return search(*arguments, show_ended=True)


@mistake(beam_search)
def penalty_only_at_the_end(*arguments):
    """You ranked by the plain sum during the search and applied the length penalty only
    at the end. Long hypotheses have then been dropped before the penalty could help
    them."""
    return search(*arguments, rank=by_total)


@mistake(beam_search)
def penalty_forgotten(
    next_log_probs, start_id, end_id, beam_size, max_length, length_penalty=0.0
):
    """You accepted the length penalty and never used it. Sums of log-probabilities fall
    with every token, so without it short outputs win."""
    return right.beam_search(next_log_probs, start_id, end_id, beam_size, max_length)


@mistake(beam_search)
def plain_sum_returned(*arguments):
    """You searched with the length penalty and returned the plain sum. The score that
    is returned is the one by which the hypotheses were compared."""
    return search(*arguments, report=by_total)


@mistake(beam_search)
def winner_by_plain_sum(*arguments):
    """You applied the length penalty during the search and chose the winner by the
    plain sum. Hypotheses of different length are compared at the end above all."""
    return search(*arguments, choose=by_total)


@mistake(beam_search)
def penalty_multiplied(
    next_log_probs, start_id, end_id, beam_size, max_length, length_penalty=0.0
):
    """You multiplied by the length where you should divide. Log-probabilities are
    negative, so long hypotheses are punished twice."""
    return right.beam_search(
        next_log_probs, start_id, end_id, beam_size, max_length, -length_penalty
    )


@mistake(beam_search)
def start_in_the_length(*arguments):
    """You counted the start when you divided by the length. It has no probability of
    its own; the length is that of the ids that are returned."""

    def score(hypothesis, penalty):
        return hypothesis.total / (len(hypothesis.ids) + 1) ** penalty

    return search(*arguments, rank=score, choose=score, report=score)


@mistake(beam_search)
def end_not_in_the_length(*arguments):
    """You did not count the end when you divided by the length. Its log-probability is
    in the sum, so it counts."""

    def score(hypothesis, penalty):
        length = len(hypothesis.ids) - hypothesis.ended
        return hypothesis.total / max(1, length) ** penalty

    return search(*arguments, rank=score, choose=score, report=score)


@mistake(beam_search)
def stops_at_the_first_finished(*arguments):
    """You returned as soon as one hypothesis had ended. Another one that is still being
    written may have a better score in the end."""

    def any_ended(beam):
        return any(hypothesis.ended for hypothesis in beam)

    return search(*arguments, stop=any_ended, choose=by_score_if_ended)


@mistake(beam_search)
def stops_when_the_best_has_ended(*arguments):
    """You stopped when the best hypothesis had ended. With a length penalty one that is
    still being written can overtake it; stop when all have ended."""
    return search(*arguments, stop=lambda beam: beam[0].ended)


@mistake(beam_search)
def ended_leave_the_beam(*arguments):
    """You set ended hypotheses aside and gave their places to others. That is another
    algorithm; here an ended hypothesis keeps its place in the beam for as long as its
    score is good enough."""
    return search(*arguments, ended_keep_their_place=False)


@mistake(beam_search)
def ended_free_their_places(*arguments):
    """A hypothesis that ends is only compared with the others at the end, and its place
    goes to another one at the next step. Here an ended one keeps its place in the beam
    for as long as its score is good enough."""
    return search(*arguments, leave_when_ended=True)


@mistake(beam_search)
def beam_of_copies(
    next_log_probs, start_id, end_id, beam_size, max_length, length_penalty=0.0
):
    """Your beam holds only one hypothesis, perhaps several copies of the same one, and
    the search is greedy. Begin with a single hypothesis, so that its best continuations
    differ."""
    return right.beam_search(
        next_log_probs, start_id, end_id, 1, max_length, length_penalty
    )


@mistake(beam_search)
def each_its_own_best(
    next_log_probs, start_id, end_id, beam_size, max_length, length_penalty=0.0
):
    """You continued each hypothesis with its own best token only. All continuations of
    all hypotheses compete for the places in the next beam."""
    row = next_log_probs(torch.tensor([[start_id]]))[0]  # the first step fills the beam
    first = row.topk(min(beam_size, len(row)))
    beam = [
        Hypothesis([token], total, token == end_id)
        for total, token in zip(
            first.values.tolist(), first.indices.tolist(), strict=True
        )
    ]
    for _ in range(max_length - 1):
        for place, (ids, total, ended) in enumerate(beam):
            if not ended:
                row = next_log_probs(torch.tensor([[start_id, *ids]]))[0]
                token, total = int(row.argmax()), total + float(row.max())
                beam[place] = Hypothesis([*ids, token], total, token == end_id)
    best = max(beam, key=lambda hypothesis: by_score(hypothesis, length_penalty))
    return torch.tensor(best.ids), by_score(best, length_penalty)


@mistake(beam_search)
def only_ended_may_win(*arguments):
    """You took the best hypothesis among those that have ended. At max_length one that
    was cut off may have the best score, and then it is the answer."""
    return search(*arguments, choose=by_score_if_ended)


@mistake(beam_search)
def start_in_the_ids(next_log_probs, start_id, *others):
    """You kept the start in the ids. It is what the model reads first, not something
    that it has written."""
    ids, score = right.beam_search(next_log_probs, start_id, *others)
    return torch.cat([torch.tensor([start_id]), ids]), score


@mistake(beam_search)
def end_cut_off(next_log_probs, start_id, end_id, *others):
    """You cut the end off the ids. It says that the hypothesis is complete, and its
    probability is part of the score."""
    ids, score = right.beam_search(next_log_probs, start_id, end_id, *others)
    return ids[ids != end_id], score


@mistake(beam_search)
def last_token_only(*arguments):
    """You ranked by the log-probability of the last token and forgot those before it. A
    hypothesis is as probable as the product of all its tokens."""
    return search(*arguments, extend=lambda total, log_prob: log_prob)


@mistake(beam_search)
def stops_with_an_end_in_the_beam(*arguments):
    """You stopped as soon as one hypothesis had ended and returned the best of the beam
    at that moment, ended or cut off. Others may have a better score once they are
    complete; the search goes on until all have ended."""

    def any_ended(beam):
        return any(hypothesis.ended for hypothesis in beam)

    return search(*arguments, stop=any_ended)


@mistake(beam_search)
def ended_are_forgotten(*arguments):
    """A hypothesis that ends is gone at the next step: only the continuations of the
    others are compared. It is complete, and may well be the best; it stays as it is and
    competes for its place in the next beam."""
    return search(*arguments, forget_ended=True)


@mistake(beam_search)
def penalty_of_gnmt(*arguments):
    """You divided by a power of (5 + length) / 6, the length penalty of Wu et al. Here
    the length itself is raised to that power: with 1, means are compared."""

    def score(hypothesis, penalty):
        return hypothesis.total / ((5 + len(hypothesis.ids)) / 6) ** penalty

    return search(*arguments, rank=score, choose=score, report=score)


@mistake(beam_search)
def newest_not_in_the_length(*arguments):
    """While you search, the length that you divide by does not count the newest token,
    whose log-probability is in the sum already. The length is that of the ids so far,
    in every step as at the end."""

    def score(hypothesis, penalty):
        return hypothesis.total / max(1, len(hypothesis.ids) - 1) ** penalty

    return search(*arguments, rank=score)


@mistake(beam_search)
def probabilities_added(*arguments):
    """You added probabilities. The probability of a sequence is a product, so it is the
    log-probabilities that are added, as the model gives them; a sum of probabilities
    grows with every token, so long outputs win."""

    def extend(total, log_prob):
        return total + math.exp(log_prob)

    return search(*arguments, extend=extend)


# KVCache ------------------------------------------------------------------------------


class RightCache(right.KVCache):
    """The right cache, which each mistake changes in one place."""


class OtherAxis(RightCache):
    """A cache that joins what it is given along another axis."""

    axis = 2

    def append(self, key, value):
        if self.keys is None:
            return super().append(key, value)
        self.keys = torch.cat([self.keys, key], dim=self.axis)
        self.values = torch.cat([self.values, value], dim=self.axis)
        return self.keys, self.values


@mistake(KVCache)
class JoinedAlongHeads(OtherAxis):
    """You joined the new tokens along the heads. The heads stay as many as they are;
    what grows is the third axis, the tokens."""

    axis = 1


@mistake(KVCache)
class JoinedAlongBatch(OtherAxis):
    """You joined the new tokens along the batch. Each sequence keeps its own row; what
    grows is the third axis, the tokens."""

    axis = 0


@mistake(KVCache)
class JoinedInFront(RightCache):
    """You put the new tokens in front of the old ones. The causal mask counts from the
    oldest key on, so the order has to be that of the text."""

    def append(self, key, value):
        if self.keys is None:
            return super().append(key, value)
        old_keys, old_values = self.keys, self.values
        super().append(key, value)  # for its checks
        self.keys = torch.cat([key, old_keys], dim=2)
        self.values = torch.cat([value, old_values], dim=2)
        return self.keys, self.values


@mistake(KVCache)
class ReturnsNewOnly(RightCache):
    """You returned the new keys and values only. The new queries need all of them; that
    is what the cache is for."""

    def append(self, key, value):
        super().append(key, value)
        return key, value


@mistake(KVCache)
class ReturnsOldOnly(RightCache):
    """You returned what was there before, without the new tokens. A token attends to
    itself as well."""

    def append(self, key, value):
        old = self.keys, self.values
        super().append(key, value)
        return (key[:, :, :0], value[:, :, :0]) if old[0] is None else old


@mistake(KVCache)
class Replaces(RightCache):
    """You replaced the old tokens by the new ones. Then every token sees itself only,
    and the text before it is forgotten."""

    def append(self, key, value):
        if self.keys is not None:
            super().append(key, value)  # for its checks
        self.keys, self.values = key, value
        return key, value


@mistake(KVCache)
class ReturnsExchanged(RightCache):
    """You exchanged keys and values in what you return. The keys come first; exchanged,
    they can have the same shape and nobody is told."""

    def append(self, key, value):
        return super().append(key, value)[::-1]


@mistake(KVCache)
class CountsCalls(RightCache):
    """You counted how often something was appended. The length is the number of tokens,
    and several can come at once."""

    def reset(self):
        super().reset()
        self.calls = 0

    def append(self, key, value):
        result = super().append(key, value)
        self.calls += 1
        return result

    @property
    def length(self):
        return self.calls


@mistake(KVCache)
class CountsHeads(RightCache):
    """Your length is not that of the tokens but of another axis. The tokens are the
    third of the four."""

    @property
    def length(self):
        return 0 if self.keys is None else self.keys.shape[1]


@mistake(KVCache)
class ResetDoesNothing(RightCache):
    """Your reset leaves keys and values where they are. The next sequence then attends
    to the text of the one before."""

    def __init__(self):
        self.keys = self.values = None

    def reset(self):
        pass


@mistake(KVCache)
class ResetForgetsKeysOnly(RightCache):
    """Your reset forgets the keys and keeps the values. Both belong to the same tokens
    and have to go together."""

    def __init__(self):
        self.keys = self.values = None

    def reset(self):
        self.keys = None

    def append(self, key, value):
        self.keys = key if self.keys is None else torch.cat([self.keys, key], dim=2)
        values = [value] if self.values is None else [self.values, value]
        self.values = torch.cat(values, dim=2)
        return self.keys, self.values


@mistake(KVCache)
class SharedByAll(RightCache):
    """All your caches share their tokens, because they are kept by the class and not by
    the object. Each layer needs a cache of its own."""

    store: dict = {}

    @property
    def keys(self):
        return SharedByAll.implementation.store.get("keys")

    @keys.setter
    def keys(self, keys):
        SharedByAll.implementation.store["keys"] = keys

    @property
    def values(self):
        return SharedByAll.implementation.store.get("values")

    @values.setter
    def values(self, values):
        SharedByAll.implementation.store["values"] = values


@mistake(KVCache)
class Detaches(RightCache):
    """You cut the gradient at the cache. Earlier tokens then learn nothing from what
    later tokens read of them."""

    def append(self, key, value):
        keys, values = super().append(key, value)
        self.keys, self.values = keys.detach(), values.detach()
        return keys, values


@mistake(KVCache)
class ResetLeavesEmptyTensors(RightCache):
    """Your reset leaves tensors without tokens. They still have the old number of
    sequences, heads and features, so the cache refuses others: set keys and values to
    None, as they were at the beginning."""

    def reset(self):
        if getattr(self, "keys", None) is None:  # as it is at the beginning
            super().reset()
        else:
            self.keys, self.values = self.keys[:, :, :0], self.values[:, :, :0]


# cached_attention ---------------------------------------------------------------------


def attend(query, keys, values, mask=None, scale=None):
    return F.scaled_dot_product_attention(
        query, keys, values, attn_mask=mask, scale=scale
    )


def last_rows(query, keys, shift=0):
    """(n, T) the right mask; ``shift`` moves its edge to the right."""
    n, length = query.shape[2], keys.shape[2]
    return torch.ones(n, length, dtype=torch.bool).tril(length - n + shift)


@mistake(cached_attention)
def triangle_at_the_first_key(query, key, value, cache):
    """You lined the triangle up with the first key, as is_causal=True does. The new
    queries are the last tokens of the text: a single one must see all the keys, and
    yours sees the first."""
    keys, values = cache.append(key, value)
    return F.scaled_dot_product_attention(query, keys, values, is_causal=True)


@mistake(cached_attention)
def triangle_at_the_first_key_for_several(query, key, value, cache):
    """A single new token sees all the keys, as it should. But of several new ones, the
    first sees a single key, the second two, however full the cache was: the triangle is
    lined up with the first key, as is_causal=True does, and not with the last."""
    keys, values = cache.append(key, value)
    several = query.shape[2] > 1
    return F.scaled_dot_product_attention(query, keys, values, is_causal=several)


@mistake(cached_attention)
def mask_turned_round(query, key, value, cache):
    """Your mask is the wrong way round: the new tokens look at what comes after them,
    and at nothing of what came before. In scaled_dot_product_attention, True marks what
    a query may attend to."""
    keys, values = cache.append(key, value)
    return attend(query, keys, values, ~last_rows(query, keys))


def attend_or_nan(query, keys, values, mask):
    """Attention written out, in which a query that may see nothing gets NaN."""
    scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1) @ values


@mistake(cached_attention)
def mask_turned_round_until_nan(query, key, value, cache):
    """Your mask is the wrong way round: the new tokens look at what comes after them,
    and at nothing of what came before. The last one has nothing left to look at, which
    gives NaN. Hide what the mask does not allow."""
    keys, values = cache.append(key, value)
    return attend_or_nan(query, keys, values, ~last_rows(query, keys))


@mistake(cached_attention)
def triangle_shifted_by_the_new(query, key, value, cache):
    """You shifted the triangle by the number of new tokens. It is the tokens that were
    there before that every new one sees, and there may be more of them or fewer."""
    keys, values = cache.append(key, value)
    n, length = query.shape[2], keys.shape[2]
    return attend(query, keys, values, last_rows(query, keys, 2 * n - length))


@mistake(cached_attention)
def mask_of_ones_added(query, key, value, cache):
    """Your mask is added to the scores as ones and zeros, so nothing is hidden: what
    should be hidden only gets a little less. A mask that selects is one of truth
    values; one that is added has minus infinity where nothing may be seen."""
    keys, values = cache.append(key, value)
    return attend(query, keys, values, last_rows(query, keys).to(query.dtype))


@mistake(cached_attention)
def scaled_by_the_values(query, key, value, cache):
    """You scaled the scores by the width of the values. They are products of queries
    and keys, so it is the width of those that counts."""
    wrong = (query.shape[-1] / value.shape[-1]) ** 0.5
    return right.cached_attention(query * wrong, key, value, cache)


@mistake(cached_attention)
def no_mask(query, key, value, cache):
    """Nothing is hidden: you used no mask, or one whose edge lies too far right, as
    when it counts from the length that the cache has after the new tokens. One token at
    a time needs no mask, but of several the first sees those that come after it."""
    keys, values = cache.append(key, value)
    return attend(query, keys, values)


@mistake(cached_attention)
def cache_not_read(query, key, value, cache):
    """Your new tokens look at the new keys only, and the cache is filled in vain. They
    should see the text before them as well."""
    cache.append(key, value)
    return attend(query, key, value, last_rows(query, key))


@mistake(cached_attention)
def values_of_the_new_alone(query, key, value, cache):
    """The weights are those of all keys, but only the values of the new tokens are
    added up with them, so what the tokens before get is lost. Each weight has a value:
    multiply all the weights with all the values that the cache returns."""
    keys, _ = cache.append(key, value)
    past = keys.shape[2] - key.shape[2]
    hidden = value.new_zeros(*value.shape[:2], past, value.shape[3])
    values = torch.cat([hidden, value], dim=2)
    return attend(query, keys, values, last_rows(query, keys))


@mistake(cached_attention)
def without_the_new_tokens(query, key, value, cache):
    """You attended to the cache before the new keys and values were in it. A token
    reads itself and its neighbours in the chunk too."""
    n = query.shape[2]
    keys, values = cache.append(key, value)
    if keys.shape[2] == n:
        return torch.zeros_like(value)
    return attend(query, keys[:, :, :-n], values[:, :, :-n])


@mistake(cached_attention)
def hidden_from_itself(query, key, value, cache):
    """You hid each token from itself. The diagonal belongs to the past: a token may
    look at its own key."""
    keys, values = cache.append(key, value)
    mask = last_rows(query, keys, shift=-1)
    seen = attend(query, keys, values, mask)
    return torch.where(mask.any(dim=-1, keepdim=True), seen, 0.0)


@mistake(cached_attention)
def hidden_from_itself_until_nan(query, key, value, cache):
    """You hid each token from itself, so the first token of a text has nothing to look
    at, which gives NaN. The diagonal belongs to the past: a token may look at its own
    key."""
    keys, values = cache.append(key, value)
    return attend_or_nan(query, keys, values, last_rows(query, keys, shift=-1))


@mistake(cached_attention)
def hidden_from_itself_behind_others(query, key, value, cache):
    """Once the cache holds something, you hide each new token from itself; with an
    empty cache your mask is right. The diagonal belongs to the past there too: new
    token i sees all that was in the cache, and the new tokens 0 to i."""
    keys, values = cache.append(key, value)
    behind = keys.shape[2] > query.shape[2]
    return attend(query, keys, values, last_rows(query, keys, shift=-int(behind)))


@mistake(cached_attention)
def one_key_too_many(query, key, value, cache):
    """Your mask lets each token see one token of its own future. Within a chunk, token
    i sees the new tokens 0 to i."""
    keys, values = cache.append(key, value)
    return attend(query, keys, values, last_rows(query, keys, shift=1))


@mistake(cached_attention)
def not_scaled(query, key, value, cache):
    """You forgot to divide the scores by the square root of the width of the keys. The
    weights become too sharp, and the numbers differ from those in training."""
    wrong = query.shape[-1] ** 0.5
    return right.cached_attention(query * wrong, key, value, cache)


@mistake(cached_attention)
def scaled_by_width(query, key, value, cache):
    """You divided the scores by the width of the keys in place of its square root. The
    weights become too flat."""
    wrong = query.shape[-1] ** -0.5
    return right.cached_attention(query * wrong, key, value, cache)


@mistake(cached_attention)
def scaled_by_all_heads(query, key, value, cache):
    """You scaled by all heads together. Each head compares its own features, so the
    root is that of one head's width."""
    wrong = query.shape[1] ** -0.5
    return right.cached_attention(query * wrong, key, value, cache)


@mistake(cached_attention)
def scaled_by_number_of_queries(query, key, value, cache):
    """You scaled by the number of new tokens. A score adds up the features of one query
    and one key, so it is their width that counts, however many tokens come at once."""
    wrong = (query.shape[-1] / query.shape[2]) ** 0.5
    return right.cached_attention(query * wrong, key, value, cache)


@mistake(cached_attention)
def appended_twice(query, key, value, cache):
    """You added the new tokens to the cache twice. Every token then counts double, and
    the positions of all that follow are wrong."""
    cache.append(key, value)
    return right.cached_attention(query, key, value, cache)


@mistake(cached_attention)
def cache_not_filled(query, key, value, cache):
    """You read the cache and never added to it, so the next token will not know of
    these."""
    kept = cache.keys, cache.values
    keys, values = cache.append(key, value)
    output = attend(query, keys, values, last_rows(query, keys))
    if kept[0] is None:
        cache.reset()
    else:
        cache.keys, cache.values = kept
    return output


@mistake(cached_attention)
def queries_cached(query, key, value, cache):
    """You put the queries into the cache where the keys belong. A token is found by its
    key; its query asks once and is never needed again."""
    return right.cached_attention(query, query, value, cache)


@mistake(cached_attention)
def softmax_over_queries(query, key, value, cache):
    """You normalised over the queries and not over the keys, so the weights of one
    query do not sum to one."""
    keys, values = cache.append(key, value)
    scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~last_rows(query, keys), -torch.inf)
    return scores.softmax(dim=-2).nan_to_num() @ values


@mistake(cached_attention)
def zeroed_after_softmax(query, key, value, cache):
    """You zeroed the future after the softmax. Its scores are still in the denominator,
    so the weights that are left sum to less than one."""
    keys, values = cache.append(key, value)
    scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return (scores.softmax(dim=-1) * last_rows(query, keys)) @ values


@mistake(cached_attention)
def overflowing(query, key, value, cache):
    """You computed exponentials of the raw scores, and large ones overflow. A softmax
    takes the largest score of each row away first."""
    keys, values = cache.append(key, value)
    scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
    shares = scores.exp() * last_rows(query, keys)
    return shares / shares.sum(dim=-1, keepdim=True) @ values


@mistake(cached_attention)
def gradient_cut(query, key, value, cache):
    """You cut the gradient at the new keys and values. Training with a cache, on a long
    text in pieces, would then teach them nothing."""
    return right.cached_attention(query, key.detach(), value.detach(), cache)


@mistake(cached_attention)
def hidden_from_itself_but_the_first(query, key, value, cache):
    """You hid each token from itself, but for the first token of a text. The diagonal
    belongs to the past for all of them: new token i sees all that was in the cache, and
    the new tokens 0 to i."""
    keys, values = cache.append(key, value)
    mask = last_rows(query, keys, shift=-1)
    mask[0, 0] = True
    return attend(query, keys, values, mask)


@mistake(cached_attention)
def scaled_by_number_of_keys(query, key, value, cache):
    """You scaled by the number of keys in the cache. A score adds up the features of
    one query and one key, so it is their width that counts, however many tokens there
    are."""
    wrong = (query.shape[-1] / (cache.length + key.shape[2])) ** 0.5
    return right.cached_attention(query * wrong, key, value, cache)


@mistake(cached_attention)
def scaled_by_number_of_keys_so_far(query, key, value, cache):
    """You scaled each query by the number of keys that it sees. A score adds up the
    features of one query and one key, so it is their width that counts, however many
    tokens there are."""
    seen = cache.length + torch.arange(1, query.shape[2] + 1, dtype=query.dtype)
    wrong = (query.shape[-1] / seen).sqrt().unsqueeze(-1)
    return right.cached_attention(query * wrong, key, value, cache)


# break_cached_attention ---------------------------------------------------------------

wrong_versions_of_cached_attention = hide(
    break_cached_attention,
    triangle_at_the_first_key,
    no_mask,
    scaled_by_all_heads,
    queries_cached,
    shown_by=[
        "put at least one token into the cache before the others come, and let the "
        "values of the tokens differ.",
        "let at least two tokens come behind those in the cache, with values that "
        "differ: the first must not see the one after it.",
        "take two heads or more, and let a query match the keys differently well; a "
        "wrong scale shows only where scores differ.",
        "let the queries be other numbers than the keys, so that other tokens match.",
    ],
)


@mistake(break_cached_attention)
def test_with_an_empty_cache():
    """Without a token in the cache you test ordinary causal attention: where a mask
    begins shows only when new tokens come behind old ones. And with a single head, the
    width of one is the width of all."""
    generator = torch.Generator().manual_seed(4)
    return 3, *torch.randn(3, 1, 1, 3, 2, generator=generator)


@mistake(break_cached_attention)
def test_with_one_new_token():
    """All versions are found but one, which lets new tokens see those after them. A
    single new token has none after it: let at least two come in one call."""
    generator = torch.Generator().manual_seed(4)
    return 1, *torch.randn(3, 1, 2, 2, 2, generator=generator)


@mistake(break_cached_attention)
def test_with_equal_tokens():
    """None of the wrong versions was found. Where all tokens are equal, it makes no
    difference which of them are attended to, nor how their scores are scaled."""
    return 1, *torch.zeros(3, 1, 2, 3, 1)
