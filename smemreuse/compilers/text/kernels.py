"""Finds the device kernels in a function body; shared by the readers of text and of live TIR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    Allocate,
    Attr,
    Bind,
    Block,
    Buffer,
    Declare,
    Kernel,
    Stmt,
    nested_blocks,
    walk_statements,
)
from smemreuse.semantics.accesses import accesses_of
from smemreuse.semantics.pointers import find_pointers


def split_kernels(
    name: str, body: Block, attrs: Mapping[str, object], version: str
) -> list[Kernel]:
    """The device kernels of a function: none for a host function, usually one.

    A function with several outermost thread launches holds several kernels, planned separately
    (rule 8, apache/tvm issue 14557); an allocation made outside of them goes to those that touch
    it. The second kernel of `f` is called `f#1`.
    """
    launches = list(_launches(body))
    if not launches:
        allocates_shared = any(
            isinstance(stmt, Allocate) and stmt.buffer.scope.startswith("shared")
            for stmt in walk_statements(body)
        )
        return [Kernel(name, body, attrs, version)] if allocates_shared else []
    if len(launches) == 1:
        return [Kernel(name, body, attrs, version)]
    inside = {stmt for launch in launches for stmt in walk_statements((launch,))}
    outside = [stmt for stmt in walk_statements(body) if stmt not in inside]
    kernels = []
    for index, launch in enumerate(launches):
        prologue = tuple(_prologue(outside, launch))
        kernel_name = f"{name}#{index}" if index else name
        kernels.append(Kernel(kernel_name, (*prologue, launch), attrs, version))
    return kernels


def _launches(block: Block) -> Iterator[Attr]:
    for stmt in block:
        if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT:
            yield stmt
        else:
            for inner in nested_blocks(stmt):
                yield from _launches(inner)


def _prologue(outside: list[Stmt], launch: Attr) -> Iterator[Stmt]:
    """Definitions around the launches, with the allocations that this launch touches."""
    definitions = tuple(stmt for stmt in outside if isinstance(stmt, (Allocate, Declare, Bind)))
    touched = _touched_buffers((*definitions, launch), launch)
    for stmt in definitions:
        if not isinstance(stmt, Allocate) or stmt.buffer in touched:
            yield stmt


def _touched_buffers(body: Block, within: Stmt) -> set[Buffer]:
    pointers = find_pointers(body)
    return {
        access.buffer
        for stmt in walk_statements((within,))
        for access in accesses_of(stmt, pointers)
    }
