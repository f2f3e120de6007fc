"""`smemreuse advise SCRIPT`: the configurations that a script would tune, ranked."""

from __future__ import annotations

from collections.abc import Sequence

from smemreuse.commands.output import emit_answer, emit_next
from smemreuse.commands.script import check_script, execute
from smemreuse.commands.verb import say
from smemreuse.report.next_steps import after_ranking
from smemreuse.report.ranking import ranking_data, ranking_lines
from smemreuse.report.tables import console
from smemreuse.results.ranking import Ranking
from smemreuse.targets.architectures import Architecture
from smemreuse.targets.cards import Card

NOTHING_TUNED = "{}: no tuned function was called in the script's own process"


def advise_script(
    script: str,
    args: Sequence[str],
    arch: Architecture | None,
    card: Card | None,
    top: int,
    output_format: str,
) -> int:
    """Runs a script up to its first tuned function, and tells of that. The exit code: 0 where a
    configuration launches, 1 where none does or nothing is tuned, else the script's own."""
    check_script(script)
    from smemreuse.compilers.tilelang.tuning import advising

    found: list[tuple[str, Ranking]] = []
    # wgmma and tensor maps are of the architecture's own features
    name = {"sm_90": "sm_90a", "sm_100": "sm_100a"}.get(arch.name, arch.name) if arch else None
    with advising(lambda *advice: found.append(advice), arch=name, card=card, top=top or 2**31):
        end = execute(script, args)
    if not found:
        if not end.uncaught:
            say(NOTHING_TUNED.format(script))
        return end.exit_code or 1
    for tuned, ranking in found:
        entry = {"kernels": [ranking_data(tuned, ranking)]}
        lines = ranking_lines(console(), tuned, ranking)
        emit_answer(output_format, "ranking", lines, entry)
    if output_format == "table":
        emit_next(after_ranking((script, *args)))
    return int(not all(ranking.ranked for _, ranking in found))
