"""Every dump in the repository: its listing, its plans, and what the checker says of them.

Golden files show the whole listing of those from which there is something to learn, and of each
dump the arenas and verdicts, with a digest of its listing; `smemreuse analyze` prints what changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from smemreuse.pipeline.planning import POLICY_NAMES, plan_kernel, sequence_of
from smemreuse.planner import PACKERS
from smemreuse.report.data import Subject, analyze_entry, kept_apart, plan_entry
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import Verdict
from tests.conftest import DUMPS, Golden
from tests.dumps import plans_of, subjects_of

SHOWN = (
    "batched_gemm.sm_80",  # a loop around everything: what `outer` cannot share and `dataflow` can
    "stream_k.sm_80",  # phases one after the other, with branches in the last
    "gemm.sm_90a",  # warp-specialized: the arms stand one behind the other
    "divergent_arms.sm_80",  # arms that run at once
    "while_table.sm_80",  # a buffer that is live throughout its loop
    "two_kernels.sm_80",
)
"""Dumps whose listings are worth reading."""


@pytest.mark.parametrize("name", SHOWN)
def test_a_listing(name: str, golden: Golden) -> None:
    found = subjects_of(DUMPS / f"{name}.tir")
    golden(name, {"kernels": [listing(subject) for subject in found]})


def test_every_arena_and_verdict(golden: Golden) -> None:
    """`policy: arena verdict, pairs that break a rule` for each kernel and scope."""
    found = {}
    for path in sorted(DUMPS.glob("*.tir")):
        for subject in subjects_of(path):
            rows = {policy: outcome(*made) for policy, made in plans_of(subject).items()}
            digest = hashlib.sha256(json.dumps(listing(subject)).encode()).hexdigest()[:16]
            name = f"{path.stem}: {subject.kernel.name} {subject.scope}"
            found[name] = {**rows, "listing": digest}
    golden("every_dump", found)


def outcome(plan: Plan, verdict: Verdict) -> str:
    broken = (f"rule {one.rule}: {' '.join(one.buffers)}" for one in verdict.violations)
    return ", ".join([f"{plan.arena_bytes} {verdict.verdict}", *broken])


def test_dataflow_is_sound_and_never_larger_than_a_sound_outer(dump_path: Path) -> None:
    for subject in subjects_of(dump_path):
        plan, verdict = plans_of(subject)["dataflow"]
        outer, judged = plans_of(subject)["outer"]
        assert verdict.sound
        assert not judged.sound or plan.arena_bytes <= outer.arena_bytes


def test_dataflow_s_ranges_lie_on_inner_s_sequence(dump_path: Path) -> None:
    for subject in subjects_of(dump_path):
        inner, dataflow = (
            analyze_entry(subject, policy, *sequence_of(subject.kernel, subject.scope, policy))
            for policy in ("inner", "dataflow")
        )
        assert list(rows(inner)) == list(rows(dataflow))


# Listings -------------------------------------------------------------------------------------


def listing(subject: Subject) -> dict[str, object]:
    """Sequence, levels, events, live ranges and plans, each on few lines.

    Inner's sequence is dataflow's, which stands there.
    """
    policies: dict[str, object] = {}
    for policy in POLICY_NAMES:
        sequence = sequence_of(subject.kernel, subject.scope, policy)
        entry = analyze_entry(subject, policy, *sequence)
        events = ("alloc_level", "gen", "kill", "live")
        policies[policy] = {
            **({"sequence": list(rows(entry))} if policy != "inner" else {}),
            **{key: line(entry[key]) for key in events},
            "plans": {packer: line(made) for packer, made in packed(subject, policy)},
        }
    return {
        "name": subject.kernel.name,
        "scope": subject.scope,
        "kept_apart": list(map(line, kept_apart(subject.kernel))),
        "buffers": list(map(line, entries(best(subject, "outer"), "buffers"))),
        "policies": policies,
    }


def packed(subject: Subject, policy: str) -> Iterator[tuple[str, dict[str, object]]]:
    """What each packer makes of a policy; the compilers' own know nothing of dataflow's."""
    plans = {"best": best(subject, policy)}
    for packer in PACKERS if policy != "dataflow" else ():
        if packer != "best":
            plan = plan_kernel(subject.kernel, subject.scope, policy=policy, packer=packer)
            plans[packer] = plan_entry(subject, plan)
    for packer, data in plans.items():
        keys = ("offsets", "arena_bytes", "lower_bound_bytes", "optimal")
        yield packer, {key: data[key] for key in keys}


def best(subject: Subject, policy: str) -> dict[str, object]:
    """The smallest plan, as `plan` tells it."""
    plan, _ = plans_of(subject)[policy]
    return plan_entry(subject, plan)


def entries(data: dict[str, object], key: str) -> list[dict[str, object]]:
    found = data[key]
    assert isinstance(found, list)
    return found


def rows(entry: dict[str, object]) -> Iterator[str]:
    """` 38 -37 For: As Bs`, so that a golden file reads like the listing."""
    for position, each in enumerate(entries(entry, "sequence")):
        touched = each["touched"]
        assert isinstance(touched, list)
        offset = each["scope_pair_offset"]
        text = f"{position:>3} {offset:>+4} {each['stmt']} (line {each['line']})"
        yield f"{text}: {' '.join(touched)}".rstrip(": ")


def line(data: object) -> object:
    """A mapping on one line: `As 0, Bs 16384`."""
    if isinstance(data, dict):
        return ", ".join(f"{key} {line(value)}" for key, value in data.items())
    return data
