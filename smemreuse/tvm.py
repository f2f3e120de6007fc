"""smemreuse inside Apache TVM: a pass, and a pipeline `tvm.compile(..., tir_pipeline="smemreuse")`.

Needs Apache TVM, which the extra `tvm` brings. Importing this registers the pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from smemreuse.compilers.active import confined
from smemreuse.compilers.outcomes import FunctionOutcome, Outcome
from smemreuse.compilers.tvm.hooks import PIPELINE, install, register
from smemreuse.compilers.tvm.session import TvmSession
from smemreuse.compilers.tvm.visitor import read_function, read_module
from smemreuse.pipeline.fallback import LeftToStock
from smemreuse.pipeline.lowered import AppliedPlan
from smemreuse.pipeline.options import checked_options
from smemreuse.sessions import SessionReports

__all__ = [
    "PIPELINE",
    "AppliedPlan",
    "FunctionOutcome",
    "LeftToStock",
    "MergeSharedMemoryAllocations",
    "Outcome",
    "Session",
    "merge",
    "read_function",
    "read_module",
]

register()


@dataclass(repr=False, eq=False)
class Session(SessionReports, TvmSession):
    """One `with merge(...)`: its plans and kernels, and what is reported of them.

    - `explain()`: the table of `smemreuse run` and its lines, as text; `explain("gemm_kernel")` for
      one kernel, `explain("gemm_kernel", "As", "Cs")` for two of its buffers.
    - `report("page.html")`: the page of memory maps, which is also returned; `force=True`
      overwrites a file.
    - `kernels`, `plans`: what was lowered, and what was applied to it.
    - `left`: the functions with volatile buffers and, with a warning, those on which ours failed.
    """


def MergeSharedMemoryAllocations(
    policy: str = "dataflow", *, packer: str = "best", objective: str = "speed"
) -> Any:
    """The pass that takes the place of `s_tir.transform.MergeSharedMemoryAllocations`.

    For a place after `ThreadSync` and before `SplitHostDevice`. It brings the barriers that its
    plans need, and is checked on the IR that it returns; where no tighter plan holds, buffers lie
    side by side. Raises `PlanError` for an unknown policy, packer or objective.
    """
    return Session.of(checked_options(policy, packer, objective)).lowering_pass()


@contextmanager
def merge(
    policy: str = "dataflow",
    *,
    packer: str = "best",
    objective: str = "speed",
    unchecked: bool = False,
) -> Iterator[Session]:
    """Plans shared memory with smemreuse in what this thread compiles with TVM's pipelines.

    The yielded session lists the plans, and in `functions` what became of each function that it
    looked at: merged, nothing to gain, nothing to merge, or left. `unchecked=True` applies the
    policy's plan whatever the checker says, to see what it would do. A function that smemreuse
    fails on is merged by TVM's own pass, with a warning; the session lists it in `left`. Raises
    `PlanError` as the pass does.
    """
    options = checked_options(policy, packer, objective)
    session = Session.of(options, unchecked=unchecked)
    install()
    with confined(session):
        yield session
