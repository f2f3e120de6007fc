"""The columns of the table of effects: what one row says of an operation.

The default of every column is "does nothing": `Effect()` only computes a value. What the columns
mean is defined here and nowhere else; the rows are in `smemreuse.semantics.rows`. Positions of
operands count from 0, or from the end if they are negative. Sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call


class Engine(Enum):
    """The unit that executes an access, which decides what waits for its completion (rule 5)."""

    THREAD = "thread"
    CP_ASYNC = "cp.async"
    TMA_LOAD = "TMA load"
    TMA_STORE = "TMA store"
    WGMMA = "wgmma"
    TCGEN05 = "tcgen05"
    REMOTE = "another block"
    UNKNOWN_ASYNC = "asynchronous copy"


class Proxy(Enum):
    """How an access reaches memory; between the two a fence must stand (rule 11)."""

    GENERIC = "generic"
    ASYNC = "async"


# Operands ---------------------------------------------------------------------------------------


class OperandKind(Enum):
    """Identifies an operand by its kind instead of its position."""

    SHARED = "the first operand that points into shared memory"
    BARRIER = "the first operand that is an element of an mbarrier buffer"


Position: TypeAlias = int | OperandKind


@dataclass(frozen=True, slots=True)
class Fixed:
    """So many bytes."""

    bytes: int


@dataclass(frozen=True, slots=True)
class Strided:
    """`count` runs of so many bytes each, `stride` bytes apart."""

    bytes: int
    stride: int
    count: int

    @property
    def reach(self) -> int:
        """From the first byte to the last."""
        return self.stride * (self.count - 1) + self.bytes


@dataclass(frozen=True, slots=True)
class BytesIn:
    """A size in bytes that the operand at this position states."""

    at: int


@dataclass(frozen=True, slots=True)
class ElementsIn:
    """A size in elements of the pointer's type that the operand at this position states."""

    at: int


@dataclass(frozen=True, slots=True)
class Elements:
    """So many elements of the pointer's type, of those whose size in bytes is one of `sizes`: the
    operation moves other types in other units, or not at all."""

    number: int
    sizes: frozenset[int]


class Extent(Enum):
    """A size that only the pointer operand itself can tell."""

    CLAIMED = "what the access pointer claims"
    WHOLE = "anywhere in the buffer"


Size: TypeAlias = Fixed | Strided | BytesIn | ElementsIn | Elements | Extent


LANES = 32
"""The threads of a warp."""


@dataclass(frozen=True, slots=True)
class MatricesAt:
    """As many matrices as the operand at this position says: 1, 2 or 4."""

    at: int


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand through which memory is accessed.

    `access` None means what the access pointer's mask says. `certain`: whether all bytes are surely
    accessed. `swizzled`: the operand is aligned to the period of the swizzle (rule 7). `by_warp`:
    the lanes of a warp access the bytes together, and which lane takes which is unspecified.
    `matrices`: 8 lanes for each of so many, from the first on, name a row each, and the others
    nothing; None where all lanes access something.
    """

    at: Position
    access: Access | None
    size: Size = Extent.WHOLE
    certain: bool = True
    swizzled: bool = False
    by_warp: bool = False
    matrices: int | MatricesAt | None = None


# Synchronization --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wait:
    """Waits for all but the last groups of an engine's accesses: as many as operand `keep` says.

    Without that operand, or with `keep` None, for all but `left`. `of_no_group`: where it leaves no
    group a compiler may make of it a wait for accesses of no group, too.
    """

    engine: Engine
    keep: int | None = None
    of_no_group: bool = False
    left: int = 0


class Signal(Enum):
    """What an operation does to the mbarrier that it is handed."""

    INITIALIZE = "sets how many arrivals complete a phase: operand `count`"
    ARRIVE = "arrives, as often as operand `count` says, or once"
    EXPECT = "announces bytes: operand `count`"
    ARRIVE_AND_EXPECT = "announces bytes, then arrives"
    ARRIVE_WITH_COPIES = "arrives when the thread's cp.async copies so far have landed"
    HOLD_FOR_COPIES = "has one arrival more be due, and makes it when those copies have landed"
    ARRIVE_WITH_MATRICES = "arrives when the thread's tcgen05 operations so far are complete"
    COMPLETE_WITH_BYTES = "takes the bytes written off what is announced, when they have landed"
    WAIT = "waits until the phase of parity `count` is complete"
    ASK = "says whether the phase of parity `count` is complete, and waits for nothing"
    INVALIDATE = "makes it plain memory again, which may be initialized anew"


@dataclass(frozen=True, slots=True)
class Mbarrier:
    """An operation's effect on an mbarrier; `count` is the operand that states its number of
    arrivals.

    `hands_over` is False for an arrival that counts but orders no earlier access.
    """

    signal: Signal
    at: Position = 0
    count: int | None = None
    hands_over: bool = True


class Group(Enum):
    """Who meets at a barrier."""

    NOBODY = "nobody: it is emitted as nothing"
    WARP = "the threads of a warp, of operand `mask` alone if there is one"
    NAMED = "as many threads as operand `count` says; all of the block without it, or at -1"
    BLOCK = "all threads of the block"
    CLUSTER = "all threads of the cluster"
    GRID = "all threads of the grid"


@dataclass(frozen=True, slots=True)
class Meeting:
    """A barrier of threads.

    `waits` is False for one that is only arrived at, `arrives` for one only waited at; where both
    are, it takes part and orders nothing. `threads` is how many meet at a named barrier, and
    `number` that barrier's, where no operand says it. What the operation itself accesses comes
    before the barrier, unless it is one of those `within` it.
    """

    group: Group
    count: int | None = None
    mask: int | None = None
    identity: int | None = None
    arrives: bool = True
    waits: bool = True
    threads: int | None = None
    number: int | None = None

    @property
    def comes(self) -> bool:
        """Whether a thread counts as arrived at it, and is waited for by others."""
        return self.arrives or not self.waits


class Together(Enum):
    """Threads that execute an operation together, or it is undefined; the value is how many."""

    WARP = 32
    WARPGROUP = 128


@dataclass(frozen=True, slots=True)
class Butterfly:
    """Values that threads exchange through a workspace, the operand at `workspace`: the thread of
    index x along x writes element x - `first`, and reads those of which the number differs in one
    of the bits `distances`. There are `copies` of all that, so many elements apart (`stride`)."""

    workspace: int
    first: int
    distances: tuple[int, ...]
    copies: int = 1
    stride: int = 0


UNSAID = "its declaration does not say"
"""Why a function may have a barrier inside whose declaration leaves that open."""


class Leaving(Enum):
    """Where a thread goes on that does not go on with the next statement."""

    RETURN = "nowhere"
    BREAK = "after the loop"
    CONTINUE = "with the next iteration"


# Values -----------------------------------------------------------------------------------------


class Answer(Enum):
    """What threads get that hand in the same operands."""

    SAME = "the same"
    VARIES = "each its own, perhaps"


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A local that becomes a matrix descriptor: later instructions read a buffer through it."""

    local: int
    buffer: int


@dataclass(frozen=True, slots=True)
class Product:
    """A multiplication of matrices on tensor cores: the operand that is its shape, `m64n128k16`,
    and the one that is the type of what is multiplied. Of a sparse matrix one of `kept` elements
    along k is there."""

    shape: int
    dtype: int
    kept: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One row: all that an operation does beside computing its value.

    - `operands`: what memory it accesses. `arity`: the numbers of operands with which it is
      understood so, None for any; with others it counts as one without a row, but for its engine.
    - `handed_on`: an address among its other operands may be accessed through, as one that is not
      understood; so it is in every row that says of memory or order anything at all. In rows that
      do not, which only compute, operands are evaluated, and an address among them is not followed.
    - `by_reference`: an element among its operands may be taken by reference, as C++ passes it; all
      of its buffer is in reach from there. `swizzles`: whatever is handed on may be swizzled.
    - `follows`: it may access what memory holds the address of.
    - `engine`, `proxy`: who carries the accesses out, and how.
    - `commits`: it closes a group of this engine's accesses. `waits`: for such groups.
    - `mbarrier`, `meeting`, `fence`: how it orders accesses. `fence` is of the async proxy,
      `fences_mbarriers` one for what the thread has initialized of mbarriers alone.
    - `may_meet`: why it may have a barrier inside that nothing tells of; the answer says that it is
      assumed to have none.
    - `may_wait`: a thread may wait inside it for what others do, or for what is asynchronous, as no
      column tells. Nothing is proved by it, and nothing behind it is surely unordered.
    - `converges`: the lanes of a warp that take part wait for each other, and no access to memory
      is ordered by that (PTX says so of `bar.warp.sync` alone). Nothing is proved by it; and what
      it stands between is no certain race.
    - `together`: who must execute it all together, as PTX has it of `.aligned` (rule 12).
    - `lanes`: the operand that names the lanes of a warp who must, a bit each.
    - `butterfly`: who must execute it with whom, since they exchange values through memory.
    - `describes`: the local that it makes a descriptor. `reads_described`: it accesses what the
      descriptors among its operands stand for.
    - `within`: the barriers that its threads meet at inside it, in their order: what it accesses
      stands before some and after others. `meets_first`: the first of them comes before its first
      access, and one between any two accesses that depend on each other.
    - `atomic`: no two of its accesses to one element are a race.
    - `elsewhere`: it orders what is not in shared memory: in global or tensor memory, between
      kernels or GPUs. A barrier beside it may hand that order on to other threads.
    - `writes_locals`: positions of local or register operands that it writes, lvalues included.
    - `answer`: whether threads may differ in its result. `address`: whether the result may be an
      address that is in an operand. `leaves`: whether the thread goes on after it.
    - `keeps`: an address among its operands may be kept in memory.
    - `remote`: it reaches the shared memory of another block of the cluster (rule 10).
    - `matrices`: the operands that hold the two matrices which it multiplies, as registers,
      descriptors or addresses.
    - `product`: what tensor cores multiply in it. `instructions`: how many a thread issues for one
      element of its result, `special` of them to the special function units, where it only
      computes a value. `exchanges`: how often lanes of a warp exchange values in it. These four say
      what it costs, and nothing of what is right.
    - `words`: for a row that says that there is no effect, why. `unknown`: for an operation that is
      not covered, why; whatever depends on it is unproved. `declared`: for a row that is not this
      package's, on whose word it stands.
    """

    operands: tuple[Operand, ...] = ()
    arity: frozenset[int] | None = None
    handed_on: bool = False
    by_reference: bool = False
    swizzles: bool = False
    follows: bool = False
    engine: Engine = Engine.THREAD
    proxy: Proxy = Proxy.GENERIC
    commits: Engine | None = None
    waits: Wait | None = None
    mbarrier: Mbarrier | None = None
    meeting: Meeting | None = None
    within: tuple[Meeting, ...] = ()
    meets_first: bool = False
    may_meet: str = ""
    may_wait: bool = False
    converges: bool = False
    together: Together | None = None
    lanes: int | None = None
    butterfly: Butterfly | None = None
    fence: bool = False
    fences_mbarriers: bool = False
    describes: Descriptor | None = None
    reads_described: bool = False
    atomic: bool = False
    writes_locals: tuple[int, ...] = ()
    answer: Answer = Answer.SAME
    address: bool = False
    keeps: bool = False
    leaves: Leaving | None = None
    remote: bool = False
    matrices: tuple[int, int] | None = None
    product: Product | None = None
    instructions: float = 1.0
    special: int = 0
    exchanges: int = 0
    elsewhere: bool = False
    words: str = ""
    unknown: str = ""
    declared: str = ""

    @property
    def signals(self) -> Signal | None:
        """What it does to an mbarrier."""
        return None if self.mbarrier is None else self.mbarrier.signal

    @property
    def returns(self) -> bool:
        """Whether a thread does nothing more after it."""
        return self.leaves is Leaving.RETURN

    @property
    def is_asynchronous(self) -> bool:
        """Whether its accesses may outlast it (rule 5)."""
        return self.engine is not Engine.THREAD

    @property
    def orders(self) -> bool:
        """Whether it orders accesses, or what orders them depends on how often it is done."""
        return (
            self.meeting is not None
            or bool(self.within)
            or self.signals not in (None, Signal.ASK)
            or self.commits is not None
            or self.waits is not None
            or self.fence
            or self.fences_mbarriers
            or self.describes is not None
            or self.reads_described
            or self.leaves is not None
        )

    @property
    def meetings(self) -> tuple[Meeting, ...]:
        """All barriers of threads in it: those inside, then the one that it is."""
        return self.within if self.meeting is None else (*self.within, self.meeting)

    @property
    def synchronizes(self) -> bool:
        """Whether it matters to the order of accesses."""
        return self.orders or self.is_asynchronous

    @property
    def arrives(self) -> bool:
        """Whether it counts towards the phase of an mbarrier."""
        return self.mbarrier is not None and self.mbarrier.signal not in (
            Signal.INITIALIZE,
            Signal.WAIT,
            Signal.ASK,
            Signal.INVALIDATE,
        )

    @property
    def may_swizzle(self) -> bool:
        """Whether what reaches it by other operands than the listed ones may be swizzled."""
        return self.swizzles or any(operand.swizzled for operand in self.operands)

    @property
    def hands_on(self) -> bool:
        """Whether an address among operands that the row does not list may be accessed through."""
        return self.handed_on or bool(self.operands) or self.synchronizes


Row: TypeAlias = Effect | Callable[[Call], Effect | None]
"""An effect, or what finds it by the operands of the call: their number, a function's template
arguments. None where the call has a form that is not understood."""

Rows: TypeAlias = dict[str, Row]
"""Rows by the operation's script name, without the compiler's namespace: `tma_load`, `ptx.cp`."""


def unknown_effect(reason: str) -> Effect:
    """The effect of an operation that may do anything to its operands, at any later time."""
    return Effect(
        handed_on=True,
        follows=True,
        engine=Engine.UNKNOWN_ASYNC,
        answer=Answer.VARIES,
        address=True,
        swizzles=True,
        may_meet="it is not known",
        may_wait=True,
        unknown=reason,
    )
