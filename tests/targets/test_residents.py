"""Resident blocks: one answer, whoever asks, for every dump of the repository."""

from __future__ import annotations

import json
from typing import Any

import pytest

from smemreuse.advisor.model import estimate
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.errors import PlanError
from smemreuse.explainer.carried import carried_unmerged
from smemreuse.explainer.headroom import headroom_of
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.pipeline.objectives import SmStanding, resident_blocks
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.report.residents import PlanBlocks
from smemreuse.results.residents import BARRIERS, Registers, RegisterSource
from smemreuse.targets.architectures import ARCHITECTURES, architecture_for, threads_of
from smemreuse.targets.blocks import block_memory
from smemreuse.targets.cards import CARDS
from smemreuse.targets.residents import residents_of
from tests.commands.running import run
from tests.compilers.text.texts import dump
from tests.conftest import DUMPS
from tests.dumps import kernels_of
from tests.pipeline.lowered import STOCK

NAMES = sorted(path.name for path in DUMPS.glob("*.tir"))
CARD_OF = {card.arch: card for card in reversed([*CARDS.values()])}


def answered(verb: str, name: str, *more: str) -> Any:
    return json.loads(run(verb, DUMPS / name, *more, "--format", "json").stdout)


@pytest.mark.parametrize("name", NAMES)
def test_none_fits_only_where_shared_memory_alone_is_too_much(name: str) -> None:
    for kernel in kernels_of(DUMPS / name):
        for scope in kernel.shared_scopes():
            plan = plan_kernel(kernel, scope)
            for arch in ARCHITECTURES.values():
                found = residents_of(kernel, [plan], arch)
                if found is not None:
                    fits = block_memory(kernel, [plan]).fits(arch)
                    assert (found.blocks > 0) == fits, (kernel.name, scope, arch.name)


@pytest.mark.parametrize("name", NAMES)
def test_compare_and_explain_agree(name: str) -> None:
    """The smallest plan of `compare` is what `explain` tells of."""
    compared = answered("compare", name, "--objective", "bytes")["kernels"]
    compared = [one for one in compared if one["buffers"]]
    explained = answered("explain", name)["summaries"]
    assert len(compared) == len(explained)
    for one, other in zip(compared, explained, strict=True):
        policy = one["policies"]["dataflow"]
        assert policy["arena_bytes"] == other["arena_bytes"]
        assert policy["residents"] == other["residents"]
        assert policy["blocks_per_sm"] == other["residents"]["blocks_by_memory"]
        assert other["residents"]["blocks"] <= other["residents"]["blocks_by_memory"]


@pytest.mark.parametrize("name", NAMES)
def test_advise_and_the_objective_agree_with_explain(name: str) -> None:
    for kernel in kernels_of(DUMPS / name):
        for scope in kernel.shared_scopes():
            found = headroom_of(kernel, scope).residents
            plan = plan_kernel(kernel, scope)
            reckoned = resident_blocks(kernel, plan, None)
            assert found is not None
            assert reckoned == found
            arch, _ = architecture_for(kernel, None)
            try:
                advised = estimate(kernel, CARD_OF[arch.name], found.block_bytes)
            except PlanError:
                continue  # its grid is known to the launch alone
            assert found.registers is not None
            assert (advised.blocks_per_sm, advised.registers) == (
                found.blocks,
                found.registers.count,
            )


def test_the_dumps_have_kernels_that_registers_stop() -> None:
    """So that agreeing is no matter of course."""
    (kernel,) = kernels_of(DUMPS / "batched_gemm.sm_90a.tir")
    found = residents_of(kernel, [plan_kernel(kernel, "shared.dyn")])
    assert found is not None
    assert (found.blocks, found.by_memory, found.limits) == (1, 6, ("registers",))
    assert found.most_registers == 128  # of 256 threads: two blocks of 65,536 registers
    given = residents_of(kernel, [plan_kernel(kernel, "shared.dyn")], compiled=64)
    assert given is not None
    assert (given.blocks, given.limits) == (4, ("registers",))
    assert given.most_registers == 48
    alone = residents_of(kernel, [plan_kernel(kernel, "shared.dyn")], by_registers=False)
    assert alone is not None
    assert (alone.blocks, alone.registers, alone.most_registers) == (6, None, None)
    assert threads_of(kernel) == found.threads == 256


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (84, "84 for each of 256 threads, allocated as 88, by ptxas; 80"),
        (96, "96 for each of 256 threads, by ptxas; 80"),
    ],
)
def test_registers_are_told_as_they_are_allocated(count: int, words: str) -> None:
    """Three blocks of 256 threads with 84 registers each would have room, as 64,512 are fewer than
    an SM has; with 88 each they have none."""
    (kernel,) = kernels_of(DUMPS / "batched_gemm.sm_90a.tir")
    found = residents_of(kernel, [plan_kernel(kernel, "shared.dyn")], compiled=count)
    assert found is not None
    assert found.registers is not None
    assert (found.blocks, found.most_registers) == (2, 80)
    assert f"({words} would allow it)" in found.words


def test_the_most_registers_are_not_told_as_more() -> None:
    assert Registers(255, RegisterSource.PTXAS).words == (
        "255 a thread, the most that one can have, by ptxas"
    )


def test_the_table_of_compare_says_what_stops_the_rest() -> None:
    told = run("compare", "--objective", "bytes", DUMPS / "batched_gemm.sm_90a.tir").stdout
    assert "1 (regs)" in told
    said = "162 a thread, allocated as 168, estimated from local arrays, not ptxas' count"
    assert said in " ".join(told.split())
    assert "registers" not in run("compare", DUMPS / "leaf_both.sm_80.tir").stdout


NAMED = """\
T.func_attr({"target": T.target({"arch": "sm_90", "kind": "cuda"})})
bx = T.launch_thread("blockIdx.x", 1)
tx = T.launch_thread("threadIdx.x", 32)
As = T.alloc_buffer((64,), "float32", scope="shared.dyn")
As[tx] = T.float32(0)
T.evaluate(T.call_extern("handle", "tl::__sync_thread_partial<15, 32>"))
"""


def test_named_barriers_count_whoever_asks() -> None:
    """A block that uses number 15 takes 16 of the 64 barriers of an SM; all else allows 32."""
    (kernel,) = parse_dump(dump(NAMED)).kernels
    arch = ARCHITECTURES["sm_90"]
    plan = plan_kernel(kernel, "shared.dyn")
    found = residents_of(kernel, [plan])
    assert found is not None
    assert (found.blocks, found.by_memory, found.limits) == (4, 4, (BARRIERS,))
    assert found == resident_blocks(kernel, plan, None)
    assert found == headroom_of(kernel, "shared.dyn").residents
    assert found == PlanBlocks.of(kernel, plan, arch).residents
    took = LoweredKernel(kernel, STOCK).footprint()
    assert took.blocks_before == took.blocks_after == 4
    assert took.resident_before == took.resident_after == 4
    assert carried_unmerged(kernel, "shared.dyn").arena.blocks == 4
    assert estimate(kernel, CARD_OF["sm_90"], found.block_bytes).blocks_per_sm == 4
    standing = SmStanding.of(kernel, plan, arch)
    assert standing == SmStanding(4, arch.l1_left(found.block_bytes, 32, None, 16))
