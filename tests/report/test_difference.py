"""What is told of two states of a kernel, the largest effect on what ships first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.report.difference import (
    STRANGERS,
    counts_line,
    difference_lines,
    doubt_lines,
    effects_of,
    growth_clauses,
    heading,
    in_all_line,
    in_order,
)
from smemreuse.results.difference import (
    CauseKind,
    Difference,
    DifferenceCause,
    NamedLayout,
    by_kernel,
)
from smemreuse.results.residents import Registers, RegisterSource, Residents

KB = 1024


def residents(blocks: int, size: int, threads: int | None = 128) -> Residents:
    return Residents("sm_90", False, blocks, blocks, (), size, None, threads, None)


def layout(arena: int, found: Residents | None) -> NamedLayout:
    return NamedLayout("k.tir", "k", "shared.dyn", {}, {}, {}, arena, {}, residents=found)


def cause(size: int, name: str = "As") -> DifferenceCause:
    return DifferenceCause(CauseKind.SIZE, (name,), size, f"{name} grew", alone=size)


OLD = layout(56 * KB, residents(4, 56 * KB))
NEW = layout(64 * KB, residents(3, 64 * KB))
GREW = Difference(OLD, NEW, (cause(-8 * KB, "Cs"), cause(KB, "Bs"), cause(15 * KB)))


def test_causes_go_by_blocks_and_then_by_bytes() -> None:
    told = [(one.cause.buffers[0], one.bytes, one.blocks) for one in effects_of(GREW)]
    assert told == [("As", 15 * KB, -1), ("Bs", KB, 0), ("Cs", -8 * KB, 0)]
    lines = [line.plain for line in difference_lines(GREW)]
    assert lines[0].startswith("k (shared.dyn): 57,344 -> 65,536 bytes, 8,192 more (+14.3 % of")
    assert lines[1:] == [
        "  +15,360 bytes: As grew; without this change alone, 4 blocks",
        "   +1,024 bytes: Bs grew",
        "   -8,192 bytes: Cs grew",
    ]


def test_what_a_change_does_alone_decides_its_blocks_and_few_together_are_named() -> None:
    """As where another buffer that grew is as large: the bytes of one by one are no answer."""
    grew = (replace(cause(15 * KB), alone=0), replace(cause(KB, "Bs"), alone=None))
    found = replace(GREW, causes=grew, restoring=grew)
    assert [one.blocks for one in effects_of(found)] == [0, None]
    assert [line.plain for line in difference_lines(found)][1:] == [
        "  +15,360 bytes: As grew",
        "   +1,024 bytes: Bs grew",
        "  4 blocks again without these changes together: As, Bs",
    ]


def test_of_a_kernel_that_shrank_what_it_saves_comes_first() -> None:
    shrank = Difference(NEW, OLD, (cause(KB, "Bs"), cause(-9 * KB)))
    assert [one.cause.buffers[0] for one in effects_of(shrank)] == ["As", "Bs"]


@pytest.mark.parametrize(
    "new",
    [
        layout(64 * KB, None),
        layout(64 * KB, residents(3, 64 * KB, threads=None)),
        replace(NEW, symbolic="n * 4"),
    ],
)
def test_blocks_that_are_not_known_are_not_told(new: NamedLayout) -> None:
    found = replace(GREW, new=new)
    assert {one.blocks for one in effects_of(found)} == {None}
    assert not any("block" in line.plain for line in [*difference_lines(found)][1:])


def test_no_blocks_are_told_to_be_too_large_to_launch() -> None:
    large = replace(OLD, residents=residents(0, 56 * KB))
    told = "; 0 (too large to launch) -> 3 blocks per SM of sm_90"
    assert heading(replace(GREW, old=large)).endswith(told)


def test_what_a_block_takes_beside_its_arena_is_named() -> None:
    beside = replace(NEW, residents=residents(3, 65 * KB))
    told = (
        "; a block takes 66,560 bytes (65,536 arena, 1,024 beside it for mbarriers and other "
        "allocations), without what the driver reserves; 57,344 would allow 4"
    )
    assert told in heading(replace(GREW, new=beside))


@pytest.mark.parametrize(
    ("registers", "told"),
    [(200, "; registers (200 a thread, by ptxas) allow 2 in any case"), (96, "would allow 4")],
)
def test_where_registers_do_not_allow_as_many_it_is_told(registers: int, told: str) -> None:
    new = replace(NEW, registers=Registers(registers, RegisterSource.PTXAS))
    assert heading(replace(GREW, new=new)).endswith(told)


def test_kernels_that_lost_a_block_come_before_those_that_only_grew() -> None:
    most = replace(GREW, old=layout(8 * KB, residents(3, 8 * KB)))
    assert most.bytes > GREW.bytes
    assert in_order([most, GREW]) == [GREW, most]
    assert in_order([replace(GREW, old=NEW), most]) == [most, replace(GREW, old=NEW)]


def test_blocks_of_different_architectures_have_their_sides() -> None:
    older = replace(OLD, residents=replace(residents(4, 56 * KB), arch="sm_80"))
    first = next(difference_lines(replace(GREW, old=older))).plain
    told = "blocks per SM: 4 (old, sm_80) -> 3 (new, sm_90), of different architectures"
    assert first.endswith(told)
    across = replace(GREW, old=older)
    assert ", the old for sm_80 and the new for sm_90: 1 took more" in counts_line([across])
    assert ", some of different architectures: 2 took more" in counts_line([across, GREW])


def test_fewer_blocks_are_counted_in_numbers_where_one_kernel_has_them() -> None:
    assert counts_line([GREW]) == (
        "1 kernel compared, all matched by name: 1 took more bytes, 0 fewer; 1 has fewer resident "
        "blocks by shared memory (4 -> 3)"
    )
    assert counts_line([GREW, GREW]).endswith("2 have fewer resident blocks by shared memory")
    clause = "1 kernel has fewer resident blocks by shared memory (4 -> 3)"
    assert clause in growth_clauses([GREW], untold=False)


def test_a_lost_block_has_the_bytes_that_would_allow_it() -> None:
    """All that a block takes counts, also beside the arena."""
    told = (
        "; 4 -> 3 blocks per SM of sm_90; a block takes 65,536 bytes, without what the driver "
        "reserves; 57,344 would allow 4"
    )
    assert heading(GREW).endswith(told)
    few = replace(NEW, residents=residents(3, 32 * KB))  # for another reason than its bytes
    assert heading(replace(GREW, new=few)).endswith("; 4 -> 3 blocks per SM of sm_90")


def test_it_is_told_by_what_kernels_are_matched() -> None:
    moved = replace(GREW, new=replace(NEW, kernel="k2", file=GREW.old.file))
    left = replace(moved, new=replace(moved.new, file="another.tir"))
    by_file = "by file (names differ)"
    only = "as the only one left on each side (names differ)"
    for found, told in (
        ([GREW], "1 kernel compared, all matched by name: "),
        ([moved], f"1 kernel compared, matched {by_file}: "),
        ([left], f"1 kernel compared, matched {only}: "),
        ([GREW, moved, GREW], f"3 kernels compared, 2 matched by name; 1 {by_file}: "),
    ):
        assert counts_line(found).startswith(told)
    assert counts_line([GREW], 2).startswith("1 kernel compared, matched by name; 2 left over: ")


def test_the_doubt_comes_first_where_there_is_one_pair() -> None:
    apart = replace(GREW, old=replace(OLD, sizes={"A": KB}), new=replace(NEW, sizes={"B": KB}))
    assert [line.plain for line in doubt_lines([apart])] == [STRANGERS]
    assert [*doubt_lines([GREW])] == [*doubt_lines([apart, GREW])] == []
    assert len([*difference_lines(apart, doubted=True)]) == 1


def test_kernels_without_a_buffer_in_common_are_doubted() -> None:
    apart = replace(GREW, old=replace(OLD, sizes={"A": KB}), new=replace(NEW, sizes={"B": KB}))
    doubt = f"  {STRANGERS}"
    assert [line.plain for line in difference_lines(apart)][1:] == [doubt]
    first = replace(GREW, new=replace(NEW, sizes={"B": KB}))
    assert doubt not in [line.plain for line in difference_lines(first)]
    renamed = replace(first, old=replace(OLD, kernel="other"))
    assert doubt in [line.plain for line in difference_lines(renamed)]
    same = replace(GREW, old=replace(OLD, sizes={"A": KB}), new=replace(NEW, sizes={"A": KB}))
    assert doubt not in [line.plain for line in difference_lines(same)]


def test_a_kernel_of_two_scopes_is_one_kernel() -> None:
    absent = replace(OLD, scope="shared", arena=0, sizes={}, residents=None, is_absent=True)
    static = replace(absent, arena=384, is_absent=False)
    less = replace(GREW, old=NEW, new=replace(NEW, arena=NEW.arena - KB))
    came = replace(GREW, old=absent, new=static, causes=())
    assert counts_line([came, less]).startswith(
        "1 kernel compared, all matched by name: 0 took more bytes, 1 fewer; "
    )
    assert growth_clauses([came, less], untold=False) == []
    assert heading(came) == f"{static.kernel} (shared), new: 384 bytes"
    gone = replace(came, old=static, new=absent)
    assert heading(gone) == f"{static.kernel} (shared), gone: 384 bytes"
    (kernel,) = by_kernel([came, less])
    total = in_all_line(kernel, "k")
    assert total is not None
    assert total.plain == (
        f"k in all scopes: {NEW.arena:,} -> {NEW.arena - 640:,} bytes, 640 fewer"
    )
    assert in_all_line(by_kernel([less])[0], "k") is None
