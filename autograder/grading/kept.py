"""Keep those cells and outputs of a submission that are small and safe to show.

nbgrader's own commands show it later, for the whole class in one process. So nothing is
kept that takes them more time than its length: nbconvert's regular expressions for
colouring code and rewriting links take quadratic time on long lines and runs of blanks.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from nbformat import NotebookNode

from autograder.judge import Report
from autograder.show import as_html, as_text
from autograder.submissions.cells import grade_id_of
from autograder.submissions.completed import Shown

KEPT_TEXT = 20_000  # characters of one output
KEPT_OUTPUTS = 100  # outputs of one cell
KEPT_SOURCE = 30_000  # characters of one cell
KEPT_TOTAL = 3_000_000  # bytes of all that a student wrote, in the kept notebook
KEPT_PIXELS = 25_000_000  # of all pictures together
KEPT_NOTES = 30
KEPT_NOTE = 400  # characters of one note
FOLDED = 200  # characters of a line of text
_NOT_SHOWN = "\n\n(A picture of another type than PNG, or a large one, is not shown.)"
_END = "\n[cut]"
# Terminal escapes; then control characters and those that change the reading direction.
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
COLOURED = 60_000  # characters of code that are coloured; the rest is shown plain
LONG_LINE = 400  # characters; code with a longer line is shown plain
_LONG_BLANK = re.compile(r"\s{100}")
_MARKUP = re.compile(r"[^\w\s.,;:()/-]|_")  # what may be some in HTML or Markdown


def kept_notebook(
    master: NotebookNode, shown: Sequence[Shown], reports: Sequence[Report]
) -> NotebookNode:
    """A completed notebook with texts and outputs that are small and safe to show.

    Args:
        master: the notebook as it was released to students.
        shown: from ``completed``.
        reports: on the exercises; they stand where these are checked.
    """
    checks = {f"check-{report.name}": report for report in reports}
    room, pixels, colours = KEPT_TOTAL, KEPT_PIXELS, COLOURED
    kept: list[NotebookNode] = []
    texts = {cell.source.strip() for cell in master.cells}
    for number, (cell, released, outputs) in enumerate(shown):
        metadata = deepcopy(released.metadata) if released else NotebookNode()
        source, attachments = cell.source, {}
        is_own = source.strip() not in texts
        if is_own:
            source = _cut(
                _CONTROLS.sub("\ufffd", source[: 2 * KEPT_SOURCE]), KEPT_SOURCE
            )
            if not cell.is_code:
                source = _word_for_word(source)
            room -= len(json.dumps(source)) + 300
            source = source if room >= 0 else "[cut]"
        for kind, data in cell.pictures:
            picture = _png(data) if kind == "image/png" else None
            if picture and len(picture) <= room and _pixels(picture) <= pixels:
                room, pixels = room - len(picture), pixels - _pixels(picture)
                name = f"picture-{len(attachments) + 1}.png"
                attachments[name] = {"image/png": picture}
                source += f"\n\n![{name}](attachment:{name})"
            elif room >= 0:
                room -= len(_NOT_SHOWN)
                source += _NOT_SHOWN
        node = NotebookNode(
            id=f"cell-{number}", cell_type="markdown", metadata=metadata, source=source
        )
        kept.append(node)
        if not cell.is_code:
            if attachments:
                node.attachments = attachments
            continue
        node.update(cell_type="code", execution_count=None, outputs=[])
        if is_own:
            colours -= len(source)
            if colours < 0 or not _can_be_coloured(source):
                metadata["magics_language"] = "text"  # nbconvert: no colours
        name = grade_id_of(released) if released else None
        if name in checks:
            node.outputs = _report_outputs(checks[name])
            continue
        for output in outputs:
            size = len(json.dumps(output)) + 100
            drawn = _pixels(output.get("data", {}).get("image/png"))
            if size <= room and drawn <= pixels:
                node.outputs.append(output)
                room -= size
                pixels -= drawn
    return NotebookNode(
        cells=kept, metadata=master.metadata, nbformat=4, nbformat_minor=5
    )


def _word_for_word(text: str) -> str:
    """Markdown that shows a text as it is: an indented block runs and loads nothing.

    Long lines are folded: rewriting links in a page takes quadratic time in the length
    of a line.
    """
    return "\n".join(
        "    " + line[start : start + FOLDED]
        for line in text.splitlines()
        for start in range(0, max(1, len(line)), FOLDED)
    )


def with_notes(notebook: NotebookNode, notes: Sequence[str]) -> NotebookNode:
    """A kept notebook with the notes of its report in a cell at the head, if any.

    Args:
        notebook: from ``kept_notebook``.
        notes: in which names and errors of the student occur.
    """
    if not notes:
        return notebook
    shown = [f"<li>{_escaped(note)}</li>" for note in notes[:KEPT_NOTES]]
    if len(notes) > KEPT_NOTES:
        shown.append(f"<li>and {len(notes) - KEPT_NOTES} more</li>")
    # Markdown leaves a block of HTML alone up to the first empty line.
    lines = [
        '<div class="tex2jax_ignore mathjax_ignore" style="overflow-wrap: anywhere">',
        "<strong>Notes on your notebook</strong>",
        *("<ul>", *shown, "</ul>", "</div>"),
    ]
    head = NotebookNode(
        cell_type="markdown",
        id="notes",
        metadata=NotebookNode(),
        source="\n".join(lines),
    )
    return NotebookNode(notebook, cells=[head, *notebook.cells])


def _escaped(note: str) -> str:
    """One line of text that neither HTML nor Markdown nor MathJax reads as markup."""
    line = " ".join(_cut(note, KEPT_NOTE).split())
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", line)


def _can_be_coloured(source: str) -> bool:
    """Whether colouring takes time in proportion to the length, as for usual code.

    A cell magic would choose another language, with expressions of its own.
    """
    return (
        "%%" not in source
        and max(map(len, source.split("\n"))) <= LONG_LINE
        and not _LONG_BLANK.search(source)
    )


def _report_outputs(report: Report) -> list[NotebookNode]:
    # What a student's exception says is no formula.
    page = f'<div class="tex2jax_ignore mathjax_ignore">{as_html(report)}</div>'
    table = {"text/html": page, "text/plain": as_text(report)}
    return [
        _output("display_data", data=table, metadata={}),
        _output(
            "execute_result",
            data={"text/plain": f"{report.score:g}"},
            metadata={},
            execution_count=None,
        ),
    ]


def add_stream(outputs: list[NotebookNode], name: str, text: str) -> None:
    """Add what a cell has printed to those of its outputs that are kept."""
    if len(outputs) >= KEPT_OUTPUTS:
        return
    text = _cut(text)
    last = outputs[-1] if outputs else None
    if last and last.output_type == "stream" and last.name == name:
        if len(last.text) <= KEPT_TEXT:  # each part is cleaned and cut once
            last.text = _shortened(last.text + text, KEPT_TEXT)
    else:
        outputs.append(_output("stream", name=name, text=text))


def add_error(
    outputs: list[NotebookNode], name: str, said: str, traceback: str
) -> None:
    """Add an error to those outputs of a cell that are kept."""
    if len(outputs) < KEPT_OUTPUTS:
        texts = {"ename": _cut(name, 200), "evalue": _cut(said, 1000)}
        outputs.append(_output("error", traceback=[_cut(traceback)], **texts))


def add_display(outputs: list[NotebookNode], text: str, picture: str) -> None:
    """Add text, a picture or both to those outputs of a cell that are kept."""
    shown = {"text/plain": _cut(text), "image/png": _png(picture)}
    data = {kind: value for kind, value in shown.items() if value}
    if data and len(outputs) < KEPT_OUTPUTS:
        outputs.append(_output("display_data", data=data, metadata={}))


def _output(kind: str, **fields: Any) -> NotebookNode:
    """As ``nbformat.v4.new_output``, which would validate it, slowly."""
    return NotebookNode(output_type=kind, **fields)


def _png(data: Any) -> str | None:
    """The base64 text of a PNG picture of moderate size; ``None`` if it is none."""
    if not isinstance(data, str):
        return None
    try:
        raw = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    if raw[:16] != b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR":
        return None
    kept = base64.b64encode(raw).decode("ascii")
    return kept if 0 < _pixels(kept) <= KEPT_PIXELS else None


def _pixels(picture: str | None) -> int:
    """How many a picture that was kept has."""
    head = base64.b64decode(picture[:32]) if picture else bytes(24)
    return int.from_bytes(head[16:20]) * int.from_bytes(head[20:24])


def _cut(text: str, length: int = KEPT_TEXT) -> str:
    """Text without control characters, cut to ``length`` characters."""
    text = _shortened(text, length)
    text = _CONTROLS.sub("", _ESCAPES.sub("", text))
    return text.encode("utf-8", "replace").decode("utf-8")


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length + len(_END) else text[:length] + _END
