"""A version is one object: plans, predicted barriers and fences follow a made-up one."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from smemreuse.checker import check_plan
from smemreuse.checker.predicted.prediction import ThreadSyncView, view_of
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.verdict import SOUND, Verdict
from smemreuse.semantics.accesses import KernelAccesses
from smemreuse.targets.blocks import block_memory
from smemreuse.versions import TILELANG, VERSIONS, installed
from smemreuse.versions.merges import merge_for, merge_of
from tests.checker.small import COPY_A, SCOPE, SYNC, USE_B, kernel_of
from tests.versions.made_up import KEY, registered

THREAD_SYNC = VERSIONS[TILELANG].thread_sync
FENCE_PASS = VERSIONS[TILELANG].fence_pass
MERGE = VERSIONS[TILELANG].merge

COPIED = f"{COPY_A}T.ptx_commit_group()\n{SYNC}T.ptx_wait_group(0)\n{USE_B}"
"""Each thread waits for its own copies: all are complete after a barrier that follows the wait."""

WRITTEN_AND_STORED = """
X = T.handle("int32", "global")
A = T.alloc_buffer((64,), "int32", scope="shared.dyn")
tx = T.launch_thread("threadIdx.x", 64)
A[tx] = 1
T.tma_store(X, T.tvm_access_ptr(T.type_annotation("int32"), A.data, 0, 64, 1), 0)
"""


def of(kernel: Kernel, version: str) -> Kernel:
    """A kernel as if another version had made it."""
    return Kernel(kernel.name, kernel.body, kernel.attrs, version)


def judged(kernel: Kernel) -> Verdict:
    offsets = dict.fromkeys(kernel.allocations(SCOPE), 0)
    return check_plan(kernel, SCOPE, offsets, 256, dict.fromkeys(offsets, 16))


def test_plans_have_its_alignment(monkeypatch: pytest.MonkeyPatch) -> None:
    registered(monkeypatch, data_alignment=512, dynamic_alignment=2048)
    kernel = kernel_of("As[tx] = tx\nBs[tx] = As[tx]\nO[tx] = Bs[tx]\n")
    made_up = of(kernel, KEY)
    assert sorted(plan_kernel(kernel, SCOPE, objective="bytes").offsets.values()) == [0, 256]
    plan = plan_kernel(made_up, SCOPE, objective="bytes")
    assert sorted(plan.offsets.values()) == [0, 512]
    assert sorted(merge_of(made_up).plan(made_up, SCOPE).offsets.values()) == [0, 512]
    assert block_memory(made_up, [plan]).alignment == 2048


def test_its_barriers_are_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    registered(monkeypatch, thread_sync=replace(THREAD_SYNC, barrier_after=frozenset()))
    kernel = kernel_of(COPIED)
    assert judged(kernel).verdict is SOUND
    assert judged(of(kernel, KEY)).verdict is not SOUND


def view(kernel: Kernel) -> ThreadSyncView:
    return view_of(kernel, KernelAccesses.of(kernel.body).pointers)


def pairs_compared(kernel: Kernel) -> int:
    collisions = view(kernel).collisions
    offsets = dict.fromkeys(kernel.allocations(SCOPE), 0)
    pairs = combinations(collisions.entries, 2)
    return sum(collisions.perhaps(one, two, None, offsets) for one, two in pairs)


def test_it_compares_what_its_list_does_not_name(monkeypatch: pytest.MonkeyPatch) -> None:
    registered(monkeypatch, thread_sync=replace(THREAD_SYNC, copies=frozenset()))
    kernel = kernel_of(COPY_A + COPY_A.replace("As.data", "Bs.data"))
    assert pairs_compared(kernel) == 0
    assert pairs_compared(of(kernel, KEY)) == 1


def test_its_fences_are_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    registered(monkeypatch, fence_pass=replace(FENCE_PASS, fenced=frozenset({"tma_load"})))
    (kernel,) = parse_dump(WRITTEN_AND_STORED).kernels
    assert len(view(kernel).fenced) == 1
    assert not view(of(kernel, KEY)).fenced


def test_its_merge_is_held_against_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = replace(MERGE, name="TileLang 9.9", policy="inner", aggressive=None)
    registered(monkeypatch, merge=rules)
    kernel = kernel_of("As[tx] = tx\nO[tx] = As[tx]\nBs[tx] = tx\nO[tx] = Bs[tx]\n")
    made_up = of(kernel, KEY)
    assert merge_of(made_up).name == "TileLang 9.9"
    assert merge_for(made_up, "inner", "tilelang") is merge_of(made_up)
    outer = merge_for(made_up, "outer", "tilelang")
    assert outer is not None
    assert outer.name == VERSIONS[TILELANG].name  # what no option of its own stands for


def test_it_is_found_by_the_number_of_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    registered(monkeypatch)
    for number in ("9.9", "9.9.0.post1", "9.9+cu128"):
        assert installed(TILELANG, number).key == KEY
    unknown = installed(TILELANG, "9.90")
    assert (unknown.name, unknown.merge.name, unknown.is_known) == (*["TileLang 9.90"] * 2, False)
    assert unknown.thread_sync is VERSIONS[TILELANG].thread_sync
