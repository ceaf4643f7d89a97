"""Tables as files: read strictly, and written so that a spreadsheet runs nothing.

Faults in what a person or another program wrote are reported cell by cell, and a table
with a fault is not used at all.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.errors import AutograderError
from autograder.files import plain_file, printable, write_atomically

MAX_TABLE = 64 * 2**20  # bytes
MAX_TOLD = 50  # problems
_DELIMITERS = ",;\t"
# With a point or a comma; three digits behind that may be thousands.
_NUMBER = re.compile(r"(\d+)(?:\.(\d+)|,(\d{1,2}))?")
# Where a formula may begin: also after what some countries' spreadsheets take for the
# end of a cell.
_FORMULA = re.compile(r"""((?:^|[;\t\r\n])[\s"]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])""")


class BadTable(AutograderError):
    """A table cannot be used as a whole; the message has one line for each problem."""

    def __init__(self, path: Path, problems: Sequence[str]) -> None:
        self.lines = list(problems[:MAX_TOLD])
        if len(problems) > MAX_TOLD:
            self.lines.append(f"and {len(problems) - MAX_TOLD} more")
        what = "problem" if len(problems) == 1 else "problems"
        super().__init__(
            f"{path}: {len(problems)} {what}, so nothing of it was taken over"
        )


@dataclass(frozen=True)
class Row:
    """A line of a table: its number in a spreadsheet, and its cells by column."""

    number: int
    cells: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")


@dataclass
class Table:
    """A table with a header, and the problems that were found in it.

    Attributes:
        path: where it was read.
        columns: the names in the header, as they were written.
        rows: all lines that hold anything.
        problems: the number of the row, and a line, for each.
    """

    path: Path
    columns: list[str]
    rows: list[Row]
    problems: list[tuple[int, str]] = field(default_factory=list)

    def problem(self, row: Row | int, column: str, what: str) -> None:
        """Note what is wrong with a cell."""
        number = row if isinstance(row, int) else row.number
        where = f"row {number}, column {column}" if column else f"row {number}"
        self.problems.append((number, f"{where}: {printable(what)}"))

    def unique(self, column: str) -> Iterator[Row]:
        """The rows, of which those that repeat a value in a column are a problem."""
        first: dict[str, int] = {}
        for row in self.rows:
            value = row[column].casefold()
            if value and first.setdefault(value, row.number) != row.number:
                what = f"{row[column]!r} stands in row {first[value]} as well"
                self.problem(row, column, what)
            yield row

    def require_sound(self) -> None:
        """Go on only if nothing is wrong.

        Raises:
            BadTable: something is.
        """
        if self.problems:
            in_order = sorted(self.problems, key=lambda problem: problem[0])
            raise BadTable(self.path, [text for _, text in in_order])


def read_table(path: Path) -> Table:
    """Read a CSV file with a header.

    Commas, semicolons or tabs may part the cells, as spreadsheets of different
    countries write them.

    Raises:
        Unusable: it is no file that can be read.
        BadTable: it is no text, or its lines do not fit the header.
    """
    text = _text(plain_file(path, MAX_TABLE, follow=True), path)
    head = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    longest = csv.field_size_limit(MAX_TABLE)  # an online text may stand in a cell
    try:
        lines = [
            (number, [cell.strip() for cell in cells])
            for number, cells in enumerate(reader, start=1)
            if any(cell.strip() for cell in cells)
        ]
    except csv.Error as error:
        raise BadTable(path, [f"row {reader.line_num}: {error}"]) from None
    finally:
        csv.field_size_limit(longest)
    if not lines:
        raise BadTable(path, ["row 1: it is empty; the first row names the columns"])
    _, columns = lines[0]
    table = Table(path, columns, [])
    for name in sorted({name for name in columns if name and columns.count(name) > 1}):
        table.problem(lines[0][0], name, "two columns have this name")
    for number, cells in lines[1:]:
        if len(cells) > len(columns) and any(cells[len(columns) :]):
            what = f"{len(cells)} cells, but the header has {len(columns)}"
            table.problem(number, "", what)
        table.rows.append(Row(number, dict(zip(columns, cells, strict=False))))
    return table


def _text(content: bytes, path: Path) -> str:
    """What a file in UTF-8 says."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
        raise BadTable(
            path,
            [f"row {row}: it is not in UTF-8; save it as “CSV UTF-8” and try again"],
        ) from None


def number_in(text: str) -> float | None:
    """A number from 0 on as systems of any country write it; None if it is none."""
    found = _NUMBER.fullmatch(text)
    return float(f"{found[1]}.{found[2] or found[3] or 0}") if found else None


def write_csv(path: Path, header: list[str], rows: Iterable[list[Any]]) -> None:
    """A CSV file that no spreadsheet takes for formulas; half of one is never there."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows([cell_of(value) for value in row] for row in rows)
    write_atomically(path, text.getvalue())


class Kept(str):
    """A text that goes back as it came: what guards a spreadsheet would change it."""


def cell_of(value: Any) -> Any:
    """Whole numbers without a point, text in plain characters without formulas."""
    if isinstance(value, Kept):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str) or value == "-":  # which systems write for nothing
        return value
    return _FORMULA.sub(r"\1'", printable(value))
