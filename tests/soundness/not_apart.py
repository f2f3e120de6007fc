"""Wrong plans whose buffers look as if the order of statements kept them apart.

Of each kernel all accesses of one buffer come before all of the other's in the scope that holds
them, or seem to, and one thing is missing; the comment tells the execution that breaks it.
"""

from __future__ import annotations

from tests.checker.small import (
    ARRIVE,
    COPY_A,
    SYNC,
    USE_A,
    USE_B,
    WAIT,
    init_barrier,
    under,
)
from tests.soundness.wrong_plans import WrongPlan

_OTHERS_B = USE_B.replace("= tx\n", "= tx + 9\n", 1)
TWICE = "for k in range(2)"
_FIRST = under("if k == 0", f"As[tx] = 7\n{SYNC}")
_READ = f"{SYNC}O[tx + 64 * k] = As[63 - tx]\n{SYNC}"
_B = f"{SYNC}Bs[63 - tx] = tx + 9\n{SYNC}O[tx + 512] = Bs[tx]\n{SYNC}"
_LATE = under("if tx < 32", f"{WAIT.replace('0)', 'k % 2)')}As[tx] = k\n")
_EARLY = f"O[tx + 64 * k] = As[tx - 32]\n{ARRIVE}"
_MEET = 'T.tvm_storage_sync("shared", 1, 64)\n'
_SOME = f"As[63 - tx] = tx\n{_MEET}O[tx] = As[tx]\n{_MEET}"

NOT_APART: dict[str, WrongPlan] = {
    # As is read again when Bs has been written.
    "read again": WrongPlan(f"{USE_A}{SYNC}{_OTHERS_B}{SYNC}O[tx + 64] = As[tx]\n"),
    # Where D[0] is not positive nobody meets.
    "a barrier in one arm": WrongPlan(USE_A + under("if D[0] > 0", SYNC) + _OTHERS_B),
    "a barrier in a loop without rounds": WrongPlan(
        USE_A + under("for k in range(T.max(T.min(D[0], 2), 0))", SYNC) + _OTHERS_B
    ),
    # The second round's As comes before another thread has read the first round's Bs.
    "no barrier on the way round": WrongPlan(under(TWICE, f"{USE_A}{SYNC}{_OTHERS_B}")),
    # The second round reads As as the first left it.
    "written in the first round alone": WrongPlan(under(TWICE, _FIRST + _READ + _B)),
    "half of it written again": WrongPlan(
        under(TWICE, _FIRST + under("if tx < 32", "As[tx] = k\n") + _READ + _B)
    ),
    "written if data say so": WrongPlan(
        under(TWICE, _FIRST + under("if D[k] > 0", "As[tx] = k\n") + _READ + _B)
    ),
    "written in rounds that may not be": WrongPlan(
        under(
            TWICE,
            _FIRST + under("for i in range(T.max(T.min(D[k], 2), 0))", "As[tx] = k\n") + _READ + _B,
        )
    ),
    # Each thread of one half takes another arm than its partner, and both leave out a byte.
    "written in either arm by others": WrongPlan(
        under(
            TWICE,
            _FIRST
            + under("if D[tx] > 0", "As[tx] = k\n")
            + under("else", "As[63 - tx] = k\n")
            + _READ
            + _B,
        )
    ),
    # The second warp reads what is there from the round before, and only then lets the first write.
    "read before it is written": WrongPlan(
        init_barrier(32) + under(TWICE, _FIRST + _LATE + under("if tx >= 32", _EARLY) + _B)
    ),
    "read in one arm before it is written in the other": WrongPlan(
        init_barrier(32) + under(TWICE, _FIRST + _LATE + under("else", _EARLY) + _B)
    ),
    # In the second round another thread's As is still to come, and Bs there instead of the same As
    # from the first.
    "written again while it is read": WrongPlan(
        under(TWICE, _FIRST + "As[tx] = 7\nO[tx + 64 * k] = As[63 - tx]\n" + _B)
    ),
    "written again by one warp": WrongPlan(
        under(
            TWICE,
            _FIRST + under("if tx < 32", "As[tx] = 7\n") + "O[tx + 64 * k] = As[tx % 32]\n" + _B,
        )
    ),
    # The other warps write Bs while the first two are at As.
    "a barrier of some": WrongPlan(under("if tx < 64", _SOME) + "Bs[127 - tx] = 9\n", threads=128),
    # The copies are in the last group, for which nobody waits; or in one that is not closed.
    "a group that is kept": WrongPlan(
        f"{COPY_A}T.ptx_commit_group()\nT.ptx_wait_group(1)\n{SYNC}{_OTHERS_B}"
    ),
    "a group that is not closed": WrongPlan(
        f"{COPY_A}T.ptx_wait_group(0)\n{SYNC}{_OTHERS_B}T.ptx_commit_group()\n"
    ),
    "closed in one arm": WrongPlan(
        COPY_A
        + under("if D[0] > 0", "T.ptx_commit_group()\n")
        + f"T.ptx_wait_group(0)\n{SYNC}{_OTHERS_B}"
    ),
}
"""The buffers As and Bs begin at the same byte."""
