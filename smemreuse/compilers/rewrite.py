"""Writes a live function anew: statements put in or left out, and everything else as it was.

A function is walked in the order in which a `LiveVisitor` read it, so that the numbers of its
statements are the visitor's places.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from smemreuse.errors import BackendError
from smemreuse.ir.kernel import THREAD_EXTENT

ARENA_NAMES = {"shared.dyn": "buf_dyn_shmem", "shared": "buf_shmem"}
"""What compilers call the arena of a scope."""


class LiveRewriter:
    """Rewrites one function with the statements of `tirx`, the compiler's own module.

    `before` and `after` are the statements that are put in at a place, `guards` the conditions of
    branches that are put around what is there, `removed` the places of statements that are left
    out. `merged` are the buffers whose allocations go, by `key` of each. `prologues` are put in at
    the head of each launch, in program order; where they are `nested`, each is a function of the
    statement that is its body.
    """

    def __init__(
        self,
        tirx: Any,
        *,
        before: Mapping[int, Sequence[Any]] | None = None,
        after: Mapping[int, Sequence[Any]] | None = None,
        guards: Mapping[int, Any] | None = None,
        removed: Collection[int] = (),
        merged: Collection[Any] = (),
        key: Callable[[Any], Any] = lambda buffer: buffer,
        prologues: Sequence[Sequence[Any]] | None = None,
        nested: bool = False,
    ):
        self._tirx = tirx
        self._before, self._after, self._guards = before or {}, after or {}, guards or {}
        self._removed = removed
        self._merged, self._key = merged, key
        self._prologues, self._nested = prologues, nested
        self._count = 0
        self._launches = 0
        self._is_inside = False

    def rewritten(self, func: Any) -> Any:
        """Raises `BackendError` where there is another number of launches than of prologues."""
        body = self._statement(func.body)
        if self._prologues is not None and self._launches != len(self._prologues):
            raise BackendError(
                f"found {self._launches} thread launches for {len(self._prologues)} kernels"
            )
        return func.with_body(body)

    def _statement(self, node: Any) -> Any:
        """What a statement becomes; the same object where nothing changes inside."""
        if isinstance(node, self._tirx.SeqStmt):
            children = [self._statement(child) for child in node.seq]
            return node if _same(children, node.seq) else self._tirx.SeqStmt(children)
        place, self._count = self._count, self._count + 1
        is_merged = _is(node, "AllocBuffer") and self._key(node.buffer) in self._merged
        if is_merged or place in self._removed:
            rewritten = self._tirx.Evaluate(self._tirx.IntImm("int32", 0))
        else:
            rewritten = self._with_bodies(node)
        if place in self._guards:
            rewritten = self._tirx.IfThenElse(self._guards[place], rewritten, None)
        before, after = self._before.get(place, ()), self._after.get(place, ())
        if not before and not after:
            return rewritten
        return self._tirx.SeqStmt([*before, rewritten, *after])

    def _with_bodies(self, node: Any) -> Any:
        tirx = self._tirx
        span = getattr(node, "span", None)
        if isinstance(node, tirx.AttrStmt):
            body = self._launch(node) if self._is_launch(node) else self._statement(node.body)
            if body.same_as(node.body):
                return node
            return tirx.AttrStmt(node.node, node.attr_key, node.value, body, span)
        if isinstance(node, tirx.IfThenElse):
            then = self._statement(node.then_case)
            orelse = None if node.else_case is None else self._statement(node.else_case)
            if _same([then, orelse], [node.then_case, node.else_case]):
                return node
            return tirx.IfThenElse(node.condition, then, orelse, span)
        if _is(node, "Allocate", "DeclBuffer", "LetStmt") and hasattr(node, "body"):
            return self._definition(node)
        if not isinstance(node, (tirx.For, tirx.While)):
            return node
        body = self._statement(node.body)
        if body.same_as(node.body):
            return node
        if isinstance(node, tirx.While):
            return tirx.While(node.condition, body, span)
        step = (node.step,) if hasattr(node, "step") else ()
        return tirx.For(
            *(node.loop_var, node.min, node.extent, node.kind, body, node.thread_binding),
            *(node.annotations, *step, span),
        )

    def _definition(self, node: Any) -> Any:
        """A statement whose body is what it defines something for."""
        tirx, body = self._tirx, self._statement(node.body)
        span = getattr(node, "span", None)
        if _is(node, "Allocate") and node.buffer_var in self._merged:
            return body
        if body.same_as(node.body):
            return node
        if _is(node, "DeclBuffer"):
            return tirx.DeclBuffer(node.buffer, body, span)
        if _is(node, "LetStmt"):
            return tirx.LetStmt(node.var, node.value, body, span)
        return tirx.Allocate(
            *(node.buffer_var, node.dtype, node.extents, node.condition, body),
            *(node.annotations, span),
        )

    def _is_launch(self, node: Any) -> bool:
        return not self._is_inside and node.attr_key == THREAD_EXTENT

    def _launch(self, node: Any) -> Any:
        """The body of an outermost thread axis, with the prologue of its launch."""
        index, self._launches = self._launches, self._launches + 1
        self._is_inside = True
        body = self._statement(node.body)
        self._is_inside = False
        prologues = self._prologues or ()
        if index >= len(prologues) or not prologues[index]:
            return body
        if self._nested:
            for define in reversed(prologues[index]):
                body = define(body)
            return body
        rest = list(body.seq) if isinstance(body, self._tirx.SeqStmt) else [body]
        return self._tirx.SeqStmt([*prologues[index], *rest])


def _is(node: Any, *kinds: str) -> bool:
    """Whether a node is of these kinds, which not every version of TIR has."""
    return type(node).__name__ in kinds


def _same(new: Sequence[Any], old: Sequence[Any]) -> bool:
    return all(
        one is other or (one is not None and one.same_as(other))
        for one, other in zip(new, old, strict=True)
    )
