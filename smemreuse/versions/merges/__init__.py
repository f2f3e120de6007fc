"""The merges of the compilers as they are, faults included, for parity and as the plans to beat.

They are made of a version's `MergeRules`. The checker must not import this room: it makes plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from smemreuse.ir.kernel import Kernel
from smemreuse.results.provenance import PackerName, PolicyName
from smemreuse.versions import VERSIONS, version_of
from smemreuse.versions.merges.apache import ApacheMerge
from smemreuse.versions.merges.merge import Merge
from smemreuse.versions.merges.tilelang import TileLangMerge
from smemreuse.versions.version import MergeRules, Version

__all__ = ["Merge", "configured", "merge_for", "merge_of"]

_FAMILIES: Mapping[str, type[Merge]] = {"tilelang": TileLangMerge, "apache": ApacheMerge}


@cache
def _merges(rules: MergeRules) -> tuple[Merge, ...]:
    """The default merge of a version, and the one of its aggressive option, if it has that."""
    family = _FAMILIES[rules.family]
    default = family(rules.name, rules.policy, rules)
    if rules.aggressive is None:
        return (default,)
    return (default, family(f"{rules.name}, aggressive", rules.aggressive, rules))


def merge_of(kernel: Kernel) -> Merge:
    """The default merge of a kernel's compiler. Raises `PlanError` where none is known."""
    return _merges(version_of(kernel).merge)[0]


def merge_for(kernel: Kernel, policy: PolicyName, packer: PackerName) -> Merge | None:
    """The merge that a policy and a packer stand for together: the one of the kernel's own version,
    else of another compiler; None for a mixture of our own."""
    for version in (version_of(kernel), *VERSIONS.values()):
        for merge in _merges(version.merge):
            if (merge.policy, merge.packer) == (policy, packer):
                return merge
    return None


def configured(version: Version, *, aggressive: bool = False, disable_reuse: bool = False) -> Merge:
    """What a version's pass does under its options."""
    merge = _merges(version.merge)[-1 if aggressive else 0]
    return replace(merge, objective="none") if disable_reuse else merge
