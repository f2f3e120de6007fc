"""smemreuse inside TileLang: `with smemreuse.tilelang.merge(): ...` around any compilation.

`footprint` and `fits` say what kernels need of shared memory without compiling them.

Needs TileLang, which the extra `tilelang` brings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import ClassVar

from smemreuse.compilers.active import confined
from smemreuse.compilers.tilelang.advice import advise
from smemreuse.compilers.tilelang.configs import FailedConfig, FittingConfigs, SizedConfig, fits
from smemreuse.compilers.tilelang.estimate import FunctionFootprint as Footprint
from smemreuse.compilers.tilelang.estimate import footprint
from smemreuse.compilers.tilelang.hooks import install
from smemreuse.compilers.tilelang.levers.passes import install_levers
from smemreuse.compilers.tilelang.passes_once import lowered_once
from smemreuse.compilers.tilelang.session import LeverRequest, TileLangLog, TileLangSession
from smemreuse.compilers.tilelang.visitor import read_function, read_module
from smemreuse.errors import PlanError
from smemreuse.pipeline.fallback import LeftToStock
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel
from smemreuse.pipeline.options import OBJECTIVE_ALIASES, checked_options
from smemreuse.results.ranking import Ranking
from smemreuse.sessions import SessionReports
from smemreuse.targets.architectures import architecture

__all__ = [
    "AppliedPlan",
    "FailedConfig",
    "FittingConfigs",
    "Footprint",
    "LeftToStock",
    "LoweredKernel",
    "Ranking",
    "Session",
    "SizedConfig",
    "advise",
    "fits",
    "footprint",
    "merge",
    "read_function",
    "read_module",
]


@dataclass(repr=False, eq=False)
class Session(SessionReports, TileLangLog, TileLangSession):
    """One `with merge(...)`: its plans and kernels, and what is reported of them.

    - `explain()`: the table of `smemreuse run` and its lines, as text; `explain("gemm_kernel")` for
      one kernel, `explain("gemm_kernel", "As", "Cs")` for two of its buffers.
    - `report("page.html")`: the page of memory maps, which is also returned; `force=True`
      overwrites a file.
    - `kernels`, `plans`: what was lowered, and what was applied to it.
    - `left`: the functions on which our merge failed, with a warning; TileLang's own merged them.
    - `mendings`: what came of each kernel, merged or not, under `merge(mend=True)`.
    - `trimmings`: what came of each kernel, merged or not, under `merge(trim=True)`.
    - `fittings`: what came of each function under `merge(objective="fit")`.
    - `speedups`: what came of each function under `merge(levers=True)`.
    - `reloaded`: the names of functions that came out of TileLang's cache on disk. These were not
      lowered, and have no plan here.
    """

    compiles: ClassVar[bool] = True

    @property
    def _notes(self) -> Sequence[str]:
        """What levers were pulled in each function, or why none was."""
        fitted = [one.sentence for one in self.fittings]
        return [*fitted, *(one.sentence for one in self.speedups)]


@contextmanager
def merge(
    policy: str = "dataflow",
    *,
    packer: str = "best",
    objective: str = "speed",
    strict: bool = False,
    unchecked: bool = False,
    mend: bool = False,
    trim: bool = False,
    levers: bool = False,
    limit: int | None = None,
    arch: str | None = None,
) -> Iterator[Session]:
    """Plans shared memory with smemreuse in every TileLang compilation inside the `with`.

    Works for `tilelang.compile`, `par_compile`, `@tilelang.jit`, `tilelang.lower` and the
    autotuner, in this thread and in those that it starts, TileLang's workers among them, or hands
    work to by a `ThreadPoolExecutor`. Other threads have sessions of their own, or none. Kernels
    already compiled, and TileLang's caches of them, stay separate. The yielded session lists the
    plans.

    Each plan is checked on the IR that TileLang's later passes have put barriers into. Buffers
    whose sharing does not hold there no longer share, and the plan is made anew. Where TileLang's
    own layout is smaller than all that is proved, and not refuted, it stays as TileLang makes it;
    `strict=True` shares nothing that is not proved. `unchecked=True` applies the policy's plan
    whatever the checker says, to see what it would do; policies `inner` and `outer` give wrong
    results on some kernels that way.

    With `mend=True` kernels that have hazards of their own, whatever is merged in them, get what
    fixes those, if barriers, waits and proxy fences can: the least that makes a kernel clean. It is
    put in after TileLang's own barriers and fences, and found by linting the kernel that has it.
    The session says in `mendings` what was put in, where and why, and what could not be fixed.

    With `trim=True` barriers of the block and proxy fences go whose absence is proved to be
    harmless: each is taken out by itself, and stays out if lint then proves the kernel clean, and
    assumes nothing, and the plans hold without it. That is asked of kernels that are clean as they
    are (or are fixed), and hand nothing on by global memory. `trimmings` says what went.

    With `objective="fit"` a function whose kernels do not fit into `limit` bytes for each block (of
    `arch`, such as "sm_120"; by default of the GPU that it is lowered for) is changed until they
    do: its loops get fewer stages, loads are put off to where their tile is used, and tiles that
    only pass through shared memory are stored from registers. The cheapest of what fits is taken in
    which `lint` finds no more than before. Each change is proved to be reads-from equivalent, so
    that results are the same bit for bit; what is not proved is not done. The session's `fittings`
    say what was done, with the bytes after each change, and what was refused. A function that fits
    stays as it is, and is planned for speed.

    With `levers=True`, objective "speed", the loops of a function get fewer stages where that holds
    one more block on an SM, or leaves more L1, and the model of `advise` says a gain of 1.06 times
    or more. Each change is proved, and `lint` finds no more, as above. The session's `speedups` say
    what was done and what it should gain, or why nothing was.

    A function that smemreuse fails on is merged by TileLang's own pass, with a warning; the session
    lists it in `left`. Raises `PlanError` for an unknown policy, packer, objective or architecture,
    for a limit without objective "fit", and for levers with another one than "speed".
    """
    wanted = _lever_request(objective, levers, limit, arch)
    planned_for = "speed" if objective == "fit" else objective
    options = checked_options(policy, packer, planned_for, strict=strict)
    install()
    if wanted is not None:
        install_levers()
    session = Session.of(options, unchecked=unchecked)
    session.mend, session.trim, session.levers = mend, trim, wanted
    with confined(session), lowered_once() if wanted else nullcontext():
        yield session


def _lever_request(
    objective: str, levers: bool, limit: int | None, arch: str | None
) -> LeverRequest | None:
    """What levers are pulled for; None where none are."""
    if levers and OBJECTIVE_ALIASES.get(objective, objective) != "speed":
        raise PlanError(f'levers=True goes with objective "speed", not {objective!r}')
    if objective != "fit":
        if limit is not None or arch is not None:
            raise PlanError(f'a limit or an arch goes with objective "fit", not {objective!r}')
        return LeverRequest(for_speed=True) if levers else None
    if limit is not None and limit <= 0:
        raise PlanError(f"a limit is a number of bytes above 0, not {limit}")
    return LeverRequest(limit if arch is None or limit else architecture(arch).per_block)
