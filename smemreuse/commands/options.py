"""Options that several verbs share."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import click

from smemreuse.audit import BarrierStage
from smemreuse.commands.verb import Decorator, grouped
from smemreuse.pipeline.options import (
    OBJECTIVE_ALIASES,
    OBJECTIVES,
    PlanOptions,
    checked_options,
    packer_names,
    policy_names,
)
from smemreuse.targets.architectures import DEFAULT_ARCH, Architecture, architecture

barriers_option = click.option(
    "--barriers",
    type=click.Choice([each.value for each in BarrierStage]),
    default=BarrierStage.AUTO.value,
    show_default=True,
    help="Whether FILE has its barriers (`present`) or a later pass inserts them (`later`); `auto` "
    "looks for them.",
)
policy_option = click.option(
    "--policy",
    type=click.Choice(policy_names()),
    default="dataflow",
    show_default=True,
    help="`dataflow` is proved sound; `outer` and `inner` are the rules that compilers use.",
)
packer_option = click.option(
    "--packer",
    type=click.Choice(packer_names()),
    default="best",
    show_default=True,
    help="`best` finds the smallest arena that it can. `tilelang` and `tvm` pack as the passes of "
    "those compilers do; `outer` with `tvm` is Apache TVM's merge with its faults.",
)


objective_option = click.option(
    "--objective",
    type=click.Choice([*OBJECTIVES, *OBJECTIVE_ALIASES]),
    default="speed",
    show_default=True,
    help="`speed` (also called `occupancy`): the most resident blocks, then the most L1, then the "
    "least sharing, as the passes plan. `bytes`: the smallest arena. `none`: no sharing, all side "
    "by side.",
)

strict_option = click.option(
    "--strict",
    is_flag=True,
    help="Share nothing that is not proved, not even what the compiler itself shares.",
)
MEND_NAMES = ("--fix", "--mend", "mend")
"""One option by two names, and its parameter."""

mend_option = click.option(
    *MEND_NAMES,
    is_flag=True,
    help="Insert the fences, waits and barriers that the hazards which `lint` finds ask for.",
)


def _arch_option(default: str) -> Decorator:
    return click.option(
        "--arch",
        callback=lambda _context, _parameter, name: architecture(name) if name else None,
        metavar="SM",
        help=f"The GPU to plan for, such as sm_90; default: {default}.",
    )


arch_option = _arch_option("the kernel's target")
worksheet_arch_option = _arch_option(f"SCRIPT's own target; without a script {DEFAULT_ARCH}")


@dataclass(frozen=True)
class Planning:
    """What plans are made with: the names of options, and the GPU."""

    packer: str
    objective: str
    arch: Architecture | None
    policy: str = "dataflow"
    strict: bool = False

    @property
    def options(self) -> PlanOptions:
        return checked_options(self.policy, self.packer, self.objective, strict=self.strict)

    def words(self, *names: str) -> tuple[str, ...]:
        """Those of the options that are not the defaults, as another verb takes them; `names` are
        those that it has."""
        given = {
            "policy": self.policy if self.policy != "dataflow" else None,
            "packer": self.packer if self.packer != "best" else None,
            "objective": self.objective if self.objective != "speed" else None,
            "arch": None if self.arch is None else self.arch.name,
        }
        valued = [(f"--{name}", value) for name in names if (value := given.get(name)) is not None]
        strict = ("--strict",) if self.strict and "strict" in names else ()
        return (*chain.from_iterable(valued), *strict)

    @property
    def named(self) -> dict[str, str | None]:
        """What a plan's bytes depend on, by the names of options; the policy is told by itself."""
        arch = None if self.arch is None else self.arch.name
        return {"packer": self.packer, "objective": self.options.objective, "arch": arch}


def planning_options(*, policy: bool = True, strict: bool = False) -> Decorator:
    """What plans are made with, as `planning`; without `policy` those of every policy."""
    shared = (packer_option, objective_option, arch_option)
    before, behind = [policy_option] * policy, [strict_option] * strict
    return grouped("planning", Planning, *before, *shared, *behind)
