"""Which iterations of a loop are executed: as many as show all its states."""

from __future__ import annotations

import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.checker.budget import Work
from smemreuse.checker.execution.leaves import Leaf
from smemreuse.checker.execution.setting import Setting
from smemreuse.checker.execution.trace import Trace
from smemreuse.checker.loops.endless import UnboundedLoop
from smemreuse.checker.loops.periods import MAX_PERIOD, Periods, Window
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.findings import Violations
from smemreuse.checker.values.counters import Counters
from smemreuse.checker.values.interned import InternTable
from smemreuse.ir.expr import Load
from smemreuse.ir.kernel import For, Kernel, Stmt, nodes_of, walk_statements
from smemreuse.ir.launch import launches
from smemreuse.results.verdict import SOUND, UNSOUND
from smemreuse.semantics.evaluate import Threads
from tests.checker.small import (
    SYNC,
    init_barrier,
    judge,
    kernel_of,
    relevance_of,
    setting_of,
    statement,
    trace_of,
    under,
)

COUNT = 240
STEP = "c[0] = c[0] + 1\n"


def looped(body: str, count: int = COUNT) -> Kernel:
    return kernel_of(under(f"for k in range({count})", body), elements=100_000)


def window(body: str, count: int = COUNT, start: int | None = 0) -> Window | None:
    """Where `for k: body` repeats itself, if `c[0]` is `start` in front of it."""
    kernel = looped(body, count)
    loop, trace = statement(kernel, "for k"), trace_of(kernel)
    assert isinstance(loop, For)
    threads = trace.values.everyone()
    for launch in launches(kernel.body):
        if launch.var is not None and launch.var.name == "tx":
            threads = threads.bind(launch.var, np.arange(64))
    for stmt in walk_statements(kernel.body):
        storage = getattr(getattr(stmt, "buffer", None), "storage", None)
        if storage is not None and storage.name == "c" and start is not None:
            trace.state.counters.set(storage, 0, threads.ids, start)
    return Periods(relevance_of(kernel), Work()).window(
        loop, range(count), threads, trace.state.counters
    )


class Counting(Trace):
    """A trace that notes which iterations it executes."""

    def __init__(self, setting: Setting):
        super().__init__(setting, Violations(setting.layout), {})
        self.seen: set[object] = set()

    def _leaf(self, stmt: Stmt, leaf: Leaf, agent: Agent) -> bool:
        if agent.loops:
            self.seen.add((agent.loops, agent.threads.count))
        return super()._leaf(stmt, leaf, agent)


def executed(body: str, before: str = "", count: int = COUNT) -> int:
    """How many iterations of `for k: body` are executed."""
    loop = body if "range" in body else under(f"for k in range({count})", body)
    kernel = kernel_of(before + loop, elements=192)
    trace = Counting(setting_of(kernel, budget=10_000))
    trace.run(kernel.body)
    return len(trace.seen)


def test_a_loop_that_does_not_use_its_variable_repeats_itself_at_once() -> None:
    assert window("As[tx] = k\n") == Window(0, 1, COUNT)


@pytest.mark.parametrize(
    ("body", "period"),
    [
        ("As[tx + k % 3] = 1\n", 3),
        ("As[tx + (k + 1) % 4 * 64] = 1\n", 4),
        ("As[tx + k % 4 + k % 6] = 1\n", 12),
        ("As[(tx + k * 2) % 6] = 1\n", 3),
        ("As[tx + (k // 4) % 2] = 1\n", 8),
        ("As[tx + k * k % 3] = 1\n", 3),
        ("As[tx + T.shift_right(k, 1) % 2] = 1\n", 4),
        ("As[tx + T.Cast('uint32', k) * T.uint32(3) % T.uint32(3)] = 1\n", 1),
        (under("if k % 5 == 0", "As[tx] = 1\n"), 5),
        (under("if k % 5 == tx // 32", "As[tx] = 1\n"), 5),
        (under("if T.tl_shuffle_elect(0)", "As[tx + k % 3] = 1\n"), 3),
        (under("if D[k] > 0", "As[tx] = 1\n"), 1),  # it goes both ways every time
        (under("for j in range(k % 2)", "As[tx] = 1\n"), 2),
        (under("for j in range(4)", "As[tx + (k * 4 + j) % 6] = 1\n"), 3),
        ("v: T.int32 = k + 1\nAs[v % 3 + tx] = 1\n", 3),
        ("v: T.int32 = k // 4\nw: T.int32 = v + 1\nAs[w % 3 + tx] = 1\n", 12),
        ("v: T.int32 = k * 2 + tx\nAs[v % 6] = 1\n", 3),
        (f"{STEP}As[tx + c[0] % 3] = 1\n", 3),
        (f"As[tx + c[0] % 3] = 1\n{STEP}O[tx] = As[tx + c[0] % 2]\n", 6),
        ("c[0] = T.bitwise_xor(c[0], 1)\nAs[tx + c[0]] = 1\n", 2),
        ("c[0] = k\nAs[tx + c[0] % 3] = 1\n", 3),
        (under("for j in range(2)", STEP) + "As[tx + c[0] % 6] = 1\n", 3),
    ],
)
def test_iterations_that_do_the_same_are_seen(body: str, period: int) -> None:
    found = window(body, 30 * period)
    assert found is not None
    assert (found.first, found.period, found.end) == (0, period, 30 * period)


@pytest.mark.parametrize(
    ("body", "first", "end"),
    [
        (under("if k == 7", "As[tx] = 1\n"), 8, COUNT),
        (under("if k == 0", "As[tx] = 1\n"), 1, COUNT),
        ("O[tx] = As[tx + c[0] % 3]\nc[0] = k * 2 + 3\n", 1, COUNT),
        (under("if k < 237", "As[tx + k % 1] = 1\n"), 0, 237),
        (under("if k == 3", "As[tx + k] = 1\n"), 4, COUNT),  # elsewhere the place is of no matter
        (under("for j in range(T.min(k, 4))", "As[tx] = 1\n"), 4, COUNT),
    ],
)
def test_first_and_last_iterations_may_differ(body: str, first: int, end: int) -> None:
    found = window(body)
    assert found is not None
    assert (found.first, found.end) == (first, end)


@pytest.mark.parametrize(
    "body",
    [
        "As[tx + k] = 1\n",
        "As[tx + k // 2] = 1\n",
        under("if k < D[0]", "As[tx] = 1\n"),
        under("for j in range(k)", "As[tx] = 1\n"),
        f"As[tx + k % {COUNT // 2 + 1}] = 1\n",
        f"{STEP}As[tx + c[0]] = 1\n",
        "c[0] = c[0] * 2 + 1\nAs[tx + c[0] % 3] = 1\n",
        under("if tx < 3", STEP) + "As[tx + c[0] % 3] = 1\n",
        under("if D[0] < 3", STEP) + "As[tx + c[0] % 3] = 1\n",
        under("while c[0] < 3", STEP) + "As[tx + c[0] % 3] = 1\n",
        "c[D[0]] = c[D[0]] + 1\nAs[tx + c[0] % 3] = 1\n",
    ],
)
def test_a_loop_that_is_not_seen_to_repeat_itself_is_executed_whole(body: str) -> None:
    assert window(body) is None


def test_the_longest_period() -> None:
    assert window(f"As[tx + k % {MAX_PERIOD}] = 1\n", 1000) is not None
    assert window(f"As[tx + k % {MAX_PERIOD + 1}] = 1\n", 1000) is None


def test_counters_must_be_known_in_front_of_the_loop() -> None:
    assert window(f"{STEP}As[tx + c[0] % 3] = 1\n", start=None) is None


def test_what_is_remembered_of_a_loop_counts_for_views_of_the_same_shape() -> None:
    """In the second round of `i`, round 20 of `j` writes an element of Bs that is one of As."""
    view = (
        'V = T.decl_buffer((64, {}), "int32", data=Bs.data, elem_offset=64, scope="shared.dyn")\n'
    )
    store = under("if tx == 0", "V[T.if_then_else(j == 20, 0 - 1, 0), 0] = 1\n")
    inner = under("for j in range(40)", store + SYNC)
    inside = f"As[63 - tx] = tx\n{SYNC}{inner}O[tx] = As[tx]\n{SYNC}"

    def judged(width: str) -> str:
        return judge(under("for i in range(2)", view.format(width) + inside), elements=128).verdict

    assert judged("0") is SOUND
    assert judged("i * 0") is SOUND
    assert judged("i") is UNSOUND


@pytest.mark.parametrize("rounds", [63, 64])
def test_threads_and_rounds_inside_are_compared_each_with_each(rounds: int) -> None:
    """The last change is that of thread 0 in the last round inside, whatever their numbers are."""
    inside = under(f"if k + tx < j * 10 + {10 * (64 - rounds)}", "As[tx] = tx\n")
    kernel = looped(under(f"for j in range({rounds})", inside), 1_000)
    loop = statement(kernel, "for k")
    assert isinstance(loop, For)
    (axis,) = (one.var for one in launches(kernel.body) if one.var and one.var.name == "tx")
    threads = Threads(np.arange(64)).bind(axis, np.arange(64))
    found = UnboundedLoop(relevance_of(kernel), loop, 0, threads, Work(), InternTable()).found()
    assert found is not None
    assert found[0] >= 630


@pytest.mark.parametrize(
    ("slot", "parity", "period", "turns"),
    [
        ("0", "k % 2", 1, True),
        ("0", "(k + 1) % 2", 1, True),
        ("k % 2", "k // 2 % 2", 2, True),
        ("k % 2", "k % 4 // 2", 2, True),
        ("k % 3", "k // 3 % 2", 3, True),
        ("k % 2", "k % 2", 2, True),
        ("0", "0", 1, False),
        ("0", "k % 4 // 3", 4, False),
        ("0", "k % 2 * 2", 2, False),  # which is no parity
        ("k % 2 + k // 2 % 2", "0", 4, False),
    ],
)
def test_a_parity_that_turns_repeats_itself_in_half_its_period(
    slot: str, parity: str, period: int, turns: bool
) -> None:
    body = f"T.mbarrier_wait_parity(full[{slot}], {parity})\nAs[tx] = k\n"
    kernel = kernel_of(under("for k in range(D[0])", body))
    loop, threads = statement(kernel, "for k"), Threads(np.arange(64))
    assert isinstance(loop, For)
    found = Periods(relevance_of(kernel), Work()).endless(loop, 0, threads, Counters(threads.ids))
    assert found is not None
    assert (found.first, found.period, found.turns) == (0, period, turns)


@pytest.mark.parametrize("endless", [False, True])
def test_what_is_remembered_of_a_loop_keeps_what_it_is_known_by(endless: bool) -> None:
    """Another array at the same address would be taken for it."""
    kernel = looped("As[tx + c[0] % 2] = k % 3\n")
    loop, counters = statement(kernel, "for k"), Counters(np.arange(64))
    assert isinstance(loop, For)
    store = next(iter(walk_statements(loop.body)))
    (load,) = (node for node in nodes_of(store) if isinstance(node, Load))
    periods, threads = Periods(relevance_of(kernel), Work()), Threads(np.arange(64))
    counters.set(load.buffer.storage, 0, threads.ids, np.arange(64))
    found = counters.get(load.buffer.storage, 0, threads.ids)
    assert isinstance(found, np.ndarray)
    held = weakref.ref(found)
    if endless:
        periods.endless(loop, 0, threads, counters)
    else:
        periods.window(loop, range(COUNT), threads, counters)
    del found, counters
    assert held() is not None


@pytest.mark.parametrize(
    ("dtype", "offset", "condition"),
    [("int32", 1, "c[0] == 0"), ("uint8", 1, "c[0] == 1792"), ("uint8", 0, "c[0] == 7")],
)
def test_a_loop_that_sets_a_view_of_a_counter_is_executed_whole(
    dtype: str, offset: int, condition: str
) -> None:
    """What is set is not the element of that number."""
    view = f'v = T.decl_buffer((1,), "{dtype}", data=c.data, elem_offset={offset}, '
    view += 'scope="local.var")\n'
    wrong = f"As[63 - tx] = tx\n{SYNC}{{}}O[tx] = As[tx]\n{SYNC}"
    asked = [wrong.format(under(f"if {one}", "Bs[tx] = 1\n")) for one in ("k < 0", condition)]
    loop = under("for k in range(40)", "{}[0] = 7\n" + asked[0])
    assert judge("c[0] = 0\n" + view + loop.format("v") + asked[1]).verdict is not SOUND
    assert judge("c[0] = 0\n" + loop.format("c") + asked[1].replace(condition, "c[0] == 8")).sound


@pytest.mark.parametrize("count", [29, 30, 31])
def test_what_is_left_out_is_whole_periods(count: int) -> None:
    body = 'As[tx + k % 3] = 1\nT.tvm_storage_sync("shared")\nO[tx] = Bs[tx]\n'
    assert executed(body, count=count) == 9 + count % 3


@pytest.mark.parametrize(("index", "sound"), [("c[0] - 100", True), ("c[0] - 99", False)])
def test_behind_a_shortened_loop_counters_are_what_they_would_be(index: str, sound: bool) -> None:
    """Bs[1] has been overwritten, and Bs[0] has not."""
    rounds = under("for k in range(100)", f"{STEP}O[0] = As[2 + c[0] % 3]\n")
    body = f"c[0] = 0\nBs[0] = 1\nBs[1] = 1\nAs[1] = 1\n{rounds}O[0] = Bs[{index}]\n"
    assert judge(body, threads=1, elements=16).sound is sound


ROUND = "T.ptx_arrive_barrier(full[{}])\nT.mbarrier_wait_parity(full[{}], {})\n"


def init(arrivals: int) -> str:
    return "".join(init_barrier(arrivals, f"full[{slot}]") for slot in range(2))


THREE_ROUNDS = "T.ptx_arrive_barrier(full[0])\n" + under(
    "if k % 3 == 2", "T.mbarrier_wait_parity(full[0], k // 3 % 2)\n"
)


THREE_PHASES = "".join(ROUND.format(0, 0, parity) for parity in ("k % 2", "1 - k % 2", "k % 2"))


@pytest.mark.parametrize(
    ("body", "arrivals", "iterations"),
    [
        # Three times what comes again with the other parity, and what is left of an even number.
        (ROUND.format(0, 0, "k % 2"), 64, 3 + 1),
        (ROUND.format("k % 2", "k % 2", "k % 4 // 2"), 64, 6 + 2),
        (THREE_ROUNDS, 192, 9 + 3),  # they make a phase
        (THREE_PHASES, 64, 3 + 1),
        (under("if k % 2 == 1", ROUND.format(0, 0, "k // 2 % 2")), 64, 3 + 1),
        ("T.mbarrier_wait_parity(full[0], 1)\n", 64, 3),
        # Data decide, alike in all rounds, or for each round anew.
        (under("if D[0] > 0", "T.mbarrier_wait_parity(full[0], 1)\n"), 64, 3),
        (under("if D[k] > 0", "T.mbarrier_wait_parity(full[0], 1)\n"), 64, COUNT),
        # Who waits is not known.
        (under("if O[0] > 0", "T.mbarrier_wait_parity(full[0], 1)\n") + "O[0] = 1\n", 64, COUNT),
    ],
)
def test_phases_repeat_themselves_too(body: str, arrivals: int, iterations: int) -> None:
    assert executed(body, init(arrivals)) == iterations


@pytest.mark.parametrize(
    ("parity", "expected"),
    [
        ("k // 2 % 2", Window(1, 2, COUNT, turns=True)),
        ("(k + 1) // 2 % 2", Window(1, 2, COUNT, turns=True)),
        ("k // 2 % 2 ^ 1", Window(1, 2, COUNT, turns=True)),
        ("k % 3 % 2", Window(1, 3, COUNT, turns=True)),  # the same each time, which is known later
        ("T.Cast('int32', k < 200)", Window(0, 1, 200, turns=True)),
        ("k * (k + 1) // 2 % 2", Window(1, 2, COUNT, turns=True)),
        ("k // 2 % 4", Window(0, 8, COUNT)),  # no parities: their opposites are others
        ("k // 2 % 2 * 2", Window(0, 4, COUNT)),
    ],
)
def test_a_parity_may_turn_each_period(parity: str, expected: Window) -> None:
    found = window(f"T.mbarrier_wait_parity(full[0], {parity})\n")
    assert found is not None
    assert replace(found, counters={}) == expected


@pytest.mark.parametrize("count", [40, 41])
@pytest.mark.parametrize("used", ["k", "k + 1"])
def test_of_a_parity_that_decides_something_else_the_opposite_is_no_other_round(
    count: int, used: str
) -> None:
    """Of four rounds one overwrites what the others read."""
    rounds = ROUND.format(0, 0, "k % 2")
    stage = f"O[tx] = As[tx + ({used}) % 2 * 64]\n"
    assert executed(init(64) + under(f"for k in range({count})", rounds + stage)) == 6 + count % 2


def test_a_shortened_loop_leaves_every_phase_as_it_would_be() -> None:
    """In 24 rounds eight phases are completed. Then a wait for parity 1 is passed at once; behind
    a number of rounds that is no multiple of six it would wait for the other warp's arrivals."""
    prepare = init_barrier(96) + init_barrier(1, "full[1]")
    rounds = "T.ptx_arrive_barrier(full[0])\nT.mbarrier_wait_parity(full[1], 1)\n"
    wait = "T.mbarrier_wait_parity(full[0], 1)\nBs[tx] = tx\nO[tx] = Bs[tx]\n"
    other = "As[tx - 32] = tx\nO[tx] = As[tx - 32]\n" + "T.ptx_arrive_barrier(full[0])\n" * 2
    body = under("if tx < 32", under("for k in range(24)", rounds) + wait) + under("else", other)
    assert not judge(prepare + body).sound


# Loops of arms that run at the same time ------------------------------------------------------

FULL, EMPTY = "full[{0} % 2]", "full[{0} % 2 + 2]"


def pipeline(count: int, first: str = "") -> str:
    """A warp fills As stage by stage, two ahead of another that reads it; then comes Bs."""
    slots = "".join(init_barrier(32, f"full[{slot}]") for slot in range(4))
    fill = (
        f"T.mbarrier_wait_parity({EMPTY.format('k')}, (k // 2 + 1) % 2)\n"
        f"As[tx + k % 2 * 32] = k\nT.ptx_arrive_barrier({FULL.format('k')})\n"
    )
    use = (
        f"{first}T.mbarrier_wait_parity({FULL.format('k')}, k // 2 % 2)\n"
        f"O[tx] = As[tx - 32 + k % 2 * 32]\nT.ptx_arrive_barrier({EMPTY.format('k')})\n"
    )
    arms = under("if tx < 32", under(f"for k in range({count})", fill))
    return slots + arms + under("else", under(f"for k in range({count})", use))


@pytest.mark.parametrize("first", ["", under("if k == 0", "T.mbarrier_wait_parity(full[0], 0)\n")])
@pytest.mark.parametrize("count", [40, 41, 43])
def test_arms_leave_out_the_same_iterations(count: int, first: str) -> None:
    """What is executed leaves the mbarriers as all iterations would: the last waits are passed."""
    last = [count - 1 - (count - 1 - slot) % 2 for slot in range(2)]
    waits = "".join(
        f"T.mbarrier_wait_parity(full[{slot}], {last[slot] // 2 % 2})\n" for slot in range(2)
    )
    loops = pipeline(count, first)
    assert judge(f"{loops}{waits}{SYNC}Bs[63 - tx] = 1\n").sound
    assert not judge(f"{loops}Bs[63 - tx] = 1\n").sound
    assert executed(loops[loops.index("if tx < 32") :], loops[: loops.index("if tx < 32")]) < 40


# Shortened or not, the verdict is that of all iterations --------------------------------------

PIECES = (
    "As[tx + k % 2 * 64] = 1\n",
    "O[tx] = As[tx + (k + 1) % 2 * 64]\n",
    "O[tx] = As[tx + k % 3 * 64]\n",
    "Bs[tx + k % 3 * 64] = 1\n",
    "O[tx] = Bs[tx + c[0] % 2 * 64]\n",
    STEP,
    under("if k % 3 == 1", "Bs[tx] = 1\n"),
    'T.tvm_storage_sync("shared")\n',
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=2, max_size=4), st.integers(7, 26))
def test_what_a_shortened_loop_proves_holds_of_all_iterations(
    pieces: list[str], count: int
) -> None:
    """The same statements written out one after the other."""
    before = "c[0] = 0\nAs[tx] = 1\n"
    behind = "O[tx] = As[tx] + Bs[tx + 64]\n"
    body = "".join(pieces)
    whole = before + under(f"for k in range({count})", body) + behind
    if judge(whole, elements=192).sound:
        rounds = "".join(_written_out(body, number) for number in range(count))
        assert judge(before + rounds + behind, elements=192).sound


def _written_out(body: str, number: int) -> str:
    return body.replace("k ", f"{number} ")
