"""The kernels of a run on a page: each has a row, and the most telling ones have a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smemreuse.report.data import Data, gap_of
from smemreuse.report.page.rows import overview_row
from smemreuse.results.carried import CarriedPlan, ScopePlans, Taken
from smemreuse.results.suite import SuiteKernel
from smemreuse.results.verdict import SOUND
from smemreuse.targets.architectures import DEFAULT_ARCH

ORDER = "those first whose merges are not all proved, then by bytes changed, then by bytes taken"


def page_title(name: str, scope: str) -> str:
    """What one scope of a kernel is called on a page; `name` tells the kernel from all others."""
    return f"{name} ({scope})"


def most_telling(kernels: Sequence[tuple[str, SuiteKernel]]) -> list[tuple[str, SuiteKernel]]:
    """In `ORDER`; those that have nothing to merge come last."""
    return sorted(kernels, key=lambda each: _rank(each[1]))


def _rank(kernel: SuiteKernel) -> tuple[bool, bool, int, int]:
    judged = [each for each in (kernel.compiler, kernel.ours) if each is not None]
    doubted = any(each.verdict is not SOUND for each in judged)
    return not judged, not doubted, -abs(kernel.gained), -(kernel.footprint.bytes_before or 0)


def lowered_words(kernel: SuiteKernel) -> str:
    """How often a kernel was lowered, and by how many processes."""
    if kernel.lowered == 1:
        return "lowered once"
    times, processes = kernel.lowered, len(kernel.processes)
    return f"lowered {times:,} times" + (f" by {processes:,} processes" if processes > 1 else "")


def suite_row(file: str, name: str, kernel: SuiteKernel, found: ScopePlans) -> Data:
    """As `overview_row`, of what a process has told of its kernel: it needs no dump."""
    last = found.last
    return overview_row(
        {
            "file": file,
            "before": found.before,
            "buffers": [{"name": one.name} for one in last.buffers],
            "arch": {
                "name": kernel.footprint.arch or DEFAULT_ARCH,
                "assumed": kernel.footprint.arch is None,
            },
            "side_by_side": {"bytes": last.apart.bytes, **_taken(last.apart)},
            "policies": {name: _plan(one) for name, one in found.plans.items()},
        },
        page_title(name, found.scope),
    )


def _plan(found: CarriedPlan) -> Mapping[str, object]:
    return {
        "arena_bytes": found.arena.bytes,
        "lower_bound_bytes": found.lower_bound_bytes,
        "gap": gap_of(found.arena.bytes, found.lower_bound_bytes),
        "verdict": found.verdict.verdict.value,
        **_taken(found.arena),
    }


def _taken(found: Taken) -> Mapping[str, object]:
    symbolic = {} if found.text is None else {"arena": found.text}
    return {**symbolic, "blocks": found.blocks, "fits": found.fits}
