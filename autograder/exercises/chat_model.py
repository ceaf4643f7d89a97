"""Cases for the chapter on a published chat model, none of which needs its weights."""

import numpy as np

from autograder.arrays import noted
from autograder.exercise import Exercise

dequantise = Exercise(
    "dequantise",
    hints=(
        "Write the byte 0xA3 in binary. Which four bits are the code of weight j, and "
        "which are the code of weight j + 16?",
        "`codes & 15` keeps the lower four bits and `codes >> 4` the upper four. Along "
        "which axis do the two halves of a block have to be joined?",
        "A scale is shared by the 32 weights of its block: it needs one more axis, of "
        "size 1, and float32 before the product.",
    ),
)
halves_from_neighbours = Exercise(
    "halves_from_neighbours",
    hints=(
        "Number the rows of one head with d = 6. In which order do they have to be "
        "afterwards?",
        "A reshape can give pair and member an axis each. Which two axes change places "
        "between `0 1 2 3 4 5` and `0 2 4 1 3 5`?",
    ),
)
chat_prompt = Exercise(
    "chat_prompt",
    hints=(
        "Write down the prompt for a single message by hand, with every line break. "
        "How many are there?",
        "Every message has the same form, even the assistant's answers. What makes "
        "the model begin a new answer?",
    ),
)
generate = Exercise(
    "generate",
    hints=(
        "Which row of the logits of the prompt says what comes next?",
        "The model remembers what it was given. What is new to it after the first id?",
        "Where in the loop do you know that no further call of `forward` is needed?",
    ),
)


def drawn(rng, low, high):
    """A whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


# dequantise

BLOCK = np.dtype([("scale", "<f2"), ("offset", "<f2"), ("codes", "u1", (16,))])


def blocks_of(rng, *shape):
    """Random blocks; scales and offsets are of a size that weights have."""
    blocks = np.zeros(shape, BLOCK)
    blocks["scale"] = rng.uniform(0.1, 0.3, shape)
    blocks["offset"] = rng.uniform(-2, -1, shape)
    blocks["codes"] = rng.integers(256, size=(*shape, 16))
    return blocks


@dequantise.case(title="a few blocks in a row", points=2)
def dequantise_row(dequantise, rng):
    return dequantise(blocks_of(rng, drawn(rng, 3, 6)))


@dequantise.case(title="a matrix with three blocks in a row", points=2)
def dequantise_matrix(dequantise, rng):
    return dequantise(blocks_of(rng, drawn(rng, 4, 7), 3))


@dequantise.case(title="sums that float16 would round", points=1)
def dequantise_large(dequantise, rng):
    blocks = blocks_of(rng, 4)
    blocks["offset"] = rng.uniform(8, 12, 4)
    return dequantise(blocks) - blocks["offset"].astype(float).repeat(32)


# halves_from_neighbours


@halves_from_neighbours.case(title="three heads of eight rows", points=2)
def halves_three(halves_from_neighbours, rng):
    return halves_from_neighbours(rng.standard_normal((24, drawn(rng, 5, 7))), 3)


@halves_from_neighbours.case(title="heads of six rows, in a square matrix", points=1)
def halves_square(halves_from_neighbours, rng):
    return halves_from_neighbours(rng.standard_normal((12, 12)), 2)


@halves_from_neighbours.case(title="a single head", points=1)
def halves_one(halves_from_neighbours, rng):
    rows = 2 * drawn(rng, 4, 6)
    return halves_from_neighbours(rng.standard_normal((rows, 5)), 1)


# chat_prompt

WORDS = ["what", "is", "left", "of", "seven", "small", "rivers", "today"]
TOKENS = {"start": "<|im_start|>", "end": "<|im_end|>"}


def words(rng):
    """A short text."""
    return " ".join(rng.permutation(WORDS)[: drawn(rng, 2, 5)])


@chat_prompt.case(title="a question", points=1)
def prompt_question(chat_prompt, rng):
    return chat_prompt([("user", words(rng))], TOKENS)


@chat_prompt.case(title="a system message and a question", points=2)
def prompt_system(chat_prompt, rng):
    return chat_prompt([("system", words(rng)), ("user", words(rng))], TOKENS)


@chat_prompt.case(title="a second question, after an answer", points=2)
def prompt_answered(chat_prompt, rng):
    roles = ("system", "user", "assistant", "user")
    return chat_prompt([(role, words(rng)) for role in roles], TOKENS)


@chat_prompt.case(title="other special tokens, a text of two lines", points=1)
def prompt_lines(chat_prompt, rng):
    special = {"start": "[TURN]", "end": "[/TURN]"}
    return chat_prompt([("user", f" {words(rng)}\n\n{words(rng)}\n")], special)


# generate

V = 40


def small_model(rng):
    """A function ``forward`` with a memory, the ids of each call, and a prompt.

    The next id depends on all ids so far and on how many they are.
    """
    table, ticks = rng.standard_normal((V, V)), 2 * rng.standard_normal((17, V))
    seen = []

    def forward(ids):
        rows = []
        for new in ids:
            seen.append(int(new))
            ages = 0.8 ** np.arange(len(seen))[::-1]
            rows.append(ages @ table[seen] + ticks[len(seen) % 17])
        return np.array(rows)

    forward, calls = noted(forward, lambda ids: [int(new) for new in ids])
    return forward, calls, [int(i) for i in rng.integers(V, size=4)]


NEVER = V  # the id of no token


def largest(logits):
    return int(np.argmax(logits))


def reached(rng):
    """A model whose greedy continuation reaches an id in a few steps, and that id."""
    while True:
        state = rng.bit_generator.state
        forward, _, prompt = small_model(rng)
        found, new = [], prompt
        for _ in range(6):
            found.append(largest(forward(new)[-1]))
            new = found[-1:]
        if found.index(found[-1]) >= 3:
            rng.bit_generator.state = state
            return *small_model(rng), found[-1]


@generate.case(title="as many ids as asked for", points=2)
def generate_all(generate, rng):
    forward, _, prompt = small_model(rng)
    return generate(forward, prompt, NEVER, drawn(rng, 5, 7), largest)


@generate.case(title="the end comes first", points=2)
def generate_end(generate, rng):
    forward, _, prompt, end = reached(rng)
    return generate(forward, prompt, end, 20, largest)


@generate.case(title="the end is the very first id", points=1)
def generate_nothing(generate, rng):
    forward, _, prompt = small_model(rng)
    return generate(forward, prompt, 3, drawn(rng, 4, 6), lambda logits: 3)


@generate.case(title="not always the largest logit is chosen", points=1)
def generate_other(generate, rng):
    forward, _, prompt = small_model(rng)

    def second(logits):
        return int(np.argsort(logits)[-2])

    return generate(forward, prompt, NEVER, drawn(rng, 5, 7), second)


@generate.case(title="what each call of the model is given", points=2)
def generate_calls(generate, rng):
    forward, calls, prompt, end = reached(rng)
    found = {"ids": generate(forward, prompt, end, 20, largest)}
    for number, ids in enumerate(calls, start=1):
        found[f"the ids of call {number}"] = " ".join(map(str, ids))
    return found


@generate.case(title="no call after the last of four ids", points=1)
def generate_no_waste(generate, rng):
    forward, calls, prompt = small_model(rng)
    ids = generate(forward, prompt, NEVER, 4, largest)
    return {"ids": ids, "number of calls": len(calls)}
