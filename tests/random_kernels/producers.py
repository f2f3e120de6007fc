"""Random kernels as a compiler's warp specialization leaves them: warps that only feed the others.

All warps of the producer wait for a stage to be empty, as their code is the same, and one elected
thread loads it. A warp that elects nobody is waited for by nobody, and may be late.
"""

from __future__ import annotations

from tests.random_kernels.choices import Pick
from tests.random_kernels.pipelines import PipelinePlan, Pipelines
from tests.random_kernels.text import FENCE, SYNC, Threads, tma_load, under, wait


class _Producers(Pipelines):
    narrow = False
    """Whether only the warp that loads waits."""

    def plan(self, producer: Threads, consumer: Threads) -> PipelinePlan:
        stages = self.pick(1, 3)
        rounds = self.pick(1, 3) * (stages if self.chance(2) else 1)
        tile = self.tile(32 * stages)
        each, arrivals = bool(self.pick(0, 1)), 1
        return PipelinePlan(tile, stages, rounds, producer, consumer, "tma", each, arrivals, 1)

    def elected(self, producer: Threads, body: str) -> str:
        """What one thread of the first warp does."""
        if producer.first % producer.count == 0 and self.chance(2):
            return under(f"if T.tl_shuffle_elect({producer.count})", body)
        return under(f"if tx == {producer.first}", body)

    def produce(self, plan: PipelinePlan, header: str, *, shift: int = 0) -> str:
        loop = f"(k + {shift})" if shift else "k"
        full, empty = f"full[{plan.stage(loop)}]", f"empty[{plan.stage(loop)}]"
        stage, first = plan.tile.staged(plan.stages, loop), plan.producer.first
        waited = self.mostly(wait(empty, f"({plan.phase(loop)} ^ 1)"), 25)
        if self.chance(8):
            waited = under(f"if {loop} >= {plan.stages}", waited)
        body = waited + self.elected(plan.producer, tma_load(stage, full, loop))
        if self.narrow:
            body = under(f"if tx < {first + 32}", body)
        return under(header, body)

    def reused(self, plan: PipelinePlan) -> str:
        """A result in the bytes of the first stage, when all have read it."""
        stage, who = plan.tile.staged(plan.stages, "0"), plan.consumer
        found = self.mostly(self.sync(who), 8) + self.fill(stage, who)
        if self.chance(2):
            return found + self.mostly(self.sync(who), 15) + self.read(stage, who)
        store = (
            f"T.tma_store({stage.pointer(1)}, X, 0)\nT.tma_store_arrive()\nT.tma_store_wait(0)\n"
        )
        found += self.mostly(FENCE, 8) + self.mostly(self.sync(who), 15)
        return found + under(f"if tx == {who.first}", store)

    def grow(self) -> str:
        warps, count = self.one_of((1, 2, 4, 3)), self.one_of((32, 64))
        groups = self.split(32 * warps, count)
        producer, consumer = groups
        if self.chance(2):
            consumer, producer = self.split(count, 32 * warps)
        self.all = Threads(0, 32 * warps + count)
        self.narrow = warps > 1 and self.chance(2)
        plan, first = self.plan(producer, consumer), self.tile()
        body = self.initialize(self.counts(plan))
        if self.chance(4):
            body += self.use(first, self.all) + self.mostly(SYNC, 4)
        again = self.chance(3)
        header = f"for k in range({plan.rounds})" if again else self.rounds("k", plan.rounds)
        produce, consume = self.produce(plan, header), self.consume(plan, header, "")
        if again:
            between = self.sync(consumer) if self.chance(2) else ""
            produce += self.produce(plan, header, shift=plan.rounds)
            consume += between + self.consume(plan, header, "", shift=plan.rounds)
        if self.chance(2):
            consume += self.reused(plan)
        body += self.arms([(producer, produce), (consumer, consume)])
        if self.chance(2):
            body += self.mostly(SYNC, 4) + self.use(self.one_of((first, plan.tile)), self.all)
        return self.text(body)


def grow_producers(pick: Pick) -> str:
    """A pipeline that a producer of one to four warps feeds by TMA."""
    return _Producers(pick).grow()
