"""`ThreadSync` re-enacted: the pass that puts block barriers between accesses that may collide.

- `access_entries`: which accesses of a statement it records;
- `path_conditions`: which threads it takes to reach a statement, in which rounds of its loops;
- `collisions`: which two entries it surely takes to collide under a plan;
- `candidates`: before which statements it may therefore put a barrier;
- `participants`: for whom that is, in a branch of some threads.

What differs between versions are the fields of `ThreadSync`.
"""

from __future__ import annotations

from dataclasses import dataclass

from smemreuse.semantics.effects import Effect, Engine


@dataclass(frozen=True)
class ThreadSync:
    """What one version of the pass recognizes, as lists.

    - `copies`: operations; two writes by these are not compared.
    - `barrier_after_waits`: engines; directly after each wait for one of these the pass puts a
      barrier, whatever collides.
    """

    copies: frozenset[str]
    barrier_after_waits: frozenset[Engine]

    def follows(self, effect: Effect) -> bool:
        """Whether it puts a barrier directly after an operation, whatever collides."""
        return effect.waits is not None and effect.waits.engine in self.barrier_after_waits
