"""Random kernels whose barriers are still to come: some of those that they have are taken out."""

from __future__ import annotations

import re

from tests.random_kernels.choices import Grower, Pick

_TAKEN_OUT = re.compile(r"(?m)^ *T\.(tvm_storage_sync\(.*\)|sync_warp\(\)|fence_proxy_async\(\))\n")
_AFTER_INITIALIZATION = "T.ptx_fence_barrier_init()\n"
"""No pass puts a barrier after the initialization of mbarriers: their authors do."""


def without_some(text: str, pick: Pick) -> str:
    """The kernel without some of its barriers and proxy fences: none, few, or all of them."""
    grow = Grower(pick)
    left = grow.pick(0, 4)  # of four, as many are left

    def kept(found: re.Match[str]) -> str:
        initializes = text.endswith(_AFTER_INITIALIZATION, 0, found.start())
        is_left = grow.pick(0, 3) < left or (initializes and grow.pick(0, 9) > 0)
        return found.group() if is_left else ""

    return _filled(_TAKEN_OUT.sub(kept, text))


def _filled(text: str) -> str:
    """Blocks that have become empty do nothing."""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        header = lines[-1] if lines else ""
        if header.endswith(":") and _depth(line) <= _depth(header):
            lines.append(" " * (_depth(header) + 4) + "T.evaluate(0)")
        lines.append(line)
    return "\n".join(lines)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
