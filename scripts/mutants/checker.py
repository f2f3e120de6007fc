"""Mutants of the checker."""

from __future__ import annotations

from scripts.mutants.mutation import Mutation

TRACE = "checker/execution/trace.py"
CASES = "checker/execution/cases.py"
UNKNOWNS = "checker/values/unknowns.py"
ACCESSES = "checker/machine/accesses.py"
ENGINES = "checker/machine/engines.py"
MEMORY = "checker/machine/memory.py"
PERIODS = "checker/loops/periods.py"
HISTORY = "checker/machine/history.py"
DESCRIPTORS = "checker/values/descriptors.py"
PAUSES = "checker/loops/fast_forward.py"
LOOP_RUNS = "checker/loops/loop_runs.py"
REPETITION = "checker/loops/repetition.py"

TESTS = ("tests/checker",)

MUTATIONS = (
    Mutation(
        "checker: reads are not checked",
        ACCESSES,
        "            lost = memory.lost(traced)\n",
        "            lost = memory.lost(traced)[:0]\n",
    ),
    Mutation(
        "checker: a join keeps what one side has",
        MEMORY,
        "            self.held | other.held,\n",
        "            self.held,\n",
    ),
    Mutation(
        "checker: order is not required",
        HISTORY,
        "        return not (latest >= order.surely_past(traced.warps)).any()\n",
        "        return True\n",
    ),
    Mutation(
        "checker: any wait retires everything",
        ENGINES,
        "if closed > keep]",
        "if closed]",
    ),
    Mutation(
        "checker: a join forgets what one side has in flight",
        ENGINES,
        "mine[pending] = mine.get(pending, 0) | threads",
        "mine[pending] = mine.get(pending, 0) & threads",
    ),
    Mutation(
        "checker: uncertain writes are certain",
        MEMORY,
        "        self.held[at] = HELD if certain else held | HELD\n",
        "        self.held[at] = HELD\n",
    ),
    Mutation(
        "checker: uncertain writes destroy nothing",
        MEMORY,
        "        self.held[at] = gone & ~HELD if certain else gone\n",
        "        self.held[at] = gone & ~HELD if certain else held\n",
    ),
    Mutation(
        "checker: one period stands for all",
        PAUSES,
        "    if all(one.at - one.window.first >= SEEN * unit for one in pauses)",
        "    if all(one.at - one.window.first >= unit for one in pauses)",
    ),
    Mutation(
        "checker: a loop that may not run has run",
        TRACE,
        "            merged = before.joined(self.state)\n",
        "            merged = self.state.copy()\n",
    ),
    Mutation(
        "trace: an access that leaves its buffer is not noticed",
        ACCESSES,
        "if leaves and certain and access.access is not Access.READ:",
        "if False:",
    ),
    Mutation(
        "trace: a read that leaves its buffer reads nothing",
        "checker/values/footprints.py",
        "        return np.arange(size), by_anyone(size), True\n",
        "        return units[:0], by_thread[:0], True\n",
    ),
    Mutation(
        "trace: conditions read nothing",
        "checker/execution/statements.py",
        "        if self._relevance.accesses.get(stmt) and agent.threads.count:\n",
        "        if False:\n",
    ),
    Mutation(
        "trace: a loop's bounds are not read again",
        TRACE,
        "self._statements.access(stmt, agent)  # asks again, where no barrier can come before",
        "pass",
    ),
    Mutation(
        "relevance: a bound variable has the loop's period",
        REPETITION,
        "            self._deciding[stmt.var] = self._parts(stmt.value)\n",
        "            self._deciding[stmt.var] = []\n",
    ),
    Mutation(
        "threads: calls answer all alike in the trace",
        "checker/values/evaluation.py",
        "            reading.varies\n            or any(self._variable",
        "            any(self._variable",
    ),
    Mutation(
        "values: what has been decided stays so when a local is set",
        "checker/values/counters.py",
        "        self.version += 1\n",
        "",
    ),
    Mutation(
        "values: what is remembered of an expression that loads is so whatever it loads",
        "checker/values/vectors.py",
        "            *map(identity, loaded.values()),\n",
        "",
    ),
    Mutation(
        "values: a vector store is the same for all",
        "checker/values/evaluation.py",
        "memo.forget(storage, ids)\n            self._varying.add(storage)\n",
        "memo.forget(storage, ids)\n",
    ),
    Mutation(
        "checker: every warp is as far as the first",
        HISTORY,
        "(self.epochs >= clock[traced.warps]) & (self.epochs > 0)",
        "(self.epochs >= clock[traced.warps[:1]]) & (self.epochs > 0)",
    ),
    Mutation(
        "checker: older accesses are forgotten",
        HISTORY,
        "                self._recent = {key: _united(alike), **self._recent}\n",
        "                pass\n",
    ),
    Mutation(
        "checker: a join forgets what one side accessed",
        HISTORY,
        "                twin._recent[key] = entry\n",
        "                pass\n",
    ),
    Mutation(
        "checker: a wait retires what is not committed",
        ENGINES,
        "if closed > keep]",
        "if closed >= keep]",
    ),
    Mutation(
        "checker: a join counts the groups of the arm that has more",
        ENGINES,
        "groups[pending] = min(closed,",
        "groups[pending] = max(closed,",
    ),
    Mutation(
        "checker: a wait is one of all threads that issued the access",
        ENGINES,
        "            left = flying.pop(pending, 0) & ~threads\n",
        "            left = flying.pop(pending, 0) & 0\n",
    ),
    Mutation(
        "checker: a copy of a descriptor stands for nothing",
        DESCRIPTORS,
        "        yield stmt.buffer.storage, stmt.value\n",
        "        pass\n",
    ),
    Mutation(
        "checker: a join forgets what one side described",
        DESCRIPTORS,
        "                twin.describe(made, buffer, where)\n",
        "                pass\n",
    ),
    Mutation(
        "checker: nothing is ever there",
        MEMORY,
        "        self.held[at] = HELD if certain else held | HELD\n",
        "        pass\n",
    ),
    Mutation(
        "checker: copies in flight are ignored",
        ACCESSES,
        "            if traced.is_write or other.is_write\n",
        "            if False\n",
    ),
    Mutation(
        "pauses: phases need not be whole",
        PAUSES,
        "        times = math.lcm(times, 2 * count // math.gcd(2 * count, arrivals))\n",
        "        times = 1\n",
    ),
    Mutation(
        "proxies: no fence is needed",
        ACCESSES,
        "        if other is not None:\n            self._findings.unfenced",
        "        if False:\n            self._findings.unfenced",
    ),
    Mutation(
        "trace: operations inside expressions are nothing",
        "checker/execution/unfollowed.py",
        "        for call in relevance.operations.inside(stmt):\n",
        "        for call in ():\n",
    ),
    Mutation(
        "trace: virtual threads are one",
        "checker/execution/unfollowed.py",
        "constant(stmt.value) != 1:",
        "False:",
    ),
    Mutation(
        "pauses: two periods show all states",
        PERIODS,
        "SEEN = 3\n",
        "SEEN = 2\n",
    ),
    Mutation(
        "proxies: copies that an mbarrier tells of are nobody's",
        ACCESSES,
        "        if other is None:\n            # Copies",
        "        if False:\n            # Copies",
    ),
    Mutation(
        "pauses: locals of threads are those of iterations",
        "checker/loops/repetition.py",
        "            return value if isinstance(value, int) else None  # threads are",
        "            return value  # threads are",
    ),
    Mutation(
        "loop_runs: loops that leave out rounds together need not have as many more",
        "checker/execution/blocks.py",
        "                same &= longer[run.key] == (0 if other is None else longer[other.key])\n",
        "                pass\n",
    ),
    Mutation(
        "loop_runs: rounds that are left out may be any",
        LOOP_RUNS,
        "== others[:, out.at - period : end - period]).all(axis=1)\n",
        "== others[:, out.at : end]).all(axis=1)\n",
    ),
    Mutation(
        "loop_runs: rounds behind those that are left out may be any",
        LOOP_RUNS,
        "            & (others[:, end:] == own[len(own) - behind :]).all(axis=1)\n",
        "",
    ),
    Mutation(
        "loop_runs: any number of rounds more will do",
        LOOP_RUNS,
        "more % out.unit == 0 <= out.skip + more",
        "0 <= out.skip + more",
    ),
    Mutation(
        "cases: two periods show all lengths",
        CASES,
        "        end = self.first + SEEN * self.unit\n",
        "        end = self.first + self.unit\n",
    ),
    Mutation(
        "cases: no length is tried but the large one",
        CASES,
        "        self._try(key, need.lengths())\n",
        "        need.lengths()\n",
    ),
    Mutation(
        "cases: a condition holds",
        CASES,
        "            self._try(key, range(2))\n",
        "            self._try(key, range(1, 2))\n",
    ),
    Mutation(
        "unknowns: what the kernel writes stays the same",
        UNKNOWNS,
        "        self._changing = relevance.written | relevance.escaped\n",
        "        self._changing = set()\n",
    ),
    Mutation(
        "unknowns: what depends on a length matters by its value in the case",
        UNKNOWNS,
        "lengths[0], up.first, up.period, down.first)\n        return value\n",
        "lengths[0], 0, 1, 0)\n        return value\n",
    ),
    Mutation(
        "unknowns: what is given for one round is so for all",
        UNKNOWNS,
        "        if not written.even:\n",
        "        if False:\n",
    ),
    Mutation(
        "courses: a rest comes round again after one period",
        "semantics/recurrences.py",
        "        times = number // math.gcd(number, course.step)\n",
        "        times = 1\n",
    ),
    Mutation(
        "courses: values that go apart compare alike at once",
        "semantics/recurrences.py",
        "        return Course(apart.first + periods * apart.period, apart.period)\n",
        "        return Course(apart.first, apart.period)\n",
    ),
)
