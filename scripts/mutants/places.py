"""Where mutants come from: rooms, the tests that are to notice, a sample of the functions."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from scripts.mutants.mutant import Mutant, mutants_of

ROOT = Path(__file__).parents[2]

ROOMS: dict[str, tuple[str, ...]] = {
    "analysis": ("tests/analysis", "tests/policies"),
    "audit": ("tests/audit", "tests/commands/test_check.py"),
    "checker": ("tests/checker",),
    "linter": ("tests/linter",),
    "mender": ("tests/mender",),
    "pipeline": ("tests/pipeline",),
    "planner": ("tests/planner",),
    "policies": ("tests/policies", "tests/analysis"),
    "semantics": ("tests/semantics", "tests/checker"),
    "versions": ("tests/versions",),
}
"""The rooms that decide what is sound, how tight a plan is and what is found, with the tests that
follow those of the module itself."""

SOUNDNESS = ("tests/soundness/test_regressions.py", "tests/soundness/test_random_kernels.py")

EQUIVALENT: dict[str, str] = {}
"""Functions and operators whose mutants change nothing that can be seen, each with its reason:
`module:function operator`."""


def modules(paths: Iterable[str]) -> list[str]:
    """The modules under some paths (`smemreuse/checker`), relative to the package."""
    package = ROOT / "smemreuse"
    found = []
    for path in paths:
        place = ROOT / path
        files = [place] if place.is_file() else sorted(place.rglob("*.py"))
        found += [str(one.relative_to(package)) for one in files]
    return [one for one in found if one.partition("/")[0] in ROOMS]


def sampled(chosen: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """So many mutants, drawn by a seed, of different functions as far as there are enough."""
    of_function: defaultdict[tuple[str, str], list[Mutant]] = defaultdict(list)
    for module in chosen:
        for one in mutants_of(ROOT / "smemreuse" / module, module):
            if f"{one.module}:{one.function} {one.operator}" not in EQUIVALENT:
                of_function[one.module, one.function].append(one)
    source = random.Random(seed)
    found: list[Mutant] = []
    while of_function and len(found) < count:
        names = source.sample(sorted(of_function), min(len(of_function), count - len(found)))
        for name in names:
            found.append(of_function[name].pop(source.randrange(len(of_function[name]))))
            if not of_function[name]:
                del of_function[name]
    return found


def noticing(module: str) -> list[str]:
    """The tests that are to notice a mutant of a module: its own first, by the mirrored path."""
    room, *_ = module.split("/")
    own = ROOT / "tests" / module
    named = own.with_name(f"test_{own.name}")
    mirrored = [named] if named.exists() else []
    if own.parent != ROOT / "tests" / room and own.parent.is_dir():
        mirrored.append(own.parent)
    found = [str(one.relative_to(ROOT)) for one in mirrored]
    return [*found, *(one for one in (*ROOMS[room], *SOUNDNESS) if (ROOT / one).exists())]
