"""What each version of a compiler does with shared memory: one module and one object for each.

A new version is a module with its `Version`, and an entry of `VERSIONS`. What its passes do
differently is a field of a part (`thread_sync`, `fence_pass`, `register_pass`, `merges`); where no
field says it yet, the part gets one. The rooms above ask `version_of` and know no version.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from smemreuse.errors import PlanError
from smemreuse.ir.kernel import UNSTATED, Kernel
from smemreuse.versions import (
    apache_tvm_0_27,
    tilelang_0_1_9,
    tilelang_0_1_10,
    tilelang_0_1_11,
    tilelang_0_1_12,
    tilelang_0_1_13,
    tilelang_0_1_14,
    tilelang_0_1_15,
)
from smemreuse.versions.version import Version

__all__ = ["APACHE_TVM", "LEGACY", "TILELANG", "VERSIONS", "Version", "installed", "version_of"]

TILELANG = tilelang_0_1_15.VERSION.key
APACHE_TVM = apache_tvm_0_27.VERSION.key
"""A dump says which compiler wrote it and not which version: it is taken for the newest."""

LEGACY = "legacy"
"""TVM before 2026. Old dumps do not say whether TileLang or TVM wrote them; what is declared in
CUDA and the compiler's own merge are counted as TileLang's, which take more."""

VERSIONS: dict[str, Version] = {
    one.key: one
    for one in (
        tilelang_0_1_15.VERSION,
        tilelang_0_1_14.VERSION,
        tilelang_0_1_13.VERSION,
        tilelang_0_1_12.VERSION,
        tilelang_0_1_11.VERSION,
        tilelang_0_1_10.VERSION,
        tilelang_0_1_9.VERSION,
        apache_tvm_0_27.VERSION,
        replace(
            tilelang_0_1_15.VERSION,
            key=LEGACY,
            dialect="legacy",
            synchronizes_later=False,
            waits_for_uncommitted=False,
        ),
        # A kernel that no reader made is taken to be TileLang's, but for what asks for less.
        replace(
            tilelang_0_1_15.VERSION, key=UNSTATED, dialect="unstated", waits_for_uncommitted=False
        ),
    )
}
"""The versions by the keys that kernels carry."""


def version_of(kernel: Kernel) -> Version:
    """The compiler version of a kernel. Raises `PlanError` if not even the compiler is known."""
    found = VERSIONS.get(kernel.version) or _unknown(kernel.version)
    if found is None:
        raise PlanError(f"nothing is known of the compiler version {kernel.version!r}")
    return found


def installed(newest: str, number: str) -> Version:
    """The version of an installed compiler by its number; where there is none of that number, what
    is made of the newest known one, which is given by its key."""
    compiler, released = newest.rpartition("-")[0], number.partition("+")[0]
    key = f"{compiler}-{released}"
    known = (one for known, one in VERSIONS.items() if f"{key}.".startswith(f"{known}."))
    found = next(known, None) or _unknown(key)
    assert found is not None, newest
    return found


@cache
def _unknown(key: str) -> Version | None:
    """A version that is not known, of a compiler that is."""
    for newest in (VERSIONS[TILELANG], VERSIONS[APACHE_TVM]):
        compiler = newest.key.rpartition("-")[0]
        if key.startswith(f"{compiler}-"):
            name = f"{newest.name.rpartition(' ')[0]} {key.removeprefix(f'{compiler}-')}"
            merge = replace(newest.merge, name=name)
            return replace(newest, key=key, name=name, merge=merge, is_known=False)
    return None
