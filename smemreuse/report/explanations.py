"""What `explain` tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from smemreuse.ir.kernel import unique_names
from smemreuse.report.columns import TEXT, WORD, FittingTable
from smemreuse.report.data import Data, Subject, verdict_data
from smemreuse.report.groups import grouped_lines
from smemreuse.report.headroom import headroom_lines
from smemreuse.report.preconditions import grounds_data, grounds_lines
from smemreuse.report.tables import no_buffers
from smemreuse.report.verdicts import findings, hoped_words
from smemreuse.results.explanation import Explanation, Sharing
from smemreuse.results.headroom import Headroom
from smemreuse.results.plan import Plan
from smemreuse.results.preconditions import Grounds
from smemreuse.results.verdict import Judged


def explain_entry(subject: Subject, found: Explanation, grounds: Grounds | None = None) -> Data:
    """One pair of `smemreuse.explain/1`; `grounds` are of its kernel."""
    return {
        "file": subject.file,
        "name": subject.kernel.name,
        "scope": subject.scope,
        "buffers": list(found.names),
        "live": dict(zip(found.names, found.live, strict=True)),
        "lifetimes": dict(zip(found.names, found.lifetimes, strict=True)),
        "may_share": found.may_share,
        "sharing": found.sharing.value,
        "reasons": list(found.reasons),
        "forbidden_by": found.forbidden_by,
        "settled": list(found.settled),
        "outer": found.outer,
        "checker": verdict_data(found.verdict),
        "rests_on": grounds_data(grounds if found.verdict.sound else None),
    }


def explain_lines(
    subject: Subject, found: Explanation, grounds: Grounds | None = None
) -> Iterator[Text]:
    """Everything about one pair."""
    one, two = found.names
    words = found.sharing.words
    share = f"are {words}" if found.sharing is Sharing.NOT_PROVED else words
    yield Text(f"{subject.kernel.name} ({subject.scope}): {one} and {two} {share} bytes")
    for name, live, ends in zip(found.names, found.live, found.lifetimes, strict=True):
        told = f", {ends}" if ends else ""
        lived = f"live in [{live[0]}, {live[1]}){told}" if live else "unused"
        yield Text(f"  {name} is {lived}")
    for reason in found.reasons:
        yield Text(f"  {reason}")
    if found.settled:
        yield Text("  settled by the byte trace:")
        yield from (Text(f"    {reason}") for reason in found.settled)
    yield Text(f"  byte trace with {one} and {two} at one place: {found.verdict.verdict}")
    yield from findings(found.verdict)
    yield from grounds_lines(grounds if found.verdict.sound else None)


def explain_summary(
    out: Console,
    subject: Subject,
    judged: Sequence[Judged],
    side_by_side: Plan,
    pairs: Sequence[Explanation],
    wanted: Sequence[str],
    grounds: Grounds | None = None,
    headroom: Headroom | None = None,
    everything: bool = False,
    hoped: Judged | None = None,
) -> Iterator[RenderableType]:
    """What each plan makes of a kernel, what its bytes hang on, and who may share with whom.

    `wanted` names the buffers asked for; `hoped` is a smaller plan that is not proved. Of all
    pairs those that are live together are only counted, unless `everything` is told, as it is of
    one buffer's.
    """
    if not subject.has_buffers:
        yield no_buffers(subject.file, subject.kernel.name)
        return
    for plan, verdict in judged:
        reused = f"{plan.reused_bytes:,} bytes are" if plan.sharing_pairs() else "nothing is"
        symbolic = ", those of symbolic size apart" if plan.symbolic_offsets else ""
        yield Text(
            f"{subject.kernel.name} ({subject.scope}), policy {plan.policy}: "
            f"{plan.arena_bytes:,} of {side_by_side.arena_bytes:,} bytes{symbolic}; "
            f"{reused} reused; verdict: {verdict.verdict}"
        )
    if any(verdict.sound and plan.sharing_pairs() for plan, verdict in judged):
        yield from grounds_lines(grounds)
    if hoped is not None:
        yield Text(f"  {hoped_words(*hoped)}")
    if headroom is not None:
        yield from headroom_lines(headroom)
    if pairs:
        if everything or wanted:
            yield explain_table(out, pairs)
        else:
            yield from grouped_lines(pairs)
        return
    names = unique_names(tuple(side_by_side.buffers))
    used = {names[buffer] for buffer in side_by_side.live}
    unused = [name for name in wanted if name not in used]
    yield Text(f"{unused[0]} is not used" if unused else "fewer than two buffers are used")


def explain_table(out: Console, pairs: Sequence[Explanation]) -> Table:
    """A row for each pair: whether the two may share, and why not, or why not today."""
    table = FittingTable(
        out,
        "",
        ("buffers", TEXT),
        ("sharing", WORD),
        ("what speaks against it", TEXT),
        ("why `outer` keeps them apart", TEXT),
    )
    for found in pairs:
        may = Text(found.sharing.words, style="green" if found.may_share else "yellow")
        why = found.causes[0].text if found.causes else found.forbidden_by
        outer = found.outer if found.may_share else ""
        table.add_row(Text(" and ".join(found.names)), may, Text(why), Text(outer))
    return table
