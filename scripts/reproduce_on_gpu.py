"""Make hazards of small and of real kernels show on a CUDA device with `smemreuse reproduce`.

    python -m scripts.reproduce_on_gpu --group kernels --out docs/results/reproduce-h200.json
    python -m scripts.reproduce_on_gpu --group field --out docs/results/reproduce-field-h200.json
    python -m scripts.reproduce_on_gpu --group plans --out docs/results/reproduce-plans-h200.json
    TILELANG_EXAMPLES=tilelang/examples python -m scripts.reproduce_on_gpu --group examples
    python -m scripts.reproduce_on_gpu --rehearse        # lowers and compiles only: needs no GPU
    python -m scripts.reproduce_on_gpu --merge again.json --out docs/results/reproduce-h100.json

Each program of `GROUPS` in a process of its own, which launches each variant in one of its own:
the kernel as it is, with delays at the places of a witness, and with its fixes, without and with
the delays, on the same random inputs. A launch that takes 20 s hangs. Prints a line for each
finding. The reports go to a folder beside --out. Exit 1 if a fixed kernel was wrong or hung, or if
a program failed. With --merge nothing is launched: programs that were launched again, on the same
GPU and day, take the place of what --out has of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.apart import command_of, found_apart
from scripts.results import ARCH, ROOT, about_gpu, options_of, write
from smemreuse.results.reproduction import MENDED, MENDED_DELAYED

LAUNCHES = 20
SECONDS = 20
SECONDS_EACH = 480
FOLDER = ROOT / "fixtures" / "reproduce"


@dataclass(frozen=True)
class Program:
    """What compiles kernels, with its arguments; and how many processes it may have at a time: some
    20 for 16 cores in all, since those that launch only wait. `expected` names what must come out;
    with a `policy` its plans are refuted, not the kernels; with a `finding` it is that one alone.
    """

    arguments: tuple[str, ...]
    jobs: int = 1
    expected: str = ""
    policy: str = ""
    finding: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """Those of `smemreuse reproduce`."""
        given = str(FOLDER / "expected" / f"{self.expected}.py")
        known = ("--expected", given) if self.expected else ()
        policy = ("--policy", self.policy) if self.policy else ()
        return (*known, *policy, *(("--finding", self.finding) if self.finding else ()))


def _alone(script: str, *names: str) -> dict[str, Program]:
    """A program for each kernel of which it is known what must come out."""
    return {name: Program((script, name), 1, name) for name in names}


_PLAIN_WITNESSES = (
    "read_before_the_barrier refilled_round_the_loop copies_not_waited_for arrivals_missing"
)
KERNELS = {
    "late_warps": Program(("late_warps.py",), 2),
    "witnesses": Program(("witnesses.py", *_PLAIN_WITNESSES.split()), 2),
    **_alone("witnesses.py", "sums_not_cleared", "barrier_in_an_arm", "part_of_a_cluster"),
    **_alone("witnesses.py", "index_too_large", "reductions_of_two_arms"),
    **{
        name: Program(("benchmarks.py", name), jobs)
        for name, jobs in (
            *(("chunk_scan", 3), ("chunk_state", 6), ("flash_backward", 6)),
            *(("flash_forward_128", 1), ("mla_decode", 1), ("persistent_gemm", 1)),
            *(("gqa_decode", 1), ("dequantize_gemm", 4), ("gated_delta", 4), ("batched_gemm", 1)),
        )
    },
}
"""Kernels of the benchmarks, which are TileLang's examples, and one for each kind of hazard."""

_OF_FIELD = {
    "stores": "leader_waits waves_of_a_group one_store_kept",
    "ring": "stage_by_a_counter waited_for_behind_the_loop wait_in_a_fixed_round",
    "loads": "stage_read_then_refilled one_warp_reads metadata_under_a_tile",
    "signals": "waits_for_one_operand.varied bytes_announced_twice mailbox_overwritten.varied",
    "copies": "waited_for_by_nobody one_group_too_many never_committed",
    "epilogue": "lands_in_the_epilogue lands_in_the_epilogue.varied zeros_beside_copies.varied",
    "operands": "written_and_multiplied two_groups_one_operand copied_by_cp_async.varied",
    "released": "released_while_multiplied registers_reused.varied",
    "groups": "released_while_multiplied.varied",
    "threads": "scratch_of_two_reductions leader_publishes_again atomics_unordered",
    "reductions": "one_thread_reduces searched_before_it_is_whole result_over_the_operand",
    "bytes": "padding_over_scales.varied number_of_half_a_warp.varied",
    "barriers": "published_in_the_loop_alone.varied",
}
"""Kernels of fixtures/field whose fixes are found, some to a program."""

FIELD = {
    **{
        f"field_{name}": Program(("field.py", *kernels.split()), 2)
        for name, kernels in _OF_FIELD.items()
    },
    **_alone("field.py", "elected_lane_arrives", "parity_of_the_ring", "tail_not_filled"),
    **_alone(
        "field.py", "added_without_atomics", "slots_beyond_the_warps", "number_of_both_groups"
    ),
    **_alone("field.py", "one_slot_for_all_stages", "maximum_of_no_round", "barrier_in_each_arm"),
}
"""Bugs of other projects in their shapes, each once: the first of both shapes that is certain."""

PLANS = {
    f"plan_{name}": Program(("plans.py", name), 1, "", "inner")
    for name in (
        *("while_table", "tma_store_in_flight", "divergent_arms", "table_before_scratch"),
        *("cp_async_past_loop", "alternate_refill", "scratch_before_carried"),
    )
}
"""Fixtures whose plan by `inner`, the compilers' own rule, is refuted."""

_JOBS = {
    **dict.fromkeys(["kda_delta_h_fwd", "kda_delta_bwd", "gdn_wy_fast", "mla_decode_ws"], 3),
    **dict.fromkeys(["dequant_w4a8", "gemm_one_stage", "visual_layout"], 3),
    **dict.fromkeys(["block_sparse_mqa", "sparse_mla_pipelined", "sparse_mla_seesaw"], 3),
}
_OF_KDA_BWD_INTRA = {
    "waits": "ec238094",
    "phase": "0d71d5fc",
    "fences": "e0585671",
    "ldmatrix": "80b190bf",
}
"""One finding for each mechanism of the 11 that it has, by their fingerprints: TileLang takes
seconds to lower it, so each is made to show by a process of its own."""

EXAMPLES = {
    **{
        f"kda_bwd_intra_{name}": Program(("examples.py", "kda_bwd_intra"), 5, finding=finding)
        for name, finding in _OF_KDA_BWD_INTRA.items()
    },
    **{name: Program(("examples.py", name), jobs) for name, jobs in _JOBS.items()},
    "gdn_delta_h": Program(("examples.py", "gdn_delta_h"), 3, "gdn_delta_h"),
}
"""Kernels of TileLang's examples, one for each cause and family that the others have not."""

GROUPS = {"kernels": KERNELS, "field": FIELD, "plans": PLANS, "examples": EXAMPLES}
PROGRAMS = {name: program for programs in GROUPS.values() for name, program in programs.items()}


def asked_for(doc: str | None) -> argparse.Namespace:
    """The options of a script over these programs."""
    parser = options_of(doc, "out", "rehearse", "keywords")
    parser.add_argument("--group", choices=GROUPS, action="append", help="default: all")
    parser.add_argument("--merge", type=Path, nargs="+", default=(), metavar="JSON")
    return parser.parse_args()


def names_of(groups: Iterable[str], words: Sequence[str]) -> list[str]:
    """The programs of groups, or those of which the name has one of the words."""
    names = [name for group in groups for name in GROUPS[group]]
    return [name for name in names if not words or any(one in name for one in words)]


def reproduced(name: str, folder: str, options: Sequence[str]) -> dict[str, Any]:
    """What `smemreuse reproduce` says of a program, and the files that it wrote."""
    program = PROGRAMS[name]
    file, *args = program.arguments
    command = [sys.executable, "-m", "smemreuse", "reproduce", "--format", "json", *options]
    command += [*program.options, "-o", folder, "--force", str(FOLDER / file), *args]
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    if done.returncode not in (0, 1):
        return {"program": name, "error": done.stderr.strip().splitlines()[-1][:300]}
    found = json.loads(Path(folder, "reproduce.json").read_text())["findings"]
    return {"program": name, "findings": [_kept(one) for one in found]}


def _kept(one: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a finding: not the whole hazard."""
    hazard = one["hazard"]
    about = {name: hazard[name] for name in ("kind", "mechanism", "buffers", "witness")}
    names = ("kernel", "finding", "shown", "why", "attempt", "tried", "reference", "outcomes")
    return {**about, **{name: one[name] for name in names}, "script": one["script"]}


def rehearsed(script: Path, variant: str) -> str:
    """What nvcc makes of one variant: nothing, or an error."""
    command = [sys.executable, str(script), variant, "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = (done.stdout.splitlines() or ["died"])[-1]
    return "" if last.startswith('{"bits": []') else last


def rehearse(names: Sequence[str], folder: Path) -> int:
    """Writes all files, and compiles all variants of each."""
    bad = 0
    for name in names:
        found = reproduced(name, str(folder / name), ("--arch", ARCH, "--lower-only"))
        if "error" in found:
            print(name, found["error"])
            bad += 1
            continue
        tasks = [
            (folder / name / one["script"], variant)
            for one in found["findings"]
            if one["script"]
            for variant in variants_of(folder / name / one["script"])
        ]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            errors = [*filter(None, pool.map(lambda task: rehearsed(*task), tasks))]
        bad += len(errors)
        lacking = [one["why"] for one in found["findings"] if not one["script"]]
        print(
            f"{name}: {len(found['findings'])} findings, {len(tasks)} variants compiled", flush=True
        )
        for each in (*errors, *lacking):
            print(f"  {each}")
    return int(bad > 0)


def variants_of(script: Path) -> list[str]:
    """The variants that a standalone file has, as it names them."""
    lines = script.read_text().split("CHANGES: Any = {\n")[1].split("\n}\n")[0].splitlines()
    return [line.split('"')[1] for line in lines if line.startswith('    "')]


def faults_of(found: dict[str, Any]) -> list[str]:
    """What should not be: a program that failed, a fixed kernel that is wrong or hangs."""
    faults = [found["error"]] if "error" in found else []
    for one in found.get("findings", ()):
        for variant in (MENDED, MENDED_DELAYED):
            gave = one["outcomes"].get(variant)
            if gave is not None and (gave["hangs"] or gave["differing"] or gave["error"]):
                faults.append(f"{one['kernel']} [{one['finding']}] {variant}: {gave}")
    return faults


def measured(names: Sequence[str], folder: Path) -> list[dict[str, Any]]:
    """All programs, several at a time."""
    options = ("--launches", str(LAUNCHES), "--seconds", str(SECONDS))

    def one(name: str) -> dict[str, Any]:
        arguments = (name, str(folder / name), [*options, "--jobs", str(PROGRAMS[name].jobs)])
        found = found_apart(command_of(reproduced, *arguments), SECONDS_EACH, program=name)
        for row in found.get("findings", ()):
            gave = "; ".join(
                f"{variant}: {'hangs' if it['hangs'] else it['error'] or it['differing']}"
                for variant, it in row["outcomes"].items()
            )
            print(f"{name:18} {row['kind']:19} {row['shown']:18} {gave or row['why']}", flush=True)
        return found

    with ThreadPoolExecutor(len(names)) as pool:
        return [*pool.map(one, names)]


def merged(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The programs of runs that were made alike, each as the last run that was done with it has it.

    Raises `ValueError` for runs on other GPUs, of another day, or with other versions.
    """
    abouts = [{**run, "programs": None} for run in runs]
    if any(about != abouts[0] for about in abouts):
        raise ValueError("these runs were not made on one GPU, on one day, by the same versions")
    found: dict[str, Mapping[str, Any]] = {}
    for program in (program for run in runs for program in run["programs"]):
        if "error" not in program or program["program"] not in found:
            found[program["program"]] = program
    return {**runs[0], "programs": [*found.values()]}


def main() -> int:
    options = asked_for(__doc__)
    if options.merge:
        files = [*filter(Path.exists, [options.out]), *options.merge]
        write(options.out, merged([json.loads(file.read_text()) for file in files]), 5)
        return 0
    names = names_of(options.group or GROUPS, options.keywords)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.out.with_suffix("") if options.out else Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if options.rehearse:
            return rehearse(names, folder)
        found = measured(names, folder)
        about = {**about_gpu("reproduced", tilelang=True), "launches": LAUNCHES}
        write(options.out, {**about, "programs": found}, 5)
    faults = [fault for one in found for fault in faults_of(one)]
    print("\n".join(faults) or "every fixed kernel was right")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
