"""The dumps of the repository, each read and planned once in a process, whoever asks."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from smemreuse.compilers.text.reader import read_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import POLICY_NAMES, plan_kernel
from smemreuse.report.data import Subject, subjects
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import Verdict


@cache
def kernels_of(path: Path) -> tuple[Kernel, ...]:
    """The kernels of a dump; what is computed of one is kept for the next test that asks."""
    return tuple(read_dump(path).kernels)


@cache
def subjects_of(path: Path) -> list[Subject]:
    """An entry for each kernel and shared scope of a dump."""
    return subjects(path.name, kernels_of(path))


@cache
def plans_of(subject: Subject) -> dict[str, tuple[Plan, Verdict]]:
    """The smallest plan of each policy, and its verdict."""
    plans = {
        policy: plan_kernel(subject.kernel, subject.scope, policy=policy) for policy in POLICY_NAMES
    }
    return {policy: (plan, judge(subject.kernel, plan)) for policy, plan in plans.items()}
