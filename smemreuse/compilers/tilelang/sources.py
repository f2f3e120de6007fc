"""Which line of the user's Python each statement of a lowered kernel comes from.

TileLang notes the line of every statement when it elaborates a function, in spans that take
no part in comparisons. There they are those of the statement, or of a `with` around it. Passes keep
the span of what they leave alone; what they build anew they often give that of a loop around it, or
of TileLang's own Python, or none. So a span that is the head of a block of Python counts for none,
and any other one is believed only where the function, as it was elaborated, bears it out:

1. The statement there touches all of the function's shared buffers that the lowered one touches, in
   the same direction. Passes make an access to a buffer of one that the user has written.
2. Without such a span, the line is that of the only statement that touches all of these.
3. What touches none of them is from the line of its span if a tile operation stands there, or the
   same operation.

Else nothing is said; nor is a line in TileLang's own files ever told.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import tilelang

from smemreuse.compilers.live import LiveVisitor
from smemreuse.compilers.tilelang.installed import module
from smemreuse.compilers.tilelang.visitor import tirx
from smemreuse.facts import facts_of
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Load, Pointer, Var
from smemreuse.ir.kernel import Buffer, Evaluate, Kernel, Stmt, Store, nodes_of, walk_statements
from smemreuse.ir.source import SourceLine, name_source
from smemreuse.semantics.accesses import MemoryAccess

Touch = tuple[str, Access]
"""A buffer, by its name, that is read or written."""

Touches = frozenset[Touch]

_OWN = Path(tilelang.__file__).parent
_TILE_OPERATION = "tl.tileop."
_REGION = "tl.region"
_READS, _WRITES = 1, 2  # the bits of a region's mask
_SHARED = "shared"

_WORD = re.compile(r"\s*([^\W\d]\w*|[^\s#])")
_HEADS = frozenset(
    {"with", "for", "while", "if", "elif", "else", "def", "class", "async", "try", "match", "case"}
    | {"except", "finally", "@"}
)

_span_of: Any = getattr(module("ir"), "get_stmt_span", None)
"""The span of a statement, None where it has none; missing where TileLang notes no lines."""


@dataclass(frozen=True)
class Written:
    """A statement as it was elaborated; `source` is None in TileLang's own files."""

    source: SourceLine | None
    operation: str
    touches: Touches

    @property
    def is_tile_operation(self) -> bool:
        return self.operation.startswith(_TILE_OPERATION)


@dataclass(frozen=True)
class SourceFinder:
    """Finds the lines of a lowered function in the one that was elaborated, None if not known."""

    elaborated: Any

    @cached_property
    def _leaves(self) -> Sequence[Written]:
        if _span_of is None or self.elaborated is None:
            return ()
        return tuple(_leaves(self.elaborated.body))

    @cached_property
    def _shared(self) -> frozenset[str]:
        return frozenset(name for leaf in self._leaves for name, _ in leaf.touches)

    def __call__(self, reader: LiveVisitor, kernels: Sequence[Kernel]) -> None:
        """Writes into the statements of kernels, as `reader` has read them, where they are from."""
        if not self._leaves:
            return
        for kernel in kernels:
            for stmt, touched in self._touched(kernel):
                found = self._source(reader.nodes[reader.places[stmt]], touched)
                if found is not None:
                    name_source(stmt, found)

    def _touched(self, kernel: Kernel) -> Iterator[tuple[Stmt, Touches]]:
        """What each statement touches of the function's own shared buffers, through a descriptor
        too: through one that stands for several buffers, all of them."""
        accesses = facts_of(kernel).accesses
        described: dict[Buffer | Var, set[Touch]] = {}
        for one in chain.from_iterable(accesses.values()):
            if one.descriptor is not None:
                described.setdefault(one.descriptor, set()).update(self._touches(one))
        for stmt in walk_statements(kernel.body):
            if isinstance(stmt, (Evaluate, Store)):
                own = (touch for one in accesses.get(stmt, ()) for touch in self._touches(one))
                used = (described.get(one, ()) for one in _named(stmt)) if described else ()
                yield stmt, frozenset((*own, *chain.from_iterable(used)))

    def _touches(self, access: MemoryAccess) -> Iterator[Touch]:
        name = access.buffer.name
        return ((name, way) for way in _ways(access.access) if name in self._shared)

    def _source(self, node: Any, touched: Touches) -> SourceLine | None:
        noted = _source_of(node)
        if not touched:
            return noted if noted is not None and self._bears_out(noted, node) else None
        found = {leaf.source for leaf in self._leaves if touched <= leaf.touches}
        if noted in found:
            return noted
        return found.pop() if len(found) == 1 else None

    def _bears_out(self, noted: SourceLine, node: Any) -> bool:
        operation = _operation(node)
        there = [leaf for leaf in self._leaves if leaf.source == noted]
        return any(leaf.is_tile_operation or leaf.operation == operation for leaf in there)


def _named(stmt: Stmt) -> Iterator[Buffer | Var]:
    """The buffers and variables that a statement names."""
    for node in nodes_of(stmt):
        if isinstance(node, (Load, Pointer)):
            yield node.buffer
        elif isinstance(node, Var):
            yield node


def _ways(access: Access) -> tuple[Access, ...]:
    return (Access.READ, Access.WRITE) if access is Access.READ_WRITE else (access,)


def _source_of(node: Any) -> SourceLine | None:
    """The line of a statement's span, if that is the user's."""
    span = _span_of(node)
    if span is None or int(span.line) < 1:
        return None
    file, line = str(span.source_name.name), int(span.line)
    if Path(file).is_relative_to(_OWN) or not _is_plain(linecache.getline(file, line)):
        return None
    return SourceLine.of(file, line)


def _is_plain(python: str) -> bool:
    """Whether a line of Python is there, and is no head of a block."""
    word = _WORD.match(python)
    return word is not None and word[1] not in _HEADS


def _operation(node: Any) -> str:
    """The name of the operation that a statement evaluates; empty for any other."""
    value = getattr(node, "value", None) if isinstance(node, tirx.Evaluate) else None
    return str(getattr(getattr(value, "op", None), "name", ""))


def _leaves(body: Any) -> Iterator[Written]:
    """The statements of an elaborated function that touch memory or synchronize."""
    found: list[Any] = []

    def look(node: Any) -> None:
        if isinstance(node, (tirx.Evaluate, tirx.BufferStore)):
            found.append(node)

    tirx.stmt_functor.post_order_visit(body, look)
    names = _names(body)
    for node in found:
        yield Written(_source_of(node), _operation(node), frozenset(_touches(node, names)))


def _names(body: Any) -> Mapping[Any, str]:
    """The shared buffers of a function by the variables that hold their addresses."""
    found: dict[Any, str] = {}

    def look(node: Any) -> None:
        for buffer in _buffers(node):
            if str(buffer.scope()).startswith(_SHARED):
                found[buffer.data] = str(buffer.name)

    tirx.stmt_functor.post_order_visit(body, look)
    return found


def _buffers(node: Any) -> Iterable[Any]:
    if isinstance(node, (tirx.BufferLoad, tirx.BufferStore)):
        return (node.buffer,)
    return tuple(getattr(node, "alloc_buffers", ()))


def _touches(stmt: Any, names: Mapping[Any, str]) -> Iterator[Touch]:
    """What a statement touches; an operand that is no region may be read and written."""
    both: tuple[Access, ...] = (Access.READ, Access.WRITE)
    ways: dict[Any, tuple[Access, ...]] = {}
    if isinstance(stmt, tirx.BufferStore):
        if stmt.buffer.data in names:
            yield names[stmt.buffer.data], Access.WRITE
        both = (Access.READ,)
    seen: list[Any] = []
    tirx.stmt_functor.post_order_visit(stmt, seen.append)
    for node in seen:
        if isinstance(node, tirx.Call) and getattr(node.op, "name", "") == _REGION:
            mask = int(node.args[1])
            masked = ((_READS, Access.READ), (_WRITES, Access.WRITE))
            ways[node.args[0]] = tuple(way for bit, way in masked if mask & bit)
    for node in seen:
        data = node.buffer.data if isinstance(node, tirx.BufferLoad) else node
        if isinstance(data, tirx.Var) and data in names:
            for way in ways.get(node, both):
                yield names[data], way
