"""`explain`: why two buffers may share, or what forbids it."""

from __future__ import annotations

import json

from tests.commands.running import run
from tests.conftest import DUMPS


def dump(name: str) -> str:
    return str(DUMPS / f"{name}.tir")


def test_two_that_may_share() -> None:
    result = run("explain", dump("batched_gemm.sm_80"), "As", "Cs")
    assert result.exit_code == 0
    assert "As and Cs may share bytes" in result.stdout


def test_two_that_must_not_and_why() -> None:
    result = run("explain", dump("while_table.sm_80"), "scratch", "table")
    assert result.exit_code == 1
    assert "must not share bytes" in result.stdout
    assert "rule 2: table: its bytes may be carried around in `while k_1[0] < 6` (line" in (
        result.stdout
    )
    assert "overwrote it" in result.stdout


def test_mbarriers_settle_what_static_rules_cannot() -> None:
    result = run("explain", dump("gemm.sm_90a"), "As", "Cs", "--format", "json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    assert data["schema"] == "smemreuse.explain/1"
    (kernel,) = data["kernels"]
    assert kernel["may_share"] is True
    assert kernel["reasons"] == []
    assert any(reason.startswith("rule 4") for reason in kernel["settled"])
    assert kernel["checker"]["verdict"] == "sound"


def test_arms_that_run_at_once() -> None:
    result = run("explain", dump("divergent_arms.sm_80"), "left", "right")
    assert result.exit_code == 1
    assert "rule 4: left and right are in arms that threads of one block take" in result.stdout


def test_a_name_that_is_not_there_lists_those_that_are() -> None:
    result = run("explain", dump("batched_gemm.sm_80"), "As", "Zs")
    assert result.exit_code == 2
    assert "there are As, Bs, Cs" in result.stderr


def test_one_buffer_twice() -> None:
    result = run("explain", dump("batched_gemm.sm_80"), "As", "As")
    assert result.exit_code == 2
    assert "give two buffers" in result.stderr


def test_kernels_are_told_apart() -> None:
    both = run("explain", dump("two_kernels.sm_80"), "table", "one", "--format", "json")
    assert len(json.loads(both.stdout)["kernels"]) == 1
    none = run("explain", dump("two_kernels.sm_80"), "table", "one", "--kernel", "nobody")
    assert none.exit_code == 2
