"""Kernels and plans with the verbs as methods, in Python and in notebooks."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

import smemreuse
from smemreuse.ir.kernel import Kernel
from tests.compilers.text.texts import BUFFERS, LAUNCH, dump, kernel_of
from tests.conftest import DUMPS

BATCHED = DUMPS / "batched_gemm.sm_80.tir"


@pytest.fixture(scope="module")
def kernel() -> smemreuse.Kernel:
    return smemreuse.read(BATCHED)[0]


def test_a_kernel_plans_itself(kernel: smemreuse.Kernel) -> None:
    plan = kernel.plan(objective="bytes")
    assert plan.verdict.sound
    assert (plan.size, plan.policy) == (32_768, "dataflow")
    assert kernel.plan(policy="outer").size == 65_536
    assert kernel.plan("shared.dyn", objective="none").size == 65_536
    assert kernel.check(plan) is plan.verdict
    with pytest.raises(smemreuse.PlanError, match="unknown policy 'none'"):
        kernel.plan(policy="none")


def test_an_unsound_plan_says_so() -> None:
    (kernel,) = smemreuse.read(DUMPS / "while_table.sm_80.tir")
    plan = kernel.plan(policy="inner")
    assert plan.verdict.verdict.value == "unsound"


def test_offsets_answer_to_names(kernel: smemreuse.Kernel) -> None:
    plan = kernel.plan(objective="bytes")
    assert plan.offsets["As"] == plan.offsets[plan.buffers[0]] == 0
    assert dict(plan.offsets) == {one: plan.offsets[one] for one in plan.buffers}
    assert repr(plan.offsets) == "{'As': 0, 'Bs': 16384, 'Cs': 0}"
    assert [name in [*plan.offsets.names.values()] for name in ("Cs", "Zs")] == [True, False]
    assert plan.offsets.get("Cs", 7) == 0
    assert plan.offsets.get("Zs", 7) == 7
    with pytest.raises(KeyError, match="Zs"):
        plan.offsets["Zs"]
    assert plan.live["As"].begin < plan.live["As"].end


def test_it_is_the_plan_of_the_functions(kernel: smemreuse.Kernel) -> None:
    plan = smemreuse.plan(kernel)
    assert isinstance(plan, smemreuse.Plan)
    assert smemreuse.check(kernel, plan).sound
    assert plan.verdict.sound
    assert replace(plan, arena_bytes=40_000).size == 40_000
    assert pickle.loads(pickle.dumps(plan.offsets)).by_name() == plan.offsets.by_name()


def test_two_buffers_and_all_of_them(kernel: smemreuse.Kernel) -> None:
    pair = kernel.explain("As", "Cs")
    assert isinstance(pair, smemreuse.Explanation)
    assert pair.may_share
    told = repr(kernel.explain())
    assert told.startswith(
        "batched_gemm_kernel (shared.dyn), smallest arena: 32,768 bytes\n"
        "peak: all 32,768 bytes are live"
    )
    assert "blocks per SM of sm_90" in str(kernel.explain(arch="sm_90"))
    assert kernel.headroom().peak.bytes == 32_768
    with pytest.raises(smemreuse.InputError, match="give two buffers"):
        kernel.explain("As")
    assert kernel.lint().clean


def test_what_is_shown_is_short(kernel: smemreuse.Kernel) -> None:
    plan = kernel.plan()
    shown = (kernel, plan, plan.verdict, plan.offsets, kernel.explain("As", "Cs"))
    assert all(len(repr(one)) < 80 for one in shown)
    assert repr(kernel.headroom()) == (
        "Headroom(peak 32,768 of 32,768 bytes, 2 blocks; 0 changes lower them)"
    )


def test_a_plan_is_drawn(kernel: smemreuse.Kernel) -> None:
    html = kernel.plan(objective="bytes")._repr_html_()
    assert html is not None
    assert "batched_gemm_kernel (shared.dyn), dataflow: 32,768 of 65,536 bytes, sound" in html
    for name in ("As", "Bs", "Cs"):
        assert f'data-buffer="{name}"' in html
    assert "<script" not in html
    assert kernel._repr_html_() == kernel.plan()._repr_html_() != html


def test_each_scope_is_drawn() -> None:
    static = 'S = T.alloc_buffer((8,), scope="shared")\n'
    read = kernel_of(dump(LAUNCH + BUFFERS + static + "As[0] = S[0]\nBs[0] = S[0]\n"))
    html = smemreuse.Kernel.of(read)._repr_html_()
    assert html is not None
    assert "(shared)" in html
    assert "(shared.dyn)" in html


def test_a_kernel_without_shared_buffers() -> None:
    empty = smemreuse.Kernel("k", ())
    assert empty._repr_html_() is None
    assert repr(empty.explain()) == "k has no shared buffers"
    assert isinstance(empty, Kernel)
