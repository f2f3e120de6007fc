"""Random software pipelines of a length that data decide, with prologue and epilogue.

As compilers pipeline `for k in range((n + 7) // 8)` by so many stages: the first tiles are copied
before the loop, each if there is one (`8 < n`), the loop goes over all but the last, and these come
after it, each if there is one (`(n + 7) // 8 >= 2`). Or the loop begins at data itself.
"""

from __future__ import annotations

from tests.random_kernels.choices import Pick
from tests.random_kernels.text import SYNC, TextGrower, Tile, cp_async, under


class _Dynamic(TextGrower):
    step = 8
    length = tiles = ""
    ahead = stages = 1

    def slightly(self, number: int, one_in: int = 16) -> int:
        """A number, or seldom one more or less."""
        return number + (self.one_of((-1, 1)) if self.chance(one_in) else 0)

    def draw(self) -> Tile:
        """Draws the length and the number of stages; gives back the tile of all stages."""
        self.step = self.one_of((1, 4, 8))
        self.length = f"(D[{self.pick(0, 60)}] & {self.step * 8 - 1})"
        if self.chance(3):
            self.length = f"({self.length} - (D[{self.pick(61, 90)}] & {self.step * 4 - 1}))"
        self.tiles = f"(({self.length} + {self.step - 1}) // {self.step})"
        self.stages = self.pick(1, 3)
        self.ahead = self.stages if self.chance(3) else max(self.stages - 1, 1)
        return self.tile(64 * self.stages)

    def is_there(self, number: int) -> str:
        """Whether there is a tile of this number."""
        if self.chance(2):
            return f"{number} < {self.tiles}"
        return self.one_of(
            (f"{number * self.step} < {self.length}", f"{self.length} > {number * self.step}")
        )

    def copied(self, tile: Tile, number: str) -> str:
        stage = tile.staged(self.stages, number)
        copies = (
            cp_async(stage, at, f"{at} + {number} * 64") for at in self.places(stage, self.all)
        )
        return "".join(copies) + "T.ptx_commit_group()\n"

    def prologue(self, tile: Tile) -> str:
        found = ""
        for one in range(self.slightly(self.ahead)):
            found += under(
                f"if {self.is_there(self.slightly(one))}", self.copied(tile, f"({one} + 0)")
            )
        return found

    def loop(self, tile: Tile, other: Tile) -> str:
        """All but the last tiles."""
        begin = self.one_of(("0", "0", f"D[{self.pick(0, 90)}]", f"(D[{self.pick(0, 90)}] // 2)"))
        count = f"({self.tiles} - {self.slightly(self.ahead)})"
        rounds, number = f"range({count})", "k"
        if begin != "0":
            rounds, number = f"range({begin}, {begin} + {count})", f"(k - {begin})"
        waited = f"T.ptx_wait_group({max(self.slightly(self.ahead - 1), 0)})\n"
        waited += self.mostly(SYNC, 16)
        read = self.read(tile.staged(self.stages, number), self.all)
        fetched = self.copied(tile, f"({number} + {self.ahead})")
        if self.ahead < self.stages and self.chance(2):
            body = fetched + waited.replace(f"({self.ahead - 1})", f"({self.ahead})") + read
        else:
            body = waited + read + self.mostly(SYNC, 16) + fetched
        if self.chance(4):
            body += under(f"if {number} == {self.pick(0, 1)}", self.use(other, self.all))
        elif self.chance(3):
            body += self.use(other, self.all, "1")
        return under(f"for k in {rounds}", body + self.mostly(SYNC, 16))

    def epilogue(self, tile: Tile) -> str:
        found = ""
        for one in range(self.ahead):
            found += f"T.ptx_wait_group({max(self.ahead - 1 - one, 0)})\n" + self.mostly(SYNC, 16)
            left = self.slightly(self.ahead) - one
            condition = self.one_of(
                (f"{left} <= {self.tiles}", f"{self.tiles} + {one} >= {left + one}")
            )
            at = f"({self.tiles} + {one + 3 * self.stages - self.slightly(self.ahead)})"
            found += under(f"if {condition}", self.read(tile.staged(self.stages, at), self.all))
        return found


def grow_dynamic(pick: Pick) -> str:
    """A pipeline of copies whose length data decide."""
    grow = _Dynamic(pick, 32 * (1 + pick(0, 1)))
    tile, other = grow.draw(), grow.tile(64)
    found = grow.use(other, grow.all) + SYNC if grow.chance(3) else ""
    found += grow.prologue(tile) + grow.loop(tile, other) + grow.epilogue(tile)
    if grow.chance(2):
        found += "T.ptx_wait_group(0)\n" + grow.mostly(SYNC, 4) + grow.use(other, grow.all)
    return grow.text(found)
