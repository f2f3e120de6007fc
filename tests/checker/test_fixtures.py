"""Every dump in the repository under every policy: the arena, and what the checker says."""

from __future__ import annotations

from pathlib import Path

from smemreuse.compilers.text.reader import read_dump
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import POLICY_NAMES, plan_kernel
from smemreuse.report.data import subjects
from tests.conftest import Golden


def test_verdicts(golden: Golden, dump_path: Path) -> None:
    """Golden: `policy: [arena, verdict, pairs that break a rule]` for each kernel and scope."""
    found = {}
    for subject in subjects(dump_path.name, read_dump(dump_path).kernels):
        rows: dict[str, list[object]] = {}
        for policy in POLICY_NAMES:
            plan = plan_kernel(subject.kernel, subject.scope, policy=policy)
            verdict = judge(subject.kernel, plan)
            broken = [
                f"rule {violation.rule}: {' '.join(violation.buffers)}"
                for violation in verdict.violations
            ]
            rows[policy] = [plan.arena_bytes, verdict.verdict, broken]
        found[f"{subject.kernel.name} {subject.scope}"] = rows
    golden(f"verdicts/{dump_path.stem}", found)


def test_dataflow_is_sound_and_never_larger_than_a_sound_outer(dump_path: Path) -> None:
    for subject in subjects(dump_path.name, read_dump(dump_path).kernels):
        plan = plan_kernel(subject.kernel, subject.scope)
        assert judge(subject.kernel, plan).sound
        outer = plan_kernel(subject.kernel, subject.scope, policy="outer")
        if judge(subject.kernel, outer).sound:
            assert plan.arena_bytes <= outer.arena_bytes
