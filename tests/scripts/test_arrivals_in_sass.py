"""Loads that may end after an arrival, by the scoreboards of SASS as nvdisasm prints it."""

from __future__ import annotations

from scripts.arrivals_in_sass import Instruction, arrivals, instructions

LISTING = """
        /*0810*/                   LDS R6, [R92+0xc000] ;             /* 0x00c000005c067984 */
                                                                      /* 0x000e680000000800 */
        /*0880*/                   LDS R13, [R92+0xc070] ;            /* 0x00c070005c0d7984 */
                                                                      /* 0x0003220000000800 */
.L_x_7:
        /*0890*/                   SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R4+UR9+0x50], RZ ; /* 0x000050ff04ff79a7 */
                                                                      /* 0x0003e20008100009 */
        /*08b0*/                   HADD2.F32 R14, -RZ, R6.H0_H0 ;     /* 0x20000006ff0e7230 */
                                                                      /* 0x002fc40000004100 */
"""  # noqa: E501


def load(board: int, waits: int = 0, text: str = "LDS R1, [R2]") -> Instruction:
    return Instruction(0, text, board, waits)


def other(waits: int, text: str = "FADD R1, R2, R3") -> Instruction:
    return Instruction(0, text, None, waits)


ARRIVE = "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R4], RZ"


def test_an_instruction_sets_a_scoreboard_and_waits_for_others() -> None:
    found = [*instructions(LISTING)]
    assert [one.address for one in found] == [0x810, 0x880, 0x890, 0x8B0]
    assert [one.sets for one in found] == [1, 4, None, None]
    assert [one.waits for one in found] == [0, 0, 0, 0b10]  # the sum waits for the first load
    assert [one.is_load for one in found] == [True, True, False, False]
    assert [one.releases for one in found] == [False, False, True, False]


def test_what_nothing_has_waited_for_is_under_way() -> None:
    code = [load(1), load(1), load(2), other(0b10), other(0, ARRIVE)]
    (found,) = arrivals(code)
    assert (found["loads"], found["under_way"], found["wait_mask"]) == (3, 1, 0)


def test_an_arrival_that_waits_itself_comes_behind_its_loads() -> None:
    (found,) = arrivals([load(1), load(3), other(0b1010, ARRIVE)])
    assert (found["loads"], found["under_way"]) == (2, 0)


def test_each_arrival_counts_from_the_one_before_and_announcements_are_none() -> None:
    announced = other(0, "SYNCS.ARRIVE.TRANS64 RZ, [UR17], R2")
    code = [load(1), announced, other(0, ARRIVE), load(2, text="@P0 LDSM.16.M88.4 R4, [R5]")]
    found = arrivals([*code, other(0, ARRIVE)])
    assert [(one["loads"], one["under_way"]) for one in found] == [(1, 1), (1, 1)]
