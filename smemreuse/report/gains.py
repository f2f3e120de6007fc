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
    """How many bytes and blocks a layout gains over each of the others; those that are alike are
    told together."""
    names: dict[tuple[int, int | None], list[str]] = {}
    for other in others:
        names.setdefault((other.bytes, other.blocks), []).append(other.name)
    told = (
        f"over {' and '.join(those)}: {_gained(ours, size, blocks)}"
        for (size, blocks), those in names.items()
    )
    return f"gain {'; '.join(told)}"


def _gained(ours: LayoutSize, size: int, blocks: int | None) -> str:
    saved = size - ours.bytes
    parts = []
    if saved:
        more = f"none, {-saved:,} bytes more than its {size:,}"
        parts.append(f"{saved:,} of {size:,} bytes" if saved > 0 else more)
    if ours.blocks is not None and blocks is not None and ours.blocks != blocks:
        change = counted(abs(ours.blocks - blocks), "block")
        fewer = "" if ours.blocks > blocks else " fewer"
        parts.append(f"{change}{fewer} per SM ({blocks} -> {ours.blocks})")
    elif saved and blocks is not None:
        parts.append("no block")
    return ", ".join(parts) or "nothing"
