"""What a session leaves to the compiler's own merge: a fault of ours must not end a compilation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smemreuse.errors import PlanError, SmemReuseError
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Attr, Kernel, walk_statements
from smemreuse.semantics.pointers import views_beyond

STATED_BYTES = "tirx.dyn_smem_bytes"
"""The attribute with which a kernel states what its launch asks for, whatever it allocates."""


@dataclass(frozen=True)
class LeftToStock:
    """A function that the compiler's own pass has merged, by name, and why."""

    function: str
    reason: str


def left_to_stock(function: str, error: Exception) -> LeftToStock:
    """What to note of an error that kept us from merging a function."""
    own = isinstance(error, SmemReuseError)
    return LeftToStock(function, str(error) if own else f"{type(error).__name__}: {error}")


def require_sizes(kernels: Sequence[Kernel], scopes: Sequence[Sequence[str]]) -> None:
    """Raises `PlanError` where buffers may reach behind the bytes that they allocate (rule 9)."""
    for kernel, wanted in zip(kernels, scopes, strict=True):
        for reason in _unknown_sizes(kernel, wanted):
            raise PlanError(reason)


def _unknown_sizes(kernel: Kernel, scopes: Sequence[str]) -> Iterator[str]:
    """Reasons why the sizes of a kernel's merged allocations are unknown; empty if all
    are known.
    """
    if not scopes:
        return
    attributes = (stmt for stmt in walk_statements(kernel.body) if isinstance(stmt, Attr))
    if any(stmt.key == STATED_BYTES for stmt in attributes):
        yield f"{STATED_BYTES} states the bytes of its launch"
    for buffer in kernel.allocations():
        if buffer.scope in scopes and buffer.is_placeholder:
            yield f"{buffer.name} is allocated without a size"
    for view, buffer in views_beyond(kernel.body, facts_of(kernel).pointers):
        if buffer.scope in scopes:
            yield f"{view.name} is a view larger than {buffer.name}, which it shows"
