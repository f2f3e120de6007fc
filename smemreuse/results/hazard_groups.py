"""Hazards of one cause together: what is told once, and fixed or refuted at one place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from smemreuse.results.findings import fingerprint_of
from smemreuse.results.hazards import Contention, Hazard, HazardKind, HazardOrigin
from smemreuse.results.sites import Site
from smemreuse.results.undecided import UndecidedKind

_CALL = re.compile(r"[A-Za-z_][\w.:]*(?=\()")
_BRANCH = re.compile(r"(?:if|for|while)\b")
_COPY = re.compile(r"(?<=\w)_\d+\b")
_NUMBER = re.compile(r"\d+")

Told = TypeVar("Told")


@dataclass(frozen=True)
class HazardCause:
    """What hazards of one kernel have in common where they have one cause.

    Certain ones are the same mistake under one `condition`. Of possible ones the same is not known:
    a branch or loop of one `form`, or how one operation accesses memory.
    """

    kind: HazardKind
    certain: bool
    origin: HazardOrigin
    mechanism: str
    condition: tuple[str, ...]
    contention: Contention | None
    undecided: UndecidedKind | None
    form: str

    @classmethod
    def of(cls, hazard: Hazard) -> HazardCause:
        open_ = hazard.undecided
        return cls(
            hazard.kind,
            hazard.certain,
            hazard.origin,
            hazard.mechanism if hazard.certain or open_ is None else "",
            (*hazard.if_long, *map(str, hazard.if_given)),
            hazard.contention,
            None if open_ is None else open_.kind,
            "" if open_ is None else _form(open_.kind, open_.site),
        )

    def identity(self, kernel: str) -> str:
        """What names the group of one kernel in JSON; the same whatever the lines are."""
        parts = (self.kind, self.certain, self.origin, self.mechanism, self.condition)
        more = (self.contention and self.contention.name, self.undecided, self.form)
        return fingerprint_of(kernel, *map(str, (*parts, *more)))


def by_cause(hazards: Iterable[tuple[Hazard, Told]]) -> list[list[tuple[Hazard, Told]]]:
    """Hazards of one kernel, each with what else is known of it, by their cause; in the order of
    the first of each cause."""
    groups: dict[HazardCause, list[tuple[Hazard, Told]]] = {}
    for one in hazards:
        groups.setdefault(HazardCause.of(one[0]), []).append(one)
    return [*groups.values()]


def _form(kind: UndecidedKind, site: Site) -> str:
    """The operation that accesses memory; else the statement without numbers, as compilers number
    the copies that they make of one branch."""
    if kind is UndecidedKind.ACCESS:
        return operation_of(site)
    return _NUMBER.sub("#", _COPY.sub("", site.statement))


def shape_of(hazard: Hazard) -> str:
    """What its statements are, without names and numbers: `tma_load` after a store."""
    here = operation_of(hazard.site)
    if hazard.other is None:
        return f"at {here}"
    return f"at {here} after {operation_of(hazard.other)}"


def operation_of(site: Site) -> str:
    """The operation that a statement is, or that it is a branch or a store."""
    if _BRANCH.match(site.statement):
        return "a branch"
    call = _CALL.match(site.statement)
    return f"`{call[0]}`" if call else "a store"
