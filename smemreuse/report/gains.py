"""What a plan gains against other layouts of its kernel, in bytes and resident blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from smemreuse.report.titles import counted


@dataclass(frozen=True)
class LayoutSize:
    """A layout by its name for people: the bytes of its arena, and the resident blocks on an SM and
    the bytes that these leave to L1, None where they are not known."""

    name: str
    bytes: int
    blocks: int | None
    l1: int | None = None


def gain_words(ours: LayoutSize, others: Sequence[LayoutSize]) -> str:
    """How many bytes a layout saves and blocks it gains against each of the others; those that are
    alike are told together."""
    names: dict[LayoutSize, list[str]] = {}
    for other in others:
        names.setdefault(replace(other, name=""), []).append(other.name)
    told = (
        f"against {' and '.join(those)}: {_gained(ours, other)}" for other, those in names.items()
    )
    return "; ".join(told)


def _gained(ours: LayoutSize, other: LayoutSize) -> str:
    size, blocks = other.bytes, other.blocks
    saved = size - ours.bytes
    parts = []
    if saved:
        more = f"takes {-saved:,} bytes more than its {size:,}"
        parts.append(f"saves {saved:,} of {size:,} bytes" if saved > 0 else more)
    if ours.blocks is not None and blocks is not None and ours.blocks != blocks:
        change = counted(abs(ours.blocks - blocks), "block")
        verb = "gains" if ours.blocks > blocks else "loses"
        parts.append(f"{verb} {change} per SM ({blocks} -> {ours.blocks})")
    elif saved and blocks is not None:
        parts.append("gains no block")
    if ours.l1 and other.l1 and ours.blocks == blocks and ours.l1 != other.l1:
        more = "more" if ours.l1 > other.l1 else "less"
        parts.append(f"leaves {abs(ours.l1 - other.l1) // 1024} KB {more} to L1")
    return ", ".join(parts) or "nothing is gained"
