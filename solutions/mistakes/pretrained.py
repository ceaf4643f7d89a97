"""Misconceptions about published weights and search by meaning, as code."""

import torch
import torch.nn.functional as F

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.pretrained import (
    break_search,
    convert_bert_layer,
    embed,
    mean_pool,
    search,
)
from solutions import pretrained as right

RENAMED = {
    "self_attn.out_proj": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}


def prefix_of(state_dict):
    return "bert." if any(name.startswith("bert.") for name in state_dict) else ""


def converted(state_dict, index, parts=("query", "key", "value"), prefix=None):
    """The right conversion, with another order or prefix where asked for."""
    start = prefix_of(state_dict) if prefix is None else prefix
    layer = f"{start}encoder.layer.{index}."
    result = {}
    for kind in ("weight", "bias"):
        rows = [state_dict[f"{layer}attention.self.{p}.{kind}"] for p in parts]
        result[f"self_attn.in_proj_{kind}"] = torch.cat(rows)
        for ours, theirs in RENAMED.items():
            result[f"{ours}.{kind}"] = state_dict[f"{layer}{theirs}.{kind}"]
    return result


def exchanged(found, first, second):
    """The same weights, but for two parts whose contents are exchanged."""
    names = {first: second, second: first}
    split = {name: name.rpartition(".") for name in found}
    return {
        f"{names.get(part, part)}.{kind}": found[name]
        for name, (part, _, kind) in split.items()
    }


# convert_bert_layer


@mistake(convert_bert_layer)
def convert_value_before_key(state_dict, index):
    """You packed values before keys. torch reads the rows as queries, keys, values, so
    now the layer matches by what should be handed over."""
    return converted(state_dict, index, ("query", "value", "key"))


@mistake(convert_bert_layer)
def convert_key_before_query(state_dict, index):
    """You packed keys before queries. The scores come out transposed: each token is
    looked at as much as it should have looked."""
    return converted(state_dict, index, ("key", "query", "value"))


@mistake(convert_bert_layer)
def convert_reversed(state_dict, index):
    """You packed the three projections in the opposite order. torch reads the rows as
    queries, keys, values."""
    return converted(state_dict, index, ("value", "key", "query"))


@mistake(convert_bert_layer)
def convert_norms_exchanged(state_dict, index):
    """You exchanged the two norms. The one inside attention.output follows the
    attention, and the other one the feed-forward network."""
    return exchanged(right.convert_bert_layer(state_dict, index), "norm1", "norm2")


@mistake(convert_bert_layer)
def convert_linears_exchanged(state_dict, index):
    """You exchanged the two linear maps of the feed-forward network. The intermediate
    one widens the features, and the output brings them back."""
    found = right.convert_bert_layer(state_dict, index)
    return exchanged(found, "linear1", "linear2")


@mistake(convert_bert_layer)
def convert_transposed(state_dict, index):
    """You transposed the matrices. Both libraries store a linear map as (outputs,
    inputs), so nothing has to be turned."""
    found = converted(state_dict, index)
    return {
        name: value.T if value.dim() == 2 else value for name, value in found.items()
    }


@mistake(convert_bert_layer)
def convert_out_proj_transposed(state_dict, index):
    """You transposed the output projection of the attention. It is square, so nothing
    complains, and every token comes out wrong."""
    found = converted(state_dict, index)
    name = "self_attn.out_proj.weight"
    return {**found, name: found[name].T}


@mistake(convert_bert_layer)
def convert_projections_transposed(state_dict, index):
    """You transposed each projection before you packed them. Each is square, so nothing
    complains; both libraries store them as (outputs, inputs)."""
    found = converted(state_dict, index)
    name = "self_attn.in_proj_weight"
    parts = [part.T for part in found[name].chunk(3)]
    return {**found, name: torch.cat(parts)}


@mistake(convert_bert_layer)
def convert_side_by_side(state_dict, index):
    """You joined the three projections side by side. torch packs them one below the
    other, (3 D, D)."""
    found = converted(state_dict, index)
    name = "self_attn.in_proj_weight"
    return {**found, name: torch.cat(found[name].chunk(3), dim=1)}


@mistake(convert_bert_layer)
def convert_stacked(state_dict, index):
    """You stacked the three projections along a new dimension. torch wants the rows of
    all three in one matrix."""
    found = converted(state_dict, index)
    width = found["norm1.bias"].shape[0]
    return found | {
        name: found[name].unflatten(0, (3, width))
        for name in ("self_attn.in_proj_weight", "self_attn.in_proj_bias")
    }


@mistake(convert_bert_layer)
def convert_interleaved(state_dict, index):
    """You mixed the rows of queries, keys and values. Each of the three stays in one
    piece; torch cuts the heads out of it later."""
    found = converted(state_dict, index)
    width = found["norm1.bias"].shape[0]
    return found | {
        name: found[name].unflatten(0, (3, width)).transpose(0, 1).flatten(0, 1)
        for name in ("self_attn.in_proj_weight", "self_attn.in_proj_bias")
    }


@mistake(convert_bert_layer)
def convert_always_first(state_dict, index):
    """You converted the first layer, whatever the index. The layers have different
    weights, and each is asked for by its number."""
    return converted(state_dict, 0)


@mistake(convert_bert_layer)
def convert_from_one(state_dict, index):
    """You counted layers from 1. Their names begin with layer 0."""
    return converted(state_dict, index - 1)


def of_layers_that_begin(state_dict, index, order):
    """All weights of layers whose number begins with ``index``, by their own names."""
    start = f"{prefix_of(state_dict)}encoder.layer.{index}"
    found = {}
    for name in order(name for name in state_dict if name.startswith(start)):
        part = name.removeprefix(start).partition(".")[2]
        found[f"encoder.layer.{index}.{part}"] = state_dict[name]
    return converted(found, index)


@mistake(convert_bert_layer)
def convert_prefix_of_number(state_dict, index):
    """You looked for names that begin with the layer's number, so layer 1 also took
    what belongs to layer 11. The number ends at the dot that follows it."""
    return of_layers_that_begin(state_dict, index, list)


@mistake(convert_bert_layer)
def convert_first_that_begins(state_dict, index):
    """You took the first name that begins with the layer's number, so layer 1 may get
    what belongs to layer 11. The number ends at the dot that follows it."""
    return of_layers_that_begin(state_dict, index, lambda names: [*names][::-1])


@mistake(convert_bert_layer)
def convert_no_prefix(state_dict, index):
    """You expect names without the leading "bert.". Files that were saved with a head
    on top have it, others have not, and both should work."""
    return converted(state_dict, index, prefix="")


@mistake(convert_bert_layer)
def convert_needs_prefix(state_dict, index):
    """You expect all names to begin with "bert.". Files that hold the encoder alone
    leave it out, and both should work."""
    return converted(state_dict, index, prefix="bert.")


@mistake(convert_bert_layer)
def convert_no_biases(state_dict, index):
    """You left out the biases. Both libraries have one for every linear map and norm,
    and torch refuses a state dict in which some are missing."""
    found = converted(state_dict, index)
    return {name: value for name, value in found.items() if "bias" not in name}


@mistake(convert_bert_layer)
def convert_not_packed(state_dict, index):
    """You kept queries, keys and values apart, as torch does only when their widths
    differ. Here they are equal, and torch expects one packed matrix."""
    found = converted(state_dict, index)
    parts = found.pop("self_attn.in_proj_weight").chunk(3)
    names = (f"self_attn.{part}_proj_weight" for part in "qkv")
    return found | dict(zip(names, parts, strict=True))


@mistake(convert_bert_layer)
def convert_zero_bias(state_dict, index):
    """You set the packed bias to zero. Queries, keys and values each have a bias, and
    it is packed just as the matrices are."""
    found = converted(state_dict, index)
    name = "self_attn.in_proj_bias"
    return {**found, name: torch.zeros_like(found[name])}


@mistake(convert_bert_layer)
def convert_popped(state_dict, index):
    """You took the weights out of the dictionary that you were given. Whoever called
    you needs them for the other layers."""
    found = converted(state_dict, index)
    start = f"{prefix_of(state_dict)}encoder.layer.{index}."
    for name in [name for name in state_dict if name.startswith(start)]:
        del state_dict[name]
    return found


# mean_pool


@mistake(mean_pool)
def pool_padding_too(hidden, mask):
    """You averaged over the padding too. Then the vector of a text depends on how long
    the other texts of its batch are."""
    return F.normalize(hidden.mean(dim=1), dim=-1)


@mistake(mean_pool)
def pool_inverted(hidden, mask):
    """You averaged the padding and left out the tokens. In this book True marks what is
    real."""
    return F.normalize((hidden * mask.logical_not().unsqueeze(-1)).sum(dim=1), dim=-1)


@mistake(mean_pool)
def pool_not_normalised(hidden, mask):
    """You returned the mean and not a vector of length 1. Longer vectors would win in a
    search by dot product, whatever they mean."""
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


@mistake(mean_pool)
def pool_first(hidden, mask):
    """You took the first token in place of the mean. This model was trained to put the
    meaning of a text into the mean of all its tokens."""
    return F.normalize(hidden[:, 0] * mask.any(dim=1, keepdim=True), dim=-1)


@mistake(mean_pool)
def pool_last(hidden, mask):
    """You took the last real token. That suits a model that reads from left to right;
    here the meaning is in the mean of all tokens."""
    positions = torch.arange(mask.shape[1]) * mask
    last = hidden[torch.arange(len(hidden)), positions.argmax(dim=1)]
    return F.normalize(last * mask.any(dim=1, keepdim=True), dim=-1)


@mistake(mean_pool)
def pool_maximum(hidden, mask):
    """You took the largest value of each feature and not the mean. One token then
    decides about each feature alone."""
    largest = hidden.masked_fill(~mask.unsqueeze(-1), -1e9).amax(dim=1)
    return F.normalize(largest * mask.any(dim=1, keepdim=True), dim=-1)


@mistake(mean_pool)
def pool_tokens_normalised(hidden, mask):
    """You made each token's vector unit length before the mean. Tokens with long
    vectors then count less than they should."""
    tokens = F.normalize(hidden, dim=-1) * mask.unsqueeze(-1)
    return F.normalize(tokens.sum(dim=1), dim=-1)


@mistake(mean_pool)
def pool_over_batch(hidden, mask):
    """You normalised over the texts and not over the features. Each text's vector has
    to have length 1 on its own."""
    return F.normalize((hidden * mask.unsqueeze(-1)).sum(dim=1), dim=0)


@mistake(mean_pool)
def pool_absolute_length(hidden, mask):
    """You divided by the sum of the absolute values. The length of a vector is the root
    of the sum of squares, and only then is a dot product a cosine."""
    return F.normalize((hidden * mask.unsqueeze(-1)).sum(dim=1), p=1, dim=-1)


@mistake(mean_pool)
def pool_squared_length(hidden, mask):
    """You divided by the square of the length, and forgot its root. The result does not
    have length 1."""
    total = (hidden * mask.unsqueeze(-1)).sum(dim=1)
    mean = total / mask.sum(dim=1, keepdim=True).clamp(min=1)
    return mean / mean.square().sum(dim=-1, keepdim=True).clamp(min=1e-9)


@mistake(mean_pool)
def pool_over_features(hidden, mask):
    """You averaged over the features and not over the tokens. The result should have
    one number for each feature."""
    return F.normalize(hidden.mean(dim=-1) * mask, dim=-1)


@mistake(mean_pool)
def pool_over_texts(hidden, mask):
    """You averaged over all texts of the batch. Each text has a vector of its own."""
    mean = (hidden * mask.unsqueeze(-1)).sum(dim=(0, 1))
    return F.normalize(mean, dim=-1).expand(len(hidden), -1)


@mistake(mean_pool)
def pool_nan(hidden, mask):
    """A text without any token divides zero by zero. Nothing was said, so its vector is
    zeros, and not NaN, which would spoil whatever it meets."""
    mean = (hidden * mask.unsqueeze(-1)).sum(dim=1) / mask.sum(dim=1, keepdim=True)
    return mean / mean.norm(dim=-1, keepdim=True)


@mistake(mean_pool)
def pool_in_place(hidden, mask):
    """You wrote zeros into the vectors that you were given. Whoever called you may
    still need them, so work on a copy."""
    hidden[~mask] = 0.0
    return F.normalize(hidden.sum(dim=1), dim=-1)


@mistake(mean_pool)
def pool_mean_over_batch(hidden, mask):
    """The means are right, and each feature was normalised over the texts. Each text's
    vector has to have length 1 on its own, along the last axis."""
    return F.normalize(pool_not_normalised.implementation(hidden, mask), dim=0)


@mistake(mean_pool)
def pool_padding_at_the_end(hidden, mask):
    """You counted the tokens and averaged as many from the beginning. Padding may stand
    in front as well, or anywhere: the mask says which tokens are real."""
    places = torch.arange(mask.shape[1]) < mask.sum(dim=1, keepdim=True)
    return pooled(hidden, places)


# embed


def pooled(hidden, mask):
    total = (hidden * mask.unsqueeze(-1)).sum(dim=1)
    return F.normalize(total, dim=-1)


@mistake(embed)
@torch.no_grad()
def embed_padding_too(texts, tokenizer, model):
    """You averaged over the padding too, so a text's vector depends on the texts beside
    it. Use the mask that the tokenizer gave."""
    ids, mask = tokenizer(texts)
    return F.normalize(model(ids, mask).mean(dim=1), dim=-1)


@mistake(embed)
@torch.no_grad()
def embed_no_mask_for_model(texts, tokenizer, model):
    """You told the model that every token is real. Attention then reads the padding,
    and the vectors of all texts but the longest change."""
    ids, mask = tokenizer(texts)
    return pooled(model(ids, torch.ones_like(mask)), mask)


@mistake(embed)
@torch.no_grad()
def embed_mask_inverted(texts, tokenizer, model):
    """You gave the model the opposite mask. In this book True marks what may be
    attended to; a model that wants it the other way turns it round itself."""
    ids, mask = tokenizer(texts)
    return pooled(torch.nan_to_num(model(ids, ~mask)), mask)


@mistake(embed)
def embed_with_gradient(texts, tokenizer, model):
    """You kept the gradient: your vectors carry along all that the model computed for
    them, which takes memory for nothing. Call the model under torch.no_grad()."""
    ids, mask = tokenizer(texts)
    return pooled(model(ids, mask), mask)


@mistake(embed)
@torch.no_grad()
def embed_first_token(texts, tokenizer, model):
    """You took the vector of the first token. This model was trained on the mean of all
    tokens, and its first one means little."""
    ids, mask = tokenizer(texts)
    return F.normalize(model(ids, mask)[:, 0], dim=-1)


@mistake(embed)
@torch.no_grad()
def embed_not_normalised(texts, tokenizer, model):
    """Your vectors do not have length 1. A dot product of two of them is then no
    cosine, and long texts or short ones win for no good reason."""
    ids, mask = tokenizer(texts)
    weights = mask.unsqueeze(-1)
    return (model(ids, mask) * weights).sum(dim=1) / weights.sum(dim=1)


@mistake(embed)
@torch.no_grad()
def embed_guessed_padding(texts, tokenizer, model):
    """You guessed the padding from the ids. The id that fills up may belong to a real
    token as well; the tokenizer says which is which."""
    ids, mask = tokenizer(texts)
    hidden, filler = model(ids, mask), ids[~mask]
    guessed = ids != (filler[0] if len(filler) else -1)
    return pooled(hidden, guessed)


@mistake(embed)
@torch.no_grad()
def embed_padding_is_zero(texts, tokenizer, model):
    """You took the id 0 for padding. Which id fills up is the tokenizer's choice, and 0
    may be a word like any other: use the mask that the tokenizer gave."""
    ids, mask = tokenizer(texts)
    return pooled(model(ids, mask), ids != 0)


@mistake(embed)
@torch.no_grad()
def embed_without_start(texts, tokenizer, model):
    """You left out the first token. It marks the start of a text, and the mean that
    this model was trained with includes it."""
    ids, mask = tokenizer(texts)
    return pooled(model(ids, mask)[:, 1:], mask[:, 1:])


@mistake(embed)
@torch.no_grad()
def embed_tokens(texts, tokenizer, model):
    """You returned a vector for each token. A text should become one vector, the mean
    of those of its real tokens."""
    return F.normalize(model(*tokenizer(texts)), dim=-1)


@mistake(embed)
@torch.no_grad()
def embed_first_text(texts, tokenizer, model):
    """You embedded the first text only. The result has one row for every text."""
    ids, mask = tokenizer(texts[:1])
    return pooled(model(ids, mask), mask)


@mistake(embed)
@torch.no_grad()
def embed_sorted(texts, tokenizer, model):
    """You sorted the texts and returned their vectors in that order. Row i has to
    belong to text i."""
    ids, mask = tokenizer(sorted(texts, key=len))
    return pooled(model(ids, mask), mask)


@mistake(embed)
@torch.no_grad()
def embed_without_repeats(texts, tokenizer, model):
    """You dropped texts that you had seen before. Row i has to belong to text i, also
    where two texts are the same."""
    ids, mask = tokenizer(list(dict.fromkeys(texts)))
    return pooled(model(ids, mask), mask)


@mistake(embed)
@torch.no_grad()
def embed_joined(texts, tokenizer, model):
    """You joined all texts into one. Their tokens then attend to each other, and there
    is one vector for all."""
    ids, mask = tokenizer([" ".join(texts)])
    return pooled(model(ids, mask), mask)


@mistake(embed)
@torch.no_grad()
def embed_maximum(texts, tokenizer, model):
    """You took the largest value of each feature over the tokens. This model was
    trained with their mean."""
    ids, mask = tokenizer(texts)
    hidden = model(ids, mask).masked_fill(~mask.unsqueeze(-1), -1e9)
    return F.normalize(hidden.amax(dim=1), dim=-1)


@mistake(embed)
@torch.no_grad()
def embed_centred(texts, tokenizer, model):
    """The mean of all texts was subtracted from each, so a text's vector depends on
    those beside it, and a single text gets zeros. Each text has a vector of its own."""
    ids, mask = tokenizer(texts)
    total = (model(ids, mask) * mask.unsqueeze(-1)).sum(dim=1)
    return F.normalize(total - total.mean(dim=0), dim=-1)


# search


def cosines(query, corpus):
    return F.normalize(corpus, dim=-1) @ F.normalize(query, dim=-1)


def best(scores, k):
    found = scores.topk(k)
    return found.indices, found.values


@mistake(search)
def search_dot_product(query, corpus, k):
    """You compared by dot product, so long vectors win whatever their direction. Divide
    by both lengths: only the angle should count."""
    return best(corpus @ query, k)


@mistake(search)
def search_query_length(query, corpus, k):
    """You divided by the lengths of the corpus and not by that of the query. The order
    is right, but the scores are no cosines and cannot be compared between queries."""
    return best(F.normalize(corpus, dim=-1) @ query, k)


@mistake(search)
def search_corpus_lengths(query, corpus, k):
    """You divided by the length of the query and not by those of the corpus. Long
    vectors win, whatever their direction."""
    return best(corpus @ F.normalize(query, dim=-1), k)


@mistake(search)
def search_nearest(query, corpus, k):
    """You looked for the smallest distance. Two vectors can be far apart because their
    lengths differ, although they point the same way."""
    indices, _ = best(-(corpus - query).norm(dim=-1), k)
    return indices, cosines(query, corpus)[indices]


@mistake(search)
def search_worst(query, corpus, k):
    """You returned the worst ones. The largest cosine belongs to the best match."""
    indices, scores = best(-cosines(query, corpus), k)
    return indices, -scores


@mistake(search)
def search_best_last(query, corpus, k):
    """You found the right ones and returned them worst first. The best match comes
    first."""
    indices, scores = best(cosines(query, corpus), k)
    return indices.flip(0), scores.flip(0)


@mistake(search)
def search_corpus_order(query, corpus, k):
    """You found the right ones and returned them in the order of the corpus. The best
    match comes first."""
    indices = best(cosines(query, corpus), k)[0].sort().values
    return indices, cosines(query, corpus)[indices]


@mistake(search)
def search_ranks(query, corpus, k):
    """Your scores are right, and your indices number them: 0 for the best, 1 for the
    next. An index says which row of the corpus a score belongs to, and sorting or topk
    returns it beside the score."""
    indices, scores = best(cosines(query, corpus), k)
    return torch.arange(len(indices)), scores


@mistake(search)
def search_exchanged(query, corpus, k):
    """You returned the scores first and the indices second. Callers unpack them the
    other way round."""
    return best(cosines(query, corpus), k)[::-1]


@mistake(search)
def search_everything(query, corpus, k):
    """You returned all vectors and not the k best. The third argument says how many are
    wanted."""
    return best(cosines(query, corpus), len(corpus))


@mistake(search)
def search_refuses_all(query, corpus, k):
    """You also refuse to return all vectors. k may be as large as the corpus, and only
    more than that is an error."""
    if k >= len(corpus):
        raise ValueError(f"{k} of {len(corpus)}")
    return best(cosines(query, corpus), k)


@mistake(search)
def search_absolute(query, corpus, k):
    """You ignored the sign. A cosine of -1 means the opposite direction, which is the
    worst match and not the best."""
    return best(cosines(query, corpus).abs(), k)


@mistake(search)
def search_cosine_distance(query, corpus, k):
    """You returned one minus the cosine. That is a distance, small for a good match; a
    score was asked for."""
    indices, scores = best(cosines(query, corpus), k)
    return indices, 1 - scores


@mistake(search)
def search_softmax(query, corpus, k):
    """You turned the scores into shares with a softmax. Then a score depends on what
    else is in the corpus, and says nothing about the match itself."""
    return best(cosines(query, corpus).softmax(dim=0), k)


@mistake(search)
def search_wrong_axis(query, corpus, k):
    """You normalised each feature over the corpus and not each vector. A cosine divides
    by the length of each vector."""
    return best(F.normalize(corpus, dim=0) @ F.normalize(query, dim=0), k)


@mistake(search)
def search_vectors(query, corpus, k):
    """You returned the vectors that were found. Their row numbers were asked for, so
    that a caller can look up the texts."""
    indices, scores = best(cosines(query, corpus), k)
    return corpus[indices], scores


@mistake(search)
def search_from_one(query, corpus, k):
    """You numbered the rows from one. The first row of the corpus has index 0."""
    indices, scores = best(cosines(query, corpus), k)
    return indices + 1, scores


@mistake(search)
def search_in_place(query, corpus, k):
    """You normalised the corpus that you were given in place. Whoever called you still
    needs its lengths."""
    corpus /= corpus.norm(dim=-1, keepdim=True)
    return best(corpus @ F.normalize(query, dim=-1), k)


@mistake(search)
def search_negative_distance(query, corpus, k):
    """You ranked by the distance, and returned it with a minus sign. Two vectors can be
    far apart because their lengths differ, although they point the same way: the cosine
    is asked for."""
    return best(-(corpus - query).norm(dim=-1), k)


# break_search -------------------------------------------------------------------------

wrong_versions_of_search = hide(
    break_search,
    search_absolute,
    search_nearest,
    search_corpus_order,
    search_refuses_all,
)


@mistake(break_search)
def test_with_unit_vectors_in_order():
    """None of the wrong versions was found. Your corpus is too tidy: let its best match
    come last, and be the longest of all, let another vector point away from the query,
    and ask for all of them."""
    return torch.tensor([3.0, 2.0, 1.0]), torch.eye(3), 2


@mistake(break_search)
def test_with_all_unit_vectors():
    """You found the versions that are wrong about order and number. As long as all
    vectors have one length, the nearest vector is the one with the best cosine; and
    none of yours points away from the query."""
    return torch.tensor([1.0, 2.0, 3.0]), torch.eye(3), 3


@mistake(break_search)
def test_with_one_opposite_vector():
    """The vector that points away from your query finds one version. The others are
    right as long as the best match comes first, is also the nearest, and there is
    something left in the corpus that was not asked for."""
    return torch.tensor([1.0, 0.0]), torch.tensor([[1.0, 0.5], [-3.0, 0.0]]), 1
