"""Misconceptions about encoders and decoders with attention."""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.exercise import edit, mistake
from autograder.exercises.seq2seq import (
    AttentionDecoder,
    context_vector,
    sequence_loss,
)
from solutions import seq2seq as right

# context_vector -----------------------------------------------------------------------


def dot_scores(state, encoder_states):
    return torch.einsum("bh,bth->bt", state, encoder_states)


def weigh(scores, encoder_states, source_mask=None):
    """The right softmax, mask and mixture, for any scores."""
    if source_mask is None:
        weights = scores.softmax(dim=-1)
    else:
        weights = scores.masked_fill(~source_mask, -torch.inf).softmax(dim=-1)
        weights = torch.where(source_mask, weights, 0.0)
    return torch.einsum("bt,bth->bh", weights, encoder_states), weights


@edit(context_vector, ".squeeze(1)  # (B, T)", ".squeeze(1) / state.shape[-1] ** 0.5")
def scaled_scores():
    """You divided the scores by the square root of the width. This chapter uses the
    plain dot product; the scale belongs to a later chapter, and here it makes the
    weights flatter than asked for."""


@edit(context_vector, "if source_mask is None", "if True")
def mask_not_used():
    """You took the mask and never used it, so the decoder also reads padding. Then the
    translation of a line depends on how long the other lines of its batch are."""


@edit(
    context_vector,
    """scores.masked_fill(~source_mask, -torch.inf).softmax(dim=-1)
        weights = torch.where(source_mask, weights, 0.0)""",
    "(scores * source_mask).softmax(dim=-1)",
)
def masked_scores_are_zero():
    """You set the scores of padding to 0. A score of 0 is a score like any other and
    gets a weight above zero; what must become zero is the weight, while the others
    still sum to one."""


@edit(context_vector, "scores.masked_fill(~source_mask, -torch.inf)", "scores")
def masked_after_the_softmax():
    """You set the weights of padding to zero after the softmax, so the rest of a row no
    longer sums to one and the context shrinks with every filler token. Take padding out
    of the competition before the softmax."""


@mistake(context_vector)
def mask_added(state, encoder_states, source_mask=None):
    """You added the mask to the scores, which moves the allowed ones by one and hides
    nothing. Only a score of minus infinity gives a weight of zero."""
    scores = dot_scores(state, encoder_states)
    if source_mask is not None:
        scores = scores + source_mask
    return weigh(scores, encoder_states)


@edit(context_vector, "torch.where(source_mask, weights, 0.0)", "weights")
def empty_row_is_nan():
    """A row whose mask allows nothing became NaN, because a softmax of minus infinities
    is 0/0. Such a row has weights and context of zero, and one NaN would spoil the
    whole batch."""


@mistake(context_vector)
def empty_row_has_nan_gradients(state, encoder_states, source_mask=None):
    """You put zeros in place of NaN at the end. The values look right, but the gradient
    has gone through the NaN and is NaN itself; zero the weights by the mask, before a
    NaN can spread."""
    scores = dot_scores(state, encoder_states)
    if source_mask is not None:
        scores = scores + torch.where(source_mask, 0.0, -torch.inf)
        largest = scores.max(dim=-1, keepdim=True).values
        exponentials = (scores - largest).exp()
        weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
        weights = weights.masked_fill(weights.isnan(), 0.0)
        return torch.einsum("bt,bth->bh", weights, encoder_states), weights
    return weigh(scores, encoder_states)


@mistake(context_vector)
def exponential_overflows(state, encoder_states, source_mask=None):
    """You took the exponential of the scores as they are, and long states have scores
    whose exponential is infinite. Only differences between scores matter: take the
    largest of each row away first."""
    exponentials = dot_scores(state, encoder_states).exp()
    if source_mask is not None:
        exponentials = torch.where(source_mask, exponentials, 0.0)
    total = exponentials.sum(dim=-1, keepdim=True)
    empty = total == 0
    if source_mask is not None:
        empty = empty & ~source_mask.any(dim=-1, keepdim=True)
    weights = exponentials / torch.where(empty, 1.0, total)
    return torch.einsum("bt,bth->bh", weights, encoder_states), weights


@edit(context_vector, "return context, weights", "return weights, context")
def weights_come_first():
    """You returned the weights before the context. The order is context, then weights,
    and where both have the same shape nothing but wrong numbers would tell you."""


# AttentionDecoder ---------------------------------------------------------------------


class RightDecoder(nn.Module):
    """The right decoder in steps, so that each mistake below changes one of them."""

    def __init__(self, vocab_size, embed_dim, hidden_dim):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.cell = nn.GRUCell(embed_dim + hidden_dim, hidden_dim)
        self.output = nn.Linear(2 * hidden_dim, vocab_size)

    def look(self, state, encoder_states, source_mask):
        return right.context_vector(state, encoder_states, source_mask)

    def move(self, state, embedded, context):
        return self.cell(torch.cat([embedded, context], -1), state)

    def write(self, state, context):
        return self.output(torch.cat([state, context], -1))

    def forward(self, token, state, encoder_states, source_mask=None):
        context, weights = self.look(state, encoder_states, source_mask)
        state = self.move(state, self.embedding(token), context)
        return self.write(state, context), state, weights


@mistake(AttentionDecoder)
class OutputLooksAgain(RightDecoder):
    """You looked again with the new state, and gave that second context to the output.
    There is one look at each step, before the cell: the output reads the same context
    as the cell."""

    def forward(self, token, state, encoder_states, source_mask=None):
        _, state, weights = super().forward(token, state, encoder_states, source_mask)
        context, _ = self.look(state, encoder_states, source_mask)
        return self.write(state, context), state, weights


@mistake(AttentionDecoder)
class OutputReadsTheOldState(RightDecoder):
    """Your output reads the state from before the step, so it does not know the token
    that was just read. Give it the state that the cell returns."""

    def forward(self, token, state, encoder_states, source_mask=None):
        context, weights = self.look(state, encoder_states, source_mask)
        new = self.move(state, self.embedding(token), context)
        return self.write(state, context), new, weights


@mistake(AttentionDecoder)
class StateDoesNotMove(RightDecoder):
    """You returned the state that you were given. The next step needs the new one; with
    the old one the decoder forgets everything that it has written."""

    def forward(self, token, state, encoder_states, source_mask=None):
        logits, _, weights = super().forward(token, state, encoder_states, source_mask)
        return logits, state, weights


@mistake(AttentionDecoder)
class CellReadsContextFirst(RightDecoder):
    """Your cell reads [context, embedding]; asked for is [embedding, context]. Either
    can be learned, but weights trained in one order are noise in the other."""

    def move(self, state, embedded, context):
        return self.cell(torch.cat([context, embedded], -1), state)


@mistake(AttentionDecoder)
class OutputReadsContextFirst(RightDecoder):
    """Your output reads [context, state]; the order asked for is [state, context].
    Either can be learned, but weights trained in one order are noise in the other."""

    def write(self, state, context):
        return self.output(torch.cat([context, state], -1))


@mistake(AttentionDecoder)
class MaskNotPassedOn(RightDecoder):
    """Your step takes the source mask and does not pass it on, so the decoder reads
    padding. Then a translation depends on how long its neighbours in the batch are."""

    def look(self, state, encoder_states, source_mask):
        return super().look(state, encoder_states, None)


@mistake(AttentionDecoder)
class NewStateAsks(RightDecoder):
    """You took the cell's step first and let the new state ask, so the cell had to work
    without the context of this step. The query is the state from before the step."""

    def forward(self, token, state, encoder_states, source_mask=None):
        state = self.move(state, self.embedding(token), torch.zeros_like(state))
        context, weights = self.look(state, encoder_states, source_mask)
        return self.write(state, context), state, weights


@mistake(AttentionDecoder)
class ContextDetached(RightDecoder):
    """You cut the gradient off at the context, so neither the encoder nor the query can
    learn where to look. Nothing in a step may be detached: the weights are learned
    through the context."""

    def look(self, state, encoder_states, source_mask):
        context, weights = super().look(state, encoder_states, source_mask)
        return context.detach(), weights


@mistake(AttentionDecoder)
class CellWithoutContext(RightDecoder):
    """Your cell reads the embedding alone, so the context reaches the output only. The
    cell has to know what was just read as well, or it cannot decide where to look
    next."""

    def __init__(self, vocab_size, embed_dim, hidden_dim):
        super().__init__(vocab_size, embed_dim, hidden_dim)
        self.cell = nn.GRUCell(embed_dim, hidden_dim)

    def move(self, state, embedded, context):
        return self.cell(embedded, state)


@mistake(AttentionDecoder)
class OutputWithoutContext(RightDecoder):
    """Your output reads the state alone. It is asked to read the state and the context:
    the shortest way from a source token to the letter that it becomes."""

    def __init__(self, vocab_size, embed_dim, hidden_dim):
        super().__init__(vocab_size, embed_dim, hidden_dim)
        self.output = nn.Linear(hidden_dim, vocab_size)

    def write(self, state, context):
        return self.output(state)


# sequence_loss ------------------------------------------------------------------------


def surprises(logits, targets):
    """(B, T) minus the log-probability of each target."""
    return F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")


@mistake(sequence_loss)
def padding_counted(logits, targets, pad_id):
    """You averaged over padding too, so the model is paid for predicting filler, which
    is easy. Leave padded places out of the sum and out of the count."""
    return surprises(logits, targets).mean()


@mistake(sequence_loss)
def divided_by_all_places(logits, targets, pad_id):
    """You left padding out of the sum but divided by all places of the batch, so the
    loss shrinks when a batch has long rows. Divide by the number of tokens that were
    summed."""
    return (surprises(logits, targets) * (targets != pad_id)).sum() / targets.numel()


@mistake(sequence_loss)
def mean_of_row_means(logits, targets, pad_id):
    """You averaged each row first and then the rows, so a token of a short row counts
    more than one of a long row. All tokens of the batch share one mean."""
    real = targets != pad_id
    rows = (surprises(logits, targets) * real).sum(1)
    counts = real.sum(1)
    means = rows / counts.clamp(min=1)
    return means.sum() / (counts > 0).sum().clamp(min=1)


@mistake(sequence_loss)
def nothing_is_nan(logits, targets, pad_id):
    """A batch of nothing but padding gives 0/0, which is NaN, and one NaN is enough to
    lose all weights at the next update. The loss of no tokens is 0."""
    return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=pad_id)


@mistake(sequence_loss)
def padding_is_always_zero(logits, targets, pad_id):
    """You took id 0 for padding, whatever pad_id says. Another vocabulary has its
    filler elsewhere, and then you leave out real tokens and count filler."""
    return right.sequence_loss(logits, targets, 0)


@mistake(sequence_loss)
def reshaped_without_transposing(logits, targets, pad_id):
    """You reshaped the logits as if the classes came before the places, which mixes
    them up although the shape fits. Each place keeps its own row of class scores."""
    batch, length, vocab_size = logits.shape
    mixed = logits.reshape(batch, vocab_size, length)
    total = F.cross_entropy(mixed, targets, ignore_index=pad_id, reduction="sum")
    return total / (targets != pad_id).sum().clamp(min=1)


@mistake(sequence_loss)
def places_out_of_step(logits, targets, pad_id):
    """You exchanged batch and places of the logits and not of the targets, or the other
    way round, before you made one axis of both. Each row of scores is then compared
    with the target of another place."""
    return right.sequence_loss(
        logits.transpose(0, 1).reshape(logits.shape), targets, pad_id
    )


@mistake(sequence_loss)
def softmax_twice(logits, targets, pad_id):
    """You took the softmax before a loss that takes its own, so even a sure and right
    answer keeps a large loss. Give it the logits as they are."""
    return right.sequence_loss(logits.softmax(-1), targets, pad_id)


@mistake(sequence_loss)
def logarithm_of_softmax(logits, targets, pad_id):
    """You took the logarithm of a softmax with a small number added. A very unlikely
    target then costs the logarithm of that number at most, and its gradient is lost;
    compute the logarithm of the softmax in one piece."""
    log_probabilities = (logits.softmax(-1) + 1e-12).log()
    chosen = log_probabilities.gather(2, targets.unsqueeze(2)).squeeze(2)
    real = targets != pad_id
    return -(chosen * real).sum() / real.sum().clamp(min=1)


@mistake(sequence_loss)
def padding_zero_counted(logits, targets, pad_id):
    """Padding whose id is 0 counts as a token; any other id is left out, as it should
    be. In Python 0 is false, so an if or an or that asks for pad_id takes the id 0 for
    no padding at all."""
    if pad_id == 0:
        return surprises(logits, targets).mean()
    return right.sequence_loss(logits, targets, pad_id)
