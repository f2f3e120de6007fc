"""Random kernels in which the same data decide several times: who copies, who waits, who reads."""

from __future__ import annotations

from tests.random_kernels.choices import Pick
from tests.random_kernels.text import SYNC, TextGrower, Tile, cp_async, under


class _Repeated(TextGrower):
    def decides(self, conditions: list[str], loop: str, then: str, orelse: str = "") -> str:
        """A branch on one of few conditions, mostly on the first of them, or none."""
        condition = conditions[0] if self.mostly("the first", 6) else self.one_of(conditions)
        if self.chance(8):
            condition, then, orelse = f"T.Not({condition})", orelse, then
        if loop and self.chance(6):
            condition = f"{condition} and {loop} < {self.pick(1, 2)}"
        found = under(f"if {condition}", then or "T.evaluate(0)\n")
        return found + (under("else", orelse) if orelse else "")

    def piece(self, tile: Tile, other: Tile, conditions: list[str], loop: str = "") -> str:
        """A tile is copied or filled, waited for and read, each as data say."""
        who = self.all
        places = self.places(tile, who)
        copied = "".join(cp_async(tile, one, f"{one} + {self.pick(0, 9)} * 64") for one in places)
        filled, commit = self.mostly(self.fill(tile, who), 3), "T.ptx_commit_group()\n"
        if self.chance(3):  # a group that may be empty
            body = self.decides(conditions, loop, copied, filled) + commit
        else:
            body = self.decides(conditions, loop, copied + commit, filled)
        if self.chance(3):
            body += self.use(other, who) + self.mostly(SYNC, 6)
        if self.chance(16):
            body += f"D[{self.pick(0, 60)}] = {self.number()}\n"
        waited = self.mostly("T.ptx_wait_group(0)\n", 16)
        body += self.decides(conditions, loop, waited) if self.mostly("as data say", 6) else waited
        body += self.mostly(SYNC, 12)
        read = self.read(tile, who)
        body += self.decides(conditions, loop, read) if self.chance(3) else read
        return body + self.mostly(SYNC, 12)


def grow_repeated(pick: Pick) -> str:
    """Copies that are made and waited for on the same condition, mostly."""
    grow = _Repeated(pick, 32 * (1 + pick(0, 2)))
    tiles = [grow.tile(64 * grow.pick(1, 2)) for _ in range(grow.pick(2, 3))]
    conditions = [grow.condition() for _ in range(grow.pick(1, 2))]
    found = grow.use(tiles[-1], grow.all) + SYNC if grow.chance(2) else ""
    for _ in range(grow.pick(1, 3)):
        tile, other = grow.one_of(tiles), grow.one_of(tiles)
        if grow.chance(4):
            header = grow.rounds("k", grow.pick(1, 2))
            found += under(header, grow.piece(tile, other, conditions, "k"))
        else:
            found += grow.piece(tile, other, conditions)
    return grow.text(found + grow.use(tiles[0], grow.all))
