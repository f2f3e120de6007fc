"""The output of `explain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from smemreuse.ir.kernel import unique_names
from smemreuse.report.columns import TEXT, WORD, Col, table_of
from smemreuse.report.data import Data, Subject, place_data, verdict_data
from smemreuse.report.headroom import ShippedHeadroom, headroom_lines
from smemreuse.report.layouts import Layouts, layout_lines
from smemreuse.report.preconditions import grounds_data, grounds_lines, refutation_words
from smemreuse.report.titles import counted
from smemreuse.report.verdicts import findings, hoped_words, rules_lines
from smemreuse.results.explanation import LIVE_TOGETHER, Explanation, Sharing
from smemreuse.results.preconditions import Preconditions
from smemreuse.results.serialized import picked
from smemreuse.results.verdict import LIMIT_OF_WORK, UNSOUND, Judged

_WIDENED = "so widened, "
"""What JSON has before the position from which live ranges that rules have widened overlap."""


def explain_entry(
    subject: Subject, found: Explanation, grounds: Preconditions | None = None
) -> Data:
    """One pair of `smemreuse.explain/1`; `grounds` are of its kernel."""
    return {
        **place_data(subject),
        "buffers": list(found.names),
        "live": dict(zip(found.names, found.live, strict=True)),
        "lifetimes": dict(zip(found.names, found.lifetimes, strict=True)),
        **picked(found, "may_share sharing reasons forbidden_by settled outer"),
        "checker": verdict_data(found.verdict),
        "rests_on": grounds_data(grounds if found.verdict.sound else None),
    }


MAY_SHARE = "may share, each pair by itself"
"""Heads pairs that may; what holds of each need not hold of a layout in which several share."""

KEPT_APART = "kept apart, though nothing shows that they must be"
"""Heads pairs of which there is no proof that all plans could use, and no counterexample."""

UNCHECKED = "kept apart unchecked, as there are many (`explain` with two names checks these two)"
"""Heads pairs of which the checker was not asked."""


def explain_lines(
    subject: Subject,
    found: Explanation,
    grounds: Preconditions | None = None,
    *,
    drawn: bool = False,
    width: int = 100,
) -> Iterator[Text]:
    """Everything about one pair, witnesses `drawn` as timelines of `width` if that is asked."""
    one, two = found.names
    words = found.sharing.words
    share = f"are {words}" if found.sharing is Sharing.NOT_PROVED else words
    yield Text(f"{subject.kernel.name} ({subject.scope}): {one} and {two} {share} bytes")
    for name, live, ends in zip(found.names, found.live, found.lifetimes, strict=True):
        yield Text(f"  {name} is {f'live {ends}'.strip() if live else 'unused'}")
    yield from (Text(f"  {reason}") for reason in _together(found.reasons))
    if found.settled:
        yield Text("  without the checker, which follows every byte, these would keep them apart:")
        yield from (Text(f"    {reason}") for reason in _together(found.settled))
    yield Text(f"  checker, with {one} and {two} at the same offset: {found.verdict.verdict}")
    yield from findings(found.verdict, drawn=drawn, width=width)
    yield from grounds_lines(grounds if found.verdict.sound else None, found.verdict.assumptions)


def _together(reasons: Sequence[str]) -> Iterator[str]:
    """Reasons for people; those that differ in nothing but their statements are one."""
    places: dict[str, list[str]] = {}
    for reason in reasons:
        text, _, place = reason.replace(_WIDENED, "with live ranges that long, ").partition(" in `")
        places.setdefault(text, []).extend([f"`{place}"] * bool(place))
    for text, named in places.items():
        yield f"{text} in {', '.join(named)}" if named else text


def explain_summary(
    out: Console,
    subject: Subject,
    layouts: Layouts,
    pairs: Sequence[Explanation],
    wanted: Sequence[str],
    grounds: Preconditions | None = None,
    headroom: ShippedHeadroom | None = None,
    everything: bool = False,
    hoped: Judged | None = None,
    hoped_note: str = "",
    is_idle: bool = False,
) -> Iterator[RenderableType]:
    """The layout that is chosen for a kernel, what bounds its bytes, and which pairs may share.

    `wanted` names the buffers asked for; `hoped` is a smaller plan that is not proved, and
    `hoped_note` what it would gain; `is_idle` as for `layout_lines`. Pairs that are live together
    are only counted, unless `everything` is set or a buffer is asked for.
    """
    yield from layout_lines(subject, layouts, refutation_words(grounds), is_idle=is_idle)
    plan, verdict = layouts.shipped
    if verdict.sound and plan.sharing_pairs():
        yield from grounds_lines(grounds, refuted=False)
    if hoped is not None:
        yield Text(f"  not chosen: {hoped_words(*hoped, hoped_note)}")
    if headroom is not None:
        unordered = [pair.names for pair in pairs if pair.is_by_text]
        yield from headroom_lines(headroom, everything=everything, unordered=unordered)
    if pairs:
        told = [] if hoped is None else [hoped_words(*hoped)]
        if everything or wanted:
            yield explain_table(out, pairs)
        else:
            yield from grouped_lines(pairs)
            told += [pair.kept_apart_by for pair in pairs]
        yield from rules_lines(told)
        return
    names = unique_names(tuple(layouts.apart.buffers))
    used = {names[buffer] for buffer in layouts.apart.live}
    unused = [name for name in wanted if name not in used]
    yield Text(f"{unused[0]} is not used" if unused else _FEWER.format(len(used)))


_FEWER = "buffers that are used: {}, so none may share bytes with another"


def explain_table(out: Console, pairs: Sequence[Explanation]) -> Table:
    """A row for each pair: whether the two may share, and why not, or why not today."""
    outer = any(one.may_share and one.outer for one in pairs)
    return table_of(
        out,
        "",
        pairs,
        Col("buffers", TEXT, lambda one: " and ".join(one.names)),
        Col("sharing", WORD, _sharing_text),
        Col("what speaks against it", TEXT, _first_cause),
        Col(
            "why `outer` keeps them apart",
            TEXT,
            lambda one: one.outer if one.may_share else "",
            outer,
        ),
    )


def _sharing_text(found: Explanation) -> Text:
    return Text(found.sharing.words, style="green" if found.may_share else "yellow")


def _first_cause(found: Explanation) -> str:
    return found.causes[0].sentence if found.causes else found.forbidden_by


# Pairs in groups ---------------------------------------------------------------------------------

Names = tuple[str, str]

MOST_ALLOWED, MOST_REFUSED, MOST_KEPT = 8, 4, 2
"""The most groups that are listed of pairs that may share, or that one reason keeps from it, or the
compilers' rule."""

SHORT = 60
"""Characters up to which pairs that are live at the same time are named, not counted."""


def grouped(pairs: Sequence[Names], most: int = 1_000) -> list[str]:
    """`A, B with C, D`: each pair once, whatever has the same partners together.

    Of more than `most` such lines the last says how many pairs are not in the others.
    """
    partners: dict[str, list[str]] = {}
    for one, two in pairs:
        partners.setdefault(one, []).append(two)
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, others in partners.items():
        alike.setdefault(tuple(others), []).append(name)
    lines = [
        (f"{', '.join(names)} with {', '.join(shared)}", len(names) * len(shared))
        for shared, names in alike.items()
    ]
    listed = [line for line, _ in lines[:most]]
    rest = sum(count for _, count in lines[most:])
    return [*listed, f"and {rest} more pairs (--all)"] if rest else listed


def grouped_lines(pairs: Sequence[Explanation]) -> Iterator[Text]:
    """Pairs that may share, and those that may not, by rule; pairs live together are counted."""
    ordered = sorted(pairs, key=lambda one: ([*Sharing].index(one.sharing), not one.judged))
    for heading, found in _by(ordered, [*map(_heading, ordered)]).items():
        yield Text(f"{heading}, {len(found)} of {len(pairs)} pairs:")
        lines = _allowed(found) if found[0].may_share else _refused(found)
        for line in lines:
            yield Text(f"  {line}")


def _heading(pair: Explanation) -> str:
    if pair.may_share:
        return MAY_SHARE
    if pair.sharing is Sharing.MUST_NOT:
        return pair.sharing.words
    return KEPT_APART if pair.judged else UNCHECKED


def _allowed(pairs: Sequence[Explanation]) -> Iterator[str]:
    """The pairs that may share, and why the compilers' rule, policy outer, forbids it."""
    yield from grouped([pair.names for pair in pairs], MOST_ALLOWED)
    for why, kept in _by(pairs, [pair.outer for pair in pairs]).items():
        if why:
            named = "; ".join(grouped([pair.names for pair in kept], MOST_KEPT))
            who = "all of these" if len(kept) == len(pairs) > 1 else named
            yield f"the compilers' rule (policy outer) keeps apart {who}: {why}"


def _refused(pairs: Sequence[Explanation]) -> Iterator[str]:
    """The pairs that must not share, by rule, with the reason of one pair in full."""
    for short, alike in _by(pairs, [pair.kept_apart_by for pair in pairs]).items():
        if short == LIVE_TOGETHER:
            names = grouped([pair.names for pair in alike])
            few = len(names) == 1 and len(names[0]) <= SHORT
            told = names[0] if few else f"{counted(len(alike), 'pair')} (--all lists them)"
            yield f"live at the same time: {told}"
            continue
        yield f"{short}: {'; '.join(grouped([pair.names for pair in alike], MOST_REFUSED))}"
        if alike[0].judged or (alike[0].causes and alike[0].causes[0].rule is not None):
            yield f"  {'for example, ' if len(alike) > 1 else ''}{_reason(alike[0])}"


def _reason(pair: Explanation) -> str:
    """Why one pair is kept apart: the execution that goes wrong, where there is a certain one."""
    cause = pair.causes[0] if pair.causes else None
    if cause is None or (pair.verdict.verdict is UNSOUND and pair.verdict.violations):
        if pair.verdict.violations:
            violation = pair.verdict.violations[0]
            return f"{' and '.join(violation.buffers)}: {violation.witness}"
        finding = pair.verdict.first_finding
        return finding.replace(LIMIT_OF_WORK, "the checker stopped at its limit of work: ", 1)
    return cause.text if cause.rule is None else cause.text.removeprefix(f"rule {cause.rule}: ")


def _by(pairs: Sequence[Explanation], keys: Sequence[str]) -> dict[str, list[Explanation]]:
    found: dict[str, list[Explanation]] = {}
    for pair, key in zip(pairs, keys, strict=True):
        found.setdefault(key, []).append(pair)
    return found
