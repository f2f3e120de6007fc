"""Small kernels, layouts and accesses for the tests of the checker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import indent

import numpy as np

from smemreuse.checker import check_plan
from smemreuse.checker.execution.setting import Setting
from smemreuse.checker.execution.trace import Trace
from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.machine.findings import Violations
from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.traced import TracedAccess, by_anyone
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Buffer, Kernel, Stmt, walk_statements
from smemreuse.ir.labels import label
from smemreuse.ir.launch import thread_axes
from smemreuse.results.verdict import Verdict
from smemreuse.semantics.accesses import KernelAccesses

SCOPE = "shared.dyn"

# Kernels --------------------------------------------------------------------------------------

_HEADER = """
bx = T.launch_thread("blockIdx.x", {blocks})
X = T.handle("int32", "global")
Y = T.handle("int32", "global")
D = T.decl_buffer((4096,), "int32", data=X)
O = T.decl_buffer((4096,), "int32", data=Y)
As = T.alloc_buffer(({elements},), "int32", scope="shared.dyn")
Bs = T.alloc_buffer(({elements},), "int32", scope="shared.dyn")
full = T.alloc_buffer((4,), "uint64", scope="shared.barrier")
c = T.alloc_buffer((4,), "int32", scope="local.var")
{declared}
tx = T.launch_thread("threadIdx.x", {threads})
"""

X_MAY_BE_Y = 'T.func_attr({"tl.non_restrict_params": [X, Y]})\n'
"""To be declared: an author's word that D and O may overlap in global memory."""

SYNC = 'T.tvm_storage_sync("shared")\n'
USE_A = f"As[63 - tx] = tx\n{SYNC}O[tx] = As[tx]\n"
USE_B = f"Bs[63 - tx] = tx\n{SYNC}O[tx] = Bs[tx]\n"
"""A value goes from thread to thread: it needs a barrier before it and in it."""

PRODUCE = "As[tx] = tx\nO[tx] = As[tx]\n"
CONSUME = "Bs[tx - 32] = tx\nO[tx] = Bs[tx - 32]\n"
"""What the first warp does, and what the others do, with a value of their own."""

ARRIVE = "T.ptx_arrive_barrier(full[0])\n"
WAIT = "T.mbarrier_wait_parity(full[0], 0)\n"

TO_AND_FRO = USE_A + SYNC + USE_B + SYNC + USE_A
"""Right, but of neither buffer everything comes before the other's: it has to be executed."""

_ELEMENT = 'T.tvm_access_ptr(T.type_annotation("int32"), {}, {}, 1, {})'
COPY_A = (
    f"T.ptx_cp_async({_ELEMENT.format('As.data', 'tx', 2)}, {_ELEMENT.format('X', 'tx', 1)}, 1)\n"
)
"""Each thread copies an element with cp.async."""

DESCRIPTORS = """
da = T.alloc_buffer((1,), "uint64", scope="local.descriptor.wgmma")
db = T.alloc_buffer((1,), "uint64", scope="local.descriptor.wgmma")
acc = T.alloc_buffer((64,), "float32", scope="local")
"""
WGMMA_A = (
    'T.ptx_wgmma_ss("float16", "m64n16k16", T.bool(False), T.bool(False), "fp16", "fp16", "fp32", '
    "da[0], 0, da[0], 0, acc.data, 0, T.bool(True), 1, 1)\n"
)
DESCRIBE_A = "T.initialize_wgmma_descriptor(da[0], As.data, 1, 1, 64)\n"
"""`DESCRIPTORS` are to be declared; `WGMMA_A` reads all of As once `DESCRIBE_A` has been done."""


def tma_load(name: str, elements: int = 64, barrier: str = "full[0]") -> str:
    """A TMA load of a buffer's first elements."""
    target = f'T.tvm_access_ptr(T.type_annotation("int32"), {name}.data, 0, {elements}, 2)'
    return f"T.tma_load(X, {barrier}, {target}, 0)\n"


def reduced(
    threads: int = 64,
    barrier: str = "tl::NamedBarrier<64>",
    *,
    workspace: str = "As",
    value: str = "tx",
) -> str:
    """A reduction over so many threads, which meet in it twice for each halving beyond a warp."""
    pointer = f'T.tvm_access_ptr(T.type_annotation("int32"), {workspace}.data, 0, {threads}, 3)'
    name = f"tl::AllReduce<tl::SumOp, {threads}, 1, 0, {barrier}>::run"
    return f'T.call_extern("int32", "{name}", {value}, {pointer})'


def under(header: str, body: str) -> str:
    """A block of statements under a header."""
    return f"{header}:\n{indent(body, '    ')}"


def arms(producer: str, consumer: str) -> str:
    """The first warp does the one, the others do the other."""
    return under("if tx < 32", producer) + under("if tx >= 32", consumer)


def init_barrier(count: int, slot: str = "full[0]") -> str:
    init = f"T.ptx_init_barrier_thread_count({slot}, {count})\nT.ptx_fence_barrier_init()\n"
    return under("if tx == 0", init) + SYNC


def kernel_of(
    body: str, *, threads: int = 64, elements: int = 0, declared: str = "", blocks: int = 1
) -> Kernel:
    """A kernel with the buffers As and Bs, of an int32 for each thread, and what `body` says.

    D and O are in global memory, `full` holds mbarriers, and `c` local scalars.
    """
    header = _HEADER.format(
        threads=threads, elements=elements or threads, declared=declared, blocks=blocks
    )
    (kernel,) = parse_dump(header + body).kernels
    return kernel


def judge_kernel(
    kernel: Kernel,
    offsets: Mapping[str, int] | None = None,
    *,
    assume_barriers: bool = False,
    bounded: bool = False,
) -> Verdict:
    """The verdict where every buffer begins at 0, or where `offsets` say by name."""
    places = {one: (offsets or {}).get(one.name, 0) for one in kernel.allocations(SCOPE)}
    arena = max(place + (one.size or 0) for one, place in places.items())
    return check_plan(
        kernel, SCOPE, places, arena, {}, assume_barriers=assume_barriers, bounded=bounded
    )


def judge(
    body: str,
    *,
    threads: int = 64,
    elements: int = 0,
    declared: str = "",
    blocks: int = 1,
    offsets: Mapping[str, int] | None = None,
    assume_barriers: bool = False,
    bounded: bool = False,
) -> Verdict:
    """The verdict on a kernel whose buffers share all their bytes."""
    kernel = kernel_of(body, threads=threads, elements=elements, declared=declared, blocks=blocks)
    return judge_kernel(kernel, offsets, assume_barriers=assume_barriers, bounded=bounded)


def statement(kernel: Kernel, text: str) -> Stmt:
    """The first statement whose label begins with `text`."""
    return next(one for one in walk_statements(kernel.body) if label(one).startswith(text))


# Parts of the checker ---------------------------------------------------------------------------


def relevance_of(kernel: Kernel, *names: str) -> ProgramSlice:
    """What matters to the shared buffers of these names, As and Bs if none are given."""
    shared = {one for one in kernel.allocations(SCOPE) if one.name in (names or ("As", "Bs"))}
    return ProgramSlice(kernel.body, shared, KernelAccesses.of(kernel.body).by_statement)


def setting_of(
    kernel: Kernel, *, budget: int = 1000, offsets: Mapping[str, int] | None = None
) -> Setting:
    """What the traces of a check have in common where As and Bs lie at 0."""
    layout = layout_of(*kernel.allocations(SCOPE), **(offsets or {}))
    program_slice = ProgramSlice(
        kernel.body, set(layout.partners), KernelAccesses.of(kernel.body).by_statement
    )
    axes = thread_axes(kernel.body)
    return Setting(program_slice, layout, axes, budget=budget)


def trace_of(kernel: Kernel, *, budget: int = 1000) -> Trace:
    """A trace of a kernel where As and Bs lie at 0, before its execution."""
    setting = setting_of(kernel, budget=budget)
    return Trace(setting, Violations(setting.layout, kernel.body), {})


def traced(kernel: Kernel) -> Trace:
    """The trace of a kernel's execution, when it is over."""
    trace = trace_of(kernel)
    trace.run(kernel.body)
    return trace


def shared(name: str, size: int) -> Buffer:
    """A buffer of so many bytes."""
    return Buffer(name, "uint8", (Const(size),), SCOPE)


def layout_of(*buffers: Buffer, **offsets: int) -> ByteLayout:
    """Buffers at the offsets given by name, the others at 0."""
    places = {one: offsets.get(one.name, 0) for one in buffers}
    sizes = {one: one.size or 0 for one in buffers}
    return ByteLayout(places, sizes, {one: one.name for one in buffers})


def access(
    buffer: Buffer,
    where: Iterable[int],
    *,
    is_write: bool = False,
    certain: bool = True,
    by: Iterable[int] | None = None,
    ids: Iterable[int] = (0,),
    event: int = 0,
) -> TracedAccess:
    """An access to the bytes `where` by the threads `ids`; `by` says which thread to which byte."""
    places, threads = np.array(list(where)), np.array(list(ids))
    by_thread = by_anyone(len(places)) if by is None else np.array(list(by))
    warps = np.unique(threads // 32)
    return TracedAccess(buffer, places, by_thread, is_write, certain, threads, warps, event)


def warps(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)
