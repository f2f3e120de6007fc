"""Random kernels whose threads take arms each by itself: what one stores, the other fills up."""

from __future__ import annotations

from tests.random_kernels.choices import Pick
from tests.random_kernels.text import SYNC, TextGrower, Threads, Tile, under


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
    """A fill in two arms; each of them may be in part, of other places, or have arms itself."""
    arms = []
    for _ in range(2):
        kind = grow.pick(0, 24)
        body = grow.fill(tile, who, loop)
        if kind == 0:  # what another thread has in the other arm
            body = f"{tile.at(f'(({who.rank} + 1) % {tile.elements})')} = {grow.number()}\n"
        elif kind == 1 and depth < 2:
            body = _ragged(grow, who, tile, tiles, loop, depth + 1)
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
            body = under(f"for n in range(D[{grow.pick(0, 50)}] & 3)", body)
        arms.append(body)
    condition = f"if D[tx + {grow.pick(0, 60)}] > {grow.pick(0, 9) * 1000}"
    if grow.chance(8):
        condition = f"if {grow.condition(loop)}"
    return under(condition, arms[0]) + grow.mostly(under("else", arms[1]), 16)


def _unrolled(grow: TextGrower, who: Threads, tile: Tile, tiles: list[Tile], loop: str) -> str:
    """A fill in halves, where what one iteration has in one arm may be another's in the other."""
    arms = []
    for _ in range(2):
        half = "n" if grow.mostly("same", 3) else "(1 - n)"
        place = f"(({half} * {who.count} + {who.rank}) % {tile.elements})"
        arms.append(f"{tile.at(place)} = {place} * 3 + {grow.number()} + {loop} * 1000\n")
    condition = f"if D[tx + n * {grow.one_of((0, 64))} + {grow.pick(0, 60)}] > 0"
    inside = under(condition, arms[0]) + under("else", arms[1])
    return under(f"for n in T.unroll({grow.pick(1, 2)})", inside)
