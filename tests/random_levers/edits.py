"""Random rewrites of a function, right or wrong, beside the levers themselves."""

from __future__ import annotations

from typing import Any

from smemreuse.compilers.tilelang.levers.reload_settings import with_reloads
from smemreuse.compilers.tilelang.levers.reloads import loaded_tiles
from smemreuse.compilers.tilelang.levers.rewrites import direct_stores, fewer_stages
from smemreuse.compilers.tilelang.levers.tile_ops import sequences, with_sequences
from smemreuse.compilers.tilelang.visitor import TIR, tirx
from tests.random_kernels.choices import Grower
from tests.random_levers.kernels import integer, operation

LEVERS, RELOADS = "levers", "reloads"
ELEMENT_BYTES = 2
"""The least that a slice has of a row: any number of elements of tiles of 16 bits."""


def levers(grower: Grower, func: Any) -> Any | None:
    """Some of the levers of a function; None where it has none."""
    choices = [*fewer_stages(func), *([one] for one in direct_stores(func))]
    changed = None
    for each in choices:
        if grower.chance(2) or (changed is None and each is choices[-1]):
            changed = grower.one_of(each).rewrite(func if changed is None else changed)
    return changed


def reloads(grower: Grower, func: Any) -> Any | None:
    """Some of the tiles loaded again for each use, products in slices or not; None without any."""
    tiles = loaded_tiles(func)
    few = grower.chance(3)
    chosen = [one.buffer for one in tiles if not few or grower.chance(2)]
    return with_reloads(func, chosen, grower.pick(1, 2), ELEMENT_BYTES) if chosen else None


def moved(grower: Grower, func: Any) -> Any | None:
    """One statement of a sequence in another place."""
    return _in_sequence(grower, func, 2, _move)


def left_out(grower: Grower, func: Any) -> Any | None:
    return _in_sequence(grower, func, 2, lambda block, at, _grower: block[:at] + block[at + 1 :])


def repeated(grower: Grower, func: Any) -> Any | None:
    return _in_sequence(grower, func, 1, lambda block, at, _grower: [*block, block[at]])


def direct(grower: Grower, func: Any) -> Any | None:
    """Two copies made one, whatever is between them and however they fit together."""
    return _in_sequence(grower, func, 2, _join)


def restaged(grower: Grower, func: Any) -> Any | None:
    """Any number of stages, more of them too."""
    loops: list[Any] = []

    def look(node: Any) -> None:
        if isinstance(node, tirx.For) and int(node.kind) == 0:
            loops.append(node)

    tirx.stmt_functor.post_order_visit(func.body, look)
    chosen = grower.one_of(loops)
    notes = {"num_stages": integer(grower.pick(1, 3))}

    def change(node: Any) -> Any:
        if not node.same_as(chosen):
            return None
        return tirx.For(node.loop_var, node.min, node.extent, node.kind, node.body, None, notes)

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, None, change, [f"{TIR}.For"]))


EDITS = {
    LEVERS: levers,
    RELOADS: reloads,
    "moved": moved,
    "left out": left_out,
    "repeated": repeated,
    "direct": direct,
    "restaged": restaged,
}


def _in_sequence(grower: Grower, func: Any, least: int, edit: Any) -> Any | None:
    """A function with one of its sequences edited at one statement; None where none is as long."""
    blocks = [list(one) for one in sequences(func.body) if len(one) >= least]
    if not blocks:
        return None
    chosen = grower.one_of(blocks)
    found = edit(chosen, grower.pick(0, len(chosen) - 1), grower)

    def change(block: list[Any]) -> list[Any] | None:
        same = len(block) == len(chosen)
        same = same and all(one.same_as(two) for one, two in zip(block, chosen, strict=True))
        return found if same else None

    return None if found is None else func.with_body(with_sequences(func.body, change))


def _move(block: list[Any], at: int, grower: Grower) -> list[Any]:
    rest = block[:at] + block[at + 1 :]
    to = grower.pick(0, len(rest))
    return [*rest[:to], block[at], *rest[to:]]


def _join(block: list[Any], at: int, grower: Grower) -> list[Any] | None:
    copies = [
        number
        for number, one in enumerate(block)
        if isinstance(one, tirx.Evaluate) and one.value.op.name == "tl.tileop.copy"
    ]
    if len(copies) < 2:
        return None
    one, two = sorted(grower.one_of(copies) for _ in range(2))
    first, second = block[one].value.args[0], block[two].value.args[1]
    if one == two or _count(first) != _count(second):
        return None
    joined = operation("copy", first, second)
    return [*block[:one], *block[one + 1 : two], joined, *block[two + 1 :]]


def _count(region: Any) -> list[int]:
    return [int(extent) for extent in region.args[2:] if int(extent) != 1]
