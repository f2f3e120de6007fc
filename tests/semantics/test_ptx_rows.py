"""Rows of PTX instructions as Apache TVM prints them: operands, words, marks."""

from __future__ import annotations

import pytest

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import Buffer, Evaluate
from smemreuse.semantics.accesses import accesses_of
from smemreuse.semantics.effects import (
    BytesIn,
    Effect,
    Engine,
    Fixed,
    Group,
    Mbarrier,
    Meeting,
    Operand,
    Signal,
    Wait,
)
from smemreuse.semantics.pointers import find_pointers
from smemreuse.semantics.rows import lookup
from smemreuse.semantics.rows.ptx_forms import Instruction, parse


def _call(family: str, operands: int, text: str, marks: str = "") -> Call:
    args: list[Expr] = [Var(f"x{at}") for at in range(operands)]
    return Call(f"ptx.{family}", (*args, *map(Const, text.split()), Const(marks)))


def _effect(family: str, operands: int, text: str, marks: str = "") -> Effect | None:
    call = _call(family, operands, text, marks)
    row = lookup(call.op)
    return row(call) if callable(row) else row


def _known(family: str, operands: int, text: str, marks: str = "") -> Effect:
    effect = _effect(family, operands, text, marks)
    assert effect is not None
    return effect


# The form ---------------------------------------------------------------------------------------


def test_an_instruction_is_its_words_and_its_operands() -> None:
    call = Call("ptx.ld", (Var("d"), Var("p"), Const("weak"), Const(""), Const("b32"), Const("")))
    assert parse(call) == Instruction(("weak", "b32"), 2)


def test_marks_tell_of_a_predicate_and_of_sinks() -> None:
    assert parse(_call("ld", 4, "v2 b32", "pred,s1")) == Instruction(("v2", "b32"), 3, True, 1)
    assert parse(_call("mov", 2, "b32", "keep,p0")) == Instruction(("b32",), 2)


@pytest.mark.parametrize(
    "call",
    [
        Call("ptx.ld", (Var("d"), Var("p"))),  # no words at all
        _call("ld", 2, "b32", "something"),  # a mark that nobody knows
        _call("ld", 0, "b32", "pred"),  # no operand that might be the predicate
    ],
)
def test_what_has_another_form_is_not_understood(call: Call) -> None:
    assert parse(call) is None
    row = lookup(call.op)
    assert callable(row)
    assert row(call) is None


# Memory -----------------------------------------------------------------------------------------


def test_an_address_that_goes_into_a_local_is_kept_there() -> None:
    """Whoever finds it there may use it (rule 1)."""
    shared = Buffer("A", "float32", (Const(8),), "shared.dyn")
    local = Load(Buffer("p", "uint64", (Const(1),), "local"), (Const(0),))
    words = (Const("to"), Const("shared"), Const("u64"), Const(""))
    kept = Evaluate(Call("ptx.cvta", (local, Pointer(shared), *words)))
    assert list(find_pointers((kept,)).kept) == [shared]
    read = Evaluate(Call("ptx.ld", (local, Pointer(shared), Const("b64"), Const(""))))
    assert list(find_pointers((read,)).kept) == []


def test_what_another_block_may_reach_from_now_on_is_never_over() -> None:
    shared = Buffer("A", "float32", (Const(8),), "shared.dyn")
    local = Load(Buffer("p", "uint64", (Const(1),), "local"), (Const(0),))
    mapped = Evaluate(Call("ptx.mapa", (local, Pointer(shared), Const(1), Const("u64"), Const(""))))
    found = [
        (access.engine, bool(access.uncovered))
        for access in accesses_of(mapped, find_pointers((mapped,)))
        if access.buffer is shared
    ]
    assert (Engine.REMOTE, True) in found


@pytest.mark.parametrize(
    ("family", "operands", "text", "marks", "expected"),
    [
        ("ld", 2, "shared::cta b32", "", Operand(1, Access.READ, Fixed(4))),
        ("ld", 5, "shared::cta v4 f32", "", Operand(4, Access.READ, Fixed(16))),
        ("ld", 3, "v2 f16x2", "", Operand(2, Access.READ, Fixed(8))),
        ("st", 2, "shared b16", "", Operand(0, Access.WRITE, Fixed(2))),
        ("st", 5, "shared v4 b32", "", Operand(0, Access.WRITE, Fixed(16))),
        ("st", 3, "shared b32", "pred", Operand(0, Access.WRITE, Fixed(4), certain=False)),
        ("red", 2, "shared add u32", "", Operand(0, Access.READ_WRITE, Fixed(4))),
        ("atom", 3, "shared add u32", "", Operand(1, Access.READ_WRITE, Fixed(4))),
        ("atom", 2, "shared add u32", "", Operand(0, Access.READ_WRITE, Fixed(4))),
        ("atom", 4, "shared cas b32", "", Operand(1, Access.READ_WRITE, Fixed(4))),
        ("st_bulk", 2, "weak shared::cta", "", Operand(0, Access.WRITE, BytesIn(1))),
    ],
)
def test_an_access_has_the_bytes_of_its_type(
    family: str, operands: int, text: str, marks: str, expected: Operand
) -> None:
    assert _known(family, operands, text, marks).operands == (expected,)


def test_a_sunk_lane_leaves_no_operand() -> None:
    effect = _known("ld", 2, "v2 b32", "s0")
    assert [(operand.at, operand.certain) for operand in effect.operands] == [(1, False)]
    assert effect.writes_locals == (0,)


def test_memory_of_the_cluster_is_another_block_s() -> None:
    assert _known("ld", 2, "shared::cluster b32").remote
    assert _known("mapa", 3, "shared::cluster u32").remote
    assert not _known("ld", 2, "shared::cta b32").remote


# Copies -----------------------------------------------------------------------------------------


def test_cp_async_is_committed_and_waited_for() -> None:
    copy = _known("cp", 3, "async ca shared global")
    assert Operand(0, Access.WRITE, BytesIn(2)) in copy.operands
    assert copy.engine is Engine.CP_ASYNC
    filled = _known("cp", 4, "async cg shared global")  # with the bytes of the source
    assert Operand(0, Access.WRITE, BytesIn(2), certain=False) in filled.operands
    assert _known("cp", 0, "async commit_group").commits is Engine.CP_ASYNC
    assert _known("cp", 1, "async wait_group").waits == Wait(Engine.CP_ASYNC, keep=0)
    wait_all = _known("cp", 0, "async wait_all")
    assert (wait_all.commits, wait_all.waits) == (Engine.CP_ASYNC, Wait(Engine.CP_ASYNC))


def test_bulk_stores_have_groups_of_their_own() -> None:
    store = _known("cp", 4, "async bulk tensor 2d global shared::cta bulk_group")
    assert [operand.at for operand in store.operands] == [3]
    assert store.engine is Engine.TMA_STORE
    assert _known("cp", 0, "async bulk commit_group").commits is Engine.TMA_STORE
    assert _known("cp", 1, "async bulk wait_group read").waits == Wait(Engine.TMA_STORE, keep=0)


@pytest.mark.parametrize(
    ("operands", "text", "at"),
    [
        (4, "bulk", 3),
        (6, "bulk ignore_oob", 5),
        (5, "bulk tensor 2d", 4),
        (8, "bulk tensor 2d tile::gather4", 7),
    ],
)
def test_a_bulk_load_reports_to_its_mbarrier(operands: int, text: str, at: int) -> None:
    words = f"async {text} shared::cta global mbarrier::complete_tx::bytes"
    effect = _known("cp", operands, words)
    assert effect.mbarrier == Mbarrier(Signal.COMPLETE_WITH_BYTES, at)
    assert effect.engine is Engine.TMA_LOAD
    assert {0, at} <= {operand.at for operand in effect.operands}
    assert effect.operands[0].swizzled


def test_a_load_whose_mbarrier_is_not_known_is_never_over() -> None:
    words = "async bulk tensor 2d shared::cta global mbarrier::complete_tx::bytes override::x"
    effect = _known("cp", 8, words)
    assert effect.mbarrier is None
    assert effect.engine is Engine.UNKNOWN_ASYNC
    assert effect.handed_on


def test_a_predicate_leaves_it_open_whether_anything_happened() -> None:
    effect = _known("cp", 2, "async wait_group", "pred")
    assert effect.waits is None
    assert effect.handed_on
    load = _known("cp", 5, "async bulk shared::cta global mbarrier::complete_tx::bytes", "pred")
    assert load.mbarrier is None
    assert load.engine is Engine.TMA_LOAD
    assert not any(operand.certain for operand in load.operands)


# Barriers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operands", "text", "expected"),
    [
        (1, "sync", Meeting(Group.NAMED, identity=0)),
        (2, "cta sync", Meeting(Group.NAMED, count=1, identity=0)),
        (2, "arrive", Meeting(Group.NAMED, count=1, identity=0, waits=False)),
        (3, "red popc u32", Meeting(Group.NAMED, identity=1)),
        (4, "red and pred", Meeting(Group.NAMED, count=2, identity=1)),
        (1, "warp sync", Meeting(Group.WARP, mask=0)),
        (0, "cluster wait acquire aligned", Meeting(Group.CLUSTER, arrives=False)),
    ],
)
def test_barriers_say_who_meets(operands: int, text: str, expected: Meeting) -> None:
    assert _known("bar", operands, text).meeting == expected


def test_only_a_fence_of_the_async_proxy_in_shared_memory_is_one() -> None:
    assert _known("fence", 0, "proxy async").fence
    assert _known("fence", 0, "proxy async shared::cta").fence
    assert not _known("fence", 0, "proxy async global").fence
    assert not _known("fence", 0, "proxy alias").fence
    assert not _known("fence", 0, "acq_rel cta").fence


@pytest.mark.parametrize(
    ("operands", "text", "expected"),
    [
        (2, "init shared b64", Mbarrier(Signal.INITIALIZE, 0, count=1)),
        (1, "arrive shared b64", Mbarrier(Signal.ARRIVE, 0)),
        (2, "arrive noComplete shared b64", Mbarrier(Signal.ARRIVE, 0, count=1)),
        (3, "arrive shared b64", Mbarrier(Signal.ARRIVE, 1, count=2)),
        (2, "arrive expect_tx shared b64", Mbarrier(Signal.ARRIVE_AND_EXPECT, 0, count=1)),
        (3, "arrive expect_tx shared b64", Mbarrier(Signal.ARRIVE_AND_EXPECT, 1, count=2)),
        (2, "expect_tx shared b64", Mbarrier(Signal.EXPECT, 0, count=1)),
        (2, "arrive shared b64", None),  # a state, or a count: nobody can tell
        (1, "arrive relaxed shared b64", Mbarrier(Signal.ARRIVE, 0, hands_over=False)),
        (3, "try_wait parity shared b64", Mbarrier(Signal.ASK, 1, count=2)),
        (3, "test_wait parity shared b64", Mbarrier(Signal.ASK, 1, count=2)),
        (3, "try_wait parity relaxed shared b64", None),
        (3, "try_wait shared b64", None),  # of a state
        (4, "try_wait parity shared b64", None),
        (1, "inval shared b64", Mbarrier(Signal.INVALIDATE, 0)),
        (1, "arrive_drop shared b64", None),  # later phases expect less
        (3, "arrive_drop expect_tx shared b64", None),
    ],
)
def test_mbarriers_are_signalled(operands: int, text: str, expected: Mbarrier | None) -> None:
    effect = _known("mbarrier", operands, text)
    assert effect.mbarrier == expected
    assert all(operand.size == Fixed(8) for operand in effect.operands)
    assert effect.operands


def test_an_mbarrier_of_another_block_is_told_by_its_space() -> None:
    assert _known("mbarrier", 1, "arrive shared::cluster b64").remote
    assert _known("mbarrier", 2, "arrive multicast::cluster::32b b64").remote
    assert not _known("mbarrier", 1, "arrive shared::cta b64").remote


# Tensor cores -----------------------------------------------------------------------------------


def test_eight_lanes_name_the_rows_of_a_matrix() -> None:
    four = _known("ldmatrix", 5, "sync aligned m8n8 x4 shared b16")
    assert four.operands == (Operand(4, Access.READ, Fixed(16), matrices=4),)
    assert four.writes_locals == (0, 1, 2, 3)
    one = _known("ldmatrix", 2, "sync aligned m8n8 x1 shared b16")
    assert one.operands == (Operand(1, Access.READ, Fixed(16), matrices=1),)
    other = _known("ldmatrix", 2, "sync aligned m8n16 x1 shared b8x16.b4x16_p64")
    assert not other.operands[0].certain


def test_wgmma_reads_later_what_its_descriptors_stand_for() -> None:
    effect = _known("wgmma", 40, "mma_async sync aligned m64n64k16 f32 f16 f16")
    assert effect.reads_described
    assert effect.engine is Engine.WGMMA
    assert effect.writes_locals == tuple(range(32))
    halves = _known("wgmma", 40, "mma_async sync aligned m64n64k16 f16 f16 f16")
    assert halves.writes_locals == tuple(range(16))
    assert _effect("wgmma", 3, "mma_async sync aligned m64n64k16 f32") is None
    assert _effect("wgmma", 3, "never heard of") is None


def test_tcgen05_reaches_the_other_block_of_a_pair() -> None:
    assert _known("tcgen05", 6, "mma cta_group::2 kind::f16").remote
    alone = _known("tcgen05", 6, "mma cta_group::1 kind::f16")
    assert (alone.remote, alone.engine) == (False, Engine.TCGEN05)
    commit = _known("tcgen05", 1, "commit cta_group::1 mbarrier::arrive::one b64")
    assert commit.mbarrier == Mbarrier(Signal.ARRIVE_WITH_MATRICES, 0)
    assert _effect("tcgen05", 1, "never heard of") is None
