"""Functions that may have a barrier inside: who says so, and of whom nobody need say it."""

from __future__ import annotations

import pytest

from smemreuse.linter import lint
from smemreuse.semantics.declarations import taken_on_trust
from smemreuse.semantics.table import effect_of, may_meet_unseen
from smemreuse.semantics.unseen_barriers import why_it_may_meet
from tests.checker.small import SYNC, judge, kernel_of
from tests.semantics.test_foreign import ASSEMBLY, TEXT, inlined, typed

_SCALE = "__device__ int scale(int x) {{ {} }}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TEXT, ""),
        (_SCALE.format("if (x > 0) return min(x, int(2.5f)); return helper(x);"), "calls `helper`"),
        (_SCALE.format("if (x > 0) return min(x, int(2.5f)); return x;"), ""),
        (_SCALE.format("return tl::AllReduce<tl::SumOp, 64, 1>::run(x);"), "calls `run`"),
        (_SCALE.format("__syncthreads(); return x;"), "`sync`"),
        (_SCALE.format("Barrier::wait(); return x;"), "`Barrier`"),
        (_SCALE.format("bar(1); return x;"), "`bar`"),
        (_SCALE.format("cooperative_groups::f(); return x;"), "`cooperative`"),
        ('#include "mine.h"\n' + TEXT, "include"),
        (ASSEMBLY, "`asm`"),
        ("__device__ void other(float* x) {}", "not at hand"),
    ],
)
def test_a_text_shows_that_there_is_no_barrier_or_leaves_it_open(text: str, reason: str) -> None:
    why = why_it_may_meet(inlined(text))
    assert reason in why
    assert bool(why) == bool(reason)
    assert may_meet_unseen(inlined(text)) == bool(reason)


def test_a_function_without_a_text_may_have_a_barrier_and_one_with_a_row_has_what_that_says() -> (
    None
):
    assert effect_of(typed("scale")).may_meet == "its text is not at hand"
    assert effect_of(typed("__expf")).may_meet == ""
    assert effect_of(typed("__syncthreads")).may_meet == ""


def test_the_answer_names_the_function_that_is_assumed_to_have_none() -> None:
    called = "O[tx] = T.call_extern('int32', 'mylib_value', tx)\n"
    body = f"As[63 - tx] = tx\n{SYNC}{called}Bs[tx] = tx\n"
    told = "`mylib_value` has no barrier inside (its text is not at hand)"
    found = judge(body)
    assert found.sound
    assert found.assumptions == (told,)
    assert lint(kernel_of(body)).assumptions == (told,)
    assert judge(body.replace("mylib_value", "__popc")).assumptions == ()


def test_an_operation_without_a_row_is_named_as_well_and_each_once() -> None:
    kernel = kernel_of("T.mystery(1)\nT.mystery(2)\n")
    assert taken_on_trust(kernel.body) == ("`mystery` has no barrier inside (it is not known)",)
