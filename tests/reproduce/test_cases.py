"""A finding's attempts, launched one after the other until one shows it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from smemreuse.audit import BarrierStage
from smemreuse.compilers.text.reader import read_dump
from smemreuse.errors import BackendError
from smemreuse.ir.kernel import Block
from smemreuse.linter import lint
from smemreuse.mender import mend
from smemreuse.reproduce.arguments import LaunchArgument
from smemreuse.reproduce.cases import ALL_TRIED, ReproductionCase
from smemreuse.reproduce.cuda import DELAY, FILL, with_definitions
from smemreuse.reproduce.delays import Attempt
from smemreuse.reproduce.running import Launching
from smemreuse.reproduce.snippet import Snippet
from smemreuse.results.elaboration import Elaboration
from smemreuse.results.mending import Edit, Mended
from smemreuse.results.reproduction import (
    ALONE,
    AS_IT_IS,
    DELAYED,
    MENDED,
    MENDED_DELAYED,
    ZEROED,
    Reproduction,
    Shown,
)
from tests.conftest import ROOT
from tests.reproduce.test_cuda import ORIGINAL


@dataclass
class FakeKernel:
    """A kernel whose CUDA has a line for each thing that is put in."""

    mends: Sequence[Mended] = ()
    arguments: Sequence[LaunchArgument] | None = (LaunchArgument("int32", (4,), 0, 7),)
    broken: bool = False
    unfixed: frozenset[str] = frozenset()
    original: str = ORIGINAL
    base: str = ORIGINAL
    apart: str | None = None
    body: Block = ()
    elaboration: Elaboration = field(default_factory=Elaboration)
    func: str | None = "{}"
    snippet: Snippet | None = None
    target: Mapping[str, str] = field(default_factory=dict)
    pass_configs: Mapping[str, Any] = field(default_factory=dict)

    def source(self, attempt: Attempt, edits: Sequence[Edit] = ()) -> str:
        lines = [f"    {DELAY}({one.first}, {one.end}, {one.count}, 1);" for one in attempt.delays]
        lines += [f"    {FILL}({attempt.fill});"] if attempt.fill is not None else []
        lines += ["    changed();"] if self.broken and attempt.delays else []
        lines += [f"    mend({at});" for at, _ in enumerate(edits)]
        text = "".join(f"{line}\n" for line in lines)
        return with_definitions(ORIGINAL.replace("    X[k]", f"{text}    X[k]"))


class FakeLaunching(Launching):
    """Launches nothing: a variant is wrong or hangs if it is named so, from an attempt on."""

    def __init__(
        self,
        wrong: Mapping[str, int],
        hangs: Mapping[str, int] | None = None,
        fails: Sequence[str] = (),
    ) -> None:
        super().__init__(2)
        self.wrong, self.hangs, self.fails = wrong, hangs or {}, fails
        self.rounds: dict[str, int] = {}

    def told(self, script: Path, variant: str) -> Mapping[str, Any]:
        assert json.dumps(variant) in script.read_text()
        number = self.rounds[variant] = self.rounds.get(variant, 0) + 1
        if variant in self.fails:
            return {"error": "no memory"}
        if number >= self.hangs.get(variant, 99):
            return {"bits": [], "hangs": True}
        bits = "wrong" if number >= self.wrong.get(variant, 99) else "right"
        return {"bits": [bits] * 4, "before": "given"}


def case(
    name: str, launching: Launching, kernel: FakeKernel | None = None, *, several: bool = False
) -> ReproductionCase:
    path = ROOT / "fixtures" / "lint" / f"{name}.tir"
    (found,) = read_dump(path).kernels
    report = lint(found)
    if kernel is None:
        stage = BarrierStage.LATER if report.barriers_follow else BarrierStage.PRESENT
        kernel = FakeKernel(mend(found, stage).mends)
    identity = report.identities()[0]
    return ReproductionCase(
        "program.py", kernel, report.hazards[0], identity, launching, {}, several
    )


def heading(found: Reproduction) -> str:
    return f"{found.attempt}: {found.shown}"


def reproduced(one: ReproductionCase, folder: Path) -> Reproduction:
    return one.reproduced(folder / "script.py", heading)


def test_what_an_earlier_run_has_tried_is_left_out(tmp_path: Path) -> None:
    first = case("race_round_the_loop", FakeLaunching({}))
    found = reproduced(first, tmp_path)
    assert [*found.tried] == [one.words for one in first.attempts]
    later = replace(first, launching=FakeLaunching({}), tried={*found.tried[:-1]})
    assert reproduced(later, tmp_path).tried == found.tried[-1:]
    nothing = replace(first, launching=FakeLaunching({}), tried={*found.tried})
    assert (reproduced(nothing, tmp_path).why, nothing.reference) == (ALL_TRIED, first.reference)


def test_of_an_uninitialised_read_the_reference_is_the_same_after_an_earlier_run() -> None:
    one = case("uninitialised_state", FakeLaunching({}))
    later = replace(one, tried={one.attempts[0].words})
    assert (later.attempts, later.reference) == ((), ZEROED)


def test_the_first_attempt_that_shows_it_is_the_last(tmp_path: Path) -> None:
    launching = FakeLaunching({DELAYED: 2})
    one = case("race_round_the_loop", launching)
    found = reproduced(one, tmp_path)
    assert found.shown is Shown.DELAYED
    assert [*found.tried] == [one.attempts[0].words, one.attempts[1].words]
    assert found.attempt == one.attempts[1].words
    assert {name: outcome.is_wrong for name, outcome in found.outcomes.items()} == {
        AS_IT_IS: False,
        DELAYED: True,
        MENDED: False,
        MENDED_DELAYED: False,
    }
    text = (tmp_path / "script.py").read_text()
    assert f"{one.attempts[1].words}: shown" in text
    assert f"{one.attempts[1].delays[0].count}, 1)" in text


def test_what_does_not_change_is_launched_once(tmp_path: Path) -> None:
    launching = FakeLaunching({})
    one = case("race_round_the_loop", launching)
    found = reproduced(one, tmp_path)
    assert found.shown is Shown.NOT_SHOWN
    assert found.attempt == one.attempts[0].words
    assert len(found.tried) == len(one.attempts) == launching.rounds[DELAYED]
    assert launching.rounds[AS_IT_IS] == launching.rounds[MENDED] == 1
    assert f"{one.attempts[0].words}: not shown" in (tmp_path / "script.py").read_text()


def test_what_fixes_other_findings_alone_is_no_fix_of_this_one(tmp_path: Path) -> None:
    plain = case("race_round_the_loop", FakeLaunching({}))
    kernel = FakeKernel(plain.kernel.mends, unfixed=frozenset({plain.identity.fingerprint}))
    found = reproduced(case("race_round_the_loop", FakeLaunching({DELAYED: 1}), kernel), tmp_path)
    assert [*found.outcomes] == [AS_IT_IS, DELAYED]
    assert (found.reference, found.mends, found.mend_diff) == (AS_IT_IS, (), "")


def test_a_merged_kernel_is_held_against_the_one_in_which_nothing_is_shared(
    tmp_path: Path,
) -> None:
    kernel = FakeKernel(base="base\n" + ORIGINAL, apart="apart\n" + ORIGINAL)
    found = reproduced(case("race_round_the_loop", FakeLaunching({DELAYED: 1}), kernel), tmp_path)
    assert [*found.outcomes] == [AS_IT_IS, DELAYED, MENDED]
    assert (found.reference, found.shown) == (MENDED, Shown.DELAYED)
    assert found.mends == (found.hazard.mend.sentence,)
    assert "+apart" in found.mend_diff


def test_what_is_wrong_as_it_is_needs_no_delay(tmp_path: Path) -> None:
    found = reproduced(case("cp_async_not_waited_for", FakeLaunching({AS_IT_IS: 1})), tmp_path)
    assert (found.shown, len(found.tried)) == (Shown.BY_ITSELF, 1)
    assert [*found.outcomes] == [AS_IT_IS, MENDED]


def test_a_late_warp_shows_by_a_launch_that_does_not_end_alone(tmp_path: Path) -> None:
    one = case("warp_that_is_late", FakeLaunching({AS_IT_IS: 1}))
    assert reproduced(one, tmp_path).shown is Shown.NOT_SHOWN
    one = case("warp_that_is_late", FakeLaunching({}, {DELAYED: 1}))
    assert reproduced(one, tmp_path).shown is Shown.DELAYED


def test_memory_filled_with_a_pattern_is_held_against_zeros(tmp_path: Path) -> None:
    one = case("uninitialised_state", FakeLaunching({DELAYED: 1}))
    found = reproduced(one, tmp_path)
    assert (one.reference, found.shown) == (ZEROED, Shown.DELAYED)
    assert [*found.outcomes] == [AS_IT_IS, DELAYED, ZEROED]


def test_in_a_kernel_of_several_it_is_told_from_the_others(tmp_path: Path) -> None:
    mended = case("race_round_the_loop", FakeLaunching({})).kernel.mends
    other = case("warp_that_is_late", FakeLaunching({})).kernel.mends
    both = FakeKernel((*mended, *other))
    one = case("race_round_the_loop", FakeLaunching({AS_IT_IS: 1}), both, several=True)
    found = reproduced(one, tmp_path)
    assert found.shown is Shown.NOT_SHOWN  # the other is
    one = case("race_round_the_loop", FakeLaunching({ALONE: 1}), both, several=True)
    assert reproduced(one, tmp_path).shown is Shown.DELAYED
    one = case("race_round_the_loop", FakeLaunching({AS_IT_IS: 1}), several=True)
    assert reproduced(one, tmp_path).shown is Shown.ONE_OF_SEVERAL


def test_without_its_reference_nothing_more_is_tried(tmp_path: Path) -> None:
    found = reproduced(case("race_round_the_loop", FakeLaunching({}, fails=[MENDED])), tmp_path)
    assert (found.shown, len(found.tried)) == (Shown.NOT_COMPARABLE, 1)
    assert found.outcomes[MENDED].words == "failed: no memory"


def test_an_attempt_that_was_not_launched_is_none_that_was_tried(tmp_path: Path) -> None:
    found = reproduced(case("race_round_the_loop", FakeLaunching({}, fails=[DELAYED])), tmp_path)
    assert found.shown is Shown.NOT_COMPARABLE
    assert not found.tried


def test_an_attempt_that_changes_more_is_refused(tmp_path: Path) -> None:
    one = case("race_round_the_loop", FakeLaunching({}), FakeKernel(broken=True))
    with pytest.raises(BackendError, match="not the original"):
        one.variants(one.attempts[0])
    found = reproduced(one, tmp_path)
    assert found.shown is Shown.NOT_RUN
    assert "not the original" in found.why
    assert found.script is None


def test_a_kernel_that_nothing_launched_is_not_run(tmp_path: Path) -> None:
    one = case("race_round_the_loop", FakeLaunching({}), FakeKernel(arguments=None))
    found = reproduced(one, tmp_path)
    assert (found.shown, found.script) == (Shown.NOT_RUN, None)
    assert "launched nothing" in found.why
    assert "smemreuse_delay" in found.delay_diff


def test_without_a_launch_the_file_is_written(tmp_path: Path) -> None:
    one = case("race_round_the_loop", FakeLaunching({}))
    found = one.written(tmp_path / "script.py", heading, "no GPU")
    assert (found.shown, found.why, found.script) == (Shown.NOT_RUN, "no GPU", "script.py")
    assert found.mend_diff.count("\n+    mend(0);") == 1
    assert found.outcomes == {}


class _Watched(FakeKernel):
    """Notes how many threads make CUDA at once."""

    at_once, most = 0, 0

    def source(self, attempt: Attempt, edits: Sequence[Edit] = ()) -> str:
        _Watched.at_once += 1
        _Watched.most = max(_Watched.most, _Watched.at_once)
        time.sleep(0.002)  # so that another thread would come in between
        _Watched.at_once -= 1
        return super().source(attempt, edits)


class _Meeting(FakeLaunching):
    """A launch that begins when both cases launch."""

    def __init__(self) -> None:
        super().__init__({})
        self.both = threading.Barrier(2, timeout=60)

    def all_told(self, script: Path, variants: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        self.both.wait()
        return super().all_told(script, variants)


def test_of_cases_in_threads_one_compiles_and_all_launch_at_a_time(tmp_path: Path) -> None:
    mends = case("race_round_the_loop", FakeLaunching({})).kernel.mends
    one = case("race_round_the_loop", _Meeting(), _Watched(mends))
    with ThreadPoolExecutor(2) as pool:
        scripts = [tmp_path / "one.py", tmp_path / "two.py"]
        first, second = pool.map(lambda script: one.reproduced(script, heading), scripts)
    assert _Watched.most == 1
    assert (
        (first.shown, first.tried) == (second.shown, second.tried) == (Shown.NOT_SHOWN, first.tried)
    )
    assert len(first.tried) > 1
