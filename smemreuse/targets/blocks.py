"""What a block takes of shared memory, as the driver counts it.

The static arrays come first; after them, at the next multiple of its own alignment, lies the
dynamic array, so that 32 static bytes cost 1,024 beside one aligned to that.
`scripts/check_occupancy.py` holds this, too, against CUDA's own answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from smemreuse.ir.kernel import DYNAMIC_SCOPE, Kernel
from smemreuse.results.plan import Plan
from smemreuse.targets.architectures import Architecture
from smemreuse.versions import version_of

STATIC_LIMIT = 48 * 1024
"""Bytes of statically allocated shared memory that a block can have; beyond, ptxas refuses."""


@dataclass(frozen=True)
class BlockMemory:
    """The shared memory of a block, in bytes; None where a size is symbolic.

    `alignment` is that of the dynamic array, to which the static part is padded; 1 without one.
    """

    static: int | None
    dynamic: int | None
    alignment: int

    @property
    def total(self) -> int | None:
        """All that a block takes, padding included."""
        if self.static is None or self.dynamic is None:
            return None
        return _up(self.static, self.alignment) + self.dynamic

    def fits(self, arch: Architecture) -> bool | None:
        """Whether one block has room; None if not known."""
        if self.static is not None and self.static > STATIC_LIMIT:
            return False
        return None if self.total is None else self.total <= arch.per_block

    def blocks(
        self,
        arch: Architecture,
        threads: int | None,
        registers: int | None = None,
        barriers: int = 1,
    ) -> int | None:
        """Resident blocks of so many threads; 0 where one does not launch, None if not known.

        As far as all but registers go where those of a thread are not known. Of a kernel
        `targets.residents` says how many, which knows its registers and barriers.
        """
        if self.fits(arch) is False:
            return 0
        if self.total is None or threads is None:
            return None
        return arch.resident_blocks(self.total, threads, registers, barriers)

    def growth(self, scope: str, most: int) -> int:
        """Bytes by which what lies in `scope` may grow in blocks of at most `most` bytes.

        All sizes must be known.
        """
        static, dynamic = self.static or 0, self.dynamic or 0
        if scope == DYNAMIC_SCOPE:
            return most - _up(static, self.alignment) - dynamic
        return min((most - dynamic) // self.alignment * self.alignment, STATIC_LIMIT) - static


def block_memory(kernel: Kernel, plans: Iterable[Plan]) -> BlockMemory:
    """What a kernel's blocks take: the arenas of its plans, and whatever lies beside them.

    A kernel with static arrays alone has no padding here, though in a module where another one
    has a dynamic array the linker adds it.
    """
    arenas = {plan.scope: plan for plan in plans}
    sizes: dict[bool, list[int | None]] = {False: [], True: []}
    for plan in arenas.values():
        taken = plan.arena_rounded if plan.arena_expr is None else None
        sizes[plan.scope == DYNAMIC_SCOPE].append(taken)
    for buffer in kernel.allocations():
        if buffer.scope.startswith("shared") and buffer.scope not in arenas:
            sizes[buffer.scope == DYNAMIC_SCOPE].append(buffer.size)
    declared = version_of(kernel)
    asked = [one.alignment or 1 for one in kernel.allocations(DYNAMIC_SCOPE)]
    if DYNAMIC_SCOPE in arenas:
        asked += arenas[DYNAMIC_SCOPE].alignments.values()
    return BlockMemory(
        static=_laid_out(sizes[False], declared.static_alignment),
        dynamic=_laid_out(sizes[True], declared.static_alignment),
        alignment=max([declared.dynamic_alignment, *asked]) if sizes[True] else 1,
    )


def _laid_out(sizes: Iterable[int | None], alignment: int) -> int | None:
    """The bytes of arrays, one after the other."""
    end = 0
    for size in sizes:
        if size is None:
            return None
        end = _up(end, alignment) + size
    return end


def _up(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment
