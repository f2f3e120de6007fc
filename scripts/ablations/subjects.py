"""What is measured with a mechanism on or off: verbs on dumps, and lowerings in TileLang.

A subject gives back what was decided of it, in terms of JSON, and the CPU seconds that it took.
"""

from __future__ import annotations

import contextlib
import io
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.ablations.switches import SWITCHES, named, probed

VERBS = {
    "plan": ("--objective", "bytes"),
    "lint": ("--no-cache",),  # what is kept would hide what is off, or keep what came of it
}

WORDS = {
    *("seconds", "witness", "message", "text", "why", "reason", "reasons", "assumptions"),
    *("notes", "detail", "uncovered", "unproved_because", "hint", "mend", "title", "help"),
}
"""Fields of the verbs' JSON that only say in words what others decide."""

Task = tuple[str, str, str]
"""A file, what is asked of it, and the mechanism that is off: "" for none, "?" to probe all."""


def measured(task: Task) -> dict[str, Any]:
    """The decisions and CPU seconds of one task, and which mechanisms acted where it probes."""
    path, kind, off = task
    with contextlib.ExitStack() as stack:
        acted: set[str] = set()
        if off == "?":
            chosen = tuple(one for one in SWITCHES if kind == "lower" or kind in one.verbs)
            acted = stack.enter_context(probed(chosen))
        elif off:
            stack.enter_context(named(off).off())
        begin = time.process_time()
        if kind == "lower":
            decided, taken = _lowered(Path(path))
        else:
            decided, taken = _told(kind, path), time.process_time() - begin
    return {"decided": decided, "cpu": round(taken, 3), "acted": sorted(acted)}


def _told(verb: str, path: str) -> Any:
    """What a verb decides of a dump: its JSON without the words, or how it failed."""
    from click import ClickException

    from smemreuse.cli import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            main([verb, path, *VERBS[verb], "--format", "json"], standalone_mode=False)
        except ClickException as error:
            return {"failed": error.format_message()}
        except SystemExit as error:
            if not out.getvalue():
                return {"failed": f"exit {error.code}"}
    return _without_words(json.loads(out.getvalue()))


def _without_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_words(one) for key, one in value.items() if key not in WORDS}
    return [_without_words(one) for one in value] if isinstance(value, list) else value


def _lowered(path: Path) -> tuple[Any, float]:
    """What is applied in lowerings of a function for each objective, what `lint` says of the
    kernels, and the seconds that smemreuse added."""
    import smemreuse.tilelang
    from scripts.applied.measure import Function

    function, taken = Function(path), 0.0
    decided: dict[str, Any] = {}
    for objective in ("speed", "bytes"):
        with smemreuse.tilelang.merge(objective=objective) as session:
            try:
                function.lower()
            except Exception as error:
                return {"failed": type(error).__name__}, 0.0
        taken += session.seconds
        decided[objective] = {
            "kernels": [
                {"name": kernel.kernel.name, "plans": [_applied(one) for one in kernel.plans]}
                for kernel in session.kernels
            ],
            "left": len(session.left),
        }
    reports = [kernel.lint() if kernel.lint else None for kernel in session.kernels]
    decided["lint"] = [
        one and {"status": str(one.status), "hazards": [str(h.kind) for h in one.hazards]}
        for one in reports
    ]
    return decided, taken


def _applied(applied: Any) -> dict[str, Any]:
    plan = applied.plan
    return {
        "scope": plan.scope,
        "arena": plan.arena_bytes,
        "offsets": [[buffer.name, offset] for buffer, offset in plan.offsets.items()],
        "verdict": str(applied.verdict.verdict),
        "origin": plan.provenance.origin.value,
    }


def brief(decided: Any, kind: str) -> Any:
    """Of decisions what a reader wants to see first: arenas, verdicts, statuses."""
    if not isinstance(decided, dict) or "failed" in decided:
        return decided
    if kind == "plan":
        return [_of_plan(one) for one in decided.get("kernels", ())]
    if kind == "lint":
        return [_of_lint(one) for one in decided.get("kernels", ())]
    plans: Sequence[Any] = [
        [objective, each["scope"], each["arena"], each["verdict"], each["origin"]]
        for objective in ("speed", "bytes")
        for kernel in decided[objective]["kernels"]
        for each in kernel["plans"]
    ]
    hazards = [one and [one["status"], len(one["hazards"])] for one in decided["lint"]]
    return [*plans, ["lint", hazards]]


def _of_plan(kernel: Any) -> Any:
    return [kernel.get(key) for key in ("name", "scope", "arena_bytes", "optimal", "kept")]


def _of_lint(kernel: Any) -> Any:
    return [kernel["name"], kernel["status"], len(kernel["hazards"]), len(kernel["unknown"])]
