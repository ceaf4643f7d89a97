"""Fonts with the characters that pages use, and no others."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable
from pathlib import Path

from fontTools import subset

# Sphinx prints the log of every library, including fontTools' note on each table that
# it shrinks.
logging.getLogger("fontTools").setLevel(logging.WARNING)


def subset_font(file: Path, characters: Iterable[str]) -> bytes:
    """A font, as WOFF, that draws only some of the characters that it could.

    Args:
        file: the whole font: TrueType, OpenType or WOFF.
        characters: those that it is asked for; it need not have all of them.
    """
    options = subset.Options(flavor="woff", layout_features=[], hinting=False)
    options.drop_tables += ["FFTM"]  # when FontForge saved it
    font = subset.load_font(str(file), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes={ord(character) for character in characters})
    subsetter.subset(font)
    written = io.BytesIO()
    subset.save_font(font, written, options)
    return written.getvalue()
