"""Tile operations in TileLang's IR before it is lowered: which buffers each reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tilelang import tvm

from smemreuse.compilers.tilelang.visitor import TIR, tirx

COPY, REGION = "tl.tileop.copy", ("tl.region", "tl.tileop.region")
READ, WRITE = 1, 2
"""The bits of a region's mask that say that it is read and written."""

NUM_STAGES = "num_stages"

PURE = 1
"""TVM's `CallEffectKind` of operations that neither read nor change state; 0 only annotates."""


def name_of(call: Any) -> str:
    """The name of an operation; empty for what has none."""
    return str(getattr(getattr(call, "op", None), "name", ""))


def copied(stmt: Any) -> tuple[Any, Any] | None:
    """Source and target, as regions, of a statement that copies a tile."""
    call = getattr(stmt, "value", None) if isinstance(stmt, tirx.Evaluate) else None
    if call is None or name_of(call) != COPY or len(call.args) < 2:
        return None
    regions = call.args[0], call.args[1]
    return regions if all(name_of(one) in REGION for one in regions) else None


def buffer_of(region: Any) -> Any:
    """The buffer of a region."""
    return region.args[0].buffer


def is_whole(region: Any) -> bool:
    """Whether a region is all of its buffer."""
    load, extents = region.args[0], list(region.args[2:])
    shape = list(load.buffer.shape)[-len(extents) :] if extents else []
    starts = all(number(index) == 0 for index in load.indices)
    whole = [number(one) for one in extents] == [number(one) for one in shape]
    return starts and whole and len(extents) == len(load.buffer.shape)


def number(expr: Any) -> int | None:
    """The value of an integer literal."""
    return int(expr) if isinstance(expr, tirx.IntImm) else None


def int32(value: int) -> Any:
    return tirx.IntImm("int32", value)


def extent_of(expr: Any, bound: Mapping[Any, Any] | None = None) -> int | None:
    """The value of an extent, if that is a number however it is written, as `x + 64 - x` is; with
    the values of variables that are `bound`."""
    found = number(expr)
    if found is not None:
        return found
    whole = tirx.stmt_functor.substitute(expr, bound) if bound else expr
    return number(tvm.arith.Analyzer().simplify(whole))


def touched(stmt: Any) -> tuple[set[Any], set[Any]]:
    """The buffers that a statement, with all inside, may read and may write."""
    reads: set[Any] = set()
    writes: set[Any] = set()

    def look(node: Any) -> None:
        if isinstance(node, tirx.BufferLoad):
            reads.add(node.buffer)
        elif isinstance(node, tirx.BufferStore):
            writes.add(node.buffer)
        elif isinstance(node, tirx.Call) and name_of(node) in REGION:
            mask = number(node.args[1])
            if mask is None or mask & WRITE:
                writes.add(buffer_of(node))

    tirx.stmt_functor.post_order_visit(stmt, look)
    return reads, writes


def is_plain(stmt: Any) -> bool:
    """Whether all that a statement does to memory are stores, loads and tile operations: all else
    in it is arithmetic."""
    plain = True

    def look(node: Any) -> None:
        nonlocal plain
        if isinstance(node, tirx.Call) and name_of(node) not in REGION:
            plain &= name_of(node).startswith("tl.tileop.") or is_pure(node)

    tirx.stmt_functor.post_order_visit(stmt, look)
    return plain


def is_pure(call: Any) -> bool:
    """Whether an operation neither reads nor changes memory."""
    kind = call.op.get_attr("TCallEffectKind") if hasattr(call.op, "get_attr") else None
    return kind is not None and int(kind) <= PURE


def sequences(body: Any) -> Iterator[Sequence[Any]]:
    """The statements of each sequence, innermost ones first."""
    found: list[Sequence[Any]] = []

    def look(node: Any) -> None:
        if isinstance(node, tirx.SeqStmt):
            found.append(list(node.seq))

    tirx.stmt_functor.post_order_visit(body, look)
    yield from found


def with_sequences(body: Any, rewritten: Callable[[list[Any]], list[Any] | None]) -> Any:
    """A statement with other sequences inside, where `rewritten` gives one, an empty one too."""

    def change(node: Any) -> Any:
        found = rewritten(list(node.seq))
        if found is None:
            return None
        if not found:
            return tirx.Evaluate(int32(0))
        return found[0] if len(found) == 1 else tirx.SeqStmt(found)

    return tirx.stmt_functor.ir_transform(body, None, change, [f"{TIR}.SeqStmt"])


def uses_in(stmt: Any, buffer: Any) -> int:
    """How often a statement names a buffer, or its address."""
    count = 0

    def look(node: Any) -> None:
        nonlocal count
        if isinstance(node, (tirx.BufferLoad, tirx.BufferStore)) and node.buffer.same_as(buffer):
            count += 1
        if isinstance(node, tirx.Var) and node.same_as(buffer.data):
            count += 1

    tirx.stmt_functor.post_order_visit(stmt, look)
    return count


def with_buffers(stmt: Any, others: Mapping[Any, Any]) -> Any:
    """A statement that names other buffers of the same shape in the place of some."""

    def change(node: Any) -> Any:
        other = others.get(node.buffer)
        if other is None:
            return None
        if isinstance(node, tirx.BufferLoad):
            return tirx.BufferLoad(other, node.indices)
        return tirx.BufferStore(other, node.value, node.indices)

    kinds = [f"{TIR}.BufferLoad", f"{TIR}.BufferStore"]
    return tirx.stmt_functor.ir_transform(stmt, None, change, kinds)
