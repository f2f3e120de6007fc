"""The tables of the compilers' own merges that the checker refutes, for docs/results.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scripts.applied.summary import refuted
from scripts.results import markdown

MERGES = ("default", "aggressive")
Function = Mapping[str, Any]
Row = tuple[str, ...]


def audit_table(functions: Sequence[Function], tvm: Mapping[str, Any] | None) -> str:
    """How many of the compilers' own plans were judged, and what came of it."""
    heads = ("compiler", "GPU", "merge", "judged", "proved", "refuted", "unproved")
    rows = []
    for arch in sorted({each["arch"] for each in functions}):
        for merge in MERGES:
            verdicts = Counter(
                verdict["verdict"]
                for each in functions
                if each["arch"] == arch
                for launch in each.get("launches", ())
                for verdict in launch[merge].get("verdict", ())
            )
            rows.append(("TileLang", arch, merge, *_counts(verdicts)))
    if tvm is not None:
        verdicts = Counter(each["verdict"] for each in tvm["kernels"])
        rows.append(("Apache TVM", "any", "default", *_counts(verdicts)))
    return markdown(heads, rows)


def _counts(verdicts: Counter[str]) -> Row:
    each = (verdicts[word] for word in ("sound", "unsound", "unproved"))
    return (str(verdicts.total()), *map(str, each))


def refuted_table(
    functions: Sequence[Function],
    tvm: Mapping[str, Any] | None,
    launched: Mapping[str, Any] | None,
) -> str:
    """Each function with a refuted plan, once for each merge and GPU, and what it did on one."""
    heads = ("function", "GPU", "merge", "rule", "buffers", "witness", "launches that differ")
    seen = {each["name"]: each for each in (launched or {"functions": ()})["functions"]}
    rows = [*_tilelang_rows(functions, seen)]
    for each in (tvm or {"kernels": ()})["kernels"]:
        if each["verdict"] == "unsound":
            rows.append((f"`{each['kernel']}`", "any", "Apache TVM", *_told(each), ""))
    return markdown(heads, rows)


def _tilelang_rows(functions: Sequence[Function], seen: Mapping[str, Function]) -> Iterator[Row]:
    for merge in MERGES:
        alike: dict[Row, list[Function]] = {}
        first: dict[Row, Mapping[str, Any]] = {}
        for function, kernel, verdict in refuted(functions, merge):
            key: Row = (function["arch"], function["name"].rpartition("__")[0], kernel)
            alike.setdefault(key, []).append(function)
            first.setdefault(key, verdict)
        for key, group in alike.items():
            arch, name = key[:2]
            more = f", {len(group)} sizes" if len(group) > 1 else ""
            runs = [seen[each["name"]] for each in group if each["name"] in seen]
            own = [cell for run in runs if run["arch"] == arch for cell in _launches(run, merge)]
            yield f"`{short(name)}`{more}", arch, merge, *_told(first[key]), "; ".join(own)


def short(name: str) -> str:
    """Program and function, without the folder, of a name without its number."""
    program, function = name.rsplit("__", 1)
    return f"{program.rpartition('-')[2].removeprefix('example_')}, {function}"


def _told(verdict: Mapping[str, Any]) -> Row:
    buffers = " and ".join(f"`{name}`" for name in verdict["buffers"])
    # A bar would end the table's cell.
    return str(verdict["rule"]), buffers, verdict["witness"].replace("|", "\\|")


def _launches(run: Function, merge: str) -> Iterator[str]:
    """Of those with the merge, those that differ; or why there are none."""
    if "error" in run:
        yield run["error"]
        return
    for one in run["variants"]:
        if one["merge"] == f"TileLang {merge}":
            failed = one["compile_error"] or one["launch_error"]
            if failed:
                yield f"does not launch: {failed}"
            elif one["launches"]:
                told = f"{one['differing_launches']} of {one['launches']}"
                yield f"**{told}**" if one["differing_launches"] else told
