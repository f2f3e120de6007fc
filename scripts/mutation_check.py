"""Breaks one rule of the analysis or of the checker at a time; the tests must notice every time.

    python -m scripts.mutation_check [-k NAME] [TEST ...]

Works on a copy of the package in a temporary folder. Runs the soundness tests, and the tests given
as arguments, against each mutant. Exit 1 if one survives, 2 if one no longer applies to the source.
"""

from __future__ import annotations

import argparse
import multiprocessing.pool
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOUNDNESS = "tests/soundness/test_random_kernels.py"
REGRESSIONS = "tests/soundness/test_regressions.py"
ENGINE_TESTS = "tests/checker/test_engines.py"
BARRIER_TESTS = "tests/analysis/test_barriers.py"
INTRINSIC_TESTS = "tests/semantics/test_intrinsics.py"
EVALUATE_TESTS = "tests/semantics/test_evaluate.py"
BOUNDS_TESTS = "tests/analysis/test_bounds.py"
AUDIT_TESTS = "tests/audit"
TIMEOUT = 240

LOCALITY = "analysis/privatization.py"
DATAFLOW = "policies/dataflow.py"
INFLIGHT = "analysis/async_lifetimes.py"
LIVENESS = "analysis/liveness.py"
LINEARIZE = "analysis/linearize.py"
TRACE = "checker/trace.py"
ACCESSES = "checker/accesses.py"
ENGINES = "checker/engines.py"
MEMORY = "checker/memory.py"
RELEVANCE = "checker/relevance.py"
BARRIERS = "analysis/barriers.py"
INTRINSICS = "semantics/intrinsics.py"
BOUNDS = "analysis/bounds.py"
EVALUATE = "semantics/evaluate.py"
VIEWS = "audit/views.py"
POINTERS = "audit/pointers.py"
AUDIT = "audit/audit.py"


@dataclass(frozen=True)
class Mutation:
    """A text in a module, and what to put in its place."""

    name: str
    module: str
    old: str
    new: str

    def apply(self, package: Path) -> None:
        path = package / self.module
        source = path.read_text()
        if source.count(self.old) != 1:
            raise Stale(f"{self.name}: {source.count(self.old)} places in {self.module}")
        path.write_text(source.replace(self.old, self.new))


class Stale(Exception):
    """The source has changed so that a mutation does not apply."""


MUTATIONS = (
    Mutation(
        "locality: everything is local",
        LOCALITY,
        "        needed = self._read_outside(loop, buffer)\n",
        "        return True\n        needed = self._read_outside(loop, buffer)\n",
    ),
    Mutation(
        "locality: partial writes count as full",
        LOCALITY,
        "            written[where] = True\n",
        "            written[:] = True\n",
    ),
    Mutation(
        "locality: predicated writes count",
        LOCALITY,
        "access.access is Access.WRITE and access.certain and",
        "access.access is Access.WRITE and",
    ),
    Mutation(
        "locality: conditional writes count",
        LOCALITY,
        "        written |= then & orelse\n",
        "        written |= then | orelse\n",
    ),
    Mutation(
        "locality: a loop that may not run counts",
        LOCALITY,
        "return self._exposed(stmt.body, buffer, threads, written.copy())",
        "return self._exposed(stmt.body, buffer, threads, written)",
    ),
    Mutation(
        "locality: threads that data choose all count",
        LOCALITY,
        "self._counting and not some",
        "self._counting",
    ),
    Mutation(
        "locality: what is read after the loop is ignored",
        LOCALITY,
        "            if needed and not written.all():\n",
        "            if False and needed and not written.all():\n",
    ),
    Mutation(
        "locality: the period is one too short",
        LOCALITY,
        "            return values[:period] if loop.step",
        "            return values[: max(period - 1, 1)] if loop.step",
    ),
    Mutation(
        "locality: iterations cut short are whole",
        LOCALITY,
        "        if leaves(loop) or self._threads_leave:\n",
        "        if False:\n",
    ),
    Mutation(
        "dataflow: a carried buffer never matters",
        DATAFLOW,
        "                    if self._matters(buffer, begin, end + 1):\n",
        "                    if False:\n",
    ),
    Mutation(
        "dataflow: loops are looked at once, outermost first",
        DATAFLOW,
        "            for loop in reversed(loops):\n",
        "            for loop in loops[:1]:\n",
    ),
    Mutation(
        "dataflow: a loop of two iterations runs once",
        DATAFLOW,
        "stmt.extent in (Const(0), Const(1))",
        "stmt.extent in (Const(0), Const(1), Const(2))",
    ),
    Mutation(
        "dataflow: divergent arms do not conflict",
        DATAFLOW,
        "isinstance(stmt, If) and stmt.orelse and self._flow.is_divergent(stmt)",
        "False",
    ),
    Mutation(
        "dataflow: in-flight copies are ignored",
        DATAFLOW,
        "            self._extend_in_flight()\n",
        "            pass\n",
    ),
    Mutation(
        "in flight: what outlasts an iteration is not carried",
        INFLIGHT,
        "        self.found.carried |= {(stmt, issued.buffer) for issued in after}\n",
        "",
    ),
    Mutation(
        "in flight: any wait retires everything",
        INFLIGHT,
        "    everything = not call.args or call.args[0] == Const(0)\n",
        "    everything = True\n",
    ),
    Mutation(
        "in flight: what is never retired is forgotten",
        INFLIGHT,
        "        walker.found.never_retired = {issued.buffer for issued in left}\n".lstrip(" "),
        "walker.found.never_retired = set()\n",
    ),
    Mutation(
        "liveness: a kill acts one entry early",
        LIVENESS,
        "kill[buffer] + 1)",
        "max(kill[buffer], begin + 1))",
    ),
    Mutation(
        "liveness: reads do not keep alive",
        LINEARIZE,
        "self._leaf(stmt, touches_of_store(stmt, self._aliases))",
        "self._leaf(stmt, list(touches_of_store(stmt, self._aliases))[-1:])",
    ),
    Mutation(
        "checker: reads are not checked",
        ACCESSES,
        "            lost = memory.lost(traced)\n",
        "            lost = memory.lost(traced)[:0]\n",
    ),
    Mutation(
        "checker: a join keeps what one side has",
        MEMORY,
        "            self.ok & other.ok,\n",
        "            self.ok | other.ok,\n",
    ),
    Mutation(
        "checker: a join forgets what one side defined",
        MEMORY,
        "            self.defined | other.defined,\n",
        "            self.defined & other.defined,\n",
    ),
    Mutation(
        "checker: order is not required",
        ACCESSES,
        "            if unordered.any():\n",
        "            if False:\n",
    ),
    Mutation(
        "checker: copies in flight are ignored",
        ACCESSES,
        "            if flying.buffer is partner and",
        "            if False and flying.buffer is partner and",
    ),
    Mutation(
        "checker: any wait retires everything",
        ENGINES,
        "        cut = max(len(self.groups) - keep, 0)\n",
        "        cut = len(self.groups)\n",
    ),
    Mutation(
        "checker: a join forgets what one side has in flight",
        ENGINES,
        "twin.pending.get(pending, frozenset()) | warps",
        "twin.pending.get(pending, frozenset()) & warps",
    ),
    Mutation(
        "checker: nothing is ever defined",
        MEMORY,
        "        shadow.defined[at] = True\n",
        "        pass\n",
    ),
    Mutation(
        "checker: uncertain writes are certain",
        MEMORY,
        "        if touch.certain:\n            shadow.ok[at] = True\n",
        "        if True:\n            shadow.ok[at] = True\n",
    ),
    Mutation(
        "checker: uncertain writes destroy nothing",
        MEMORY,
        "        shadow.ok[at] = False\n",
        "        shadow.ok[at] &= not touch.certain\n",
    ),
    Mutation(
        "checker: one period stands for all",
        RELEVANCE,
        "        return range(2 * period + count % period)\n",
        "        return range(period)\n",
    ),
    Mutation(
        "checker: a loop that may not run has run",
        TRACE,
        "            merged = before.joined(self.state)\n",
        "            merged = self.state.copy()\n",
    ),
    Mutation(
        "barriers: loops are walked once",
        BARRIERS,
        "            if after <= around and known == len(self.needed):\n",
        "            if after is not None:\n",
    ),
    Mutation(
        "barriers: divergent branches are entered",
        BARRIERS,
        "            return self._flow.is_divergent(stmt) or leaves(stmt)\n",
        "            return leaves(stmt)\n",
    ),
    Mutation(
        "barriers: a wait is no access",
        BARRIERS,
        "            return pending | self._in_flight\n",
        "            return pending\n",
    ),
    Mutation(
        "barriers: threads that returned are waited for",
        BARRIERS,
        "    if calls_any(kernel.body, RETURNING_OPS):\n        return set()\n",
        "",
    ),
    Mutation(
        "intrinsics: what is not known is over",
        INTRINSICS,
        "    return Engine.UNKNOWN_ASYNC if is_instruction and op not in _SYNCHRONOUS "
        "else Engine.THREAD\n",
        "    return Engine.THREAD\n",
    ),
    Mutation(
        "bounds: a vector is its first lane",
        BOUNDS,
        "        return _ramp(expr, ranges)\n",
        "        return bounds(expr.args[0], ranges)\n",
    ),
    Mutation(
        "bounds: the last launch counts alone",
        BOUNDS,
        "    known = ranges.get(var, (begin, begin + count - 1))\n",
        "    known = (begin, begin + count - 1)\n",
    ),
    Mutation(
        "audit: addresses of views are ignored",
        VIEWS,
        "        if arena in escaping(stmt):\n",
        "        if False:\n",
    ),
    Mutation(
        "audit: views that disturb each other are sound",
        AUDIT,
        "replace(verdict, verdict=UNPROVED).doubted((PERHAPS_ONE,))",
        "replace(verdict, verdict=type(UNPROVED).SOUND, violations=())",
    ),
    Mutation(
        "audit: a buffer is cut to what its arena has left",
        POINTERS,
        "max(declared[var], min(reached[var], room[var]), 1)",
        "max(min(max(declared[var], reached[var]), room[var]), 1)",
    ),
    Mutation(
        "audit: what may lie beyond the arena is no doubt",
        AUDIT,
        "verdict.doubted(applied.beyond)",
        "verdict",
    ),
    Mutation(
        "trace: an access that leaves its buffer is not noticed",
        ACCESSES,
        "if leaves and certain and access.access is not Access.READ:",
        "if False:",
    ),
    Mutation(
        "trace: a read that leaves its buffer reads nothing",
        "checker/footprints.py",
        "        return np.arange(size), by_anyone(size), True\n",
        "        return units[:0], by_thread[:0], True\n",
    ),
    Mutation(
        "trace: conditions read nothing",
        TRACE,
        "        if self._relevance.accesses.get(stmt) and agent.threads.count:\n",
        "        if False:\n",
    ),
    Mutation(
        "trace: a loop's bounds are not read again",
        TRACE,
        "self._access(stmt, agent)  # asks again, where no barrier can come before",
        "pass",
    ),
    Mutation(
        "relevance: a bound variable has the loop's period",
        RELEVANCE,
        "                    crooked.add(stmt.var)  # `k // 4` has another period than `k`\n",
        "                    pass\n",
    ),
    Mutation(
        "relevance: inner loops step equally often",
        RELEVANCE,
        "            elif isinstance(stmt, For) and self._steps_differ(stmt, varies):\n",
        "            elif False:\n",
    ),
    Mutation(
        "evaluate: unsigned differences do not wrap",
        EVALUATE,
        "    return _wrapped(_plain(_BINARY[op](a, b)), bits), bits\n",
        "    return _plain(_BINARY[op](a, b)), bits\n",
    ),
    Mutation(
        "threads: calls answer all alike",
        "analysis/threadflow.py",
        "            or (isinstance(node, Call) and node.op not in SAME_FOR_SAME)\n",
        "",
    ),
    Mutation(
        "threads: calls answer all alike in the trace",
        "checker/values.py",
        "elif isinstance(expr, Call) and expr.op not in SAME_FOR_SAME:",
        "elif False:",
    ),
    Mutation(
        "values: a vector store is the same for all",
        "checker/values.py",
        "            counters.forget(storage, ids)\n            self._varying.add(storage)\n",
        "            counters.forget(storage, ids)\n",
    ),
    Mutation(
        "intrinsics: an element is handed over by value",
        INTRINSICS,
        "    engine, by_value = _engine(call), takes_values(call)\n",
        "    engine, by_value = _engine(call), True\n",
    ),
)


def main() -> int:
    options = _parse()
    chosen = [one for one in MUTATIONS if options.k in one.name]
    begin = time.monotonic()
    tests = [REGRESSIONS, ENGINE_TESTS, BARRIER_TESTS, INTRINSIC_TESTS, BOUNDS_TESTS, AUDIT_TESTS]
    tests += [EVALUATE_TESTS, SOUNDNESS]
    tests += options.tests
    failing = _failing_tests(tests)
    for test in failing:
        print(f"left out, fails without any mutation: {test}", flush=True)
        tests += ["--deselect", test]
    outcomes = {}
    with multiprocessing.pool.ThreadPool(options.jobs) as pool:
        runs = pool.imap(lambda mutation: (mutation, *noticed_by(mutation, tests)), chosen)
        for mutation, by, seconds in runs:
            outcomes[mutation.name] = by
            verdict = f"noticed by {by}" if by else "SURVIVED"
            print(f"{mutation.name}: {verdict} ({seconds:.0f} s)", flush=True)
    survivors = [name for name, by in outcomes.items() if not by]
    stale = [name for name, by in outcomes.items() if by.startswith("nothing:")]
    seconds = time.monotonic() - begin
    print(
        f"{len(outcomes)} mutants, {len(survivors)} survived, {len(stale)} stale, {seconds:.0f} s"
    )
    return 1 if survivors else 2 if stale else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tests", nargs="*", help="further tests, for instance tests/planner")
    parser.add_argument("-k", default="", help="only mutations whose names contain this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def noticed_by(mutation: Mutation, tests: list[str]) -> tuple[str, float]:
    """The test that fails on a mutant, "" if none does, and how long it took."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="smemreuse-mutant-") as folder:
        copy = _copy_to(folder)
        try:
            mutation.apply(copy / "smemreuse")
        except Stale as error:
            return f"nothing: it does not apply ({error})", 0.0
        try:
            result = _pytest(copy, ["-x", *tests])
        except subprocess.TimeoutExpired:
            return "the time limit", time.monotonic() - begin
    seconds = time.monotonic() - begin
    if result.returncode == 0:
        return "", seconds
    failed = _failed(result.stdout)
    return (failed[0] if failed else "nothing: " + result.stdout[-500:]), seconds


def _failing_tests(tests: list[str]) -> list[str]:
    """Those that fail on the package as it is."""
    with tempfile.TemporaryDirectory(prefix="smemreuse-mutant-") as folder:
        return _failed(_pytest(_copy_to(folder), tests).stdout)


def _copy_to(folder: str) -> Path:
    copy = Path(folder)
    for part in ("smemreuse", "tests", "fixtures", "scripts"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.cfg", copy)
    return copy


def _pytest(copy: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [*command, *arguments],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def _failed(report: str) -> list[str]:
    """The tests that a report of pytest says failed."""
    lines = [line for line in report.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return [line.split(" ", 1)[1].split(" - ")[0] for line in lines]


if __name__ == "__main__":
    sys.exit(main())
