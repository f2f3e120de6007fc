"""Random pipelines of a producer and a consumer with mbarriers for full and empty stages."""

from __future__ import annotations

from dataclasses import dataclass

from tests.random_kernels.choices import Pick
from tests.random_kernels.text import (
    COUNTER,
    FENCE,
    SYNC,
    TextGrower,
    Threads,
    Tile,
    arrive,
    cp_async,
    tma_load,
    under,
    wait,
)


@dataclass(frozen=True)
class PipelinePlan:
    """How a pipeline works: the tile of all stages, and who does what in which way."""

    tile: Tile
    stages: int
    rounds: int
    producer: Threads
    consumer: Threads
    by: str
    """"tma", "cp.async" or "stores"."""
    each_arrives: bool
    """All threads of the consumer, or one of each warp."""
    arrivals: int
    """Times that whoever releases a stage arrives."""
    per_phase: int
    """Rounds that make one phase of the mbarriers."""

    def stage(self, loop: str) -> str:
        return f"{loop} % {self.stages}" if self.stages > 1 else "0"

    def phase(self, loop: str) -> str:
        return f"{loop} // {self.stages * self.per_phase} % 2"


class Pipelines(TextGrower):
    counted = False
    """Whether each thread counts the rounds that it makes in a register, over all loops."""
    left_out = ""
    """Of such rounds, those that make none of it."""

    def number_of_round(self, shift: int) -> str:
        if self.counted:
            return COUNTER
        return f"(k + {shift})" if shift else "k"

    def each_round(self, header: str, body: str) -> str:
        """A loop, with its counter."""
        if not self.counted:
            return under(header, body)
        body += f"{COUNTER} = {COUNTER} + 1\n"
        if not self.left_out:
            return under(header, body)
        if self.chance(2):
            return under(header, under(f"if {self.left_out}", "T.continue_loop()\n") + body)
        return under(header, under(f"if T.Not({self.left_out})", body))

    def plan(self, producer: Threads, consumer: Threads) -> PipelinePlan:
        stages = self.pick(1, 3)
        tile = self.tile(32 * stages)
        by = self.one_of(("tma", "stores", "cp.async"))
        per_phase = self.pick(2, 3) if stages == 1 and by == "stores" and self.chance(6) else 1
        return PipelinePlan(
            tile,
            stages,
            self.pick(1, 3) * (stages if self.pick(0, 1) else 1) * per_phase,
            producer,
            consumer,
            by,
            bool(self.pick(0, 1)),
            2 if self.chance(8) else 1,
            per_phase,
        )

    def counts(self, plan: PipelinePlan) -> list[tuple[str, int]]:
        full = 1 if plan.by == "tma" else plan.producer.count
        empty = plan.consumer.count if plan.each_arrives else plan.consumer.count // 32
        empty *= plan.arrivals
        return [
            *((f"full[{one}]", full * plan.per_phase) for one in range(plan.stages)),
            *((f"empty[{one}]", empty * plan.per_phase) for one in range(plan.stages)),
        ]

    def produce(self, plan: PipelinePlan, header: str, *, shift: int = 0) -> str:
        loop = self.number_of_round(shift)
        full, empty = f"full[{plan.stage(loop)}]", f"empty[{plan.stage(loop)}]"
        stage = plan.tile.staged(plan.stages, loop)
        parity = plan.phase(loop) if self.chance(16) else f"{plan.phase(loop)} ^ 1"
        waited = wait(empty, f"({parity})")
        if plan.per_phase > 1:
            # The stage is released when all rounds of a phase have been consumed.
            waited = under(f"if {loop} % {plan.per_phase} == 0", waited)
        elif self.chance(5):
            waited = under(f"if {loop} >= {plan.stages}", waited)
        if self.chance(16):
            waited = under(f"if {loop} % 2 == 0", waited)
        body = self.mostly(waited, 20)
        if plan.by == "tma":
            body = under(f"if tx == {plan.producer.first}", body + tma_load(stage, full, loop))
        elif plan.by == "stores":
            body += self.fill(stage, plan.producer, loop) + arrive(full)
        else:
            for place in self.places(stage, plan.producer):
                body += cp_async(stage, place, f"{place} + {loop} * 64")
            body += f"T.ptx_cp_async_barrier_noinc({full})\n"
        return self.each_round(header, body)

    def consume(self, plan: PipelinePlan, header: str, extra: str, *, shift: int = 0) -> str:
        loop = self.number_of_round(shift)
        full, empty = f"full[{plan.stage(loop)}]", f"empty[{plan.stage(loop)}]"
        stage = plan.tile.staged(plan.stages, loop)
        waited = wait(full, f"({plan.phase(loop)})")
        if plan.per_phase > 1:
            waited = under(f"if {loop} % {plan.per_phase} == {plan.per_phase - 1}", waited)
        body = self.mostly(waited, 40)
        if self.chance(12):  # more than is needed
            body += waited
        body += self.read(stage, plan.consumer)
        if plan.by == "tma":
            body += self.mostly(FENCE, 8)
        released = arrive(empty) * plan.arrivals
        if not plan.each_arrives:
            released = "T.sync_warp()\n" + under("if tx % 32 == 0", released)
        body = (
            body + self.mostly(released, 30) + extra
            if self.chance(2)
            else (body + extra + self.mostly(released, 30))
        )
        return self.each_round(header, body)

    def drained(self, plan: PipelinePlan, header: str) -> str:
        """The producer waits until every stage has been consumed, or some."""
        rounds, found = COUNTER, ""
        if not self.counted:
            rounds = f"({header[len('for k in range(') : -1]})"
        for back in range(plan.stages):
            last = f"({rounds} - {back + 1})"
            parity = f"{last} // {plan.stages * plan.per_phase} % 2"
            waited = wait(f"empty[{last} % {plan.stages}]", f"({parity})")
            found += self.mostly(under(f"if {rounds} > {back}", waited), 4)
        return found

    def epilogue(self, tile: Tile, who: Threads) -> str:
        """A result on its way out, by plain accesses or TMA."""
        if self.chance(2):
            return self.use(tile, who)
        fill = self.fill(tile, who) + self.mostly(FENCE) + self.mostly(self.sync(who), 20)
        store = f"T.tma_store({tile.pointer(1)}, X, 0)\nT.tma_store_arrive()\n"
        store += self.mostly("T.tma_store_wait(0)\n", 4)
        return fill + under(f"if tx == {who.first}", store)

    def grow(self) -> str:
        counts = self.one_of(((32, 32), (32, 64), (64, 32), (32, 32, 32)))
        groups = self.split(*counts)
        self.all = Threads(0, sum(counts))
        producer, consumer, *others = groups
        if self.chance(2):
            producer, consumer = consumer, producer
        plan = self.plan(producer, consumer)
        first, out, more = self.tile(), self.tile(), self.tile()
        self.counted = self.chance(3)
        if self.counted and plan.per_phase == 1 and self.chance(2):
            self.left_out = self.condition("k")
        body = f"{COUNTER} = 0\n" * self.counted + self.initialize(self.counts(plan))
        if self.chance(2):
            body += self.use(first, self.all) + self.mostly(FENCE, 3) + self.mostly(SYNC, 4)
        header = self.rounds("k", plan.rounds)
        extra = self.use(more, consumer, "k") + self.sync(consumer) if self.chance(3) else ""
        produce = self.produce(plan, header)
        if self.chance(3):
            produce += self.drained(plan, header)
        if self.chance(3):
            produce += self.use(first, producer)
        consume = self.consume(plan, header, extra)
        if not self.chance(4):
            consume += self.epilogue(out, consumer)
        arms = [(producer, produce), (consumer, consume)]
        arms += [(one, self.use(first, one)) for one in others]
        body += self.arms(arms)
        return self.text(body + self.behind(plan, out, more))

    def behind(self, plan: PipelinePlan, out: Tile, more: Tile) -> str:
        """What all threads do in the end; perhaps the same pipeline once more."""
        found = self.mostly(SYNC, 3)
        if self.chance(6):
            found += SYNC + self.initialize(self.counts(plan))
            header = f"for k in range({plan.rounds})"
            again = [
                (plan.producer, self.produce(plan, header)),
                (plan.consumer, self.consume(plan, header, "")),
            ]
            return found + f"{COUNTER} = 0\n" * self.counted + self.arms(again)
        in_step = self.counted or plan.rounds % plan.stages == 0
        if in_step and self.chance(3 if self.counted else 8):
            header = f"for k in range({plan.rounds})"
            again = [
                (plan.producer, self.produce(plan, header, shift=plan.rounds)),
                (plan.consumer, self.consume(plan, header, "", shift=plan.rounds)),
            ]
            return found + self.arms(again)
        if self.chance(2):
            return found + self.uses([more, out][: self.pick(1, 2)], self.all)
        return ""


def grow_pipeline(pick: Pick) -> str:
    """A warp-specialized kernel, mostly a right one."""
    return Pipelines(pick).grow()
