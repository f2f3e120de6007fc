"""One kernel under several merges, and what is found out about each."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scripts.harness import (
    BYTES,
    SIDE_BY_SIDE,
    TILELANG,
    Judged,
    Merge,
    ratio,
    same_bits,
)
from scripts.nvcc import resources, watched
from scripts.results import first_line

SPEED_OBJECTIVE = "speed"
DEFAULT = TILELANG.name
AGAIN = f"{DEFAULT}, again"
"""The default's kernel timed twice, which tells how much is noise."""


def merges(speed: str = SPEED_OBJECTIVE) -> tuple[Merge, ...]:
    """The ways to lay out shared memory that are held against each other."""
    return (
        SIDE_BY_SIDE,
        TILELANG,
        BYTES,
        Merge("smemreuse speed", policy="dataflow", objective=speed),
    )


@dataclass
class Variant(Judged):
    """A kernel as one merge makes it; sizes in bytes, times in milliseconds.

    `frame` is what each thread has of local memory, spilled registers included.
    `differing` counts, for each output by its argument's index, the launches that gave other bits
    than the variant's first one on the same inputs. `bitwise_equal` is about the outputs in which
    no variant differs from itself, and None where there is none or nothing to compare with.
    """

    dynamic_bytes: int | None = None
    block_bytes: int | None = None
    threads: int | None = None
    registers: int | None = None
    frame: int | None = None
    resident: int | None = None
    carveout: int | None = None
    barriers: int | None = None
    verdict: str | None = None
    left: bool = False
    differing: dict[int, int] = field(default_factory=dict)
    rounds_ms: list[float] = field(default_factory=list)

    def note_bits(self, outputs: Mapping[int, Any], first: Mapping[int, Any]) -> None:
        """Counts the outputs that have other bits than the variant's first ones."""
        for index, output in outputs.items():
            self.differing.setdefault(index, 0)
            self.differing[index] += not same_bits(output, first[index])

    @property
    def runs(self) -> bool:
        return self.kernel is not None and self.launch_error is None

    def as_data(self, default: Variant | None, names: Sequence[str]) -> dict[str, Any]:
        """All but the kernel; with the median time, and what it is of the default's, in turns.

        `differing` by the names of arguments.
        """
        data = {key: value for key, value in vars(self).items() if key != "kernel"}
        data["differing"] = {names[index]: count for index, count in self.differing.items()}
        data["median_ms"] = statistics.median(self.rounds_ms) if self.rounds_ms else None
        if default is not None and self.rounds_ms and default.rounds_ms:
            data["of_default"] = ratio(self.rounds_ms, default.rounds_ms)
        return data


def compile_variant(func: Any, merge: Merge, pass_configs: dict[str, object], arch: str) -> Variant:
    """Compiles a kernel under a merge; what goes wrong is written down."""
    import tilelang

    variant = Variant(merge.name)
    options = {**pass_configs, **merge.pass_configs}
    with watched() as nvcc, merge.active() as session:
        try:
            variant.kernel = tilelang.compile(
                func, target={"kind": "cuda", "arch": arch}, pass_configs=options
            )
        except Exception as error:  # a compiler's failure is a finding
            variant.compile_error = first_line(error)
            return variant
    if session is not None:
        variant.verdict = ", ".join(applied.verdict.verdict for applied in session.plans)
        variant.left = bool(session.left)
    variant.registers, variant.frame = resources(nvcc.binary) or (None, None)
    variant.barriers = variant.kernel.get_kernel_source().count("__syncthreads()")
    _measure_memory(variant, arch)
    return variant


def _measure_memory(variant: Variant, arch: str) -> None:
    from smemreuse.targets.architectures import architecture, threads_of
    from smemreuse.targets.blocks import block_memory
    from smemreuse.tilelang import read_module

    (kernel,) = read_module(variant.kernel.artifact.device_mod)
    memory = block_memory(kernel, [])
    variant.dynamic_bytes, variant.block_bytes = memory.dynamic, memory.total
    variant.threads = threads_of(kernel)
    if memory.total is None or variant.threads is None:
        return
    card, asked = architecture(arch), (memory.total, variant.threads, variant.registers)
    variant.resident = card.resident_blocks(*asked)
    variant.carveout = card.carveout(*asked) if variant.resident else None


def timed(variants: Sequence[Variant]) -> list[Variant]:
    """Those that are timed, with the default's kernel a second time."""
    running = [one for one in variants if one.runs]
    again = [Variant(AGAIN, kernel=one.kernel) for one in running if one.merge == DEFAULT]
    return [*running, *again]
