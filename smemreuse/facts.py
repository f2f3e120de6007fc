"""The facts of a kernel: functions of its other facts, each worked out once (`ir.memo`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

from smemreuse.ir.kernel import Buffer, Kernel, Stmt
from smemreuse.semantics.accesses import KernelAccesses, MemoryAccess
from smemreuse.semantics.pointers import Pointers
from smemreuse.semantics.undeclared import handed_to_undeclared

T = TypeVar("T")


class KernelFacts:
    """The facts of one kernel, each computed once and kept with the kernel."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self._before: KernelAccesses | None = None

    def learn_from(self, before: KernelFacts) -> None:
        """Takes over what was found out about the statements that were in this kernel before passes
        made it what it is."""
        self._before = before.memory

    @property
    def computed(self) -> Counter[str]:
        """How often each fact was worked out, by its name: once."""
        return self.kernel.memo.computed

    @property
    def memory(self) -> KernelAccesses:
        """Where pointers point, and what every statement accesses."""
        body = self.kernel.body
        return self.kernel.memo.once(KernelAccesses, lambda: KernelAccesses.of(body, self._before))

    @property
    def pointers(self) -> Pointers:
        """Where every pointer variable points."""
        return self.memory.pointers

    @property
    def accesses(self) -> Mapping[Stmt, tuple[MemoryAccess, ...]]:
        """The accesses of each statement itself, in the order in which it makes them."""
        return self.memory.by_statement

    @property
    def undeclared(self) -> Mapping[Buffer, Stmt]:
        """The buffers that device functions may access that nobody knows, each with the call."""
        return self.kernel.memo.once(
            handed_to_undeclared, lambda: handed_to_undeclared(self.accesses)
        )

    def ask(self, fact: Callable[..., T], *args: Hashable) -> T:
        """`fact(self, *args)`, worked out when it is first asked for."""
        return self.kernel.memo.once(fact, lambda: fact(self, *args), *args)


def facts_of(kernel: Kernel) -> KernelFacts:
    """The facts of a kernel: one object, kept with it."""
    return kernel.memo.once(KernelFacts, lambda: KernelFacts(kernel))
