"""Show on a CUDA device that what the checker refuses goes wrong, and what it asks for helps.

    python -m scripts.hazards_on_gpu --out docs/results/hazards.json
    python -m scripts.hazards_on_gpu --rehearse        # compiles only: needs no GPU

Each kernel in fixtures/hazards has two buffers, which share their bytes or lie side by side, and
more or less synchronization between their uses. Every variant is launched many times on fresh
inputs and compared with what it must give. Exit 1 if one that has to be right was wrong.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.apart import answer, command_of
from scripts.results import ROOT, about_gpu, options_of, write

if TYPE_CHECKING:
    import torch

SOURCES = ROOT / "fixtures" / "hazards"
COMPILE = (
    *("nvcc", "-O3", "-std=c++17", "-gencode=arch=compute_90a,code=sm_90a"),
    *("-shared", "-Xcompiler", "-fPIC"),
)
LAUNCHES = 40
DELAY = 20_000  # clock cycles
SECONDS_EACH = 60
BLOCKS = 64


@dataclass(frozen=True)
class Variant:
    """How the buffers lie, and how their uses are synchronized; `right`: whether that is enough."""

    plan: str
    synchronization: str
    right: bool
    fence: int = 0
    mode: int = 0


@dataclass(frozen=True)
class Hazard:
    """A kernel: what it is given, what it must give, and the bytes of its first buffer."""

    rules: tuple[int, ...]
    shape: tuple[int, ...]
    largest: int
    apart: int
    expected: Callable[[torch.Tensor, int], tuple[torch.Tensor, ...]]
    variants: tuple[Variant, ...]


def _variants(late: str, early: str) -> tuple[Variant, ...]:
    return (
        Variant("shared", late, right=False),
        Variant("apart", late, right=True),
        Variant("shared", early, right=True, fence=1),
    )


# What they must give ------------------------------------------------------------------------------


def _copied_and_tripled(rows: torch.Tensor, mode: int) -> tuple[torch.Tensor, ...]:
    return rows, 3 * rows.flip(-1)


def _reversed_and_tripled(rows: torch.Tensor, mode: int) -> tuple[torch.Tensor, ...]:
    return rows.flip(-1), 3 * rows.flip(-1)


def _reversed(rows: torch.Tensor, mode: int) -> tuple[torch.Tensor, ...]:
    return (rows.flip(-1),)


def _from_the_other(rows: torch.Tensor, mode: int) -> tuple[torch.Tensor, ...]:
    pairs = rows.unflatten(0, (-1, 2))
    return pairs.flip(1).flatten(0, 1).flip(-1), 3 * rows.flip(-1)


def _from_the_first(rows: torch.Tensor, mode: int) -> tuple[torch.Tensor, ...]:
    pairs = rows.unflatten(0, (-1, 2))
    return pairs[:, :1].expand_as(pairs).flatten(0, 1).flip(-1), 3 * rows.flip(-1)


def _products(factors: torch.Tensor, mode: int) -> tuple[torch.Tensor, ...]:
    """16 multiplications of 16 products each for every one of 128 accumulators."""
    sums = 128 * 16 * 16 * factors.prod(-1, keepdim=True).int()
    return sums.expand(-1, 128), (5 * factors[:, 1:]).expand(-1, 128)


def _sums_by_thread(rows: torch.Tensor, mode: int) -> tuple[torch.Tensor, ...]:
    """Each thread's elements: 32 in a row; or of 8 times 128, those that its loads give it."""
    if mode in (0, 3):
        sums = rows.unflatten(-1, (256, 32)).sum(-1)
    elif mode == 1:
        sums = rows.unflatten(-1, (8, 8, 4, 32)).sum((-3, -2)).flatten(-2)
    else:
        sums = rows.unflatten(-1, (8, 8, 32, 4)).sum((-3, -1)).flatten(-2)
    return sums.int()[:, :, 0], sums.int()[:, :, 1]


_ACCESSES = (
    *("loads in the same banks", "ldmatrix", "loads of 16 bytes"),
    "stores in the same banks",
)

HAZARDS: Mapping[str, Hazard] = {
    "sparse_wgmma_in_flight": Hazard(
        rules=(5,),
        shape=(BLOCKS, 2),
        largest=8,
        apart=18 * 1024,
        expected=_products,
        variants=_variants("waited for late", "waited for before"),
    ),
    "bulk_store_in_flight": Hazard(
        rules=(5,),
        shape=(BLOCKS, 16384),
        largest=1000,
        apart=64 * 1024,
        expected=_copied_and_tripled,
        variants=_variants("waited for late", "waited for before"),
    ),
    "phase_passed_early": Hazard(
        rules=(4, 6),
        shape=(BLOCKS, 4, 32),
        largest=1000,
        apart=1024,
        expected=_reversed,
        variants=_variants("waits for the first phase", "waits for the last round"),
    ),
    "remote_store": Hazard(
        rules=(10,),
        shape=(BLOCKS, 4, 256),
        largest=1000,
        apart=1024,
        expected=_from_the_other,
        variants=_variants("used behind the arrival", "used before the arrival"),
    ),
    "multicast_load": Hazard(
        rules=(10,),
        shape=(BLOCKS, 4, 1024),
        largest=1000,
        apart=4096,
        expected=_from_the_first,
        variants=_variants("used behind the arrival", "used before the arrival"),
    ),
    "part_of_a_cluster": Hazard(
        rules=(12,),
        shape=(BLOCKS, 128),
        largest=1000,
        apart=1024,
        expected=_copied_and_tripled,
        variants=_variants("half of a block meets", "the whole block meets"),
    ),
    "reductions_in_two_arms": Hazard(
        rules=(12,),
        shape=(BLOCKS, 2, 128),
        largest=1000,
        apart=1024,
        expected=_reversed_and_tripled,
        variants=_variants("both arms at barriers 1 and 2", "barriers of their own"),
    ),
    "generic_then_bulk_load": Hazard(
        rules=(11,),
        shape=(528, 8, 2, 8192),
        largest=1000,
        apart=32 * 1024,
        expected=_sums_by_thread,
        variants=tuple(
            Variant(plan, f"{text}; {accesses}", right, fence, mode)
            for mode, accesses in enumerate(_ACCESSES)
            for plan, text, right, fence in (
                ("shared", "no fence", False, 0),
                ("apart", "no fence", True, 0),
                ("shared", "fence before arriving", True, 1),
                ("shared", "fence behind the wait", True, 2),
            )
        ),
    ),
}


# Building and running -----------------------------------------------------------------------------


class _Variant(ctypes.Structure):
    """`Variant` of fixtures/hazards/hazard.cuh."""

    _fields_ = [(name, ctypes.c_int) for name in ("other_at", "mode", "fence", "delay")]


def build(name: str, folder: Path) -> Path:
    """Compiles a kernel to a shared library. Raises `CalledProcessError`."""
    library = folder / f"{name}.so"
    command = [*COMPILE, str(SOURCES / f"{name}.cu"), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return library


def run(name: str, library: str) -> list[dict[str, object]]:
    """Launches every variant, in turns, so that all see the device in the same states."""
    import torch

    hazard, launch = HAZARDS[name], ctypes.CDLL(library).run
    launch.argtypes = (ctypes.c_void_p, ctypes.c_void_p, _Variant)
    wrong = [0] * len(hazard.variants)
    elements = [0] * len(hazard.variants)
    torch.manual_seed(int.from_bytes(os.urandom(4), "little"))
    for _ in range(LAUNCHES):
        given = torch.randint(1, hazard.largest + 1, hazard.shape, dtype=torch.int32, device="cuda")
        for at, variant in enumerate(hazard.variants):
            must = torch.stack(hazard.expected(given, variant.mode))
            found = torch.full_like(must, -1)
            other_at = hazard.apart if variant.plan == "apart" else 0
            how = _Variant(other_at, variant.mode, variant.fence, DELAY)
            torch.cuda.synchronize()
            status = launch(given.data_ptr(), found.data_ptr(), how)
            torch.cuda.synchronize()
            if status:
                raise RuntimeError(f"CUDA error {status}")
            differ = int((found != must).sum())
            wrong[at] += differ > 0
            elements[at] += differ
    return [
        {
            "plan": variant.plan,
            "synchronization": variant.synchronization,
            "must_be_right": variant.right,
            "launches": LAUNCHES,
            "wrong_launches": wrong[at],
            "wrong_elements": elements[at],
        }
        for at, variant in enumerate(hazard.variants)
    ]


def run_apart(name: str, folder: Path) -> dict[str, Any]:
    """Runs a kernel in a process of its own: a hung or failed one spoils no other."""
    hazard = HAZARDS[name]
    data: dict[str, Any] = {"name": name, "rules": list(hazard.rules)}
    told = answer(command_of(run, name, str(folder / f"{name}.so")), SECONDS_EACH)
    if "found" in told:
        return {**data, "variants": told["found"]}
    return {**data, "error": told.get("error", f"not done in {SECONDS_EACH} s"), "variants": []}


def print_summary(found: dict[str, Any]) -> None:
    if "error" in found:
        print(f"{found['name']}: {found['error']}")
    for one in found["variants"]:
        unexpected = one["must_be_right"] and one["wrong_launches"]
        print(
            f"{found['name']:24} {one['plan']:7} {one['synchronization']:42} "
            f"{one['wrong_launches']:3} of {one['launches']} wrong{' !' if unexpected else ''}"
        )


def main() -> int:
    parser = options_of(__doc__, "out", "rehearse")
    parser.add_argument("names", nargs="*", help="kernels (default: all)")
    options = parser.parse_args()
    names = options.names or list(HAZARDS)
    with tempfile.TemporaryDirectory() as folder:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda name: build(name, Path(folder)), names))
        print(f"compiled {len(names)} kernels")
        if options.rehearse:
            return 0
        found = [run_apart(name, Path(folder)) for name in names]
    for one in found:
        print_summary(one)
    write(options.out, {**about_gpu("hazards"), "delay_cycles": DELAY, "hazards": found}, 5)
    failed = any(
        "error" in one or any(v["must_be_right"] and v["wrong_launches"] for v in one["variants"])
        for one in found
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
