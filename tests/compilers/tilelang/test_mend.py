"""`merge(mend=True)`: what a kernel lacks is put in behind TileLang's own barriers and fences."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
import tilelang
import tilelang.language as T

import smemreuse.tilelang
from fixtures.benchmarks import BENCHMARKS
from smemreuse.compilers.functions import DeviceFunction
from smemreuse.compilers.tilelang import mending, session
from smemreuse.ir.kernel import Kernel, Store, walk_statements
from smemreuse.linter import lint
from smemreuse.pipeline.candidate import Proposal
from smemreuse.results.hazards import Hazard, HazardKind, LintReport, LintStatus, Mend, Remedy
from smemreuse.results.mending import Inserted, Insertion, Mended, Mending
from smemreuse.results.sites import Site
from smemreuse.results.verdict import UNPROVED, Verdict
from smemreuse.semantics import synchronizing as made
from smemreuse.tilelang import Session
from tests.compilers.tilelang.lowering import lower

pytestmark = pytest.mark.tilelang

TILE = "64x64x64"
FENCE = "tl::fence_proxy_async();"
NARROWED = "if ((((int)threadIdx.x) >> 5) == 0) {"


def scan(name: str, tile: str = TILE) -> tuple[Any, dict[str, object]]:
    """The Mamba-2 chunk scan and how it is lowered."""
    benchmark = BENCHMARKS[name]
    return benchmark.make(**benchmark.config(tile)), dict(benchmark.pass_configs)


def source_of(func: Any, configs: Mapping[str, object], **options: Any) -> tuple[str, Session]:
    with smemreuse.tilelang.merge(**options) as active:
        lowered = lower(func, "sm_90a", configs)
    return lowered.artifact.kernel_source, active


def added(before: str, after: str) -> list[tuple[str, str]]:
    """The lines that were put in, each with the one behind it; none may be taken out. Of a branch
    that was put around a line the head alone counts."""
    old, new = ([line.strip() for line in text.splitlines()] for text in (before, after))
    lines = [line for line in difflib.ndiff(old, new) if not line.startswith("? ")]
    assert not [line for line in lines if line.startswith("- ")]
    return [
        (line[2:], behind[2:])
        for line, behind in pairwise(lines)
        if line.startswith("+ ") and line != "+ }"
    ]


@pytest.mark.parametrize("tile", [TILE, "64x64x64, one stage", "128x64x64"])
def test_a_chunk_scan_gets_its_fences_where_stages_are_given_back(tile: str) -> None:
    """Before each arrival that follows a plain read of what TMA refills; nowhere else. And of the
    producers the first warp alone waits, which loads."""
    func, configs = scan("chunk_scan", tile)
    plain, without = source_of(func, configs)
    mended, active = source_of(func, configs, mend=True)
    assert [kernel.lint().status for kernel in without.kernels if kernel.lint] == [
        LintStatus.HAZARDS
    ]
    lines = added(plain, mended)
    fences = [behind for line, behind in lines if line == FENCE]
    assert len(fences) == 3
    assert all(".arrive();" in behind for behind in fences)
    narrowed = [behind for line, behind in lines if line == NARROWED]
    assert len(narrowed) == 4
    assert all(".wait(" in behind for behind in narrowed)
    assert len(lines) == 7
    (found,) = active.mendings
    assert (found.before.status, found.after.status) == (LintStatus.HAZARDS, LintStatus.CLEAN)
    assert found.unmended == ()
    assert [one.plan.arena_bytes for one in active.plans] == [
        one.plan.arena_bytes for one in without.plans
    ]
    (kernel,) = active.kernels
    assert kernel.mending is found
    assert kernel.lint is not None
    assert kernel.lint().clean


def test_one_that_has_its_fences_gets_none() -> None:
    func, configs = scan("chunk_scan_fenced")
    plain, _ = source_of(func, configs)
    mended, active = source_of(func, configs, mend=True)
    assert {line for line, _ in added(plain, mended)} == {NARROWED}
    assert {one.remedy for found in active.mendings for one in found.mends} == {Remedy.NARROW}


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_nvcc_compiles_what_was_mended() -> None:
    func, configs = scan("chunk_scan")
    with smemreuse.tilelang.merge(mend=True) as active:
        tilelang.compile(func, target={"kind": "cuda", "arch": "sm_90a"}, pass_configs=configs)
    (found,) = active.mendings
    assert len(found.mends) == 7


def racing(buffers: int = 2, *, unmendable: bool = False) -> Any:
    """Threads read what others have written, and nobody inserts a barrier."""

    @T.prim_func
    def race(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            As = T.alloc_shared((128,), "float32")
            if buffers > 1:
                Bs = T.alloc_shared((128,), "float32")
                Bs[tx] = A[tx]
                As[tx] = Bs[tx]
            elif unmendable:
                As[0] = A[tx]
            else:
                As[tx] = A[tx]
            B[tx] = As[127 - tx]

    return race


UNSYNCHRONIZED = {"tl.disable_thread_storage_sync": True}


@pytest.mark.parametrize("buffers", [1, 2])
def test_a_barrier_goes_in_whether_anything_is_merged_or_not(buffers: int) -> None:
    func = racing(buffers)
    plain, without = source_of(func, UNSYNCHRONIZED)
    mended, active = source_of(func, UNSYNCHRONIZED, mend=True)
    assert without.mendings == []
    assert [line for line, _ in added(plain, mended)] == ["__syncthreads();"]
    (found,) = active.mendings
    assert found.after.clean
    assert [kernel.mending for kernel in active.kernels] == [found]


def test_what_thread_sync_inserts_is_not_put_in_twice() -> None:
    func = racing()
    plain, _ = source_of(func, {})
    mended, active = source_of(func, {}, mend=True)
    assert mended == plain
    assert [one.before.status for one in active.mendings] == [LintStatus.CLEAN]


def test_nothing_is_mended_unasked() -> None:
    with smemreuse.tilelang.merge() as active:
        lower(racing(), "sm_90a", UNSYNCHRONIZED)
    assert active.mendings == []
    (kernel,) = active.kernels
    assert kernel.mending is None
    assert kernel.lint is not None
    assert kernel.lint().status is LintStatus.HAZARDS


def test_a_kernel_that_nothing_mends_is_warned_of_and_left() -> None:
    func = racing(1, unmendable=True)
    plain, _ = source_of(func, {})
    with pytest.warns(RuntimeWarning, match="race_kernel: .* is not fixed: "):
        mended, active = source_of(func, {}, mend=True)
    assert mended == plain
    (found,) = active.mendings
    assert found.mends == ()
    assert found.unmended


def test_a_function_that_is_left_to_tilelang_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its buffers lie where TileLang's own merge has put them."""

    def fail(*_: object, **_options: object) -> None:
        raise OverflowError("too large")

    func, configs = scan("chunk_scan")
    monkeypatch.setattr("smemreuse.compilers.session.Attempts", fail)
    with pytest.warns(RuntimeWarning, match="own merge: OverflowError"):
        plain, _ = source_of(func, configs)
    with pytest.warns(RuntimeWarning, match="own merge: OverflowError"):
        mended, active = source_of(func, configs, mend=True)
    assert {line for line, _ in added(plain, mended)} == {FENCE, NARROWED}
    (found,) = active.mendings
    assert found.after.clean


def test_a_fault_of_ours_leaves_the_function_unmended(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **_options: object) -> None:
        raise OverflowError("too large")

    func = racing()
    plain, _ = source_of(func, UNSYNCHRONIZED)
    monkeypatch.setattr(mending, "mend", fail)
    with pytest.warns(RuntimeWarning, match="race_kernel is not fixed: OverflowError: too large"):
        mended, active = source_of(func, UNSYNCHRONIZED, mend=True)
    assert mended == plain
    assert len(active.kernels) == 1
    assert active.left == []


def test_a_plan_that_its_mends_would_break_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    func = racing()
    plain, _ = source_of(func, UNSYNCHRONIZED)
    judged = DeviceFunction.judged

    def doubting(self: Any, proposal: Proposal, merged: Any) -> Proposal:
        found = judged(self, proposal, merged)
        if "tvm_storage_sync" not in merged.script():
            return found
        return found.with_verdicts([Verdict(UNPROVED, uncovered=("who knows",)) for _ in found])

    monkeypatch.setattr(DeviceFunction, "judged", doubting)
    monkeypatch.setattr(Proposal, "acceptable", property(lambda self: not _doubted(self)))
    mended, active = source_of(func, UNSYNCHRONIZED, mend=True)
    assert mended == plain
    (found,) = active.mendings
    assert (found.mends, found.doubt) == ((), session.PLAN_FAILS)


def _doubted(proposal: Proposal) -> bool:
    return any("who knows" in one.verdict.uncovered for one in proposal)


def test_what_was_written_is_linted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    func = racing()
    plain, _ = source_of(func, UNSYNCHRONIZED)
    monkeypatch.setattr(mending.MendWriter, "written", lambda self, _: self._func)
    with pytest.warns(RuntimeWarning, match="race is not fixed: lint finds something else"):
        mended, active = source_of(func, UNSYNCHRONIZED, mend=True)
    assert mended == plain
    (found,) = active.mendings
    assert "something else" in found.doubt


def test_caches_are_kept_apart() -> None:
    tokens = [Session().cache_token, Session(mend=True).cache_token]
    assert len(set(tokens)) == 2


WRITTEN = {
    "fence_proxy_async": FENCE,
    "tvm_storage_sync": "__syncthreads();",
    "tvm_storage_sync of some": "tl::__sync_thread_partial(15, 128);",
    "sync_warp": "__syncwarp();",
    "ptx_commit_group": "tl::cp_async_commit();",
    "ptx_wait_group": "tl::cp_async_wait<1>();",
    "tma_store_arrive": "tl::tma_store_arrive();",
    "tma_store_wait": "tl::tma_store_wait<1, true>();",
    "warpgroup_commit_batch": "tl::warpgroup_commit_batch();",
    "warpgroup_wait": "tl::warpgroup_wait<1>();",
}
"""What each operation becomes in CUDA."""


def test_every_mend_is_written_down_to_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [
        made.proxy_fence(),
        made.block_barrier("shared.dyn"),
        made.named_barrier("shared.dyn", 15, 128),
        made.warp_barrier(),
        *(call for one in made.GROUPED for call in (made.commit(one), made.wait(one, 1))),
    ]
    assert {call.op for call in calls} == {name.split()[0] for name in WRITTEN}

    def everything(kernel: Kernel, _: object) -> Mending:
        """Put in before the first store."""
        store = next(one for one in walk_statements(kernel.body) if isinstance(one, Store))
        site = Site.of(store)
        why = Hazard(HazardKind.RACE, True, site, (), "", Mend(Remedy.BARRIER, "", site, site))
        insertion = Insertion(store, False, tuple(map(Inserted, calls)))
        clean = LintReport(kernel.name, barriers_follow=False)
        return Mending(clean, clean, (Mended(insertion, why),))

    plain, _ = source_of(racing(), {})
    monkeypatch.setattr(mending, "mend", everything)
    mended, _ = source_of(racing(), {}, mend=True)
    lines = [line for line, _ in added(plain, mended) if not line.startswith("#include")]
    assert sorted(lines) == sorted(WRITTEN.values())


def loading(*, waits: bool) -> Any:
    """A tile that TMA loads is read before anybody waits for it, and once more behind that."""

    @T.prim_func
    def load(X: T.Tensor((128, 32), "int32"), Y: T.Tensor((2, 128), "int32")):
        with T.Kernel(1, threads=128):
            stage = T.alloc_shared((128, 32), "int32")
            T.annotate_layout({stage: T.Layout((128, 32), lambda i, j: (i, j))})
            full = T.alloc_barrier(128)
            tx = T.get_thread_binding(0)
            T.tma_copy(X[0, 0], stage, barrier=full)
            T.mbarrier_arrive(full)
            Y[0, tx] = stage[tx, 0]
            if waits:
                T.mbarrier_wait_parity(full, 0)
            Y[1, tx] = stage[tx, 1]

    return load


@pytest.mark.parametrize("waits", [True, False])
def test_a_phase_is_waited_for_before_what_it_completes_is_read(waits: bool) -> None:
    """By the wait that comes too late, once more; else by one that is made."""
    func, configs = loading(waits=waits), {**UNSYNCHRONIZED, "tl.disable_warp_specialized": True}
    plain, _ = source_of(func, configs)
    mended, active = source_of(func, configs, mend=True)
    assert [line for line, _ in added(plain, mended)] == ["full[0].wait(0);"]
    assert mended.index("full[0].wait(0);") < mended.index("Y[")
    (found,) = active.mendings
    assert found.after.clean


DELETED = ("tma_store_wait", "warpgroup_wait", "fence_proxy_async", "tvm_storage_sync")


def _without(func: Any, name: str, number: int) -> Any:
    """A function without one of its operations of a name; None where there are not so many."""
    from tilelang import tvm

    found: list[Any] = []

    def drop(node: Any) -> Any:
        call = node.value
        if isinstance(call, tvm.tirx.Call) and str(getattr(call.op, "name", "")).endswith(name):
            found.append(node)
            if len(found) == number + 1:
                return tvm.tirx.Evaluate(0)
        return None

    body = tvm.tirx.stmt_functor.ir_transform(func.body, None, drop, ["tirx.Evaluate"])
    return func.with_body(body) if len(found) > number else None


@pytest.mark.parametrize("name", DELETED)
def test_what_is_deleted_from_a_lowered_gemm_is_put_in_again(name: str) -> None:
    from fixtures.kernels import FIXTURES

    fixture: Any = FIXTURES["gemm"]
    seen: list[Any] = []

    def watched(self: Session, mod: Any) -> Any:
        seen.append(mod)
        return confirm(self, mod)

    confirm = Session.confirm
    with pytest.MonkeyPatch.context() as patch, smemreuse.tilelang.merge():
        patch.setattr(Session, "confirm", watched)
        lower(fixture.make(**fixture.configs["small"]), "sm_90a")
    (func,) = [func for var, func in seen[0].functions.items() if "kernel" in var.name_hint]
    broken, number = 0, 0
    while (changed := _without(func, name, number)) is not None:
        number += 1
        function = mending.Synchronized("gemm_kernel", changed, {})
        again, found = function.mended()
        assert _statuses(again) == [LintStatus.CLEAN]
        broken += found[0].before.status is not LintStatus.CLEAN
    assert number
    assert broken or name == "fence_proxy_async"


def _statuses(function: mending.Synchronized) -> Sequence[LintStatus]:
    return [lint(kernel).status for kernel in function.kernels]
