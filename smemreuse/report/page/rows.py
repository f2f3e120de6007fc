"""The overview's row for a kernel: what is sorted, searched and summed up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Entry = Mapping[str, Any]


def overview_row(kernel: Entry, title: str) -> dict[str, object]:
    """A kernel's numbers under the last of its plans, which is the one to apply.

    Before is the plan that `before` names, such as the compiler's own merge, else what the default
    merge of the compiler makes, else all buffers side by side. Bytes of symbolic sizes are their
    constant parts, with `*_text` for the whole; `saved` is a part of 1, negative where more is
    taken, and None where it is not known.
    """
    name, after = [*kernel["policies"].items()][-1]
    chosen, default = kernel.get("before"), kernel.get("default")
    before = kernel["policies"][chosen] if chosen else default or kernel["side_by_side"]
    taken = before["arena_bytes" if chosen else "bytes"]
    is_symbolic = "arena" in before or "arena" in after
    return {
        "title": title,
        "file": kernel["file"],
        "kernel": kernel["name"],
        "scope": kernel["scope"],
        "plan": name,
        "compared_with": chosen or (default["name"] if default else "side by side"),
        "buffers": len(kernel["buffers"]),
        "names": [buffer["name"] for buffer in kernel["buffers"]],
        "before": taken,
        "before_text": before.get("arena"),
        "after": after["arena_bytes"],
        "after_text": after.get("arena"),
        "bound": after["lower_bound_bytes"],
        "saved": None if is_symbolic or not taken else 1 - after["arena_bytes"] / taken,
        "blocks": [_blocks(before), _blocks(after)],
        "resident": [_blocks(before, "resident"), _blocks(after, "resident")],
        "one_more": after.get("one_more"),
        "one_more_bytes": after.get("one_more_bytes"),
        **{name: (kernel.get("lint") or {}).get(name) for name in ("summary", "gravity")},
        "arch": kernel["arch"]["name"],
        "arch_assumed": kernel["arch"]["assumed"],
        "verdict": after["verdict"],
    }


def _blocks(found: Entry, which: str = "blocks") -> int | None:
    """Blocks on an SM, 0 where one does not fit; None where it is not known."""
    blocks: int | None = 0 if found["fits"] is False else found[which]
    return blocks
