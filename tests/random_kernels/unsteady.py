"""Random pipelines in which data decide in each round how a stage is filled: by TMA or by stores.

Nothing else tells in which rounds that is so: the ends of a sequence that is padded (`left + 16 <=
end`, in a loop of another length), or a flag for each tile. One condition may stand at several
branches, and all threads of the producer arrive behind them, whichever arm they took.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.random_kernels.choices import Pick
from tests.random_kernels.pipelines import PipelinePlan, Pipelines
from tests.random_kernels.text import FENCE, SYNC, Threads, Tile, arrive, tma_load, under, wait


class _Unsteady(Pipelines):
    length = ""
    more: Sequence[Tile] = ()

    def condition_of_round(self) -> str:
        """What a round is filled by, for all threads alike."""
        other = f"(D[{self.pick(0, 50)}] & {self.one_of((7, 15))})"
        number = self.one_of(("k", "k", f"({self.length} - 1 - k)"))
        return self.one_of(
            (
                f"{number} * 16 + 16 + (D[{self.pick(51, 70)}] & 15) <= {other} * 16",
                f"{number} < {other}",
                f"{number} >= {other}",
                f"D[k + {self.pick(71, 80)}] > 0",
                f"{other} > 3",
            )
        )

    def loaded(self, stage: Tile, full: str, who: Threads) -> str:
        """By TMA: one thread announces the bytes, and loads."""
        announced = f"T.mbarrier_expect_tx({full}, {stage.elements * 4})\n"
        load = tma_load(stage, full, "k", expects=False)
        return under(f"if tx == {who.first}", self.mostly(announced, 30) + load)

    def stored(self, stage: Tile, who: Threads) -> str:
        """By threads, each of which may store one thing or another."""
        found = ""
        for place in self.places(stage, who):
            then, other = (f"{stage.at(place)} = {self.number()} + k\n" for _ in range(2))
            if self.chance(2):
                found += under(f"if D[{place} + k] > 0", then)
                found += self.mostly(under("else", other), 20)
            else:
                found += then
        return found

    def filled(self, condition: str, stage: Tile, full: str, who: Threads) -> str:
        """A branch on the condition; perhaps a fence in its arm alone."""
        arms = [self.loaded(stage, full, who), self.stored(stage, who) + self.mostly(FENCE, 6)]
        if self.chance(3):
            arms.reverse()
        found = under(f"if {condition}", arms[0])
        return found + self.mostly(under("else", arms[1]), 20)

    def produce(self, plan: PipelinePlan, header: str, *, shift: int = 0) -> str:
        full, empty = f"full[{plan.stage('k')}]", f"empty[{plan.stage('k')}]"
        condition, who = self.condition_of_round(), plan.producer
        body = self.mostly(wait(empty, f"({plan.phase('k')} ^ 1)"), 20)
        for number, tile in enumerate((plan.tile, *self.more)):
            if number and self.chance(4):
                condition = self.condition_of_round()
            body += self.filled(condition, tile.staged(plan.stages, "k"), full, who)
        arrived = arrive(full)
        if self.chance(10):
            arrived = under(f"if {self.condition_of_round()}", arrived) + under("else", arrived)
        return under(header, body + self.mostly(arrived, 30))

    def consume(self, plan: PipelinePlan, header: str, extra: str, *, shift: int = 0) -> str:
        full, empty = f"full[{plan.stage('k')}]", f"empty[{plan.stage('k')}]"
        body = self.mostly(wait(full, f"({plan.phase('k')})"), 30)
        for tile in (plan.tile, *self.more):
            body += self.read(tile.staged(plan.stages, "k"), plan.consumer)
        return under(header, body + self.mostly(FENCE, 10) + self.mostly(arrive(empty), 30))

    def grow(self) -> str:
        groups = self.split(32, 32)
        self.all = Threads(0, 64)
        producer, consumer = groups if self.chance(2) else groups[::-1]
        stages = self.pick(1, 2)
        tile = self.tile(32 * stages)
        self.more = [self.tile(32 * stages)] if self.chance(2) else []
        plan = PipelinePlan(tile, stages, 0, producer, consumer, "stores", True, 1, 1)
        self.length = f"(D[{self.pick(81, 99)}] & {self.one_of((7, 15))})"
        header = f"for k in range({self.length})"
        body = self.initialize(self.counts(plan))
        produce, consume = self.produce(plan, header), self.consume(plan, header, "")
        if self.chance(4):
            consume += self.drained(plan, header).replace("empty", "full")
        body += self.arms([(producer, produce), (consumer, consume)])
        body += self.mostly(SYNC, 4) + self.use(self.one_of((tile, self.tile())), self.all)
        return self.text(body)


def grow_unsteady(pick: Pick) -> str:
    """A pipeline whose stages data fill by TMA or by stores."""
    return _Unsteady(pick).grow()
