"""The levers, as rewrites of a function whose tile operations are still whole.

There each statement says which tiles it reads and writes, and the compiler's own passes make
stages, barriers and layouts of it. So what a lever may do is decided by names of buffers:

- fewer stages change an annotation, which says how far loads run ahead, and no value;
- a load is put off past statements that neither touch its tile nor write what it reads;
- a tile that only passes through shared memory on its way out is stored from registers.

Every read sees the write that it saw before, and global memory gets the same values: `equivalence`
proves it of what these rewrites made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from smemreuse.compilers.tilelang.levers.tile_ops import (
    NUM_STAGES,
    buffer_of,
    copied,
    is_plain,
    is_whole,
    sequences,
    touched,
    uses_in,
    with_sequences,
)
from smemreuse.compilers.tilelang.visitor import TIR, tirx
from smemreuse.results.fitting import Lever, LeverKind

EXPLICIT = ("tl_pipeline_order", "tl_pipeline_stage")
"""Annotations by which an author has laid the stages out by hand; such a loop is left alone."""

Rewrite = Callable[[Any], Any]


@dataclass(frozen=True)
class LeverSetting:
    """One lever of a function: what it does, how it is done, and the order of its cost among others
    (about what share of the time it may take; the model decides where it can)."""

    lever: Lever
    rewrite: Rewrite
    cost: float


# Stages -----------------------------------------------------------------------------------------


def pipelines(func: Any) -> list[tuple[Any, int]]:
    """The pipelined loops of a function in the order of `with_stages`, each with its stages."""
    return [(loop, _stages(loop)) for loop in _pipelined(func.body)]


def _pipelined(body: Any) -> list[Any]:
    """The pipelined loops inside a statement, inner ones first."""
    found: list[Any] = []

    def look(node: Any) -> None:
        if isinstance(node, tirx.For) and _stages(node):
            found.append(node)

    tirx.stmt_functor.post_order_visit(body, look)
    return found


def _stages(loop: Any) -> int:
    notes = loop.annotations or {}
    if NUM_STAGES not in notes or any(one in notes for one in EXPLICIT):
        return 0
    return int(notes[NUM_STAGES])


def fewer_stages(func: Any) -> list[list[LeverSetting]]:
    """For each pipelined loop the settings with fewer stages, the mildest first; those with none
    load each tile where it is used."""
    return [
        [_fewer(at, str(loop.loop_var.name), stages, left) for left in range(stages - 1, -1, -1)]
        for at, (loop, stages) in enumerate(pipelines(func))
    ]


def _fewer(at: int, name: str, stages: int, left: int) -> LeverSetting:
    if left:
        sentence = f"the loop over {name} has {_counted(left)} instead of {stages}"
        kind, cost = LeverKind.STAGES, 0.1 * (stages - left) / stages + (0.2 if left == 1 else 0)
    else:
        sentence = f"the loop over {name} loads each tile where it is used, not {stages} ahead"
        kind, cost = LeverKind.LATER_LOADS, 0.5
    return LeverSetting(Lever(kind, sentence), lambda func: with_stages(func, at, left), cost)


def _counted(stages: int) -> str:
    return f"{stages} stage{'s' if stages > 1 else ''}"


def with_stages(func: Any, at: int, stages: int) -> Any:
    """A function whose pipelined loop of that number has other stages; with none it loads each tile
    where it is used."""
    number = -1

    def change(loop: Any) -> Any:
        nonlocal number
        if not _stages(loop):
            return None
        number += 1
        if number != at:
            return None
        notes = {key: value for key, value in loop.annotations.items() if key != NUM_STAGES}
        if stages:
            notes[NUM_STAGES] = tirx.IntImm("int32", stages)
        body = loop.body if stages else with_later_loads(loop.body)
        return tirx.For(
            loop.loop_var, loop.min, loop.extent, loop.kind, body, loop.thread_binding, notes
        )

    body = tirx.stmt_functor.ir_transform(func.body, None, change, [f"{TIR}.For"])
    return func.with_body(body)


# Loads ------------------------------------------------------------------------------------------


def with_later_loads(body: Any) -> Any:
    """A loop's body with each copy from global to shared memory as late as it may be: before the
    first statement of its sequence that touches its tile, or writes what it reads. One with a
    pipeline inside stays as it is: that runs ahead by where its loads are."""
    return body if _pipelined(body) else with_sequences(body, _sunk)


def _sunk(block: list[Any]) -> list[Any] | None:
    found = list(block)
    for stmt in reversed(block):
        pair = copied(stmt)
        if pair is None or not _is_load(*pair):
            continue
        at = found.index(stmt)
        end = at + 1
        while end < len(found) and _may_pass(pair, found[end]):
            end += 1
        if end == len(found):
            continue  # nothing of its sequence needs it
        while end - 1 > at and _is_load(*(copied(found[end - 1]) or pair[::-1])):
            end -= 1  # loads stay in their order
        found.insert(end - 1, found.pop(at))
    return None if all(one.same_as(two) for one, two in zip(found, block, strict=True)) else found


def _is_load(source: Any, target: Any) -> bool:
    scopes = buffer_of(source).scope(), buffer_of(target).scope()
    return bool(scopes[0] == "global" and scopes[1].startswith("shared"))


def _may_pass(pair: tuple[Any, Any], stmt: Any) -> bool:
    """Whether a copy may be made after a statement instead of before it."""
    reads, writes = touched(stmt)
    source, target = map(buffer_of, pair)
    index_reads = {one for region in pair for one in touched(tirx.Evaluate(region))[0]}
    asked = (index_reads - {target}) | {source}
    return is_plain(stmt) and target not in reads | writes and not asked & writes


# Stores -----------------------------------------------------------------------------------------


def direct_stores(func: Any) -> list[LeverSetting]:
    """For each tile that only passes through shared memory from registers to global memory, the
    setting that stores it from registers."""
    return [_direct(str(buffer.name)) for buffer, _, _ in _passing(func)]


def _passing(func: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The shared buffers that are filled by one copy and emptied by the one right after it, and
    have no other use; with both copies."""
    for block in sequences(func.body):
        for one, two in pairwise(block):
            filled, emptied = copied(one), copied(two)
            if filled is None or emptied is None:
                continue
            buffer = buffer_of(filled[1])
            if (
                buffer.scope().startswith("shared")
                and buffer.same_as(buffer_of(emptied[0]))
                and buffer_of(filled[0]).scope() == "local.fragment"
                and buffer_of(emptied[1]).scope() == "global"
                and is_whole(filled[1])
                and is_whole(emptied[0])
                and uses_in(func.body, buffer) == 2
                and _narrows_once(filled[0], buffer, emptied[1])
            ):
                yield buffer, one, two


def _narrows_once(source: Any, through: Any, target: Any) -> bool:
    """Whether what is stored has the type that the tile has: converting twice may round twice."""
    return bool(buffer_of(target).dtype == through.dtype)


def _direct(name: str) -> LeverSetting:
    sentence = f"{name} is left out: its values are stored from registers"
    return LeverSetting(
        Lever(LeverKind.DIRECT_STORE, sentence), lambda func: _stored(func, name), 0.05
    )


def _stored(func: Any, name: str) -> Any:
    chosen = next(((one, two) for buffer, one, two in _passing(func) if buffer.name == name), None)
    if chosen is None:
        return func

    def change(block: list[Any]) -> list[Any] | None:
        for at, stmt in enumerate(block[:-1]):
            if stmt.same_as(chosen[0]) and block[at + 1].same_as(chosen[1]):
                call = stmt.value
                source, target = call.args[0], block[at + 1].value.args[1]
                merged = tirx.Call(call.dtype, call.op, [source, target, *call.args[2:]])
                return [*block[:at], tirx.Evaluate(merged), *block[at + 2 :]]
        return None

    return func.with_body(with_sequences(func.body, change))
