"""What kernels are called, and counted, where several are shown together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from smemreuse.errors import printable
from smemreuse.results.words import occurrences


def numbered(names: Sequence[str]) -> list[str]:
    """The names; those that occur several times with a number, `mm_kernel #2`, in their order."""
    found = zip(names, occurrences(names), strict=True)
    return [f"{name} #{at}" if many > 1 else name for name, (at, many) in found]


def titles(kernels: Sequence[tuple[str, str, str]], *, by_file: bool = False) -> list[str]:
    """A title for each file, name and scope; of kernels of one name, it has the file's too, and
    with `by_file` always."""
    short = [f"{name} ({scope})" for _, name, scope in kernels]
    total = Counter(short)
    files = [printable(Path(file).name) for file, _, _ in kernels]
    return numbered(
        [
            one if total[one] == 1 and not by_file else f"{file}: {one}"
            for file, one in zip(files, short, strict=True)
        ]
    )


def holding(clauses: Mapping[str, object]) -> list[str]:
    """The clauses that are true, or count something."""
    return [clause for clause, holds in clauses.items() if holds]


def counted(number: int, word: str, ending: str = "s") -> str:
    """`1 file`, `2,000 files`."""
    return f"{number:,} {word}" + ("" if number == 1 else ending)
