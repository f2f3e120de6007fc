"""What to do next, of what verbs have found."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from smemreuse.report.headroom import registers_words
from smemreuse.report.next_compared import after_compare, after_diff
from smemreuse.report.next_step import (
    KERNELS_OWN,
    NextStep,
    after_apply,
    after_pack,
    command,
    command_lines,
    nothing,
    path,
    quoted,
)
from smemreuse.report.next_steps import (
    BUILD,
    KERNELS_OPEN,
    Ran,
    after_advise,
    after_check,
    after_explain,
    after_reproduce,
    after_run,
    after_shown,
)
from smemreuse.report.residents import NO_FASTER
from smemreuse.results.comparison import Concern
from smemreuse.results.difference import Difference, NamedLayout
from smemreuse.results.hazards import Hazard, HazardKind, Mend, Remedy
from smemreuse.results.residents import (
    REGISTERS,
    SHARED_MEMORY,
    Registers,
    RegisterSource,
    Residents,
)
from smemreuse.results.sites import Site
from tests.report.test_difference import GREW, NEW

SMALLEST = "no layout by the same live ranges is smaller"
LONG = "/folder/" + "deep/" * 30 + "kernel.tir"


def test_a_step_is_one_line_where_it_fits() -> None:
    step = command("audit it", "check", "a.tir")
    assert [*step.lines(80)] == ["next (audit it): smemreuse check a.tir"]
    assert [*nothing("all is well").lines(80)] == ["next: nothing to do: all is well"]


@pytest.mark.parametrize("width", [24, 40, 80])
@pytest.mark.parametrize(
    "words",
    [
        ("check", LONG, "--format", "json"),
        ("check", "a name.tir", "it's.tir", "--plan", LONG),
        ("explain", *[f"buffer_{number}" for number in range(20)]),
    ],
)
def test_a_long_command_stays_one_for_the_shell(words: tuple[str, ...], width: int) -> None:
    lines = [*command_lines(quoted("printf", r"%s\n", *words), width)]
    assert all(len(line) <= width for line in lines)
    shell = ["sh", "-c", "\n".join(lines)]
    done = subprocess.run(shell, capture_output=True, text=True, check=True)
    assert tuple(done.stdout.splitlines()) == words


@pytest.mark.parametrize("length", range(30, 90))
def test_no_word_runs_into_the_next_at_any_length(length: int) -> None:
    words = ("x" * length, "--objective", "bytes")
    lines = [*command_lines(quoted("printf", r"%s\n", *words), 40)]
    joined = "\n".join(lines).replace("\\\n", "")
    assert tuple(shlex.split(joined)[2:]) == words


def test_a_word_in_quotes_is_not_cut() -> None:
    word = shlex.quote("a b" * 40)
    assert [*command_lines(["check", word], 40)] == ["check \\", word]


def test_names_steer_no_terminal_and_are_no_options() -> None:
    assert "\x1b" not in "".join(command("look", "check", "\x1b[2J.tir").lines(80))
    assert path("-o.tir") == "./-o.tir"
    assert path("-") == "-"


def text(step: NextStep) -> str:
    return " ".join(step.lines(200))


def test_after_an_arena_that_does_not_fit() -> None:
    step = after_apply("a.tir", "b.tir", True, "sm_90")
    assert text(step) == "next (what would make it fit): smemreuse fit a.tir --arch sm_90"


@pytest.mark.parametrize(
    ("remedy", "certain", "words"),
    [
        (Remedy.BARRIER, True, "next (make all fixes): smemreuse lint a.tir --fix -o fixed.tir"),
        (
            Remedy.BARRIER,
            False,
            "next (make all fixes, unless inputs rule the hazard out): smemreuse lint a.tir "
            "--fix -o fixed.tir",
        ),
        (Remedy.CODE, True, "next (a report on it): smemreuse reproduce a.tir -o findings"),
        (Remedy.CODE, False, "next (all hazards and their fixes): smemreuse lint a.tir"),
    ],
)
def test_after_the_timeline_of_a_finding(remedy: Remedy, certain: bool, words: str) -> None:
    mend = Mend(remedy, "Meet.")
    hazard = Hazard(HazardKind.RACE, certain, Site("x = 1"), ("As",), "too early", mend)
    assert text(after_shown("a.tir", [hazard])) == words


@pytest.mark.parametrize(
    ("optimal", "resident", "why"),
    [
        (True, 3, f" ({SMALLEST}, and registers limit the blocks)"),
        (True, 4, f" ({SMALLEST})"),
        (False, 3, " (registers limit the blocks)"),
        (False, 4, ""),
    ],
)
def test_it_is_told_why_nothing_is_gained(optimal: bool, resident: int, why: str) -> None:
    applied = SimpleNamespace(optimal=optimal, resident=resident, blocks=4)
    row: Any = SimpleNamespace(buffers=1, concern=None, saved_bytes=0, applied=applied)
    told = text(after_compare([row], {}))
    assert told.endswith(f"no chosen layout takes fewer bytes than the default merge{why}")


@pytest.mark.parametrize(
    ("objective", "l1", "told"),
    [
        ("speed", 4096, "next (write it, which leaves 4 KB more to L1): smemreuse apply a.tir"),
        ("speed", 0, f"next: nothing to do: {NO_FASTER}"),
        ("speed", None, "next (write it, 64 bytes fewer than by default): smemreuse apply a.tir"),
        ("bytes", 4096, "next (write it, 64 bytes fewer than by default): smemreuse apply a.tir"),
    ],
)
def test_fewer_bytes_that_gain_nothing_are_no_step_for_speed(
    objective: str, l1: int | None, told: str
) -> None:
    row: Any = SimpleNamespace(
        buffers=1,
        concern=None,
        saved_bytes=64,
        default_bytes=128,
        default_blocks=1,
        gains_block=False,
        gained_l1=l1,
        applied=SimpleNamespace(objective=objective, arena_text="64"),
        file="a.tir",
        compiler="Apache TVM",
    )
    assert text(after_compare([row], {"apply": ()})).startswith(told)
    if l1 != 0:
        row.compiler = "TileLang"
        step = after_compare([row], {"apply": ()})
        asked = "" if objective == "speed" else 'objective="bytes"'
        assert step.why.endswith(f"inside `with smemreuse.tilelang.merge({asked}):`")
        assert step.instead is not None
        assert step.instead.words[:3] == ("smemreuse", "apply", "a.tir")


def test_a_smaller_layout_that_is_not_proved_comes_before_what_is_gained() -> None:
    applied = SimpleNamespace(optimal=True, resident=4, blocks=4, objective="speed")
    row: Any = SimpleNamespace(
        buffers=1, concern=Concern.HOPED, saved_bytes=0, applied=applied, weight=1, file="a.tir"
    )
    told = "next (what keeps a smaller layout from being proved): "
    assert text(after_compare([row], {"explain": ()})).startswith(told)


@pytest.mark.parametrize(
    ("limits", "source", "saved", "told"),
    [
        ((REGISTERS,), RegisterSource.PTXAS, 0, ", as registers stop it"),
        (
            (SHARED_MEMORY, REGISTERS),
            RegisterSource.ESTIMATE,
            1024,
            "; if `ptxas -v` counts 168 registers or fewer, a change gains one (--all lists it)",
        ),
        ((SHARED_MEMORY, REGISTERS), RegisterSource.ESTIMATE, 1023, ""),
        ((SHARED_MEMORY, REGISTERS), RegisterSource.PTXAS, 1024, ""),
        ((SHARED_MEMORY,), RegisterSource.ESTIMATE, 1024, ""),
    ],
)
def test_it_is_told_what_registers_leave_open(
    limits: tuple[str, ...], source: RegisterSource, saved: int, told: str
) -> None:
    registers = Registers(186, source)
    residents = Residents(
        *("sm_80", False, 2, 2, limits, 4096, 3072, 128, registers), most_registers=168
    )
    shipped = SimpleNamespace(residents=residents, arena_bytes=4096)
    changes = (SimpleNamespace(arena_bytes=4096 - saved),)
    both: Any = SimpleNamespace(shipped=shipped, changes=changes)
    assert registers_words(both) == told


def test_after_a_proof_whose_assumption_is_refuted() -> None:
    never_looked_at: Any = object()
    step = after_explain("a.tir", [never_looked_at], (), refuted=True)
    assert text(step).endswith("kernel's own hazards, and their fixes): smemreuse lint a.tir")


@pytest.mark.parametrize(("certain", "why"), [(True, KERNELS_OWN), (False, KERNELS_OPEN)])
def test_after_a_sound_plan_of_a_kernel_with_a_hazard_that_no_proof_rests_on(
    certain: bool, why: str
) -> None:
    late: Any = SimpleNamespace(file="b.tir", has_certain=certain)
    step = after_check({}, ["b.tir"], False, None, (), later=True, hazardous=[late])
    assert text(step) == f"next ({why}): smemreuse lint b.tir"
    assert text(after_check({}, ["b.tir"], False, None, (), later=True)) == f"next: {BUILD}"


SCRIPT = Ran(("a.py", "--size", "8"), ("--objective", "bytes"))


def test_after_a_run() -> None:
    usual = {"is_empty": False, "lacked_gpu": False, "has_certain": False}
    page = "smemreuse run --report page.html --objective bytes a.py --size 8"
    assert page in text(after_run(SCRIPT, **usual))
    lacked = after_run(SCRIPT, **{**usual, "lacked_gpu": True})
    assert "smemreuse run --lower-only --objective bytes a.py --size 8" in text(lacked)
    certain = {**usual, "has_certain": True}
    assert "reproduce -o findings a.py --size 8" in text(after_run(SCRIPT, **certain))
    tests = Ran(("-m", "pytest", "tests"))
    assert "reproduce" not in text(after_run(tests, **certain))
    drawn = Ran(SCRIPT.program, page="p.html")
    assert text(after_run(drawn, **usual)).endswith("python3 -m webbrowser p.html")
    dumped = Ran(SCRIPT.program, dump="dumps")
    assert text(after_run(dumped, **usual)).endswith("smemreuse compare dumps")
    nothing_compiled = after_run(SCRIPT, **{**usual, "is_empty": True})
    assert text(nothing_compiled) == "next: nothing to do: no kernel was compiled"


def test_after_what_was_made_to_show() -> None:
    assert "show one again" in text(after_reproduce("a.py", ["found/k.py"], ran=True))
    written = text(after_reproduce("a.py", ["found/k.py"], ran=False))
    assert written == "next (show one, on a GPU): python3 found/k.py"
    assert "lint a.tir --fix" in text(after_reproduce("a.tir", [None], ran=False))
    assert "nothing to do" in text(after_reproduce("a.py", [], ran=True))


def test_after_what_is_written_or_packed() -> None:
    pipe = "smemreuse apply a.tir -o - | smemreuse check -"
    assert text(after_apply("a.tir", "-", True)).endswith(pipe)
    assert "nothing to do" in text(after_apply("a.tir", "b.tir", False))


@pytest.mark.parametrize(
    ("fits", "smallest", "capacity", "words"),
    [
        (None, False, 64, "smemreuse pack a.csv --capacity 64 --seconds 100"),
        (True, False, None, "smemreuse pack a.csv --seconds 100"),
        (True, True, None, "no packing is smaller"),
        (True, False, 64, "it fits"),
        (False, False, 64, "it is proved that nothing fits"),
    ],
)
def test_after_a_packing(
    fits: bool | None, smallest: bool, capacity: int | None, words: str
) -> None:
    step = after_pack("a.csv", fits=fits, smallest=smallest, capacity=capacity, seconds=10)
    assert text(step).endswith(words)


def test_after_advice() -> None:
    words = ("--gemm", 64, 64, 64)
    assert "advise --gemm 64 64 64 -o roofline.html" in text(after_advise(words, None, fits=True))
    assert "webbrowser" in text(after_advise(words, "a.html", fits=True))
    assert "no candidate fits" in text(after_advise(words, None, fits=False))


def test_the_last_word_has_the_whole_width() -> None:
    assert [*command_lines(["check", "x" * 40], 40)] == ["check \\", "x" * 40]


def test_of_two_kernels_that_seem_to_be_different_both_sides_are_shown() -> None:
    def layout(name: str, arena: int) -> NamedLayout:
        return NamedLayout(f"{name}.tir", name, "shared.dyn", {name: arena}, {}, {}, arena, {})

    strangers = Difference(layout("a", 1024), layout("b", 2048), ())
    step = after_diff([strangers], False, ("a.tir", "b.tir"))
    assert (step.why, step.words[1:]) == ("what each side has", ("compare", "a.tir", "b.tir"))
    assert after_diff([strangers], False, None).why == (
        "the two sides have no buffer name in common"
    )


def test_kernels_of_two_gpus_are_to_be_compared_on_one() -> None:
    grown = replace(GREW, old=NEW, new=NEW)
    assert NEW.residents is not None
    older = replace(NEW, residents=replace(NEW.residents, arch="sm_80"))
    newer = replace(NEW, file="n.tir")
    apart = replace(grown, old=older, new=newer)
    why = "next (both sides for sm_80, so that blocks can be compared): "
    dumps = text(after_diff([apart], False, ("a.tir", "b.tir"), ("--objective", "bytes")))
    options = "--objective bytes --arch sm_80"
    assert dumps == f"{why}smemreuse diff a.tir b.tir {options}"
    results = text(after_diff([apart], False, None))
    assert results == f"{why}smemreuse diff {NEW.file} n.tir --arch sm_80"
    many = [replace(apart, new=replace(newer, file=f"{at}.tir")) for at in range(2)]
    assert "smemreuse diff OLD_DUMPS NEW_DUMPS --arch sm_80" in text(after_diff(many, False, None))
    assert "nothing to do" in text(after_diff([grown], False, None))
