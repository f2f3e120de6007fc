"""Findings that were tried once more, and why each of those that never showed did not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scripts.results import ROOT, markdown
from smemreuse.results.reproduction import Shown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REASONS = ROOT / "fixtures" / "reproduce" / "not_shown.toml"

Row = Mapping[str, Any]
Key = tuple[str, str, str]


def reasons() -> tuple[dict[str, str], dict[str, str]]:
    """The reasons by their names, and of each finding, by kernel and fingerprint, the name."""
    found = tomllib.loads(REASONS.read_text())
    of_finding = {one: name for name, findings in found["findings"].items() for one in findings}
    return found["reasons"], of_finding


def withdrawn() -> dict[str, str]:
    """Findings that are not certain any more, each with why."""
    found: dict[str, str] = tomllib.loads(REASONS.read_text())["withdrawn"]
    return found


def name_of(row: Row) -> str:
    """What a finding goes by in the file of reasons."""
    return f"{row['kernel'].removesuffix('_kernel')} {row['finding']}"


def key_of(program: str, row: Row) -> Key:
    return program, row["kernel"], row["finding"]


def with_again(
    studies: Sequence[Mapping[str, Any]], again: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """The studies with what showed when it was tried once more, on whatever card, and without
    findings that are not certain any more. A row that did not show keeps what its first run tells,
    but for `tried`, which has all."""
    rows = {key_of(one["program"], one): one for one in (again or {}).get("findings", ())}
    card = str((again or {}).get("device", "")).removeprefix("NVIDIA ")
    return [
        {
            **study,
            "programs": [
                {**program, "findings": [*_taken_up(program, rows, card)]}
                if "findings" in program
                else program
                for program in study["programs"]
            ],
        }
        for study in studies
    ]


def _taken_up(program: Row, rows: Mapping[Key, Row], card: str) -> Iterator[Row]:
    for row in program["findings"]:
        new = rows.get(key_of(program["program"], row))
        if name_of(row) in withdrawn():
            continue
        if new is None or "error" in new:
            yield row
        elif Shown(new["shown"]).is_shown:
            yield {**new, "card": card}
        else:
            tried = dict.fromkeys([*row["tried"], *new["tried"]])
            yield {**row, "tried": [*tried]}


def unshown_table(studies: Sequence[Mapping[str, Any]]) -> str:
    """Each finding that was not shown: what was tried, and why it did not show."""
    words, of_finding = reasons()
    rows = [
        (
            program["program"],
            f"{row['kind']}: {row['mechanism']}" if row["mechanism"] else row["kind"],
            ", ".join(row["buffers"]),
            len(row["tried"]),
            of_finding.get(name_of(row), ""),
        )
        for study in studies
        for program in study["programs"]
        for row in program.get("findings", ())
        if Shown(row["shown"]) is Shown.NOT_SHOWN
    ]
    used = dict.fromkeys(row[-1] for row in rows if row[-1])
    told = "\n".join(f"- *{name}*: {words[name]}." for name in used)
    gone = "\n".join(
        f"- `{name}` is not certain any more: {why}." for name, why in withdrawn().items()
    )
    table = markdown(("program", "finding", "of", "attempts", "why"), rows)
    return f"{table}\n\n{told}\n{gone}\n"
