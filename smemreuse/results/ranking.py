"""Configurations of a kernel in the order in which they are worth trying, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, overload

from smemreuse.errors import PlanError

Config: TypeAlias = "Mapping[str, Any] | tuple[Any, ...]"
"""Keyword arguments of one configuration, or positional ones."""


@dataclass(frozen=True)
class KernelEstimate:
    """What is predicted of one kernel. Times in seconds, `terms` by name."""

    name: str
    seconds: float
    blocks: int
    blocks_per_sm: int
    waves: float
    registers: int
    spilled: int
    shared_bytes: int
    flops: float
    dram_bytes: float
    l2_bytes: float
    terms: Mapping[str, float]
    assumed: tuple[str, ...]

    @property
    def bound_by(self) -> str:
        """The largest of the terms."""
        return max(self.terms, key=lambda name: self.terms[name])

    @property
    def intensity(self) -> float:
        """Flops of tensor cores for each byte from DRAM."""
        return self.flops / self.dram_bytes if self.dram_bytes else 0.0


UNCALIBRATED = "uncalibrated: no rank correlation of this family has been measured"


@dataclass(frozen=True)
class Ranked:
    """A configuration that launches, one estimate for each kernel, and how it comes to fit.

    `by_reuse`: only because buffers share bytes; `by_us`: not as the compiler merges them.
    `measured` are the seconds that a run took, where there was one.
    """

    config: Config
    kernels: tuple[KernelEstimate, ...]
    by_reuse: bool
    by_us: bool
    measured: float | None = None

    @property
    def seconds(self) -> float:
        """What is predicted, of all kernels one after the other."""
        return sum(one.seconds for one in self.kernels)


@dataclass(frozen=True)
class TooLarge:
    """A configuration whose blocks need more shared memory than there is, in bytes."""

    config: Config
    bytes: int
    limit: int


@dataclass(frozen=True)
class Failed:
    """A configuration that cannot be lowered, with the compiler's error."""

    config: Config
    error: str


@dataclass(frozen=True)
class Ranking(Sequence[Config]):
    """The first `top` configurations, as a sequence; `ranked` has all that launch, best first.

    `label` says how far the order is to be believed.
    """

    ranked: tuple[Ranked, ...]
    too_large: tuple[TooLarge, ...]
    failed: tuple[Failed, ...]
    top: int
    card: str
    label: str = UNCALIBRATED

    @overload
    def __getitem__(self, index: int) -> Config: ...

    @overload
    def __getitem__(self, index: slice) -> list[Config]: ...

    def __getitem__(self, index: int | slice) -> Config | list[Config]:
        return [one.config for one in self.ranked[: self.top]][index]

    def __len__(self) -> int:
        return min(self.top, len(self.ranked))

    def __repr__(self) -> str:
        counts = f"{len(self.ranked)} launch, {len(self.too_large)} too large"
        return f"Ranking({counts}, {len(self.failed)} not lowered; for {self.card})"

    def find(self, config: Config) -> Ranked | TooLarge | Failed:
        """What is known of a configuration. Raises `PlanError` for one that was not asked about."""
        known: list[Ranked | TooLarge | Failed] = [*self.ranked, *self.too_large, *self.failed]
        for one in known:
            if one.config == config:
                return one
        raise PlanError(f"no such configuration was asked about: {config!r}")

    def explain(self, config: Config) -> str:
        """The terms of a configuration's estimate, a line each."""
        found = self.find(config)
        if isinstance(found, TooLarge):
            return f"{found.bytes:,} bytes of shared memory, of {found.limit:,}: does not launch"
        if isinstance(found, Failed):
            return f"cannot be lowered: {found.error}"
        place = self.ranked.index(found) + 1
        lines = [f"{place} of {len(self.ranked)}: {found.seconds * 1e6:.1f} us ({self.label})"]
        if found.by_us:
            lines.append("fits only as smemreuse merges it")
        elif found.by_reuse:
            lines.append("fits only because buffers share bytes")
        for kernel in found.kernels:
            lines += explained(kernel)
        return "\n".join(lines)

    def timed(self, seconds: Mapping[int, float]) -> Ranking:
        """With what runs took, by place in `ranked`: those come first, in the order of their times.

        What is measured beats what is predicted; the others follow as they were.
        """
        known = [replace(self.ranked[at], measured=taken) for at, taken in seconds.items()]
        known.sort(key=lambda one: one.measured or 0.0)
        others = [one for at, one in enumerate(self.ranked) if at not in seconds]
        return replace(
            self, ranked=(*known, *others), label=f"{len(known)} measured, then {self.label}"
        )


def explained(kernel: KernelEstimate) -> list[str]:
    """One kernel's estimate, and each of its terms."""
    shape = f"{kernel.blocks:,} blocks, {kernel.blocks_per_sm} on an SM, {kernel.waves:.2f} waves"
    lines = [
        f"{kernel.name}: {kernel.seconds * 1e6:.1f} us, bound by {kernel.bound_by}; {shape}",
        f"  {kernel.shared_bytes:,} bytes of shared memory, about {kernel.registers} registers"
        + (f", some {kernel.spilled} spilled" if kernel.spilled else ""),
        f"  {kernel.flops / 1e9:,.2f} Gflop on tensor cores, {kernel.dram_bytes / 1e6:,.1f} MB "
        f"from DRAM, {kernel.l2_bytes / 1e6:,.1f} MB from L2: {kernel.intensity:,.0f} flop/byte",
    ]
    for name, taken in sorted(kernel.terms.items(), key=lambda one: -one[1]):
        lines.append(f"  {taken * 1e6:10.1f} us  {name}")
    lines += [f"  assumed: {one}" for one in kernel.assumed]
    return lines


def order(candidates: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """Best first; of equals the one that takes fewer bytes."""
    return tuple(
        sorted(
            candidates,
            key=lambda one: (one.seconds, sum(kernel.shared_bytes for kernel in one.kernels)),
        )
    )
