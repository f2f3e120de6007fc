"""What becomes of each dump of a folder: read or refused, audited, planned; as a Markdown table.

    python scripts/census.py DIR [--every-verb] [--pattern '*.tir']

One line for each kernel and shared scope: the audit's verdict where something is merged in the
file, and what `compare` says of each policy, arenas in bytes. With `--every-verb` the verbs that
draw, explain and write are called too, and those that refuse a file are listed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from smemreuse.cli import main as smemreuse  # noqa: E402

POLICIES = ("outer", "inner", "dataflow")
BAD_INPUT = 2
OTHER_VERBS = (
    ("analyze", "--format", "json"),
    ("plan", "--format", "json"),
    ("explain", "--format", "json"),
    ("graph", "--kind", "lifetime", "-o", "{out}.dot", "--force"),
    ("report", "-o", "{out}.html", "--force"),
    ("apply", "-o", "{out}.tir", "--force"),
)
SIGNS = {"sound": "", "unproved": " ?", "unsound": " !"}

Data = dict[str, Any]


def called(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and the last line of standard error of one verb.

    A fault of the program, which no verb should have, counts as a refusal.
    """
    done = CliRunner().invoke(smemreuse, arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return BAD_INPUT, "", f"fault: {done.exception!r}"
    return done.exit_code, done.stdout, (done.stderr.strip().splitlines() or [""])[-1]


def kernels(verb: str, file: Path) -> tuple[list[Data], str]:
    """The entries of a verb's JSON for a file, or the line with which it refuses it."""
    code, out, error = called(verb, str(file), "--format", "json")
    if code == BAD_INPUT:
        return [], error
    found: list[Data] = json.loads(out)["kernels"]
    return found, ""


def row(compared: Data, audited: Data) -> list[str]:
    merged = audited["plan"] == "merged in the file"
    verdict = audited["verdict"] if merged else ""
    arena = f"{audited['arena_bytes']:,}" if merged else ""
    plans = [compared["policies"][name] for name in POLICIES]
    sizes = [f"{one['arena_bytes']:,}{SIGNS[one['verdict']]}" for one in plans]
    return [
        compared["name"],
        compared["scope"],
        str(len(compared["buffers"])),
        arena,
        verdict,
        *sizes,
    ]


def told(audit: Data) -> Data:
    """The verdict on what is merged in a file, with the first of its witnesses."""
    kept = {key: audit[key] for key in ("scope", "arena_bytes", "verdict")}
    first = audit["violations"][0] if audit["violations"] else {}
    return {"kernel": audit["name"], **kept, **first}


def rows(
    file: Path, tally: Counter[str], refused: list[str], judged: list[Data]
) -> Iterator[list[str]]:
    compared, error = kernels("compare", file)
    audited, _ = ([], "") if error else kernels("check", file)
    tally["refused" if error else "read"] += 1
    if error:
        refused.append(error.removeprefix("smemreuse: "))
    for plan, audit in zip(compared, audited, strict=True):
        if plan["buffers"]:
            if audit["plan"] == "merged in the file":
                tally[f"audit {audit['verdict']}"] += 1
                judged.append(told(audit))
            tally[f"dataflow {plan['policies']['dataflow']['verdict']}"] += 1
            yield [file.name, *row(plan, audit)]


def refusing(file: Path, out: Path) -> Iterator[str]:
    """The other verbs that refuse a file, each with the line that says why."""
    for verb, *options in OTHER_VERBS:
        arguments = [option.format(out=out) for option in options]
        code, _, error = called(verb, str(file), *arguments)
        if code == BAD_INPUT:
            yield f"{verb}: {error.removeprefix('smemreuse: ')}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pattern", default="*.tir")
    parser.add_argument("--every-verb", action="store_true")
    parser.add_argument("--audits", type=Path, help="Where verdicts on merged files go, as JSON.")
    parser.add_argument("--out", type=Path, default=Path("/tmp/census"), help="What verbs write.")
    options = parser.parse_args()
    tally: Counter[str] = Counter()
    refused: list[str] = []
    judged: list[Data] = []
    heads = ("file", "kernel", "scope", "buffers", "merged arena", "audit", *POLICIES)
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for file in sorted(options.folder.glob(options.pattern)):
        for cells in rows(file, tally, refused, judged):
            print(f"| {' | '.join(cells)} |", flush=True)
        if options.every_verb:
            refused += refusing(file, options.out)
    if options.audits:
        found = {"schema": "smemreuse.audits/1", "read": tally["read"], "kernels": judged}
        options.audits.write_text(json.dumps(found, indent=1) + "\n")
    print("\n`?` is unproved, `!` is unsound.\n")
    print("\n".join(f"- {what}: {count}" for what, count in sorted(tally.items())))
    print("\n".join(f"- refused: {line}" for line in dict.fromkeys(refused)))


if __name__ == "__main__":
    main()
