"""When a verb ends in 0, 1 or 2: nothing that CI should look at may end in 0."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import run
from tests.compilers.text.texts import HEADER, LAUNCH
from tests.conftest import DUMPS, ROOT

HOST = "@T.prim_func\ndef main(x: T.int32):\n    T.evaluate(0)\n"
BROKEN = "this is no dump\n"
HALO = (DUMPS / "halo.sm_80.tir").read_text()
RACE = (ROOT / "fixtures" / "lint" / "race_between_threads.tir").read_text()


def kernel(name: str, size: int | str = 64, scope: str = "shared.dyn", static: int = 0) -> str:
    """A kernel with a buffer of so many floats, and one in scope `shared` if `static`."""
    lines = [LAUNCH.strip()]
    for buffer, count, where in (("As", size, scope), ("Ss", static, "shared")):
        if count:
            lines.append(f'{buffer} = T.alloc_buffer(({count},), scope="{where}")')
            lines.append(f"{buffer}[0] = T.float32(0)")
    body = "".join(f"    {line}\n" for line in lines)
    return HEADER.replace("def main", f"def {name}") + body


def module(*kernels: str) -> str:
    """Kernels of one file."""
    functions = "".join(text.partition("\n\n")[2] for text in kernels)
    indented = "".join(f"    {line}\n" for line in functions.splitlines())
    return f"@I.ir_module\nclass Module:\n{indented}"


K, GROWN, NONE = kernel("k"), kernel("k", 128), kernel("k", 0)
Dumps = dict[str, str]

GONE_WORSE = [
    ("the same", {"a": K}, {"a": K}, 0),
    ("grown", {"a": K}, {"a": GROWN}, 1),
    ("shrunk", {"a": GROWN}, {"a": K}, 0),
    ("grown in a file that was renamed", {"a": K}, {"b": GROWN}, 1),
    ("renamed", {"a": K}, {"a": kernel("new")}, 0),
    ("renamed and grown", {"a": K}, {"a": kernel("new", 128)}, 1),
    ("renamed with its file, and grown", {"a": K}, {"b": kernel("new", 128)}, 1),
    (
        "two of a file renamed, one grown",
        {"a": module(K, kernel("m"))},
        {"a": module(kernel("n"), kernel("o", 128))},
        1,
    ),
    (
        "renamed among others",
        {"a": K, "b": kernel("m")},
        {"c": kernel("n", 128), "d": kernel("o")},
        1,
    ),
    ("in another scope", {"a": kernel("k", scope="shared")}, {"a": K}, 0),
    ("in another scope, and grown", {"a": kernel("k", scope="shared")}, {"a": GROWN}, 1),
    ("another scope beside it", {"a": K}, {"a": kernel("k", static=64)}, 1),
    ("one scope less", {"a": kernel("k", static=64)}, {"a": K}, 0),
    ("without shared memory before", {"a": NONE}, {"a": K}, 1),
    ("without shared memory now", {"a": K}, {"a": NONE}, 0),
    ("two of one name, the second grown", {"a": module(K, K)}, {"a": module(K, GROWN)}, 1),
    ("of symbolic size now", {"a": GROWN}, {"a": kernel("k", "n")}, 1),
    ("of symbolic size before", {"a": kernel("k", "n")}, {"a": kernel("k", "n")}, 0),
    ("of another symbolic size", {"a": kernel("k", "n")}, {"a": kernel("k", "n * 2")}, 1),
    ("a kernel more", {"a": K}, {"a": module(K, kernel("m"))}, 0),
    ("a file more", {"a": K}, {"a": K, "b": kernel("m")}, 0),
    ("no kernel now", {"a": K}, {"a": HOST}, 1),
    ("a file that cannot be read", {"a": K}, {"a": K, "b": BROKEN}, 2),
]
"""What `compare` and `diff` end in alike: a name, dumps before, dumps now, and the code."""

GONE = [
    ("a kernel less", {"a": module(K, kernel("m"))}, {"a": K}),
    ("a file less", {"a": K, "b": kernel("m")}, {"a": K}),
    ("one of two of one name less", {"a": module(K, K)}, {"a": K}),
]


def folder(tmp_path: Path, name: str, dumps: Dumps) -> Path:
    path = tmp_path / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    for stem, text in dumps.items():
        (path / f"{stem}.tir").write_text(text)
    return path


def baseline(tmp_path: Path, verb: str, path: Path, *options: str) -> Path:
    known = tmp_path / f"{verb}.json"
    known.write_text(run(verb, path, "--format", "json", *options).stdout)
    return known


def named(table: list[Any]) -> list[Any]:
    return [pytest.param(*values, id=name) for name, *values in table]


@pytest.mark.parametrize(("before", "now", "code"), named(GONE_WORSE))
def test_compare_against_a_baseline(tmp_path: Path, before: Dumps, now: Dumps, code: int) -> None:
    known = baseline(tmp_path, "compare", folder(tmp_path, "dumps", before))
    path = folder(tmp_path, "dumps", now)
    result = run("compare", path, "--baseline", known, "--format", "json")
    assert result.exit_code == code
    if code < 2:
        data = json.loads(result.stdout)
        worse = [one for each in data["kernels"] for one in each["baseline"]["regressions"]]
        assert bool(worse or data["missing"]) is bool(code)


@pytest.mark.parametrize(("before", "now", "code"), named(GONE_WORSE))
def test_diff(tmp_path: Path, before: Dumps, now: Dumps, code: int) -> None:
    old, new = folder(tmp_path, "old", before), folder(tmp_path, "new", now)
    assert run("diff", old, new).exit_code == code
    if code < 2:
        assert run("diff", old, new, "--allow-growth").exit_code == 0
        known = baseline(tmp_path, "compare", old)
        assert run("diff", known, new).exit_code == code


@pytest.mark.parametrize(("before", "now"), named(GONE))
@pytest.mark.parametrize("verb", ["compare", "check"])
def test_a_kernel_of_a_baseline_that_is_gone(
    tmp_path: Path, verb: str, before: Dumps, now: Dumps
) -> None:
    known = baseline(tmp_path, verb, folder(tmp_path, "dumps", before))
    path = folder(tmp_path, "dumps", now)
    result = run(verb, path, "--baseline", known, "--format", "json")
    assert result.exit_code == 1
    assert len(json.loads(result.stdout)["missing"]) == 1
    assert "is missing: it had " in " ".join(run(verb, path, "--baseline", known).stdout.split())
    lines = run(verb, path, "--baseline", known, "--format", "github").stdout.splitlines()
    assert [line.startswith("::error ") for line in lines] == [True]
    assert "title=missing-kernel in " in lines[0]


@pytest.mark.parametrize("verb", ["compare", "check"])
def test_a_file_by_itself_is_held_against_its_part_of_a_baseline(tmp_path: Path, verb: str) -> None:
    path = folder(tmp_path, "dumps", {"a": K, "b": kernel("m")})
    known = baseline(tmp_path, verb, path)
    assert run(verb, path / "a.tir", "--baseline", known).exit_code == 0


@pytest.mark.parametrize("verb", ["compare", "check"])
def test_a_baseline_must_have_all_kernels(tmp_path: Path, verb: str) -> None:
    path = folder(tmp_path, "dumps", {"a": K})
    known = baseline(tmp_path, verb, path, "--only-findings")
    result = run(verb, path, "--baseline", known)
    if verb == "check":  # a file without a plan is a finding, so that nothing is left out
        assert result.exit_code == 0
        return
    assert result.exit_code == 2
    assert "have left kernels out of it" in result.stderr


def plan_of(tmp_path: Path, path: Path, keep: list[int]) -> Path:
    """The plans of a dump's kernels with these numbers."""
    data = json.loads(run("plan", path, "--format", "json").stdout)
    data["kernels"] = [data["kernels"][number] for number in keep]
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(data))
    return file


@pytest.mark.parametrize(
    ("dump", "keep", "options", "code"),
    [
        (module(K, kernel("m")), [0, 1], [], 0),
        (module(K, kernel("m")), [0], [], 1),
        (module(K, kernel("m")), [0], ["--allow-unproved"], 0),
        (module(K, kernel("m", 0)), [0], [], 0),
        (kernel("k", static=64), [0], [], 1),
        (K, [0, 0], [], 2),
        (module(K, K), [0, 1], [], 0),
        (module(K, K), [0], [], 1),
    ],
)
def test_a_plan_says_something_of_every_kernel(
    tmp_path: Path, dump: str, keep: list[int], options: list[str], code: int
) -> None:
    path = folder(tmp_path, "dumps", {"a": dump}) / "a.tir"
    plan = plan_of(tmp_path, path, keep)
    result = run("check", path, "--plan", plan, *options, "--format", "json")
    assert result.exit_code == code
    if code < 2:
        data = json.loads(result.stdout)["kernels"]
        assert any(one["fails"] for one in data) is bool(code)
        untold = [one["verdict"] for one in data if one["plan"] == "not in the plan file"]
        assert ("unproved" in untold) is bool(code or options)


def test_the_second_plan_of_a_name_is_of_the_second_kernel(tmp_path: Path) -> None:
    path = folder(tmp_path, "dumps", {"a": module(K, GROWN)}) / "a.tir"
    plan = plan_of(tmp_path, path, [0, 1])
    assert run("check", path, "--plan", plan).exit_code == 0
    swapped = plan_of(tmp_path, path, [1, 0])
    assert run("check", path, "--plan", swapped).exit_code == 1


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> str:
    """`HALO` with a plan applied."""
    path = tmp_path_factory.mktemp("merged") / "to_merge.tir"
    path.write_text(HALO)
    return run("apply", path, "-o", "-").stdout


@pytest.mark.parametrize(
    ("names", "options", "code"),
    [
        (["merged"], [], 0),
        (["merged", "not"], [], 1),
        (["merged", "not"], ["--allow-unproved"], 0),
        (["merged", "none"], [], 0),
        (["none"], [], 1),
        (["host"], [], 1),
        (["merged", "host"], [], 0),
        (["merged", "broken"], [], 2),
        (["merged", "broken"], ["--allow-unproved"], 2),
    ],
)
def test_check_of_files_without_a_plan(
    tmp_path: Path, merged: str, names: list[str], options: list[str], code: int
) -> None:
    texts = {"not": GROWN, "none": NONE, "host": HOST, "broken": BROKEN}
    texts["merged"] = merged
    path = folder(tmp_path, "dumps", {name: texts[name] for name in names})
    assert run("check", path, *options).exit_code == code
    if code == 1 and names != ["host"]:
        told = run("check", path, *options, "--format", "github").stdout
        assert "title=nothing-to-audit in " in told


def test_a_plan_that_is_gone_is_worse_than_in_the_baseline(tmp_path: Path, merged: str) -> None:
    known = baseline(tmp_path, "check", folder(tmp_path, "dumps", {"a": merged}))
    path = folder(tmp_path, "dumps", {"a": HALO})
    result = run("check", path, "--baseline", known)
    assert result.exit_code == 1
    assert "sound -> no plan" in result.stdout


@pytest.mark.parametrize(
    ("dumps", "code"),
    [
        ({"a": K}, 0),
        ({"a": HOST}, 1),
        ({"a": K, "b": HOST}, 0),
        ({"a": RACE}, 1),
        ({"a": RACE, "b": BROKEN}, 2),
        ({"a": BROKEN}, 2),
        ({}, 2),
    ],
)
def test_lint(tmp_path: Path, dumps: Dumps, code: int) -> None:
    path = folder(tmp_path, "dumps", dumps)
    assert run("lint", path).exit_code == code


@pytest.mark.parametrize(("dumps", "code"), [({"a": K}, 0), ({"a": K, "b": BROKEN}, 2), ({}, 2)])
def test_report(tmp_path: Path, dumps: Dumps, code: int) -> None:
    path = folder(tmp_path, "dumps", dumps)
    assert run("report", path, "-o", tmp_path / "page.html", "--force").exit_code == code
