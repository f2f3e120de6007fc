"""`ThreadSync` re-enacted: the pass that puts block barriers between accesses that may collide.

- `access_entries`: which accesses of a statement it records;
- `path_conditions`: which threads it takes to reach a statement, in which rounds of its loops;
- `active_threads`: these threads, and the conditions on what is not known;
- `unknowns`: which of these surely may hold;
- `prover_values`: which values its prover has, too;
- `models`: what is tried for values of which nothing is known;
- `elements`: which elements threads access by one, and whether those of two meet;
- `collisions`: which two entries it surely takes to collide under a plan;
- `candidates`: before which statements it may therefore put a barrier;
- `participants`: for whom that is, in a branch of some threads;
- `branch_barriers`: what it makes there of barriers that the kernel has.

What differs between versions are the fields of `ThreadSync`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class BoundValues(Enum):
    """What the pass makes of a variable that is bound to a value (`v = 63 - tx`)."""

    OWN = "own"
    """Each thread, and each round of a loop, has its own."""

    UNKNOWN = "unknown"
    """Nothing is known of its value, which all threads have in common: it takes `A[v]` and
    `A[v + 1]` for different elements."""

    COMMON = "common"
    """The value is known, and two threads are taken to have the same: what only holds for one
    thread with itself proves that two of them never collide, whatever they access."""


@dataclass(frozen=True)
class ThreadSync:
    """What one version of the pass recognizes, as lists, and what it gets wrong.

    - `copies`: operations; two writes by these are not compared.
    - `atomics`: operations; what is reached through the first operand of one is not compared with
      what is through that of another one.
    - `barrier_after`: operations that wait; directly after each of these the pass puts a barrier,
      whatever collides. It knows them by name: after a function that waits it puts none.
    - `barriers`: operations that it takes for a barrier of the block; a barrier that is for a warp
      or the cluster by its operand is none.
    - `bindings`: see there.
    - `keeps_where_all_agree`: a barrier in a branch on whose condition all threads agree stays
      there, also in rows of less than a warp, where the pass moves others before the branch.
    - `compares_bytes`: one index is one element only where elements are of one size; else the pass
      compares indices, also where a byte of one buffer lies in the middle of another's float.
    """

    copies: frozenset[str]
    atomics: frozenset[str]
    barrier_after: frozenset[str]
    barriers: frozenset[str]
    bindings: BoundValues = BoundValues.OWN
    keeps_where_all_agree: bool = True
    compares_bytes: bool = True

    def follows(self, op: str) -> bool:
        """Whether it puts a barrier directly after an operation, whatever collides."""
        return op in self.barrier_after
