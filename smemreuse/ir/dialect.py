"""What planning has to know of the compiler that a kernel comes from.

The records of the compilers that are known are in `compilers/dialects.py`; they are data, and so is
all that the rooms in between ask of them. Nothing compares a dialect's name.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """One compiler's way with shared memory; alignments in bytes.

    `name` is what JSON prints. `data_alignment` is what a buffer gets that asks for nothing itself,
    1 where the compiler gives it none. `static_alignment` and `dynamic_alignment` are those with
    which it declares arrays in CUDA. `synchronizes_later` tells that a pass behind the merge
    inserts barriers with the aliases in view (rule 6); without it a plan brings its own.
    `keeps_unproved` tells that its own layout may stay where it is neither proved nor refuted.
    `has_tilelang_operations` tells that waits and proxy fences are written as TileLang does.
    `merges_into_views` tells that a merged buffer is a typed view of the arena and that view is all
    of it; else it is a pointer into the arena, and a view of that may be of a part. `baseline` is
    the key of its own merge in `smemreuse.baselines`.
    """

    name: str
    data_alignment: int
    static_alignment: int
    dynamic_alignment: int
    synchronizes_later: bool
    keeps_unproved: bool
    merges_into_views: bool
    has_tilelang_operations: bool
    baseline: str


UNSTATED = Dialect(
    name="unstated",
    data_alignment=1,
    static_alignment=16,
    dynamic_alignment=1024,
    synchronizes_later=True,
    keeps_unproved=True,
    merges_into_views=False,
    has_tilelang_operations=True,
    baseline="tilelang-0.1.15",
)
"""Of a kernel that nobody read from a compiler: taken to be like those of TileLang."""
