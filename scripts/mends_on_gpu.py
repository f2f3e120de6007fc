"""Show on a CUDA device that kernels which `merge(mend=True)` mends are right, and what that costs.

    python -m scripts.mends_on_gpu --out docs/results/mends-h200.json
    python -m scripts.mends_on_gpu --rehearse        # lowers and compiles only: needs no GPU

Two parts. Kernels of fixtures/witnesses that go wrong, and that barriers, waits or proxy fences
mend, as they are and mended. And the Mamba-2 chunk scan, which TileLang 0.1.15 leaves without the
fences that it needs: as it is, mended, and with the fences written by hand; each is held against a
reference in float64 and against its own first launch, and all are timed in turns. Exit 1 if what
was mended was wrong, or another in any launch.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scripts.apart import answer, command_of
from scripts.benchmarks.timing import measure
from scripts.benchmarks.variants import Variant
from scripts.harness import fresh_inputs, launch, ratio, same_outputs
from scripts.lint_on_gpu import judged
from scripts.results import ARCH, about_gpu, options_of, write
from smemreuse.results.sites import Site

LAUNCHES = 40
SECONDS_EACH = 60
TILES = ("64x64x64, one stage", "64x64x64", "128x64x64")
AS_IT_IS, MENDED, BY_HAND = "as it is", "mended", "fenced by hand"
SCANS = (
    (AS_IT_IS, "chunk_scan", False),
    (MENDED, "chunk_scan", True),
    (BY_HAND, "chunk_scan_fenced", False),
)
FENCE = "tl::fence_proxy_async()"


@dataclass
class Compiled:
    """A kernel, and what was put into it: each statement, and where."""

    kernel: Any
    status: str
    put_in: list[str]

    @property
    def source(self) -> str:
        return str(self.kernel.get_kernel_source())

    def as_data(self) -> dict[str, Any]:
        return {"lint": self.status, "put_in": self.put_in, "fences": self.source.count(FENCE)}


def compiled(func: Any, pass_configs: Mapping[str, object], mend: bool) -> Compiled:
    """A kernel as smemreuse lowers it, and what lint says of it then."""
    import tilelang

    import smemreuse.tilelang

    with smemreuse.tilelang.merge(mend=mend) as session:
        kernel = tilelang.compile(
            func, target={"kind": "cuda", "arch": ARCH}, pass_configs=dict(pass_configs)
        )
    (lowered,) = session.kernels
    assert lowered.lint is not None
    edits = [one.edit for found in session.mendings for one in found.mends]
    put_in = [f"{text} {one.side} {Site.of(one.anchor)}" for one in edits for text in one.texts]
    return Compiled(kernel, str(lowered.lint().status), put_in)


# Witnesses ----------------------------------------------------------------------------------------


def witnesses() -> list[Any]:
    """The kernels whose hazards are of a kind that is mended."""
    from fixtures.witnesses.kernels import WITNESSES

    return [one for one in WITNESSES if one.kind in ("race", "missing-wait", "missing-fence")]


def witness_variants(each: Any) -> list[tuple[str, Compiled]]:
    from fixtures.witnesses.kernels import PASS_CONFIGS

    return [
        (name, compiled(each.make(False), PASS_CONFIGS, mend))
        for name, mend in ((AS_IT_IS, False), (MENDED, True))
    ]


# The chunk scan -----------------------------------------------------------------------------------


def scan_variants(tile: str, names: Sequence[str]) -> list[tuple[str, Compiled]]:
    from fixtures.benchmarks import BENCHMARKS

    return [
        (name, compiled(one.make(**one.config(tile)), one.pass_configs, mend))
        for name, benchmark, mend in SCANS
        if name in names
        for one in (BENCHMARKS[benchmark],)
    ]


def scan(tile: str) -> list[dict[str, Any]]:
    """The variants of a tile in a process of its own; where that hangs, without the kernel as it
    is, which may wait for ever. Raises `RuntimeError` where the others fail."""
    found = _scanned_apart(tile, [name for name, _, _ in SCANS])
    if found is not None:
        return found
    rest = _scanned_apart(tile, [MENDED, BY_HAND])
    if rest is None:
        raise RuntimeError(f"{tile}: not done in {SECONDS_EACH} s")
    return [{"variant": AS_IT_IS, "hangs": True}, *rest]


def _scanned_apart(tile: str, names: Sequence[str]) -> list[dict[str, Any]] | None:
    told = answer(command_of(scanned, tile, names), SECONDS_EACH)
    if "error" in told:
        raise RuntimeError(f"{tile}: {told['error']}")
    found: list[dict[str, Any]] | None = told.get("found")
    return found


def scanned(tile: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Launches the variants of a tile in turns on the same inputs, and times them."""
    from fixtures.benchmarks import BENCHMARKS

    benchmark = BENCHMARKS["chunk_scan"]
    config = benchmark.config(tile)
    found = scan_variants(tile, names)
    variants = [Variant(name, kernel=one.kernel) for name, one in found]
    args = fresh_inputs(benchmark, config)
    expected = benchmark.reference(args, config)
    first: dict[str, Any] = {}
    for _ in range(LAUNCHES):
        for variant in variants:
            outputs = launch(variant, args, expected)
            if outputs is None:
                raise RuntimeError(f"{variant.merge}: {variant.launch_error}")
            variant.judge(outputs, expected, benchmark.tolerance)
            variant.note_bits(outputs, first.setdefault(variant.merge, outputs))
    measure(benchmark, config, variants)
    steady = first[BY_HAND]
    return [
        {
            "variant": variant.merge,
            **one.as_data(),
            "launches": variant.launches,
            "wrong_launches": variant.wrong_launches,
            "differing_launches": max(variant.differing.values()),
            "as_by_hand": same_outputs(first[variant.merge], steady),
            "worst_error": variant.worst_error,
            "median_ms": statistics.median(variant.rounds_ms),
            **(
                {"of_as_it_is": ratio(variant.rounds_ms, variants[0].rounds_ms)}
                if variants[0].merge == AS_IT_IS
                else {}
            ),
        }
        for variant, (_, one) in zip(variants, found, strict=True)
    ]


# The whole ----------------------------------------------------------------------------------------


def rehearse() -> int:
    """Compiles everything, and says what was put in."""
    for each in witnesses():
        for name, one in witness_variants(each):
            print(each.name, name, one.status, one.put_in)
    for tile in TILES:
        for name, one in scan_variants(tile, [name for name, _, _ in SCANS]):
            print(f"chunk_scan {tile}", name, one.status, f"{one.source.count(FENCE)} fences")
    return 0


def main() -> int:
    options = options_of(__doc__, "out", "rehearse").parse_args()
    if options.rehearse:
        return rehearse()
    import torch

    torch.manual_seed(int.from_bytes(os.urandom(4), "little"))
    kernels = []
    for each in witnesses():
        variants = [
            {"variant": name, **one.as_data(), **judged(each, one.kernel, LAUNCHES)}
            for name, one in witness_variants(each)
        ]
        kernels.append({"name": each.name, "kind": each.kind, "variants": variants})
    scans = [{"tile": tile, "variants": scan(tile)} for tile in TILES]
    told = [(one["name"], each) for one in kernels for each in one["variants"]]
    told += [(f"chunk_scan {one['tile']}", each) for one in scans for each in one["variants"]]
    for name, one in told:
        if one.get("hangs"):
            print(f"{name:36} {one['variant']:15} hangs")
            continue
        time_ms = f" {one['median_ms']:.4f} ms" if "median_ms" in one else ""
        differ = f", {one['differing_launches']} differ" if "differing_launches" in one else ""
        wrong = f"{one['wrong_launches']} of {one['launches']} wrong"
        print(f"{name:36} {one['variant']:15} {one['lint']:8} {wrong}{differ}{time_ms}")
    about = {**about_gpu("mends"), "arch": ARCH}
    write(options.out, {**about, "witnesses": kernels, "chunk_scan": scans}, 5)
    mended = [one for _, one in told if one["variant"] == MENDED]
    return int(any(one["wrong_launches"] or one.get("differing_launches") for one in mended))


if __name__ == "__main__":
    sys.exit(main())
