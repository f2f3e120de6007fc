"""Which global memory a statement accesses: how many bytes, and where, as expressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smemreuse.advisor.instructions import lanes_of, lanes_of_value
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import Buffer, Evaluate, Stmt, Store, element_bits, nodes_of
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Effect, Engine
from smemreuse.semantics.elements import addressed_element, claimed_bytes, is_typed
from smemreuse.semantics.table import effect_of

_COPIES = (Engine.TMA_LOAD, Engine.TMA_STORE, Engine.CP_ASYNC, Engine.UNKNOWN_ASYNC)
_DESCRIPTOR = "_desc"


@dataclass(frozen=True, eq=False)
class GlobalAccess:
    """An access to global memory: `bytes` of each thread, or of the whole operation, at `places`.

    `name` is the tensor. `into` is the shared buffer that an asynchronous load fills, None for
    loads to registers.
    """

    node: Expr | Stmt
    name: str
    bytes: float
    places: tuple[Expr, ...]
    written: bool = False
    by_thread: bool = True
    into: Buffer | None = None

    @property
    def by_engine(self) -> bool:
        """Whether one thread has it all loaded."""
        return not self.by_thread


def global_accesses(stmt: Stmt, accesses: Sequence[MemoryAccess]) -> Iterator[GlobalAccess]:
    """The global accesses of a statement; `accesses` are its known accesses to the kernel's
    allocations.
    """
    if isinstance(stmt, Store) and stmt.buffer.scope == "global":
        size = _element_bytes(stmt.buffer, stmt.indices)
        yield GlobalAccess(stmt, _name(stmt.buffer), size, _first(stmt.indices), written=True)
    for load in nodes_of(stmt):
        if isinstance(load, Load) and load.buffer.scope == "global":
            size = _element_bytes(load.buffer, load.indices)
            yield GlobalAccess(load, _name(load.buffer), size, _first(load.indices))
    if isinstance(stmt, Evaluate) and isinstance(stmt.value, Call):
        effect = effect_of(stmt.value)
        if effect.engine in _COPIES and effect.operands:
            yield from _copied(stmt.value, effect, accesses)
        elif effect.atomic:
            yield from _updated(stmt.value)


def _copied(call: Call, effect: Effect, accesses: Sequence[MemoryAccess]) -> Iterator[GlobalAccess]:
    """The global side of a copy between global and shared memory, with the bytes of its shared
    side.
    """
    shared = next((arg for arg in call.args if _shared_buffer(arg) is not None), None)
    if shared is None:
        return
    buffer = _shared_buffer(shared)
    own = [one.footprint for one in accesses if one.buffer is buffer]
    places: list[Expr] = []
    names: list[str] = []
    for arg in call.args:
        if arg is shared or isinstance(arg, Load):
            continue
        base, place = _pointed(arg)
        names += [base] if base else []
        places += [place] if place is not None else []
    yield GlobalAccess(
        call,
        names[0].removesuffix(_DESCRIPTOR) if names else "?",
        sum(one.size * one.count for one in own),
        tuple(places),
        written=effect.engine is Engine.TMA_STORE,
        by_thread=effect.engine is Engine.CP_ASYNC,
        into=None if effect.engine is Engine.TMA_STORE else buffer,
    )


def _updated(call: Call) -> Iterator[GlobalAccess]:
    """An atomic operation on global memory: read and written where L2 is.

    What its pointer claims is one element, also where a vector is added to it.
    """
    lanes = max((lanes_of_value(arg) for arg in call.args), default=1)
    for arg in call.args:
        element = addressed_element(arg) or (arg if isinstance(arg, Load) else None)
        if element is not None and element.buffer.scope == "global":
            size = lanes * _element_bytes(element.buffer, element.indices)
            yield GlobalAccess(call, _name(element.buffer), size, element.indices, written=True)
            return
        base, place = _pointed(arg)
        if base and is_typed(arg) and _shared_buffer(arg) is None and place is not None:
            claimed = claimed_bytes(arg)
            size = lanes * (claimed[0] if claimed else 4.0)
            yield GlobalAccess(call, base, size, (place,), written=True)
            return


def _pointed(arg: Expr) -> tuple[str, Expr | None]:
    """The tensor and the place in it that an operand names; coordinates of a tensor map
    name none.
    """
    if isinstance(arg, Var):
        return arg.name, None
    if isinstance(arg, Pointer):
        return _name(arg.buffer), None
    if isinstance(arg, Const):
        return "", arg
    element = addressed_element(arg)
    if element is not None:
        return _name(element.buffer), element.indices[-1] if element.indices else None
    if isinstance(arg, Call) and is_typed(arg) and len(arg.args) > 2:
        return _pointed(arg.args[1])[0], arg.args[2]
    return "", arg


def _shared_buffer(arg: Expr) -> Buffer | None:
    """The shared buffer that an operand points into."""
    element = addressed_element(arg)
    if element is not None:
        found: Expr | Buffer = element.buffer
    elif isinstance(arg, Call) and is_typed(arg) and len(arg.args) > 1:
        found = arg.args[1]
    else:
        found = arg
    if isinstance(found, Pointer):
        found = found.buffer
    if not isinstance(found, Buffer):
        return None
    storage = found.storage
    return storage if isinstance(storage, Buffer) and storage.scope.startswith("shared") else None


def _first(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The first element of each index: where a vector begins."""
    return tuple(
        one.args[0] if isinstance(one, Call) and one.op == "ramp" else one for one in indices
    )


def _name(buffer: Buffer) -> str:
    return buffer.storage.name


def _element_bytes(buffer: Buffer, indices: tuple[Expr, ...]) -> float:
    return lanes_of(indices) * element_bits(buffer.dtype) / 8
