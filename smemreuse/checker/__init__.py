"""Takes a kernel and any plan, and says whether the plan is sound. Shares nothing with planning.

Two independent parts: `static` looks at the plan alone, `trace` executes the kernel under it.
"""

from smemreuse.checker.budget import share_work, work_of
from smemreuse.checker.execution.setting import remember_from
from smemreuse.checker.execution.traces import CHECK_WAS_BOUNDED
from smemreuse.checker.separation import waits_of
from smemreuse.checker.verdict.check import check_plan

__all__ = [
    "CHECK_WAS_BOUNDED",
    "check_plan",
    "remember_from",
    "share_work",
    "waits_of",
    "work_of",
]
