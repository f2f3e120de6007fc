"""`merge(levers=True)`: fewer stages where the model says that one more block on an SM pays."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import tilelang
from tilelang import tvm

import smemreuse.tilelang
from smemreuse.compilers.tilelang.levers.function import LeveredFunction
from smemreuse.compilers.tilelang.levers.trials import LeverTrial
from smemreuse.equivalence import Loop, Proof, Reference, TileProgram
from smemreuse.equivalence.program import statements_in
from smemreuse.errors import PlanError
from smemreuse.results.fitting import LEAST_GAIN
from tests.compilers.tilelang.levers.kernels import gemm, rows

pytestmark = pytest.mark.tilelang


def lowered(func: Any, *, levers: bool = True) -> tuple[smemreuse.tilelang.Session, str]:
    """The session, and the device code before code generation."""
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
    with smemreuse.tilelang.merge(levers=levers) as session, target:
        made = tilelang.lower(func, target=target)
    assert not session.left
    return session, str(made.device_mod.script())


def test_fewer_stages_where_one_more_block_pays() -> None:
    session, _ = lowered(rows(3))
    (found,) = session.speedups
    assert [str(one.lever.kind) for one in found.steps] == ["stages"]
    assert found.blocks == (1, 2)
    assert found.gain is not None
    assert found.gain >= LEAST_GAIN
    (kernel,) = session.kernels
    assert found.before > (kernel.footprint().bytes_after or 0) == found.after
    assert kernel.footprint().blocks_after == 2
    assert "2 on an SM instead of 1" in found.sentence
    assert found.sentence in str(session.explain())


def test_nothing_is_pulled_unless_asked() -> None:
    session, usual = lowered(rows(3), levers=False)
    assert not session.speedups
    assert usual != lowered(rows(3))[1]


@pytest.mark.parametrize(
    ("func", "why"),
    [
        (rows(3, blocks=1), "with fewer bytes it would be 1.00 times as fast at most"),
        (rows(2, threads=128), "one more is stopped by registers"),
        (rows(1), "no loop has stages to spare"),
        (gemm(5), "no block launches on sm_90, stopped by shared memory"),
    ],
)
def test_nothing_is_pulled_where_it_gains_nothing(func: Any, why: str) -> None:
    """The kernel is what it is without levers, and the session says why."""
    session, made = lowered(func)
    (found,) = session.speedups
    assert (found.steps, found.gain) == ((), None)
    assert why in found.sentence
    assert found.sentence in str(session.explain())
    assert made == lowered(func, levers=False)[1]


def test_what_fewer_stages_gain_counts_not_what_fewer_bytes_would(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LeveredFunction, "seconds", lambda *_: 1.0)  # the same with any lever
    (found,) = lowered(rows(3))[0].speedups
    assert not found.steps
    assert found.tried > 0
    assert "1.00 times as fast with fewer stages, estimated; less than" in found.why


def test_a_lever_that_is_not_proved_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reference, "equivalence", lambda *_: Proof("for a test"))
    (found,) = lowered(rows(3))[0].speedups
    assert (found.steps, found.tried) == ((), 0)
    assert {str(one.lever.kind) for one in found.refused} == {"stages"}
    assert "(for a test)" in found.why


def test_of_two_levers_the_one_that_is_proved_is_pulled(monkeypatch: pytest.MonkeyPatch) -> None:
    proved = Reference.equivalence

    def only_one_stage(reference: Reference, changed: TileProgram) -> Proof:
        ahead = {one.ahead for one in statements_in(changed.body) if isinstance(one, Loop)}
        return Proof("for a test") if 2 in ahead else proved(reference, changed)

    monkeypatch.setattr(Reference, "equivalence", only_one_stage)
    (found,) = lowered(rows(3))[0].speedups
    assert [one.lever.sentence for one in found.steps] == [
        "the loop over k has 1 stage instead of 3"
    ]
    assert len(found.refused) == 1


def test_what_lint_finds_more_in_is_not_pulled(monkeypatch: pytest.MonkeyPatch) -> None:
    found_in = {True: Counter({("race", True): 1}), False: Counter[tuple[str, bool]]()}
    monkeypatch.setattr(LeverTrial, "hazards", property(lambda one: found_in[bool(one.settings)]))
    (found,) = lowered(rows(3))[0].speedups
    assert not found.steps
    assert "lint finds more hazards" in found.why


@pytest.mark.parametrize("objective", ["bytes", "fit", "none"])
def test_levers_go_with_objective_speed(objective: str) -> None:
    with (
        pytest.raises(PlanError, match='goes with objective "speed"'),
        smemreuse.tilelang.merge(objective=objective, levers=True),
    ):
        pass


def test_what_levers_made_has_places_of_its_own_in_caches() -> None:
    with smemreuse.tilelang.merge() as usual, smemreuse.tilelang.merge(levers=True) as changed:
        assert usual.cache_token != changed.cache_token
