"""What a cell of a page printed, drew, returned or stopped with, as HTML.

Everything that a reader's code made is text or a picture here, so that no code gets
into the page.
"""

from __future__ import annotations

import base64
import html
import io
import sys
import traceback
from typing import Any

MAX_PRINTED = 20_000  # characters; a loop that prints would fill the page


class Printed(io.StringIO):
    """Keeps what was printed, up to a length."""

    def write(self, text: str) -> int:
        """Keep what there is room for."""
        room = MAX_PRINTED - self.tell()
        if room > 0:
            super().write(text[:room])
        self.cut = len(text) > room
        return len(text)

    def as_html(self) -> str:
        """HTML of what was printed; empty if nothing was."""
        text = self.getvalue()
        if getattr(self, "cut", False):
            text += "\n… and more, which is not shown"
        return f"<pre>{html.escape(text)}</pre>" if text else ""


def figures() -> str:
    """HTML of the figures that a cell drew; they are closed."""
    if "matplotlib.pyplot" not in sys.modules:
        return ""
    import matplotlib.pyplot as plt

    page = ""
    for number in plt.get_fignums():
        buffer = io.BytesIO()
        plt.figure(number).savefig(buffer, format="png")
        data = base64.b64encode(buffer.getvalue()).decode("ascii")
        page += f'<img alt="What this cell draws." src="data:image/png;base64,{data}">'
    plt.close("all")
    return page


def value(last: Any) -> str:
    """HTML of the value of the last line of a cell."""
    if last is None:
        return ""
    return f"<pre>{html.escape(repr(last)[:MAX_PRINTED])}</pre>"


def error(stopped: BaseException) -> str:
    """HTML of an error: where in the reader's cells, and what it says."""
    told = traceback.TracebackException.from_exception(stopped, limit=-20)
    own = [frame for frame in told.stack if frame.filename.startswith("<cell ")]
    told.stack = traceback.StackSummary.from_list(own)
    told.__cause__ = told.__context__ = None
    text = "".join(told.format())
    if isinstance(stopped, ModuleNotFoundError):
        text += "The page has NumPy and matplotlib; the notebook has everything.\n"
    return f"<pre class='in-page-error'>{html.escape(text)}</pre>"
