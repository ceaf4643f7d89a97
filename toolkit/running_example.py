"""The running example of the book: six words, each with four features."""

FEATURES = ("person", "finance", "water", "action")
VECTORS = {  # (D,) = (4,) of each word; either noun may be the last word
    "she": (2.0, 0.0, 0.0, 0.0),
    "visits": (0.0, 0.0, 0.0, 2.0),
    "the": (0.0, 0.0, 0.0, 0.0),
    "bank": (0.0, 1.0, 1.0, 0.0),
    "for": (0.0, 0.0, 0.0, 0.0),
    "money": (0.0, 3.0, 0.0, 0.0),
    "river": (0.0, 0.0, 3.0, 0.0),
}
WORDS = ("she", "visits", "the", "bank", "for", "money")
