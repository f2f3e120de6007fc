"""Objective `speed`: it fits, then the most resident blocks, then the most L1, then little sharing.

Shared memory is carved out of L1 in steps, and every shared pair costs barriers, which stop the
prefetch of the next tile. So bytes are shared as far as that lets the kernel fit, adds a resident
block or leaves a larger step to L1, and no further.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from smemreuse.analysis.handovers import Handovers
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.planner import least_sharing
from smemreuse.planner.best import NODES, fitting
from smemreuse.planner.exact import Budget
from smemreuse.planner.linear_scan import ARENA_ALIGNMENT
from smemreuse.policies.packing import Liveness
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Occupancy
from smemreuse.results.residents import Residents
from smemreuse.targets.architectures import WARP, Architecture, architecture_for, threads_of
from smemreuse.targets.blocks import block_memory
from smemreuse.targets.residents import l1_left, residents_of


def resident_blocks(kernel: Kernel, plan: Plan, arch: Architecture | None) -> Residents | None:
    """Resident blocks per SM under a plan; None if a size is not known.

    `arch` is by default that of the kernel's target. An unknown number of threads counts as the
    smallest, so that an SM holds at most so many.
    """
    return residents_of(kernel, [plan], arch, threads=threads_of(kernel) or WARP)


@dataclass(frozen=True, order=True)
class SmStanding:
    """What a plan leaves of an SM; more is better: resident `blocks`, and the bytes of L1."""

    blocks: int
    l1_left: int

    @classmethod
    def of(cls, kernel: Kernel, plan: Plan, arch: Architecture) -> SmStanding | None:
        """The standing of a kernel with this plan; None where a size is symbolic."""
        found = resident_blocks(kernel, plan, arch)
        return None if found is None else cls.by(found, arch)

    @classmethod
    def by(cls, found: Residents, arch: Architecture) -> SmStanding:
        """The standing that resident blocks are."""
        return cls(found.blocks, l1_left(found, arch))


def _asked(found: Residents) -> tuple[int, int, int | None, int]:
    """The bytes of a block, its threads, the registers of each, and the barriers of a block."""
    registers = found.registers.count if found.registers else None
    return found.block_bytes, found.threads or WARP, registers, found.barriers


def with_occupancy(kernel: Kernel, plan: Plan, arch: Architecture | None) -> Plan:
    """The same plan with its occupancy: resident blocks, and the L1 that it leaves on an SM.

    Unchanged where the number of resident blocks is not known.
    """
    on, assumed = architecture_for(kernel, arch)
    found = resident_blocks(kernel, plan, on)
    if found is None:
        return plan
    known, left = threads_of(kernel) is not None, SmStanding.by(found, on).l1_left
    occupancy = Occupancy(found.blocks, on.name, assumed, known, left, found.registers)
    return plan.with_provenance(occupancy=occupancy)


def rooms(kernel: Kernel, smallest: Plan, arch: Architecture | None) -> list[int]:
    """The sizes in bytes up to which the smallest arena may grow without losing a resident block.

    One entry for each carve-out step on the way, the one that leaves most L1 first. Empty for a
    kernel that does not fit on an SM, or of which that is not known.
    """
    on, _ = architecture_for(kernel, arch)
    found = resident_blocks(kernel, smallest, on)
    if found is None or not found.blocks:
        return []
    memory = block_memory(kernel, [smallest])
    growths = (memory.growth(smallest.scope, most) for most in on.largest_by_step(*_asked(found)))
    arena = smallest.arena_rounded
    return [(arena + growth) // ARENA_ALIGNMENT * ARENA_ALIGNMENT for growth in growths]


def better_sizes(found: Residents, arch: Architecture) -> list[int]:
    """The most bytes of a block with which an SM would stand better, the most first: one size for
    each number of resident blocks and each size of L1.

    Empty where bytes are not what is short, and for a block that does not launch.
    """
    if not found.blocks:
        return []
    usual, asked = SmStanding.by(found, arch), _asked(found)[1:]

    def standing(size: int) -> SmStanding:
        return SmStanding(arch.resident_blocks(size, *asked), arch.l1_left(size, *asked))

    sizes = {
        arch.largest_within(step, blocks)
        for blocks in range(found.blocks, arch.resident_blocks(0, *asked) + 1)
        for step in arch.carveouts
    }
    largest: dict[SmStanding, int] = {}
    for size in sorted(sizes, reverse=True):
        if 0 < size < found.block_bytes:
            largest.setdefault(standing(size), size)
    return [size for one, size in largest.items() if one > usual]


@dataclass(frozen=True)
class SpeedObjective:
    """The worth of a smaller or larger arena of one kernel; `own` is the compiler's plan."""

    kernel: Kernel
    own: Plan
    arch: Architecture | None

    def rooms(self, smallest: Plan) -> Iterator[int]:
        """As `rooms`; never more than the compiler's own arena."""
        return (min(room, self.own.arena_bytes) for room in rooms(self.kernel, smallest, self.arch))

    def is_roomy(self, plan: Plan, room: int) -> bool:
        """Whether more bytes may not be had, or save no hand-overs: more of these than in the
        compiler's own layout are not worth the L1."""
        usual = rounds_of_sharing(self.kernel, self.own)
        return room >= self.own.arena_bytes or rounds_of_sharing(self.kernel, plan) <= usual

    def stands_as(self, plan: Plan, least: int) -> bool:
        """Whether a plan leaves as many resident blocks and as much L1 as an arena of `least` bytes
        would.

        If so, a smaller arena gains nothing. False where that is not known.
        """
        on, _ = architecture_for(self.kernel, self.arch)
        standing = SmStanding.of(self.kernel, plan, on)
        return standing is not None and standing == SmStanding.of(
            self.kernel, replace(plan, arena_bytes=least), on
        )

    def gains(self, guess: Plan, best: Plan) -> bool:
        """Whether a guess, once proved, would gain more over the best plan than its extra sharing
        costs.
        """
        if guess.arena_bytes >= best.arena_bytes:
            return False
        for room in self.rooms(guess):
            if self.stands_as(best, room):
                return False
            if self.is_roomy(with_least_sharing(self.kernel, guess, room), room):
                return True
        return True


def with_least_sharing(kernel: Kernel, smallest: Plan, room: int) -> Plan:
    """The plan with the least sharing found whose arena has at most `room` bytes.

    All searches have one budget. None of them looks for an arena below the known smallest one.
    """
    ranges = Liveness.of_plan(smallest)
    constant, dear = ranges.constant, facts_of(kernel).ask(handovers)
    capacity, budget = max(smallest.arena_bytes, room), Budget(NODES)
    placement = least_sharing(
        ranges.problem(),
        capacity,
        lambda one, other: dear(constant[one], constant[other]),
        lambda problem, enough: fitting(problem, capacity, enough, budget),
    )
    if placement.arena > capacity:
        return smallest
    return replace(
        smallest,
        offsets=dict(zip(constant, placement.offsets, strict=True)),
        arena_bytes=placement.arena,
        proved=False,
    )


def handovers(facts: KernelFacts) -> Handovers:
    return Handovers(facts.kernel)


def rounds_of_sharing(kernel: Kernel, plan: Plan) -> int:
    """How often one block's loops make two buffers take turns on the same bytes, over all pairs.

    At each turn its threads wait for each other, and the loads of the next round cannot run ahead.
    """
    dear = facts_of(kernel).ask(handovers)
    return sum(dear(one, other) - 1 for one, other, _ in plan.sharing_pairs())
