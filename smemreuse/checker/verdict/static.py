"""What can be said of a plan without executing anything (rules 7, 8 and 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from smemreuse.ir.kernel import DYNAMIC_SCOPE, SHARED_SCOPES, Buffer
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import Violation
from smemreuse.versions import Version


def static_violations(
    offsets: Mapping[Buffer, int],
    alignments: Mapping[Buffer, int],
    names: Mapping[Buffer, str],
    arena: int,
) -> Iterator[Violation]:
    """Misplaced buffers: outside the arena, misaligned, of the wrong scope, or of unknown size."""
    for buffer, offset in offsets.items():
        name, size = names[buffer], buffer.size
        if buffer.scope not in SHARED_SCOPES:
            why = f"{name} is in scope {buffer.scope}, never merged"
            yield Violation(Rule.STORAGE_SCOPE, (name,), why)
        if offset < 0 or (size is not None and offset + size > arena):
            end = "an unknown end" if size is None else f"{offset + size}"
            why = f"{name} at [{offset}, {end}) leaves the arena of {arena}"
            yield Violation(Rule.ALIGNMENT, (name,), why)
        if offset % alignments.get(buffer, 1):
            why = f"{name} at {offset} is not aligned to {alignments[buffer]} bytes"
            yield Violation(Rule.ALIGNMENT, (name,), why)
        if size is None:
            for other, place in offsets.items():
                other_end = place + (other.size or 0)
                if other is not buffer and (other.size is None or other_end > offset):
                    why = f"{name} has no known size and may reach {names[other]}"
                    yield Violation(Rule.SYMBOLIC_SIZE, (name, names[other]), why)


def underaligned(
    scope: str, alignments: Mapping[Buffer, int], names: Mapping[Buffer, str], version: Version
) -> Iterator[str]:
    """A reason for each buffer that needs more than the compiler aligns an arena to: an offset
    alone does not give it that (rule 7)."""
    if version.aligns_as_asked:
        return
    is_dynamic = scope == DYNAMIC_SCOPE
    base = version.dynamic_alignment if is_dynamic else version.static_alignment
    for buffer, needed in alignments.items():
        if buffer in names and needed > base:
            yield (
                f"{names[buffer]} needs an address aligned to {needed:,} bytes, and "
                f"{version.name} aligns an arena in {scope} to {base:,}"
            )
