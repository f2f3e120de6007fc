"""Which allocations a statement or expression touches (rule 1: every access counts).

The order is that of TVM's visitors: a store's value, then its indices, then its target; a load's
indices before the load itself. A touch is found wherever a shared allocation is named, so an
intrinsic that nobody has heard of still touches what it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from smemreuse.model.expr import Call, Const, Expr, Load, Pointer, Var, children
from smemreuse.model.kernel import Bind, Block, Buffer, Store, expressions_of, walk_statements
from smemreuse.model.sequence import Access, Touch

Aliases = Mapping[Var, tuple[Buffer, ...]]
"""Handle variables bound to addresses inside shared allocations."""

_RW_MASK = {1: Access.READ, 2: Access.WRITE, 3: Access.READ_WRITE}


def find_aliases(body: Block) -> Aliases:
    """Variables bound to an address, each with the allocations that the address may be in.

    Without them a pointer kept in a variable would hide the accesses made through it.
    """
    aliases: dict[Var, tuple[Buffer, ...]] = {}
    for stmt in walk_statements(body):
        if isinstance(stmt, Bind):
            buffers = tuple(dict.fromkeys(_addressed(stmt.value, aliases)))
            if buffers:
                aliases[stmt.var] = buffers
    return aliases


def _addressed(value: Expr, aliases: Aliases) -> Iterator[Buffer]:
    """Allocations whose address, not whose contents, an expression carries."""
    if isinstance(value, Load):
        return
    if isinstance(value, Call) and value.op == "address_of":
        for argument in value.args:
            if isinstance(argument, Load):
                yield from _storage(argument.buffer, aliases)
        return
    if isinstance(value, Pointer):
        yield from _storage(value.buffer, aliases)
    elif isinstance(value, Var):
        yield from aliases.get(value, ())
    else:
        for child in children(value):
            yield from _addressed(child, aliases)


def _storage(buffer: Buffer, aliases: Aliases) -> tuple[Buffer, ...]:
    storage = buffer.storage
    return aliases.get(storage, ()) if isinstance(storage, Var) else (storage,)


def touches_of(expr: Expr, aliases: Aliases, access: Access | None = None) -> Iterator[Touch]:
    """Touches made by evaluating `expr`; `access` is imposed by an enclosing access pointer."""
    if isinstance(expr, Const):
        return
    if isinstance(expr, Var):
        for buffer in aliases.get(expr, ()):
            yield Touch(buffer, access or Access.READ_WRITE, expr)
        return
    if isinstance(expr, Pointer):
        for buffer in _storage(expr.buffer, aliases):
            yield Touch(buffer, access or Access.READ_WRITE, expr)
        return
    if isinstance(expr, Call) and expr.op == "tvm_access_ptr" and len(expr.args) == 5:
        access = _masked(expr.args[4])
    elif isinstance(expr, Call) and expr.op == "address_of":
        access = Access.READ_WRITE
    elif isinstance(expr, Load):
        for index in children(expr):
            yield from touches_of(index, aliases)
        for buffer in _storage(expr.buffer, aliases):
            yield Touch(buffer, access or Access.READ, expr)
        return
    for child in children(expr):
        yield from touches_of(child, aliases, access)


def _masked(mask: Expr) -> Access:
    """What an access pointer's rw mask says; a mask that is no constant may mean anything."""
    if isinstance(mask, Const) and isinstance(mask.value, int):
        return _RW_MASK.get(mask.value, Access.READ_WRITE)
    return Access.READ_WRITE


def touches_of_store(store: Store, aliases: Aliases) -> Iterator[Touch]:
    """Touches of a store: of its value and indices, then of the buffer it writes."""
    for expr in expressions_of(store):
        yield from touches_of(expr, aliases)
    for buffer in _storage(store.buffer, aliases):
        yield Touch(buffer, Access.WRITE, store)
