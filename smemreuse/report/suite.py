"""One run of many kernels in many processes: a table, totals, what went wrong, and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain

from rich.console import Console
from rich.table import Table
from rich.text import Text

from smemreuse.report.columns import NUMBER, TEXT, WORD, Col, table_of
from smemreuse.report.data import Data
from smemreuse.report.elaborations import elaboration_data, telling
from smemreuse.report.hazards import hazard_lines, report_data
from smemreuse.report.page.hazards import with_hazards
from smemreuse.report.page.rows import overview_row
from smemreuse.report.run import (
    AFTER,
    ARCH,
    BEFORE,
    TITLE,
    blocks_legend,
    blocks_of,
    lint_column,
    made,
    made_column,
)
from smemreuse.report.titles import counted, numbered
from smemreuse.report.verdicts import kind_text
from smemreuse.results.carried import CarriedPlan, ScopePlans, Taken
from smemreuse.results.footprint import KernelFootprint
from smemreuse.results.hazards import LintStatus
from smemreuse.results.serialized import picked
from smemreuse.results.suite import TROUBLES, Judgement, Suite, SuiteKernel, Trouble
from smemreuse.results.verdict import SOUND, UNSOUND
from smemreuse.targets.architectures import DEFAULT_ARCH, most_by_registers

MAX_SHOWN = 20
"""Troubles that are listed for people; JSON has all."""

LONGEST = 200
"""Characters of a reason that people are shown."""


def suite_table(out: Console, suite: Suite, *, audits_only: bool) -> Table:
    """A row for each kernel that has shared memory, and one for each that failed."""

    def blocks(took: KernelFootprint) -> str:
        before, after = blocks_of(took)
        return before if audits_only or before == after else f"{before} -> {after}"

    unmerged = (_left(suite, "not judged" if audits_only else "left"), _failed(suite))
    rows: list[tuple[str, SuiteKernel]] = [*titled(suite.merged), *chain.from_iterable(unmerged)]
    return table_of(
        out,
        "Shared memory of each block, in bytes: before by TileLang's own merge"
        + (", after by smemreuse's" if not audits_only else ""),
        rows,
        TITLE,
        Col("lowered", NUMBER, lambda one: str(one[1].lowered)),
        *(ARCH, BEFORE),
        replace(AFTER, shown=not audits_only),
        Col("blocks per SM", NUMBER, lambda one: blocks(one[1].footprint)),
        Col("TileLang's merge", WORD, lambda one: _compilers(one[1], audits_only)),
        Col("smemreuse's", TEXT, lambda one: _ours(one[1]), not audits_only),
        lint_column(suite.linted),
        made_column(rows),
    )


@dataclass
class _Unmerged(SuiteKernel):
    """A function of which there is nothing to tell but that it was left, or failed."""

    word: str = ""


def _left(suite: Suite, word: str) -> Iterator[tuple[str, SuiteKernel]]:
    for name, count in _by_name(suite.left):
        yield name, _Unmerged(_nothing(name), lowered=count, word=word)


def _failed(suite: Suite) -> Iterator[tuple[str, SuiteKernel]]:
    for name, count in _by_name(suite.failed):
        word = "failed" if count == 1 else f"failed {count:,} times"
        yield name, _Unmerged(_nothing(name), lowered=0, word=word)


def _by_name(found: Counter[Trouble]) -> list[tuple[str, int]]:
    return sorted(((trouble.name, count) for trouble, count in found.items()))


def _nothing(name: str) -> KernelFootprint:
    return KernelFootprint(name, *[None] * 10)


def _compilers(kernel: SuiteKernel, last: bool) -> Text:
    """The verdict on the compiler's own merge; the `last` column has what was not merged."""
    if isinstance(kernel, _Unmerged) and last:
        return Text(kernel.word, style="bold red")
    return _judgement_text(kernel.compiler)


def _ours(kernel: SuiteKernel) -> Text:
    """The verdict on what was applied and, where it takes more bytes than before, why."""
    if isinstance(kernel, _Unmerged):
        return _compilers(kernel, last=True)
    word = _judgement_text(kernel.ours)
    if kernel.kept and kernel.ours is not None and kernel.ours.finding:
        return Text("kept, ").append_text(word)
    if kernel.gained < 0:
        own = kernel.compiler.verdict if kernel.compiler is not None else SOUND
        why = f", because TileLang's merge is {own}" if own is not SOUND else " than before"
        return word.append(f"; more bytes{why}")
    return word


def _judgement_text(found: Judgement | None) -> Text:
    return kind_text(found.verdict) if found is not None else Text("-")


def suite_lines(suite: Suite, *, audits_only: bool, lower_only: bool) -> Iterator[Text]:
    """The totals, then what was refuted, left and failed, a line for each."""
    yield from blocks_legend(one.footprint for one in suite.merged)
    yield Text(_totals(suite, audits_only))
    for title, kernel in titled(suite.merged):
        if kernel.compiler is not None and kernel.compiler.verdict is UNSOUND:
            yield Text(
                f"{title}: TileLang's own merge is unsound: {_short(kernel.compiler.finding)}"
            )
        if kernel.kept and kernel.ours is not None and kernel.ours.finding:
            why = _short(kernel.ours.finding)
            yield Text(f"{title}: keeps TileLang's own merge, which is not proved: {why}")
        for sentence in kernel.mends:
            yield Text(f"{title}: {_short(sentence)}")
        for sentence in kernel.unmended:
            yield Text(f"{title}: not fixed: {_short(sentence)}")
    yield from _hazards(suite)
    if lower_only and not suite.stopped:
        yield Text("lowered only: no kernel was called")
    elif lower_only:
        stopped = counted(suite.stopped, "call")
        yield Text(
            f"lowered only: {stopped} of kernels {'was' if suite.stopped == 1 else 'were'} not run"
        )
    yield from trouble_lines(suite, audits_only=audits_only)


def _hazards(suite: Suite) -> Iterator[Text]:
    """The first hazards of the kernels themselves, of those that have any."""
    found = [(title, each.lint) for title, each in titled(suite.kernels) if each.lint is not None]
    worst = [each for each in found if each[1].hazards]
    worst.sort(key=lambda each: not any(one.certain for one in each[1].hazards))
    for title, lint in worst[:MAX_SHOWN]:
        yield from hazard_lines(title, lint)
    if len(worst) > MAX_SHOWN:
        yield Text(f"... and {len(worst) - MAX_SHOWN} more kernels with hazards")


def titled(kernels: Sequence[SuiteKernel]) -> list[tuple[str, SuiteKernel]]:
    """The kernels, each under a name that tells it from the others."""
    return [*zip(numbered([each.name for each in kernels]), kernels, strict=True)]


def trouble_lines(suite: Suite, *, audits_only: bool) -> Iterator[Text]:
    """What was left, has failed or was not seen, a line for each."""
    done = "is not judged" if audits_only else "is merged by TileLang instead"
    yield from _troubles(suite.left, f"{{}} {done}: {{}}")
    yield from _troubles(suite.failed, "{} was not compiled: {}")
    yield from _troubles(suite.untold, "{} has no full entry: {}")
    if suite.reloaded:
        names = ", ".join(dict.fromkeys(suite.reloaded))
        yield Text(f"from TileLang's cache alone, and so neither merged anew nor judged: {names}")
    for trouble in dict.fromkeys(suite.blind):
        yield Text(f"kernels of {trouble.name} are not seen: {_short(trouble.why)}")
    if suite.unfinished:
        names = ", ".join(dict.fromkeys(suite.unfinished))
        yield Text(f"not lowered to the end, as if the process had been ended meanwhile: {names}")
    if suite.lost:
        yield Text(f"{counted(suite.lost, 'note')} of processes that were ended could not be read")


def _totals(suite: Suite, audits_only: bool) -> str:
    lowered = sum(each.lowered for each in suite.kernels)
    processes = {one for each in suite.kernels for one in each.processes}
    without = len(suite.kernels) - len(suite.merged)
    parts = [
        f"{counted(len(suite.kernels), 'kernel')}"
        f"{f' ({without} without shared memory)' if without else ''}, "
        f"{counted(lowered, 'lowering')} in {counted(len(processes), 'process', 'es')}"
    ]
    if audits_only:
        parts.append(f"{suite.bytes_before:,} bytes")
    else:
        parts.append(f"{suite.bytes_before:,} bytes before, {suite.bytes_after:,} after")
        changed = {
            "smaller": suite.smaller,
            "larger": suite.larger,
            "with more blocks per SM": suite.more_blocks,
        }
        parts += filter(None, [", ".join(_nonzero(changed))])
    parts.append(f"TileLang's merge: {_counted(suite.verdicts('compiler'))}")
    if not audits_only:
        parts.append(f"smemreuse's: {_counted(suite.verdicts('ours'))}")
    if suite.linted:
        statuses = Counter(one.lint.status for one in suite.kernels if one.lint is not None)
        by_status = ", ".join(f"{statuses[one]} {one}" for one in LintStatus if statuses[one])
        parts.append(f"lint: {by_status}")
    left = "not judged" if audits_only else "left to TileLang's merge"
    troubles = {left: sum(suite.left.values()), "not compiled": sum(suite.failed.values())}
    return "; ".join([*parts, *filter(None, [", ".join(_nonzero(troubles))])])


def _nonzero(counts: Mapping[str, int]) -> Iterator[str]:
    """`3 smaller` of each count that is not 0."""
    return (f"{count:,} {what}" for what, count in counts.items() if count)


def _counted(verdicts: Counter[str]) -> str:
    order = ("sound", "unproved", "unsound")
    return ", ".join(f"{verdicts[word]} {word}" for word in order if verdicts[word]) or "none"


def _troubles(found: Counter[Trouble], words: str) -> Iterator[Text]:
    shown: Sequence[Trouble] = sorted(found, key=lambda each: each.name)
    for trouble in shown[:MAX_SHOWN]:
        yield Text(words.format(trouble.name, _short(trouble.why)))
    if len(shown) > MAX_SHOWN:
        yield Text(f"... and {len(shown) - MAX_SHOWN} more like that")


def _short(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def suite_data(suite: Suite) -> Data:
    """All of `smemreuse.suite/1`, those without shared memory among the kernels."""
    return {
        "totals": {
            "kernels": len(suite.kernels),
            "lowerings": sum(each.lowered for each in suite.kernels),
            "processes": len({one for each in suite.kernels for one in each.processes}),
            **picked(suite, "bytes_before bytes_after smaller larger more_blocks"),
            "compiler": dict(suite.verdicts("compiler")),
            "ours": dict(suite.verdicts("ours")),
            **{name: sum(getattr(suite, name).values()) for name in TROUBLES},
            **picked(suite, "stopped lost"),
        },
        **{name: _trouble_data(getattr(suite, name)) for name in TROUBLES},
        **picked(suite, "reloaded unfinished"),
        "blind": [asdict(each) for each in dict.fromkeys(suite.blind)],
        "kernels": [_kernel_data(each) for each in suite.kernels],
    }


def _kernel_data(kernel: SuiteKernel) -> Data:
    return {
        **asdict(kernel.footprint),
        "elaborations": [*map(elaboration_data, kernel.elaborations)],
        "lowered": kernel.lowered,
        "processes": len(kernel.processes),
        "compiler": _judgement_data(kernel.compiler),
        "ours": _judgement_data(kernel.ours),
        **picked(kernel, "kept dump mends unmended"),
        "lint": report_data(kernel.lint) if kernel.lint is not None else None,
    }


def _judgement_data(found: Judgement | None) -> Data | None:
    if found is None:
        return None
    return {"verdict": found.verdict.value, "finding": found.finding or None}


def _trouble_data(found: Counter[Trouble]) -> list[Data]:
    return [{**asdict(trouble), "times": count} for trouble, count in found.items()]


# Rows of a page ----------------------------------------------------------------------------------

ORDER = "those first whose merges are not all proved, then by bytes changed, then by bytes taken"


def page_title(name: str, scope: str) -> str:
    """What one scope of a kernel is called on a page; `name` tells the kernel from all others."""
    return f"{name} ({scope})"


def most_telling(kernels: Sequence[tuple[str, SuiteKernel]]) -> list[tuple[str, SuiteKernel]]:
    """In `ORDER`; those that have nothing to merge come last."""
    return sorted(kernels, key=lambda each: _rank(each[1]))


def _rank(kernel: SuiteKernel) -> tuple[bool, bool, int, int]:
    judged = [each for each in (kernel.compiler, kernel.ours) if each is not None]
    doubted = any(each.verdict is not SOUND for each in judged)
    return not judged, not doubted, -abs(kernel.gained), -(kernel.footprint.bytes_before or 0)


def words_below(kernels: Sequence[tuple[str, SuiteKernel]]) -> dict[str, str]:
    """By the kernels' titles, what made each, and how often it was lowered."""
    text = telling(map(made, kernels))
    found = {}
    for title, kernel in kernels:
        parts = (text(made((title, kernel))), lowered_words(kernel))
        found[title] = "; ".join(part for part in parts if part)
    return found


def lowered_words(kernel: SuiteKernel) -> str:
    """How often a kernel was lowered, and by how many processes."""
    if kernel.lowered == 1:
        return "lowered once"
    times, processes = kernel.lowered, len(kernel.processes)
    return f"lowered {times:,} times" + (f" by {processes:,} processes" if processes > 1 else "")


def suite_row(file: str, name: str, kernel: SuiteKernel, found: ScopePlans) -> Data:
    """As `overview_row`, from the record that a process made of its kernel; no dump is needed."""
    last = found.last
    entry: Data = {
        "file": file,
        "name": name,
        "scope": found.scope,
        "before": found.before,
        "buffers": [{"name": one.name} for one in last.buffers],
        "arch": {
            "name": kernel.footprint.arch or DEFAULT_ARCH,
            "assumed": kernel.footprint.arch is None,
        },
        "side_by_side": {
            "bytes": last.side_by_side.bytes,
            **_taken(last.side_by_side, kernel.footprint),
        },
        "policies": {name: _plan(one, kernel.footprint) for name, one in found.plans.items()},
    }
    return overview_row(with_hazards(entry, file, kernel.lint), page_title(name, found.scope))


def _plan(found: CarriedPlan, took: KernelFootprint) -> Mapping[str, object]:
    return {
        "arena_bytes": found.arena.bytes,
        "lower_bound_bytes": found.lower_bound_bytes,
        "verdict": found.verdict.verdict.value,
        **_taken(found.arena, took),
    }


def _taken(found: Taken, took: KernelFootprint) -> Mapping[str, object]:
    symbolic = {} if found.text is None else {"arena": found.text}
    resident, registers = found.blocks, took.registers or took.expected_registers
    if resident is not None and took.threads is not None and registers is not None:
        resident = min(resident, most_by_registers(took.threads, registers))
    return {**symbolic, "blocks": found.blocks, "resident": resident, "fits": found.fits}
