"""What is told first of many kernels, of comparisons made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.report.comparison_legends import (
    SCOPES,
    above_bound_lines,
    compare_legend,
    kernels_legend,
    policies_legend,
)
from smemreuse.report.comparison_totals import (
    WORST,
    not_sound_lines,
    summary_lines,
    worst_lines,
)
from smemreuse.report.comparisons import (
    SORTS,
    comparison_findings,
    hoped_lines,
    kernels_table,
    titles_of,
    unchanged,
    unchanged_line,
)
from smemreuse.results.comparison import KEPT, Comparison, Concern, PolicyResult
from smemreuse.results.findings import FindingKind, Level
from smemreuse.results.residents import ESTIMATED, Registers, RegisterSource, Residents
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, VerdictKind
from tests.report.made import cells, out


def result(policy: str, arena: int, verdict: VerdictKind = SOUND, **more: object) -> PolicyResult:
    made = {
        "policy": policy,
        "arena_bytes": arena,
        "arena_text": f"{arena:,}",
        "lower_bound_bytes": arena,
        "gap": "1.000",
        "optimal": True,
        "blocks": 2,
        "resident": more.get("blocks", 2),
        "fits": True,
        "verdict": verdict,
        "kept": False,
        "finding": "rule 2, A and B: overwritten",
        **more,
    }
    return PolicyResult(**made)  # type: ignore[arg-type]


def row(outer: PolicyResult, applied: PolicyResult, name: str = "k", **more: object) -> Comparison:
    made = {"hoped": None, "hoped_bytes": None, **more}
    policies = {one.policy: one for one in (outer, applied)}
    limit = "at most 166,912 on sm_80"
    return Comparison(f"d/{name}.tir", "main", "shared.dyn", 7, 3, 4096, limit, policies, **made)  # type: ignore[arg-type]


FINE = row(result("outer", 3072, UNPROVED), result("dataflow", 2048, blocks=3))
LARGER = row(result("outer", 1024, UNSOUND), result("dataflow", 2048), "larger")
REFUTED = row(result("outer", 1024), result("dataflow", 1024, UNSOUND), "unsound")
TOO_LARGE = row(result("outer", 4096, fits=False), result("dataflow", 4096, fits=False), "big")
OPEN = row(result("outer", 1024), result("dataflow", 1024, UNPROVED, kept=True), "open")
HOPED = row(
    result("outer", 1024),
    result("dataflow", 1024),
    "hoped",
    hoped="might do with 512",
    hoped_bytes=512,
)
LOOSE = row(result("outer", 1024), result("dataflow", 1024, lower_bound_bytes=1000), "loose")
ALL = [FINE, LARGER, REFUTED, TOO_LARGE, OPEN, HOPED, LOOSE]


def test_the_totals() -> None:
    bare = replace(FINE, buffers=0, file="d/bare.tir")
    told = [line.plain for line in summary_lines([FINE, LARGER, bare])]
    assert told == [
        "3 files: 3 kernels, 2 with shared memory; bytes of all, and their difference in % of the "
        "default merge:",
        "  chosen           4,096 bytes       0 %  2 sound",
        "  its lower bound  4,096 bytes       0 %",
        "  default merge    4,096 bytes",
        "  side by side     8,192 bytes  +100.0 %",
        "  outer            4,096 bytes       0 %  1 unproved, 1 unsound",
        "chosen layouts against the default merge: 1 smaller by 1,024 bytes, 1 larger by 1,024 "
        "bytes, 1 with more blocks per SM",
    ]
    smaller = row(result("outer", 2048), result("dataflow", 1024))
    *_, changes = summary_lines([smaller, smaller])
    assert changes.plain.endswith(": 2 smaller by 2,048 bytes in all, none with more blocks per SM")
    (line,) = summary_lines([bare])
    assert line.plain == "1 file: 1 kernel, 0 with shared memory"


def test_a_kernel_of_two_scopes_is_one() -> None:
    static = replace(FINE, scope="shared")
    first, *_ = summary_lines([FINE, static, replace(FINE, kernel="other", buffers=0)])
    told = "1 file: 2 kernels, 1 with shared memory; 2 layouts, as 1 kernel has two "
    assert first.plain.startswith(f"{told}storage scopes; bytes of all")


def test_the_gravest_concern_counts() -> None:
    expected = [
        None,
        Concern.STOCK_UNSOUND,
        Concern.UNSOUND,
        Concern.TOO_LARGE,
        Concern.UNPROVED,
        Concern.HOPED,
        Concern.GAP,
    ]
    assert [one.concern for one in ALL] == expected


def test_the_worst_are_told_with_the_reason_in_the_order_of_gravity() -> None:
    lines = [line.plain for line in worst_lines(ALL, titles_of(ALL), 120)]
    assert lines[1:-1] == [
        "To look at: 6 (unsound: 1, does not fit: 1, outer is unsound: 1, unproved: 1, "
        "perhaps smaller: 1, packing gap: 1):",
        "  unsound: unsound: rule 2, A and B: overwritten",
        "  does not fit: big: 4,096 bytes, at most 166,912 on sm_80",
        "  outer is unsound: larger: rule 2, A and B: overwritten",
        "  unproved: open: rule 2, A and B: overwritten",
        "  perhaps smaller: hoped: might do with 512",
        "  packing gap: loose: 24 bytes above the lower bound, proved smallest",
    ]
    assert list(worst_lines([FINE], ["k"], 80)) == []


def test_a_layout_that_builds_have_already_is_said_to_be_one() -> None:
    own = row(result("outer", 1024), result("dataflow", 1024, UNPROVED, own=True), "open")
    assert own.why == f"{KEPT}: rule 2, A and B: overwritten"
    assert OPEN.why == "rule 2, A and B: overwritten"


def test_rules_behind_the_worst_are_stated_below_them() -> None:
    why = replace(HOPED, hoped="A is not ordered before B (rule 6)")
    *_, stated, _ = (line.plain for line in worst_lines([why], ["name"], 80))
    assert stated == "rule 6: Reuse needs a barrier; each rule in full: docs/soundness.md"


def test_every_kind_has_its_turn_among_ten() -> None:
    many = [replace(TOO_LARGE, file=f"d/{number}.tir") for number in range(20)]
    rows = [*many, LOOSE, HOPED]
    lines = [line.plain for line in worst_lines(rows, titles_of(rows), 120)]
    assert lines[1].startswith(f"To look at: the worst {WORST} of 22 ")
    assert len(lines) == WORST + 3
    assert sum("does not fit: " in line for line in lines[2:]) == WORST - 2


@pytest.mark.parametrize(("width", "many"), [(40, 2), (80, 1)])
def test_a_reason_is_told_to_its_end(width: int, many: int) -> None:
    """On the line of its concern, or on its own where less than half of that is left."""
    why = "why " * 100 + "at last"
    long = replace(HOPED, hoped=why)
    _, _, *lines, _ = (line.plain for line in worst_lines([long], ["name"], width))
    assert (len(lines), lines[-1].endswith(f" {why}")) == (many, True)


def test_blocks_of_a_kernel_in_two_scopes_say_what_each_row_assumes() -> None:
    assert SCOPES not in [line.plain for line in compare_legend([FINE])]
    alike = compare_legend([FINE, replace(FINE, scope="shared")])
    assert SCOPES not in [line.plain for line in alike]
    other = {**FINE.policies, "dataflow": result("dataflow", 1024, blocks=2, resident=2)}
    differ = compare_legend([FINE, replace(FINE, scope="shared", policies=other)])
    assert [line.plain for line in differ].count(SCOPES) == 1


def test_rules_that_reasons_name_are_told_once_where_they_stand() -> None:
    why = "a smaller layout of 512 bytes is unproved: A is not ordered before B (rule 6)"
    lines = [line.plain for line in hoped_lines([replace(FINE, hoped=why)] * 2)]
    stated = "rule 6: Reuse needs a barrier; each rule in full: docs/soundness.md"
    assert (lines[-1], lines.count(stated)) == (stated, 1)
    assert len(hoped_lines([replace(FINE, hoped="is unproved")])) == 1


def test_a_layout_with_which_no_block_launches_is_told_beside_its_verdict() -> None:
    large = replace(result("dataflow", 2048), fits=False, blocks=0, resident=0)
    rows = [row(result("outer", 2048), large)]
    assert cells(kernels_table(out(80), rows, ["k"]))[1][-1] == "sound, too large"
    for legend in (kernels_legend(out(80), rows), compare_legend(rows)):
        assert any(line.plain.startswith("too large: no block launches") for line in legend)
    assert not any(line.plain.startswith("too large") for line in compare_legend([FINE]))


def test_names_are_as_long_as_it_takes() -> None:
    assert titles_of([FINE]) == ["k"]
    deep = replace(FINE, file="d/e/k.tir")
    assert titles_of([FINE, deep]) == ["k", "e/k"]
    several = [FINE, replace(FINE, kernel="other"), replace(FINE, scope="shared")]
    assert titles_of(several) == ["k: main (shared.dyn)", "k: other", "k: main (shared)"]
    assert titles_of([FINE, replace(FINE, file="/x/k.tir")])


def test_a_row_for_each_kernel_with_the_columns_that_there_is_room_for() -> None:
    known = replace(FINE, default_bytes=2560, compiler="TileLang")
    table = cells(kernels_table(out(), [known, OPEN], ["k", "open"], ["", "new"]))
    assert [heading.split() for heading in table[0]] == [
        ["kernel"],
        ["side", "by", "side"],
        ["default"],
        ["chosen"],
        ["change"],
        ["lower", "bound"],
        ["above", "bound"],
        ["blocks", "per", "SM"],
        ["verdict"],
        ["baseline"],
    ]
    assert table[1:] == [
        ["k", "4,096", "2,560", "2,048", "-20.0 %", "2,048", "0 %", "3", "sound", ""],
        ["open", "4,096", "-", "1,024", "-", "1,024", "0 %", "2", "unproved", "new"],
    ]
    narrow = cells(kernels_table(out(80), [FINE], ["k"]))[0]
    assert narrow == ["kernel", "default", "chosen", "change", "blocks per SM", "verdict"]


def test_rows_that_tell_nothing_are_counted_and_blocks_that_change_are_told() -> None:
    same = row(result("outer", 2048), result("dataflow", 2048), default_bytes=2048)
    named = [replace(same, file=f"d/{number}.tir") for number in range(3)]
    gains = replace(same, default_bytes=4096, default_blocks=1, arch="sm_90")
    assert unchanged([*named, gains, OPEN]) == named
    assert unchanged(named) == []
    assert unchanged([*named[:2], gains]) == []
    (heading, _, last) = cells(kernels_table(out(80), [same, gains], ["a", "b"]))
    assert "SM" in heading
    assert "sm_90" in last
    assert "1 -> 2" in last
    legend = [line.plain for line in kernels_legend(out(80), [gains])]
    assert any("`2 -> 3`: 2 with the default" in line for line in legend)


def test_what_is_not_proved_sound_of_other_policies_is_named() -> None:
    inner = replace(LARGER, policies={**LARGER.policies, "inner": result("inner", 1024, UNSOUND)})
    rows = [FINE, LARGER, inner, inner, inner, LOOSE]
    told = [line.plain for line in not_sound_lines(rows, ["fine", "larger", *"abc", "loose"])]
    assert told == [
        "not chosen: outer's layout of fine, which is unproved",
        "not chosen: inner's layout of a, b and 1 more (--all), which is unsound",
    ]
    assert not [*not_sound_lines([REFUTED], ["chosen"])]  # its concern is told


def test_kernels_that_are_only_counted() -> None:
    told = unchanged_line([FINE, FINE]).plain
    assert told.endswith("proved sound (--sort kernel lists them)")


ABOVE = {"lower_bound_bytes": 1000, "objective": "speed", "optimal": False}


@pytest.mark.parametrize(
    ("more", "blocks", "limits", "why"),
    [
        ({}, 2, ("registers",), "as registers allow no more, and no L1"),
        ({}, 2, ("shared memory",), ": sharing bytes gains no block, and no L1 that is worth"),
        ({}, 2, ("blocks of an SM",), "as an SM holds no more, and no L1"),
        ({}, 3, ("threads",), "with the bound 3 blocks would be resident; no such layout is "),
        ({"optimal": True}, 3, ("threads",), "no layout with these live ranges takes fewer bytes"),
        ({"objective": "bytes"}, 2, ("threads",), ""),
        ({"lower_bound_bytes": 1024}, 2, ("threads",), ""),
    ],
)
def test_why_a_layout_is_above_its_bound(
    more: dict[str, object], blocks: int, limits: tuple[str, ...], why: str
) -> None:
    then = Residents("sm_80", False, blocks, blocks, limits, 2024, None, 128, None)
    fast = result("dataflow", 1024, **{**ABOVE, **more})  # type: ignore[arg-type]
    found = row(result("outer", 1024), fast, at_bound=then)
    told = [line.plain for line in above_bound_lines([found] * 4, [*"abcd"])]
    assert bool(told) == bool(why)
    for line in told:
        named = "a (24 bytes), b (24 bytes), c (24 bytes) and 1 more: "
        assert line.startswith(f"above the lower bound: {named}")
        assert why in line


def test_the_default_merge_decides_what_is_saved() -> None:
    """Not policy outer, which no compiler packs so."""
    known = replace(FINE, default_bytes=2048, default_blocks=3)
    assert (FINE.saved_bytes, FINE.gains_block) == (1024, True)
    assert (known.saved_bytes, known.gains_block, known.is_changed) == (0, False, False)
    legend = " ".join(line.plain for line in policies_legend([known]))
    told = "the best for the objective of the layouts that are proved; if none is, the default one."
    assert f"chosen: smemreuse's layout (policy dataflow): {told}" in legend
    legend = " ".join(line.plain for line in kernels_legend(out(80), [known]))
    assert "change: of the chosen layout, in % of default." in legend


def test_blocks_that_registers_stop_are_told_by_an_example() -> None:
    few = Registers(64, RegisterSource.ESTIMATE)
    stopped = row(
        result("outer", 1024), result("dataflow", 1024, blocks=9, resident=4, registers=few)
    )
    legend = [line.plain for line in kernels_legend(out(80), [stopped])]
    assert (
        f"blocks per SM, `4 (regs)`: registers allow 4 (64 a thread, {ESTIMATED}); "
        "shared memory, threads and barriers would allow 9."
    ) in legend
    assert not any("blocks per SM" in line.plain for line in kernels_legend(out(80), [FINE]))
    other = row(
        result("outer", 1024), result("dataflow", 1024, blocks=6, resident=4, registers=few)
    )
    told = [line.plain for line in kernels_legend(out(80), [stopped, other])]
    assert [line for line in told if "blocks per SM" in line] == [
        f"blocks per SM, `4 (regs)`: registers allow 4 (64 a thread, {ESTIMATED}); "
        "shared memory, threads and barriers would allow 6 to 9, as `smemreuse explain` says of "
        "each kernel."
    ]


def test_of_inner_it_is_said_that_what_is_to_look_at_may_be_other_layouts() -> None:
    hoped = replace(FINE, hoped="why", hoped_bytes=512)
    said = "; its verdicts are on its own layouts, those to look at may be others."
    told = [[line.plain for line in policies_legend([one])] for one in (FINE, hoped)]
    assert any(line.endswith(said) for line in told[1])
    assert not any(said in line for line in told[0])


def test_orders() -> None:
    first = {name: min(ALL, key=key).file.removeprefix("d/") for name, key in SORTS.items()}
    assert first["verdict"] == "unsound.tir"
    assert first["dataflow"] == first["outer"] == "big.tir"
    assert first["gap"] == "loose.tir"
    assert first["saved"] == "k.tir"
    assert first["kernel"] == "big.tir"


def test_findings_are_what_is_wrong_and_no_lost_bytes() -> None:
    found = [finding for one in ALL for finding in comparison_findings(one)]
    assert [(one.rule, one.level) for one in found] == [
        (FindingKind.UNSOUND_OUTER.value, Level.WARNING),
        (FindingKind.UNSOUND_PLAN.value, Level.ERROR),
        (FindingKind.DOES_NOT_FIT.value, Level.ERROR),
        (FindingKind.UNPROVED_PLAN.value, Level.WARNING),
    ]
    assert {one.place.line for one in found} == {7}
    assert len({one.fingerprint for one in found}) == 4
