"""The operations by which a kernel's accesses are ordered, as they are put into one.

Barriers are written alike by both compilers. The others are TileLang's.
"""

from __future__ import annotations

from collections.abc import Mapping

from smemreuse.ir.expr import Call, Const, Expr
from smemreuse.semantics.effects import Engine

NAMED_BARRIERS = range(3, 16)
"""Numbers of barriers that a block may use: 0 is for all of its threads, and TileLang's reductions
meet at 1 and 2."""

_BARRIER = "tvm_storage_sync"
_COMMITS: Mapping[Engine, str] = {
    Engine.CP_ASYNC: "ptx_commit_group",
    Engine.TMA_STORE: "tma_store_arrive",
    Engine.WGMMA: "warpgroup_commit_batch",
}


def proxy_fence() -> Call:
    """`fence.proxy.async` of the thread that executes it."""
    return Call("fence_proxy_async", ())


def block_barrier(scope: str) -> Call:
    """A barrier of all threads of the block, written for the accesses to one storage scope."""
    return Call(_BARRIER, (Const(scope),))


def named_barrier(scope: str, number: int, threads: int) -> Call:
    """A barrier of as many threads, a multiple of 32, under a number of its own."""
    return Call(_BARRIER, (Const(scope), Const(number), Const(threads)))


def warp_barrier() -> Call:
    """A barrier of all lanes of a warp."""
    return Call("sync_warp", ())


def commit(engine: Engine) -> Call:
    """Closes the group of an engine's accesses so far."""
    return Call(_COMMITS[engine], ())


def wait(engine: Engine, keep: int) -> Call:
    """Waits until at most the last `keep` groups of an engine's accesses are open; of stores it is
    waited until they have read."""
    if engine is Engine.CP_ASYNC:
        return Call("ptx_wait_group", (Const(keep),))
    if engine is Engine.TMA_STORE:
        return Call("tma_store_wait", (Const(keep), Const(True)))
    return Call("warpgroup_wait", (Const(keep),))


def phase_wait(mbarrier: Expr, parity: int) -> Call:
    """Waits until the phase of this parity of an mbarrier is complete."""
    return Call("mbarrier_wait_parity", (mbarrier, Const(parity)))


GROUPED = frozenset(_COMMITS)
"""The engines whose accesses are waited for by their groups."""
