"""Random modules for the merge passes, described without any compiler, and their strategies.

A module is a list of launches. Every access is made at index 0, or at an index that is computed by
a call: the passes of Apache TVM add a buffer's offset to its indices, so where the index was 0 the
offset can be read back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis import strategies as st

DTYPES = {
    "int8": 1,
    "float8_e4m3fn": 1,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "float32": 4,
    "float64": 8,
    "float16x2": 4,
    "float16x8": 16,
    "float32x4": 16,
}
"""Element types, with their bytes."""

MAX_BUFFERS = 10
MAX_DEPTH = 4
_EXTENTS = (1, 2, 3, 16, 17, 100, 128, 500, 512, 1024, 4096, 8192)


@dataclass(frozen=True)
class Buf:
    """A shared buffer; `align` is its `data_alignment`, or None for TVM's default."""

    name: str
    dtype: str
    extent: int
    scope: str
    align: int | None = None


@dataclass(frozen=True)
class Use:
    """A mention of a buffer in an expression.

    `how` is `load`, `view` (a load through a view of another type), `data` (the bare pointer),
    `access` (an access pointer) or `address` (of an element). `index` is what the index of a
    load or address is computed from.
    """

    how: str
    buf: Buf
    index: Use | None = None


@dataclass(frozen=True)
class Alloc:
    buf: Buf


@dataclass(frozen=True)
class Write:
    """A store to `buf`, or to a view of it, of a value computed from `uses`."""

    buf: Buf
    uses: tuple[Use, ...]
    through_view: bool = False


@dataclass(frozen=True)
class Run:
    """A call that is evaluated, and handed `uses`."""

    uses: tuple[Use, ...]


@dataclass(frozen=True)
class Let:
    """A variable bound to a value computed from `use`, or to the address that it is."""

    use: Use


@dataclass(frozen=True)
class Scope:
    """A statement with one or two blocks: `for`, `while`, `if`, or the key of an attribute.

    `use` is what the extent or the condition is computed from.
    """

    kind: str
    body: tuple[Stmt, ...]
    use: Use | None = None
    orelse: tuple[Stmt, ...] = ()


Stmt: TypeAlias = "Alloc | Write | Run | Let | Scope"


@dataclass(frozen=True)
class Launch:
    body: tuple[Stmt, ...]

    def buffers(self) -> list[Buf]:
        return [stmt.buf for stmt in walk(self.body) if isinstance(stmt, Alloc)]


@dataclass(frozen=True)
class Dialect:
    """What a compiler's modules may have in them."""

    attributes: tuple[str, ...] = ("extern_scope", "pragma")
    alignments: tuple[int | None, ...] = (None,)
    least_bytes: int = 1
    least_extent: int = 1
    binds_pointers: bool = True


def walk(block: tuple[Stmt, ...]) -> Iterator[Stmt]:
    for stmt in block:
        yield stmt
        if isinstance(stmt, Scope):
            yield from walk(stmt.body)
            yield from walk(stmt.orelse)


@dataclass
class _Drawing:
    """A launch in the making."""

    draw: st.DrawFn
    dialect: Dialect
    prefix: str
    scope: str
    made: int = 0
    bufs: list[Buf] = field(default_factory=list)

    def buf(self) -> Buf:
        draw = self.draw
        dtype = draw(st.sampled_from(sorted(DTYPES)))
        least = -(-self.dialect.least_bytes // DTYPES[dtype])
        least = max(least, self.dialect.least_extent)
        extent = max(least, draw(st.sampled_from(_EXTENTS) | st.integers(1, 8192)))
        letter = draw(st.sampled_from("abc"))  # names break ties, so they are not in order
        self.made += 1
        align = draw(st.sampled_from(self.dialect.alignments))
        return Buf(f"{letter}{self.prefix}{self.made}", dtype, extent, self.scope, align)

    def use(self, bufs: list[Buf], depth: int = 0) -> Use:
        hows = ("load", "load", "load", "view", "data", "access", "access", "address")
        how = self.draw(st.sampled_from(hows))
        index = None
        if how in ("load", "address") and depth == 0 and self.draw(st.integers(0, 5)) == 0:
            index = self.use(bufs, depth + 1)
        return Use(how, self.draw(st.sampled_from(bufs)), index)

    def uses(self, bufs: list[Buf], least: int = 0) -> tuple[Use, ...]:
        count = self.draw(st.integers(least, 3))
        return tuple(self.use(bufs) for _ in range(count))

    def block(self, bufs: list[Buf], depth: int) -> tuple[Stmt, ...]:
        """Statements over the buffers that are in scope; one allocated here is gone behind it."""
        here = list(bufs)
        found: list[Stmt] = []
        for _ in range(self.draw(st.integers(1, 5 if depth else 9))):
            found.append(self.stmt(here, depth))
        return tuple(found)

    def stmt(self, here: list[Buf], depth: int) -> Stmt:
        kinds = ["write", "write", "run"]
        if self.made < MAX_BUFFERS:
            kinds += ["alloc"]
        if depth < MAX_DEPTH:
            kinds += ["for", "for", "if", "while", "attribute"]
        if depth > 0:
            kinds += ["let"]
        kind = self.draw(st.sampled_from(kinds))
        if not here or kind == "alloc":
            here.append(self.buf())
            return Alloc(here[-1])
        if kind == "write":
            target = self.draw(st.sampled_from(here))
            return Write(target, self.uses(here), self.draw(st.integers(0, 5)) == 0)
        if kind == "run":
            return Run(self.uses(here, 1))
        if kind == "let":
            use = self.use(here)
            if not self.dialect.binds_pointers and use.how in ("data", "access", "address"):
                return Run((use,))
            return Let(use)
        return self.nested(kind, here, depth)

    def nested(self, kind: str, here: list[Buf], depth: int) -> Scope:
        use = self.use(here, 1) if self.draw(st.integers(0, 3)) == 0 else None
        orelse: tuple[Stmt, ...] = ()
        if kind == "attribute":
            kind, use = self.draw(st.sampled_from(self.dialect.attributes)), None
        body = self.block(here, depth + 1)
        if kind in ("if", "kWarpSpecializationScope") and self.draw(st.booleans()):
            orelse = self.block(here, depth + 1)
        return Scope(kind, body, use, orelse)


@st.composite
def modules(draw: st.DrawFn, dialect: Dialect, scopes: tuple[str, ...]) -> tuple[Launch, ...]:
    """One to three launches, each with two to ten buffers of one of `scopes`."""
    found = []
    for number in range(draw(st.sampled_from((1, 1, 2, 3)))):
        drawing = _Drawing(draw, dialect, "xyz"[number], draw(st.sampled_from(scopes)))
        top = [drawing.buf() for _ in range(draw(st.integers(2, 6)))]
        first: tuple[Stmt, ...] = tuple(Alloc(buf) for buf in top)
        found.append(Launch((*first, *drawing.block(top, 0))))
    return tuple(found)
