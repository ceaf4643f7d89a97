"""Misconceptions about encoders and decoders with attention."""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.seq2seq import (
    AttentionDecoder,
    break_sequence_loss,
    context_vector,
    greedy_translate,
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


@mistake(context_vector)
def scaled_scores(state, encoder_states, source_mask=None):
    """You divided the scores by the square root of the width. This chapter uses the
    plain dot product; the scale belongs to a later chapter, and here it makes the
    weights flatter than asked for."""
    scores = dot_scores(state, encoder_states) / state.shape[-1] ** 0.5
    return weigh(scores, encoder_states, source_mask)


@mistake(context_vector)
def cosine_scores(state, encoder_states, source_mask=None):
    """You compared directions only, because you divided by the lengths of the vectors.
    The dot score keeps the lengths, and with them the decoder decides how sharply it
    looks."""
    scores = F.cosine_similarity(state.unsqueeze(1), encoder_states, dim=-1)
    return weigh(scores, encoder_states, source_mask)


@mistake(context_vector)
def mask_not_used(state, encoder_states, source_mask=None):
    """You took the mask and never used it, so the decoder also reads padding. Then the
    translation of a line depends on how long the other lines of its batch are."""
    return weigh(dot_scores(state, encoder_states), encoder_states)


@mistake(context_vector)
def mask_inverted(state, encoder_states, source_mask=None):
    """You hid the tokens that may be attended to and read the padding. In this book
    True in a mask means *may attend*."""
    hidden = None if source_mask is None else ~source_mask
    return weigh(dot_scores(state, encoder_states), encoder_states, hidden)


@mistake(context_vector)
def masked_scores_are_zero(state, encoder_states, source_mask=None):
    """You set the scores of padding to 0. A score of 0 is a score like any other and
    gets a weight above zero; what must become zero is the weight, while the others
    still sum to one."""
    scores = dot_scores(state, encoder_states)
    if source_mask is not None:
        scores = scores * source_mask
    return weigh(scores, encoder_states)


@mistake(context_vector)
def masked_after_the_softmax(state, encoder_states, source_mask=None):
    """You set the weights of padding to zero after the softmax, so the rest of a row no
    longer sums to one and the context shrinks with every filler token. Take padding out
    of the competition before the softmax."""
    context, weights = weigh(dot_scores(state, encoder_states), encoder_states)
    if source_mask is not None:
        weights = weights * source_mask
        context = torch.einsum("bt,bth->bh", weights, encoder_states)
    return context, weights


@mistake(context_vector)
def mask_added(state, encoder_states, source_mask=None):
    """You added the mask to the scores, which moves the allowed ones by one and hides
    nothing. Only a score of minus infinity gives a weight of zero."""
    scores = dot_scores(state, encoder_states)
    if source_mask is not None:
        scores = scores + source_mask
    return weigh(scores, encoder_states)


@mistake(context_vector)
def masked_states_are_zero(state, encoder_states, source_mask=None):
    """You set the encoder states at padding to zero before comparing. Their score is
    then 0, not minus infinity, so they still take a share of the weight."""
    if source_mask is not None:
        encoder_states = encoder_states * source_mask.unsqueeze(-1)
    return weigh(dot_scores(state, encoder_states), encoder_states)


@mistake(context_vector)
def softmax_over_the_batch(state, encoder_states, source_mask=None):
    """Your softmax runs over the sequences of the batch, so what one line reads depends
    on its neighbours. The source tokens of one line compete with each other."""
    scores = dot_scores(state, encoder_states)
    if source_mask is not None:
        scores = scores.masked_fill(~source_mask, -torch.inf)
    weights = scores.softmax(dim=0)
    if source_mask is not None:
        weights = torch.where(source_mask, weights, 0.0)
    return torch.einsum("bt,bth->bh", weights, encoder_states), weights


@mistake(context_vector)
def empty_row_is_nan(state, encoder_states, source_mask=None):
    """A row whose mask allows nothing became NaN, because a softmax of minus infinities
    is 0/0. Such a row has weights and context of zero, and one NaN would spoil the
    whole batch."""
    scores = dot_scores(state, encoder_states)
    if source_mask is not None:
        scores = scores.masked_fill(~source_mask, -torch.inf)
    return weigh(scores, encoder_states)


@mistake(context_vector)
def infinity_times_zero(state, encoder_states, source_mask=None):
    """With a mask, weights and context are NaN: you multiplied minus infinity by the
    mask as numbers, and minus infinity times 0 is NaN. Fill in minus infinity where it
    belongs."""
    scores = dot_scores(state, encoder_states)
    if source_mask is not None:
        scores = scores + (~source_mask).to(scores.dtype) * -torch.inf
    return weigh(scores, encoder_states)


@mistake(context_vector)
def empty_row_is_even(state, encoder_states, source_mask=None):
    """You used a large negative number for hidden scores, so a row where everything is
    hidden spreads its weight evenly over padding. Where nothing is allowed, weights and
    context are zero."""
    scores = dot_scores(state, encoder_states)
    if source_mask is not None:
        scores = scores.masked_fill(~source_mask, -1e9)
    return weigh(scores, encoder_states)


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


@mistake(context_vector)
def plain_average(state, encoder_states, source_mask=None):
    """You gave every source token the same weight, so the decoder state has no say. The
    context is a weighted average whose weights come from the scores."""
    scores = 0 * dot_scores(state, encoder_states)
    return weigh(scores, encoder_states, source_mask)


@mistake(context_vector)
def best_state_only(state, encoder_states, source_mask=None):
    """You returned the one encoder state that matches best. Attention mixes all of them
    by their weights; a hard choice has no slope from which the scores could be
    learned."""
    _, weights = weigh(dot_scores(state, encoder_states), encoder_states, source_mask)
    best = F.one_hot(weights.argmax(dim=-1), weights.shape[-1]).to(weights)
    if source_mask is not None:
        best = best * source_mask
    return torch.einsum("bt,bth->bh", best, encoder_states), weights


@mistake(context_vector)
def mixed_with_scores(state, encoder_states, source_mask=None):
    """You mixed the encoder states with the raw scores. Scores can be negative and add
    up to anything; the softmax makes shares of one out of them first."""
    scores = dot_scores(state, encoder_states)
    _, weights = weigh(scores, encoder_states, source_mask)
    if source_mask is not None:
        scores = scores * source_mask
    return torch.einsum("bt,bth->bh", scores, encoder_states), weights


@mistake(context_vector)
def weights_come_first(state, encoder_states, source_mask=None):
    """You returned the weights before the context. The order is context, then weights,
    and where both have the same shape nothing but wrong numbers would tell you."""
    return right.context_vector(state, encoder_states, source_mask)[::-1]


@mistake(context_vector)
def state_added_to_context(state, encoder_states, source_mask=None):
    """You averaged the decoder state in, so the context is no longer made of encoder
    states alone. The query decides how much to read of each value; it is not read
    itself."""
    context, weights = right.context_vector(state, encoder_states, source_mask)
    return context + state, weights


@mistake(context_vector)
def encoder_states_overwritten(state, encoder_states, source_mask=None):
    """You wrote into the encoder states that were given. They are needed again at the
    next step, and by then they would be something else: make a new tensor."""
    result = right.context_vector(state, encoder_states, source_mask)
    if source_mask is not None and not encoder_states.requires_grad:
        encoder_states *= source_mask.unsqueeze(-1)
    return result


@mistake(context_vector)
def states_of_all_sequences_mixed(state, encoder_states, source_mask=None):
    """Your weights are right, but the context mixes the encoder states of all sequences
    of the batch, added up. Each sequence has its own: the batch is no axis to sum over,
    so in an einsum all parts have the same letter for it."""
    context, weights = right.context_vector(state, encoder_states, source_mask)
    return weights @ encoder_states.sum(0), weights


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
class SecondLookReturned(RightDecoder):
    """The output, and the weights that you return, come from a second look with the new
    state; only the cell reads the context of the first. There is one look at each step,
    before the cell, and its context serves both."""

    def forward(self, token, state, encoder_states, source_mask=None):
        _, state, _ = super().forward(token, state, encoder_states, source_mask)
        context, weights = self.look(state, encoder_states, source_mask)
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
class ProbabilitiesReturned(RightDecoder):
    """You returned probabilities. The step gives logits; the loss and the choice of a
    token do their own softmax, and a second one flattens everything."""

    def write(self, state, context):
        return super().write(state, context).softmax(-1)


@mistake(AttentionDecoder)
class LogProbabilitiesReturned(RightDecoder):
    """You returned log-probabilities. The step gives logits, as the output layer
    computes them; what turns them into probabilities comes later, in the loss."""

    def write(self, state, context):
        return super().write(state, context).log_softmax(-1)


@mistake(AttentionDecoder)
class NewStateAsks(RightDecoder):
    """You took the cell's step first and let the new state ask, so the cell had to work
    without the context of this step. The query is the state from before the step."""

    def forward(self, token, state, encoder_states, source_mask=None):
        state = self.move(state, self.embedding(token), torch.zeros_like(state))
        context, weights = self.look(state, encoder_states, source_mask)
        return self.write(state, context), state, weights


@mistake(AttentionDecoder)
class CellWithoutState(RightDecoder):
    """You called the cell without the state before, so it starts from zeros at every
    step. Pass the state on, or nothing is remembered from one token to the next."""

    def move(self, state, embedded, context):
        return super().move(None, embedded, context)


@mistake(AttentionDecoder)
class LastStateAsContext(RightDecoder):
    """You gave the cell the last encoder state at every step: that is the bottleneck
    again. The context is the mixture that this step's query asks for."""

    def look(self, state, encoder_states, source_mask):
        _, weights = super().look(state, encoder_states, source_mask)
        return encoder_states[:, -1], weights


@mistake(AttentionDecoder)
class ContextDetached(RightDecoder):
    """You cut the gradient off at the context, so neither the encoder nor the query can
    learn where to look. Nothing in a step may be detached: the weights are learned
    through the context."""

    def look(self, state, encoder_states, source_mask):
        context, weights = super().look(state, encoder_states, source_mask)
        return context.detach(), weights


@mistake(AttentionDecoder)
class DropoutInTraining(RightDecoder):
    """You dropped out part of the embedding while training, which nobody asked for. The
    modules of this book use no dropout, so that training and evaluation agree."""

    def move(self, state, embedded, context):
        return super().move(state, F.dropout(embedded, 0.3, self.training), context)


@mistake(AttentionDecoder)
class ScaledDecoder(RightDecoder):
    """You divided the scores by the square root of the width. The decoder uses
    context_vector, the plain dot product; the scale comes in a later chapter."""

    def look(self, state, encoder_states, source_mask):
        query = state / state.shape[-1] ** 0.5
        return super().look(query, encoder_states, source_mask)


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


@mistake(AttentionDecoder)
class StateRectified(RightDecoder):
    """You set the negative numbers of the new state to zero, as a ReLU does. The cell
    has its own nonlinearities: its state is returned, and read by the output, as it
    is."""

    def move(self, state, embedded, context):
        return super().move(state, embedded, context).relu()


@mistake(AttentionDecoder)
class EmbeddingRectified(RightDecoder):
    """You set the negative numbers of the embedding to zero, as a ReLU does. Half of
    what a token says is lost then: the cell reads the embedding as it is."""

    def move(self, state, embedded, context):
        return super().move(state, embedded.relu(), context)


@mistake(AttentionDecoder)
class CellReadsTheContextBefore(RightDecoder):
    """The cell reads the context of the call before, and zeros at first. Look first,
    then move: it reads what the given state has just found. Besides, a model that keeps
    something between calls gives another result when it is called again."""

    def __init__(self, vocab_size, embed_dim, hidden_dim):
        super().__init__(vocab_size, embed_dim, hidden_dim)
        self.before = None

    def move(self, state, embedded, context):
        fits = self.before is not None and self.before.shape == context.shape
        before = self.before if fits else torch.zeros_like(context)
        self.before = context
        return super().move(state, embedded, before)


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
def divided_by_rows(logits, targets, pad_id):
    """You divided by the number of rows, so long sequences weigh more and the loss
    grows with the length. Divide by the number of tokens that are not padding."""
    return (surprises(logits, targets) * (targets != pad_id)).sum() / len(targets)


@mistake(sequence_loss)
def summed(logits, targets, pad_id):
    """You returned the sum, so the loss and its gradient grow with the size of the
    batch. Divide by the number of tokens that are not padding."""
    return (surprises(logits, targets) * (targets != pad_id)).sum()


@mistake(sequence_loss)
def nothing_is_nan(logits, targets, pad_id):
    """A batch of nothing but padding gives 0/0, which is NaN, and one NaN is enough to
    lose all weights at the next update. The loss of no tokens is 0."""
    return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=pad_id)


@mistake(sequence_loss)
def probabilities_in_place_of_logarithms(logits, targets, pad_id):
    """You averaged the probabilities of the true tokens, with a minus sign, and not
    their logarithms. A probability next to zero then costs hardly more than a small
    one; its logarithm makes a sure and wrong prediction expensive."""
    real = targets != pad_id
    return -((-surprises(logits, targets)).exp() * real).sum() / real.sum().clamp(min=1)


@mistake(sequence_loss)
def logarithm_of_the_mean(logits, targets, pad_id):
    """You averaged the probabilities first and took the logarithm of the mean. The
    probability of a text is a product, so the logarithms are what is averaged."""
    real = targets != pad_id
    total = ((-surprises(logits, targets)).exp() * real).sum()
    return -(total / real.sum().clamp(min=1)).log()


@mistake(sequence_loss)
def perplexity_returned(logits, targets, pad_id):
    """Your result is the exponential of the loss, which is the perplexity. The loss is
    the mean surprise itself, in nats."""
    return right.sequence_loss(logits, targets, pad_id).exp()


@mistake(sequence_loss)
def padding_never_predicted(logits, targets, pad_id):
    """You took the padding id out of the softmax, as if it could not be predicted. What
    is left out are the places where the target is padding; there and elsewhere, all V
    logits share the probability."""
    hidden = torch.arange(logits.shape[-1]) == pad_id
    logits = logits.masked_fill(hidden.to(logits.device), -torch.inf)
    return right.sequence_loss(logits, targets, pad_id)


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
def softmax_over_places(logits, targets, pad_id):
    """Your softmax runs over the places of a sequence. At each place it is the tokens
    of the vocabulary that compete, so normalise over the last dimension."""
    log_probabilities = logits.log_softmax(dim=1)
    chosen = log_probabilities.gather(2, targets.unsqueeze(2)).squeeze(2)
    real = targets != pad_id
    return -(chosen * real).sum() / real.sum().clamp(min=1)


@mistake(sequence_loss)
def without_logarithm(logits, targets, pad_id):
    """You averaged the probabilities of the targets, not their logarithms. The loss is
    the mean of minus the log-probability, which punishes a sure mistake hard."""
    chosen = logits.softmax(-1).gather(2, targets.unsqueeze(2)).squeeze(2)
    real = targets != pad_id
    return 1 - (chosen * real).sum() / real.sum().clamp(min=1)


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
def stopped_at_the_first_padding(logits, targets, pad_id):
    """You stopped each row at its first padding. Padding can also stand in front or in
    between; every place whose target is not padding counts."""
    real = (targets == pad_id).long().cumsum(1) == 0
    return (surprises(logits, targets) * real).sum() / real.sum().clamp(min=1)


@mistake(sequence_loss)
def shifted_by_one(logits, targets, pad_id):
    """You compared the logits of one place with the token of the next. Logits and
    targets already belong together, place by place; the shift was made when the targets
    were cut."""
    return right.sequence_loss(logits[:, :-1], targets[:, 1:], pad_id)


@mistake(sequence_loss)
def in_bits(logits, targets, pad_id):
    """Your loss is in bits. The book uses the natural logarithm, as torch does."""
    return right.sequence_loss(logits, targets, pad_id) / 0.6931471805599453


@mistake(sequence_loss)
def plain_logit(logits, targets, pad_id):
    """You forgot the normalisation and took the plain logit of each target. A logit is
    only large or small next to the others of its place: it is the log-softmax that
    counts."""
    chosen = logits.gather(2, targets.unsqueeze(2)).squeeze(2)
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


@mistake(sequence_loss)
def padding_counted_as_uniform(logits, targets, pad_id):
    """The logits at padding are set to zero, which leaves a loss there: with equal
    logits, every token has the probability 1 / V, and each padded place adds log V.
    Leave these places out of the sum."""
    real = targets != pad_id
    losses = surprises(logits * real.unsqueeze(-1), targets)
    return losses.sum() / real.sum() if real.any() else logits.sum() * 0.0


# greedy_translate ---------------------------------------------------------------------


def first_tokens(state, start_id):
    return torch.full((len(state),), start_id)


def translate(
    step, state, start_id, end_id, max_length, *, stop=torch.all, fill_up=True
):
    """Greedy translation with its choices laid open; the defaults are right."""
    token, written = first_tokens(state, start_id), []
    ended = torch.zeros(len(state), dtype=torch.bool)
    while len(written) < max_length and not stop(ended):
        logits, state = step(token, state)
        token = logits.argmax(-1)
        if fill_up:
            token = token.masked_fill(ended, end_id)
        ended = ended | (token == end_id)
        written.append(token)
    return torch.stack(written, 1)


@mistake(greedy_translate)
def start_included(step, state, start_id, end_id, max_length):
    """Your result begins with the start token. It is only read, never written; the
    first column is the first token that the decoder chose."""
    ids = right.greedy_translate(step, state, start_id, end_id, max_length)
    return torch.cat([first_tokens(state, start_id).unsqueeze(1), ids], dim=1)


@mistake(greedy_translate)
def start_counted(step, state, start_id, end_id, max_length):
    """You counted the start among the tokens allowed, so at most max_length - 1 are
    written. The start is not written and does not count."""
    written = max(1, max_length - 1)
    return right.greedy_translate(step, state, start_id, end_id, written)


@mistake(greedy_translate)
def start_counted_and_included(step, state, start_id, end_id, max_length):
    """Your result begins with the start token, which also counts towards max_length, so
    one token too few is written. The start is only read: it is neither returned nor
    counted."""
    start = first_tokens(state, start_id).unsqueeze(1)
    if max_length == 1:
        return start
    ids = right.greedy_translate(step, state, start_id, end_id, max_length - 1)
    return torch.cat([start, ids], dim=1)


@mistake(greedy_translate)
def start_fed_again(step, state, start_id, end_id, max_length):
    """You fed the start token at every step. After the first one the decoder reads what
    it has just written, and that is how it knows where it is."""
    start = first_tokens(state, start_id)
    return right.greedy_translate(
        lambda token, state: step(start, state), state, start_id, end_id, max_length
    )


@mistake(greedy_translate)
def state_not_carried(step, state, start_id, end_id, max_length):
    """You gave every step the first state. The step returns the state for the next one,
    and without it the decoder does not know how far it has come."""
    return right.greedy_translate(
        lambda token, _: (step(token, state)[0], state),
        state,
        start_id,
        end_id,
        max_length,
    )


@mistake(greedy_translate)
def goes_on_after_the_end(*arguments):
    """You went on writing after a row had ended, while other rows were still busy. What
    follows the end is noise; fill the row up with the end token."""
    return translate(*arguments, fill_up=False)


@mistake(greedy_translate)
def stops_with_the_first(*arguments):
    """You stopped as soon as one row had ended, so the longer ones are cut off. Stop
    when all of them have ended."""
    return translate(*arguments, stop=torch.any)


@mistake(greedy_translate)
def stops_only_together(step, state, start_id, end_id, max_length):
    """You stopped only when all rows wrote the end at the same step. A row that ended
    earlier stays ended, so keep a note of it from then on."""
    token, written = first_tokens(state, start_id), []
    ended = torch.zeros(len(state), dtype=torch.bool)
    while len(written) < max_length:
        logits, state = step(token, state)
        chosen = logits.argmax(-1)
        written.append(chosen.masked_fill(ended, end_id))
        ended = ended | (chosen == end_id)
        token = chosen
        if (chosen == end_id).all():
            break
    return torch.stack(written, 1)


@mistake(greedy_translate)
def ends_not_noted(step, state, start_id, end_id, max_length):
    """You kept no note of which rows have ended. They go on being written after their
    end, and you stop only if all rows happen to write the end at the same step. A row
    that has ended stays ended, whatever the decoder would write next."""
    token, written = first_tokens(state, start_id), []
    while len(written) < max_length:
        logits, state = step(token, state)
        token = logits.argmax(-1)
        written.append(token)
        if (token == end_id).all():
            break
    return torch.stack(written, 1)


@mistake(greedy_translate)
def never_stops(*arguments):
    """You always took max_length steps, although all rows had ended long before. The
    result is as long as the longest row, and the rest of the steps is wasted work."""
    return translate(*arguments, stop=lambda ended: False)


@mistake(greedy_translate)
def filled_with_zero(step, state, start_id, end_id, max_length):
    """You filled rows up with 0 after their end. They are filled with end_id, so that
    whoever reads the result needs to know one special id only."""
    ids = right.greedy_translate(step, state, start_id, end_id, max_length)
    after = (ids == end_id).long().cumsum(1) - (ids == end_id).long() > 0
    return ids.masked_fill(after, 0)


@mistake(greedy_translate)
def filled_with_start(step, state, start_id, end_id, max_length):
    """You filled rows up with the start token after their end. They are filled with
    end_id."""
    ids = right.greedy_translate(step, state, start_id, end_id, max_length)
    after = (ids == end_id).long().cumsum(1) - (ids == end_id).long() > 0
    return ids.masked_fill(after, start_id)


@mistake(greedy_translate)
def end_dropped(step, state, start_id, end_id, max_length):
    """You left the end token out of the result. It is kept: it is what tells a finished
    row from one that was cut off at max_length."""
    ids = right.greedy_translate(step, state, start_id, end_id, max_length)
    return ids[:, :-1] if (ids == end_id).any(1).all() else ids


@mistake(greedy_translate)
def sampled(step, state, start_id, end_id, max_length):
    """You drew the tokens at random from their probabilities. Greedy means the most
    probable one, so that the same input always gives the same output."""

    def noisy(token, state):
        logits, state = step(token, state)
        drawn = torch.multinomial((logits / 4).softmax(-1), 1)
        return torch.zeros_like(logits).scatter_(-1, drawn, 1.0), state

    return right.greedy_translate(noisy, state, start_id, end_id, max_length)


@mistake(greedy_translate)
def least_probable(step, state, start_id, end_id, max_length):
    """You took the token with the smallest logit. A large logit means probable."""

    def negative(token, state):
        logits, state = step(token, state)
        return -logits, state

    return right.greedy_translate(negative, state, start_id, end_id, max_length)


@mistake(greedy_translate)
def largest_magnitude(step, state, start_id, end_id, max_length):
    """You took the logit furthest from zero. A very negative logit means very unlikely:
    it is the largest one that counts."""

    def magnitude(token, state):
        logits, state = step(token, state)
        return logits.abs(), state

    return right.greedy_translate(magnitude, state, start_id, end_id, max_length)


@mistake(greedy_translate)
def end_forbidden(step, state, start_id, end_id, max_length):
    """You never chose the end token before max_length was reached, so no translation is
    shorter than the longest allowed. The decoder says itself when it is done."""

    def endless(token, state):
        logits, state = step(token, state)
        logits = logits.clone()
        logits[:, end_id] = -torch.inf
        return logits, state

    return right.greedy_translate(endless, state, start_id, end_id, max_length)


@mistake(greedy_translate)
def first_row_decides(*arguments):
    """You looked for the end in the first row only, and stopped all rows with it. Each
    row ends by itself."""
    return translate(*arguments, stop=lambda ended: ended[0])


@mistake(greedy_translate)
def sampled_from_the_softmax(step, state, start_id, end_id, max_length):
    """You drew the tokens at random by their probability, which shows only where the
    model is not sure. Greedy means the most probable token, so that the same input
    always gives the same output: argmax."""

    def drawn(token, state):
        logits, state = step(token, state)
        chosen = torch.multinomial(logits.softmax(-1), 1)
        return torch.zeros_like(logits).scatter_(-1, chosen, 1.0), state

    return right.greedy_translate(drawn, state, start_id, end_id, max_length)


# break_sequence_loss ------------------------------------------------------------------

wrong_versions_of_sequence_loss = hide(
    break_sequence_loss,
    divided_by_all_places,
    mean_of_row_means,
    padding_is_always_zero,
    logarithm_of_softmax,
)


@mistake(break_sequence_loss)
def test_without_padding():
    """None of the wrong versions was found. They differ in how they count tokens and
    padding, and in what they do with a tiny probability: pad at least one row, and let
    one of the true tokens be very improbable."""
    return torch.ones(2, 3, 4), torch.tensor([[1, 2, 3], [3, 2, 1]]), 0


@mistake(break_sequence_loss)
def test_with_padding_of_id_zero():
    """Your padding finds the two versions that divide by a wrong number. Which id means
    padding is an argument, and one version takes no notice of it; another one is wrong
    only about a token that was held to be nearly impossible."""
    logits = torch.arange(24.0).reshape(2, 3, 4).sin()
    return logits, torch.tensor([[1, 2, 0], [3, 0, 0]]), 0


@mistake(break_sequence_loss)
def test_with_rows_of_one_length():
    """Two versions are found, one that counts padding and one that takes it for another
    token. Where all rows have equally many tokens, the mean of their means is the mean;
    and no probability is tiny."""
    logits = torch.arange(24.0).reshape(2, 3, 4).sin()
    return logits, torch.tensor([[0, 1, 3], [2, 0, 3]]), 3
