"""Shared-memory reuse for GPU kernels: as tight as can be proved, never wrong, explained.

    import smemreuse

    (kernel,) = smemreuse.read("kernel.tir")         # a dump, as `print(mod.script())` writes it
    plan = smemreuse.plan(kernel)                    # where each shared buffer lies
    assert smemreuse.check(kernel, plan).sound       # the checker's verdict on it
    print(smemreuse.explain(kernel, "As", "Cs"))     # why two buffers may share bytes, or not
    assert smemreuse.lint(kernel).clean              # the hazards of the kernel itself

Whatever is wrong with what was given is a `SmemReuseError`, whose text is one line: `InputError` a
file or a name that cannot be used, `PlanError` a plan that cannot be made, `BackendError` a missing
program or compiler. Sizes, offsets and alignments are bytes.

`smemreuse.tilelang` and `smemreuse.tvm` put the plans into those compilers' own lowerings. Names
are imported when they are first used, so that this package costs nothing to import. Pytest leaves
its source as it is, for under `smemreuse run -m pytest` it comes first (PYTEST_DONT_REWRITE).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemreuse._version import __version__
from smemreuse.errors import BackendError, InputError, PlanError, SmemReuseError

if TYPE_CHECKING:
    from smemreuse.api.functions import check, explain, headroom, lint
    from smemreuse.api.objects import Kernel, Plan, plan, read
    from smemreuse.results.explanation import Explanation
    from smemreuse.results.hazards import Hazard, HazardKind, LintReport
    from smemreuse.results.headroom import Headroom
    from smemreuse.results.rules import Rule
    from smemreuse.results.verdict import Verdict

__all__ = [
    "BackendError",
    "Explanation",
    "Hazard",
    "HazardKind",
    "Headroom",
    "InputError",
    "Kernel",
    "LintReport",
    "Plan",
    "PlanError",
    "Rule",
    "SmemReuseError",
    "Verdict",
    "__version__",
    "check",
    "explain",
    "headroom",
    "lint",
    "plan",
    "read",
]

_HOMES = {
    **dict.fromkeys(("check", "explain", "headroom", "lint"), "api.functions"),
    "Explanation": "results.explanation",
    **dict.fromkeys(("Hazard", "HazardKind", "LintReport"), "results.hazards"),
    **dict.fromkeys(("Kernel", "Plan", "plan", "read"), "api.objects"),
    "Headroom": "results.headroom",
    "Rule": "results.rules",
    "Verdict": "results.verdict",
}
"""The modules that the names come from."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Imports a name when it is first asked for (PEP 562)."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
