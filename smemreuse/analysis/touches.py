"""Which allocations a statement or expression touches (rule 1: every access counts).

The order is that of TVM's visitors: a store's value, then its indices, then its target; a load's
indices before the load itself. A touch is found wherever a shared allocation is named, so an
intrinsic that nobody has heard of still touches what it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, children, walk
from smemreuse.ir.kernel import Bind, Block, Buffer, Store, expressions_of, walk_statements
from smemreuse.results.sequence import Touch
from smemreuse.semantics.foreign import FOREIGN, returns_address

Aliases = Mapping[Var, tuple[Buffer, ...]]
"""Handle variables bound to addresses inside shared allocations."""

_RW_MASK = {1: Access.READ, 2: Access.WRITE, 3: Access.READ_WRITE}

# Calls whose result is an address if an operand is one; only computing, no access to memory.
_ARITHMETIC = ("add", "sub", "mul", "div", "mod", "floordiv", "floormod", "min", "max", "cast")
_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right", "reinterpret")
_POINTERS = ("tvm_access_ptr", "address_of", "handle_add_byte_offset")
_CHOICES = ("if_then_else", "select", "let")
_ADDRESS_OPS = frozenset((*_POINTERS, *_ARITHMETIC, *_BITWISE, *_CHOICES))
# Those whose result is a truth value, never an address.
_TESTS = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"))


def find_aliases(body: Block) -> Aliases:
    """Variables bound to an address, each with the allocations that the address may be in.

    Without them a pointer kept in a variable would hide the accesses made through it.
    """
    aliases: dict[Var, tuple[Buffer, ...]] = {}
    for stmt in walk_statements(body):
        if isinstance(stmt, Bind):
            through_calls = stmt.may_be_address or _calls_for_address(stmt.value)
            found = _addressed(stmt.value, aliases, through_calls=through_calls)
            buffers = tuple(dict.fromkeys(found))
            if buffers:
                aliases[stmt.var] = buffers
    return aliases


def _calls_for_address(value: Expr) -> bool:
    """Whether a function is called whose result, of a type that is no handle, may be an address."""
    calls = (node for node in walk(value) if isinstance(node, Call) and node.op in FOREIGN)
    return any(map(returns_address, calls))


def _addressed(value: Expr, aliases: Aliases, *, through_calls: bool) -> Iterator[Buffer]:
    """Allocations whose address, not whose contents, an expression carries.

    What an unknown call gives back may be one of the pointers that it was handed, if it gives
    back a pointer at all (`through_calls`).
    """
    if isinstance(value, Pointer):
        yield from _storage(value.buffer, aliases)
    elif isinstance(value, Var):
        yield from aliases.get(value, ())
    elif isinstance(value, Call) and value.op not in _TESTS:
        if value.op in _ADDRESS_OPS or through_calls:
            aliases = _with_let(value, aliases)
            for operand in _address_operands(value):
                if value.op == "address_of" and isinstance(operand, Load):
                    yield from _storage(operand.buffer, aliases)
                else:
                    yield from _addressed(operand, aliases, through_calls=through_calls)


def _address_operands(call: Call) -> tuple[Expr, ...]:
    """The operands whose addresses a call's result may carry."""
    if call.op == "tvm_access_ptr" and len(call.args) == 5:
        return call.args[1:2]  # not what its offset and its extent are computed from
    if call.op in ("if_then_else", "select"):
        return call.args[1:]
    return call.args


def _with_let(call: Call, aliases: Aliases) -> Aliases:
    """The aliases inside a call: `let(p, address, body)` brings one more."""
    if call.op != "let" or len(call.args) != 3 or not isinstance(call.args[0], Var):
        return aliases
    found = _addressed(call.args[1], aliases, through_calls=True)
    return {**aliases, call.args[0]: tuple(dict.fromkeys(found))}


def _storage(buffer: Buffer, aliases: Aliases) -> tuple[Buffer, ...]:
    storage = buffer.storage
    return aliases.get(storage, ()) if isinstance(storage, Var) else (storage,)


def touches_of(expr: Expr, aliases: Aliases, access: Access | None = None) -> Iterator[Touch]:
    """Touches made by evaluating `expr`: contents that it reads, addresses that it hands on.

    `access` is what is done through an address, where an access pointer around it says so.
    """
    if isinstance(expr, (Var, Pointer)):
        found = aliases.get(expr, ()) if isinstance(expr, Var) else _storage(expr.buffer, aliases)
        for buffer in found:
            yield Touch(buffer, access or Access.READ_WRITE, expr)
    elif isinstance(expr, Load):
        yield from _element(expr, aliases, Access.READ)
    elif isinstance(expr, Call):
        access = _masked(expr) or (access if expr.op in _ADDRESS_OPS else None)
        behind = _address_operands(expr)
        for operand in expr.args:
            if expr.op == "address_of" and isinstance(operand, Load):
                yield from _element(operand, aliases, access or Access.READ_WRITE)
            else:
                yield from touches_of(operand, aliases, access if operand in behind else None)


def _element(load: Load, aliases: Aliases, access: Access) -> Iterator[Touch]:
    """An element of a buffer, after what its indices read."""
    for index in children(load):
        yield from touches_of(index, aliases)
    for buffer in _storage(load.buffer, aliases):
        yield Touch(buffer, access, load)


def _masked(call: Call) -> Access | None:
    """What an access pointer's rw mask says; a mask that is no constant may mean anything."""
    if call.op != "tvm_access_ptr" or len(call.args) != 5:
        return None
    mask = call.args[4]
    if isinstance(mask, Const) and isinstance(mask.value, int):
        return _RW_MASK.get(mask.value, Access.READ_WRITE)
    return Access.READ_WRITE


def touches_of_bind(bind: Bind, aliases: Aliases) -> Iterator[Touch]:
    """Touches where a variable is bound. An address merely computed counts where it is used."""
    return _touches_of_computing(bind.value, aliases)


def _touches_of_computing(expr: Expr, aliases: Aliases) -> Iterator[Touch]:
    """As `touches_of`, without the addresses that `expr` only computes with."""
    if isinstance(expr, Load) or (
        isinstance(expr, Call) and expr.op not in _ADDRESS_OPS and expr.op not in _TESTS
    ):
        yield from touches_of(expr, aliases)
    elif isinstance(expr, Call):
        aliases = _with_let(expr, aliases)
        for operand in expr.args:
            is_place = expr.op == "address_of" and isinstance(operand, Load)
            for part in children(operand) if is_place else (operand,):
                yield from _touches_of_computing(part, aliases)


def touches_of_store(store: Store, aliases: Aliases) -> Iterator[Touch]:
    """Touches of a store: of its value and indices, then of the buffer it writes."""
    for expr in expressions_of(store):
        yield from touches_of(expr, aliases)
    for buffer in _storage(store.buffer, aliases):
        yield Touch(buffer, Access.WRITE, store)
