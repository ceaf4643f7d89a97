"""A corpus that every Python brings: the part of its manual behind ``help()``.

The texts of ``pydoc_data.topics`` differ from one version of Python to the next, and
so does all that is counted in them or learned from them.
"""

from __future__ import annotations

from collections.abc import Mapping

BLOCK = 20  # paragraphs
HELD_OUT = 10  # one block in this many is held out


def manual(topics: Mapping[str, str] | None = None) -> tuple[str, str]:
    """The manual's text for training, and the text that is held out.

    Many paragraphs belong to several topics. Each is taken once, or the text that is
    held out would contain much of what a model was trained on. Of ten blocks of
    paragraphs, the last is held out.

    Args:
        topics: texts by name, ``pydoc_data.topics`` if None.

    Returns:
        Both texts, with an empty line between paragraphs. No paragraph is in both.
    """
    if topics is None:
        from pydoc_data.topics import topics
    found = dict.fromkeys(
        paragraph.strip("\n")
        for name in sorted(topics)
        for paragraph in topics[name].split("\n\n")
    )
    texts: tuple[list[str], list[str]] = [], []
    for number, paragraph in enumerate(p for p in found if p.strip()):
        held_out = number // BLOCK % HELD_OUT == HELD_OUT - 1
        texts[held_out].append(paragraph)
    training, testing = ("\n\n".join(part) + "\n" for part in texts)
    return training, testing
