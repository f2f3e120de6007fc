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
FLOW_TESTS = (
    "tests/analysis/test_async_lifetimes.py",
    "tests/analysis/test_barriers.py",
    "tests/analysis/test_divergence.py",
    "tests/analysis/test_privatization.py",
    "tests/analysis/test_solver.py",
    "tests/policies/test_dataflow.py",
)
TABLE_TESTS = "tests/semantics"
EVALUATE_TESTS = "tests/semantics/test_evaluate.py"
BOUNDS_TESTS = "tests/analysis/test_bounds.py"
AUDIT_TESTS = "tests/audit"
TIMEOUT = 240

SOLVER = "analysis/solver.py"
PRIVATIZATION = "analysis/privatization.py"
DIVERGENCE = "analysis/divergence.py"
ASYNC_LIFETIMES = "analysis/async_lifetimes.py"
DATAFLOW = "policies/dataflow.py"
LIVENESS = "analysis/liveness.py"
LINEARIZE = "analysis/linearize.py"
TRACE = "checker/trace.py"
ACCESSES = "checker/accesses.py"
ENGINES = "checker/engines.py"
MEMORY = "checker/memory.py"
RELEVANCE = "checker/relevance.py"
BARRIERS = "analysis/barriers.py"
TABLE = "semantics/table.py"
SEMANTIC_ACCESSES = "semantics/accesses.py"
FOREIGN = "semantics/foreign.py"
PAUSES = "checker/pauses.py"
REPETITION = "checker/repetition.py"
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
        "privatization: everything is private",
        PRIVATIZATION,
        "    analysis = _UpwardExposed(facts, buffer)\n",
        "    return True\n    analysis = _UpwardExposed(facts, buffer)\n",
    ),
    Mutation(
        "privatization: partial writes count as full",
        PRIVATIZATION,
        "            written[where] = True  # P2\n",
        "            written[:] = True\n",
    ),
    Mutation(
        "privatization: predicated writes count",
        PRIVATIZATION,
        "        elif access.certain and group.exact and",
        "        elif group.exact and",
    ),
    Mutation(
        "privatization: threads that data choose all count",
        PRIVATIZATION,
        "        elif access.certain and group.exact and",
        "        elif access.certain and",
    ),
    Mutation(
        "privatization: conditional writes count",
        PRIVATIZATION,
        "one.written & other.written\n",
        "one.written | other.written\n",
    ),
    Mutation(
        "privatization: an arm counts on the other",
        PRIVATIZATION,
        "_State(one.group, one.written | other.written)  # P3",
        "_State(one.group, one.written | True)",
    ),
    Mutation(
        "privatization: who goes round a loop does not matter",
        PRIVATIZATION,
        "        if self._rounds_may_differ(stmt, state.group.threads):  # P4\n",
        "        if False:\n",
    ),
    Mutation(
        "privatization: what is read after the loop is ignored",
        PRIVATIZATION,
        "            if needed and not all(",
        "            if False and not all(",
    ),
    Mutation(
        "privatization: what is cut short is whole",
        PRIVATIZATION,
        "ends = [state for way, state in found.jumps.items() if way is not Leaving.RETURN]",
        "ends = []",
    ),
    Mutation(
        "privatization: the period is one too short",
        PRIVATIZATION,
        "        return values[:period] if loop.step",
        "        return values[: max(period - 1, 1)] if loop.step",
    ),
    Mutation(
        "privatization: a `while` is a loop like others",
        PRIVATIZATION,
        "    if isinstance(loop, While) or group is None",
        "    if group is None",
    ),
    Mutation(
        "dataflow: a carried buffer never matters",
        DATAFLOW,
        "                if self._matters(buffer, begin, end):\n",
        "                if False:\n",
    ),
    Mutation(
        "dataflow: only the outermost loop is looked at",
        DATAFLOW,
        "        for loop in reversed(loops):\n",
        "        for loop in loops[:1]:\n",
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
        "        grown.while_in_flight()\n",
        "        pass\n",
    ),
    Mutation(
        "dataflow: kept addresses are ignored",
        DATAFLOW,
        "    grown.where_unknown()\n",
        "",
    ),
    Mutation(
        "in flight: what outlasts an iteration is not carried",
        ASYNC_LIFETIMES,
        "frozenset(carried)",
        "frozenset()",
    ),
    Mutation(
        "in flight: jumps carry nothing",
        ASYNC_LIFETIMES,
        "(outcome.end, *outcome.jumps.values())",
        "(outcome.end,)",
    ),
    Mutation(
        "in flight: any wait retires everything",
        ASYNC_LIFETIMES,
        "    return keep is None or keep >= len(call.args) or call.args[keep] == Const(0)\n",
        "    return True\n",
    ),
    Mutation(
        "in flight: nothing has to be committed",
        ASYNC_LIFETIMES,
        "_InFlight(access.buffer, access.engine, not in_groups, slot)",
        "_InFlight(access.buffer, access.engine, True, slot)",
    ),
    Mutation(
        "in flight: what is never retired is forgotten",
        ASYNC_LIFETIMES,
        "frozenset(_flying(outcome))",
        "frozenset()",
    ),
    Mutation(
        "threads: who left is still there",
        DIVERGENCE,
        "        if complete or after.is_all_of(before):\n",
        "        if True:\n",
    ),
    Mutation(
        "threads: data part them as they please",
        DIVERGENCE,
        "some = state.inexact() if self.depends_on_thread(stmt.condition) else state",
        "some = state",
    ),
    Mutation(
        "threads: parts of warps are whole",
        DIVERGENCE,
        "        return bool(((there == 0) | (there == sizes)).all())\n",
        "        return True\n",
    ),
    Mutation(
        "solver: who breaks off is forgotten",
        SOLVER,
        "        end = _either(end, jumps.get(Leaving.BREAK), self._analysis.join)  # S6\n",
        "",
    ),
    Mutation(
        "solver: who continues is forgotten",
        SOLVER,
        "_either(found.end, found.jumps.get(Leaving.CONTINUE), self._analysis.join)",
        "found.end",
    ),
    Mutation(
        "solver: loops are gone round once",
        SOLVER,
        "            head = head if back is None else join(head, back)\n",
        "            break\n",
    ),
    Mutation(
        "solver: every loop has a round",
        SOLVER,
        "end = last.back if self._analysis.surely_runs(loop) else",
        "end = last.back if last.back is not None else",
    ),
    Mutation(
        "solver: a loop goes on from another iteration",
        SOLVER,
        "            self._settled = {}  # another round may well begin with less\n",
        "",
    ),
    Mutation(
        "solver: arms that some leave are united",
        SOLVER,
        "self._analysis.unite if arms.concurrent and not jumps else",
        "self._analysis.unite if arms.concurrent else",
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
        "for one in accesses if one.named)",
        "for one in accesses if one.named and one.access is not Access.READ)",
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
        "        if traced.certain:\n            shadow.ok[at] = True\n",
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
        PAUSES,
        "    if all(one.at - one.window.first >= 2 * unit for one in pauses)",
        "    if all(one.at - one.window.first >= unit for one in pauses)",
    ),
    Mutation(
        "checker: a loop that may not run has run",
        TRACE,
        "            merged = before.joined(self.state)\n",
        "            merged = self.state.copy()\n",
    ),
    Mutation(
        "barriers: what was needed once is not the next time",
        BARRIERS,
        "        if stmt in self.needed or self._collides(stmt, state):  # B5\n",
        "        if self._collides(stmt, state):\n",
    ),
    Mutation(
        "barriers: what a statement does behind its own barrier comes before it",
        BARRIERS,
        "            return None  # nothing behind it comes before it\n",
        "            return state\n",
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
        "            state |= self._meetings.in_flight  # B3\n",
        "            pass\n",
    ),
    Mutation(
        "barriers: threads that returned are waited for",
        BARRIERS,
        "    if found.threads_return:\n        return set()\n",
        "",
    ),
    Mutation(
        "table: what has no row is over when the thread goes on",
        TABLE,
        "        engine=Engine.UNKNOWN_ASYNC,\n",
        "",
    ),
    Mutation(
        "table: what has no row is covered",
        TABLE,
        "        unknown=reason,\n    )\n",
        "    )\n",
    ),
    Mutation(
        "table: any number of operands is a form that is known",
        TABLE,
        "    if effect.arity is None or len(call.args) in effect.arity:\n",
        "    if True:\n",
    ),
    Mutation(
        "accesses: what an operation is handed is not gone to",
        SEMANTIC_ACCESSES,
        "        elif not effect.hands_on:\n",
        "        elif True:\n",
    ),
    Mutation(
        "accesses: conditions of certainty hold",
        SEMANTIC_ACCESSES,
        "    return at < len(operands) and constant(operands[at]) == operand.certain.value\n",
        "    return True\n",
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
        REPETITION,
        "            self._deciding[stmt.var] = self._parts(stmt.value)\n",
        "            self._deciding[stmt.var] = []\n",
    ),
    Mutation(
        "pauses: phases need not be whole",
        PAUSES,
        "        times = math.lcm(times, 2 * count // math.gcd(2 * count, arrivals))\n",
        "        times = 1\n",
    ),
    Mutation(
        "evaluate: unsigned differences do not wrap",
        EVALUATE,
        "    return _wrapped(_plain(_BINARY[op](a, b)), bits), bits\n",
        "    return _plain(_BINARY[op](a, b)), bits\n",
    ),
    Mutation(
        "threads: calls answer all alike",
        DIVERGENCE,
        "        or (isinstance(node, Call) and varies_by_thread(node))\n",
        "",
    ),
    Mutation(
        "threads: calls answer all alike in the trace",
        "checker/values.py",
        "elif isinstance(expr, Call) and varies_by_thread(expr):",
        "elif False:",
    ),
    Mutation(
        "values: a vector store is the same for all",
        "checker/values.py",
        "            counters.forget(storage, ids)\n            self._varying.add(storage)\n",
        "            counters.forget(storage, ids)\n",
    ),
    Mutation(
        "foreign: an element is handed over by value",
        FOREIGN,
        "        by_reference=not takes_values(call),\n",
        "",
    ),
)


def main() -> int:
    options = _parse()
    chosen = [one for one in MUTATIONS if options.k in one.name]
    begin = time.monotonic()
    tests = [REGRESSIONS, *FLOW_TESTS, ENGINE_TESTS, TABLE_TESTS, BOUNDS_TESTS, AUDIT_TESTS]
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
