"""`merge(objective="fit")`: a function that does not fit is changed until it does."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang
import tilelang.language as T
from tilelang import tvm

import smemreuse.tilelang
from smemreuse.compilers.tilelang.levers import passes
from smemreuse.equivalence import Loop, Proof, Reference, TileProgram
from smemreuse.equivalence.program import statements_in
from smemreuse.errors import PlanError
from smemreuse.results.fitting import LeverKind
from tests.compilers.tilelang.levers.kernels import attention, gemm

pytestmark = pytest.mark.tilelang


def fitted(func: Any, arch: str = "sm_90a", **options: Any) -> smemreuse.tilelang.Session:
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    with smemreuse.tilelang.merge(objective="fit", **options) as session, target:
        tilelang.lower(func, target=target)
    return session


def taken(session: smemreuse.tilelang.Session) -> int:
    (kernel,) = session.kernels
    return kernel.footprint().bytes_after or 0


def test_what_fits_stays_as_it_is() -> None:
    session = fitted(gemm(3))
    (found,) = session.fittings
    assert (found.fits, found.steps, found.tried) == (True, (), 0)
    assert taken(session) == found.before
    with smemreuse.tilelang.merge() as usual, tvm.target.Target({"kind": "cuda", "arch": "sm_90a"}):
        tilelang.lower(gemm(3), target=tvm.target.Target({"kind": "cuda", "arch": "sm_90a"}))
    assert taken(usual) == taken(session)


@pytest.mark.parametrize("options", [{"limit": 101_376}, {"arch": "sm_120"}])
def test_what_does_not_fit_is_changed_until_it_does(options: dict[str, Any]) -> None:
    session = fitted(gemm(3), **options)
    (found,) = session.fittings
    assert found.before > 101_376 >= found.after == taken(session)
    assert found.steps
    assert found.limit == 101_376
    assert {str(one.lever.kind) for one in found.steps} & {"stages", "later-loads"}
    assert f"({found.after:,})" in found.sentence


def test_a_tile_of_the_epilogue_is_left_out_where_that_is_enough() -> None:
    """Nothing else is as cheap: the tile alone is what does not fit."""
    session = fitted(gemm(1, through="float16"), limit=49_152 - 1024)
    (found,) = session.fittings
    kinds = [one.lever.kind for one in found.steps]
    assert found.fits
    assert LeverKind.LATER_LOADS in kinds or LeverKind.DIRECT_STORE in kinds


def test_tiles_are_loaded_again_where_all_else_is_not_enough() -> None:
    """Two tiles of 32 KiB that a product needs together, and 8 KiB beside the second one."""
    session = fitted(attention(), limit=49_152)
    (found,) = session.fittings
    assert [one.lever.kind for one in found.steps] == [LeverKind.SLICES]
    assert found.before > 65_536
    assert taken(session) == found.after <= 49_152


def test_no_more_is_loaded_again_than_is_needed() -> None:
    """The tile that is kept for the loop is needed with the other one; without stages both fit."""
    (found,) = fitted(attention(), limit=81_920).fittings
    assert found.fits
    assert {one.lever.kind for one in found.steps}.isdisjoint({LeverKind.RELOAD, LeverKind.SLICES})


def test_where_nothing_helps_the_largest_buffers_are_named() -> None:
    with pytest.warns(RuntimeWarning, match="are not enough; its largest buffers are"):
        session = fitted(gemm(2), limit=8_192)
    (found,) = session.fittings
    assert (found.fits, found.steps) == (False, ())
    assert "a (" in found.why


def test_what_surely_takes_too_much_is_not_lowered() -> None:
    """Two tiles that a product needs take 32 KiB, with whatever stages."""
    with pytest.warns(RuntimeWarning, match="are not enough"):
        (found,) = fitted(gemm(2), limit=32_767).fittings
    assert (found.fits, found.tried) == (False, 0)
    (found,) = fitted(gemm(2), limit=32_768 + 1024).fittings
    assert found.fits
    assert found.tried == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 1}, 'goes with objective "fit"'),
        ({"objective": "fit", "limit": 0}, "above 0"),
        ({"objective": "fit", "arch": "sm_9000"}, "sm_9000"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said), smemreuse.tilelang.merge(**options):
        pass


def test_a_lever_that_is_not_proved_is_refused() -> None:
    """Rounds hand a row on in global memory, so that no number of stages is as good as another."""

    @T.prim_func
    def main(A: T.Tensor((8, 4096), "float32")) -> None:
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((4096,), "float32")
            for k in T.Pipelined(7, num_stages=2):
                T.copy(A[k, 0], a)
                T.copy(a, A[k + 1, 0])

    with pytest.warns(RuntimeWarning, match="not proved to change no result"):
        session = fitted(main, limit=8_192)
    (found,) = session.fittings
    assert (found.fits, found.tried) == (False, 0)
    assert [str(one.lever.kind) for one in found.refused] == ["stages", "later-loads"]
    assert "A may get other values" in found.refused[0].why


def test_what_is_pulled_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of levers of which only one is proved, that one is pulled."""

    proved = Reference.equivalence

    def only_without_stages(reference: Reference, changed: TileProgram) -> Proof:
        pipelined = any(isinstance(one, Loop) and one.ahead for one in statements_in(changed.body))
        return Proof("for a test") if pipelined else proved(reference, changed)

    monkeypatch.setattr(Reference, "equivalence", only_without_stages)
    (found,) = fitted(gemm(3), limit=101_376).fittings
    assert [str(one.lever.kind) for one in found.steps] == ["later-loads"]
    assert {one.why for one in found.refused} == {"for a test"}


@pytest.mark.parametrize("func", [gemm(3), attention()])
def test_the_passes_of_the_trial_are_not_run_again(
    func: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is lowered for good is what was tried, and comes out the same as without a memory."""
    remembered = lowered(func)
    monkeypatch.setattr(passes, "remember_passes", lambda: None)
    assert remembered.script() == lowered(func).script()


def lowered(func: Any) -> Any:
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
    with smemreuse.tilelang.merge(objective="fit", limit=81_920) as session, target:
        found = tilelang.lower(func, target=target)
    assert session.fittings[0].steps
    assert session.kernels
    assert not session.left
    return found.device_mod
