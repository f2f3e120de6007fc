"""`[[accept]]` in `smemreuse.toml`: a finding with a reason gives no exit code, and is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from smemreuse import plugins
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.linter import lint
from tests.commands.running import assert_one_line_error, run
from tests.commands.test_lint_baseline import CLEAN, RACE, TWICE
from tests.conftest import ROOT
from tests.plugins.added import nothing_added
from tests.schemas import require_valid

__all__ = ["nothing_added"]

WHY = "both warps write the same value"
FLASH = ROOT / "fixtures" / "dumps" / "flash_attention.sm_90a.tir"
ALIASED = ROOT / "fixtures" / "dumps" / "while_table.sm_80.tir"


def dump(text: str, name: str = "dump.tir") -> Path:
    path = Path(name)
    path.write_text(text)
    return path


def accept(**entry: str) -> None:
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"reason": WHY, **entry}.items()]
    with Path("smemreuse.toml").open("a") as stream:
        stream.write("\n".join(["[[accept]]", *lines, ""]))
    plugins._ready = False  # so that the next verb reads it, as in a process of its own


def kernels(*args: str | Path) -> list[dict[str, Any]]:
    document = json.loads(run(*args, "--format", "json").stdout)
    require_valid(document)
    found = document["kernels"]
    assert isinstance(found, list)
    return found


def the_finding(text: str) -> str:
    """What a finding goes by, asked for before anything is accepted."""
    ((kernel,)) = kernels("lint", dump(text))
    (hazard,) = kernel["hazards"]
    assert hazard["accepted"] is None
    told = run("lint", "dump.tir").stdout
    assert f"[{hazard['finding']}]" in " ".join(told.split())
    return str(hazard["finding"])


def test_the_finding_is_the_same_when_unrelated_lines_move() -> None:
    first = the_finding(RACE)
    moved = RACE.replace(
        "        X_1 =", "        Z_1 = T.decl_buffer((128,), data=X)\n        X_1 ="
    )
    assert moved != RACE
    assert the_finding(moved) == first


@pytest.mark.parametrize(
    "how", [{}, {"hazard": "race"}, {"buffer": "As"}, {"kernel": "*"}], ids=str
)
def test_an_accepted_finding_is_counted_and_listed_and_gives_no_exit_code(
    how: dict[str, str],
) -> None:
    finding = the_finding(RACE)
    assert run("lint", "dump.tir").exit_code == 1
    accept(**(how or {"finding": finding}))
    for options in ([], ["--strict"], ["--fail-on", "possible"]):
        result = run("lint", "dump.tir", *options)
        assert result.exit_code == 0, options
    assert "  1 accepted:\n" in result.stdout
    assert f"race [{finding}]: {WHY} (smemreuse.toml, line 1)" in " ".join(result.stdout.split())
    (kernel,) = kernels("lint", "dump.tir")
    assert (kernel["status"], kernel["accepted"], kernel["fails"]) == ("hazards", 1, False)
    (hazard,) = kernel["hazards"]
    assert hazard["accepted"] == {"reason": WHY, "source": "smemreuse.toml, line 1"}
    log = json.loads(run("lint", "dump.tir", "--format", "sarif").stdout)
    (sarif,) = log["runs"][0]["results"]
    assert sarif["suppressions"] == [{"kind": "external", "justification": WHY}]
    assert sarif["level"] == "warning"
    assert run("lint", "dump.tir", "--format", "github").stdout == ""


def test_the_first_of_two_alike_hides_no_second() -> None:
    (kernel,) = kernels("lint", dump(TWICE))
    one, two = (each["finding"] for each in kernel["hazards"])
    assert (one[8:], two[8:]) == ("-1of2", "-2of2")


@pytest.mark.parametrize(("entry", "code"), [("-1of2", 1), ("-2of2", 1), ("", 1)])
def test_an_entry_for_one_of_two_accepts_that_one_alone(entry: str, code: int) -> None:
    print_ = fingerprint(RACE)[:8]
    accept(finding=f"{print_}{entry}")
    (kernel,) = kernels("lint", dump(TWICE))
    assert kernel["accepted"] == (1 if entry else 0)
    assert run("lint", "dump.tir").exit_code == code


def fingerprint(text: str) -> str:
    """As the report has it, whatever is accepted."""
    (kernel,) = parse_dump(text).kernels
    (hazard, *_) = lint(kernel).hazards
    return hazard.fingerprint(kernel.name)


def test_both_of_two_may_be_accepted_each_by_itself() -> None:
    print_ = fingerprint(RACE)[:8]
    accept(finding=f"{print_}-1of2")
    accept(finding=f"{print_}-2of2")
    assert run("lint", dump(TWICE)).exit_code == 0
    # The kernel with one of them alone is another case, and is told; both entries are stale then.
    result = run("lint", dump(RACE, "one.tir"))
    assert result.exit_code == 1
    assert result.stderr.count("accepts no finding any more") == 2


def test_a_stale_entry_is_told_and_gives_no_exit_code() -> None:
    accept(finding="00000000")
    accept(finding="11111111", kernel="kernel")
    accept(kernel="elsewhere*", hazard="race")
    accept(kernel="another")
    result = run("lint", dump(CLEAN))
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "smemreuse: smemreuse.toml, line 1: accepts no finding any more; "
        f"remove it if no other kernel has what it is for ({WHY})",
        f"smemreuse: smemreuse.toml, line 4: accepts no finding any more; remove it ({WHY})",
        "smemreuse: entries for kernels that were not given accept nothing here: "
        "smemreuse.toml, line 8; smemreuse.toml, line 12",
    ]
    # One that could not be read may be what it is for.
    result = run("lint", "dump.tir", dump("this is no dump", "broken.tir"))
    assert result.exit_code == 2
    assert "accepts nothing" not in result.stderr


def test_with_a_baseline_both_are_told_apart() -> None:
    known = Path("known.json")
    known.write_text(run("lint", dump(RACE), "--format", "json").stdout)
    accept(finding=fingerprint(RACE)[:8])
    (kernel,) = kernels("lint", "dump.tir", "--baseline", known)
    assert (kernel["accepted"], kernel["silenced"]) == (1, 0)
    assert "accepts nothing" not in run("lint", "dump.tir", "--baseline", known).stderr


def test_what_is_wrong_with_an_entry_is_one_line() -> None:
    accept(hazard="rice")
    result = run("lint", dump(CLEAN))
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert "smemreuse.toml:3: accept: `hazard` is one of uninitialised-read, race," in result.stderr


# Plans -------------------------------------------------------------------------------------------


def refuted() -> list[str | Path]:
    """A plan with two buffers at one place that are live together."""
    Path("plan.json").write_text(
        run("plan", ALIASED, "--policy", "inner", "--format", "json").stdout
    )
    return ["check", ALIASED, "--plan", "plan.json"]


def test_check_accepts_a_plan_by_its_finding_or_as_one_and_by_no_other_pattern() -> None:
    command = refuted()
    (kernel,) = kernels(*command)
    assert (kernel["sound"], kernel["fails"], kernel["accepted"]) == (False, True, None)
    finding = kernel["finding"]
    assert f"[{finding}]" in " ".join(run(*command).stdout.split())
    for entry, code in (
        ({"kernel": "*"}, 1),
        ({"finding": finding.replace("plan-", "")}, 1),
        ({"finding": finding}, 0),
        ({"hazard": f"{kernel['verdict']}-plan", "kernel": kernel["name"]}, 0),
    ):
        Path("smemreuse.toml").unlink(missing_ok=True)
        accept(**entry)
        result = run(*command)
        assert result.exit_code == code, entry
    assert f"accepted: {WHY} (smemreuse.toml, line 1)" in result.stdout
    (kernel,) = kernels(*command)
    assert (kernel["sound"], kernel["fails"]) == (False, False)
    assert kernel["accepted"]["reason"] == WHY
    log = json.loads(run(*command, "--format", "sarif").stdout)
    assert log["runs"][0]["results"][0]["suppressions"][0]["justification"] == WHY


def test_a_plan_that_is_accepted_for_one_fault_fails_for_another() -> None:
    plan = json.loads(run("plan", FLASH, "--objective", "none", "--format", "json").stdout)
    offsets = plan["kernels"][0]["offsets"]
    one, two, three, *_ = offsets
    command: list[str | Path] = ["check", FLASH, "--plan", "plan.json"]

    def overlapping(first: str, second: str) -> None:
        changed = {**offsets, first: offsets[second]}
        document = {**plan, "kernels": [{**plan["kernels"][0], "offsets": changed}]}
        Path("plan.json").write_text(json.dumps(document))

    overlapping(one, two)
    (kernel,) = kernels(*command)
    assert kernel["fails"]
    accept(finding=kernel["finding"])
    assert run(*command).exit_code == 0
    overlapping(one, three)
    result = run(*command)
    assert result.exit_code == 1
    assert "accepts no finding any more" in result.stderr
