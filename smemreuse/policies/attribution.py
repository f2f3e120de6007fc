"""Attribution policies: on which open entry of the scope stack a touch is recorded."""

from __future__ import annotations

from smemreuse.analysis.linearize import Attribution


def outer(alloc_level: int, open_entries: int) -> int:
    """TVM's rule: the entry at the level where the buffer is allocated.

    With every allocation at the kernel's top that is the outermost loop. An access made at the
    allocation's own level goes to the innermost open entry, as TileLang's pass has it.
    """
    return min(alloc_level, open_entries - 1)


def inner(alloc_level: int, open_entries: int) -> int:
    """The rule of apache/tvm issue 17375: the innermost open entry. Unsound around loops."""
    return open_entries - 1


POLICIES: dict[str, Attribution] = {"outer": outer, "inner": inner}
