"""Reads and writes the CSV tables of `smemreuse pack`; the columns are minimalloc's."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from smemreuse.errors import InputError

REQUIRED = ("id", "lower", "upper", "size")
ALIGNMENT, OFFSET = "alignment", "offset"
LARGEST = 2**62
"""Bytes, or positions: sums of sizes stay in what other tools can read."""


@dataclass(frozen=True)
class Table:
    """The rows as they were written, and what they mean, row by row."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    ids: Sequence[str]
    sizes: Sequence[int]
    alignments: Sequence[int]
    intervals: Sequence[tuple[int, int]]


def read_table(file: str) -> Table:
    """Raises `InputError` with the line for what cannot be read."""
    reader = csv.reader(io.StringIO(_text(file), newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        lines = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=file, line=reader.line_num) from None
    _check_header(header, file)
    rows = [_CsvRow(header, row, file, line) for line, row in lines]
    ids: dict[str, int] = {}
    for row in rows:
        first = ids.setdefault(row.text("id"), row.line)
        if first != row.line:
            raise row.error(f"the id {row.text('id')!r} is that of line {first} too; rename one")
    return Table(
        header,
        [row.fields for row in rows],
        list(ids),
        [row.number("size") for row in rows],
        [row.alignment() for row in rows],
        [row.interval() for row in rows],
    )


def table_text(table: Table, offsets: Sequence[int]) -> str:
    """The table as CSV with an `offset` column."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    kept = [index for index, name in enumerate(table.header) if name != OFFSET]
    writer.writerow([*(table.header[index] for index in kept), OFFSET])
    for row, offset in zip(table.rows, offsets, strict=True):
        writer.writerow([*(row[index] for index in kept), offset])
    return stream.getvalue()


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text; give a CSV table", file=file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=file) from None


def _check_header(header: Sequence[str], file: str) -> None:
    missing = [name for name in REQUIRED if name not in header]
    if missing:
        raise InputError(
            f"no column {', '.join(missing)}; the first line names the columns "
            "id,lower,upper,size[,alignment]",
            file=file,
            line=1,
        )
    for name in header:
        if header.count(name) > 1:
            raise InputError(f"two columns are called {name!r}; rename one", file=file, line=1)


class _CsvRow:
    def __init__(self, header: Sequence[str], fields: Sequence[str], file: str, line: int):
        self.fields, self.line, self._file = fields, line, file
        if len(fields) != len(header):
            raise self.error(f"{len(fields)} fields for {len(header)} columns; add or remove some")
        self._by_name = dict(zip(header, fields, strict=True))

    def error(self, message: str) -> InputError:
        return InputError(message, file=self._file, line=self.line)

    def text(self, name: str) -> str:
        return self._by_name[name].strip()

    def number(self, name: str, least: int = 0) -> int:
        text = self.text(name)
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 30:
            shown = text if len(text) <= 40 else text[:37] + "..."
            raise self.error(f"{name} is {shown!r}; write a whole number")
        value = int(text)
        if not least <= value <= LARGEST:
            raise self.error(f"{name} is {value}; it must be {least} to {LARGEST}")
        return value

    def alignment(self) -> int:
        if not self._by_name.get(ALIGNMENT, "").strip():
            return 1
        return self.number(ALIGNMENT, least=1)

    def interval(self) -> tuple[int, int]:
        lower, upper = self.number("lower", -LARGEST), self.number("upper", -LARGEST)
        if upper < lower:
            raise self.error(f"upper is {upper}, before lower {lower}; swap them")
        return lower, upper
