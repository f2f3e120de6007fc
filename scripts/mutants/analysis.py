"""Mutants of the analysis: of its lattices, their clauses, and the liveness made of them."""

from __future__ import annotations

from scripts.mutants.mutation import Mutation

SOLVER = "analysis/solver.py"
PRIVATIZATION = "analysis/privatization.py"
DIVERGENCE = "analysis/divergence.py"
ASYNC_LIFETIMES = "analysis/async_lifetimes.py"
DATAFLOW = "policies/dataflow.py"
LIVENESS = "analysis/liveness.py"
LINEARIZE = "analysis/linearize.py"
BARRIERS = "analysis/barriers.py"
BOUNDS = "analysis/bounds.py"

TESTS = (
    "tests/analysis",
    "tests/policies/test_dataflow.py",
)

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
        "bounds: a vector is its first lane",
        BOUNDS,
        "        return _ramp(expr, ranges)\n",
        "        return bounds(expr.args[0], ranges)\n",
    ),
    Mutation(
        "threads: calls answer all alike",
        DIVERGENCE,
        "        or (isinstance(node, Call) and varies_by_thread(node))\n",
        "",
    ),
)
