"""The statements of a kernel with others put in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smemreuse.ir.expr import Expr
from smemreuse.ir.kernel import (
    Attr,
    Block,
    Evaluate,
    For,
    If,
    Stmt,
    While,
    nested_blocks,
    walk_statements,
)
from smemreuse.results.mending import Edit, Guard, Removal


def last_of(block: Block) -> Stmt:
    """The last statement of a block; of an annotation over the rest, the last one inside it."""
    last = block[-1]
    while isinstance(last, Attr) and last.body:
        last = last.body[-1]
    return last


def edited(body: Block, edits: Sequence[Edit]) -> tuple[Block, dict[Stmt, Stmt]]:
    """The body with these edits made, and a map from each rebuilt scope to the original one."""
    beside: dict[tuple[Stmt, bool], list[Stmt]] = {}
    guards: dict[Stmt, Expr] = {}
    removed = {one.anchor for one in edits if isinstance(one, Removal)}
    for one in edits:
        if isinstance(one, Guard):
            guards[one.anchor] = one.condition
        elif isinstance(one, Removal):
            continue
        else:
            made = [Evaluate(each.call) for each in one.inserted]
            beside.setdefault((one.anchor, one.after), []).extend(made)
    origins: dict[Stmt, Stmt] = {}
    touched = _touched(body, {one.anchor for one in edits})

    def rebuilt(block: Block) -> Block:
        found: list[Stmt] = []
        for stmt in block:
            if stmt in removed:
                continue
            found += beside.get((stmt, False), ())
            new = _scope(stmt) if stmt in touched else stmt
            found.append(If(guards[stmt], (new,)) if stmt in guards else new)
            found += beside.get((stmt, True), ())
        return tuple(found)

    def _scope(stmt: Stmt) -> Stmt:
        new: Stmt
        if isinstance(stmt, If):
            new = replace(stmt, then=rebuilt(stmt.then), orelse=rebuilt(stmt.orelse))
        elif isinstance(stmt, (For, While, Attr)):
            new = replace(stmt, body=rebuilt(stmt.body))
        else:
            return stmt
        origins[new] = stmt
        return new

    return rebuilt(body), origins


def _touched(body: Block, anchors: set[Stmt]) -> set[Stmt]:
    """The scopes that contain an anchor of an edit."""
    found = set()
    for stmt in walk_statements(body):
        if any(
            inner in anchors for block in nested_blocks(stmt) for inner in walk_statements(block)
        ):
            found.add(stmt)
    return found
