"""What a plan is made with: its options, by the names that the command line and the passes use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar, get_args

from smemreuse.errors import PlanError
from smemreuse.planner import PACKERS
from smemreuse.plugins import ensure
from smemreuse.plugins.registered import names_of
from smemreuse.policies.attribution import POLICIES
from smemreuse.results.provenance import ObjectiveName, PackerName, PolicyName

POLICY_NAMES: tuple[PolicyName, ...] = ("outer", "inner", "dataflow")
"""Attribution rules, and the proved combination of them, which is the default."""

OBJECTIVES: tuple[ObjectiveName, ...] = get_args(ObjectiveName)
OBJECTIVE_ALIASES: Mapping[str, ObjectiveName] = {"occupancy": "speed"}
"""Other names that objectives have had."""

N = TypeVar("N", bound=str)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options of a plan; `strict` shares only what is proved."""

    policy: PolicyName
    packer: PackerName
    objective: ObjectiveName
    strict: bool = False


def checked_options(
    policy: str, packer: str, objective: str, *, strict: bool = False
) -> PlanOptions:
    """The options with these names; raises `PlanError` for a name that does not exist."""
    return PlanOptions(
        known("policy", policy, policy_names()),
        known("packer", packer, packer_names()),
        known("objective", OBJECTIVE_ALIASES.get(objective, objective), OBJECTIVES),
        strict,
    )


def policy_names() -> tuple[PolicyName, ...]:
    """All that there are, those of users last."""
    ensure()
    return (*POLICY_NAMES, *names_of(POLICIES, "policy"))


def packer_names() -> tuple[PackerName, ...]:
    """All that there are, those of users last."""
    ensure()
    return tuple(PACKERS)


def known(what: str, name: str, choices: tuple[N, ...]) -> N:
    """The choice of this name. Raises `PlanError` where there is none."""
    for choice in choices:
        if choice == name:
            return choice
    raise PlanError(f"unknown {what} {name!r}; choose one of {', '.join(choices)}")
