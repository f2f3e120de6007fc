"""What is put into kernels does what it is put in for, by its row of the table."""

from __future__ import annotations

import pytest

from smemreuse.ir.expr import Const, Load
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics import synchronizing
from smemreuse.semantics.effects import Engine, Group, Signal
from smemreuse.semantics.table import counted, effect_of

SCOPES = ("shared", "shared.dyn")


def test_the_fence() -> None:
    assert effect_of(synchronizing.proxy_fence()).fence


@pytest.mark.parametrize("scope", SCOPES)
def test_a_barrier_of_the_block_counts_no_threads(scope: str) -> None:
    call = synchronizing.block_barrier(scope)
    meeting = effect_of(call).meeting
    assert meeting is not None
    assert (meeting.group, counted(call, meeting)) == (Group.NAMED, None)
    assert meeting.arrives
    assert meeting.waits


@pytest.mark.parametrize("scope", SCOPES)
def test_a_barrier_of_some_threads_has_a_number_and_counts_them(scope: str) -> None:
    call = synchronizing.named_barrier(scope, 5, 96)
    meeting = effect_of(call).meeting
    assert meeting is not None
    assert meeting.identity is not None
    assert (call.args[meeting.identity], counted(call, meeting)) == (Const(5), Const(96))


def test_a_barrier_of_the_warp() -> None:
    meeting = effect_of(synchronizing.warp_barrier()).meeting
    assert meeting is not None
    assert meeting.group is Group.WARP


@pytest.mark.parametrize("engine", sorted(synchronizing.GROUPED, key=str))
def test_groups_are_closed_and_waited_for(engine: Engine) -> None:
    assert effect_of(synchronizing.commit(engine)).commits is engine
    call = synchronizing.wait(engine, 2)
    waits = effect_of(call).waits
    assert waits is not None
    assert waits.keep is not None
    assert (waits.engine, call.args[waits.keep]) == (engine, Const(2))


def test_a_phase_is_waited_for() -> None:
    mbarrier = Load(Buffer("full", "uint64", (Const(4),), "shared.barrier"), (Const(1),))
    call = synchronizing.phase_wait(mbarrier, 1)
    signal = effect_of(call).mbarrier
    assert signal is not None
    assert signal.count is not None
    assert (signal.signal, call.args[0], call.args[signal.count]) == (
        Signal.WAIT,
        mbarrier,
        Const(1),
    )
