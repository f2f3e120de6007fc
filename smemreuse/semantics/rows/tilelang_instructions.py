"""TileLang's device functions that wrap instructions: copies, mbarriers, tensor cores.

Most have an intrinsic of the same meaning, whose row they share; the intrinsic's last operands,
such as the eviction policy, are template arguments here.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.semantics.effects import (
    Answer,
    Effect,
    Engine,
    Fixed,
    Group,
    Mbarrier,
    Meeting,
    Proxy,
    Row,
    Rows,
    Signal,
    Together,
    Wait,
)
from smemreuse.semantics.rows.copies import ROWS as COPIES
from smemreuse.semantics.rows.copies import TMA_LOAD, TMA_STORE, WAIT_ALL
from smemreuse.semantics.rows.forms import (
    accessing,
    each,
    merged,
    ordering_elsewhere,
    reads,
    updates,
    writes,
)
from smemreuse.semantics.rows.function_names import FunctionName, FunctionRow, FunctionRows
from smemreuse.semantics.rows.matrices import ROWS as MATRICES
from smemreuse.semantics.rows.tensor_memory import ROWS as TENSOR_MEMORY


def _same(rows: Rows, names: str) -> dict[str, Effect]:
    """Functions in `tl` that share the row of the intrinsic of their name."""
    found: dict[str, Effect] = {}
    for name in names.split():
        row: Row = rows[name]
        if not isinstance(row, Effect):
            raise TypeError(f"the row of {name} hangs on the form of its call")
        found[f"tl::{name}"] = row
    return found


def _waiting(for_all: Effect) -> FunctionRow:
    """The row of `wait<n>()`, which leaves the last `n` groups: with 0 it waits `for_all`."""
    waits = for_all.waits
    assert waits is not None

    def row(name: FunctionName, parameters: int) -> Effect | None:
        keep = name.number(0)
        if keep is None:
            return None
        return for_all if keep == 0 else Effect(waits=replace(waits, left=keep))

    return row


# Copies -----------------------------------------------------------------------------------------


def _cp_async(name: FunctionName, parameters: int) -> Effect | None:
    """`cp_async_gs<bytes>(target, source[, predicate])`: all of the bytes are written, with zeros
    where the predicate is off."""
    size = name.number(0)
    if size is None:
        return None
    copied = Fixed(size)
    return accessing(
        reads(1, copied, certain=parameters == 2),
        writes(0, copied),
        engine=Engine.CP_ASYNC,
    )


def _st_bulk(name: FunctionName, parameters: int) -> Effect | None:
    size = name.number(0)
    return None if size is None else accessing(writes(0, Fixed(size)))


def _vector_accesses() -> FunctionRows:
    """`load_global_32` and the like, whose names tell their bits."""
    rows: FunctionRows = {}
    for space in ("global", "shared"):
        for bits in (32, 64, 128, 256):
            size = Fixed(bits // 8)
            for suffix, certain in (("", True), ("_conditional", False)):
                rows[f"tl::load_{space}_{bits}{suffix}"] = accessing(
                    reads(0, size, certain=certain), answer=Answer.VARIES
                )
                rows[f"tl::store_{space}_{bits}{suffix}"] = accessing(
                    writes(0, size, certain=certain)
                )
    return rows


_COPIES: FunctionRows = merged(
    {
        "tl::cp_async_gs": _cp_async,
        "tl::cp_async_gs_conditional": _cp_async,
        "tl::cp_async_commit": Effect(commits=Engine.CP_ASYNC),
        "tl::cp_async_wait": _waiting(WAIT_ALL),
        "tl::tma_load_2sm": replace(TMA_LOAD, remote=True),
        "tl::tma_store_wait": _waiting(Effect(waits=Wait(Engine.TMA_STORE))),
        "tl::st_bulk_shared": _st_bulk,
        "tl::global_load_256": accessing(reads(1, Fixed(32), certain=False), written=(0,)),
        "tl::global_store_256": accessing(writes(0, Fixed(32), certain=False)),
    },
    each("tl::tma_load tl::tma_load_im2col tl::tma_load_gather4", TMA_LOAD),
    each("tl::tma_store_add", TMA_STORE),
    _same(
        COPIES,
        """
        tma_load_multicast tma_store tma_store_scatter4 tma_store_arrive tma_store_cluster
        fence_proxy_async prefetch_tma_descriptor clc_try_cancel clc_try_cancel_multicast
        clc_is_canceled clc_get_first_ctaid_x clc_get_first_ctaid_y clc_get_first_ctaid_z
        """,
    ),
    {
        "tl::clc_decode_response": accessing(reads(0, Fixed(16)), fence=True, answer=Answer.VARIES),
        "tl::clc_fence_proxy_async_shared_cta": Effect(fence=True),
        # The same place in another block of the cluster.
        "tl::set_block_rank": accessing(
            updates(0, certain=False), engine=Engine.REMOTE, address=True, remote=True
        ),
    },
    _vector_accesses(),
)

# Mbarriers --------------------------------------------------------------------------------------

_ASKED = "says whether a phase is over; who acts on it counts as one that did not wait"


def _test_wait(name: FunctionName, parameters: int) -> Effect | None:
    """Waits with two parameters; with a third, it only asks, if that is 1."""
    if parameters == 2:
        return Effect(mbarrier=Mbarrier(Signal.WAIT, 0, count=1))
    return Effect(answer=Answer.VARIES, words=_ASKED)


def _signal(signal: Signal, alone: int, remote: int) -> FunctionRow:
    """A signal to this block's mbarrier, or with more parameters to that of another block."""
    count = 1 if signal is Signal.ARRIVE_AND_EXPECT else None

    def row(name: FunctionName, parameters: int) -> Effect | None:
        if parameters not in (alone, remote):
            return None
        return Effect(mbarrier=Mbarrier(signal, 0, count), remote=parameters == remote)

    return row


_MBARRIERS: FunctionRows = merged(
    {
        "tl::mbarrier_init": Effect(mbarrier=Mbarrier(Signal.INITIALIZE, 0, count=1)),
        "tl::fence_barrier_init": Effect(fences_mbarriers=True),
        "tl::mbarrier_wait": Effect(mbarrier=Mbarrier(Signal.WAIT, 0, count=1)),
        "tl::mbarrier_test_wait": _test_wait,
        "tl::mbarrier_try_wait": Effect(
            mbarrier=Mbarrier(Signal.ASK, 0, count=1), answer=Answer.VARIES, words=_ASKED
        ),
        "tl::mbarrier_arrive": _signal(Signal.ARRIVE, 1, 3),
        "tl::mbarrier_arrive_expect_tx": _signal(Signal.ARRIVE_AND_EXPECT, 2, 4),
        "tl::mbarrier_expect_tx": Effect(mbarrier=Mbarrier(Signal.EXPECT, 0, count=1)),
        "tl::mbarrier_cp_async_arrive": Effect(mbarrier=Mbarrier(Signal.HOLD_FOR_COPIES)),
        "tl::mbarrier_cp_async_arrive_noinc": Effect(mbarrier=Mbarrier(Signal.ARRIVE_WITH_COPIES)),
        # Arrives, then waits for the phase that it arrived in: only the arrival counts.
        "tl::syncthreads_partial": Effect(mbarrier=Mbarrier(Signal.ARRIVE, 0)),
    },
)

# Tensor cores -----------------------------------------------------------------------------------


def _row_accesses() -> FunctionRows:
    """`ptx_ldmatrix_x4(source, target)` and `ptx_stmatrix_x4(target, values...)`: a row of 16
    bytes for each of the lanes that name one."""
    rows: FunctionRows = {}
    for matrices in (1, 2, 4):
        for suffix in ("", "_trans"):
            kind = f"x{matrices}{suffix}"
            rows[f"tl::ptx_ldmatrix_{kind}"] = accessing(
                reads(0, Fixed(16), matrices=matrices), written=(1,), together=Together.WARP
            )
            for shape in ("", "m8n8_", "m16n8_"):
                rows[f"tl::ptx_stmatrix_{shape}{kind}"] = accessing(
                    writes(0, Fixed(16), matrices=matrices), together=Together.WARP
                )
    return rows


def _mma(c: int, *read: int) -> Effect:
    return accessing(read=read, written=(c,), together=Together.WARP)


def _wgmma(c: int, *read: int) -> Effect:
    """Descriptors are handed over as values; the accumulator is in registers."""
    return accessing(
        read=read,
        written=(c,),
        engine=Engine.WGMMA,
        proxy=Proxy.ASYNC,
        reads_described=True,
        together=Together.WARPGROUP,
    )


def _tcgen05(name: FunctionName, parameters: int) -> Effect | None:
    """Descriptors and addresses in tensor memory are values; two blocks where an argument says. A
    warp elects the lane that issues it."""
    return accessing(
        engine=Engine.TCGEN05,
        proxy=Proxy.ASYNC,
        reads_described=True,
        remote="true" in name.arguments,
        converges=True,
    )


def _arrive(name: FunctionName, parameters: int) -> Effect | None:
    return Effect(
        mbarrier=Mbarrier(Signal.ARRIVE_WITH_MATRICES),
        remote="true" in name.arguments,
        converges=True,
    )


def _gemm(name: FunctionName, parameters: int) -> Effect | None:
    """`tl::gemm_ss<M, N, K, ...[, use_wgmma[, wg_wait]]>(A, B, C[, E])` of older TileLang.

    `use_wgmma` (true or false) exists for Hopper only, after 8 or 12 numbers. With wgmma, the call
    waits for all but the last `wg_wait` groups, its own included; -1 means no wait.
    """
    if len(name.arguments) < 8:
        return None
    words = [at for at, argument in enumerate(name.arguments) if argument in ("true", "false")]
    uses_wgmma = bool(words) and name.arguments[words[-1]] == "true"
    keeps = name.arguments[words[-1] + 1 :] if words else name.arguments[8:]
    in_flight = keeps not in ((), ("0",)) if uses_wgmma else keeps[-1:] == ("-1",)
    shared = (0, 1, *range(3, parameters))
    return accessing(
        *(reads(at, certain=False, swizzled=uses_wgmma) for at in shared),
        written=(2,),
        engine=Engine.WGMMA if in_flight else Engine.THREAD,
        proxy=Proxy.ASYNC if uses_wgmma or in_flight else Proxy.GENERIC,
        commits=Engine.WGMMA if in_flight else None,
    )


_GEMMS: FunctionRows = {
    f"tl::gemm_{kind}": _gemm for kind in ("ss", "rs", "sr", "sp_ss", "sp_rs", "sp_sr")
}

_TENSOR_CORES: FunctionRows = merged(
    {
        "tl::mma_sync": _mma(0, 1, 2),
        "tl::mma_sync_sm70": _mma(0, 1, 2),
        "tl::mma_sp_sync": _mma(0, 1, 2, 3),
        "tl::sm120_mma_sync_blockscaled": _mma(0, 1, 2),
        "tl::wgmma_ss": _wgmma(2),
        "tl::wgmma_rs": _wgmma(2, 0),
        "tl::wgmma_sp_ss": _wgmma(2),
        "tl::wgmma_sp_rs": _wgmma(2, 0),
        "tl::wait_wgmma": _waiting(Effect(waits=Wait(Engine.WGMMA))),
        "tl::warpgroup_wait": _waiting(Effect(waits=Wait(Engine.WGMMA))),
    },
    _same(
        MATRICES,
        """
        initialize_wgmma_descriptor increase_descriptor_offset warpgroup_arrive
        warpgroup_commit_batch warpgroup_fence_operand
        """,
    ),
    _row_accesses(),
    _GEMMS,
)

_TENSOR_SHAPES = ("16dp64b", "16dp128b", "16dp256b", "32dp32b", "32dp64b", "32dp128b", "32dp256b")


def _tensor_copies() -> FunctionRows:
    """`tcgen05_ld_32dp32bNx<n, pack>(address, column, registers)`, and what it is made of."""
    rows: FunctionRows = {}
    for lanes in _TENSOR_SHAPES:
        for name, at in ((f"tcgen05_{{}}_{lanes}Nx", 2), (f"tmem_{{}}_{lanes}Nx::copy", 1)):
            rows["tl::" + name.format("ld")] = accessing(written=(at,), answer=Answer.VARIES)
            rows["tl::" + name.format("st")] = accessing(read=(at,))
    rows["tl::tcgen05_ld_core"] = accessing(written=(1,))
    rows["tl::tcgen05_st_core"] = accessing(read=(1,))
    return rows


_TENSOR_MEMORY: FunctionRows = merged(
    dict.fromkeys(
        (
            *("tl::tcgen05mma_ss", "tl::tcgen05mma_ts", "tl::tcgen05mma_ws_ss"),
            *("tl::tcgen05mma_blockscaled_ss", "tl::tcgen05_cp"),
        ),
        _tcgen05,
    ),
    {
        "tl::tcgen05_mma_arrive": _arrive,
        "tl::tmem_allocate": accessing(writes(0, Fixed(4), certain=False), together=Together.WARP),
        "tl::tmem_deallocate": accessing(reads(0, Fixed(4), certain=False)),
        # All lanes read, meet, and write.
        "tl::tcgen05_sf_warp_transpose": accessing(
            updates(0, certain=False), within=(Meeting(Group.WARP),)
        ),
        # The descriptor is a value here, and what it is passed to, or when, is not seen.
        "tl::make_sf_smem_desc": accessing(
            reads(0, certain=False, swizzled=True),
            engine=Engine.UNKNOWN_ASYNC,
            proxy=Proxy.ASYNC,
            address=True,
        ),
    },
    _same(
        TENSOR_MEMORY,
        "initialize_tcgen05_descriptor tcgen05_before_thread_sync tcgen05_after_thread_sync",
    ),
    ordering_elsewhere(
        "tl::fence_view_async_tmem_load tl::fence_view_async_tmem_store",
        "waits for accesses to tensor memory",
    ),
    _tensor_copies(),
)

ROWS: FunctionRows = merged(_COPIES, _MBARRIERS, _TENSOR_CORES, _TENSOR_MEMORY)

INSIDE = {
    "tl::global_load::": "called by `load_global_32` and the like alone",
    "tl::global_store::": "called by `store_global_32` and the like alone",
    "Barrier::": "methods of an mbarrier, which only code generation writes",
    **{
        f"{where}{kind}": "called by the functions that wrap the instruction"
        for where in ("", "tl::")
        for kind in (
            *("MmaDispatcher::", "MmaSm70Dispatcher::", "MmaSpDispatcher::", "WgmmaSSImpl::"),
            *("WgmmaRSImpl::", "WgmmaSpSSImpl::", "WgmmaSpRSImpl::"),
        )
    },
}
