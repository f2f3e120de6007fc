"""Random pipelines over tiles of a sequence whose ends are data: the last may be part of a tile.

`for k in range((end - begin + 15) // 16)`, and whoever loads or stores a tile does it otherwise if
it is not whole (`begin + 16 * k + 16 <= end`), as kernels for sequences of several lengths do. The
last tile may come first, and data may say how many there are, so that only the last one or two are
different ones (`k + 1 < n`). Threads may leave out what lies behind the end, each for itself, and
an arm may go over the whole tiles in a loop and do the last one, if there is one, after it.
"""

from __future__ import annotations

import re

from tests.random_kernels.choices import Pick
from tests.random_kernels.pipelines import PipelinePlan, Pipelines
from tests.random_kernels.text import FENCE, SYNC, Threads, arrive, tma_load, under, wait


class _Tails(Pipelines):
    step = 16
    begin = end = length = whole = ""
    is_reversed = False

    def sequence(self) -> str:
        """Draws the ends, and is the header of the loop over all tiles."""
        if self.chance(4):
            self.begin, self.end = "", f"(D[{self.pick(51, 99)}] & 7)"
            self.length = self.end + (f" - {self.pick(1, 2)}" if self.chance(2) else "")
            return f"for k in range({self.length})"
        self.step = self.one_of((8, 16, 32))
        self.begin = self.one_of((f"(D[{self.pick(0, 50)}] & 15)", "0"))
        self.end = f"(D[{self.pick(51, 99)}] & {self.one_of((63, 127))})"
        up = self.mostly(f" + {self.step - 1}", 10)
        fewer = " - 1" if self.chance(12) else ""
        self.length = f"({self.end} - {self.begin}{up}) // {self.step}{fewer}"
        self.whole = f"({self.end} - {self.begin}) // {self.step}"
        self.is_reversed = self.chance(3)
        return f"for k in range({self.length})"

    def whole_and_more(self) -> str:
        """Whether a tile is whole, perhaps with something else that data say."""
        found = self.is_whole()
        if self.chance(6):
            more = self.one_of((self.is_whole(), f"D[k + {self.pick(100, 120)}] > 0"))
            return f"{found} {self.one_of(('and', 'or'))} {more}"
        return found

    def is_whole(self) -> str:
        """Whether a tile is, or something like it."""
        if not self.begin:
            return f"k + {self.pick(0, 3)} {self.one_of(('<', '<='))} {self.end}"
        width = self.step
        if self.chance(4):
            width = self.one_of((1, self.step // 2, self.step + 1, 2 * self.step, -self.step))
        left = self.left
        return self.one_of(
            (
                f"{left} + {width} <= {self.end}",
                f"{left} + {width - 1} < {self.end}",
                f"{self.end} - {width} >= {left}",
                f"{self.end} > {left} + {width - 1}",
            )
        )

    @property
    def left(self) -> str:
        """Where a tile begins."""
        tile = f"({self.length} - 1 - k)" if self.is_reversed else "k"
        return f"{self.begin or 0} + {tile} * {self.step}"

    def own_part(self, who: Threads) -> str:
        """Whether a thread's element of a tile is in the sequence, or something like it."""
        left = f"{self.left} + (tx - {who.first})"
        return self.one_of(
            (
                f"{left} < {self.end}",
                f"({left}) // 8 + {self.pick(0, 9)} <= {self.end}",
                f"{self.pick(0, 18) - 9} <= ({left} + {self.end}) // 2",
                f"D[k] < {left}",
            )
        )

    def parted(self, whole: str, part: str) -> str:
        """A branch on whether a tile is whole; at times only one arm of it."""
        condition = self.whole_and_more()
        if self.chance(10):
            whole, part = part, whole
        found = under(f"if {condition}", whole or "T.evaluate(0)\n")
        return found + self.mostly(under("else", part), 10)

    def plan(self, producer: Threads, consumer: Threads) -> PipelinePlan:
        stages = self.pick(1, 2)
        tile, each = self.tile(32 * stages), bool(self.pick(0, 1))
        return PipelinePlan(tile, stages, 0, producer, consumer, "tma", each, 1, 1)

    def produce(self, plan: PipelinePlan, header: str, *, shift: int = 0) -> str:
        full, empty = f"full[{plan.stage('k')}]", f"empty[{plan.stage('k')}]"
        stage = plan.tile.staged(plan.stages, "k")
        load = tma_load(stage, full, "k")
        by_store = f"{stage.at('0')} = k + {self.number()}\n" + arrive(full)
        loaded = self.parted(load, self.one_of((by_store, load, arrive(full))))
        waited = self.mostly(wait(empty, f"({plan.phase('k')} ^ 1)"), 16)
        if self.chance(6):
            waited = self.parted(waited, waited)
        return under(header, waited + under(f"if tx == {plan.producer.first}", loaded))

    def consume(self, plan: PipelinePlan, header: str, extra: str, *, shift: int = 0) -> str:
        full, empty = f"full[{plan.stage('k')}]", f"empty[{plan.stage('k')}]"
        stage, who = plan.tile.staged(plan.stages, "k"), plan.consumer
        read = self.read(stage, who)
        if self.chance(2):
            read = self.parted(read, self.mostly(read, 3))
        elif self.chance(3):
            read = under(f"if {self.own_part(who)}", read)
        released = arrive(empty)
        if not plan.each_arrives:
            released = "T.sync_warp()\n" + under("if tx % 32 == 0", released)
        if self.chance(6):
            released = self.parted(released, released)
        body = self.mostly(wait(full, f"({plan.phase('k')})"), 30) + read
        body += self.mostly(FENCE, 8) + extra + self.mostly(released, 24)
        if self.whole and not self.is_reversed and self.chance(4):
            last = re.sub(r"\bk\b", f"({self.whole})", body)
            whole = under(f"for k in range({self.whole})", body)
            return whole + under(f"if {self.whole} < {self.length}", last)
        return under(header, body)

    def grow(self) -> str:
        counts = self.one_of(((32, 32), (32, 64)))
        groups = self.split(*counts)
        self.all = Threads(0, sum(counts))
        producer, consumer = groups if self.chance(2) else groups[::-1]
        plan, header, out = self.plan(producer, consumer), self.sequence(), self.tile()
        extra = ""
        if self.chance(2):
            mine = self.use(out, consumer, "k") + self.sync(consumer)
            extra = self.parted(mine, self.sync(consumer)) if self.chance(2) else mine
        body = self.initialize(self.counts(plan))
        produce, consume = self.produce(plan, header), self.consume(plan, header, extra)
        body += self.arms([(producer, produce), (consumer, consume)])
        if self.chance(2):
            body += self.mostly(SYNC, 4) + self.use(self.one_of((out, plan.tile)), self.all)
        return self.text(body)


def grow_tails(pick: Pick) -> str:
    """A pipeline over a sequence of a length that data decide."""
    return _Tails(pick).grow()
