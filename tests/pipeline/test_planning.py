"""Where plans come from: every origin, and what else their provenance tells."""

from __future__ import annotations

import pytest

from smemreuse.errors import PlanError
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import checked_options, plan_kernel
from smemreuse.results.provenance import (
    Occupancy,
    Origin,
    PackerFallback,
    Provenance,
    StockFailure,
    StockFault,
)
from smemreuse.results.residents import Registers, RegisterSource
from smemreuse.results.verdict import SOUND, UNPROVED
from smemreuse.targets.architectures import ARCHITECTURES
from smemreuse.versions.merges import merge_of
from tests.pipeline.kernels import DYN, dumped, unfollowed


def provenance(kernel: Kernel, **options: object) -> Provenance:
    found: Provenance = plan_kernel(kernel, DYN, **options).provenance  # type: ignore[arg-type]
    return found


def test_what_a_policy_says_by_itself() -> None:
    kernel = dumped("batched_gemm.sm_80")
    for policy in ("outer", "inner", "dataflow"):
        assert provenance(kernel, policy=policy) == Provenance(policy, "best", "bytes")


def test_what_the_checker_proves_of_inner_s_ranges() -> None:
    kernel = dumped("batched_gemm.sm_90a")
    plan = plan_kernel(kernel, DYN)
    assert plan.provenance == Provenance("dataflow", "best", "bytes", Origin.INNER_PROVED)
    assert judge(kernel, plan).verdict == SOUND


def test_what_is_kept_from_the_compiler() -> None:
    kernel = unfollowed()
    plan = plan_kernel(kernel, DYN)
    own = merge_of(kernel)
    kept = Provenance("dataflow", own.packer, "bytes", Origin.KEPT_FROM_COMPILER)
    assert plan.provenance == kept
    assert plan.offsets == plan_kernel(kernel, DYN, policy=own.policy, packer=own.packer).offsets
    assert plan_kernel(kernel, DYN, objective="speed").offsets == plan.offsets
    assert judge(kernel, plan).verdict == UNPROVED


def test_what_another_packer_made() -> None:
    found = provenance(dumped("divergent_arms.sm_80"), packer="tilelang")
    why = "packer 'tilelang' needs live ranges, not only conflicts"
    assert found.fallback == PackerFallback(failed="tilelang", used="best", why=why)
    assert found.packer == "tilelang"


def test_what_a_compiler_s_pass_fails_on() -> None:
    found = provenance(dumped("pointer_escape.sm_80"), policy="outer", packer="tvm")
    assert found.failures == (StockFailure(StockFault.ADDRESS_ONLY, "table"),)
    apart = provenance(
        dumped("pointer_escape.sm_80"), policy="outer", packer="tvm", objective="none"
    )
    assert apart.failures == ()


def test_what_speed_reckoned_with() -> None:
    kernel = dumped("batched_gemm.sm_90a")
    found = provenance(kernel, objective="speed").occupancy
    registers = Registers(162, RegisterSource.ESTIMATE)
    assert found == Occupancy(1, "sm_90", False, True, (256 - 100) * 1024, registers)
    small = provenance(kernel, objective="speed", arch=ARCHITECTURES["sm_75"]).occupancy
    assert small == Occupancy(1, "sm_75", False, True, (96 - 64) * 1024, registers)
    assert small.fits
    assert plan_kernel(kernel, DYN, objective="occupancy") == plan_kernel(
        kernel, DYN, objective="speed"
    )
    assert provenance(kernel).occupancy is None


def test_unknown_names() -> None:
    for options in (("no", "best", "bytes"), ("outer", "no", "bytes"), ("outer", "best", "no")):
        with pytest.raises(PlanError, match=r"unknown \w+ 'no'; choose one of "):
            checked_options(*options)
