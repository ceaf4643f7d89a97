"""Which of several copies of a notebook somebody has worked in."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from autograder.files import Inaccessible, Unusable, plain_file
from autograder.notebooks import MAX_FILE_BYTES, is_untouched, parse_notebook

MOST_COPIES = 3  # that are read to find work in them


def worked_in(best: Path, copies: Iterable[Path]) -> Path:
    """The best named notebook, or the first copy with work in it if that is blank.

    Raises:
        Inaccessible: this machine could not read one of them.
    """
    some = list(islice(copies, MOST_COPIES))
    if not some or not _is_blank(best):
        return best
    return next((copy for copy in some if not _is_blank(copy)), best)


def _is_blank(path: Path) -> bool:
    """Whether all exercises of a notebook are as they were released."""
    try:
        return is_untouched(parse_notebook(plain_file(path, MAX_FILE_BYTES)))
    except Inaccessible:
        raise
    except Unusable:
        return False
