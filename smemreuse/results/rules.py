"""The soundness rules: their numbers, and the one wording of them."""

from __future__ import annotations

from enum import IntEnum


class Rule(IntEnum):
    """What every reuse of bytes must keep to; the value is the number by which rules are cited.

    `title` states the rule. `conflict` says in two or three words what keeps two buffers apart by
    it. How analysis and checker carry each rule out is said in docs/soundness.md.
    """

    title: str
    conflict: str

    EVERY_ACCESS = 1, "Every access counts", "address kept"
    LOOP_CARRIED = 2, "Loops go round", "loop-carried"
    WHILE_LOOP = 3, "`while` is a loop, and may be left early", "left early"
    DIVERGENT_ARMS = 4, "Branches on thread indices run concurrently", "concurrent branches"
    IN_FLIGHT = 5, "Asynchronous accesses last until waited for", "in flight"
    BARRIER = 6, "Reuse needs a barrier", "no barrier is possible"
    ALIGNMENT = 7, "Alignment", "misplaced"
    STORAGE_SCOPE = 8, "Scopes do not mix", "scopes mixed"
    SYMBOLIC_SIZE = 9, "A symbolic size shares with nothing", "size not known"
    CLUSTER = 10, "Other blocks of the cluster", "another block"
    PROXY = 11, "Proxies", "no fence"
    COLLECTIVE = 12, "A barrier takes whoever comes", "not all come"

    def __new__(cls, number: int, title: str = "", conflict: str = "") -> Rule:
        # The defaults are for type checkers, to which `Rule(2)`, a look-up, is a call of this.
        rule = int.__new__(cls, number)
        rule._value_ = number
        rule.title = title
        rule.conflict = conflict
        return rule
