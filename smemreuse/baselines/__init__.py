"""The merges of today's compilers, as they are, faults included: one file for each version.

A new version of a compiler is a file here with its `Baseline`: what its pass takes for live, how it
aligns and packs, and on what it fails. The objects are listed below: the default one of a compiler
under the key by which `Dialect.baseline` names it, and each under the policy and packer that stand
for it on the command line. Parity tests hold them against the passes themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

from smemreuse.baselines import apache_tvm_0_27, tilelang_0_1_15
from smemreuse.baselines.baseline import Baseline
from smemreuse.errors import PlanError
from smemreuse.ir.kernel import Kernel
from smemreuse.results.provenance import PackerName, PolicyName

__all__ = ["BASELINES", "Baseline", "baseline_for", "baseline_of"]

BASELINES: Mapping[str, Baseline] = {
    "tilelang-0.1.15": tilelang_0_1_15.DEFAULT,
    "apache-tvm-0.27": apache_tvm_0_27.DEFAULT,
}
"""What each compiler does by default."""

_BY_OPTIONS: Mapping[tuple[PolicyName, PackerName], Baseline] = {
    (one.policy, one.packer): one
    for one in (tilelang_0_1_15.DEFAULT, tilelang_0_1_15.AGGRESSIVE, apache_tvm_0_27.DEFAULT)
}


def baseline_of(kernel: Kernel) -> Baseline:
    """The default merge of a kernel's compiler. Raises `PlanError` where none is known."""
    found = BASELINES.get(kernel.dialect.baseline)
    if found is None:
        raise PlanError(f"nothing is known of the merge {kernel.dialect.baseline!r}")
    return found


def baseline_for(policy: PolicyName, packer: PackerName) -> Baseline | None:
    """The merge that a policy and a packer reproduce together; None for a mixture of our own."""
    return _BY_OPTIONS.get((policy, packer))
