"""What is a hazard of a kernel itself, what is none, and what is certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse.audit import BarrierStage
from smemreuse.checker.machine.history import RECENT_OF_ITSELF
from smemreuse.checker.machine.proxies import MAX_PLACES
from smemreuse.compilers.text.reader import read_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.linter import lint
from smemreuse.linter.collected import INSIDE, LANES_TOGETHER, SAME_VALUE
from smemreuse.linter.ordering import IN_STEP
from smemreuse.results.hazards import HazardKind, LintReport, LintStatus, Remedy
from tests.checker.small import (
    ARRIVE,
    DESCRIPTORS,
    SYNC,
    WAIT,
    WGMMA_A,
    arms,
    init_barrier,
    kernel_of,
    tma_load,
    under,
)

REGISTER = 'r = T.alloc_buffer((1,), "int32", scope="local")\n'
READ = "O[tx] = As[tx]\n"
ATOMIC = (
    'T.atomic_add_elem_op(T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 1, 3), 1, 0)\n'
)


def report_on(kernel: Kernel, *, later: bool = False) -> LintReport:
    return lint(kernel, BarrierStage.LATER if later else BarrierStage.PRESENT)


def found(body: str, *, later: bool = False, **kernel: int | str) -> list[tuple[str, bool]]:
    """The hazards of a small kernel, each with whether it is certain."""
    report = report_on(kernel_of(body, **kernel), later=later)  # type: ignore[arg-type]
    assert report.unknown == ()
    return [(hazard.kind.value, hazard.is_unconditional) for hazard in report.hazards]


@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        ("As[tx] = tx\n" + READ, []),
        ("As[tx] = tx\nO[tx] = As[63 - tx]\n", [("race", True)]),
        (f"As[tx] = tx\n{SYNC}O[tx] = As[63 - tx]\n", []),
        (READ, [("uninitialised-read", True)]),
        (under("if D[0] == 0", "As[tx] = tx\n") + READ, [("uninitialised-read", False)]),
        (under("if D[0] == 0", READ) + READ, [("uninitialised-read", False)] * 2),
        ("As[tx] = As[63 - tx]\n", [("race", True)]),  # what is read decides nothing
        (
            "As[tx] = As[63 - tx]\nO[tx] = As[tx]\n",
            [("uninitialised-read", True), ("race", True)],
        ),
        (f"As[0] = D[0]\n{SYNC}O[tx] = As[0]\n", []),
        (f"As[0] = tx\n{SYNC}O[tx] = As[0]\n", [("race", True)]),
        (f"As[0] = 7\n{SYNC}O[tx] = As[0]\n", []),
        (f"As[0] = 7\nO[tx] = As[0]\n{SYNC}", []),
        (f"As[tx // 4] = D[tx // 4]\nO[tx] = As[tx // 4]\n{SYNC}", []),
        (f"As[tx // 4] = D[tx // 4]\nO[tx] = As[tx // 4 * 0]\n{SYNC}", [("race", True)]),
        (f"As[tx // 4] = D[tx]\n{SYNC}{READ}", [("race", False), ("uninitialised-read", True)]),
        (f"As[tx // 4] = D[tx // 4] + tx\n{SYNC}O[tx] = As[tx // 4]\n", [("race", True)]),
        (f"As[D[tx] & 63] = 1\n{SYNC}", [("race", False)]),
        (
            f"As[tx * 2:tx * 2 + 4] = T.Broadcast(c[0], 4)\n{SYNC}",
            [("out-of-bounds", True), ("race", False)],
        ),
    ],
)
def test_threads_and_bytes(body: str, hazards: list[tuple[str, bool]]) -> None:
    assert sorted(found(body)) == sorted(hazards)


@pytest.mark.parametrize("first", ["As[0] = 5\n" + ATOMIC, ATOMIC + "As[0] = 5\n"])
def test_an_atomic_beside_a_plain_write_does_not_hide_it(first: str) -> None:
    """That thread's atomic is in order with the other one's; its write is not."""
    races = found(under("if tx < 1", first) + under("if tx >= 63", ATOMIC))
    assert ("race", True) in races
    assert ("race", True) not in found(
        under("if tx < 1", ATOMIC * 2) + under("if tx >= 63", ATOMIC)
    )


@pytest.mark.parametrize(("writes", "races"), [(300, [("race", False)]), (0, [])])
def test_many_atomics_do_not_hide_a_plain_write(writes: int, races: list[tuple[str, bool]]) -> None:
    """Of so many accesses the older ones are kept as one, the last of which is an atomic."""
    add = 'T.call_extern("int32", "atomicAdd", T.address_of(As[{}]), 1)\n'
    many = [f"As[{at}] = 5\n" for at in range(writes)]
    many += [add.format(at) for at in range(writes, RECENT_OF_ITSELF + 1)]
    fill = under("for i in range(16)", "As[i * 64 + tx] = 0\n") + SYNC
    last = under("if tx == 32", add.format(5))
    report = report_on(kernel_of(fill + under("if tx == 0", "".join(many)) + last, elements=1024))
    assert [(one.kind.value, one.certain) for one in report.hazards] == races


def test_of_many_accesses_that_are_kept_as_one_it_is_told_which_touched_the_byte() -> None:
    """It may be an earlier one, and is said to be."""
    many = [f"As[{at}] = 5\n" for at in range(RECENT_OF_ITSELF + 1)]
    body = under("if tx == 0", "As[7] = 4\n" + "".join(many)) + under("if tx == 32", "As[7] = 6\n")
    (hazard,) = report_on(kernel_of(body, elements=1024)).hazards
    assert hazard.other is not None
    assert hazard.other.statement == "As[7] = 5"
    assert hazard.witness.endswith("; or that is so of an earlier access to these bytes")
    assert hazard.agents == ("thread 0", "thread 32")


def loaded(first: int) -> str:
    """32 elements that TMA loads into As, and all threads wait for."""
    target = f'T.tvm_access_ptr(T.type_annotation("int32"), As.data, {first}, 32, 2)'
    load = f"T.ptx_arrive_barrier_expect_tx(full[0], 128)\nT.tma_load(X, full[0], {target}, 0)\n"
    return under("if tx == 0", load) + WAIT + f"O[tx] = As[{first} + tx % 32]\n"


@pytest.mark.parametrize(
    ("more", "first", "hazards"),
    [
        (0, 0, [("missing-fence", True)]),
        (0, MAX_PLACES, []),
        (1, 0, [("missing-fence", False)]),
        (1, MAX_PLACES, [("missing-fence", True)]),
        (1, MAX_PLACES + 1, []),
    ],
)
def test_of_many_writes_without_a_fence_those_count_that_touch_the_bytes(
    more: int, first: int, hazards: list[tuple[str, bool]]
) -> None:
    """Of more than are kept apart the older ones are kept as one, and no byte that none touched."""
    writes = "".join(f"As[{at}] = 5\n" for at in range(MAX_PLACES + more))
    body = init_barrier(1) + under("if tx == 0", writes) + SYNC + loaded(first)
    assert found(body, elements=1024) == hazards


def test_the_access_without_a_fence_is_told_where_others_touch_the_same_bytes() -> None:
    """The second warp reads what the first one does, and makes a fence of its own."""
    fence = "T.fence_proxy_async()\n"
    body = init_barrier(1) + "As[tx] = 1\n" + fence + SYNC
    body += under("if tx < 32", READ)
    body += under("if tx >= 32", "O[tx] = As[tx - 32]\n" + fence)
    (hazard,) = report_on(kernel_of(body + SYNC + loaded(0))).hazards
    assert hazard.other is not None
    assert (hazard.kind, hazard.other.statement) == (HazardKind.MISSING_FENCE, READ.strip())
    assert hazard.agents[0] == "threads 0-31"


@pytest.mark.parametrize("outer", ["k", "r"])
def test_a_loop_inside_may_have_a_variable_of_the_same_name(outer: str) -> None:
    """In each of its iterations threads of two warps store another value to the same places."""
    store = under("for k in range(2)", "As[tx % 32] = D[k]\n")
    body = under(f"for {outer} in range(2)", store) + SYNC + "O[tx] = As[tx % 32]\n"
    assert found(body) == [("race", True)]


def test_a_race_is_told_by_threads_that_nothing_orders() -> None:
    """The third warp meets the first one, and overwrites what the second one has written, too."""
    meet = 'T.tvm_storage_sync("shared", 1, 64)\n'
    body = under("if tx < 64", "As[tx] = tx\n") + under("if tx < 32 or tx >= 64", meet)
    body += under("if tx >= 64", "As[tx * 2 - 128] = 1\n")
    (hazard,) = report_on(kernel_of(body, threads=96)).hazards
    assert hazard.agents == ("thread 32", "thread 80")


def test_where_a_barrier_may_come_threads_of_two_warps_are_told_of_as_well() -> None:
    """No thread writes to one place twice, so that the pass puts no barrier in."""
    body = "As[63 - tx] = D[tx]\nAs[tx] = D[tx]\n"
    assert found(body, later=True) == [("race", False)]
    assert found(body) == [("race", True)]
    assert found(body.replace("63 - tx", "tx"), later=True) == []


def test_a_round_ends_where_the_next_one_has_its_first_place_for_a_barrier() -> None:
    """All that was done behind the descriptor is over then, the multiplication too. That warps
    keep in step rests on that barrier alone."""
    pointer = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 128, 1)'
    described = f"T.initialize_wgmma_descriptor(da[0], {pointer}, 2, 1, 32)\n"
    matrices = f"T.warpgroup_arrive()\n{WGMMA_A}T.warpgroup_commit_batch()\nT.warpgroup_wait(0)\n"
    filled = "T.ptx_arrive_barrier_expect_tx(full[0], 512)\n" + tma_load("As", 128)
    body = under("if tx == 0", filled) + "T.mbarrier_wait_parity(full[0], k % 2)\nBs[tx] = 1\n"
    loop = under("for k in range(3)", body + described + matrices)
    left = found(init_barrier(1) + loop, later=True, threads=128, declared=DESCRIPTORS)
    assert left == [("missed-phase", False)]


FRAGMENT = 'frag = T.alloc_buffer((512,), "int32", scope="wmma.accumulator")\n'
USE_ALL = SYNC + under("for i in range(16)", "O[i * 64 + tx] = As[i * 64 + tx]\n")


def store_tile(at: str, stride: int = 32) -> str:
    """A warp stores a fragment of 16 rows and columns."""
    target = f'T.tvm_access_ptr(T.type_annotation("int32"), As.data, {at}, 512, 2)'
    operands = f'frag.data, 16, 16, 16, 0, {target}, {stride}, "row_major"'
    return f"T.tvm_store_matrix_sync({operands})\n"


@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        ([store_tile("tx // 32 * 512"), store_tile("tx // 32 * 512 + 16"), USE_ALL], []),
        (
            [store_tile("tx // 32 * 512"), store_tile("tx // 32 * 512 + 15"), USE_ALL],
            [("race", False), ("uninitialised-read", True)],
        ),
        ([store_tile("tx // 32 * 16"), USE_ALL], [("uninitialised-read", True)]),
        ([store_tile("tx // 32 * 8"), SYNC], [("race", False)]),
        ([store_tile("tx // 32 * 512"), "O[tx] = As[tx % 16]\n", SYNC], [("race", False)]),
    ],
    ids=["side by side", "overlapping", "half", "two warps", "read at once"],
)
def test_a_warp_stores_a_tile_together(body: list[str], hazards: list[tuple[str, bool]]) -> None:
    """Which bytes is known, and not which lane stores which."""
    assert sorted(found("".join(body), elements=1024, declared=FRAGMENT)) == hazards


@pytest.mark.parametrize(("at", "assumed"), [("0", True), ("tx // 32 * 512", False)])
def test_tiles_that_two_warps_store_alike_are_assumed_to_be_one(at: str, assumed: bool) -> None:
    kernel = kernel_of(store_tile(at), elements=1024, declared=FRAGMENT)
    report = report_on(kernel)
    assert report.clean
    assert (SAME_VALUE in report.assumptions) is assumed


def test_a_value_that_several_threads_store_is_assumed_to_be_one() -> None:
    """A replicated fragment: what registers hold is not followed."""
    report = report_on(
        kernel_of(f"As[tx // 2] = r[0]\n{SYNC}O[tx] = As[tx // 2]\n", declared=REGISTER)
    )
    assert report.clean
    assert report.assumptions == (SAME_VALUE,)
    assert {one.assumption for one in report.assumed_at if one.buffer and one.line} == {SAME_VALUE}


POINTER = 'T.tvm_access_ptr(T.type_annotation("int32"), {}, 0, 1, {})'


@pytest.mark.parametrize(("source", "assumed"), [("X", False), ("D.data", False), ("r.data", True)])
def test_threads_that_copy_from_one_address_store_one_value(source: str, assumed: bool) -> None:
    """An address in global memory is one for all of them; one of registers is each its own."""
    target, given = POINTER.format("As.data", 2), POINTER.format(source, 1)
    copy = f"T.ptx_cp_async({target}, {given}, 4)\nT.ptx_commit_group()\nT.ptx_wait_group(0)\n"
    report = report_on(kernel_of(f"{copy}{SYNC}O[tx] = As[0]\n", declared=REGISTER))
    assert report.clean
    assert (SAME_VALUE in report.assumptions) is assumed


def test_what_a_warp_answers_need_not_be_what_another_does() -> None:
    report = report_on(kernel_of(f"As[0] = T.tvm_warp_activemask()\n{SYNC}O[tx] = As[0]\n"))
    assert SAME_VALUE in report.assumptions


def test_what_data_decide_is_not_certain() -> None:
    body = under("if D[0] == 0", "As[tx] = tx\nO[tx] = As[63 - tx]\n")
    assert found(body) == [("race", False)]


@pytest.mark.parametrize(
    ("guard", "hazards"),
    [
        ("T.if_then_else(tx < 63, As[tx + 1], 0)", []),
        ("T.if_then_else(tx < 64, As[tx + 1], 0)", [("out-of-bounds", True)]),
        ("T.if_then_else(D[0] == 0, As[tx + 1], 0)", [("out-of-bounds", False)]),
        ("As[tx + 1]", [("out-of-bounds", True)]),
        ("As[tx - 1]", [("out-of-bounds", True)]),
    ],
)
def test_an_index_is_judged_where_it_is_evaluated(
    guard: str, hazards: list[tuple[str, bool]]
) -> None:
    body = f"As[tx] = tx\n{SYNC}O[tx] = {guard}\n"
    assert [one for one in found(body) if one[0] == "out-of-bounds"] == hazards


def test_atomics_are_no_races_with_each_other() -> None:
    clear = under("if tx == 0", "As[0] = 0\n")
    assert found(clear + SYNC + ATOMIC + ATOMIC + SYNC + "O[tx] = As[0]\n") == []
    assert [kind for kind, _ in found(clear + SYNC + ATOMIC + "O[tx] = As[0]\n")] == ["race"]


def test_a_reduction_begins_with_a_barrier_of_its_own() -> None:
    call = (
        'T.call_extern("int32", "tl::AllReduce<tl::SumOp, 64, 1, 0>::run", c[0], '
        'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 64, 2))\n'
    )
    twice = f"c[0] = {call}c[0] = {call}"
    assert found(twice) == []


def test_lanes_of_a_warp_go_in_step_as_a_rule() -> None:
    """What relies on that may mean to; a barrier of the warp makes it sure."""
    body = "As[tx] = tx\n{}O[tx] = As[tx // 32 * 64 + 31 - tx % 32 - tx // 32 * 32]\n"
    assert found(body.format("")) == [("race", False)]
    assert found(body.format("T.sync_warp()\n")) == []


def test_lanes_of_one_warp_are_spoken_of_where_both_accesses_have_one() -> None:
    alone = under("if tx < 32", "As[tx] = 1\nO[tx] = As[tx ^ 1]\n")
    assert report_on(kernel_of(alone)).hazards[0].witness.endswith(IN_STEP)
    apart = under("if tx < 32", "As[D[tx] % 32] = tx\n") + under("else", "O[tx] = As[tx - 32]\n")
    races = [one.witness for one in report_on(kernel_of(apart)).hazards if one.kind == "race"]
    assert races
    assert all(IN_STEP not in one for one in races)


def test_a_store_of_what_is_there_changes_nothing() -> None:
    assert found(f"As[tx] = tx\n{SYNC}As[0] = As[0]\nO[tx] = As[0]\n") == []


def test_one_site_is_told_once() -> None:
    body = under("for k in range(8)", "As[tx] = tx\nO[tx] = As[63 - tx]\n")
    kernel = kernel_of(body)
    sites = [(hazard.kind, hazard.site.line) for hazard in report_on(kernel).hazards]
    assert len(sites) == len(set(sites)) == 2  # the read behind the write, and round the loop


def test_a_race_names_two_threads_of_different_warps_where_there_are() -> None:
    (hazard,) = report_on(kernel_of("As[tx] = tx\nO[tx] = As[63 - tx]\n")).hazards
    assert hazard.agents == ("thread 0", "thread 63")
    assert hazard.bytes == (0, 255)


@pytest.mark.parametrize("later", [False, True])
def test_arms_are_ordered_by_their_mbarrier(later: bool) -> None:
    producer = "As[tx] = tx\n"
    consumer = "O[tx] = As[tx - 32]\n"
    init = init_barrier(32)
    assert found(init + arms(producer + ARRIVE, WAIT + consumer), later=later) == []
    kinds = found(init + arms(producer, consumer), later=later)
    assert kinds == ([] if later else [("race", True)])


@pytest.mark.parametrize(
    ("consume", "hazards"),
    [
        (WAIT + "T.ptx_arrive_barrier(full[1])\n", []),
        ("T.ptx_arrive_barrier(full[1])\n" + WAIT, [("barrier-deadlock", False)]),
    ],
)
def test_a_wait_that_the_next_phase_may_overtake(
    consume: str, hazards: list[tuple[str, bool]]
) -> None:
    """The producer goes on to phase 1 once the consumer has arrived, before it looks or after."""
    init = init_barrier(32) + init_barrier(32, "full[1]")
    produce = ARRIVE + WAIT + "T.mbarrier_wait_parity(full[1], 0)\n" + ARRIVE
    assert found(init + arms(produce, consume)) == hazards


def test_of_two_that_wait_the_one_that_ends_the_next_phase_overtakes_the_other() -> None:
    """Only the wait that may be overtaken is wrong; an arrival behind both waits is right."""
    init = init_barrier(32) + init_barrier(32, "full[1]")

    def of_three(second: str, third: str) -> LintReport:
        warps = {"tx < 32": ARRIVE, "tx >= 32 and tx < 64": second, "tx >= 64": third}
        body = "".join(under(f"if {where}", what) for where, what in warps.items())
        return report_on(kernel_of(init + body, threads=96))

    (hazard,) = of_three(WAIT + ARRIVE, WAIT).hazards
    assert (hazard.kind, hazard.certain) == (HazardKind.MISSED_PHASE, True)
    assert hazard.agents == ("threads 64-95", "threads 32-63")
    late = WAIT + "T.mbarrier_wait_parity(full[1], 0)\n" + ARRIVE
    assert of_three(late, WAIT + "T.ptx_arrive_barrier(full[1])\n").clean


def test_what_mends_one_wait_of_a_late_warp_names_its_others() -> None:
    """They are one hazard, and whoever moves the first wait alone would keep the hang."""
    init = init_barrier(32) + init_barrier(32, "full[1]")
    waits = [WAIT, WAIT.replace("full[0]", "full[1]")]
    arrivals = [ARRIVE, ARRIVE.replace("full[0]", "full[1]")]
    ends_both = waits[0] + arrivals[0] + waits[1] + arrivals[1]
    warps = {"tx < 32": "".join(arrivals), "32 <= tx and tx < 64": ends_both}
    warps["tx >= 64"] = "".join(waits)
    body = "".join(under(f"if {where}", what) for where, what in warps.items())
    (hazard,) = report_on(kernel_of(init + body, threads=96)).hazards
    assert hazard.kind is HazardKind.MISSED_PHASE
    assert hazard.site.line is not None
    assert hazard.mend.sentence.endswith(
        f". Likewise at line {hazard.site.line + 1} (counted as one finding with this)."
    )


def test_an_mbarrier_is_used_behind_its_initialization() -> None:
    init = under("if tx == 0", "T.ptx_init_barrier_thread_count(full[0], 64)\n")
    rest = "As[tx] = tx\n" + ARRIVE + WAIT + "O[tx] = As[63 - tx]\n"
    assert found(init + SYNC + rest) == []
    assert set(found(init + rest)) == {("race", True)}


def test_a_load_is_waited_for_before_its_buffer_is_written() -> None:
    init = init_barrier(1)
    load = under("if tx == 0", "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("As"))
    assert found(init + load + WAIT + READ) == []
    assert found(init + load + READ + WAIT) == [("missing-wait", True)]
    assert ("missing-wait", True) in found(init + load + "As[tx] = tx\n" + WAIT)


def test_a_multiplication_reads_what_was_written_behind_a_fence() -> None:
    make = "T.initialize_wgmma_descriptor(da[0], As.data, 1, 1, 64)\n"
    fill = under("for j in range(32)", "As[j * 128 + tx] = j\n")
    fence = "T.fence_proxy_async()\n"
    end = "T.warpgroup_commit_batch()\nT.warpgroup_wait(0)\n"

    def kinds(body: str) -> set[str]:
        return {kind for kind, _ in found(body, threads=128, elements=4096, declared=DESCRIPTORS)}

    assert kinds(fill + fence + SYNC + make + WGMMA_A + end) == set()
    assert kinds(fill + SYNC + make + WGMMA_A + end) == {"missing-fence"}
    assert kinds(fill + fence + make + WGMMA_A + end) == {"race", "missing-fence"}
    assert kinds(make + WGMMA_A + end) == {"uninitialised-read"}
    behind = fill + fence + SYNC + make + WGMMA_A
    assert kinds(behind + SYNC + "As[tx] = 0\n" + end) == {"missing-wait"}


def test_arms_on_data_may_run_at_once() -> None:
    body = (
        f"As[tx] = tx\n{SYNC}"
        + under("if D[tx] == 0", "As[0] = 1\n")
        + "else:\n    O[tx] = As[0]\n"
    )
    assert ("race", False) in found(body)
    reads = f"As[tx] = tx\n{SYNC}" + under("if D[tx] == 0", READ) + "else:\n    O[tx] = As[0]\n"
    assert found(reads) == []


def test_a_kernel_that_is_not_followed_is_unknown() -> None:
    report = report_on(kernel_of("As[tx] = tx\nT.call_extern('handle', 'f', full.data)\n" + READ))
    assert report.status in (LintStatus.UNKNOWN, LintStatus.POSSIBLE)
    assert not report.clean


def test_a_kernel_without_shared_memory_is_clean() -> None:
    assert report_on(kernel_of("O[tx] = tx\n")).clean


@pytest.mark.parametrize("condition", ["bx == 5", "k == 49 and bx == 5", "k == bx * 9 and bx == 5"])
def test_what_goes_wrong_in_a_loop_of_one_block_alone_is_found(condition: str) -> None:
    wrong = under(f"if {condition}", "As[tx + 1] = tx\n")
    body = under("for k in range(60)", "As[tx] = 1\n" + wrong)
    assert ("race", True) in found(body, blocks=8, elements=128)
    assert found(under("for k in range(60)", "As[tx] = 1\n"), blocks=8, elements=128) == []


MERGED = """\
@T.prim_func
def kernel(O: T.Buffer((64,), "int32")):
    tx = T.launch_thread("threadIdx.x", 64)
    arena = T.alloc_buffer((512,), "uint8", scope="shared.dyn")
    one: T.handle("int32", "shared.dyn") = T.handle_add_byte_offset(arena.data, 0)
    two: T.handle("int32", "shared.dyn") = T.handle_add_byte_offset(arena.data, 256)
    As = T.decl_buffer((64,), "int32", data=one, scope="shared.dyn")
    Bs = T.decl_buffer((64,), "int32", data=two, scope="shared.dyn")
    As[tx + {shift}] = tx
    O[tx] = As[tx + {shift}]
    Bs[tx] = tx
    O[tx] = Bs[tx]
"""


@pytest.mark.parametrize(("shift", "hazards"), [(0, []), (32, ["out-of-bounds"] * 2)])
def test_an_index_leaves_what_its_view_declares_though_not_the_arena(
    shift: int, hazards: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "merged.tir"
    path.write_text(MERGED.format(shift=shift))
    (kernel,) = read_dump(path).kernels
    assert [one.kind.value for one in report_on(kernel).hazards if one.certain] == hazards


VIEW = (
    'V = T.decl_buffer((2048,), "int32", data=As.data, scope="shared.dyn", elem_offset=k * 2048)\n'
)
WGMMA_VIEW = (
    VIEW
    + "T.initialize_wgmma_descriptor(da[0], T.address_of(V[0]), 1, 1, 64)\n"
    + 'T.ptx_wgmma_ss("m64n8k16", T.bool(True), T.bool(True), "fp16", "fp16", "fp32", da.data, 0, '
    + "da.data, 0, acc.data, 0, 0, 1, 1)\nT.warpgroup_commit_batch()\nT.warpgroup_wait(0)\n"
)


@pytest.mark.parametrize(
    ("filled", "fenced", "kinds"),
    [
        (32, True, set()),
        (16, True, {"uninitialised-read"}),
        (32, False, {"missing-fence"}),
    ],
)
def test_a_descriptor_of_a_view_that_begins_where_a_variable_says(
    filled: int, fenced: bool, kinds: set[str]
) -> None:
    """Only the second round, whose view begins behind the first one's, goes wrong."""
    first = under("for j in range(16)", "As[j * 128 + tx] = j\n") + "T.fence_proxy_async()\n"
    rest = under(f"for j in range({filled - 16})", "As[2048 + j * 128 + tx] = j\n")
    fence = "T.fence_proxy_async()\n" if fenced else ""
    body = first + SYNC + rest + fence + SYNC + under("for k in range(2)", WGMMA_VIEW)
    hazards = found(body, threads=128, elements=4096, declared=DESCRIPTORS)
    assert {kind for kind, _ in hazards} == kinds
    assert all(certain for _, certain in hazards)


@pytest.mark.parametrize(
    ("first", "between", "second", "hazards"),
    [
        ("D[0] > 5", "", "D[0] > 5", set()),
        ("D[0] > 5", "", "D[0] > 4", {("uninitialised-read", False)}),
        ("D[0] > 5", "D[0] = 7\n", "D[0] > 5", {("uninitialised-read", False)}),
        ("D[tx] > 5", "", "D[tx] > 5", {("uninitialised-read", False)}),
    ],
)
def test_what_data_decide_twice_goes_one_way(
    first: str, between: str, second: str, hazards: set[tuple[str, bool]]
) -> None:
    """As long as they are the same for all threads, and do not change."""
    fill = under(f"if {first}", "As[tx] = tx\n")
    read = under(f"if {second}", "O[tx] = As[63 - tx]\n")
    told = found(fill + SYNC + between + read)
    assert {one for one in told if one[0] != "race"} == hazards


def test_a_loop_whose_length_data_decide_is_tried_with_each() -> None:
    loop = under("for k in range(D[0])", "As[tx] = k\n")
    assert found(loop + under("if D[0] > 0", READ)) == []
    assert found(loop + under("if D[0] > -1", READ)) == [("uninitialised-read", False)]


MULTIPLY = "T.warpgroup_commit_batch()\n"


@pytest.mark.parametrize(
    ("behind", "hazards"),
    [
        (MULTIPLY + "T.warpgroup_wait(0)\nO[tx] = acc[0]\n", set()),
        (MULTIPLY + "O[tx] = acc[0]\nT.warpgroup_wait(0)\n", {("missing-wait", True)}),
        (MULTIPLY + "acc[0] = T.float32(0)\nT.warpgroup_wait(0)\n", {("missing-wait", True)}),
        ("T.warpgroup_wait(0)\nO[tx] = acc[0]\n", {("missing-wait", True)}),
        (MULTIPLY + WGMMA_A + MULTIPLY + "T.warpgroup_wait(0)\nO[tx] = acc[0]\n", set()),
        (
            MULTIPLY + under("if tx < 64", "T.warpgroup_wait(0)\n") + "O[tx] = acc[0]\n",
            {("missing-wait", False), ("barrier-divergence", True)},
        ),
    ],
)
def test_registers_are_there_when_their_group_has_been_waited_for(
    behind: str, hazards: set[tuple[str, bool]]
) -> None:
    make = "T.initialize_wgmma_descriptor(da[0], As.data, 1, 1, 64)\n"
    fill = under("for j in range(32)", "As[j * 128 + tx] = j\n")
    body = fill + "T.fence_proxy_async()\n" + SYNC + make + WGMMA_A + behind
    told = set(found(body, threads=128, elements=4096, declared=DESCRIPTORS))
    assert {kind for kind, _ in told} == {kind for kind, _ in hazards}
    if ("missing-wait", True) in hazards:
        assert told == hazards


PARITY = "T.mbarrier_wait_parity(full[1], k % 2 ^ 1)\n"


def pipeline(waits: str, release: str, count: int) -> Kernel:
    """The first warps fill, the others read and let them fill again."""
    init = under(
        "if tx == 0",
        "T.ptx_init_barrier_thread_count(full[0], 64)\n"
        f"T.ptx_init_barrier_thread_count(full[1], {count})\n",
    )
    fill = "As[tx] = tx + k\n" + ARRIVE
    read = "T.mbarrier_wait_parity(full[0], k % 2)\nO[tx] = As[127 - tx]\n" + release
    arms_ = under("if tx < 64", under("for k in range(4)", waits + fill))
    arms_ += under("if tx >= 64", under("for k in range(4)", read))
    return kernel_of(init + SYNC + arms_, threads=128)


def test_a_wait_comes_before_what_ends_the_next_phase() -> None:
    report = report_on(pipeline(PARITY, "T.ptx_arrive_barrier(full[1])\n", 64))
    assert (report.status, report.assumptions) == (LintStatus.CLEAN, ())


def test_an_arrival_for_a_phase_that_is_not_sure_is_told() -> None:
    """Without its wait a warp may arrive twice in one phase."""
    report = report_on(pipeline("", "T.ptx_arrive_barrier(full[1])\n", 64))
    assert [hazard.certain for hazard in report.hazards] == [False]
    assert report.unknown


LOAD = tma_load("As", 128)
EXPECT = "T.ptx_arrive_barrier_expect_tx(full[0], 512)\n"
ELECTED = "if T.tl_shuffle_elect(32)"


def filled_by_some(loading: str, filling: str, rounds: str = "4") -> Kernel:
    """Threads that are `filling` wait until a buffer is free, and some of them load it."""
    init = under(
        "if tx == 0",
        "T.ptx_init_barrier_thread_count(full[0], 1)\n"
        "T.ptx_init_barrier_thread_count(full[1], 64)\n"
        "T.ptx_fence_barrier_init()\n",
    )
    loop = f"for k in range({rounds})"
    fill = under(filling, under(loop, PARITY + loading))
    read = "T.mbarrier_wait_parity(full[0], k % 2)\nO[tx] = As[tx]\nT.fence_proxy_async()\n"
    drain = under("if tx >= 64", under(loop, read + "T.ptx_arrive_barrier(full[1])\n"))
    return kernel_of(init + SYNC + fill + drain, threads=128)


def test_a_warp_that_nobody_waits_for_misses_a_phase() -> None:
    """The second warp waits with the first, and does nothing: late by a phase, it never returns."""
    report = report_on(
        filled_by_some(under("if T.tl_shuffle_elect(64)", EXPECT + LOAD), "if tx < 64")
    )
    (hazard,) = report.hazards
    assert (hazard.kind, hazard.certain) == (HazardKind.MISSED_PHASE, True)
    assert hazard.agents == ("threads 32-63", "threads 64-127")
    waits, rest = hazard.witness.split("; ")
    completes, late = rest.split(". ")
    assert waits.startswith("threads 32-63 wait at `mbarrier_wait_parity(")
    assert "for the end of phase" in waits or "which returns at once until phase 0 ends" in waits
    assert completes.startswith("threads 64-127 complete phase ")
    assert completes.endswith(" without waiting for threads 32-63")
    assert late.startswith("One of threads 32-63 that comes later waits for phase ")
    why = "if this is its last wait, nobody ends that phase"
    assert late.endswith(f" waits for phase 1 to end, which may never happen: {why}")
    assert (hazard.mend.remedy, hazard.mend.threads) == (Remedy.NARROW, (0, 32))
    assert report.assumptions == ()


@pytest.mark.parametrize(
    ("rounds", "said"), [("1", "which never happens"), ("n", "which may never happen")]
)
def test_of_a_phase_that_nothing_ends_it_is_said_that_it_never_does(rounds: str, said: str) -> None:
    """Each mbarrier ends one phase, by the second half of the threads; with `n` rounds, data say
    how many."""
    loading = under("if T.tl_shuffle_elect(64)", EXPECT + LOAD)
    (hazard, *_) = report_on(filled_by_some(loading, "if tx < 64", rounds)).hazards
    assert f" to end, {said}" in hazard.witness


def test_a_warp_that_waits_alone_misses_no_phase() -> None:
    report = report_on(filled_by_some(under(ELECTED, EXPECT + LOAD), "if tx < 32"))
    assert (report.status, report.assumptions) == (LintStatus.CLEAN, ())


def test_lanes_that_nothing_keeps_together_are_assumed_to_go_on_together() -> None:
    """One lane loads, without an operation before that all lanes take part in."""
    report = report_on(filled_by_some(under("if tx == 0", EXPECT + LOAD), "if tx < 32"))
    assert (report.status, report.assumptions) == (LintStatus.CLEAN, (LANES_TOGETHER,))


def test_a_phase_waits_for_the_warp_whose_load_it_waits_for() -> None:
    """One warp arrives, another one loads: the phase ends after the waits of both."""
    both = under("if tx < 32", under(ELECTED, EXPECT)) + under("if tx >= 32", under(ELECTED, LOAD))
    report = report_on(filled_by_some(both, "if tx < 64"))
    assert [one.kind for one in report.hazards] == []


def test_an_index_that_is_not_known_is_assumed_to_stay_inside() -> None:
    report = report_on(kernel_of(f"As[tx] = tx\n{SYNC}O[tx] = As[D[tx]]\n"))
    assert (report.status, report.assumptions) == (LintStatus.CLEAN, (INSIDE,))
    (where,) = report.assumed_at
    assert (where.assumption, where.buffer) == (INSIDE, "As")
    assert where.line is not None


@pytest.mark.parametrize(
    ("value", "hazards"),
    [
        ("D[tx % 32]", []),
        ("D[tx % 32] + 7", []),
        ("D[tx % 32] + n", [("race", True)]),
        ("D[n]", [("race", True)]),
        ("c[0]", [("race", False)]),
    ],
)
def test_a_store_that_is_done_again_puts_the_same_there(
    value: str, hazards: list[tuple[str, bool]]
) -> None:
    """Thread 0 in the first iteration, and thread 32 in the second."""
    body = "c[0] = 4\n" + under("for n in range(2)", f"As[tx % 32] = {value}\n")
    assert found(body + SYNC + "O[tx] = As[tx % 32]\n") == hazards


def test_a_fence_is_handed_on_by_a_barrier_that_is_still_to_come() -> None:
    """The pass puts it between the fence and the product; no mbarrier or barrier is there yet."""
    fill = under("for j in range(32)", "As[j * 128 + tx] = j\n")
    product = "T.initialize_wgmma_descriptor(da[0], As.data, 1, 1, 64)\nT.warpgroup_arrive()\n"
    product += WGMMA_A + "T.warpgroup_commit_batch()\nT.warpgroup_wait(0)\n"
    body = fill + "T.fence_proxy_async()\n" + product
    kernel = kernel_of(body, threads=128, elements=4096, declared=DESCRIPTORS)
    assert not any(one.certain for one in report_on(kernel, later=True).hazards)
    without = report_on(kernel).hazards  # it has all the barriers that it will ever have
    assert ("missing-fence", True) in [(one.kind.value, one.certain) for one in without]


@pytest.mark.parametrize(
    ("writes", "certain"),
    [("if tx == 0", False), ("if tx < 32", True)],  # its own write; those of other lanes, too
)
def test_who_arrives_alone_hands_over_what_he_wrote_himself(writes: str, certain: bool) -> None:
    produced = under(writes, "As[tx] = tx\n") + under("if tx == 0", ARRIVE)
    hazards = found(init_barrier(1) + produced + WAIT + "O[tx] = As[tx % 32]\n")
    assert ("race", certain) in hazards
    assert ("race", not certain) not in hazards
