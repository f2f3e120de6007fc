"""What a block takes of its SM under one plan, and how many one SM holds, as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from smemreuse.ir.kernel import Kernel
from smemreuse.report.titles import counted
from smemreuse.results.plan import Plan
from smemreuse.results.residents import BLOCKS, SHARED_MEMORY, Registers, Residents
from smemreuse.results.serialized import picked
from smemreuse.results.verdict import Judged
from smemreuse.targets.architectures import Architecture, architecture_for
from smemreuse.targets.blocks import block_memory
from smemreuse.targets.residents import blocks_of, l1_left, residents_of


@dataclass(frozen=True)
class PlanBlocks:
    """Blocks of a kernel under one plan.

    `by_memory` are those that an SM holds by all but its registers, 0 if one is too large;
    `fits` tells whether one has room. `residents` reckon with registers, too. None is not known.
    """

    by_memory: int | None
    fits: bool | None
    residents: Residents | None

    @classmethod
    def of(
        cls, kernel: Kernel, plan: Plan, arch: Architecture, *, compiled: int | None = None
    ) -> PlanBlocks:
        """`compiled` are the registers of each thread where ptxas gave them."""
        by_memory = blocks_of(kernel, [plan], arch, by_registers=False)
        residents = residents_of(kernel, [plan], arch, compiled=compiled)
        return cls(by_memory, block_memory(kernel, [plan]).fits(arch), residents)

    @property
    def resident(self) -> int | None:
        """Blocks that an SM holds, as far as it is known."""
        return self.by_memory if self.residents is None else self.residents.blocks

    @property
    def registers(self) -> Registers | None:
        """Those of each thread."""
        return None if self.residents is None else self.residents.registers


def gain_note(kernel: Kernel, hoped: Plan, chosen: Plan, arch: Architecture | None) -> str:
    """What a smaller layout that is not proved would gain of resident blocks and L1, and why it may
    be smaller than the bound of the chosen one, in parentheses behind a space."""
    on, _ = architecture_for(kernel, arch)
    then, now = (residents_of(kernel, [plan], on) for plan in (hoped, chosen))
    parts = [] if then is None or now is None else [_gained(then, now, on)]
    if hoped.arena_bytes < chosen.lower_bound_bytes:
        parts.append("by live ranges shorter than the lower bound's")
    return f" ({'; '.join(parts)})" if parts else ""


def _gained(then: Residents, now: Residents, arch: Architecture) -> str:
    """What some resident blocks are more than others: blocks or, of as many, what they leave."""
    if then.blocks > now.blocks:
        return f"{counted(then.blocks - now.blocks, 'block')} more"
    more = l1_more(then, now, arch)
    return f"{more // 1024} KB more to L1" if more else "no block and no L1 more"


def l1_more(then: Residents, now: Residents, arch: Architecture) -> int:
    """Bytes that some resident blocks leave to L1 more than as many others; else 0."""
    is_alike = then.blocks == now.blocks
    return max(0, l1_left(then, arch) - l1_left(now, arch)) if is_alike else 0


def l1_of(kernel: Kernel, plan: Plan, arch: Architecture | None) -> int | None:
    """Bytes that resident blocks leave to L1; None where that is not known."""
    on, _ = architecture_for(kernel, arch)
    found = residents_of(kernel, [plan], on)
    return None if found is None else l1_left(found, on)


AS_LARGE = "the default merge takes as many bytes, and is proved sound"
NO_FASTER = "fewer bytes than the default merge's gain neither a resident block nor L1"


def why_as_default(
    kernel: Kernel, made: Plan, default: Judged | None, arch: Architecture | None
) -> str:
    """Why a plan gains nothing over the default merge, which is proved; empty where it does."""
    if default is None or not default[1].sound:
        return ""
    usual, _ = default
    if usual.arena_text == made.arena_text:
        return AS_LARGE
    both = [(blocks_of(kernel, [one], arch), l1_of(kernel, one, arch)) for one in (made, usual)]
    alike = made.objective == "speed" and None not in both[0] and both[0] == both[1]
    return NO_FASTER if alike and made.arena_bytes < usual.arena_bytes else ""


def why_all(reasons: Iterable[str]) -> str:
    """Why none of several layouts gains anything, with the first reason; empty where one does."""
    found = [*reasons]
    return found[0] if found and all(found) else ""


_BESIDE = "beside it for mbarriers and other allocations"


def taken_words(found: Residents, arena_bytes: int) -> str:
    """All that a block takes, in words; what it takes beside its arena is named where it does."""
    more = found.block_bytes - arena_bytes
    return found.taken(f" ({arena_bytes:,} arena, {more:,} {_BESIDE})" if more else "")


def l1_words(found: Residents, arena_bytes: int, arch: Architecture) -> str:
    """What resident blocks leave of the unified cache to L1, and why so much, in words."""
    step = arch.unified - l1_left(found, arch)
    taken = arch.taken(found.block_bytes)
    parts = {
        "arena": arena_bytes,
        _BESIDE: found.block_bytes - arena_bytes,
        "for the driver": arch.reserved,
        "of rounding": taken - found.block_bytes - arch.reserved,
    }
    sizes = ", ".join(f"{size:,} {what}" for what, size in parts.items() if size)
    blocks = f"{counted(found.blocks, 'block')} of {taken:,} bytes ({sizes})"
    verb = "takes" if found.blocks == 1 else "take"
    left = f"{(arch.unified - step) // 1024} of {arch.unified // 1024} KB"
    return f"L1 has {left}: {blocks} {verb} the carve-out of {step // 1024} KB"


def beside(kernel: Kernel, plan: Plan) -> int | None:
    """Bytes that a block takes on top of the arena of a plan, padding included."""
    return block_memory(kernel, [replace(plan, arena_bytes=0, arena_expr=None)]).total


def room_data(found: Residents | None, arch: Architecture) -> dict[str, object]:
    """Bytes that a block has left to its limit, negative where it does not fit; and what one more
    block needs, in words, and in bytes if nothing else is needed. None where it is not known."""
    if found is None:
        return {"left": None, "one_more": None, "one_more_bytes": None}
    return {
        "left": arch.per_block - found.block_bytes,
        "one_more": " and ".join(_needed(found)),
        "one_more_bytes": found.excess,
    }


def _needed(found: Residents) -> Iterator[str]:
    """What one more block on an SM needs, by what has no room for it."""
    if BLOCKS in found.limits:
        yield "an SM holds no more"
        return
    for limit in found.limits:
        if limit == SHARED_MEMORY and found.bytes_over is None:
            yield "less shared memory"
        else:
            yield f"{found.bytes_over:,} bytes less" if limit == SHARED_MEMORY else f"fewer {limit}"


def residents_data(found: Residents | None) -> dict[str, object] | None:
    """Resident blocks, what stops one more, and what is known of it; None where they are not
    known."""
    if found is None:
        return None
    registers = found.registers
    return {
        **picked(found, "arch assumed blocks blocks_by_memory=by_memory block_bytes threads"),
        "registers": None if registers is None else registers.count,
        "registers_from": None if registers is None else registers.source.value,
        **picked(found, "stopped_by=limits most_bytes_for_one_more=most_bytes"),
        "bytes_over": found.bytes_over,
    }
