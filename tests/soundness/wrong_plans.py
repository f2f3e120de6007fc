"""Kernels with plans that break them, each by another rule that is easily got wrong.

Each differs from what a checker may take it for in one thing; the comment tells the execution that
breaks it. Where nothing else is said, the buffers As and Bs begin at the same byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from smemreuse.ir.kernel import Buffer, Kernel
from tests.checker.small import (
    ARRIVE,
    CONSUME,
    COPY_A,
    DESCRIBE_A,
    DESCRIPTORS,
    PRODUCE,
    SCOPE,
    SYNC,
    USE_A,
    USE_B,
    WAIT,
    WGMMA_A,
    arms,
    init_barrier,
    kernel_of,
    tma_load,
    under,
)


@dataclass(frozen=True)
class WrongPlan:
    """A kernel's body, and the offsets (bytes) of buffers that do not begin at 0."""

    body: str
    threads: int = 64
    elements: int = 0
    declared: str = ""
    blocks: int = 1
    offsets: Mapping[str, int] = field(default_factory=dict)
    fences: bool = False
    """Whether it is the lack of a proxy fence that breaks it."""

    def kernel(self) -> Kernel:
        return kernel_of(
            self.body,
            threads=self.threads,
            elements=self.elements,
            declared=self.declared,
            blocks=self.blocks,
        )

    def places(self, kernel: Kernel) -> dict[Buffer, int]:
        return {one: self.offsets.get(one.name, 0) for one in kernel.allocations(SCOPE)}


# Phases of mbarriers ------------------------------------------------------------------------------


ARRIVE_TWICE = ARRIVE + PRODUCE + ARRIVE
LAST_CONSUMES = under("if tx >= 64", WAIT + CONSUME.replace("32", "64"))


def _counted(operation: str, count: int = 32) -> WrongPlan:
    """The second warp's arrivals come first, `count` of them. So the producer's first arrival
    completes the phase, and what it does then is not ordered before what the consumer does."""
    early = under("if 32 <= tx", under("if tx < 64", operation))
    init = init_barrier(32 + count)
    return WrongPlan(init + early + SYNC + arms(ARRIVE_TWICE, LAST_CONSUMES), threads=96)


def _other_mbarrier(declared: str, one: str, other: str) -> WrongPlan:
    """The consumer waits for the second warp alone, not for the producer."""
    init = init_barrier(64, one) + init_barrier(64, other)
    arrive = f"T.ptx_arrive_barrier({one})\n"
    consumer = under("if tx < 64", arrive + arrive) + under(
        "else", f"T.mbarrier_wait_parity({one}, 0)\n{CONSUME.replace('32', '64')}"
    )
    body = under("if tx < 32", f"{PRODUCE}T.ptx_arrive_barrier({other})\n")
    return WrongPlan(init + body + under("else", consumer), threads=96, declared=declared)


def _three_rounds_a_phase() -> str:
    """Twelve rounds complete four phases: a wait for parity 1 is passed at once."""
    init = init_barrier(96) + init_barrier(1, "full[1]")
    rounds = "T.ptx_arrive_barrier(full[k % 1])\nT.mbarrier_wait_parity(full[k % 1 + 1], 1)\n"
    wait = "T.mbarrier_wait_parity(full[0], 1)\nBs[tx] = tx\nO[tx] = Bs[tx]\n"
    other = f"As[tx - 32] = tx\nO[tx] = As[tx - 32]\n{ARRIVE}{ARRIVE}"
    return init + arms(under("for k in range(12)", rounds) + wait, other)


def _in_both_arms() -> str:
    """In the second arm, the first warp arrives without having met the other."""
    arrival = under("if tx < 32", ARRIVE)
    branch = under("if D[0] > 0", SYNC + arrival) + under("else", arrival)
    before = f"As[tx] = tx + 1\n{SYNC}O[tx] = As[63 - tx]\n"
    return init_barrier(32) + before + branch + WAIT + "Bs[tx] = 7\nO[tx] = Bs[tx]\n"


_AGAIN = init_barrier(32) + under("if tx < 32", ARRIVE) + SYNC + init_barrier(32)
_CLUSTER_INIT = init_barrier(32) + "T.cluster_sync()\n"
_ALONE = f"As[tx] = tx\n{SYNC}O[tx] = As[95 - tx]\n{ARRIVE}{WAIT}Bs[tx] = 7\n"

MBARRIERS = {
    # The consumer goes on behind the first round, while the producer is in its second.
    "a wait is passed as soon as its phase is complete": WrongPlan(
        init_barrier(32) + arms(under("for k in range(3)", PRODUCE + ARRIVE), WAIT + CONSUME)
    ),
    # Each warp completes a phase: the first writes B before the others have read A.
    "a phase needs no more arrivals than it expects": WrongPlan(
        init_barrier(32) + _ALONE, threads=96
    ),
    "arrivals": _counted(ARRIVE),
    "arrivals of copies": _counted("T.ptx_cp_async_barrier_noinc(full[0])\n"),
    "relaxed arrivals": _counted(
        'T.ptx.mbarrier(full[0], "arrive", "relaxed", "cta", "shared::cta", "b64", "")\n'
    ),
    "arrivals by a function": _counted("T.call_extern('handle', 'arrive_on', full[0])\n"),
    "arrivals by address": _counted("T.arrive_somehow(T.address_of(full[0]))\n"),
    "arrivals by the buffer's address": _counted("T.arrive_somehow(full.data)\n"),
    "arrivals in a stored value": _counted("c[0] = T.ptx_arrive_barrier(full[0])\n"),
    "arrivals in a bound value": _counted("t: T.int32 = T.ptx_arrive_barrier(full[0])\n"),
    "arrivals in a condition": _counted(
        under("if T.ptx_arrive_barrier(full[0]) > 0", "c[0] = 1\n")
    ),
    "an arrival of matrix operations": _counted("T.tcgen05_mma_arrive(full[0])\n", count=1),
    "three rounds a phase": WrongPlan(_three_rounds_a_phase()),
    # Parity 1 is passed at once in phase 0.
    "an mbarrier that is initialized again": WrongPlan(
        _AGAIN + arms(PRODUCE, WAIT.replace("0)", "1)") + CONSUME)
    ),
    # Parity 1 is passed before the first arrival, not only behind the second.
    "a wait for the phase before the first": WrongPlan(
        init_barrier(32)
        + arms(WAIT.replace("0)", "1)") + PRODUCE, CONSUME + ARRIVE + WAIT + CONSUME + ARRIVE)
    ),
    # The consumer is let go by the other block's producer, before this one's is done.
    "an arrival in another block": WrongPlan(
        _CLUSTER_INIT
        + arms(PRODUCE + "T.ptx_arrive_cluster_barrier(full[0], 1 - bx)\n", WAIT + CONSUME),
        blocks=2,
    ),
    "an announcing arrival in another block": WrongPlan(
        _CLUSTER_INIT
        + arms(PRODUCE + "T.ptx_arrive_barrier_expect_tx(full[0], 0, 1 - bx, 1)\n", WAIT + CONSUME),
        blocks=2,
    ),
    "what a phase hands over in both arms": WrongPlan(_in_both_arms()),
    "mbarriers of two indices": _other_mbarrier(
        'm = T.alloc_buffer((2, 2), "uint64", scope="shared.barrier")', "m[0, 0]", "m[0, 1]"
    ),
    "a view of mbarriers": _other_mbarrier(
        'm = T.decl_buffer((1,), "uint64", data=full.data, scope="shared.barrier", elem_offset=1)',
        "full[0]",
        "m[0]",
    ),
}

# Barriers of threads ------------------------------------------------------------------------------

_MEET = 'T.tvm_storage_sync("shared", 1, 64)\n'
_ONE_ARM = f"O[tx] = As[tx]\n{_MEET}Bs[63 - tx] = tx + 9\n"
_OTHER_ARM = f"O[tx] = As[tx]\n{_MEET}Bs[191 - tx] = tx + 9\n"
_MET = under("if tx < 64", _MEET + "Bs[tx] = 7\n" * 24)
_LOAD_A = "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("As")

BARRIERS = {
    # It is complete when any two warps have come: one of each arm.
    "a named barrier of two arms": WrongPlan(
        f"As[tx] = tx\n{SYNC}" + under("if tx < 64", _ONE_ARM) + under("else", _OTHER_ARM),
        threads=128,
    ),
    # Each thread waits for its own copies behind the barrier.
    "a wait behind the barrier": WrongPlan(
        f"{COPY_A}T.ptx_commit_group()\n{SYNC}T.ptx_wait_group(0)\n{USE_B}"
    ),
    "a load that one warp waited for": WrongPlan(
        init_barrier(1) + under("if tx == 0", _LOAD_A) + SYNC + under("if tx < 32", WAIT) + USE_B
    ),
    # The other warp's write comes late.
    "an early conflict": WrongPlan(
        "Bs[63 - tx] = tx\n" + "Bs[tx] = 7\n" * 24 + "As[tx] = 1\nO[tx] = As[tx]\n"
    ),
    # The third warp has written B without meeting the others.
    "a warp that lags behind": WrongPlan(
        under("if tx >= 64", "Bs[tx - 64] = 2\n")
        + _MET
        + under("if tx >= 64", "Bs[tx] = 3\nO[tx] = Bs[tx]\n")
        + under("if tx < 64", "As[tx] = 1\nO[tx] = As[tx]\n"),
        threads=96,
    ),
    "a conflict of one arm": WrongPlan(
        under("if D[0] > 0", "Bs[63 - tx] = 1\n")
        + under("else", "Bs[tx] = 7\n" * 24)
        + "Bs[tx] = 8\nAs[tx] = 2\nO[tx] = As[tx]\n"
    ),
}

# What is in flight --------------------------------------------------------------------------------

_WAITED = f"T.ptx_wait_group(0)\n{SYNC}{USE_B}"
_SOURCE = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 64, 1)'
_STORE_A = under("if tx == 0", f"T.tma_store({_SOURCE}, X, 0)\n")
_FILL = f"As[tx] = tx\nT.fence_proxy_async()\n{SYNC}{DESCRIBE_A}"
_COMMIT = "T.warpgroup_commit_batch()\n"
_WAIT_FOR_ALL = "T.warpgroup_wait(0)\n"


def _multiplied(multiply: str) -> WrongPlan:
    """Nothing waits for the multiplication, which reads A while B is written."""
    body = f"{_FILL}{multiply}{SYNC}Bs[127 - tx] = tx + 5\n"
    return WrongPlan(body, threads=128, declared=DESCRIPTORS)


IN_FLIGHT = {
    # The other half's copies are in no group that it waits for.
    "half a warp commits": WrongPlan(
        COPY_A + under("if tx % 32 < 16", "T.ptx_commit_group()\n") + _WAITED
    ),
    "another thread commits": WrongPlan(
        f"{USE_A}{SYNC}{_STORE_A}"
        + under("if tx == 1", "T.tma_store_arrive()\n")
        + under("if tx == 0", "T.tma_store_wait(0)\n")
        + f"{SYNC}Bs[tx] = tx + 5\n"
    ),
    "a copy of a descriptor": _multiplied(
        "db[0] = da[0]\n" + WGMMA_A.replace("da[", "db[") + _COMMIT
    ),
    "a variable that holds a descriptor": _multiplied(
        "d: T.uint64 = da[0]\n" + WGMMA_A.replace("da[0]", "d") + _COMMIT
    ),
    "an unknown multiplication": _multiplied("T.multiply_somehow(da[0], acc.data)\n"),
    "a multiplying function": _multiplied("T.call_extern('handle', 'multiply', da[0], acc.data)\n"),
    # The second warpgroup's multiplication is not waited for.
    "each warpgroup reads for itself": WrongPlan(
        _FILL
        + under("if tx < 128", WGMMA_A)
        + WGMMA_A
        + _COMMIT
        + under("if tx < 128", _WAIT_FOR_ALL)
        + f"{SYNC}Bs[255 - tx] = tx + 5\n",
        threads=256,
        declared=DESCRIPTORS,
    ),
    # One warpgroup multiplies while the other writes over its operand.
    "a multiplication in one arm": WrongPlan(
        _FILL
        + under("if D[tx // 128] > 0", WGMMA_A + _COMMIT + _WAIT_FOR_ALL)
        + under("else", "Bs[tx] = 1\n"),
        threads=256,
        declared=DESCRIPTORS,
    ),
    # Rule 11: TMA may write what plain loads before the barrier have yet to read.
    "a load behind plain reads": WrongPlan(
        init_barrier(1)
        + USE_A
        + SYNC
        + under("if tx == 0", _LOAD_A.replace("As", "Bs"))
        + WAIT
        + f"O[tx] = Bs[tx]\n{SYNC}",
        fences=True,
    ),
}

# Which bytes, and which threads -------------------------------------------------------------------

_THIRD = 'Cs = T.alloc_buffer(({},), "int32", scope="shared.dyn")'
_POINTER = 'p: T.handle("int32", "shared.dyn") = T.address_of(Cs[c[0]])\n'
_POINTED = 'v = T.decl_buffer((64,), "int32", data=p, scope="shared.dyn")\n'
_VIEW = 'v = T.decl_buffer((32,), "int32", data=Cs.data, elem_offset=As[0], scope="shared.dyn")\n'
_FOURS = 'fours = T.alloc_buffer((16,), "int4", scope="shared.dyn")\n'
_THREE_FOURS = 'T.tvm_access_ptr(T.type_annotation("int4"), fours.data, 0, 3, 1)'
_BYTES = (
    'bytes = T.decl_buffer((8,), "uint8", data=Bs.data, scope="shared.dyn")\n'
    'filled = T.decl_buffer((8,), "uint8", data=fours.data, scope="shared.dyn")\n'
    "filled[0] = T.uint8(3)\nfilled[1] = T.uint8(4)\n"
)
_ROWS = 'ty = T.launch_thread("threadIdx.y", 2)\n'
_EACH_ROW = "As[ty] = 1\nO[ty] = As[ty]\nBs[1 - ty] = 2\nO[ty] = Bs[1 - ty]\n"
_ROUNDS = f"O[tx] = As[63 - tx]\n{SYNC}Bs[63 - tx] = tx + 5\n{SYNC}"

BYTES_AND_THREADS = {
    # It points at the first element of Cs, which shares bytes with Bs.
    "a pointer keeps its place": WrongPlan(
        f"Bs[tx] = tx\nc[0] = 0\n{_POINTER}c[0] = 64\n{_POINTED}v[tx] = 7\nO[tx] = Bs[tx]\n",
        declared=_THIRD.format(128),
        offsets={"As": 1024},
    ),
    # As[0] has been overwritten by then.
    "the offset of a view": WrongPlan(
        f"As[tx] = 0\nCs[tx] = tx + 1\n{SYNC}Bs[63 - tx] = tx % 32\n{SYNC}{_VIEW}"
        "O[tx] = v[tx % 32]\n",
        declared=_THIRD.format(64),
        offsets={"Cs": 1024},
    ),
    # Three elements of four bits reach into the second byte.
    "half a byte": WrongPlan(
        f"{_BYTES}T.tma_store({_THREE_FOURS}, X, 0)\nbytes[1] = T.uint8(1)\n",
        threads=1,
        elements=2,
        declared=_FOURS,
        offsets={"As": 64},
    ),
    "rows of a block": WrongPlan(_ROWS + under("if tx == 0", _EACH_ROW), threads=32),
    # `cutlass::canonical_warp_idx` is threadIdx.x / 32: 0 in both warps here.
    "a thread elected in each row": WrongPlan(
        _ROWS + under("if T.tl_shuffle_elect(0)", _EACH_ROW), threads=32
    ),
    # Threads are in both arms.
    "registers of a warp": WrongPlan(
        f"w[0] = tx\nAs[tx] = 1\n{SYNC}"
        + under("if w[0] < 16", "O[tx] = As[63 - tx]\n")
        + under("else", "Bs[tx] = 7\n"),
        declared='w = T.alloc_buffer((1,), "int32", scope="warp")',
    ),
    # From the element that it is handed it writes all of Bs.
    "a reference": WrongPlan(
        f"As[tx] = 1\n{SYNC}T.call_extern('handle', '__scale_in_place', Bs[0])\n{SYNC}"
        "O[tx] = As[tx]\n"
    ),
    # The second reads As when the first has written Bs.
    "virtual threads": WrongPlan(
        f'As[tx] = tx\n{SYNC}vt = T.launch_thread("vthread", 2)\n{_ROUNDS}'
    ),
    "a loop over threads": WrongPlan(
        under(
            "for ty in T.thread_binding(2, thread='threadIdx.y')",
            "As[ty * 64 + tx] = 1\nO[tx] = As[ty * 64 + tx]\nBs[(1 - ty) * 64 + tx] = 2\n",
        ),
        elements=128,
    ),
    # Both elements of As are written, then Bs over the second one, then both are read.
    "lanes of a vectorized loop": WrongPlan(
        under("for v in T.vectorized(2)", "As[v] = v\nBs[v] = 7\nO[v] = As[v]\n"),
        threads=1,
        elements=2,
        offsets={"Bs": 4},
    ),
    "a loop that counts down": WrongPlan(
        f"As[tx] = 1\n{SYNC}"
        + under("for k in range(3, -1, -1)", "Bs[63 - tx] = k\n")
        + f"{SYNC}O[tx] = As[tx]\n"
    ),
}

_FILLED = f"As[tx] = D[tx]\n{SYNC}O[tx] = As[63 - tx]\n{SYNC}"
_THEN_B = f"Bs[tx] = tx\n{SYNC}O[tx + 64] = Bs[63 - tx]\n{SYNC}"
_EXPECT = under("if tx == 0", "T.mbarrier_expect_tx(full[0], 256)\n" + tma_load("As"))

REFILLS: dict[str, WrongPlan] = {
    # A race within As, in which the same is written as is there already: but for Bs.
    "a refill that nobody waits for": WrongPlan(
        f"{_FILLED}{_THEN_B}As[tx] = D[tx]\nO[tx] = As[63 - tx]\n"
    ),
    "a refill by lanes of a warp": WrongPlan(
        f"{_FILLED}{_THEN_B}" + under("if tx < 16", "As[tx] = D[tx]\nO[tx] = As[15 - tx]\n")
    ),
    "a refill by cp.async": WrongPlan(
        f"{_FILLED}{_THEN_B}{COPY_A}T.ptx_commit_group()\n{SYNC}O[tx] = As[63 - tx]\n"
        "T.ptx_wait_group(0)\n"
    ),
    "a refill by TMA": WrongPlan(
        f"{init_barrier(64)}{_FILLED}{_THEN_B}{_EXPECT}{SYNC}O[tx] = As[63 - tx]\n{ARRIVE}{WAIT}"
    ),
}

WRONG_PLANS: dict[str, WrongPlan] = {
    **MBARRIERS,
    **BARRIERS,
    **IN_FLIGHT,
    **BYTES_AND_THREADS,
    **REFILLS,
}
