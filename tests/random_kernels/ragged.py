"""Random kernels whose threads take arms each by itself: what one stores, the other fills up."""

from __future__ import annotations

from dataclasses import replace

from tests.random_kernels.choices import Pick
from tests.random_kernels.text import SYNC, TextGrower, Threads, Tile, under

NESTED, PLAIN = 1, 24
"""Kinds of arms: one that has arms itself, and one that only fills."""


def grow_ragged(pick: Pick) -> str:
    """Fills under conditions on data that differ from thread to thread, and reads of all of it."""
    counts = ((64,), (64,), (128,), (32, 32))[pick(0, 3)]
    grow = TextGrower(pick, sum(counts))
    groups = [grow.all] if len(counts) == 1 else grow.split(*counts)
    tiles = {who: [_tile(grow, who) for _ in range(grow.pick(2, 3))] for who in groups}
    parts = [(who, _rounds(grow, who, tiles[who])) for who in groups]
    found = parts[0][1] if len(groups) == 1 else grow.arms(parts)
    if grow.chance(2):
        found += grow.mostly(SYNC, 8) + grow.use(tiles[groups[0]][0], grow.all)
    return grow.text(found)


def _tile(grow: TextGrower, who: Threads) -> Tile:
    return grow.tile(who.count * grow.pick(1, 2) if grow.mostly("whole", 4) else 0)


def _rounds(grow: TextGrower, who: Threads, tiles: list[Tile]) -> str:
    meet = grow.sync(who)
    found = "".join(grow.fill(one, who) for one in tiles) + meet if grow.chance(3) else ""
    for _ in range(grow.pick(2, 4)):
        tile, in_loop = grow.one_of(tiles), grow.chance(2)
        fill = _unrolled if grow.chance(3) else _ragged
        one = grow.mostly(fill(grow, who, tile, tiles, "k" if in_loop else "0"), 6)
        one += grow.mostly(meet, 16) + grow.read(tile, who, own=grow.chance(4))
        one += grow.mostly(meet, 16)
        found += under(grow.rounds("k", grow.pick(1, 3)), one) if in_loop else one
    return found


def _ragged(
    grow: TextGrower, who: Threads, tile: Tile, tiles: list[Tile], loop: str, depth: int = 0
) -> str:
    """A fill in two arms; each of them may be in part, of other places, or have arms itself, then
    perhaps with the places of other threads."""
    arms, nested = [], depth < 2 and grow.chance(6)
    for _ in range(2):
        odd = depth == 0 or grow.chance(4)
        kind = NESTED if nested else grow.pick(0, 24) if odd else PLAIN
        body = grow.fill(tile, who, loop)
        if kind == 0:  # what another thread has in the other arm
            body = f"{tile.at(f'(({who.rank} + 1) % {tile.elements})')} = {grow.number()}\n"
        elif kind == NESTED and depth < 2:
            body = _nested(grow, who, tile, tiles, loop, depth + 1)
        elif kind == 2:
            body = under(f"if {grow.condition(loop)}", body)
        elif kind == 3:
            body += grow.fill(grow.one_of(tiles), who, loop)
        elif kind == 4:
            body = grow.fill(grow.one_of(tiles), who, loop) + body
        elif kind == 5:
            body += grow.read(tile, who, own=grow.chance(2))
        elif kind == 6:
            body = under(f"for n in range({grow.pick(1, 2)})", body)
        elif kind == 7:
            whose = grow.one_of(("", "tx + ", "tx // 32 + "))
            body = under(f"for n in range(D[{whose}{grow.pick(0, 50)}] & 3)", body)
        elif kind in (8, 9):  # each thread leaves out rounds of its own
            left_out = f"if D[tx + n * 7 + {grow.pick(0, 60)}] > {grow.some_exceed()}"
            body = under("for n in range(3)", under(left_out, "T.continue_loop()\n") + body)
        arms.append(body)
    whose = grow.one_of(("tx", "tx", "tx // 32"))
    before, condition = "", f"if D[{whose} + {grow.pick(0, 60)}] > {grow.some_exceed()}"
    if grow.chance(8):
        condition = f"if {grow.condition(loop)}"
    elif grow.chance(3):  # the first so many take the one, the others the other
        condition = f"if {who.rank} < D[{grow.pick(0, 60)}] % {who.count}"
    elif grow.chance(5):  # so do they, unless data send all the same way
        before = f"c[0] = {who.rank}\n"
        before += under(
            f"if D[{grow.pick(0, 60)}] > {grow.some_exceed()}", f"c[0] = {grow.pick(0, 60)}\n"
        )
        condition = f"if c[0] > {grow.pick(0, 40)}"
    return before + under(condition, arms[0]) + grow.mostly(under("else", arms[1]), 16)


def _nested(
    grow: TextGrower, who: Threads, tile: Tile, tiles: list[Tile], loop: str, depth: int
) -> str:
    """An arm that has arms itself: each thread fills what is its own in other arms, or what is
    another one's."""
    kind = grow.pick(0, 4)
    if kind < 2:
        return _ragged(grow, who, tile, tiles, loop, depth)
    turned = replace(who, turned=1 if kind > 2 else who.count // 2)
    found = _ragged(grow, turned, tile, tiles, loop, depth)
    if kind < 4:
        return found
    found = under(f"if {who.rank} < {who.count - 1}", found)
    return found + under(f"if {who.rank} == 0", grow.fill(tile, who, loop))


def _unrolled(grow: TextGrower, who: Threads, tile: Tile, tiles: list[Tile], loop: str) -> str:
    """A fill in halves, where what one iteration has in one arm may be another's in the other."""
    arms = []
    for _ in range(2):
        half = "n" if grow.mostly("same", 3) else "(1 - n)"
        place = f"(({half} * {who.count} + {who.rank}) % {tile.elements})"
        arms.append(f"{tile.at(place)} = {place} * 3 + {grow.number()} + {loop} * 1000\n")
    whose = grow.one_of(("tx + ", ""))  # each thread by itself, or all alike in each iteration
    index = f"{whose}n * {grow.one_of((0, 64, 1))} + {loop} * 4 + {grow.pick(0, 60)}"
    condition = f"if D[{index}] > {grow.some_exceed()}"
    inside = under(condition, arms[0]) + under("else", arms[1])
    return under(f"for n in T.unroll({grow.pick(1, 2)})", inside)
