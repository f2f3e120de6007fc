"""Mutants of what orders accesses in the checker: barriers, mbarriers, clocks and fences."""

from __future__ import annotations

from scripts.mutants.mutation import Mutation

CONVERGENCE = "checker/machine/convergence.py"
FINDINGS = "checker/verdict/findings.py"
HISTORY = "checker/machine/history.py"
MBARRIERS = "checker/machine/mbarriers.py"
MEETINGS = "checker/machine/meetings.py"
ORDER = "checker/machine/order.py"
COLLISIONS = "versions/thread_sync/collisions.py"
SITES = "versions/thread_sync/candidates.py"
SIGNALS = "checker/machine/signals.py"
SYNCHRONIZATION = "checker/machine/synchronization.py"

TESTS = ("tests/checker",)

MUTATIONS = (
    Mutation(
        "convergence: a race with a shuffle between its lanes is certain",
        FINDINGS,
        "if certain and in_warp and self._converged(other, traced.event):",
        "if False:",
    ),
    Mutation(
        "convergence: a shuffle stands between the lanes of several warps",
        HISTORY,
        "in_warp=not across.any()",
        "in_warp=True",
    ),
    Mutation(
        "convergence: a shuffle anywhere stands between",
        CONVERGENCE,
        "first < at < last or ",
        "True or ",
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
        "        if self._operations.may_signal(call):\n",
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
        "            self._meet(warps, self._clocks[: 2 if hoping else 1])\n",
        "            self.barrier(warps)\n",
    ),
    Mutation(
        "order: what may be put in is",
        ORDER,
        "            self._meet(warps, self._clocks[: 2 if hoping else 1])\n",
        "            self._meet(warps, self._clocks[:2])\n",
    ),
    Mutation(
        "barriers to come: what is compared collides",
        "checker/predicted/prediction.py",
        "                if self.optimistic\n",
        "                if True\n",
    ),
    Mutation(
        "barriers to come: pointers that meet once are never apart",
        COLLISIONS,
        "                if all(reaches):\n",
        "                if any(reaches):\n",
    ),
    Mutation(
        "barriers to come: all scopes are one arena",
        COLLISIONS,
        "    return one.buffer.scope == two.buffer.scope == DYNAMIC_SCOPE\n",
        "    return True\n",
    ),
    Mutation(
        "barriers to come: a loop carries what is around it",
        COLLISIONS,
        "        if loop is not None and not (loop in paths.loops(one) and",
        "        if False and not (loop in paths.loops(one) and",
    ),
    Mutation(
        "barriers to come: a loop that goes round once carries",
        COLLISIONS,
        "                if shifted is not None and not _goes_on(shifted, rounds, first):\n",
        "                if False:\n",
    ),
    Mutation(
        "barriers to come: two accesses are in two blocks",
        COLLISIONS,
        "self._those(two, rounds, place, shifted, guess)",
        "self._those(two, rounds, 1 - place % 2, shifted, guess)",
    ),
    Mutation(
        "races: another lane of a warp surely has its part of a tile",
        HISTORY,
        " and not by_warp\n",
        "\n",
    ),
    Mutation(
        "barriers to come: any bytes that overlap collide",
        COLLISIONS,
        "    return bool((~alone | (low[here] != least[there])).any())\n",
        "    return True\n",
    ),
    Mutation(
        "barriers to come: an arm brings no barrier of its own",
        SITES,
        "    def _may_hold(self, block: Block) -> bool:\n",
        "    def _may_hold(self, block: Block) -> bool:\n        return False\n",
    ),
    Mutation(
        "barriers to come: those that are left out have been met",
        "checker/predicted/barriers.py",
        "        if kept is not None:\n            agent.timestamps.keep(kept)\n",
        "",
    ),
    Mutation(
        "barriers to come: the first arm's end is remembered, too",
        SITES,
        "        if self.may_be_in(branch.orelse):\n            return orelse\n",
        "",
    ),
    Mutation(
        "barriers to come: every statement has a barrier before it",
        "checker/predicted/timestamps.py",
        "        self.latest.clear()\n\n    def begin_round",
        "\n    def begin_round",
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
        "proxies: reads need no fence",
        "checker/machine/proxies.py",
        "        if traced.proxy is Proxy.GENERIC:\n",
        "        if traced.proxy is Proxy.GENERIC and traced.is_write:\n",
    ),
    Mutation(
        "proxies: a fence of one thread is all threads'",
        "checker/machine/proxies.py",
        "        self.reach[warps, lanes] = np.maximum(self.reach[warps, lanes], reached[warps])\n",
        "        self.reach[warps] = np.maximum(self.reach[warps], reached[warps][:, None])\n",
    ),
    Mutation(
        "proxies: a join keeps one side's fences",
        "checker/machine/proxies.py",
        "        twin.reach = np.minimum(self.reach, other.reach)\n",
        "        twin.reach = np.maximum(self.reach, other.reach)\n",
    ),
    Mutation(
        "proxies: a join forgets one side's accesses",
        "checker/machine/proxies.py",
        "                twin._note(buffer, place)\n",
        "                pass\n",
    ),
    Mutation(
        "proxies: a fence counts on barriers that are assumed",
        "checker/machine/proxies.py",
        "        clock = order.clock if assumed else order.sure\n",
        "        clock = order.clock\n",
    ),
    Mutation(
        "mbarriers: copies that arrive are not over with the phase",
        SIGNALS,
        "order.known_to_some(warps) | Known(copies))",
        "order.known_to_some(warps))",
    ),
    Mutation(
        "mbarriers: whoever announces bytes holds the phase open",
        MBARRIERS,
        "        if self.announced:\n",
        "        if False:\n",
    ),
)
