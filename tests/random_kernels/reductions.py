"""Random kernels whose warps and warp groups reduce, by TileLang's device library or by hand.

`tl::AllReduce` meets at the named barriers 1 and 2 whoever calls it, so two groups that are in it
at once let each other go.
"""

from __future__ import annotations

from dataclasses import replace

from tests.random_kernels.choices import Pick
from tests.random_kernels.text import SYNC, TextGrower, Threads, Tile, under

_COUNTS = ((64, 64), (32, 64), (64, 32), (128, 64), (64, 64, 32))
_OPERATORS = ("SumOp", "MaxOp", "MinOp", "BitXorOp")


class _Reductions(TextGrower):
    def by_library(self, who: Threads, workspace: Tile, value: str) -> str:
        """In one call, which meets twice for each halving beyond a warp."""
        threads = who.count if self.pick(0, 3) else 32
        scale = self.one_of((1, 1, 2, 32, 16))
        met = who.count if not self.chance(30) else 2 * who.count
        policy = f", {who.first}, tl::NamedBarrier<{met}>"
        if who.count == self.all.count or self.chance(40):
            policy = self.one_of(("", f", {who.first}, tl::SyncThreadsBarrier", policy))
        name = f"tl::AllReduce<tl::{self.one_of(_OPERATORS)}, {threads}, {scale}{policy}>::run"
        return f'c[2] = T.call_extern("int32", "{name}", {value}, {workspace.pointer(3)})\n'

    def by_hand(self, who: Threads, workspace: Tile, value: str) -> str:
        """As the library does it, at barriers of the group's own."""
        found, distance = f"c[2] = {value}\n", who.count // 2
        for _ in range(self.pick(1, 2)):
            found += self.mostly(self.sync(who), 20) + f"{workspace.at(who.rank)} = c[2]\n"
            found += self.mostly(self.sync(who), 30)
            found += f"c[2] = c[2] + {workspace.at(f'({who.rank} ^ {distance})')}\n"
            distance //= 2
        return found

    def scan(self, source: Tile, target: Tile) -> str:
        """Running sums of a tile, by the first warp."""
        name = f"tl::CumSum1D<64, {self.one_of(('false', 'true'))}>::run"
        handed = f"{source.pointer(1)}, {target.pointer(2)}, {source.elements}"
        return f'T.call_extern("handle", "{name}", {handed})\n'

    def arm(self, who: Threads, workspace: Tile, tile: Tile, *, library: bool) -> str:
        """Some rounds, in each of which the group reduces and perhaps uses a tile of its own."""
        reduce = self.by_library if library else self.by_hand
        loop = self.chance(2)
        round_ = "k" if loop else "0"
        body = self.use(tile, who, round_) if self.chance(3) else ""
        body += reduce(who, workspace, f"D[tx] + {round_}") + "O[tx] = c[2]\n"
        if self.chance(3):
            body += self.mostly(self.sync(who), 12) + self.use(workspace, who, round_)
            body += self.mostly(self.sync(who), 20) if loop else ""
        elif self.chance(3):
            body += self.use(tile, who, round_)
        return under(self.rounds("k", self.pick(1, 3)), body) if loop else body

    def of_all(self, workspace: Tile, tile: Tile) -> str:
        """What the whole block does: reduces, or scans what it has written."""
        if self.chance(2):
            return self.by_library(self.all, workspace, "D[tx]") + "O[tx] = c[2]\n"
        found = self.fill(tile, self.all) + self.mostly(SYNC, 12) + self.scan(tile, tile)
        return found + self.mostly(SYNC, 12) + self.read(tile, self.all)

    def grow(self) -> str:
        counts = self.one_of(_COUNTS)
        self.all = Threads(0, sum(counts))
        groups = [replace(one, barrier=one.barrier + 2) for one in self.split(*counts)]
        spaces = [self.tile(one.count) for one in groups]
        tiles = [self.tile(32) for _ in groups]
        at_once = self.chance(8)  # more than one group is in the library
        turns = self.chance(2)
        chosen = self.pick(0, len(groups) - 1)
        parts = []
        for number, who in enumerate(groups):
            library = turns or at_once or number == chosen
            shared = turns and who.count <= groups[0].count and self.chance(3)
            space = spaces[0] if shared else spaces[number]
            parts.append((who, self.arm(who, space, tiles[number], library=library)))
        found = self.use(tiles[0], self.all) + self.mostly(SYNC, 6) if self.chance(4) else ""
        if turns and not at_once:
            found += self.mostly(SYNC, 10).join(self.arms([part]) for part in parts)
        else:
            found += self.arms(parts)
        if self.all.count == 128 and self.chance(2):
            workspace = self.tile(self.all.count)
            found += self.mostly(SYNC, 8) + self.of_all(workspace, self.one_of([*tiles, workspace]))
        elif self.chance(2):
            found += self.mostly(SYNC, 5) + self.uses([spaces[0]], self.all)
        return self.text(found)


def grow_reductions(pick: Pick) -> str:
    """Groups that reduce, one after the other or at once; mostly so that it is right."""
    return _Reductions(pick).grow()
