"""Which part of the L1 cache the driver carves out as shared memory, on the card at hand.

    python3 -m scripts.measure_carveout --out docs/results       # writes carveout-<gpu>.json there
    python3 -m scripts.measure_carveout --rehearse               # compiles only: needs no GPU

Launches kernels with many sizes of dynamic shared memory and reads what was configured: from Nsight
Compute, and without it from the footprint at which loads through L1 become slow. Each launch is
held against the rules that one might expect. Takes less than a minute; needs nvcc.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scripts.results import ROOT, options_of, today, write
from smemreuse.targets.architectures import Architecture, architecture

SOURCE = ROOT / "fixtures" / "carveout" / "carveout.cu"
CONFIGURED = "launch__shared_mem_config_size"
SECONDS = 50
KB = 1024
WAVES = 32
"""Blocks for each multiprocessor, in a grid of many."""
REGISTERS = (16, 40, 64, 120, 168, 232)
"""Of each thread of the kernels, as their numbers go; about, and rather more than fewer."""
FOOTPRINT = 4 * KB  # the step of the footprints, and the first


@dataclass(frozen=True)
class Case:
    """One launch; sizes in bytes, `preferred` in percent, -1 for none. See the .cu file."""

    section: str
    kernel: int
    threads: int
    blocks: int
    bytes: int
    declared: int
    preferred: int = -1
    before: int = -1

    def line(self) -> str:
        asked = (self.kernel, self.threads, self.blocks, self.bytes, self.declared)
        return " ".join(map(str, (*asked, self.preferred, self.before)))


def edges(arch: Architecture) -> list[int]:
    """Sizes at, just below and just above all steps, for one to four blocks of that size."""
    found = {0, 128}
    for step in arch.carveouts:
        for blocks in (1, 2, 3, 4):
            exact = step // blocks // arch.granularity * arch.granularity
            for taken in (exact - 128, exact, exact + 128):
                # Whether the kilobyte that the driver keeps counts is one of the questions.
                wanted = (taken - arch.reserved, taken) if blocks == 1 else (taken - arch.reserved,)
                found |= set(wanted)
    return sorted(size for size in found if 0 <= size <= arch.per_block)


def even(arch: Architecture, step: int) -> list[int]:
    """Sizes that far apart."""
    return list(range(0, arch.per_block + 1, step))


def cases(arch: Architecture, sms: int) -> Iterator[Case]:
    """What is asked, the most telling first."""
    most, many, close = arch.per_block, sms * WAVES, edges(arch)
    few = [size * KB for size in (0, 4, 12, 24, 40, 56, 72, 80, 112, 140, 180, 183, 200, 216, 227)]
    for size in close:
        yield Case("default", 0, 128, many, size, size)
    for blocks in (1, sms // 2, sms, 2 * sms, 4 * sms):
        for size in few:
            yield Case("grid", 0, 128, blocks, size, size)
    for size in even(arch, 4 * KB):
        yield Case("many registers", 3, 256, many, size, size)
    for size in few:
        yield Case("declared", 0, 128, many, size, most)
    for preferred in (0, 10, 25, 50, 75, 100):
        for size in few:
            yield Case("preferred", 0, 128, many, size, size, preferred)
    for before in (0, most):
        for size in few:
            yield Case("order", 0, 128, many, size, size, -1, before)
    for threads in (256, 512, 64, 1024):
        for size in even(arch, 4 * KB):
            yield Case("threads", 0, threads, many, size, size)


def slack(arch: Architecture, sms: int) -> Iterator[Case]:
    """Few resident bytes, by threads and registers: there the driver takes more than it must."""
    taken = (1, 1.5, 2, 3, 5, 7, 9, 13, 17, 21, 25, 29, 33, 41, 49, 57, 65, 73, 81, 97, 101, 113)
    for kernel, registers in enumerate(REGISTERS):
        for threads in (64, 128, 192, 256, 384, 512, 768, 1024):
            for size in (round(kilobytes * KB) - arch.reserved for kilobytes in taken):
                resident = arch.resident_blocks(size, threads, registers)
                if 0 < resident * arch.taken(size) <= 140 * KB:
                    yield Case("slack", kernel, threads, sms * WAVES, size, size)


def chased(arch: Architecture, sms: int) -> Iterator[Case]:
    """What is asked of L1 itself: fewer sizes, in more orders."""
    most, many = arch.per_block, sms * WAVES
    for threads in (128, 512):
        for size in even(arch, 8 * KB):
            yield Case("chase", 0, threads, many, size, size)
    for blocks in (1, sms):
        for size in even(arch, 12 * KB):
            yield Case("chase, grid", 0, 128, blocks, size, size)
    for before in (0, most):
        for size in even(arch, 12 * KB):
            yield Case("chase, order", 0, 128, many, size, size, -1, before)
    for preferred in (0, 50, 100):
        for size in even(arch, 24 * KB):
            yield Case("chase, preferred", 0, 128, many, size, size, preferred)


def build(folder: Path, arch: str = "native") -> Path:
    """The program that launches. Raises `CalledProcessError`."""
    program = folder / "carveout"
    command = ["nvcc", "-O3", f"-arch={arch}", "-o", str(program), str(SOURCE)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return program


# What comes back ----------------------------------------------------------------------------------

_UNITS = {"Kbyte": 1000, "Mbyte": 1000**2}


def parse_ncu(text: str) -> list[dict[str, float | None]]:
    """The metrics of each launch, in bytes where they are bytes; None where there is no number.

    Of `ncu --csv --page raw`: a column for each metric, and a second line with the units.
    """
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    rows = list(csv.DictReader(line for line in lines[start:] if line.startswith('"')))
    units: Mapping[str, str] = rows.pop(0) if rows and not rows[0]["ID"] else {}
    names = [name for name in (rows[0] if rows else ()) if name.startswith("launch__")]
    return [{name: _number(row[name], units.get(name, "")) for name in names} for row in rows]


def _number(text: str, unit: str) -> float | None:
    try:
        return float(text.replace(",", "")) * _UNITS.get(unit.split("/")[0], 1)
    except ValueError:
        return None


def capacity(cycles: Sequence[int]) -> int:
    """Bytes of L1, where a footprint past it takes a tenth longer for each load."""
    slow = next((at for at, one in enumerate(cycles) if one > 1.1 * min(cycles)), len(cycles))
    return slow * FOOTPRINT


def expected(case: Case, arch: Architecture, resident: int, sms: int) -> dict[str, int]:
    """The carve-out by each rule, in bytes."""
    taken = arch.taken(case.bytes)
    blocks = {
        "one block": 1,
        "resident blocks": resident,
        "resident blocks of this grid": min(resident, -(-case.blocks // sms)),
        "blocks by bytes alone": arch.most_by_bytes(case.bytes),
    }
    return {rule: arch.step_for(count * taken) for rule, count in blocks.items()}


def as_data(case: Case, resident: int, registers: int, found: float | None) -> dict[str, Any]:
    data = {key: value for key, value in asdict(case).items() if key != "section"}
    carved = None if found is None else round(found)
    return {**data, "registers": registers, "resident": resident, "carveout": carved}


# Running ------------------------------------------------------------------------------------------


def answers(program: Sequence[str], asked: Sequence[Case], seconds: float) -> list[list[int]]:
    """What the program says of each launch. Raises `CalledProcessError`, `TimeoutExpired`."""
    given = "\n".join(case.line() for case in asked)
    done = subprocess.run(
        list(program), input=given, capture_output=True, text=True, timeout=seconds, check=True
    )
    # Nsight Compute writes lines of its own between.
    mine = [line.split() for line in done.stdout.splitlines() if line[:1].isdigit()]
    return [[int(word) for word in line] for line in mine]


def profile(ncu: str, program: Path, asked: Sequence[Case], seconds: float) -> list[dict[str, Any]]:
    """The launches of one section, with what Nsight Compute says of each."""
    log = program.with_name("ncu.csv")
    log.unlink(missing_ok=True)
    command = [ncu, "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw"]
    command += ["--print-units", "base", "--metrics", CONFIGURED, "--log-file", str(log)]
    said = answers([*command, str(program)], asked, seconds)
    seen = parse_ncu(log.read_text())
    # A launch made just before another is one of its own to the profiler.
    own = [last for case in asked for last in ([False, True] if case.before >= 0 else [True])]
    watched = [metrics for metrics, is_own in zip(seen, own, strict=False) if is_own]
    if not len(said) == len(watched) == len(asked):
        text = log.read_text().strip().splitlines()
        raise ValueError(f"{len(seen)} of {len(own)} launches seen: {' / '.join(text[:3])[:300]}")
    data = []
    for case, (registers, resident), metrics in zip(asked, said, watched, strict=True):
        data.append(as_data(case, resident, registers, metrics.get(CONFIGURED)))
    return data


def chase(program: Path, asked: Sequence[Case], l1: int, seconds: float) -> list[dict[str, Any]]:
    """The launches with the size of L1 that loads were seen to have, and what that leaves."""
    data = []
    said = answers([str(program), "chase"], asked, seconds)
    for case, (registers, resident, *cycles) in zip(asked, said, strict=True):
        bytes_of_l1 = capacity(cycles)
        one = as_data(case, resident, registers, l1 - bytes_of_l1)
        data.append({**one, "l1": bytes_of_l1, "cycles": cycles})
    return data


def verdicts(data: Iterable[Mapping[str, Any]], arch: Architecture, sms: int) -> dict[str, Any]:
    """For each rule how many launches it foretells, and the first that it does not."""
    counts: dict[str, Any] = {}
    for one in data:
        case = Case("", **{key: one[key] for key in Case.__dataclass_fields__ if key != "section"})
        for rule, step in expected(case, arch, one["resident"], sms).items():
            count = counts.setdefault(rule, {"launches": 0, "agree": 0, "otherwise": []})
            # What L1 is seen to hold is known to a footprint's step or two.
            near = 3 * FOOTPRINT if "l1" in one else 0
            agrees = one["carveout"] is not None and abs(one["carveout"] - step) <= near
            count["launches"] += 1
            count["agree"] += agrees
            if not agrees and len(count["otherwise"]) < 5:
                brief = [one["threads"], one["blocks"], one["bytes"], one["carveout"], step]
                count["otherwise"].append(brief)
    return counts


def device() -> dict[str, str]:
    """What nvidia-smi says of the first card."""
    keys = ("name", "driver_version", "compute_cap")
    query = ["nvidia-smi", f"--query-gpu={','.join(keys)}", "--format=csv,noheader", "--id=0"]
    done = subprocess.run(query, capture_output=True, text=True, check=True)
    return dict(zip(keys, done.stdout.strip().split(", "), strict=True))


def available(ncu: str) -> list[str]:
    """The metrics of Nsight Compute that have to do with shared memory or occupancy."""
    query = [ncu, "--query-metrics-collection", "launch", "--query-metrics"]
    done = subprocess.run(query, capture_output=True, text=True, timeout=15, check=False)
    names = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    return sorted(name for name in names if "shared_mem" in name or "occupancy" in name)


def find_ncu() -> str | None:
    installed = sorted(map(str, Path("/opt/nvidia/nsight-compute").glob("*/ncu")))
    return shutil.which("ncu") or (installed[-1] if installed else None)


def multiprocessors(program: Path) -> int:
    done = subprocess.run([str(program), "count"], capture_output=True, text=True, check=True)
    return int(done.stdout)


def measure(
    program: Path, arch: Architecture, sms: int, wanted: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Section by section, as far as the time reaches; one that fails says why."""
    end = time.monotonic() + SECONDS
    sections: dict[str, list[Case]] = {}
    for case in (*chased(arch, sms), *cases(arch, sms), *slack(arch, sms)):
        if not wanted or case.section in wanted:
            sections.setdefault(case.section, []).append(case)
    ncu = find_ncu()
    if ncu is not None:
        yield "metrics", {"available": available(ncu)}
    for name, asked in sections.items():
        left = end - time.monotonic()
        chases = name.startswith("chase")
        if left < 2 or (ncu is None and not chases):
            yield name, {"error": "no time left" if left < 2 else "no Nsight Compute"}
            continue
        try:
            data = (
                chase(program, asked, arch.unified, min(left, 15))
                if chases
                else profile(str(ncu), program, asked, left)
            )
        except subprocess.CalledProcessError as error:
            yield name, {"error": (error.stderr or error.stdout or str(error)).strip()[-300:]}
        except (subprocess.TimeoutExpired, ValueError, OSError) as error:
            yield name, {"error": str(error)[-300:]}
        else:
            yield name, {"rules": verdicts(data, arch, sms), "launches": data}


def path_of(folder: Path, gpu: str) -> Path:
    """The file of a card, `carveout-h200.json`."""
    name = next(word for word in gpu.split() if any(map(str.isdigit, word)))
    return folder / f"carveout-{name.lower()}.json"


def main() -> int:
    parser = options_of(__doc__, "rehearse")
    parser.add_argument("--out", type=Path, default=Path(), help="the folder to write to")
    parser.add_argument("--sections", nargs="*", default=(), help="what to ask (default: all)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.rehearse:
            print("built", build(Path(folder), "sm_90a").name)
            return 0
        started = time.monotonic()
        card = device()
        arch = architecture("sm_" + card["compute_cap"].replace(".", ""))
        program = build(Path(folder))
        sms = multiprocessors(program)
        print(f"built in {time.monotonic() - started:.0f} s")
        path, sections = path_of(options.out, card["name"]), dict[str, Any]()
        found = {
            "schema": "smemreuse.carveout/1",
            "date": today(),
            **card,
            "arch": arch.name,
            "multiprocessors": sms,
            "steps": list(arch.carveouts),
            "sections": sections,
        }
        for name, section in measure(program, arch, sms, options.sections):
            sections[name] = section
            write(path, found, 4)
            print(f"{time.monotonic() - started:4.0f} s {name}: {brief(section)}", flush=True)
    print(path)
    return int(any("error" in section for section in sections.values()))


def brief(section: Mapping[str, Any]) -> str:
    """A line for the terminal."""
    if "rules" not in section:
        return str(section.get("error") or section)[:1000]
    counts = section["rules"].items()
    return "; ".join(f"{rule} {one['agree']}/{one['launches']}" for rule, one in counts)


if __name__ == "__main__":
    sys.exit(main())
