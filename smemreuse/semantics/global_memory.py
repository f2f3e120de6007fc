"""Which global memory may change while a kernel runs.

Parameters of a kernel do not overlap, which compilers take for granted (`tir.noalias`), but for
those of which its author says that they may (`T.annotate_restrict_buffers`). A variable made of one
names the same memory, and one that is loaded from somewhere may name any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Expr, Load, Pointer, Var, constant
from smemreuse.ir.kernel import Bind, Buffer, Declare, Stmt, Store, nodes_of
from smemreuse.semantics.effects import Effect, Engine
from smemreuse.semantics.elements import is_typed
from smemreuse.semantics.foreign import ADDRESS_TYPES
from smemreuse.semantics.table import calls_of, effect_of

Storage = Buffer | Var

_DESCRIPTOR = "_desc"
"""TileLang's name for the tensor map of a parameter ends so, and begins as the parameter's."""

NON_RESTRICT = "tl.non_restrict_params"
"""TileLang's attribute for parameters of which any two may overlap."""

_INTO_SHARED = (Engine.TMA_LOAD, Engine.CP_ASYNC)


def overlapping(attrs: Mapping[str, object]) -> frozenset[str]:
    """The names of the parameters of a kernel of which any two may overlap, by its attributes."""
    named = attrs.get(NON_RESTRICT)
    return frozenset(map(str, named)) if isinstance(named, (list, tuple)) else frozenset()


def changing_storages(
    statements: Sequence[Stmt], escaped: Set[Storage], may_overlap: Set[str] = frozenset()
) -> set[Storage]:
    """The storages of global memory, and pointer variables, whose contents may change.

    `escaped` are the storages whose address is taken, `may_overlap` the names of parameters of
    which any two may overlap.
    """
    names = _names(statements)
    storages = set(names)
    changing, anything = _written(statements, names, may_overlap)
    changing |= escaped & storages
    origins, unknown = _origins(statements)
    roots = {root for one in changing for root in _roots(one, origins)}
    if any(one.name in may_overlap for one in roots):
        roots |= _named(storages, may_overlap)
    if anything or roots & unknown:
        return storages | changing
    if changing & storages:
        roots |= unknown
    return changing | {one for one in storages if not roots.isdisjoint(_roots(one, origins))}


def _names(statements: Sequence[Stmt]) -> dict[Storage, set[str]]:
    """Every storage of global memory, with its own name and those of views of it."""
    found: dict[Storage, set[str]] = {}
    for stmt in statements:
        buffers = [stmt.buffer] if isinstance(stmt, (Declare, Store)) else []
        buffers += [node.buffer for node in nodes_of(stmt) if isinstance(node, (Load, Pointer))]
        for one in buffers:
            if one.scope == "global":
                found.setdefault(one.storage, {one.storage.name}).add(one.name)
    return found


def _named(storages: Iterable[Storage], names: Set[str]) -> set[Storage]:
    return {one for one in storages if one.name in names}


def _written(
    statements: Sequence[Stmt], names: Mapping[Storage, set[str]], may_overlap: Set[str]
) -> tuple[set[Storage], bool]:
    """The storages that are stored to or may be written by a callee, and whether any
    memory may be.
    """
    found: set[Storage] = set()
    for stmt in statements:
        if isinstance(stmt, Store) and stmt.buffer.scope == "global":
            found.add(stmt.buffer.storage)
        for call in calls_of(stmt):
            effect = effect_of(call)
            if effect.engine is Engine.TMA_STORE:
                stored = _described(call, names, may_overlap)
                if stored is None:
                    return found, True
                found |= stored
            found |= set(_handed(call, effect))
    return found, False


def _described(
    call: Call, names: Mapping[Storage, set[str]], may_overlap: Set[str]
) -> set[Storage] | None:
    """The storages that a TMA store may write, by the name of its tensor map; None means any."""
    maps = [one for one in call.args if isinstance(one, Var) and one not in names]
    if not maps:
        return set()
    name = maps[0].name
    if not name.endswith(_DESCRIPTOR):
        return None
    of = name.removesuffix(_DESCRIPTOR)
    others = _named(names, may_overlap) if of in may_overlap else set()
    return others | {
        one
        for one, known in names.items()
        if any(f"{name}_".startswith(f"{of}_") for name in known)
    }


def _handed(call: Call, effect: Effect) -> Iterator[Var]:
    """The variables that an operation may write through."""
    if is_typed(call) and len(call.args) == 5:
        if isinstance(call.args[1], Var) and constant(call.args[4]) != 1:
            yield call.args[1]
        return
    if effect.engine in _INTO_SHARED and not effect.unknown:
        return
    if not (effect.hands_on or effect.unknown):
        return
    read = {one.at for one in effect.operands if one.access is Access.READ}
    for at, operand in enumerate(call.args):
        if isinstance(operand, Var) and at not in read:
            yield operand


def _origins(statements: Sequence[Stmt]) -> tuple[dict[Var, set[Storage]], set[Storage]]:
    """The storages that each variable's address may come from, and the variables with any
    address.
    """
    origins: dict[Var, set[Storage]] = {}
    unknown: set[Storage] = set()
    for stmt in statements:
        if isinstance(stmt, Bind):
            made_of, is_known = _made_of(stmt.value)
            origins.setdefault(stmt.var, set()).update(made_of)
            if not is_known:
                unknown.add(stmt.var)
    return origins, unknown


def _made_of(value: Expr) -> tuple[set[Storage], bool]:
    """The storages and variables whose address a value may hold, and whether these are all."""
    if isinstance(value, Var):
        return {value}, True
    if isinstance(value, Pointer):
        return {value.buffer.storage}, True
    if isinstance(value, Load):
        return set(), value.buffer.dtype not in ADDRESS_TYPES
    if not isinstance(value, Call):
        return set(), True
    if value.op == "address_of" and isinstance(value.args[0], Load):
        return {value.args[0].buffer.storage}, True
    found: set[Storage] = set()
    is_known = not effect_of(value).unknown and not effect_of(value).follows
    for operand in value.args:
        made_of, known = _made_of(operand)
        found, is_known = found | made_of, is_known and known
    return found, is_known


def _roots(storage: Storage, origins: dict[Var, set[Storage]]) -> set[Storage]:
    """A storage, and all that it was made of."""
    found, left = {storage}, [storage]
    while left:
        one = left.pop()
        more = origins.get(one, set()) - found if isinstance(one, Var) else set()
        found |= more
        left += more
    return found
