"""What is proposed in which order, and that nothing is planned before it is asked for."""

from __future__ import annotations

import pytest

from smemreuse.baselines import baseline_of
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.objectives import resident_blocks
from smemreuse.pipeline.planning import OBJECTIVES, PlanOptions, checked_options, plan_with
from smemreuse.pipeline.proposals import attempts, propose, proposed_plan
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Origin
from tests.conftest import DUMPS, ROOT
from tests.pipeline.kernels import DYN, TVM_DUMPS, apache, dumped, unfollowed

WANTED = checked_options("dataflow", "best", "bytes")


def stream(kernel: Kernel, options: PlanOptions = WANTED) -> list[Plan]:
    every = propose([kernel], [[DYN]], options, baseline_of(kernel))
    return [candidate.plan for proposal in every for candidate in proposal]


def made(kernel: Kernel) -> int:
    """How many plans have been made of a kernel for the asking."""
    return facts_of(kernel).computed["planned"]


def test_the_first_is_made_alone() -> None:
    kernel = dumped("batched_gemm.sm_80")
    proposals = propose([kernel], [[DYN]], WANTED, baseline_of(kernel))
    assert made(kernel) == 0
    next(proposals)
    assert made(kernel) == 1


def test_the_second_is_made_alone_where_none_can_come_before_it() -> None:
    """It takes no more bytes than are live at once, and the others are not made."""
    kernel = dumped("batched_gemm.sm_80")
    proposals = propose([kernel], [[DYN]], WANTED, baseline_of(kernel))
    first, second = next(proposals), next(proposals)
    ((wanted,), (more_cautious,)) = (list(each) for each in (first, second))
    assert wanted.plan.arena_bytes < more_cautious.plan.arena_bytes
    assert made(kernel) < len([*attempts(WANTED, baseline_of(kernel))])


def test_for_occupancy_what_keeps_the_blocks_needs_no_others() -> None:
    kernel = dumped("stream_k.sm_90a")
    options = checked_options("dataflow", "best", "occupancy")
    proposals = propose([kernel], [[DYN]], options, baseline_of(kernel))
    for _ in range(2):
        next(proposals)
    assert made(kernel) < len([*attempts(options, baseline_of(kernel))])


def eager(kernel: Kernel, options: PlanOptions) -> list[Plan]:
    """The whole stream as it would be if every plan were made at once, and then sorted."""

    def cost(plan: Plan) -> int:
        if options.objective == "bytes":
            return plan.arena_bytes
        return -(resident_blocks(kernel, [plan], None) or 0)

    first, *others = (
        proposed_plan(kernel, DYN, each) for each in attempts(options, baseline_of(kernel))
    )
    found, seen = [first], [(first.offsets, first.provenance.is_kept)]
    ordered = sorted(others, key=cost)
    for plan in ordered:
        terms = (plan.offsets, plan.provenance.is_kept)
        if terms not in seen or plan is ordered[-1]:
            found.append(plan)
            seen.append(terms)
    return found


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("policy", ["dataflow", "inner"])
@pytest.mark.parametrize("packer", ["best", "tilelang", "tvm"])
@pytest.mark.parametrize(
    "path",
    [
        DUMPS / "batched_gemm.sm_90a.tir",
        DUMPS / "flash_attention.sm_90a.tir",
        DUMPS / "mmha_decode.sm_80.tir",
        DUMPS / "mixed_dtypes.sm_80.tir",
        TVM_DUMPS / "dynamic_phases.tir",
        ROOT / "fixtures" / "legacy" / "stream_k_2024.tir",
    ],
    ids=lambda path: path.stem,
)
def test_the_order_is_that_of_all_plans_sorted(
    path: object, packer: str, policy: str, objective: str
) -> None:
    from smemreuse.compilers.text.reader import read_dump

    options = checked_options(policy, packer, objective)
    for kernel in read_dump(str(path)).kernels:
        if DYN in kernel.shared_scopes():
            assert stream(kernel, options) == eager(kernel, options)


def test_a_whole_function_is_proposed_at_once() -> None:
    kernels = [dumped("batched_gemm.sm_80"), dumped("gemm.sm_80")]
    proposals = [*propose(kernels, [[DYN], [DYN]], WANTED, baseline_of(kernels[0]))]
    for proposal in proposals:
        assert [candidate.kernel for candidate in proposal] == kernels
        assert [len(launch) for launch in proposal.launches] == [1, 1]
    assert [one.plan.objective for one in proposals[-1]] == ["none", "none"]


def test_the_compiler_s_own_layout_is_kept_where_arms_wait_for_each_other() -> None:
    kernel = unfollowed()
    own = baseline_of(kernel)
    options = PlanOptions(own.policy, own.packer, own.objective)
    assert plan_with(kernel, DYN, options).provenance.origin is Origin.POLICY
    assert proposed_plan(kernel, DYN, options).provenance.is_kept
    for other in (dumped("batched_gemm.sm_80"), apache("batched_gemm")):
        assert not proposed_plan(other, DYN, options).provenance.is_kept
