"""What compilers leave of their merges is taken apart again, and judged."""

from __future__ import annotations

from textwrap import dedent

import pytest

from smemreuse.audit import (
    BarrierStage,
    applied_layout,
    audit_merged,
    audit_plan,
    barriers_follow,
)
from smemreuse.compilers.text.reader import parse_dump, read_dump
from smemreuse.compilers.text.rewrite import merge_text
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.audit import Audit, PlanSource
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND
from tests.checker.small import kernel_of as small_kernel
from tests.compilers.text.texts import dump, kernel_of
from tests.conftest import DUMPS, ROOT

SCOPE = "shared.dyn"
BATCHED = DUMPS / "batched_gemm.sm_80.tir"


def audited(body: str) -> Audit:
    """The audit of a kernel that is merged already."""
    return audit_merged(kernel_of(dump(body)), SCOPE, BarrierStage.AUTO)


def rules(audit: Audit) -> set[Rule]:
    return {violation.rule for violation in audit.verdict.violations}


@pytest.mark.parametrize("policy", ["outer", "inner", "dataflow"])
def test_what_was_merged_as_text_is_read_back(policy: str) -> None:
    """By pointers, as TileLang leaves them: the same places in the same arena."""
    merged = merge_text(
        read_dump(BATCHED), lambda kernel, scope: plan_kernel(kernel, scope, policy=policy)
    )
    (kernel,) = read_dump(BATCHED).kernels
    planned = plan_kernel(kernel, SCOPE, policy=policy)
    found = audit_merged(kernel_of(merged.source), SCOPE, BarrierStage.AUTO)
    assert (found.source, found.verdict.verdict) == (PlanSource.MERGED, SOUND)
    assert found.offsets == {one.name: at for one, at in planned.offsets.items()}
    assert found.arena == planned.arena_bytes
    layout = applied_layout(kernel_of(merged.source), SCOPE)
    assert layout is not None
    assert [one.size for one in layout.offsets] == [one.size for one in planned.offsets]


def test_nothing_merged_shares_nothing() -> None:
    (kernel,) = read_dump(BATCHED).kernels
    found = audit_merged(kernel, SCOPE, BarrierStage.AUTO)
    assert (found.source, found.offsets, found.arena) == (PlanSource.NOTHING_MERGED, {}, 0)
    assert found.verdict.sound


def test_whether_barriers_are_there_is_seen_or_told() -> None:
    """A plan that shares bytes, for a kernel without barriers."""
    (kernel,) = read_dump(BATCHED).kernels
    plan = plan_kernel(kernel, SCOPE)
    kinds = {
        barriers: audit_plan(kernel, SCOPE, plan.offsets, plan.arena_bytes, barriers).verdict
        for barriers in BarrierStage
    }
    assert kinds[BarrierStage.AUTO] == kinds[BarrierStage.LATER]
    assert kinds[BarrierStage.LATER].sound
    assert {one.rule for one in kinds[BarrierStage.PRESENT].violations} == {Rule.BARRIER}
    assert kinds[BarrierStage.PRESENT].verdict is UNSOUND


POINTERS = """\
arena = T.alloc_buffer((512,), "uint8", scope="shared.dyn")
tx = T.launch_thread("threadIdx.x", 32)
X: T.handle("uint8", "shared.dyn") = T.handle_add_byte_offset(arena.data, 0)
Y: T.handle("uint8", "shared.dyn") = T.handle_add_byte_offset(arena.data, 384)
Z: T.handle("uint8", "shared.dyn") = T.handle_add_byte_offset(arena.data, 512)
"""
"""What TileLang leaves of its merge, where nothing declares the buffers' sizes."""
COPY = (
    'T.ptx_cp_async(T.tvm_access_ptr(T.type_annotation("uint8"), {}, {}, 4, 2), '
    'T.tvm_access_ptr(T.type_annotation("uint8"), A, 0, 4, 1), 4)\n'
)


@pytest.mark.parametrize(
    ("buffer", "place", "verdict"),
    [
        ("Y", "tx * 4", "sound"),
        ("Y", "n", "sound"),
        ("Y", "tx * 4 + 4", "unproved"),
        ("Z", "n", "unproved"),
    ],
)
def test_what_accesses_may_reach_behind_the_arena_is_not_proved(
    buffer: str, place: str, verdict: str
) -> None:
    """A bound on an index is no execution: whether any thread gets there is not known."""
    found = audited(POINTERS + COPY.format(buffer, place)).verdict
    assert found.verdict == verdict
    assert all(f"{buffer} may be accessed at" in reason for reason in found.uncovered)


def test_what_is_accessed_beside_the_pointers_is_not_proved() -> None:
    """Whose bytes the arena's own accesses are of, nobody tells."""
    found = audited(f"{POINTERS}{COPY.format('Y', 'tx * 4')}arena[tx] = T.uint8(1)\n").verdict
    assert found.verdict == "unproved"
    assert "arena is accessed beside the pointers into it" in " ".join(found.uncovered)


TWO_PARTS = """\
bx = T.launch_thread("blockIdx.x", 1)
arena = T.alloc_buffer((384,), "uint8", scope="shared.dyn")
tx = T.launch_thread("threadIdx.x", 64)
p: T.let[T.handle("float32", "shared.dyn")] = T.handle_add_byte_offset(arena.data, 0)
q: T.let[T.handle("float32", "shared.dyn")] = T.handle_add_byte_offset(arena.data, 256)
low = T.decl_buffer((64,), data=p, scope="shared.dyn")
high = T.decl_buffer((32,), data=q, scope="shared.dyn")
"""
"""256 bytes, and 128 after them."""

SELECTED = f"""\
{TWO_PARTS}low[tx] = T.float32(1)
T.tvm_storage_sync("shared.dyn")
{{}}
"""


@pytest.mark.parametrize(
    ("value", "assumes"),
    [
        ("T.if_then_else(tx < 32, low[tx + 32], 0)", False),
        ("T.if_then_else(tx < 32, 0, low[tx - 32])", False),
        ("T.if_then_else(A[0] < 32, low[tx + 32], 0)", True),
        ("low[tx + 32]", True),  # as of a kernel that is not merged: lint finds half of it outside
        ("low[63 - D[tx]]", True),
    ],
)
def test_what_conditions_and_views_let_through_is_what_is_reached(
    value: str, assumes: bool
) -> None:
    text = SELECTED.format(f'D = T.decl_buffer((64,), "int32", data=A)\nhigh[tx % 32] = {value}')
    found = audited(text.replace("A[0]", "D[0]")).verdict
    inside = "each index stays inside its view of p"
    assert (found.verdict, inside in found.assumptions) == (SOUND, assumes)


WORKSPACE = f"""\
{TWO_PARTS}high[tx % 32] = T.float32(1)
T.tvm_storage_sync("shared.dyn")
x: T.let[T.float32] = T.call_extern("float32", "tl::AllReduce<tl::SumOp, 64, 1, 0>::run", \
T.float32(1), T.tvm_access_ptr(T.type_annotation("float32"), low.data, {{}}, {{}}, 3))
T.tvm_storage_sync("shared.dyn")
y: T.let[T.float32] = high[31 - tx % 32]
"""
"""A reduction that may access any byte of its workspace, after which something else lies."""


@pytest.mark.parametrize(
    ("begin", "elements", "verdict"),
    [
        (0, 64, "sound"),
        (0, 32, "unproved"),  # views and pointer disagree on how large it is
        (0, 96, "unproved"),
        (32, 64, "unproved"),
    ],
)
def test_a_workspace_is_as_large_as_its_views_and_the_pointer_to_it_agree(
    begin: int, elements: int, verdict: str
) -> None:
    assert audited(WORKSPACE.format(begin, elements)).verdict.verdict == verdict


VIEWS = """\
bx = T.launch_thread("blockIdx.x", 1)
arena = T.alloc_buffer((512,), "uint8", scope="shared.dyn")
X = T.decl_buffer((64,), "float16", data=arena.data, scope="shared.dyn")
Y = T.decl_buffer((64,), "float32", data=arena.data, scope="shared.dyn")
tx = T.launch_thread("threadIdx.x", 32)
here: T.let[T.int32] = 31 - tx
"""
"""What Apache TVM leaves of its merge: typed views of one arena, offsets in the indices."""
SYNC = 'T.tvm_storage_sync("shared.dyn")\n'


def audit_of_views(body: str) -> Audit:
    return audited(VIEWS + body)


def test_views_are_told_apart_by_their_indices() -> None:
    """X in [0, 64), Y in [128, 256): nothing is shared, whatever is ordered."""
    found = audit_of_views("X[tx] = T.float16(0)\nY[32 + tx] = T.float32(X[here])\n")
    assert (found.verdict.verdict, found.offsets) == (SOUND, {"X": 0, "Y": 128})
    assert "a typed view of the arena is one buffer" in found.verdict.assumptions[0]


@pytest.mark.parametrize("index", ["128 + tx", "tx - 1"])
def test_views_that_may_leave_their_arena_are_not_proved(index: str) -> None:
    found = audit_of_views(f"X[tx] = T.float16(0)\nY[{index}] = T.float32(0)\n")
    assert found.verdict.verdict is UNPROVED
    assert any("Y may be accessed at" in reason for reason in found.verdict.uncovered)


def test_a_vector_of_indices_reaches_all_its_lanes() -> None:
    lanes = "X[T.Ramp(tx * 2, 1, 2)] = T.Broadcast(T.float16(0), 2)\n"
    found = audit_of_views(lanes + SYNC + "Y[32 + tx] = T.float32(0)\n")
    assert (found.verdict.verdict, found.offsets) == (SOUND, {"X": 0, "Y": 128})
    overlapping = lanes + "Y[31 + tx] = T.float32(X[2 * tx])\n"
    assert audit_of_views(overlapping).offsets == {"X": 0, "Y": 124}


ORDERED = "X[tx] = T.float16(0)\n" + SYNC + "x: T.let[T.float16] = X[here]\n"


def test_views_that_share_bytes_in_order_are_sound() -> None:
    later = SYNC + "Y[tx] = T.float32(1)\n" + SYNC + "y: T.let[T.float32] = Y[here]\n"
    assert audit_of_views(ORDERED + later).verdict.sound


def test_views_that_share_bytes_without_order_are_a_race() -> None:
    found = audit_of_views(ORDERED + "Y[tx] = T.float32(1)\n")
    assert rules(found) == {Rule.BARRIER}


def test_views_that_disturb_each_other_may_be_of_one_buffer() -> None:
    """Y is filled between X's two reads: wrong of two buffers, and meant of one."""
    between = SYNC + "Y[tx] = T.float32(1)\n" + SYNC + "y: T.let[T.float16] = X[here]\n"
    found = audit_of_views(ORDERED + between)
    assert found.verdict.verdict is UNPROVED
    assert rules(found) == {Rule.LOOP_CARRIED}
    assert "two of one buffer may share bytes on purpose" in found.verdict.uncovered[0]


WHERE = 'T.tvm_access_ptr(T.type_annotation("uint8"), Y, 0, 4, 2)'


@pytest.mark.parametrize(
    "body",
    [
        "X[n + tx] = T.float16(0)\nY[64 + tx] = T.float32(0)\n",
        'X[tx] = T.float16(0)\nT.call_extern("int32", "f", T.address_of(Y[64]))\n',
        'X[tx] = T.float16(0)\nT.call_extern("int32", "f", Y.data)\n',
        'X[tx] = T.float16(0)\nT.call_extern("int32", "f", Y[64])\n',
        f"X[tx] = T.float16(0)\n{COPY.format('Y', '0').replace(WHERE, 'T.address_of(Y[32 + tx])')}",
    ],
    ids=[
        "index of the launch",
        "address of an element",
        "pointer",
        "reference",
        "of so many bytes",
    ],
)
def test_views_that_indices_do_not_tell_apart(body: str) -> None:
    found = audit_of_views(body)
    assert (found.verdict.verdict, found.source) == (UNPROVED, PlanSource.MERGED)
    assert "check the dump from before the merge" in found.verdict.uncovered[0]


def test_the_merge_s_own_sums_of_vectors_are_followed() -> None:
    """Apache TVM adds a buffer's offset to each lane of an index."""
    lanes = "T.Ramp(tx, 1, 1) + T.Broadcast({}, 1)"
    filled = f"X[{lanes.format(0)}] = T.Broadcast(T.float16(0), 1)\n"
    for place, verdict in ((32, "sound"), (0, "unsound")):
        body = f"Y[{lanes.format(place)}] = T.Broadcast(T.float32(0), 1)\n"
        found = audit_of_views(f"{filled}{body}{SYNC}x: T.let[T.float16] = X[here]\n")
        assert (found.verdict.verdict, found.offsets) == (verdict, {"X": 0, "Y": 4 * place})


POINTED = (
    'T.ptx_cp_async(T.tvm_access_ptr(T.type_annotation("{}"), {}.data, {}, {}, 2), '
    'T.tvm_access_ptr(T.type_annotation("{}"), A, 0, {}, 1), {})\n'
)
WAITED = "T.ptx_commit_group()\nT.ptx_wait_group(0)\n"


@pytest.mark.parametrize(
    ("dtype", "place", "count", "verdict", "offset"),
    [
        ("float32", "32 + tx", 1, "sound", 128),
        ("uint8", "128 + tx * 4", 4, "sound", 128),
        ("float32", "tx", 1, "unproved", 0),
        ("float32", "97 + tx", 1, "unproved", 388),
    ],
    ids=["apart", "apart, in bytes", "on each other", "perhaps behind the arena"],
)
def test_access_pointers_of_views_say_where_and_how_much(
    dtype: str, place: str, count: int, verdict: str, offset: int
) -> None:
    """They count from the arena's first byte, in what they say that they point to."""
    copy = POINTED.format(dtype, "Y", place, count, dtype, count, count)
    found = audit_of_views(f"X[tx] = T.float16(0)\n{copy}{WAITED}y: T.let[T.float16] = X[here]\n")
    assert (found.verdict.verdict, found.offsets["Y"]) == (verdict, offset)


@pytest.mark.parametrize(("between", "sound"), [(SYNC, True), ("", False)])
def test_access_pointers_of_views_share_bytes_in_order(between: str, sound: bool) -> None:
    """X has the bytes 64 to 128 and Y those from 64 on; Y is read through a pointer, too."""
    ordered = f"X[32 + tx] = T.float16(0)\n{SYNC}x: T.let[T.float16] = X[32 + here]\n{between}"
    copy = POINTED.format("float32", "Y", "16 + tx", 1, "float32", 1, 1)
    found = audit_of_views(f"{ordered}{copy}{WAITED}{SYNC}y: T.let[T.float32] = Y[16 + here]\n")
    assert (found.verdict.sound, found.offsets) == (sound, {"X": 64, "Y": 64})


@pytest.mark.parametrize(
    "kept",
    [
        'p: T.handle("uint8") = T.tvm_access_ptr(T.type_annotation("uint8"), Y.data, 64, 32, 1)',
        'T.call_extern("int32", "f", T.tvm_access_ptr(T.type_annotation("int8"), Y.data, n, 4, 1))',
    ],
    ids=["in a variable", "at an offset that nobody knows"],
)
def test_access_pointers_that_do_not_say_where(kept: str) -> None:
    found = audit_of_views(f"X[tx] = T.float16(0)\n{kept}\n")
    assert found.verdict.verdict is UNPROVED


@pytest.mark.parametrize(
    ("guard", "verdict"),
    [("tx < 16", "sound"), ("15 >= tx", "sound"), ("tx < 17", "unproved"), ("n < 16", "unproved")],
)
def test_a_branch_bounds_what_is_reached(guard: str, verdict: str) -> None:
    """`twice` is computed from the axis that the branch compares; the arena ends at Y[128]."""
    body = f"twice: T.let[T.int32] = tx * 2\nif {guard}:\n    Y[twice + 97] = T.float32(0)\n"
    found = audit_of_views(f"X[tx] = T.float16(0)\n{body}").verdict
    assert found.verdict == verdict


THIRD = VIEWS.replace(
    "tx = T.l", 'X_1 = T.decl_buffer((64,), "float16", data=arena.data)\ntx = T.l'
)
SHOWN = "x: T.let[T.float16] = X_1[here]\n"
FILLED = "X[tx] = T.float16(0)\n" + SYNC


def test_what_is_read_through_another_view_of_its_name_is_of_one_buffer() -> None:
    found = audited(THIRD + FILLED + SHOWN + "Y[32 + tx] = T.float32(0)\n")
    assert (found.verdict.verdict, found.offsets) == (SOUND, {"X": 0, "Y": 128})
    assert "X_1 and X are views of one buffer" in found.verdict.assumptions


def test_what_is_lost_between_two_views_of_one_buffer_is_not_proved() -> None:
    """Each alone loses nothing: X is never read, and X_1 never written."""
    found = audited(THIRD + FILLED + "Y[tx] = T.float32(1)\n" + SYNC + SHOWN)
    assert found.verdict.verdict is UNPROVED
    assert rules(found) == {Rule.LOOP_CARRIED}


def test_a_view_that_shows_what_one_of_another_name_wrote_is_not_proved() -> None:
    """What Y wrote may be Y's alone, and X_1's contents may have been lost."""
    found = audited(THIRD + "Y[tx] = T.float32(1)\n" + SYNC + SHOWN)
    assert found.verdict.verdict is UNPROVED
    assert "X_1 is read before it is written" in " ".join(found.verdict.uncovered)


def test_views_of_one_name_that_hold_their_own_are_kept_apart() -> None:
    """X and X_1 each written before they are read, with the barriers that two buffers need."""
    again = SYNC + "X_1[tx] = T.float16(1)\n" + SYNC + SHOWN
    found = audited(THIRD + FILLED + "x0: T.let[T.float16] = X[here]\n" + again)
    assert (found.verdict.verdict, found.offsets) == (SOUND, {"X": 0, "X_1": 0})
    unordered = FILLED + "x0: T.let[T.float16] = X[here]\n" + again.removeprefix(SYNC)
    assert audited(THIRD + unordered).verdict.verdict is UNSOUND


TWO_POINTERS = """\
bx = T.launch_thread("blockIdx.x", 4)
arena = T.alloc_buffer(({size},), "{dtype}", scope="shared.dyn")
tx = T.launch_thread("threadIdx.x", 32)
p: T.let[T.handle("float32", "shared.dyn")] = T.reinterpret("handle", T.address_of(arena[0]))
q: T.let[T.handle("float32", "shared.dyn")] = T.reinterpret("handle", T.address_of(arena[{at}]))
X = T.decl_buffer((32,), data=p, scope="shared.dyn")
Y = T.decl_buffer((32,), data=q, scope="shared.dyn")
X[tx] = T.float32(1)
Y[tx] = T.float32(2)
T.tvm_storage_sync("shared.dyn")
x: T.let[T.float32] = X[31 - tx]
"""


@pytest.mark.parametrize(
    ("at", "dtype", "verdict"),
    [
        ("128", "uint8", "sound"),
        ("0 + 0", "uint8", "unsound"),
        ("960", "uint8", "unsound"),  # half of it is behind the arena
        ("bx * 16", "uint8", "unproved"),
        ("32", "float32", "sound"),
        ("0", "float32", "unproved"),  # a buffer can have two views
    ],
)
def test_pointers_tell_the_places(at: str, dtype: str, verdict: str) -> None:
    size = 1024 if dtype == "uint8" else 256
    found = audited(TWO_POINTERS.format(at=at, dtype=dtype, size=size))
    assert (found.source, found.verdict.verdict) == (PlanSource.MERGED, verdict)


@pytest.mark.parametrize(
    ("body", "follow"),
    [
        ("As[tx] = 0\nO[tx] = As[tx]\n", True),
        ('As[tx] = 0\nT.tvm_storage_sync("shared.dyn")\nO[tx] = As[tx]\n', False),
        ('As[tx] = 0\nT.tvm_storage_sync("shared")\nO[tx] = As[tx]\n', True),
        ('T.tvm_storage_sync("shared.dyn")\nAs[tx] = 0\n', True),
    ],
    ids=["none", "inserted", "the author's own", "behind mbarriers"],
)
def test_whether_barriers_are_still_to_come_is_seen(body: str, follow: bool) -> None:
    kernel = small_kernel(body)
    assert barriers_follow(kernel, BarrierStage.AUTO) is follow
    assert barriers_follow(kernel, BarrierStage.LATER)
    assert not barriers_follow(kernel, BarrierStage.PRESENT)


def test_apache_tvm_inserts_its_barriers_first() -> None:
    (kernel,) = read_dump(next((ROOT / "fixtures" / "tvm_dumps").glob("*.tir"))).kernels
    assert not barriers_follow(kernel, BarrierStage.AUTO)


@pytest.mark.parametrize(
    "views",
    [
        """\
        p: T.handle("float32", "shared.dyn") = T.handle_add_byte_offset(arena.data, 0)
        q: T.handle("float32", "shared.dyn") = T.handle_add_byte_offset(arena.data, 64)
        X = T.decl_buffer((32,), data=p, scope="shared.dyn")
        Y = T.decl_buffer((32,), data=q, scope="shared.dyn")
        """,
        """\
        X = T.decl_buffer((32,), data=arena.data, scope="shared.dyn")
        Y = T.decl_buffer((32,), data=arena.data, scope="shared.dyn")
        """,
    ],
    ids=["pointers", "views"],
)
def test_buffers_in_an_arena_of_unknown_size_are_merged_and_not_proved(views: str) -> None:
    """Y is written over half of X, or over all of it, before X is read."""
    arena = 'arena = T.alloc_buffer((n * 4 + 512,), "uint8", scope="shared.dyn")\n'
    accesses = f"X[tx] = T.float32(1)\n{SYNC}Y[tx] = X[31 - tx]\n{SYNC}Y[31 - tx] = X[tx]\n"
    launch = 'tx = T.launch_thread("threadIdx.x", 32)\n'
    found = audited(launch + arena + dedent(views) + accesses)
    assert (found.source, found.verdict.verdict) == (PlanSource.MERGED, UNPROVED)
    assert "arena has several buffers in it, and its size is not known" in found.verdict.refusal


ALIGNED = """\
T.func_attr({"tl.smem_alignment_map": {"X": 1024}})
tx = T.launch_thread("threadIdx.x", 32)
for i in range(2):
    X = T.alloc_buffer((32,), scope="shared.dyn")
    X[tx] = T.float32(1)
X = T.alloc_buffer((32,), scope="shared.dyn")
X[tx] = T.float32(1)
"""


@pytest.mark.parametrize(("at", "verdict"), [(1024, "sound"), (512, "unsound")])
def test_a_second_buffer_of_a_name_is_aligned_as_recorded(at: int, verdict: str) -> None:
    """`apply` calls its pointer `X_ptr_1`."""
    merged = merge_text(parse_dump(dump(ALIGNED)), plan_kernel).source
    second = "X_ptr_1: T.handle"
    assert merged.count(second) == 1
    first, _, rest = merged.partition(second)
    moved = first.replace("(128,)", "(2048,)") + second + rest.replace("data, 0)", f"data, {at})")
    found = audit_merged(kernel_of(moved), SCOPE, BarrierStage.AUTO)
    assert (found.offsets, found.verdict.verdict) == ({"X": 0, "X_1": at}, verdict)


BEYOND = f"""\
{TWO_PARTS}low[{{}}] = T.float32(1)
{SYNC}high[{{}}] = T.float32(2)
{SYNC}D = T.decl_buffer((64,), data=A)
D[tx % 32] = low[{{}}] + high[{{}}]
"""


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        ("tx", "tx % 32", "sound"),
        ("tx + 63", "tx % 32", "sound"),  # some thread's stays inside: the others' are taken to
        ("tx % 32 + 64", "tx % 32", "unsound"),
        ("tx + 64", "tx % 32", "unproved"),  # and behind the arena
        ("tx", "tx % 32 - 32", "unproved"),
        ("tx", "tx % 32 - 31", "sound"),
    ],
)
def test_what_is_never_inside_of_its_view_is_in_another_one(
    low: str, high: str, verdict: str
) -> None:
    found = audited(BEYOND.format(low, high, low, high)).verdict
    assert found.verdict == verdict


def test_a_view_that_begins_before_its_pointer_is_not_proved() -> None:
    text = BEYOND.format("tx", "tx % 32", "tx", "tx % 32")
    found = audited(text.replace("data=q,", "data=q, elem_offset=-16,")).verdict
    assert found.verdict is UNPROVED
    assert found.uncovered == (
        "q may be accessed from byte 192 of arena on, and begins at byte 256",
    )


@pytest.mark.parametrize(("at", "verdict"), [(0, "sound"), (-128, "unproved")])
def test_two_arenas_have_no_bytes_in_common(at: int, verdict: str) -> None:
    """Static ones, say. What begins before the second one is in none of them."""
    body = BEYOND.format("tx % 32", "tx % 32", "tx % 32", "tx % 32")
    made = 'arena = T.alloc_buffer((384,), "uint8", scope="shared.dyn")\n'
    assert made in body
    both = body.replace(made, made + made.replace("arena", "other"))
    moved = both.replace("arena.data, 256", f"other.data, {at}")
    found = audited(moved)
    assert (found.verdict.verdict, found.arena) == (verdict, 1024 + 384)
    assert found.offsets["q"] == 1024 + at
