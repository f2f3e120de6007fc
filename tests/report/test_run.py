"""What `run` tells of a kernel, on kernels read from dumps."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from rich.console import Console

from smemreuse.baselines import BASELINES
from smemreuse.compilers.text.reader import parse_dump, read_dump
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Attr, Kernel, walk_statements
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.report.run import (
    MAX_REFUSED,
    run_entry,
    run_kernel,
    run_lines,
    run_table,
    run_views,
)
from smemreuse.report.titles import numbered
from smemreuse.results.verdict import Verdict
from smemreuse.targets.architectures import ARCHITECTURES
from smemreuse.targets.blocks import STATIC_LIMIT
from tests.compilers.text.texts import dump
from tests.conftest import DUMPS
from tests.report.test_tables import text

STOCK = BASELINES["tilelang-0.1.15"]


def lowered(kernel: Kernel, objective: str = "occupancy") -> LoweredKernel:
    """A kernel as a session leaves it."""
    plans = []
    for scope in kernel.shared_scopes():
        plan = plan_kernel(kernel, scope, objective=objective)
        plans.append(AppliedPlan(kernel, plan, judge(kernel, plan)))
    return LoweredKernel(kernel, STOCK, tuple(plans))


def of_dump(name: str, objective: str = "occupancy") -> LoweredKernel:
    """The kernel of a dump, or the one with the most buffers."""
    kernels = read_dump(str(DUMPS / f"{name}.tir")).kernels
    return lowered(max(kernels, key=lambda one: len(one.allocations())), objective)


def lines(kernel: LoweredKernel) -> list[str]:
    return [line.plain for line in run_lines(run_kernel(kernel))]


def plan_data(kernel: LoweredKernel) -> dict[str, Any]:
    """The only plan of a kernel, as JSON has it."""
    plans: Any = run_entry("s.py", run_kernel(kernel))["plans"]
    (only,) = plans
    assert isinstance(only, dict)
    return only


def test_bytes_hold_the_arena_and_what_lies_beside_it() -> None:
    """The pipelined GEMM has four mbarriers of 8 bytes each, padded up to the dynamic array."""
    found = of_dump("batched_gemm.sm_90a", "bytes").footprint()
    assert (found.bytes_before, found.bytes_after) == (65_536 + 1_024, 32_768 + 1_024)
    assert found.static_bytes == 32
    assert (found.arch, found.limit, found.threads) == ("sm_90", 232_448, 256)
    assert (found.blocks_before, found.blocks_after) == (3, 6)
    assert found.fits


def test_blocks_are_those_of_the_architecture_asked_for() -> None:
    kernel = of_dump("batched_gemm.sm_80", "bytes")
    found = kernel.footprint(ARCHITECTURES["sm_75"])
    assert (found.blocks_before, found.blocks_after) == (1, 2)
    assert found.limit == 65_536


def test_a_kernel_too_large_does_not_fit_and_says_so() -> None:
    kernel = of_dump("stream_k.sm_80", "none")
    assert kernel.footprint().fits
    (applied,) = kernel.plans
    size = kernel.footprint().bytes_after
    assert size is not None
    small = replace(ARCHITECTURES["sm_80"], per_block=size - 1)
    assert kernel.footprint(small).fits is False
    assert kernel.footprint(replace(small, per_block=size)).fits is True
    huge = replace(applied, plan=replace(applied.plan, arena_bytes=200_000))
    assert lines(replace(kernel, plans=(huge,)))[0] == "stream_k_kernel: does not fit on sm_80"


ONE_BUFFER = """\
bx = T.launch_thread("blockIdx.x", 1)
tx = T.launch_thread("threadIdx.x", {threads})
As = T.alloc_buffer(({count},), "float32", scope="{scope}")
As[tx] = T.float32(0)
"""


def one_buffer(count: str = "64", scope: str = "shared.dyn", threads: str = "32") -> LoweredKernel:
    (kernel,) = parse_dump(
        dump(ONE_BUFFER.format(count=count, scope=scope, threads=threads))
    ).kernels
    return LoweredKernel(kernel, STOCK)


def test_a_single_buffer_is_counted_without_a_plan() -> None:
    kernel = one_buffer()
    found = kernel.footprint(ARCHITECTURES["sm_90"])
    assert (found.bytes_before, found.bytes_after, found.static_bytes) == (256, 256, 0)
    assert found.blocks_after == 32
    entry = run_entry("script.py", run_kernel(kernel))
    assert entry["plans"] == []
    assert entry["bytes_after"] == 256


def test_static_memory_has_a_limit_of_its_own() -> None:
    arch = ARCHITECTURES["sm_90"]
    for count, blocks in ((STATIC_LIMIT // 4, 4), (STATIC_LIMIT // 4 + 1, 0)):
        found = one_buffer(str(count), "shared").footprint(arch)
        assert found.static_bytes == found.bytes_after == 4 * count
        assert (found.fits, found.blocks_after) == (blocks > 0, blocks)
    assert one_buffer(str(STATIC_LIMIT // 4 + 1)).footprint(arch).fits


def test_what_is_not_known_is_none() -> None:
    for kernel in (one_buffer(count="n"), one_buffer(threads="n")):
        found = kernel.footprint(ARCHITECTURES["sm_90"])
        assert found.blocks_before is None
        assert found.blocks_after is None
    assert one_buffer(count="n").footprint(ARCHITECTURES["sm_90"]).fits is None
    nowhere = one_buffer().footprint()
    assert (nowhere.arch, nowhere.limit, nowhere.fits) == (None, None, None)
    assert nowhere.bytes_after == 256


@pytest.mark.parametrize("objective", ["occupancy", "bytes", "none"])
@pytest.mark.parametrize("name", ["stream_k.sm_90a", "mmha_decode.sm_80", "gemm.sm_80"])
def test_every_pair_is_shared_or_explained(name: str, objective: str) -> None:
    for kernel in read_dump(str(DUMPS / f"{name}.tir")).kernels:
        each = lowered(kernel, objective)
        for applied, found in zip(each.plans, run_kernel(each).plans, strict=True):
            offsets = {one.name: at for one, at in applied.plan.offsets.items()}
            sizes = {one.name: one.size or 0 for one in applied.plan.offsets}
            overlapping = {
                frozenset((one, two))
                for one, two in combinations(offsets, 2)
                if offsets[one] < offsets[two] + sizes[two]
                and offsets[two] < offsets[one] + sizes[one]
            }
            assert {frozenset(names) for names, _ in found.sharing.shared} == overlapping
            apart = [*found.sharing.refused, *found.sharing.unneeded]
            assert len(apart) + len(overlapping) == len([*combinations(offsets, 2)])
            assert not any(one.may_share for one in found.sharing.refused)
            assert all(one.may_share for one in found.sharing.unneeded)
            assert objective != "none" or not overlapping


def test_shared_bytes_are_those_of_the_overlap() -> None:
    plan = plan_data(of_dump("batched_gemm.sm_80", "bytes"))
    shared = {tuple(pair["buffers"]): pair["bytes"] for pair in plan["shared"]}
    assert sum(shared.values()) == 32_768
    assert {name for names in shared for name in names} == {"As", "Bs", "Cs"}
    (refused,) = plan["not_shared"]
    assert refused["buffers"] == ["As", "Bs"]
    assert not refused["may_share"]
    assert refused["reasons"]
    assert (plan["file"], plan["name"], plan["verdict"]) == ("s.py", "batched_gemm_kernel", "sound")
    assert plan["before"]["arena_bytes"] == 65_536
    assert plan["before"]["verdict"] == "sound"


def test_refused_pairs_are_capped_for_people_alone() -> None:
    kernel = of_dump("mmha_decode.sm_80")
    (plan,) = run_kernel(kernel).plans
    assert len(plan.sharing.refused) > MAX_REFUSED
    told = [line for line in lines(kernel) if "do not share" in line]
    assert len(told) == MAX_REFUSED
    rest = len(plan.sharing.refused) - MAX_REFUSED
    assert any(line.endswith(f"... and {rest} more pairs refused") for line in lines(kernel))
    assert all("\n" not in line for line in lines(kernel))
    data = plan_data(kernel)
    assert len([pair for pair in data["not_shared"] if not pair["may_share"]]) == rest + MAX_REFUSED


def test_what_saves_most_comes_first() -> None:
    kernel = of_dump("mmha_decode.sm_80", "none")
    sizes = {one.name: one.size or 0 for one in kernel.kernel.allocations("shared.dyn")}
    (plan,) = run_kernel(kernel).plans
    saved = [min(sizes[name] for name in found.names) for found in plan.sharing.refused]
    assert len(set(saved)) > 1
    assert saved == sorted(saved, reverse=True)


def test_a_plan_that_was_not_applied_is_told_with_its_reason() -> None:
    (kernel,) = read_dump(str(DUMPS / "scratch_before_carried.sm_80.tir")).kernels
    tight = plan_kernel(kernel, "shared.dyn", policy="inner")
    verdict = judge(kernel, tight)
    assert verdict.verdict == "unsound"
    (applied,) = lowered(kernel).plans
    each = LoweredKernel(kernel, STOCK, (replace(applied, rejected=((tight, verdict),)),))
    (line,) = (line for line in lines(each) if "not applied" in line)
    assert "inner's plan of 4,096 bytes was not applied, unsound: rule " in line
    assert verdict.violations[0].witness in line
    (rejected,) = plan_data(each)["rejected"]
    assert (rejected["policy"], rejected["arena_bytes"]) == ("inner", 4096)
    assert rejected["violations"][0]["witness"] == verdict.violations[0].witness


def test_an_unsound_default_is_told() -> None:
    told = [line for line in lines(of_dump("producer_consumer_groups.sm_90a")) if "own" in line]
    assert len(told) == 1
    assert "TileLang's own merge is unsound: rule " in told[0]
    assert not [line for line in lines(of_dump("gemm.sm_90a")) if "own merge" in line]


def test_what_could_share_and_does_not_is_told_with_its_cause() -> None:
    """Of this kernel's pairs the trace of the mbarriers proves two, at a price."""
    name = "batched_gemm.sm_90a"
    (apart,) = (one for one in lines(of_dump(name)) if "could share" in one)
    assert "As+Cs, Bs+Cs could share; the kernel's concurrent arms would have to wait" in apart
    assert not [line for line in lines(of_dump(name, "bytes")) if "could share" in line]
    (plain,) = (one for one in lines(of_dump("block_branches.sm_80")) if "could share" in one)
    assert plain.endswith("sharing them adds no resident block")


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"policy": "outer"}, "policy outer keeps them apart"),
        ({"policy": "outer", "objective": "bytes"}, "policy outer keeps them apart"),
        ({"packer": "tilelang", "objective": "bytes"}, "packer tilelang found no place"),
        ({"packer": "tilelang"}, "packer tilelang found no place that adds a resident block"),
        ({"objective": "none"}, "nothing is reused: it is switched off"),
    ],
)
def test_the_objective_is_not_blamed_for_other_choices(options: dict[str, str], cause: str) -> None:
    kernel = of_dump("batched_gemm.sm_90a")
    (applied,) = kernel.plans
    offsets = {one: number * 2**20 for number, one in enumerate(applied.plan.offsets)}
    made: Any = {"objective": "occupancy", **options}
    apart = replace(applied.plan.with_provenance(**made), offsets=offsets)
    each = LoweredKernel(kernel.kernel, STOCK, (replace(applied, plan=apart),))
    told = [one for one in lines(each) if "could share" in one]
    assert told
    assert all(one.endswith(f"could share; {cause}") for one in told)


def test_after_a_rejection_that_is_the_cause() -> None:
    kernel = of_dump("batched_gemm.sm_90a")
    (applied,) = kernel.plans
    rejected = ((applied.plan, Verdict("unproved", uncovered=("?",))),)
    each = LoweredKernel(kernel.kernel, STOCK, (replace(applied, rejected=rejected),))
    (told,) = (one for one in lines(each) if "could share" in one)
    assert told.endswith("could share; the tighter plan was not proved")


def test_table_shows_what_is_known() -> None:
    out = Console(file=io.StringIO(), width=200)
    kernels = [run_kernel(of_dump("batched_gemm.sm_80", "bytes")), run_kernel(one_buffer("n"))]
    _, gemm, unknown = text(run_table(out, kernels, "bytes"))
    assert gemm[:4] == ["batched_gemm_kernel", "sm_80", "65,536", "32,768"]
    assert gemm[5:7] == ["2 -> 4", "sound"]
    assert {*gemm[7].split(", ")} == {"As+Cs", "Bs+Cs"}
    assert unknown[1:] == ["-", "-", "-", "-", "- -> -", "-", "-"]


def test_kernels_of_one_name_are_told_apart_for_people_alone() -> None:
    names = numbered(["gemm_kernel", "other", "gemm_kernel"])
    assert names == ["gemm_kernel #1", "other", "gemm_kernel #2"]
    kernels = [run_kernel(of_dump("gemm.sm_80"), names[0]), run_kernel(one_buffer("n"), names[1])]
    kernels.append(run_kernel(of_dump("gemm.sm_90a"), names[2]))
    out = Console(file=io.StringIO(), width=200)
    _, *rows = text(run_table(out, kernels, "bytes"))
    assert [row[0] for row in rows] == names
    assert all(line.plain.startswith("gemm_kernel #2") for line in run_lines(kernels[2]))
    views: list[Any] = [one for each in kernels for one in run_views("s.py", each, "best", "bytes")]
    assert [view["name"] for view in views] == names
    entry: Any = run_entry("s.py", kernels[2])
    assert (entry["name"], entry["plans"][0]["name"]) == ("gemm_kernel", "gemm_kernel")


@pytest.mark.parametrize("objective", ["occupancy", "bytes", "none"])
def test_only_what_was_applied_is_for_the_objective(objective: str) -> None:
    kernel = run_kernel(of_dump("mmha_decode.sm_80", objective))
    views: list[Any] = [*run_views("s.py", kernel, "best", objective)]
    policies = views[0]["policies"]
    smallest = plan_kernel(kernel.lowered.kernel, "shared.dyn", policy="outer")
    assert policies["outer"]["arena_bytes"] == smallest.arena_bytes
    applied = kernel.plans[0].applied.plan.arena_bytes
    assert policies["applied"]["arena_bytes"] == applied
    assert (applied > policies["dataflow"]["arena_bytes"]) == (objective != "bytes")
    assert f"for objective `{objective}`; the others are" in policies["applied"]["notes"][0]
    out = Console(file=io.StringIO(), width=200)
    out.print(run_table(out, [kernel], objective))
    assert f"objective `{objective}`" in out.file.getvalue()  # type: ignore[attr-defined]


def test_threads_are_those_of_the_launch() -> None:
    """The oracle of `threads`: the only extent of the dump's thread launch."""
    kernel = of_dump("batched_gemm.sm_80").kernel
    extents = {
        str(stmt.node.value): stmt.value.value
        for stmt in walk_statements(kernel.body)
        if isinstance(stmt, Attr) and isinstance(stmt.node, Const) and isinstance(stmt.value, Const)
    }
    assert of_dump("batched_gemm.sm_80").footprint().threads == extents["threadIdx.x"]
