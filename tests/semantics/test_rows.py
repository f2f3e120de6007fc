"""The rows as they stand: none twice, none without a word, none that names what cannot be."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Var
from smemreuse.semantics.effects import (
    BytesIn,
    Descriptor,
    Effect,
    Engine,
    Group,
    MatricesAt,
    Mbarrier,
    Meeting,
    Operand,
    Signal,
    Wait,
)
from smemreuse.semantics.rows import FAMILIES, TABLE, elsewhere, lookup
from smemreuse.semantics.rows.device_functions import FUNCTIONS, INSIDE
from smemreuse.semantics.rows.forms import each, merged
from smemreuse.semantics.rows.positions import positions, shifted

# What a row may say of a value without saying of an effect.
_OF_VALUES = {"words", "answer", "address", "arity"}


def _static() -> list[tuple[str, Effect]]:
    rows = [*TABLE.items(), *FUNCTIONS.items()]
    return [(name, row) for name, row in rows if isinstance(row, Effect)]


def test_there_are_rows() -> None:
    assert len(TABLE) > 500
    assert len(FUNCTIONS) > 700


def test_two_rows_for_one_operation_are_an_error() -> None:
    with pytest.raises(ValueError, match="more than one row for b"):
        merged({"a": Effect(), "b": Effect()}, {"b": Effect()})
    with pytest.raises(ValueError, match="twice"):
        each("a b a", Effect())


def _says(row: Effect) -> set[str]:
    nothing = Effect()
    names = (field.name for field in fields(Effect))
    return {name for name in names if getattr(row, name) != getattr(nothing, name)}


def test_a_row_says_what_it_does_or_why_it_does_nothing() -> None:
    silent = [name for name, row in _static() if not (_says(row) - _OF_VALUES or row.words)]
    assert silent == []


def test_a_row_names_operands_within_its_arity() -> None:
    beyond = [
        name
        for name, row in _static()
        if row.arity is not None
        and not all(-min(row.arity) <= at < max(row.arity) for at in positions(row))
    ]
    assert beyond == []


def test_who_accesses_memory_may_go_where_memory_leads() -> None:
    """A pointer among the operands may be one that was kept in memory (rule 1)."""
    assert [name for name, row in _static() if row.operands and not row.follows] == []


def test_nothing_has_a_row_that_no_kernel_has() -> None:
    assert [name for name in TABLE if elsewhere(name) is not None] == []
    assert [name for name in FAMILIES if lookup(name) is not None] == []
    assert all(FAMILIES.values())
    assert all(INSIDE.values())


@pytest.mark.parametrize(
    "name",
    ["relax.add", "tileop.copy", "tile.gemm", "call_packed", "ascend_mad", "nki.load", "metal.x"],
)
def test_what_no_kernel_has_is_known_by_its_family(name: str) -> None:
    assert elsewhere(name)
    assert lookup(name) is None


def test_a_name_is_no_beginning_of_another() -> None:
    assert elsewhere("call_packed_never_heard_of") is None
    assert elsewhere("regional") is None


# Positions --------------------------------------------------------------------------------------

_FULL = Effect(
    operands=(
        Operand(0, Access.READ, BytesIn(1), matrices=MatricesAt(2)),
        Operand(-1, Access.WRITE),
    ),
    arity=frozenset({4}),
    waits=Wait(Engine.CP_ASYNC, keep=0),
    mbarrier=Mbarrier(Signal.EXPECT, 1, count=2),
    meeting=Meeting(Group.NAMED, count=2, mask=1, identity=0),
    describes=Descriptor(local=0, buffer=1),
    writes_locals=(0, -2),
)


def test_a_row_moves_behind_the_operands_of_its_call() -> None:
    moved = shifted(_FULL, 2)
    assert moved == replace(
        _FULL,
        operands=(
            Operand(2, Access.READ, BytesIn(3), matrices=MatricesAt(4)),
            Operand(-1, Access.WRITE),
        ),
        arity=frozenset({6}),
        waits=Wait(Engine.CP_ASYNC, keep=2),
        mbarrier=Mbarrier(Signal.EXPECT, 3, count=4),
        meeting=Meeting(Group.NAMED, count=4, mask=3, identity=2),
        describes=Descriptor(local=2, buffer=3),
        writes_locals=(2, -2),
    )
    assert shifted(Effect(words="none"), 2) == Effect(words="none")


def test_every_position_of_a_row_is_seen() -> None:
    assert sorted(positions(_FULL)) == [-2, -1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2]


# Forms ------------------------------------------------------------------------------------------


def _effect(name: str, *operands: object) -> Effect | None:
    args: list[Expr] = [Const(one) if isinstance(one, (int, str)) else Var("x") for one in operands]
    row = lookup(name)
    return row(Call(name, tuple(args))) if callable(row) else row


def _meeting(name: str, *operands: object) -> Meeting | None:
    effect = _effect(name, *operands)
    return effect.meeting if effect is not None else None


def test_a_barrier_is_what_its_scope_is_emitted_as() -> None:
    named = Meeting(Group.NAMED, identity=1, count=2)
    assert _meeting("tvm_storage_sync", "shared") == named
    assert _meeting("tvm_storage_sync", "shared.dyn", 1, 128) == named
    assert _meeting("tvm_storage_sync", "warp") == Meeting(Group.NOBODY)
    assert _meeting("tvm_storage_sync", "cluster") == Meeting(Group.CLUSTER)
    assert _effect("tvm_storage_sync", "elsewhere") is None
    assert _effect("tvm_storage_sync") is None


def test_a_relaxed_arrival_orders_nothing() -> None:
    for relaxed in (
        _meeting("cluster_arrive_relaxed"),
        _meeting("ptx.barrier", "cluster", "arrive", "relaxed", ""),
    ):
        assert relaxed is not None
        assert not relaxed.arrives
        assert not relaxed.waits


@pytest.mark.parametrize(
    ("operands", "written"),
    [
        ((None, None, 8), 0),  # elements
        ((None, None, 8, None), 0),  # with a predicate
        (("float16", None, None, 16), 1),  # bytes, the type first
        (("float16", None, None, 16, None), 1),
    ],
)
def test_cp_async_counts_elements_or_bytes(operands: tuple[object, ...], written: int) -> None:
    effect = _effect("ptx_cp_async", *operands)
    assert effect is not None
    target = effect.operands[1]
    assert (target.at, target.access) == (written, Access.WRITE)
    assert isinstance(target.size, BytesIn) == (written == 1)
    assert target.certain is False  # nothing here is an access pointer


@pytest.mark.parametrize(
    ("name", "operands", "remote"),
    [
        ("tcgen05_mma_arrive", 1, False),
        ("tcgen05_mma_arrive", 2, True),
        ("ptx_tcgen05_cp_warpx4", 3, False),
        ("ptx_tcgen05_cp_warpx4", 4, True),
        ("ptx_arrive_barrier_expect_tx", 2, False),
        ("ptx_arrive_barrier_expect_tx", 4, True),
        ("tma_load_multicast", 5, True),
    ],
)
def test_what_reaches_another_block_says_so(name: str, operands: int, remote: bool) -> None:
    effect = _effect(name, *[None] * operands)
    assert effect is not None
    assert effect.remote == remote
