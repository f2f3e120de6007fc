"""Why two buffers may share bytes or not, and which pairs of an arena do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from smemreuse.ir.kernel import Buffer
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import UNPROVED, UNSOUND, Verdict

LIVE_TOGETHER = "live together"
"""What forbids sharing where no rule is needed for it."""

NOT_JUDGED = Verdict(
    UNPROVED, uncovered=("one of many pairs, and not judged: name the two to have it judged",)
)
"""Stands for the verdict on a pair of which the checker was not asked."""


class Sharing(str, Enum):
    """What is known of two buffers' sharing; the value is the word for it in JSON."""

    MAY = "may"
    MUST_NOT = "must not"
    NOT_PROVED = "not proved"

    @property
    def words(self) -> str:
        """For people."""
        return "not proved to share" if self is Sharing.NOT_PROVED else f"{self.value} share"


_WHY_APART: Mapping[Rule, str] = {
    Rule.EVERY_ACCESS: "an address of one may be kept",
    Rule.LOOP_CARRIED: "bytes may be carried to the next iteration",
    Rule.WHILE_LOOP: "a loop may be left early",
    Rule.DIVERGENT_ARMS: "other threads may use them at the same time",
    Rule.IN_FLIGHT: "an asynchronous access may be in flight",
    Rule.BARRIER: "no barrier is possible between them",
    Rule.ALIGNMENT: "the alignment does not fit",
    Rule.STORAGE_SCOPE: "they are of different scopes",
    Rule.SYMBOLIC_SIZE: "a size is known only at launch",
    Rule.CLUSTER: "another block of the cluster uses one",
    Rule.PROXY: "no proxy fence stands between them",
    Rule.COLLECTIVE: "not all threads come to the barrier",
}
"""What keeps two buffers apart by each rule, as a clause for people."""


def with_rule_last(rule: Rule, text: str) -> str:
    """A sentence that begins with its rule, as JSON has it, with the rule's number at its end."""
    return f"{text.removeprefix(f'rule {rule}: ')} (rule {rule})"


@dataclass(frozen=True)
class Cause:
    """One thing that forbids sharing: the rule, None where both are in use, and a sentence."""

    rule: Rule | None
    text: str

    @property
    def sentence(self) -> str:
        """The sentence, with the rule's number at its end."""
        return self.text if self.rule is None else with_rule_last(self.rule, self.text)

    @property
    def clause(self) -> str:
        """What keeps the two apart, in a few words for people, and the rule's number after them."""
        return f"{_WHY_APART[self.rule]} (rule {self.rule})" if self.rule else LIVE_TOGETHER

    @property
    def short(self) -> str:
        """The rule's number and a word or two, as in `rule 2: loop-carried`."""
        return f"rule {self.rule}: {self.rule.conflict}" if self.rule else LIVE_TOGETHER


@dataclass(frozen=True, repr=False)
class Explanation:
    """The static causes against sharing, and the checker's own verdict on it.

    `causes` are those that stand, none if sharing is proved. `settled` are of rules 4 and 5, where
    only a trace can show whether mbarriers order the accesses, and it did. `outer` says why the
    rule of today's compilers keeps the two apart, empty where it does not. `live` are the ranges
    in the plan that `smemreuse plan` makes, None for a buffer that is not used, and `lifetimes` the
    statements at their ends.
    """

    buffers: tuple[Buffer, Buffer]
    names: tuple[str, str]
    live: tuple[tuple[int, int] | None, tuple[int, int] | None]
    causes: tuple[Cause, ...]
    settled: tuple[str, ...]
    verdict: Verdict
    outer: str = ""
    lifetimes: tuple[str, str] = ("", "")

    def __repr__(self) -> str:
        """One line: the two names, whether they may share, and what decides."""
        why = f", {self.forbidden_by}" if self.forbidden_by else ""
        return f"Explanation({' and '.join(self.names)} {self.sharing.words}{why})"

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(cause.text for cause in self.causes)

    @property
    def sharing(self) -> Sharing:
        """`MAY` if proved, `MUST_NOT` where that is certain, or else `NOT_PROVED`."""
        if not self.causes and self.verdict.sound:
            return Sharing.MAY
        is_certain = self.verdict.verdict is UNSOUND or self._leaves_no_doubt
        return Sharing.MUST_NOT if is_certain else Sharing.NOT_PROVED

    @property
    def _leaves_no_doubt(self) -> bool:
        """Whether a cause is certain by itself, where most rules only say what may be.

        No barrier is possible there, which the checker takes for granted; or both are in use at
        once. Arms that run concurrently are in no order: there the order of the text says nothing.
        """
        rules = {cause.rule for cause in self.causes}
        at_once = bool(self.causes) and self.causes[0].rule is None
        return Rule.BARRIER in rules or (
            at_once and Rule.DIVERGENT_ARMS not in rules and not self.verdict.sound
        )

    @property
    def is_by_text(self) -> bool:
        """Whether the two are live together by the order of the text, which proves nothing of
        branches that run at the same time."""
        at_once = bool(self.causes) and self.causes[0].rule is None
        return at_once and self.sharing is Sharing.NOT_PROVED and not self.verdict.sound

    @property
    def judged(self) -> bool:
        """Whether the checker was asked."""
        return self.verdict is not NOT_JUDGED

    @property
    def may_share(self) -> bool:
        return self.sharing is Sharing.MAY

    @property
    def forbidden_by(self) -> str:
        """What decides, in short; empty if they may share."""
        if self.may_share:
            return ""
        if not self.causes:
            return f"the checker: {self.verdict.verdict}"
        return self.causes[0].short

    @property
    def kept_apart_by(self) -> str:
        """The same for people: a clause, and the rule's number after it."""
        if self.may_share:
            return ""
        if not self.causes:
            if not self.judged:
                return _TOO_MANY
            refuted = self.verdict.verdict is UNSOUND
            return "at one place one would overwrite the other" if refuted else _NO_PROOF
        if self.is_by_text:
            return f"{_BY_THE_TEXT}; {_UNDECIDED}" if self.judged else _BY_THE_TEXT
        if self.causes[0].rule is None and self.sharing is Sharing.NOT_PROVED:
            return _SOUND_ALONE
        return self.causes[0].clause


_SOUND_ALONE = (
    "their live ranges overlap, so that no plan lets them share; the checker proves that sharing "
    "at one offset would be sound"
)
_BY_THE_TEXT = (
    "live at the same time by the order of the text, which concurrent branches need not keep"
)
_UNDECIDED = "the checker has neither a proof nor a counterexample"
_TOO_MANY = "no proof, as the checker was not asked"
_NO_PROOF = "the checker has no proof that neither would overwrite the other"


@dataclass(frozen=True)
class Unneeded:
    """A pair that may share and does not, and what that is to blame on."""

    pair: Explanation
    why: str


@dataclass(frozen=True)
class ArenaSharing:
    """The pairs of an arena's buffers: which overlap, in how many bytes, and why others do not.

    `refused` are pairs that must not share, or were not proved to, those first where sharing would
    have saved most. `unneeded` might share; the objective has no use for it, or no place.
    """

    shared: tuple[tuple[tuple[str, str], int], ...]
    refused: tuple[Explanation, ...]
    unneeded: tuple[Unneeded, ...]
