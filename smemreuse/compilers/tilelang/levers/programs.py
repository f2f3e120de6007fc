"""Reads a function whose tile operations are whole as a program, to compare two forms of it.

The compiler carries a statement out for all threads, and waits between two of them for what they
hand on. Where an author does that by hand, by the numbers of threads, mbarriers or asynchronous
operations, the order of statements is not all that counts: that is not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from smemreuse.advisor.grid import SWIZZLE
from smemreuse.compilers.tilelang.levers.products import PRODUCT, MatrixProduct, product_of
from smemreuse.compilers.tilelang.levers.tile_ops import (
    COPY,
    NUM_STAGES,
    READ,
    REGION,
    WRITE,
    extent_of,
    is_pure,
    name_of,
    number,
)
from smemreuse.compilers.tilelang.visitor import TirVisitor, tirx
from smemreuse.equivalence import (
    Bound,
    Branch,
    Fill,
    Fold,
    Loop,
    Marker,
    Operation,
    Region,
    Repeat,
    Statement,
    TileCopy,
    TileProgram,
    Unfollowed,
    Write,
)
from smemreuse.ir.expr import Const, Expr
from smemreuse.ir.kernel import THREAD_EXTENT, Buffer
from smemreuse.semantics.global_memory import NON_RESTRICT

Block = tuple[Statement, ...]

_TILE = "tl.tileop."
_OPERATIONS = (
    *("gemm", "gemm_sp", "reduce", "cumsum", "cummax", "transpose"),
    *("atomicadd", "atomicmin", "atomicmax"),
    *("reducer_init", "finalize_reducer", "finalize_reducer_v2"),
)
"""Tile operations that are over, for all threads, where the next statement begins."""
_ATOMICS = tuple(f"tl.atomic_{one}_elem_op" for one in ("add", "min", "max", "or"))
_MARKERS = (
    *("tvm_storage_sync", "sync_threads", "fence_proxy_async", "no_set_max_nreg", "set_max_nreg"),
    *("annotate_producer_reg_dealloc", "annotate_consumer_reg_alloc"),
)
_HINTS = ("coalesced_width", "disable_tma", "eviction_policy", "loop_layout")
"""Annotations of a copy that say how, and not what."""
_ATTRIBUTES = (SWIZZLE, "tl.min_blocks_per_sm")
_THREADS = (
    *("launch_thread_idx", "get_lane_idx", "get_warp_idx", "get_warp_idx_sync"),
    *("get_warp_group_idx", "tl_shuffle_elect", "activemask"),
)
_SCOPES = ("global", "shared", "shared.dyn", "local", "local.var", "local.fragment")
_SERIAL, _PARALLEL, _VECTORIZED, _UNROLLED, _BOUND = range(5)

_MEMORY_ORDER, _RELAXED = "memory_order", 0

OVERLAP = "some of its parameters may overlap"
BY_THREAD = "threads are distinguished by their numbers"
ORDERED = "an atomic operation has a memory order, by which blocks may hand values on"


class ProgramReader(TirVisitor):
    """Reads forms of one function: variables and buffers that they share are the same in all."""

    def __init__(self, step: int | None = None) -> None:
        """`step` are the elements of its inner dimension that a product adds up at a time, by
        default those of one instruction."""
        super().__init__()
        self._step = step
        self._threads: dict[Any, Expr | None] = {}
        """Variables in which threads differ, and those that are 0 in all."""
        self._bound: dict[Any, Any] = {}
        """What variables are bound to, in terms of those that are bound to nothing."""

    def program(self, name: str, func: Any) -> TileProgram:
        """Raises `Unfollowed` for what the order of its statements says not all of."""
        if func.attrs and NON_RESTRICT in func.attrs and len(func.attrs[NON_RESTRICT]):
            raise Unfollowed(OVERLAP)
        return TileProgram(name, self.statements(func.body))

    def statements(self, node: Any) -> Block:
        if node is None:
            return ()
        kind = type(node).__name__
        read: Callable[[Any], Block] | None = getattr(self, f"read_{kind}", None)
        if read is None:
            raise Unfollowed(f"it has a statement of kind {kind}")
        return read(node)

    def read_SeqStmt(self, node: Any) -> Block:
        return tuple(one for child in node.seq for one in self.statements(child))

    # Scopes -------------------------------------------------------------------------------------

    def read_SBlockRealize(self, node: Any) -> Block:
        block = node.block
        plain = not (len(block.iter_vars) or len(block.match_buffers) or block.init)
        if not plain or number(node.predicate) != 1:
            raise Unfollowed("it has a block with axes or views of its own")
        if NON_RESTRICT in (block.annotations or {}):
            raise Unfollowed(OVERLAP)
        return self.statements(block.body)

    read_BlockRealize = read_SBlockRealize

    def read_AttrStmt(self, node: Any) -> Block:
        key = str(node.attr_key)
        if key == THREAD_EXTENT:
            if str(node.node.thread_tag).startswith("threadIdx"):
                self._of_the_thread(node.node.var, number(node.value))
            return self.statements(node.body)
        if key not in _ATTRIBUTES and not key.startswith("pragma_"):
            raise Unfollowed(f"it has the attribute {key}")
        operands = (Const(str(node.value)),)
        return (Marker(f"attribute {key}", operands), *self.statements(node.body))

    def read_For(self, node: Any) -> Block:
        kind = int(node.kind)
        if kind == _BOUND:
            if str(node.thread_binding.thread_tag).startswith("threadIdx"):
                self._of_the_thread(node.loop_var, number(node.extent))
            return self.statements(node.body)
        step = getattr(node, "step", None)
        if step is not None and number(step) != 1:
            raise Unfollowed("it has a loop with a step")
        notes: Mapping[str, Any] = node.annotations or {}
        var, begin, extent = self.var(node.loop_var), self.expr(node.min), self.expr(node.extent)
        body, ahead = self.statements(node.body), int(notes.get(NUM_STAGES, 0))
        return (Loop(var, begin, extent, body, kind in (_PARALLEL, _VECTORIZED), ahead),)

    def read_While(self, node: Any) -> Block:
        return (Repeat(self.expr(node.condition), self.statements(node.body)),)

    def read_IfThenElse(self, node: Any) -> Block:
        arms = self.statements(node.then_case), self.statements(node.else_case)
        return (Branch(self.expr(node.condition), *arms),)

    def read_DeclBuffer(self, node: Any) -> Block:
        return self.statements(getattr(node, "body", None))

    read_AllocBuffer = read_Allocate = read_DeclBuffer

    def read_Bind(self, node: Any) -> Block:
        bound: Block = ()
        if name_of(node.value) == "tl.launch_thread_idx":
            self._of_the_thread(node.var, None)
        elif self.is_handle(node.var):
            raise Unfollowed("an address is used as a value")
        else:
            bound = (Bound(self.var(node.var), self.expr(node.value)),)
            self._bound[node.var] = tirx.stmt_functor.substitute(node.value, self._bound)
        return (*bound, *self.statements(getattr(node, "body", None)))

    read_LetStmt = read_Bind

    def _of_the_thread(self, var: Any, extent: int | None) -> None:
        """Notes a variable in which threads differ; the only index of an axis is 0."""
        self._threads[var] = Const(0) if extent == 1 else None

    # Statements ---------------------------------------------------------------------------------

    def read_BufferStore(self, node: Any) -> Block:
        if self.predicate(node) is not None:
            raise Unfollowed("a store has a predicate")
        indices = tuple(map(self.expr, node.indices))
        return (Write(self.buffer(node.buffer), indices, self.expr(node.value)),)

    def read_AssertStmt(self, node: Any) -> Block:
        return (Marker("assert", (self.expr(node.condition),)),)

    def read_Evaluate(self, node: Any) -> Block:
        call = node.value
        name = name_of(call)
        if not isinstance(call, tirx.Call):
            return ()
        if name == COPY:
            return (self._copy(call),)
        if name == f"{_TILE}fill":
            return (Fill(self._region(call.args[0]), self.expr(call.args[1])),)
        if _has_order(call, name):
            raise Unfollowed(ORDERED)
        if name.startswith(_TILE) and name.removeprefix(_TILE) in _OPERATIONS:
            return (self._operation(call, name),)
        if name in _ATOMICS:
            return (self._atomic(call, name),)
        if name.rpartition(".")[2] in _MARKERS:
            return (Marker(name, tuple(map(self.expr, call.args))),)
        if is_pure(call):
            self.expr(call)  # what is inside may not be
            return ()
        raise Unfollowed(f"what {name} does is not followed")

    def _copy(self, call: Any) -> Statement:
        others = [one for one in getattr(call, "annotations", {}) if str(one) not in _HINTS]
        if others or any(name_of(one) not in REGION for one in call.args[:2]):
            raise Unfollowed(f"a copy is of a kind that is not followed{_in_brackets(others)}")
        return TileCopy(self._region(call.args[0]), self._region(call.args[1]))

    def _operation(self, call: Any, name: str) -> Statement:
        product = product_of(call)
        if product is not None:
            return self._product(product)
        regions = [one for one in call.args if name_of(one) in REGION]
        others = tuple(self.expr(one) for one in call.args if name_of(one) not in REGION)
        masks = [number(one.args[1]) or READ | WRITE for one in regions]
        read = [one for one, mask in zip(regions, masks, strict=True) if mask & READ]
        written = [one for one, mask in zip(regions, masks, strict=True) if mask & WRITE]
        operands = (*others, *self._notes(call))
        return Operation(
            name, tuple(map(self._region, read)), tuple(map(self._region, written)), operands
        )

    def _product(self, product: MatrixProduct) -> Statement:
        one, two, into = map(self._region, product.call.args[:3])
        operands = (*map(self.expr, product.settings()), *self._notes(product.call))
        fold = Fold(product.axes, self._step or product.step, product.clears)
        return Operation(PRODUCT, (one, two), (into,), operands, fold)

    def _notes(self, call: Any) -> tuple[Expr, ...]:
        """The annotations of a call."""
        notes = self.call_extras(call)
        return (*(Const(one) for one in notes), *notes.values())

    def _atomic(self, call: Any, name: str) -> Statement:
        target = call.args[0]
        if name_of(target) != "tl.access_ptr" or number(target.args[1]) != 1:
            raise Unfollowed(f"what {name} writes is not followed")
        load = target.args[0]
        begins = tuple(map(self.expr, load.indices))
        region = Region(self.buffer(load.buffer), begins, (1,) * len(begins))
        return Operation(name, (), (region,), tuple(map(self.expr, call.args[1:])))

    def _region(self, call: Any) -> Region:
        load = call.args[0]
        begins = tuple(map(self.expr, load.indices))
        extents = [extent_of(one, self._bound) for one in call.args[2:]]
        found = tuple(one for one in extents if one is not None)
        if len(found) != len(begins) or len(extents) != len(begins):
            raise Unfollowed(f"the extents of a region of {load.buffer.name} are not known")
        return Region(self.buffer(load.buffer), begins, found)

    # Expressions --------------------------------------------------------------------------------

    def buffer(self, node: Any) -> Buffer:
        scope = str(node.scope())
        if scope not in _SCOPES:
            raise Unfollowed(f"{node.name} lies in {scope}")
        return super().buffer(node)

    def visit_Var(self, node: Any) -> Expr:
        if node not in self._threads:
            return super().visit_Var(node)
        value = self._threads[node]
        if value is None:
            raise Unfollowed(BY_THREAD)
        return value

    def visit_Call(self, node: Any) -> Expr:
        name = name_of(node)
        if name.rpartition(".")[2] in _THREADS:
            raise Unfollowed(BY_THREAD)
        if not is_pure(node):
            raise Unfollowed(f"what {name or node.op} does is not followed")
        return super().visit_Call(node)


def _has_order(call: Any, name: str) -> bool:
    """Whether an atomic operation orders other accesses, which other blocks may rely on."""
    if "atomic" not in name:
        return False
    notes = getattr(call, "annotations", None) or {}
    orders = [one for key, one in notes.items() if str(key) == _MEMORY_ORDER]
    return any(number(one) != _RELAXED for one in (*call.args[2:], *orders))


def _in_brackets(names: list[Any]) -> str:
    return f" ({', '.join(map(str, names))})" if names else ""
