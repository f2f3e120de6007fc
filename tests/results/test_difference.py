"""What the scopes of one kernel come to together."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.results.difference import Difference, NamedLayout, by_kernel

DYNAMIC = NamedLayout("k.tir", "k", "shared.dyn", {}, {}, {}, 4096, {})
STATIC = replace(DYNAMIC, scope="shared", arena=384)
ABSENT = replace(STATIC, arena=0, is_absent=True)


def shrunk_by(size: int, scope: NamedLayout = DYNAMIC) -> Difference:
    return Difference(scope, replace(scope, arena=scope.arena - size), ())


def test_a_scope_that_came_counts_with_the_others_of_its_kernel() -> None:
    came = Difference(ABSENT, STATIC, ())
    for size, grew in ((384, 0), (1024, -640), (0, 384)):
        (kernel,) = by_kernel([came, shrunk_by(size)])
        assert (kernel.bytes, kernel.is_growth) == (grew, grew > 0)
        assert kernel.named.old is DYNAMIC


def test_a_scope_that_went_belongs_to_the_kernel_of_the_new_name() -> None:
    renamed = Difference(DYNAMIC, replace(DYNAMIC, file="new.tir", kernel="other"), ())
    (kernel,) = by_kernel([renamed, Difference(STATIC, ABSENT, ())])
    assert (kernel.bytes, len(kernel.scopes)) == (-384, 2)


def test_kernels_of_one_name_make_up_for_nothing() -> None:
    grown = shrunk_by(-1024)
    found = by_kernel([grown, shrunk_by(2048)])
    assert [one.is_growth for one in found] == [True, False]
    assert len(by_kernel([grown, shrunk_by(2048), Difference(ABSENT, STATIC, ())])) == 3


def test_kernels_of_other_names_are_others() -> None:
    other = replace(DYNAMIC, kernel="other")
    assert [one.bytes for one in by_kernel([shrunk_by(512), shrunk_by(-512, other)])] == [-512, 512]


def test_a_size_that_is_not_known_may_be_growth_whatever_else_shrank() -> None:
    symbolic = Difference(STATIC, replace(STATIC, symbolic="n * 4"), ())
    (kernel,) = by_kernel([symbolic, shrunk_by(2048)])
    assert kernel.is_growth
