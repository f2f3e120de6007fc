"""The lines of the user's Python in a dump: comments behind its statements.

`T.copy(...)  # from kernels/gemm.py:41` says that the statement comes from that line. `run` writes
them; where they are missing, nothing is known. They are read as data, as all of a dump is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from smemreuse.compilers.text.comments import MARK
from smemreuse.compilers.text.reader import parse_dump, split_lines
from smemreuse.errors import InputError
from smemreuse.ir.kernel import Kernel, Stmt, walk_statements
from smemreuse.ir.source import SourceLine, source_of


def with_sources(text: str, kernels: Sequence[Kernel]) -> str:
    """A dump of these kernels, with the lines that their statements come from.

    The dump is as it was where it reads otherwise than the kernels.
    """
    if not any(source_of(stmt) for stmt in _statements(kernels)):
        return text
    try:
        read = parse_dump(text).kernels
    except InputError:
        return text
    there, here = [*_statements(read)], [*_statements(kernels)]
    if [*map(type, there)] != [*map(type, here)]:
        return text
    found: dict[int, set[SourceLine | None]] = {}
    for printed, stmt in zip(there, here, strict=True):
        if printed.line is not None:
            found.setdefault(printed.line, set()).add(source_of(stmt))
    return _commented(text, {at: one.pop() for at, one in found.items() if len(one) == 1})


def _statements(kernels: Sequence[Kernel]) -> Iterator[Stmt]:
    for kernel in kernels:
        yield from walk_statements(kernel.body)


def _commented(text: str, sources: Mapping[int, SourceLine | None]) -> str:
    lines = split_lines(text)
    for at, source in sources.items():
        if source is not None and source.file.isprintable() and _may_be_commented(lines[at - 1]):
            lines[at - 1] += f"{MARK}{source.file}:{source.line}"
    return "\n".join(lines)


def _may_be_commented(line: str) -> bool:
    """Whether a comment may stand behind a line: no text goes on, and it has none."""
    return '"""' not in line and not line.endswith("\\") and "#" not in line
