"""What a plan gains against other layouts of its kernel, in bytes and resident blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smemreuse.report.titles import counted


@dataclass(frozen=True)
class LayoutSize:
    """A layout by its name for people: the bytes of its arena, and the resident blocks on an SM,
    None where they are not known."""

    name: str
    bytes: int
    blocks: int | None


def gain_words(ours: LayoutSize, others: Sequence[LayoutSize]) -> str:
    """How many bytes a layout saves and blocks it gains against each of the others; those that are
    alike are told together."""
    names: dict[tuple[int, int | None], list[str]] = {}
    for other in others:
        names.setdefault((other.bytes, other.blocks), []).append(other.name)
    told = (
        f"against {' and '.join(those)}: {_gained(ours, size, blocks)}"
        for (size, blocks), those in names.items()
    )
    return "; ".join(told)


def _gained(ours: LayoutSize, size: int, blocks: int | None) -> str:
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
    return ", ".join(parts) or "gains nothing"
