"""What is wrong with a kernel of itself, whatever is merged in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from smemreuse.results.accepted import Acceptances, Accepted, Identity, numbers_of
from smemreuse.results.findings import fingerprint_of
from smemreuse.results.sites import Site
from smemreuse.results.undecided import Undecided
from smemreuse.results.words import Worded


class HazardKind(Worded):
    """What a hazard is of; the value is the word for it, in JSON, SARIF and baselines too.

    `sentence` says it in one.
    """

    UNINITIALISED_READ = "uninitialised-read", "Shared memory is read before it is written"
    RACE = "race", "Nothing orders two accesses to the same bytes"
    MISSING_WAIT = "missing-wait", "Nothing waits for an asynchronous access"
    MISSING_FENCE = "missing-fence", "No proxy fence orders generic and asynchronous accesses"
    BARRIER_DIVERGENCE = (
        "barrier-divergence",
        "Only some threads reach an operation that needs all of them",
    )
    BARRIER_DEADLOCK = "barrier-deadlock", "Threads wait for a phase of an mbarrier that never ends"
    MISSED_PHASE = "missed-phase", "A late warp misses the phase that it waits for"
    OUT_OF_BOUNDS = "out-of-bounds", "An access leaves its buffer"


_HARMLESS_IF: Mapping[HazardKind, str] = {
    HazardKind.UNINITIALISED_READ: "something writes these bytes before",
    HazardKind.RACE: "the two accesses touch no common byte, or something orders them",
    HazardKind.MISSING_WAIT: "something waits for the access in time",
    HazardKind.MISSING_FENCE: "the two accesses touch no common byte, or a proxy fence orders them",
    HazardKind.BARRIER_DIVERGENCE: "all threads that the operation needs reach it",
    HazardKind.BARRIER_DEADLOCK: "the phase ends",
    HazardKind.MISSED_PHASE: "no warp comes so late",
    HazardKind.OUT_OF_BOUNDS: "the index stays inside the buffer",
}


class Contention(str, Enum):
    """How accesses of a race meet where the bytes cannot tell them apart, or one statement makes
    both; the value says when the race is none.

    `ONE_ELEMENT`: one statement writes a fixed element. `ELEMENTS`: one statement writes elements
    that may be the same. `TWO_STATEMENTS`: both statements access a fixed element.
    """

    ONE_ELEMENT = "at most one thread comes to {there}, or all write the same value"
    ELEMENTS = (
        "no two threads write the same element at {there}, or those that do write the same value"
    )
    TWO_STATEMENTS = "the same thread makes both accesses, or something orders them"


def doubt_words(
    kind: HazardKind, contention: Contention | None = None, there: str = "the statement"
) -> str:
    """Of a possible hazard: under which condition it is none; `there` is its statement."""
    when = _HARMLESS_IF[kind] if contention is None else contention.value.format(there=there)
    return f"not proved either way: it is no hazard if, whatever the inputs are, {when}"


def doubt_of(hazard: Hazard) -> str:
    """The same of one hazard, with its line where that is known."""
    there = f"line {hazard.site.line}" if hazard.site.line else f"`{hazard.site.statement}`"
    return doubt_words(hazard.kind, hazard.contention, there)


class LintStatus(str, Enum):
    """The result of linting a kernel; the value is the word for it, in JSON too.

    `CLEAN`: no hazard, proved under the assumptions listed in the report. `HAZARDS`: at least one
    is certain. `POSSIBLE`: some may happen. `UNKNOWN`: part of the kernel could not be analysed.
    """

    CLEAN = "clean"
    HAZARDS = "hazards"
    POSSIBLE = "possible hazards"
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        return self.value


class Remedy(str, Enum):
    """What is put in to mend a hazard."""

    BARRIER = "barrier"
    WAIT = "wait"
    FENCE = "fence"
    NARROW = "narrow"
    WRITE = "write"
    CODE = "code"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Mend:
    """How to mend a hazard: `sentence` describes it, `remedy` is the kind of statement to insert.

    It goes between `after` and `before`, as far as these are known, for the `threads` of the block
    (indices, half-open). `until` is the barrier or arrival before which a fence has to come, where
    one directly before that is enough. `engine` is the asynchronous engine that a wait is for, else
    empty; `undeclared` the device function that nobody knows, where that makes the hazard possible.
    """

    remedy: Remedy
    sentence: str
    after: Site | None = None
    before: Site | None = None
    threads: tuple[int, int] | None = None
    engine: str = ""
    undeclared: str = ""
    until: Site | None = None

    @property
    def is_insertable(self) -> bool:
        """Whether `lint --fix` and `merge(mend=True)` make fixes of that kind."""
        return self.remedy in (Remedy.BARRIER, Remedy.WAIT, Remedy.FENCE, Remedy.NARROW)

    def is_one_with(self, other: Mend) -> bool:
        """Whether one fence, directly before the same barrier or arrival, does for both."""
        places = (self.remedy, self.threads, self.until), (other.remedy, other.threads, other.until)
        return self.until is not None and places[0] == places[1]

    def without_statements(self) -> Mend:
        """The same by the texts of statements alone."""
        after, before, until = map(_bare, (self.after, self.before, self.until))
        return replace(self, after=after, before=before, until=until)


class HazardOrigin(str, Enum):
    """Who has put in the synchronization or the access that is hazardous; the value is the word in
    JSON. What is not surely the compiler's is the author's."""

    AUTHOR = "author"
    COMPILER = "compiler"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Act:
    """What one agent of a hazard does, as `writes byte 0 of As`, and the threads of the block that
    do it or issue it: runs of indices, half-open."""

    deed: str
    threads: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """What a kernel is given: an argument that is `first`, or a buffer (`is_array`) that holds
    `first + step * i` in its element `i`, counted as it is laid out."""

    name: str
    first: int
    step: int = 0
    is_array: bool = False

    def __str__(self) -> str:
        if not self.is_array:
            return f"{self.name} is {self.first}"
        if not self.step:
            return f"every element of {self.name} is {self.first}"
        more = f"{self.first} + " if self.first else ""
        return f"{self.name}[i] is {more}{self.step} * i"


@dataclass(frozen=True, slots=True)
class Hazard:
    """One hazard at one site, however many bytes and iterations it has.

    `certain` says that every execution with these block indices comes to it, and that no data
    decide on the way there, but how long the loops over `if_long` are, which may be long enough,
    and the inputs `if_given`, for which it was seen to come about.
    `site` is where it shows, `other` the statement that it is with, if any. `bytes` are the first
    and the last one of `buffers[0]`, `agents` who does what, in the order of `other` and `site`,
    and `acts` what each of them does, where that is known. `blocks` are the indices of the thread
    block that shows it. `origin` says who has put in what is hazardous, `accepted` why the project
    accepts it, if so. `mechanism` says which kinds of accesses or which barrier it is about, where
    its kind has several: what hardware does with one says little of another. `contention` is how
    the accesses of a race meet, where its kind alone does not say when it is none. `undecided` is
    what is not known, so that the hazard is only possible, where that is one thing.
    """

    kind: HazardKind
    certain: bool
    site: Site
    buffers: tuple[str, ...]
    witness: str
    mend: Mend
    other: Site | None = None
    bytes: tuple[int, int] | None = None
    agents: tuple[str, ...] = ()
    blocks: tuple[tuple[str, int], ...] = ()
    origin: HazardOrigin = HazardOrigin.AUTHOR
    accepted: Accepted | None = None
    if_long: tuple[str, ...] = ()
    if_given: tuple[Given, ...] = ()
    acts: tuple[Act, ...] = ()
    mechanism: str = ""
    contention: Contention | None = field(default=None, compare=False)
    undecided: Undecided | None = field(default=None, compare=False)

    @property
    def is_unconditional(self) -> bool:
        """Whether it is certain whatever the kernel is given, but for how long loops are."""
        return self.certain and not self.if_given

    @property
    def is_fixable(self) -> bool:
        """Whether it is certain, and of a kind that `lint --fix` fixes."""
        return self.certain and self.mend.is_insertable

    @property
    def condition(self) -> str:
        """What has to be so for a certain hazard to happen, in words; empty if nothing has to."""
        loops, inputs = " and ".join(self.if_long), " and ".join(map(str, self.if_given))
        return condition_words(loops, inputs, self._round)

    @property
    def _round(self) -> int | None:
        """The last round, from 1 on, in which its statements are seen, of the one loop that has to
        be long enough; None where that is a round of a loop taken to be very long."""
        if len(self.if_long) != 1:
            return None
        names = (self.if_long[0], f"{self.if_long[0]} - begin")
        sites = (site for site in (self.site, self.other) if site is not None)
        rounds = [at + 1 for site in sites for name, at in site.loops if name in names]
        return max(rounds) if rounds and 0 < max(rounds) <= MOST_ROUNDS else None

    @property
    def sureness(self) -> tuple[bool, bool, bool]:
        """Larger for what is surer."""
        return self.certain, self.is_unconditional, not self.if_long

    @property
    def brief_witness(self) -> str:
        """The witness, with long indices of its statements elided where their lines are known."""
        text = self.witness
        for site in filter(None, (self.site, self.other)):
            text = site.shortened(text)
        return text

    def without_statements(self) -> Hazard:
        """The same by the texts of statements alone: small, and no part of a kernel."""
        mend = self.mend.without_statements()
        site = self.site.without_statement()
        undecided = None if self.undecided is None else self.undecided.without_statement()
        return replace(self, site=site, other=_bare(self.other), mend=mend, undecided=undecided)

    def fingerprint(self, kernel: str) -> str:
        """What distinguishes hazards in a baseline: no line numbers, as every edit changes them."""
        other = self.other.statement if self.other is not None else ""
        return fingerprint_of(kernel, str(self.kind), *self.buffers, self.site.statement, other)


def hazard_sentence(hazard: Hazard) -> str:
    """Its kind, how sure it is, whose it is, and the witness."""
    return f"{_beginning(hazard)}: {hazard.witness}"


def brief_sentence(hazard: Hazard) -> str:
    """The same, with long indices of its statements elided where their lines are known."""
    return f"{_beginning(hazard)}: {hazard.brief_witness}"


def _beginning(hazard: Hazard) -> str:
    sure = sure_words(hazard.origin, certain=hazard.certain, condition=hazard.condition)
    return f"{hazard.kind} ({sure})"


MOST_ROUNDS = 1_000
"""The most rounds that are counted; a loop that may have any number is followed with more."""


def condition_words(loops: str, inputs: str, seen: int | None = None) -> str:
    """The loops that have to be long enough, and the inputs that have to be so; `seen`: the
    last round that the hazard was seen in."""
    last = "" if seen is None else f", at least {seen:,} round{'s' * (seen > 1)}"
    long = f"the loop over {loops} is long enough{last}" if loops else ""
    return " and ".join(filter(None, (long, inputs)))


def sure_words(origin: HazardOrigin, *, certain: bool, condition: str = "") -> str:
    """How sure a hazard is, under which condition, and where it is from."""
    sure = "certain by PTX" if certain else "possible"
    when = f" if {condition}" if condition else ""
    return f"{sure}{when}; {_FROM[origin]}"


_FROM: Mapping[HazardOrigin, str] = {
    HazardOrigin.AUTHOR: "in the source",
    HazardOrigin.COMPILER: "generated by the compiler",
}


def _bare(site: Site | None) -> Site | None:
    return None if site is None else site.without_statement()


UNFOLLOWED = "not followed to the end"
"""`LintStatus.UNKNOWN`, for people."""


@dataclass(frozen=True, slots=True)
class AssumedAt:
    """Something that the absence of hazards rests on; of accesses of one buffer at a line, where
    `buffer` is not empty."""

    assumption: str
    buffer: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class LintReport:
    """What was found in one kernel.

    `barriers_follow` says that the kernel was taken to be one into which a later pass inserts
    barriers and fences, so that none of those is missed. `unknown` says what could not be followed,
    `assumptions` on what the absence of hazards rests, `assumed_at` of which accesses, where not of
    all.
    """

    kernel: str
    barriers_follow: bool
    hazards: tuple[Hazard, ...] = ()
    unknown: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    assumed_at: tuple[AssumedAt, ...] = ()

    @property
    def status(self) -> LintStatus:
        if any(hazard.certain for hazard in self.hazards):
            return LintStatus.HAZARDS
        if self.unknown:
            return LintStatus.UNKNOWN
        return LintStatus.POSSIBLE if self.hazards else LintStatus.CLEAN

    def without_statements(self) -> LintReport:
        """The same without any part of the kernel."""
        return replace(self, hazards=tuple(one.without_statements() for one in self.hazards))

    def identities(self, file: str = "") -> list[Identity]:
        """What distinguishes each hazard from others, those of one fingerprint in program order."""
        prints = [one.fingerprint(self.kernel) for one in self.hazards]
        order = sorted(range(len(prints)), key=lambda at: (self.hazards[at].site.line or 0, at))
        numbers = dict(zip(order, numbers_of([prints[at] for at in order]), strict=True))
        return [
            Identity(file, self.kernel, str(one.kind), one.buffers, prints[at], numbers[at])
            for at, one in enumerate(self.hazards)
        ]

    def held_against(self, acceptances: Acceptances, file: str = "") -> LintReport:
        """The same, where each hazard that the project accepts says so."""
        found = zip(self.hazards, self.identities(file), strict=True)
        hazards = (replace(one, accepted=acceptances.of(identity)) for one, identity in found)
        return replace(self, hazards=tuple(hazards))

    @property
    def accepted(self) -> int:
        """How many hazards the project accepts."""
        return sum(one.accepted is not None for one in self.hazards)

    @property
    def clean(self) -> bool:
        """Whether it is proved that there is none, on the assumptions."""
        return self.status is LintStatus.CLEAN
