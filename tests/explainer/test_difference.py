"""Why a plan takes more bytes than another: the bytes of the causes add up."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.explainer.difference import difference_of, with_moves
from smemreuse.explainer.layouts import layout_of
from smemreuse.explainer.matching import matched_kernels
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.difference import CauseKind, Difference, NamedLayout
from smemreuse.targets.architectures import architecture
from tests.compilers.text.texts import LAUNCH, dump, kernel_of
from tests.conftest import DUMPS
from tests.dumps import kernels_of

HEAD = 'G = T.decl_buffer((65536,), "float32", data=A)\n'


def kernel(body: str, **sizes: int) -> Kernel:
    """A kernel with shared buffers of so many floats."""
    made = [f'{one} = T.alloc_buffer(({size},), scope="shared.dyn")' for one, size in sizes.items()]
    return kernel_of(dump(HEAD + "\n".join(made) + "\n" + LAUNCH + body))


def layout(made: Kernel, **options: Any) -> NamedLayout:
    plan = plan_kernel(made, "shared.dyn", **options)
    return layout_of("kernel.tir", made, plan, architecture("sm_90"))


def difference(old: Kernel, new: Kernel) -> Difference:
    found = difference_of(layout(old), layout(new))
    assert sum(one.bytes for one in found.causes) == found.bytes
    return found


def told(found: Difference) -> list[tuple[CauseKind, tuple[str, ...], int]]:
    return [(one.kind, one.buffers, one.bytes) for one in found.causes]


APART = "As[0] = G[0]\nG[1] = As[0]\nBs[0] = G[2]\nG[3] = Bs[0]\n"
TOGETHER = "As[0] = G[0]\nBs[0] = G[2]\nG[3] = Bs[0]\nG[1] = As[0]\n"


def test_nothing_changed() -> None:
    found = difference(kernel(APART, As=256, Bs=256), kernel(APART, As=256, Bs=256))
    assert (found.causes, found.bytes, found.is_growth) == ((), 0, False)


def test_a_buffer_grew() -> None:
    found = difference(kernel(APART, As=256, Bs=256), kernel(APART, As=512, Bs=256))
    assert told(found) == [(CauseKind.SIZE, ("As",), 1_024)]
    assert found.causes[0].text == "As grew: 1,024 to 2,048 bytes"
    assert found.is_growth


def test_a_buffer_that_grew_under_another_costs_nothing() -> None:
    found = difference(kernel(APART, As=256, Bs=1024), kernel(APART, As=512, Bs=1024))
    assert told(found) == [(CauseKind.SIZE, ("As",), 0)]
    assert not found.is_growth


def test_a_live_range_got_longer_with_both_statements() -> None:
    found = difference(
        kernel(APART, As=256, Bs=256), kernel(APART + "G[4] = As[1]\n", As=256, Bs=256)
    )
    ((kind, buffers, cost),) = told(found)
    assert (kind, buffers, cost) == (CauseKind.RANGE, ("As",), 1_024)
    text = found.causes[0].text
    assert text.startswith("the live range of As is longer: it ended at `G[1] = As[0]` (line ")
    assert ", and now does at `G[4] = As[1]` (line " in text
    assert text.endswith("so it meets Bs")


def test_the_other_way_it_got_shorter() -> None:
    found = difference(
        kernel(APART + "G[4] = As[1]\n", As=256, Bs=256), kernel(APART, As=256, Bs=256)
    )
    assert told(found) == [(CauseKind.RANGE, ("As",), -1_024)]
    assert "is shorter" in found.causes[0].text
    assert not found.is_growth


STAGED = "As[0] = G[0]\nBs[0] = G[2]\nG[1] = As[0] + Bs[0]\nCs[0] = G[3]\nG[4] = Cs[0]\n"
"""As and Bs are live together, Cs after both."""


def test_alone_is_what_the_others_leave_of_it() -> None:
    """Cs is as large as the others together, whichever of these is undone."""
    old = kernel(STAGED, As=1024, Bs=1024, Cs=2048)
    found = difference(old, kernel(STAGED, As=4096, Bs=4096, Cs=8192))
    assert told(found) == [
        (CauseKind.SIZE, ("As",), 12_288),
        (CauseKind.SIZE, ("Bs",), 12_288),
        (CauseKind.SIZE, ("Cs",), 0),
    ]
    assert [one.alone for one in found.causes] == [0, 0, 0]
    assert {*found.restoring} == {*found.causes}
    found = difference(old, kernel(STAGED, As=4096, Bs=1024, Cs=2048))
    assert [one.alone for one in found.causes] == [12_288]
    assert found.restoring == found.causes


@pytest.mark.parametrize("fresh", [False, True])
def test_a_buffer_that_vanished_alone(fresh: bool) -> None:
    """Whether it would have shared with a new one nobody knows."""
    old = kernel(APART, As=256, Bs=1024)
    without = "As[0] = G[0]\nG[1] = As[0]\n"
    new = kernel(f"{without}Cs[0] = G[1]\nG[5] = Cs[7]\n" * fresh or without, As=256, Cs=fresh + 1)
    gone = next(one for one in difference(old, new).causes if one.kind is CauseKind.VANISHED)
    assert gone.alone == (None if fresh else 1_024 - 4_096)


def test_a_rule_that_makes_it_longer_is_named() -> None:
    body = "".join(f"    {line}\n" for line in APART.splitlines())
    old, new = (f"for k in range(4):\n{first}{body}" for first in ("", "    G[7] = As[0]\n"))
    found = difference(kernel(old, As=256, Bs=256), kernel(new, As=256, Bs=256))
    assert [one.bytes for one in found.causes] == [1_024]
    assert "rule 2" in found.causes[0].text


def test_a_pair_conflicts_now_by_a_rule() -> None:
    """Fixture `divergent_sequence` has its two branches one behind the other."""
    (old,), (new,) = (
        kernels_of(DUMPS / f"{name}.sm_80.tir") for name in ("divergent_sequence", "divergent_arms")
    )
    found = difference(old, new)
    assert (CauseKind.CONFLICT, ("left", "right"), 4_096) in told(found)
    (text,) = (one.text for one in found.causes if one.kind is CauseKind.CONFLICT)
    why = "rule 4: left and right are in branches that threads of one block take at the same time"
    assert text.startswith(f"left and right must not share now: {why}")


def test_a_buffer_came_and_one_went() -> None:
    more = TOGETHER + "Cs[0] = As[0] + G[8]\nG[9] = Cs[0] + As[1]\n"
    found = difference(kernel(TOGETHER, As=256, Bs=512), kernel(more, As=256, Bs=512, Cs=1024))
    assert told(found) == [(CauseKind.APPEARED, ("Cs",), 2_048)]
    back = difference(kernel(more, As=256, Bs=512, Cs=1024), kernel(TOGETHER, As=256, Bs=512))
    assert told(back) == [(CauseKind.VANISHED, ("Cs",), -2_048)]


def test_a_renamed_buffer_is_found_by_what_it_is() -> None:
    found = difference(
        kernel(APART, As=256, Bs=512), kernel(APART.replace("As", "Xs"), Xs=256, Bs=512)
    )
    assert (found.renamed, found.causes) == ((("As", "Xs"),), ())


def test_two_that_look_alike_are_not_taken_for_each_other() -> None:
    found = difference(
        kernel(APART, As=256, Bs=256),
        kernel(APART.replace("As", "Xs").replace("Bs", "Ys"), Xs=256, Ys=256),
    )
    assert found.renamed == ()
    assert {one.kind for one in found.causes} == {CauseKind.VANISHED, CauseKind.APPEARED}


def test_what_is_in_another_scope_now_has_moved() -> None:
    """Not of another kernel; of a buffer that got larger on the way its bytes on both sides."""
    left = difference_of(_scope("shared", a=64, c=16), _scope("shared", c=16))
    come = difference_of(_scope("shared.dyn", b=32), _scope("shared.dyn", a=128, b=32, d=8))
    other = replace(come, new=replace(come.new, kernel="other"))
    first, second, alone = with_moves([left, come, other])
    assert [one.text for one in first.causes] == ["a moved to shared.dyn: 64 bytes, 128 there"]
    texts = [one.text for one in second.causes]
    assert texts == ["a moved here from shared: 128 bytes, 64 there", "d is new: 8 bytes"]
    assert alone == other
    kinds = [one.kind for one in (*first.causes, *second.causes)]
    assert kinds == [CauseKind.VANISHED, CauseKind.APPEARED, CauseKind.APPEARED]


def _scope(scope: str, **sizes: int) -> NamedLayout:
    """A scope whose buffers are all live together."""
    offsets, offset = {}, 0
    for name, size in sizes.items():
        offsets[name], offset = offset, offset + size
    live = dict.fromkeys(sizes, (0, 1))
    return NamedLayout("k.tir", "k", scope, sizes, dict.fromkeys(sizes, 8), offsets, offset, live)


def test_what_an_old_layout_left_unused_is_told_by_itself() -> None:
    old, new = _scope("shared", a=64, b=64), _scope("shared", a=64, b=64)
    loose = replace(old, arena=192)
    assert [one.text for one in difference_of(loose, new).causes] == [
        "the old layout left 64 bytes unused or unshared, the new one none"
    ]
    assert told(difference_of(new, loose)) == [(CauseKind.PACKING, (), 64)]


@pytest.mark.parametrize("objective", ["speed", "bytes"])
def test_what_speed_leaves_unshared_is_said_to_be_meant(objective: str) -> None:
    tight = layout(kernel(APART, As=256, Bs=256))
    loose = replace(tight, arena=2_048, offsets={"As": 0, "Bs": 1_024}, objective=objective)
    (cause,) = difference_of(tight, loose).causes
    assert (cause.kind, cause.bytes) == (CauseKind.PACKING, 1_024)
    meant = ": sharing bytes gains no block, and no L1 that is worth its barriers"
    assert cause.text.endswith(meant) is (objective == "speed")
    assert cause.alone == (None if objective == "speed" else 1_024)
    (tighter,) = difference_of(loose, tight).causes
    assert (tighter.bytes, tighter.alone) == (-1_024, None)


def test_alignment_padding_has_bytes_of_its_own() -> None:
    found = difference(kernel(TOGETHER, As=4, Bs=256), kernel(TOGETHER, As=5, Bs=256))
    assert told(found)[0] == (CauseKind.SIZE, ("As",), 4)
    old, new = (_by_hand(alignment) for alignment in (16, 1024))
    found = difference_of(old, new)
    assert told(found) == [(CauseKind.ALIGNMENT, ("a",), 992)]
    assert found.causes[0].text == (
        "alignment padding: 0 to 992 bytes (a is aligned to 1,024, was to 16)"
    )


def _by_hand(alignment: int) -> NamedLayout:
    """Three buffers that are live together, two of which want to lie at a multiple."""
    sizes = {"a": 1_040, "b": 1_040, "c": 16}
    wanted = {"a": alignment, "b": 1_024, "c": 16}
    arena = 2_096 if alignment == 16 else 3_088
    live = dict.fromkeys(sizes, (0, 9))
    return NamedLayout("f", "k", "shared.dyn", sizes, wanted, dict.fromkeys(sizes, 0), arena, live)


def test_a_lost_block_is_growth() -> None:
    launch = 'tx = T.launch_thread("threadIdx.x", 128)\n'
    old, new = (kernel(launch + TOGETHER, As=8_000, Bs=size) for size in (3_600, 5_000))
    assert difference(old, new).blocks == (4, 4)
    found = difference(old, kernel(launch + TOGETHER, As=8_000, Bs=8_000))
    assert found.blocks == (4, 3)


@pytest.mark.parametrize("policy", ["outer", "inner", "dataflow"])
def test_real_kernels_add_up(policy: str) -> None:
    """Each against the next, whatever they are."""
    paths = sorted(DUMPS.glob("*.tir"))[::4]
    made = [
        layout_of(path.name, one, plan_kernel(one, "shared.dyn", policy=policy))
        for path in paths
        for one in kernels_of(path)[:1]
    ]
    for old, new in pairwise(made):
        found = difference_of(old, new)
        assert sum(one.bytes for one in found.causes) == new.arena - old.arena


@st.composite
def layouts(draw: st.DrawFn) -> NamedLayout:
    names = draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=6))
    begins = {name: draw(st.integers(0, 9)) for name in names}
    sizes = {name: 16 * draw(st.integers(0, 40)) for name in names}
    pairs = draw(st.lists(st.sampled_from("abcdef"), max_size=2, unique=True))
    return NamedLayout(
        "file",
        "kernel",
        "shared.dyn",
        sizes,
        {name: draw(st.sampled_from([16, 128])) for name in names},
        {name: 16 * draw(st.integers(0, 40)) for name in names},
        draw(st.integers(0, 10_000)),
        {name: (at, at + draw(st.integers(1, 5))) for name, at in begins.items()},
        frozenset([frozenset(pairs)]) if len(pairs) == 2 and {*pairs} <= {*names} else frozenset(),
    )


@given(layouts(), layouts())
def test_whatever_it_is_the_bytes_add_up(old: NamedLayout, new: NamedLayout) -> None:
    found = difference_of(old, new)
    assert sum(one.bytes for one in found.causes) == found.bytes
    assert difference_of(old, old).causes == ()


def _named(*names: str, file: str = "a.tir") -> list[NamedLayout]:
    return [NamedLayout(file, name, "shared.dyn", {}, {}, {}, 0, {}) for name in names]


def test_kernels_go_by_their_names() -> None:
    found = matched_kernels(_named("a", "b", "c"), _named("c", "a", "d", "e"))
    assert [(one.kernel, other.kernel) for one, other in found.pairs] == [("c", "c"), ("a", "a")]
    assert [one.kernel for one in found.vanished] == ["b"]
    assert [one.kernel for one in found.appeared] == ["d", "e"]


def test_the_only_one_left_is_taken_for_renamed() -> None:
    found = matched_kernels(_named("a", "b"), _named("a", "c"))
    assert [(one.kernel, other.kernel) for one, other in found.pairs] == [("a", "a"), ("b", "c")]


def test_kernels_of_one_name_go_by_their_files() -> None:
    old = [*_named("main", file="old/x.tir"), *_named("main", file="old/y.tir")]
    new = [*_named("main", file="new/y.tir"), *_named("main", file="new/x.tir")]
    found = matched_kernels(old, new)
    assert {(one.file[4:], other.file[4:]) for one, other in found.pairs} == {
        ("x.tir", "x.tir"),
        ("y.tir", "y.tir"),
    }
    twice = matched_kernels(_named("main", "main"), _named("main", "main"))
    assert len(twice.pairs) == 2


@pytest.mark.parametrize(
    ("size", "told_of_stages"),
    [(128, " (a pipeline's stages: 2 to 3)"), (32, ", although its stages went from 2 to 3")],
)
def test_stages_that_explain_no_size_are_told_so(size: int, told_of_stages: str) -> None:
    old, new = (layout(kernel("As[0] = G[0]\nG[1] = As[0]\n", As=many)) for many in (64, size))
    sides = (replace(one, stages={"As": many}) for one, many in ((old, 2), (new, 3)))
    (cause, *_) = difference_of(*sides).causes
    assert cause.text.endswith(f"{size * 4:,} bytes{told_of_stages}")
