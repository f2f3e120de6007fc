"""What is found out about a kernel: each fact once, by whoever asks first.

The idea is LibCST's `MetadataWrapper.resolve`: a fact is a function of the kernel's other facts,
and the wrapper remembers its answer. So rooms above add facts without being known here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from smemreuse.ir.kernel import Kernel, Stmt
from smemreuse.semantics.accesses import KernelAccesses, MemoryAccess
from smemreuse.semantics.pointers import Pointers

T = TypeVar("T")


class KernelFacts:
    """The facts of one kernel.

    `computed` counts how often each fact was worked out, by its name: once.
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.computed: Counter[str] = Counter()
        self._known: dict[tuple[Hashable, ...], Any] = {}
        self._before: KernelAccesses | None = None

    def learn_from(self, before: KernelFacts) -> None:
        """Takes over what was found out about the statements that were in this kernel before passes
        made it what it is."""
        self._before = before.memory

    @cached_property
    def memory(self) -> KernelAccesses:
        """Where pointers point, and what every statement accesses."""
        self.computed["memory"] += 1
        return KernelAccesses.of(self.kernel.body, self._before)

    @property
    def pointers(self) -> Pointers:
        """Where every pointer variable points."""
        return self.memory.pointers

    @property
    def accesses(self) -> Mapping[Stmt, tuple[MemoryAccess, ...]]:
        """The accesses of each statement itself, in the order in which it makes them."""
        return self.memory.by_statement

    def ask(self, fact: Callable[..., T], *args: Hashable) -> T:
        """`fact(self, *args)`, worked out when it is first asked for."""
        key = (fact, *args)
        if key not in self._known:
            self.computed[fact.__name__] += 1
            self._known[key] = fact(self, *args)
        found: T = self._known[key]
        return found


def facts_of(kernel: Kernel) -> KernelFacts:
    """The facts of a kernel, kept with it."""
    found = kernel.derived.get(KernelFacts)
    if not isinstance(found, KernelFacts):
        found = kernel.derived.setdefault(KernelFacts, KernelFacts(kernel))
        assert isinstance(found, KernelFacts)
    return found
