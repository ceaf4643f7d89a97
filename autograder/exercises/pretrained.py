"""Cases for the chapter on published weights.

None of them needs the weights: models are small and random.
"""

import torch
from torch import nn

from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import strided, tensor
from autograder.specification import reals, whole

convert_bert_layer = Exercise("convert_bert_layer")
mean_pool = Exercise("mean_pool")
embed = Exercise("embed")
search = Exercise("search", results=("indices", "scores"))

WORDS = [
    "red",
    "blue",
    "small",
    "large",
    "cat",
    "dog",
    "house",
    "tree",
    "reads",
    "writes",
    "sleeps",
    "runs",
    "the",
    "a",
]


def bert(rng, layers, width=6, inner=10, prefix=""):
    """Random weights of a small BERT by name, in no particular order."""
    shapes = {
        "embeddings.word_embeddings.weight": (9, width),
        "embeddings.LayerNorm.weight": (width,),
        "embeddings.LayerNorm.bias": (width,),
        "pooler.dense.weight": (width, width),
        "pooler.dense.bias": (width,),
    }
    for i in range(layers):
        layer = f"encoder.layer.{i}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[f"{layer}.attention.{part}.weight"] = width, width
            shapes[f"{layer}.attention.{part}.bias"] = (width,)
        shapes[f"{layer}.intermediate.dense.weight"] = inner, width
        shapes[f"{layer}.intermediate.dense.bias"] = (inner,)
        shapes[f"{layer}.output.dense.weight"] = width, inner
        shapes[f"{layer}.output.dense.bias"] = (width,)
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{layer}.{norm}.weight"] = (width,)
            shapes[f"{layer}.{norm}.bias"] = (width,)
    names = rng.permutation(list(shapes))
    return {f"{prefix}{name}": 0.5 * tensor(rng, *shapes[name]) for name in names}


def padded(rng, *texts):
    """A mask of texts that are written out, an x for a token, in random order."""
    rows = [[token == "x" for token in text] for text in rng.permutation(texts)]
    return torch.tensor(rows)


# convert_bert_layer


@convert_bert_layer.case(title="each layer of three, without a prefix", points=2)
def convert_plain(convert_bert_layer, rng):
    weights = bert(rng, 3)
    return [convert_bert_layer(weights, int(i)) for i in rng.permutation(3)]


@convert_bert_layer.case(title='names that begin with "bert."', points=2)
def convert_prefixed(convert_bert_layer, rng):
    weights = bert(rng, 2, prefix="bert.")
    weights["cls.predictions.bias"] = tensor(rng, 9)
    return convert_bert_layer(weights, int(rng.integers(2)))


@convert_bert_layer.case(title="layers 1 and 11 of twelve", points=1)
def convert_twelve(convert_bert_layer, rng):
    weights = bert(rng, 12, width=3, inner=4)
    return convert_bert_layer(weights, 1), convert_bert_layer(weights, 11)


@convert_bert_layer.case(title="inner width equal to the outer one", points=1)
def convert_square(convert_bert_layer, rng):
    return convert_bert_layer(bert(rng, 2, width=4, inner=4), 1)


@convert_bert_layer.case(title="torch's layer takes the weights and computes", points=2)
def convert_runs(convert_bert_layer, rng):
    layer = nn.TransformerEncoderLayer(6, 2, 10, 0.0, "gelu", 1e-12, batch_first=True)
    layer.double().load_state_dict(convert_bert_layer(bert(rng, 2), 1))
    x, mask = tensor(rng, 2, 5, 6), padded(rng, "xxx..", "xxxxx")
    return layer(x, src_key_padding_mask=~mask)


@convert_bert_layer.case(title="the published weights are left unchanged", points=1)
def convert_unchanged(convert_bert_layer, rng):
    weights = bert(rng, 2)
    return convert_bert_layer(weights, 0), weights


# mean_pool


@mean_pool.case(title="three texts of different length", points=2)
def pool_padded(mean_pool, rng):
    return mean_pool(tensor(rng, 3, 5, 4), padded(rng, "xx...", "xxx..", "xxxxx"))


@mean_pool.case(title="padding in front, and between", points=1)
def pool_holes(mean_pool, rng):
    mask = torch.from_numpy(rng.random((4, 6)) < 0.5)
    mask[:, 0], mask[:, 3], mask[:, 4] = False, True, False
    return mean_pool(tensor(rng, 4, 6, 3), mask)


@mean_pool.case(title="large numbers at the padding", points=1)
def pool_large_padding(mean_pool, rng):
    hidden, mask = tensor(rng, 2, 6, 5), padded(rng, "xx....", "xxxx..")
    hidden[~mask] *= 1e3
    return mean_pool(hidden, mask)


@mean_pool.case(title="nothing but real tokens, and a single one", points=1)
def pool_no_padding(mean_pool, rng):
    real = torch.ones(2, 7, dtype=torch.bool)
    return (
        mean_pool(tensor(rng, 2, 7, 3), real),
        mean_pool(tensor(rng, 2, 1, 5), real[:, :1]),
    )


@mean_pool.case(title="as many texts as tokens as features", points=1)
def pool_cube(mean_pool, rng):
    return mean_pool(tensor(rng, 4, 4, 4), padded(rng, "x...", "xx..", "xxx.", "xxxx"))


@mean_pool.case(title="a text without any token gives zeros", points=1)
def pool_empty(mean_pool, rng):
    mask = padded(rng, "xx..", "xxx.", "xxxx")
    mask[1] = False
    return mean_pool(tensor(rng, 3, 4, 5), mask)


@mean_pool.case(title="strided inputs are read and left unchanged", points=1)
def pool_unchanged(mean_pool, rng):
    hidden, mask = (
        strided(tensor(rng, 3, 5, 4)),
        padded(rng, "x.....", "xxx...", "xxxx..")[:, 1:],
    )
    return mean_pool(hidden, mask), hidden, mask


# embed


class TinyModel(nn.Module):
    """Token vectors that depend on the whole text, and never on its padding."""

    def __init__(self, rng, width=5):
        super().__init__()
        self.table = tensor(rng, len(WORDS) + 2, width)
        self.positions = tensor(rng, 40, width)

    def forward(self, ids, mask):
        """(B, N), (B, N) -> (B, N, width)."""
        x = self.table[ids] + self.positions[: ids.shape[1]]
        context = x.masked_fill(~mask.unsqueeze(-1), -9.0).amax(dim=1, keepdim=True)
        return torch.tanh(0.7 * x + 0.5 * context)


def tokenizer_of(padding):
    """Ids of words after a start token; filled up with the id of a real word."""

    def tokenizer(texts):
        if isinstance(texts, str):
            raise TypeError("the tokenizer takes a list of texts, and got one text")
        rows = [
            [0, *(WORDS.index(word) + 1 for word in text.split())] for text in texts
        ]
        longest = max(len(row) for row in rows)
        ids = [row + [padding] * (longest - len(row)) for row in rows]
        mask = [[n < len(row) for n in range(longest)] for row in rows]
        return torch.tensor(ids), torch.tensor(mask)

    return tokenizer


def used_by(texts):
    """The id of a word in one of the texts."""
    return WORDS.index(texts[0].split()[0]) + 1


def sentences(rng, lengths):
    """Texts of these numbers of words."""
    return [" ".join(rng.choice(WORDS, int(length))) for length in lengths]


@embed.case(title="four texts of different length", points=2)
def embed_texts(embed, rng):
    texts = sentences(rng, rng.permutation([2, 3, 6, 9]))
    return embed(texts, tokenizer_of(used_by(texts)), TinyModel(rng))


@embed.case(title="texts alone and in a batch", points=1)
def embed_alone(embed, rng):
    texts, model = sentences(rng, [1, 7, 4]), TinyModel(rng, 4)
    tokenizer = tokenizer_of(used_by(texts))
    alone = [embed([text], tokenizer, model) for text in texts]
    return embed(texts, tokenizer, model), alone


@embed.case(title="the same text twice, and the order of the texts", points=1)
def embed_order(embed, rng):
    first, second, third = sentences(rng, [5, 2, 8])
    texts = [third, first, third, second]
    vectors = embed(texts, tokenizer_of(used_by(texts)), TinyModel(rng, 3))
    after = {f"`texts[{n}]` after the call": text for n, text in enumerate(texts)}
    return {"vectors": vectors, **after}


@embed.case(title="texts of equal length, and no gradient is kept", points=1)
def embed_equal(embed, rng):
    model = TinyModel(rng, 6)
    model.table.requires_grad_()
    vectors = embed(sentences(rng, [4, 4, 4]), tokenizer_of(0), model)
    kept = getattr(vectors, "requires_grad", False)
    return {"vectors": vectors, "a gradient is kept": kept}


@embed.case(title="one long text among short ones", points=1)
def embed_long(embed, rng):
    texts = sentences(rng, [1, 30, 2])
    return embed(texts, tokenizer_of(used_by(texts)), TinyModel(rng))


# search


def with_extremes(rng, query, corpus):
    """The same corpus with a match that is far away, and an opposite that is near."""
    match, opposite = rng.choice(len(corpus), 2, replace=False)
    direction = query / query.norm()
    corpus[int(match)] = 60 * (direction + 0.1 * tensor(rng, len(query)))
    corpus[int(opposite)] = -0.5 * (direction + 0.1 * tensor(rng, len(query)))
    return corpus


def corpus_of(rng, count, width):
    """Vectors of very different lengths."""
    lengths = torch.from_numpy(rng.uniform(0.2, 5, (count, 1)))
    return lengths * tensor(rng, count, width)


@search.case(title="the three best of nine, of different lengths", points=2)
def search_three(search, rng):
    query = 3 * tensor(rng, 5)
    return search(query, with_extremes(rng, query, corpus_of(rng, 9, 5)), 3)


@search.case(title="all of them in order, the worst last", points=1)
def search_all(search, rng):
    return search(0.2 * tensor(rng, 4), corpus_of(rng, 7, 4), 7)


@search.case(title="the single best of many", points=1)
def search_one(search, rng):
    query, corpus = tensor(rng, 4, 3), corpus_of(rng, 60, 3)
    corpus[rng.choice(60, 4, replace=False)] = -2 * query  # opposites
    return [search(one, corpus, 1) for one in query]


@search.case(title="nothing points the same way as the query", points=1)
def search_opposite(search, rng):
    query = tensor(rng, 6)
    corpus = corpus_of(rng, 8, 6)
    corpus = torch.where((corpus @ query > 0)[:, None], -corpus, corpus)
    return search(query, corpus, 4)


@search.case(title="as many vectors as features", points=1)
def search_square(search, rng):
    query = 2 * tensor(rng, 5)
    return search(query, with_extremes(rng, query, corpus_of(rng, 5, 5)), 4)


@search.case(title="strided inputs are read and left unchanged", points=1)
def search_unchanged(search, rng):
    query = 4 * tensor(rng, 8)[::2]
    corpus = strided(with_extremes(rng, query, corpus_of(rng, 7, 4)))
    indices, scores = search(query, corpus, 5)
    return indices, scores, query, corpus


# break_search -------------------------------------------------------------------------


def more_than_there_are(query, corpus, k):
    """Refuse a k for which there is no answer."""
    return "`k` may be M at most" if k > len(corpus) else ""


break_search = BreakExercise(
    name="break_search",
    target=search,
    parameters=[reals("query", "D"), reals("corpus", "M D"), whole("k", 1, 64)],
    make=torch.tensor,
    rule=more_than_there_are,
)
break_search.version("right where no vector points away from the query")
break_search.version("right where all vectors have equal norms")
break_search.version("right where the best matches are in the order of the corpus")
break_search.version("right where k is less than M")
break_search.small(most=4, points=2)
