"""Takes a kernel and any plan, and says whether the plan is sound. Shares nothing with planning.

Two independent parts: `static` looks at the plan alone, `trace` executes the kernel under it.
"""

from smemreuse.checker.check import check_plan
from smemreuse.checker.setting import remember_from
from smemreuse.checker.traces import ONLY_GLANCED
from smemreuse.checker.work import share_work, work_of

__all__ = ["ONLY_GLANCED", "check_plan", "remember_from", "share_work", "work_of"]
