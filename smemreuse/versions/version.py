"""What a version of a compiler does with shared memory, as one object.

A `Version` is data, and parts that re-enact the passes of its compiler: they are shared between
versions, with the differences as their fields. Nothing outside of this room compares a version or
its name; the others ask `version_of(kernel)` for a field or a part.
"""

from __future__ import annotations

from dataclasses import dataclass

from smemreuse.versions.fence_pass import FencePass
from smemreuse.versions.register_pass import RegisterPass
from smemreuse.versions.thread_sync import ThreadSync


@dataclass(frozen=True)
class MergeRules:
    """What a merge pass does by default and under its options; `versions.merges` re-enacts it.

    `name` is what users read, and `family` the re-enactment of its live ranges: "tilelang" or
    "apache". `packer` is the planner's. `policy` is the attribution rule of its live ranges, and
    `aggressive` the one that an option of the pass asks for instead, None without such an option.

    What differs between versions of one family:

    - `packs_as`: another one of the planner's, which stands behind the name `packer`.
    - `stops_at_gens`: a kill that is moved out of a loop gets no further than the next statement in
      it where another buffer's live range begins.
    - `swizzle_alignments`: what operands of TMA and of MMA descriptors get, in bytes, from which
      compute capability on (90 for sm_90), whatever the lowering recorded; empty where the pass
      takes what is recorded, and else 1,024.
    - `packs_four_bits`: two elements of a 4-bit type share a byte; else each gets one.
    """

    name: str
    family: str
    packer: str
    policy: str = "outer"
    aggressive: str | None = None
    packs_as: str | None = None
    stops_at_gens: bool = False
    swizzle_alignments: tuple[tuple[int, int], ...] = ()
    packs_four_bits: bool = True


@dataclass(frozen=True)
class Names:
    """Names that move from version to version.

    `tir` is TIR's module within `tvm`, `passes` the one within the compiler in which its merge is
    looked up. In its configuration `merge_static` asks to merge static allocations as well, and
    `disable_sync` leaves the barriers out; empty where it has no such key.
    """

    tir: str
    passes: str
    merge_static: str = ""
    disable_sync: str = ""


@dataclass(frozen=True)
class Version:
    """One version of a compiler; alignments in bytes.

    `key` is what kernels carry, `name` what users read, `dialect` what JSON prints.
    `data_alignment` is what a buffer gets that asks for nothing itself, 1 where the compiler gives
    it none. `static_alignment` and `dynamic_alignment` are those with which it declares arrays in
    CUDA; `aligns_as_asked` says that one gets more where its buffer asks for that.
    `synchronizes_later` says that its `thread_sync` runs after the merge and sees the aliases
    (rule 6); without it a plan brings its own barriers. `keeps_unproved` says that its own layout
    may stay where it is neither proved nor refuted. `has_tilelang_operations` says that waits and
    proxy fences are written as TileLang does. `waits_for_uncommitted` says that `ptx_wait_group(0)`
    is `cp.async.wait_all`, for copies of no group, too: what it waits for in the others is taken to
    be in flight, and not for certain. `merges_into_views` says that a merged buffer is a
    typed view of the arena and that view is all of it; else it is a pointer into the arena, and a
    view of that may be of a part. `is_known` says that all of this is by the source of that
    version; else it is what the newest known one does, and nothing is applied on its strength.
    """

    key: str
    name: str
    dialect: str
    data_alignment: int
    static_alignment: int
    dynamic_alignment: int
    aligns_as_asked: bool
    synchronizes_later: bool
    keeps_unproved: bool
    merges_into_views: bool
    has_tilelang_operations: bool
    waits_for_uncommitted: bool
    merge: MergeRules
    thread_sync: ThreadSync
    fence_pass: FencePass
    register_pass: RegisterPass
    names: Names
    is_known: bool = True
