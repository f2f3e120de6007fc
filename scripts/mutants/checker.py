"""Mutants of the checker."""

from __future__ import annotations

from scripts.mutants.mutation import Mutation

MBARRIERS = "checker/mbarriers.py"
MEETINGS = "checker/meetings.py"
ORDER = "checker/order.py"
SIGNALS = "checker/signals.py"
SYNCHRONIZATION = "checker/synchronization.py"
TRACE = "checker/trace.py"
ACCESSES = "checker/accesses.py"
ENGINES = "checker/engines.py"
MEMORY = "checker/memory.py"
PERIODS = "checker/periods.py"
HISTORY = "checker/history.py"
DESCRIPTORS = "checker/descriptors.py"
PAUSES = "checker/pauses.py"
REPETITION = "checker/repetition.py"

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
        "        if ((latest >= order.sure[traced.warps]) & (latest > 0)).any():\n",
        "        if False:\n",
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
        "mbarriers: arrivals beyond those expected are one phase's",
        MBARRIERS,
        "if self.expected is not None and self.arrived > self.expected:",
        "if False:",
    ),
    Mutation(
        "mbarriers: bytes that are not announced are waited for",
        MBARRIERS,
        "        if self.bytes_due < 0:\n",
        "        if False:\n",
    ),
    Mutation(
        "mbarriers: an arm's copies are complete with the other's phase",
        MBARRIERS,
        "copies=self.copies & other.copies",
        "copies=self.copies | other.copies",
    ),
    Mutation(
        "mbarriers: an arm's arrivals hand over what the other's do",
        MBARRIERS,
        "            handed = self.handed & other.handed\n",
        "            handed = self.handed | other.handed\n",
    ),
    Mutation(
        "mbarriers: a phase hands over what both arms' would together",
        MBARRIERS,
        "tuple(mine & theirs for mine, theirs in both)",
        "tuple(mine | theirs for mine, theirs in both)",
    ),
    Mutation(
        "mbarriers: initialized again, it is the same",
        MBARRIERS,
        "        return Barrier(expected, self.initialized + 1)\n",
        "        return replace(self, expected=expected)\n",
    ),
    Mutation(
        "mbarriers: what is known of the old one is of the new",
        MBARRIERS,
        "        return (slot, self[slot].initialized)\n",
        "        return (slot, 0)\n",
    ),
    Mutation(
        "mbarriers: a wait is over with the phase of this schedule",
        SIGNALS,
        "        complete = barriers[slot].earliest(parity, known)\n",
        "        complete = barriers[slot].phase\n",
    ),
    Mutation(
        "mbarriers: parts of warps learn what they wait for",
        SIGNALS,
        "            full = self._vectors.full_warps(threads.ids)\n            if len(full)",
        "            full = self._vectors.warps(threads.ids)\n            if len(full)",
    ),
    Mutation(
        "mbarriers: an unknown few that arrive are all",
        SIGNALS,
        "        if agent.partly:\n",
        "        if False:\n",
    ),
    Mutation(
        "mbarriers: a signal counts for the phase of this schedule",
        SIGNALS,
        "        if known.phase(barriers.incarnation(slot)) < barriers[slot].phase:\n",
        "        if False:\n",
    ),
    Mutation(
        "mbarriers: another block's are one's own",
        SIGNALS,
        "        if effect.remote:\n",
        "        if False:\n",
    ),
    Mutation(
        "mbarriers: an arrival that releases nothing hands over all",
        SIGNALS,
        " or not effect.mbarrier.hands_over:",
        ":",
    ),
    Mutation(
        "mbarriers: copies that arrive hand over what their thread did",
        SIGNALS,
        "        if engine is not Engine.THREAD or not effect.mbarrier",
        "        if not effect.mbarrier",
    ),
    Mutation(
        "mbarriers: whoever arrives does so once",
        SIGNALS,
        "        return each * threads.count\n",
        "        return threads.count\n",
    ),
    Mutation(
        "mbarriers: who is handed one does nothing to it",
        SYNCHRONIZATION,
        "        if may_signal(call, effect):\n",
        "        if False:\n",
    ),
    Mutation(
        "named barriers: all have one number",
        MEETINGS,
        "        return self._vectors.uniform(self._values(call.args[at], threads))\n",
        "        return 0\n",
    ),
    Mutation(
        "named barriers: whoever comes is among one's own",
        MEETINGS,
        "        if last.group != group and known < last.number:\n",
        "        if False:\n",
    ),
    Mutation(
        "named barriers: only those who met last may come again",
        MEETINGS,
        "        if last.group != group and known < last.number:\n",
        "        if last.group != group:\n",
    ),
    Mutation(
        "barriers of warps: any mask is for all lanes",
        MEETINGS,
        "        return isinstance(mask, int) and mask % 2**32 == _ALL_LANES\n",
        "        return True\n",
    ),
    Mutation(
        "order: what is assumed is sure",
        ORDER,
        "            self._meet(warps, self._clocks[:1])\n",
        "            self.barrier(warps)\n",
    ),
    Mutation(
        "order: parts of warps hand over what they did",
        ORDER,
        "        clocks = self._clocks[:, warps].min(axis=1)\n",
        "        return self.release(warps)\n",
    ),
    Mutation(
        "order: a join keeps what one side knows",
        ORDER,
        "[one & two for one, two in zip(self.known, other.known, strict=True)]",
        "[one | two for one, two in zip(self.known, other.known, strict=True)]",
    ),
    Mutation(
        "order: a join keeps what one side has ordered",
        ORDER,
        "np.minimum(self._clocks, other._clocks)",
        "np.maximum(self._clocks, other._clocks)",
    ),
    Mutation(
        "order: a join's epochs are those of one side",
        ORDER,
        "        twin.epochs = np.maximum(self.epochs, other.epochs)\n",
        "        twin.epochs = self.epochs.copy()\n",
    ),
    Mutation(
        "checker: every warp is as far as the first",
        HISTORY,
        "        unordered = self.epochs >= clock[traced.warps]\n",
        "        unordered = self.epochs >= clock[traced.warps[:1]]\n",
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
        "            if (mine.is_write or other.is_write) and meeting",
        "            if False and meeting",
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
        "proxies: reads need no fence",
        "checker/proxies.py",
        "        if traced.proxy is Proxy.GENERIC:\n",
        "        if traced.proxy is Proxy.GENERIC and traced.is_write:\n",
    ),
    Mutation(
        "proxies: a fence of one thread is all threads'",
        "checker/proxies.py",
        "            self.reach[warp, lanes] = np.maximum(self.reach[warp, lanes], reached)\n",
        "            self.reach[warp] = np.maximum(self.reach[warp], reached)\n",
    ),
    Mutation(
        "proxies: a join keeps one side's fences",
        "checker/proxies.py",
        "        twin.reach = np.minimum(self.reach, other.reach)\n",
        "        twin.reach = np.maximum(self.reach, other.reach)\n",
    ),
    Mutation(
        "proxies: a join forgets one side's accesses",
        "checker/proxies.py",
        "                twin._note(buffer, place)\n",
        "                pass\n",
    ),
    Mutation(
        "proxies: a fence counts on barriers that are assumed",
        "checker/proxies.py",
        "        clock = order.clock if assumed else order.sure\n",
        "        clock = order.clock\n",
    ),
    Mutation(
        "checker: a barrier that is assumed stands behind the wait",
        "checker/groups.py",
        "met_before_wait=bool(met.any())",
        "met_before_wait=False",
    ),
    Mutation(
        "mbarriers: copies that arrive are not over with the phase",
        SIGNALS,
        "order.known_to_some(warps) | Known(copies))",
        "order.known_to_some(warps))",
    ),
    Mutation(
        "trace: operations inside expressions are nothing",
        "checker/unfollowed.py",
        "        for call in relevance.operations.inside(stmt):\n",
        "        for call in ():\n",
    ),
    Mutation(
        "trace: virtual threads are one",
        "checker/unfollowed.py",
        "constant(stmt.value) != 1:",
        "False:",
    ),
    Mutation(
        "mbarriers: whoever announces bytes holds the phase open",
        MBARRIERS,
        "        if self.announced:\n",
        "        if False:\n",
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
        "        if other is None and traced.proxy is Proxy.ASYNC and traced.is_write:\n",
        "        if False:\n",
    ),
    Mutation(
        "pauses: locals of threads are those of iterations",
        "checker/repetition.py",
        "            return value if isinstance(value, int) else None  # threads are no iterations\n",
        "            return value\n",
    ),
)
