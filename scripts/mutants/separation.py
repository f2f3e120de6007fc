"""Mutants of separation: each takes one of its clauses away."""

from __future__ import annotations

from scripts.mutants.mutation import Mutation

PAIRS = "checker/separation/pairs.py"
GAPS = "checker/separation/gaps.py"
GROUND = "checker/separation/ground.py"
FACTS = "checker/separation/facts.py"
REACH = "checker/separation/reach.py"
PRIVACY = "checker/separation/privacy.py"

TESTS = ("tests/checker/test_separation.py",)

MUTATIONS = (
    Mutation(
        "separation: the order does not matter",
        PAIRS,
        "    return max(one) < min(two) or max(two) < min(one)\n",
        "    return True\n",
    ),
    Mutation(
        "separation: nothing goes round",
        PAIRS,
        "require_none((loop or region).statements, loop is not None)",
        "require_none((loop or region).statements, False)",
    ),
    Mutation(
        "separation: what is read may be old",
        PAIRS,
        "        if loop is not None:\n",
        "        if False:\n",
    ),
    Mutation(
        "separation: nothing leaves its buffer",
        PAIRS,
        "    return first < 0 or end > size\n",
        "    return False\n",
    ),
    Mutation(
        "separation: all bytes count as common",
        PAIRS,
        "slice(*layout.common(buffer, other))",
        "slice(0, layout.sizes[buffer])",
    ),
    Mutation(
        "separation: a loop has a round",
        GAPS,
        "        return self._sequence(body, after) if surely else after\n",
        "        return self._sequence(body, after)\n",
    ),
    Mutation(
        "separation: a branch is its first arm",
        GAPS,
        "        after = _joined(then, orelse)\n",
        "        after = then\n",
    ),
    Mutation(
        "separation: one group more is over",
        GAPS,
        "one.closed > keep}",
        "one.closed >= keep}",
    ),
    Mutation(
        "separation: nothing is in flight",
        GAPS,
        "        return self.done == CLOSED and not self.flying\n",
        "        return self.done == CLOSED\n",
    ),
    Mutation(
        "separation: an assumed barrier comes behind a wait",
        GAPS,
        "OPEN_TO_ASSUMED if met else OPEN",
        "OPEN",
    ),
    Mutation(
        "separation: in an arm all meet",
        GAPS,
        "            after = _each(after, Since.out_of_an_arm)\n",
        "            pass\n",
    ),
    Mutation(
        "separation: before an arm all meet",
        GROUND,
        "        return parts and not self.meets_in_part(stmt)\n",
        "        return parts\n",
    ),
    Mutation(
        "separation: any access is understood",
        FACTS,
        "access.uncovered or access.engine not in _UNDERSTOOD or by_async_proxy",
        "access.uncovered",
    ),
    Mutation(
        "separation: a descriptor is read where it is made",
        FACTS,
        "holders.in_expr(call) if effect.reads_described else ()",
        "()",
    ),
    Mutation(
        "separation: everything is followed",
        FACTS,
        "        self.follows_all = all(map(self._is_followed, walk_statements(body)))\n",
        "        self.follows_all = True\n",
    ),
    Mutation(
        "separation: any barrier will do",
        FACTS,
        "in self.barriers.items() if reach.includes(group)",
        "in self.barriers.items()",
    ),
    Mutation(
        "separation: a later pass puts barriers anywhere",
        FACTS,
        "            self._assumed[key] = whole and reach.includes(group)\n",
        "            self._assumed[key] = True\n",
    ),
    Mutation(
        "separation: part of a warp is a warp",
        FACTS,
        "            self._assumed[key] = whole and reach.includes(group)\n",
        "            self._assumed[key] = reach.includes(group)\n",
    ),
    Mutation(
        "separation: nobody waits for others",
        FACTS,
        "            effect.signals is Signal.WAIT\n",
        "            False\n",
    ),
    Mutation(
        "separation: a barrier's name is for one group",
        REACH,
        "        if len(groups) == 1 and all(is_whole for _, is_whole in places):\n",
        "        if all(is_whole for _, is_whole in places):\n",
    ),
    Mutation(
        "separation: a barrier is complete",
        REACH,
        "        if len(groups) == 1 and all(is_whole for _, is_whole in places):\n",
        "        if len(groups) == 1:\n",
    ),
    Mutation(
        "separation: memory is the same for all",
        REACH,
        'node.buffer.scope != "global" or node.buffer.storage in self._changing',
        "False",
    ),
    Mutation(
        "separation: what may be written is",
        PRIVACY,
        "where is not None and access.certain and surely:",
        "where is not None and surely:",
    ),
    Mutation(
        "separation: arms count on one another",
        PRIVACY,
        "            self._block(block, within, written, surely and is_known) "
        "for block, within, _ in arms\n",
        "            self._block(\n"
        "                block, within, self._block(*arms[0][:2], written, surely), surely\n"
        "            )\n"
        "            for block, within, _ in arms\n",
    ),
    Mutation(
        "separation: either arm writes for all",
        PRIVACY,
        "surely and is_known",
        "surely",
    ),
    Mutation(
        "separation: all go round",
        PRIVACY,
        "surely and not self._facts.reaches.goes_round_apart(stmt)",
        "surely",
    ),
    Mutation(
        "separation: both arms are taken",
        PRIVACY,
        "then & orelse if one_way else then | orelse",
        "then | orelse",
    ),
)
