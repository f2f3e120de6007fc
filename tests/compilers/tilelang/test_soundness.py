"""What the fixtures say of themselves, pair by pair, against explain and the merge hook."""

from __future__ import annotations

from typing import Any

import pytest
from tilelang import tvm

import smemreuse.tilelang
from fixtures.kernels import FIXTURES
from smemreuse.compilers.text.reader import read_dump
from smemreuse.explainer.pairs import Explainer
from smemreuse.ir.kernel import Buffer, Kernel, unique_names
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.tilelang import Session
from tests.compilers.tilelang.lowering import arena_of, lower
from tests.conftest import DUMPS

pytestmark = pytest.mark.tilelang

SCOPE = "shared.dyn"
# Unsafe only for the barriers that ThreadSync leaves out (rule 6): seen behind it, not before.
UNSYNCED = {"step_branches_unsynced", "while_phases_unsynced"}
# Sound to share, and not found: live ranges follow the text, in which the producer of the three
# groups comes behind their epilogues.
NOT_FOUND = {
    ("gemm_three_groups", ("C0", "A0")),
    ("gemm_three_groups", ("C1", "A1")),
}

UNSAFE = [
    (name, pair)
    for name, fixture in FIXTURES.items()
    for pair in fixture.unsafe
    if name not in UNSYNCED
]
SHAREABLE = [(name, pair) for name, fixture in FIXTURES.items() for pair in fixture.shareable]


def kernels_with(name: str, pair: tuple[str, str]) -> list[tuple[Kernel, dict[str, Buffer]]]:
    """The kernels of a fixture's dump that have both buffers."""
    found = []
    for path in sorted(DUMPS.glob(f"{name}.*.tir")):
        for kernel in read_dump(path).kernels:
            names = unique_names(kernel.allocations(SCOPE))
            by_name = {text: buffer for buffer, text in names.items()}
            if set(pair) <= by_name.keys():
                found.append((kernel, by_name))
    return found


@pytest.mark.parametrize(("name", "pair"), UNSAFE, ids=str)
def test_unsafe_pairs_never_share(name: str, pair: tuple[str, str]) -> None:
    kernels = kernels_with(name, pair)
    assert kernels
    for kernel, buffers in kernels:
        plan = plan_kernel(kernel, SCOPE)
        one, two = (buffers[part] for part in pair)
        begin = max(plan.offsets[one], plan.offsets[two])
        ends = (plan.offsets[buffer] + (buffer.size or 0) for buffer in (one, two))
        assert begin >= min(ends), f"{name}: {pair} share bytes"


@pytest.mark.parametrize(("name", "pair"), SHAREABLE, ids=str)
def test_shareable_pairs_are_found(name: str, pair: tuple[str, str]) -> None:
    kernels = kernels_with(name, pair)
    assert kernels
    for kernel, buffers in kernels:
        explained = Explainer(kernel, SCOPE).pair((buffers[pair[0]], buffers[pair[1]]))
        assert explained.may_share is ((name, pair) not in NOT_FOUND), explained


@pytest.mark.parametrize("name", [name for name, fixture in FIXTURES.items() if fixture.variants])
def test_the_pass_applies_only_what_holds_behind_the_barriers(name: str) -> None:
    fixture: Any = FIXTURES[name]
    arch = fixture.variants[0]
    func = fixture.make(**fixture.configs["small"])
    with smemreuse.tilelang.merge(objective="bytes") as session:
        lowered = lower(func, arch)
    assert session.plans
    assert all(applied.verdict.sound for applied in session.plans)
    placed = arena_of(lowered.artifact.device_mod)
    for applied in session.plans:
        arena, offsets = placed[applied.kernel.name]
        assert arena >= applied.plan.arena_bytes
        for one, two in fixture.unsafe:
            sizes = {buffer.name: buffer.size or 0 for buffer in applied.plan.buffers}
            if one in offsets and two in offsets:
                low, high = sorted((one, two), key=lambda part: offsets[part])
                assert offsets[low] + sizes[low] <= offsets[high]


def test_a_barrier_that_thread_sync_misses_is_noticed() -> None:
    """Between the arms of `if k % 2`, an iteration apart, ThreadSync puts none."""
    fixture: Any = FIXTURES["step_branches_unsynced"]
    with smemreuse.tilelang.merge(objective="bytes") as session:
        lower(fixture.make(**fixture.configs["small"]), "sm_80")
    (applied,) = session.plans
    assert applied.plan.arena_bytes == 8192
    ((plan, verdict),) = applied.rejected
    assert (plan.policy, plan.arena_bytes, verdict.verdict) == ("dataflow", 4096, "unsound")
    assert [violation.rule for violation in verdict.violations] == [6]
    assert "left" in verdict.violations[0].witness
    assert "right" in verdict.violations[0].witness


def test_unchecked_applies_what_it_is_told() -> None:
    fixture: Any = FIXTURES["scratch_before_carried"]
    with smemreuse.tilelang.merge("inner", objective="bytes", unchecked=True) as session:
        lower(fixture.make(**fixture.configs["small"]), "sm_80")
    (applied,) = session.plans
    assert (applied.plan.policy, applied.plan.arena_bytes) == ("inner", 4096)
    assert applied.verdict.verdict == "unsound"


def test_an_unsound_policy_is_replaced() -> None:
    fixture: Any = FIXTURES["scratch_before_carried"]
    with smemreuse.tilelang.merge("inner", objective="bytes") as session:
        lower(fixture.make(**fixture.configs["small"]), "sm_80")
    (applied,) = session.plans
    assert (applied.plan.policy, applied.plan.arena_bytes) == ("dataflow", 8192)
    assert [plan.policy for plan, _ in applied.rejected] == ["inner"]


def test_a_lost_barrier_takes_the_plan_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were TileLang not to insert the barrier that sharing needs, nothing would be shared."""
    fixture: Any = FIXTURES["batched_gemm"]
    confirm = Session.confirm
    monkeypatch.setattr(Session, "confirm", lambda self, mod: confirm(self, _stripped(mod)))
    with smemreuse.tilelang.merge(objective="bytes") as session:
        lowered = lower(fixture.make(**fixture.configs["small"]), "sm_80")
    (applied,) = session.plans
    assert (applied.plan.policy, applied.plan.arena_bytes) == ("dataflow", 65_536)
    plan, verdict = applied.rejected[0]
    assert (plan.policy, plan.arena_bytes, verdict.verdict) == ("dataflow", 32_768, "unsound")
    assert {violation.rule for violation in verdict.violations} == {6}
    ((arena, _),) = arena_of(lowered.artifact.device_mod).values()
    assert arena == 65_536


def _stripped(mod: Any) -> Any:
    """The module without its barriers."""

    def drop(node: Any) -> Any:
        if isinstance(node.value, tvm.tirx.Call):
            if getattr(node.value.op, "name", "") == "tirx.tvm_storage_sync":
                return tvm.tirx.Evaluate(0)
        return None

    functions = {}
    for var, func in mod.functions.items():
        body = tvm.tirx.stmt_functor.ir_transform(func.body, None, drop, ["tirx.Evaluate"])
        functions[var] = func.with_body(body)
    return tvm.IRModule(functions)
