"""Families of random kernels: each around one way to hand bytes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tests.random_kernels.choices import Pick
from tests.random_kernels.dynamic import grow_dynamic
from tests.random_kernels.pipelines import grow_pipeline
from tests.random_kernels.producers import grow_producers
from tests.random_kernels.ragged import grow_ragged
from tests.random_kernels.reductions import grow_reductions
from tests.random_kernels.repeated import grow_repeated
from tests.random_kernels.tails import grow_tails
from tests.random_kernels.text import (
    COUNTER,
    FENCE,
    SYNC,
    TextGrower,
    Threads,
    Tile,
    cp_async,
    under,
    wait,
)
from tests.random_kernels.unsteady import grow_unsteady


def _copies(pick: Pick) -> str:
    """cp.async: several groups in flight, in a loop with stages."""
    grow = TextGrower(pick, grow_threads(pick))
    who, stages = grow.all, grow.pick(1, 3)
    tile, scratch, last = grow.tile(64 * stages), grow.tile(), grow.tile()
    keep = grow.pick(0, 2) if grow.chance(6) else stages - 1
    ahead = stages - 1
    sometimes = grow.chance(3)

    def fetch(number: str) -> str:
        stage = tile.staged(stages, number)
        sources = [(one, f"{one} + {number} * 64") for one in grow.places(stage, who)]
        if sometimes and grow.chance(3):
            where = f"D[tx + {number} * 64 + {grow.pick(0, 60)}] > {grow.some_exceed()}"
            guarded = "".join(cp_async(stage, *one, where) for one in sources)
        else:
            guarded = "".join(cp_async(stage, *one) for one in sources)
        if sometimes:
            stored = grow.fill(stage, who, number) if grow.chance(2) else ""
            guarded = grow.as_data_say(guarded, stored, number)
        if grow.chance(10):
            guarded = under(f"if tx % 32 < {grow.one_of((16, 32))}", guarded)
        commit = grow.mostly("T.ptx_commit_group()\n", 15)
        return guarded + (under("if tx % 32 < 16", commit) if grow.chance(20) else commit)

    rounds = grow.pick(1, 4)
    found = grow.use(last, who) + (SYNC if grow.chance(2) else "") if grow.chance(2) else ""
    found += grow.fill(tile, who) + SYNC if sometimes else ""
    for one in range(ahead):
        found += fetch(f"({one} + 0)")
    body = fetch(f"(k + {ahead})") + f"T.ptx_wait_group({keep})\n" + grow.mostly(SYNC, 15)
    body += grow.read(tile.staged(stages, "k"), who)
    if grow.chance(2):
        body += grow.uses([scratch], who, "k")
    body += grow.mostly(SYNC, 15)
    if grow.chance(6):
        body += under(f"if {grow.condition('k')}", "T.loop_break()\n")
    found += under(grow.rounds("k", rounds), body)
    if not grow.chance(4):
        found += f"T.ptx_wait_group({int(grow.chance(3))})\n"
        found += grow.mostly(SYNC, 4)
    return grow.text(found + grow.uses([scratch, last][: grow.pick(1, 2)], who))


def grow_threads(pick: Pick) -> int:
    return (64, 96, 128, 64)[pick(0, 3)]


def _stores(pick: Pick) -> str:
    """TMA stores out of one or two stages, whose groups one thread waits for."""
    grow = TextGrower(pick, grow_threads(pick))
    who, stages = grow.all, grow.pick(1, 2)
    tile, scratch, other = grow.tile(64 * stages), grow.tile(), grow.tile()
    stage = tile.staged(stages, "k")
    keep = grow.pick(0, 1) if grow.chance(6) else stages - 1
    first = f"T.tma_store_wait({keep})\n"
    body = grow.mostly(under("if tx == 0", first) + SYNC, 6)
    body += grow.fill(stage, who, "k") + grow.mostly(FENCE, 15) + grow.mostly(SYNC, 15)
    committer = int(grow.chance(12))
    commit = under(f"if tx == {committer}", "T.tma_store_arrive()\n")
    body += under("if tx == 0", f"T.tma_store({stage.pointer(1)}, X, k)\n") + commit
    if grow.chance(2):
        body += grow.uses([scratch], who, "k")
    found = grow.uses([other], who) if grow.chance(2) else ""
    found += under(grow.rounds("k", grow.pick(1, 4)), body)
    found += grow.mostly(under("if tx == 0", f"T.tma_store_wait({grow.pick(0, 1)})\n"), 4)
    found += grow.mostly(SYNC, 3)
    return grow.text(found + grow.uses([scratch, other][: grow.pick(1, 2)], who))


def _matrices(pick: Pick) -> str:
    """wgmma: operands are read until late waits."""
    grow = TextGrower(pick, 128)
    who = grow.all
    tiles = [grow.tile(), grow.tile()][: grow.pick(1, 2)]
    scratch = grow.tile()
    describe = "".join(
        f"T.initialize_wgmma_descriptor(da[{number}], {one.name}.data, 1, 1, 64)\n"
        for number, one in enumerate(tiles)
    )
    last = len(tiles) - 1
    multiply = (
        'T.ptx_wgmma_ss("float16", "m64n16k16", T.bool(False), T.bool(False), "fp16", "fp16", '
        f'"fp32", da[0], 0, da[{last}], 0, acc.data, 0, T.bool(True), 1, 1)\n'
    )
    multiply += grow.mostly("T.warpgroup_commit_batch()\n", 20)
    fill = "".join(grow.fill(one, who, "k") for one in tiles) + FENCE + SYNC
    waited = f"T.warpgroup_wait({int(grow.chance(4))})\n"
    between = grow.use(scratch, who, "k") if grow.chance(2) else ""
    body = fill + describe + multiply + between + grow.mostly(waited, 5)
    body += grow.mostly(SYNC, 8)
    if grow.chance(3):
        body += grow.uses([scratch], who, "k")
    found = under(grow.rounds("k", grow.pick(1, 3)), body)
    if grow.chance(2):
        found += f"T.warpgroup_wait({int(grow.chance(4))})\n" + grow.mostly(SYNC, 3)
        found += "O[tx] = acc[0]\n" if grow.chance(3) else ""
    return grow.text(found + grow.uses([scratch, grow.tile()][: grow.pick(1, 2)], who))


def _arms(pick: Pick) -> str:
    """Groups in arms, with named barriers of their own and common ones."""
    counts = ((32, 32), (64, 32), (64, 64), (32, 32, 32), (32, 64))[pick(0, 4)]
    grow = TextGrower(pick, sum(counts))
    groups = grow.split(*counts)
    common = grow.tile()
    tiles = [grow.tile() for _ in groups]
    shared = Threads(0, sum(counts), 5)
    meet = f'T.tvm_storage_sync("shared", 5, {shared.count})\n'
    announce = f"T.named_barrier_arrive(5, {shared.count})\n"
    if grow.chance(3):
        groups = [Threads(one.first, one.count, 1) for one in groups]
    waiting = grow.pick(0, len(groups))
    parts = []
    for number, (who, tile) in enumerate(zip(groups, tiles, strict=True)):
        body = grow.uses([tile], who)
        if grow.chance(4):  # all threads of the group alike
            other = grow.uses([tile], who) + (grow.sync(who) if grow.chance(2) else "")
            body = under(f"if {grow.condition()}", body) + under("else", other)
        if grow.chance(4):
            body = under(grow.rounds("k", grow.pick(1, 3)), body + grow.sync(who))
        if waiting:
            body += meet if number < waiting or grow.chance(4) else announce
            body += grow.uses([common] if number == 0 else [tile], who)
        parts.append((who, body))
    found = grow.use(common, grow.all) + grow.mostly(SYNC, 3) if grow.chance(2) else ""
    found += grow.arms(parts)
    if grow.chance(2):
        found += grow.mostly(SYNC, 3) + grow.uses([tiles[0]], grow.all)
    return grow.text(found)


def _phases(pick: Pick) -> str:
    """Warps take turns by mbarriers; each works on its own tiles, and parities are mostly right."""
    warps = pick(2, 3)
    grow = TextGrower(pick, 32 * warps)
    groups = grow.split(*([32] * warps))
    tiles = [grow.tile(32 * grow.pick(1, 2)) for _ in range(warps)]
    barriers = grow.pick(1, 2)
    each = [grow.pick(1, 2) if grow.chance(3) else 1 for _ in range(barriers)]
    names = ["full[0]", "behind[0]" if grow.chance(4) else "full[1]"]
    done = [0] * barriers
    bodies = [""] * warps
    giver = grow.pick(0, warps - 1)
    for _ in range(grow.pick(2, 5)):
        taker, which = grow.pick(0, warps - 1), grow.pick(0, barriers - 1)
        bodies[giver] += grow.use(tiles[giver], groups[giver])
        phases = 2 if grow.chance(12) else 1
        arrivals = each[which] * phases
        bodies[giver] += "".join(grow.arrival(names[which]) for _ in range(arrivals))
        done[which] += phases
        parity = grow.pick(0, 1) if grow.chance(10) else (done[which] - 1) % 2
        bodies[taker] += grow.mostly(wait(names[which], str(parity)), 10)
        bodies[taker] += grow.use(tiles[taker], groups[taker])
        giver = grow.pick(0, warps - 1) if grow.chance(6) else taker
    if grow.chance(10):
        bodies[0] = under(f"for k in range({grow.pick(2, 3)})", bodies[0])
    counts = [(f"full[{one}]", 32 * each[one]) for one in range(barriers)]
    found = grow.initialize(counts) + grow.arms(list(zip(groups, bodies, strict=True)))
    if grow.chance(6):
        found += SYNC + found
    if grow.chance(3):
        found += SYNC + grow.uses([tiles[0]], grow.all)
    return grow.text(found)


def _branches(pick: Pick) -> str:
    """Branches on data and loops of any length, among barriers of all threads."""
    grow = TextGrower(pick, grow_threads(pick))
    who = grow.all
    tiles = [grow.tile() for _ in range(grow.pick(2, 4))]

    def condition(loop: str) -> str:
        """On data, perhaps by way of a register, or by what all rounds so far have counted."""
        counted = (f"{COUNTER} % 2 == 0", f"{COUNTER} > {grow.pick(0, 3)}", "c[0] > 0")
        return grow.one_of(counted) if grow.chance(3) else grow.condition(loop)

    def step(loop: str) -> str:
        by = f"c[0] = D[{loop or 0} + {grow.pick(0, 60)}]\n" if grow.chance(3) else ""
        by = by or f"{COUNTER} = {COUNTER} + {grow.pick(1, 3)}\n"
        return under(f"if {condition(loop)}", by) if grow.chance(3) else by

    def by_warp(tile: Tile) -> str:
        """Warps that hand on what is their own, each as often as data say."""
        handed = grow.fill(tile, who) + "T.sync_warp()\n" + f"O[tx] = {tile.at('(tx ^ 1)')}\n"
        where = f"D[tx // 32 + {grow.pick(0, 60)}]"
        if grow.chance(2):
            return under(f"for n in range({where} & 3)", handed + "T.sync_warp()\n")
        return under(f"if {where} > {grow.some_exceed()}", handed)

    def some(depth: int, loop: str) -> str:
        tile = grow.one_of(tiles)
        kind = grow.pick(0, 8 if depth < 2 else 5)
        if kind <= 1:
            return grow.uses([tile], who, loop or "0")
        if kind == 2:
            return grow.fill(tile, who, loop or "0") + grow.mostly(SYNC, 6)
        if kind == 3:
            return grow.read(tile, who, own=grow.chance(3)) + (SYNC if grow.chance(2) else "")
        if kind == 4 and grow.chance(3) and tile.elements >= who.count:
            return (SYNC if grow.chance(2) else "") + by_warp(tile)
        if kind == 4:
            mine = grow.fill(tile, who) + grow.read(tile, who, own=True)
            return under(f"if D[tx + {grow.pick(0, 60)}] > {grow.some_exceed()}", mine)
        if kind == 5:
            return step(loop)
        inside = some(depth + 1, loop) + (some(depth + 1, loop) if grow.chance(2) else "")
        if kind == 6:
            otherwise = under("else", some(depth + 1, loop)) if grow.chance(2) else ""
            return under(f"if {condition(loop)}", inside) + otherwise
        name = f"k{depth}"
        inside = some(depth + 1, name) + (some(depth + 1, name) if grow.chance(2) else "")
        if grow.chance(3):
            leave = grow.one_of(("continue_loop", "continue_loop", "loop_break"))
            inside = under(f"if {condition(name)}", f"T.{leave}()\n") + inside
        return under(grow.rounds(name, grow.pick(1, 3), 2), inside + grow.mostly(SYNC, 4))

    found = f"{COUNTER} = 0\nc[0] = D[{grow.pick(0, 60)}]\n"
    filled = [one for one in tiles if grow.chance(2)]
    found += "".join(grow.fill(one, who) for one in filled) + SYNC
    for _ in range(grow.pick(2, 5)):
        found += some(0, "")
    if grow.chance(2):
        found += SYNC + "".join(grow.read(one, who) for one in filled)
    return grow.text(found)


def _clusters(pick: Pick) -> str:
    """Two blocks that store into each other's memory and arrive at each other's mbarriers."""
    grow = TextGrower(pick, 64, blocks=2)
    who, tile = grow.all, grow.tile(64)
    first, last = grow.tile(), grow.tile()
    found = grow.initialize([("full[0]", 64)]) + "T.cluster_sync()\n"
    if grow.chance(2):
        found += grow.uses([first], who) + grow.mostly("T.cluster_sync()\n", 3)
    value = f"tx * 7 + {grow.number()}"
    found += f"T.ptx_cluster_store({tile.name}.data, {value}, 1 - bx, 63 - tx)\n"
    if grow.chance(2):
        found += "T.ptx_arrive_cluster_barrier(full[0], 1 - bx)\n" + wait("full[0]", "0")
    else:
        found += grow.mostly("T.cluster_sync()\n", 15)
    found += grow.read(tile, who)
    found += grow.one_of((SYNC, "T.cluster_sync()\n", ""))
    return grow.text(found + grow.uses([first, last][: grow.pick(1, 2)], who))


MEETINGS: Mapping[str, Sequence[str]] = {
    "block": (SYNC, SYNC, 'T.tvm_storage_sync("shared", 0, {})\n'),
    "grid": ("T.sync_grid()\n", SYNC + SYNC),
    "cluster": ("T.cluster_sync()\n", "T.cluster_arrive()\nT.cluster_wait()\n"),
}
"""Barriers of all threads that are one, by kind."""


def _collectives(pick: Pick) -> str:
    """Barriers of all threads in branches: mostly as often in each arm, at times not."""
    kind = ("block", "cluster", "grid", "cluster")[pick(0, 3)]
    counts = ((32, 32), (64, 32), (32, 32, 32), (32, 64))[pick(0, 3)]
    grow = TextGrower(pick, sum(counts), blocks=2 if kind == "cluster" else 1)
    groups, tiles = grow.split(*counts), [grow.tile() for _ in range(grow.pick(2, 3))]
    tile_of = {who: grow.tile(32 * (who.count // 32)) for who in (*groups, grow.all)}
    used: set[Tile] = set()

    def meet(then: str = "") -> str:
        """A barrier, with `then` behind it or between its halves."""
        if kind == "cluster" and grow.chance(4):
            arrive = "T.cluster_arrive_relaxed()\n" if grow.chance(4) else "T.cluster_arrive()\n"
            return arrive + then + grow.mostly("T.cluster_wait()\n", 30)
        return grow.one_of(MEETINGS[kind]).format(grow.all.count) + then

    def own(who: Threads, loop: str = "0") -> str:
        """Each thread uses its group's tile for itself."""
        tile = tile_of[who]
        return grow.fill(tile, who, loop) + grow.read(tile, who, own=True)

    def handed(loop: str = "0") -> str:
        tile = grow.one_of(tiles)
        before = grow.mostly(meet(), 30) if tile in used or loop != "0" else ""
        used.add(tile)
        return (
            before
            + grow.fill(tile, grow.all, loop)
            + grow.mostly(meet(), 30)
            + grow.read(tile, grow.all)
        )

    def arm(who: Threads, times: int, rounds: int) -> str:
        body = "".join(
            (own(who) if grow.chance(2) else "") + meet(own(who) if grow.chance(3) else "")
            for _ in range(times)
        )
        return under(f"for k in range({rounds})", body) if rounds else body

    def branch() -> str:
        times, rounds = grow.pick(0, 2), grow.pick(2, 3) if grow.chance(4) else 0
        parts = []
        for who in groups:
            other = grow.pick(0, 2) if grow.chance(8) else times
            body = arm(who, other, rounds) + (own(who) if grow.chance(3) else "")
            if grow.chance(12):
                body = under(f"if {grow.condition()}", body)
            parts.append((who, body))
        return grow.arms(parts[: None if grow.chance(6) else len(parts)])

    found = ""
    for _ in range(grow.pick(2, 5)):
        shape = grow.pick(0, 5)
        if shape <= 1:
            found += branch()
        elif shape == 2:
            found += under(grow.rounds("k", grow.pick(1, 3)), handed("k") + grow.mostly(meet(), 6))
        elif shape == 3:
            found += under(f"if {grow.condition()}", meet())
        else:
            found += handed() + (meet() if grow.chance(2) else "")
    return grow.text(found + grow.mostly(meet(), 6) + own(grow.all))


FAMILIES: Mapping[str, Callable[[Pick], str]] = {
    "pipelines": grow_pipeline,
    "copies": _copies,
    "stores": _stores,
    "matrices": _matrices,
    "arms": _arms,
    "phases": _phases,
    "branches": _branches,
    "clusters": _clusters,
    "collectives": _collectives,
    "reductions": grow_reductions,
    "producers": grow_producers,
    "ragged": grow_ragged,
    "tails": grow_tails,
    "repeated": grow_repeated,
    "dynamic": grow_dynamic,
    "unsteady": grow_unsteady,
}
"""Kernels with all the barriers that they will ever have, by what they are about."""
