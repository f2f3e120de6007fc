"""Count in docs/results what hazards did on hardware, for what `lint` says beside a finding.

    python -m scripts.render_evidence [--check]

Each row is of one kind of hazard and one mechanism: see `smemreuse/results/evidence.py`.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scripts.regenerate_fixtures import renew
from scripts.results import RESULTS, ROOT, options_of
from scripts.unshown_page import name_of, withdrawn
from smemreuse.reproduce.in_flight import ENGINES
from smemreuse.results.hazards import HazardKind
from smemreuse.results.reproduction import ALONE, AS_IT_IS, DELAYED, Shown

EVIDENCE = ROOT / "smemreuse" / "results" / "evidence.json"

LATE, PLAIN = "with some threads delayed on purpose by 20 us", "with nothing delayed"
WARP = "with one warp delayed on purpose by 2 ms"
AT_WITNESS = "with threads of the witness late"
FILLED = "with shared memory filled first"
BUSY, QUEUED = (
    "with the asynchronous engine kept busy on purpose",
    "with the reads slowed on purpose by stores that conflict in one bank",
)

WITNESSES: Mapping[str, tuple[str, str]] = {
    "read_before_the_barrier": ("read after write", LATE),
    "refilled_round_the_loop": ("write after read", LATE),
    "sums_not_cleared": ("read", PLAIN),
    "copies_not_waited_for": ("read after cp.async write", PLAIN),
    "stage_refilled_without_fence": ("TMA load write after read", PLAIN),
    "barrier_in_an_arm": ("barrier of the block", LATE),
    "part_of_a_cluster": ("barrier of the cluster", LATE),
    "reductions_of_two_arms": ("named barrier", LATE),
    "arrivals_missing": ("mbarrier that lacks arrivals", PLAIN),
    "index_too_large": ("write", PLAIN),
}
"""The mechanism of each kernel of fixtures/witnesses, and how it was made to show there."""

PACED = "as it is, delayed"
COMPARABLE = (Shown.BY_ITSELF, Shown.DELAYED, Shown.NOT_SHOWN)
"""What tells something of one finding; one of several shows tells nothing of this one."""


@dataclass(frozen=True)
class Outcome:
    """What the launches of one kernel with one hazard gave."""

    kind: str
    mechanism: str
    how: str
    kernel: str
    launches: int
    wrong: int
    hangs: bool


def _of_witnesses(result: Mapping[str, Any]) -> Iterator[Outcome]:
    """Kernels of fixtures/witnesses, which have one hazard each; the first variant is as it is."""
    for one in result["witnesses"] if "witnesses" in result else result["kernels"]:
        mechanism, how = WITNESSES[one["name"]]
        told = one["variants"][0]
        gave = told.get("launches", 0), told.get("wrong_launches", 0), bool(told.get("hangs"))
        yield Outcome(_kind_of(one), mechanism, how, one["name"], *gave)


def _kind_of(one: Mapping[str, Any]) -> str:
    return str(HazardKind(one["kind"]))


def _of_pace(result: Mapping[str, Any]) -> Iterator[Outcome]:
    """Kernels whose only hazard is a missed phase: `lint` said so, or guards alone mend it."""
    kind = str(HazardKind.MISSED_PHASE)
    for one in result["kernels"]:
        if PACED not in one:
            continue
        told = one.get("mended", one["as it is"])
        put_in = told.get("put_in", ())
        alone = (
            told["lint"] == [f"hazards: {kind}"]
            if "lint" in told
            else bool(put_in) and all(each.startswith("if ") for each in put_in)
        )
        if alone:
            late = one[PACED]
            gave = late.get("launches", 0), late.get("wrong_launches", 0), bool(late.get("hangs"))
            yield Outcome(kind, "", WARP, f"{one['kernel']} {one['tile']}", *gave)


def outcomes_of_reproduced(result: Mapping[str, Any]) -> Iterator[Outcome]:
    """Findings that `smemreuse reproduce` launched and could tell: each attempt, by the variant
    that tells. Of the attempts only the last one can have shown it, since it is the last for that.
    """
    gone = withdrawn()
    for program in result["programs"]:
        for one in program.get("findings", ()):
            shown = Shown(one["shown"])
            if shown not in COMPARABLE or name_of(one) in gone:
                continue
            by_itself = shown is Shown.BY_ITSELF
            order = (ALONE, AS_IT_IS) if by_itself else (ALONE, DELAYED, AS_IT_IS)
            variant = next(name for name in order if name in one["outcomes"])
            told = one["outcomes"][variant]
            if told["error"]:
                continue
            script = one["script"].removesuffix(f"-{one['finding']}.py")
            kernel = f"{program['program']} {script}"
            about = one["kind"], one["mechanism"]
            if not by_itself:
                for attempt in one["tried"][: -1 if shown.is_shown else None]:
                    yield Outcome(*about, _how(attempt), kernel, result["launches"], 0, False)
            if shown.is_shown:
                how = PLAIN if variant == AS_IT_IS else _how(one["attempt"])
                gave = told["launches"], told["differing"], told["hangs"]
                yield Outcome(*about, how, kernel, *gave)


def outcomes_of_again(result: Mapping[str, Any]) -> Iterator[Outcome]:
    """Findings that were tried once more."""
    told = [one for one in result["findings"] if "error" not in one]
    programs = [{"program": one["program"], "findings": [one]} for one in told]
    yield from outcomes_of_reproduced({"launches": result["launches"], "programs": programs})


_WORDS = {
    "nothing is delayed": PLAIN,
    "is filled with": FILLED,
    "one bank": QUEUED,
    **{words: BUSY for _, _, words in ENGINES.values()},
}
"""What the words of an attempt have, of those that make no thread late."""


def _how(attempt: str) -> str:
    return next((how for words, how in _WORDS.items() if words in attempt), AT_WITNESS)


SOURCES = {
    "lint-h100.json": _of_witnesses,
    "mends-h200.json": _of_witnesses,
    "pace-h100.json": _of_pace,
    "pace-h200.json": _of_pace,
    "reproduce-again-h200.json": outcomes_of_again,
    "reproduce-examples-h100.json": outcomes_of_reproduced,
    "reproduce-field-h100.json": outcomes_of_reproduced,
    "reproduce-h100.json": outcomes_of_reproduced,
    "reproduce-h200.json": outcomes_of_reproduced,
}


def rows() -> Iterator[dict[str, Any]]:
    """The rows of all sources."""
    for name, read in SOURCES.items():
        result = json.loads((RESULTS / name).read_text())
        groups: dict[tuple[str, str, str], list[Outcome]] = defaultdict(list)
        for one in read(result):
            groups[one.kind, one.mechanism, one.how].append(one)
        for key in sorted(groups):
            yield _row(groups[key], name, result)


def _row(found: Iterable[Outcome], name: str, result: Mapping[str, Any]) -> dict[str, Any]:
    outcomes = [*found]
    first = outcomes[0]
    back = [one for one in outcomes if not one.hangs]
    kernels: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        kernels[one.kernel].append(one)
    return {
        "kind": first.kind,
        "mechanism": first.mechanism,
        "card": result["device"].split()[1],
        "date": result["date"],
        "kernels": len(kernels),
        "shown": sum(any(each.hangs or each.wrong for each in one) for one in kernels.values()),
        "launches": sum(one.launches for one in back),
        "wrong": sum(one.wrong for one in back),
        "hung": sum(any(each.hangs for each in one) for one in kernels.values()),
        "how": first.how,
        "result": name,
    }


def rendered() -> str:
    """The data of the package."""
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows())
    return f"[\n{lines}\n]\n"


def main() -> int:
    options = options_of(__doc__, "check").parse_args()
    return renew({EVIDENCE: rendered()}, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
