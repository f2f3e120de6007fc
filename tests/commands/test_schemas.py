"""What commands write is as the shipped schemas say, and these are strict."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.commands.running import run
from tests.conftest import DUMPS, ROOT
from tests.schemas import FOLDER, require_valid, schema_named, validator_of

FIXTURES = ROOT / "fixtures"
EVERY_FIELD = (
    *("dumps/data_dependent_refill.sm_80", "dumps/divergent_by_variable.sm_80"),
    *("dumps/cp_async_past_loop.sm_80", "dumps/extern_partial_write.sm_80"),
    *("dumps/flash_attention.sm_90a", "dumps/gemm_three_groups.sm_90a"),
    *("dumps/mmha_decode.sm_80", "dumps/step_branches_unsynced.sm_80"),
    *("dumps/table_before_scratch.sm_80", "dumps/while_phases.sm_80"),
    *("dumps/while_phases_unsynced.sm_80", "dumps/while_table.sm_80"),
    *("legacy/stream_k_2024", "legacy/stream_k_partial"),
    *("lint/barrier_in_a_branch", "lint/index_out_of_bounds", "lint/index_that_data_decide.mended"),
    *("lint/last_round_not_waited_for", "lint/parity_that_never_comes"),
    *("lint/phase_that_never_comes.mended", "lint/race_between_threads"),
    *("lint/race_between_threads.mended", "lint/race_round_the_loop", "lint/stored_without_fence"),
    *("lint/uninitialised_state", "lint/wait_that_comes_too_late"),
    *("lint/wait_that_comes_too_late.mended", "tvm_dumps/address_of_alias"),
    *("tvm_dumps/dynamic_phases", "tvm_dumps/filled_through_pointer", "tvm_dumps/leaf_in_place"),
)
"""Between them, each verb writes all the fields and words that it does of all dumps of the
repository: each field with each type, empty lists, every verdict, rule and cause."""
PATHS = [FIXTURES / f"{name}.tir" for name in EVERY_FIELD]
SCHEMAS = sorted(path.name for path in FOLDER.iterdir())
BATCHED = str(DUMPS / "batched_gemm.sm_80.tir")
RACE = str(FIXTURES / "lint" / "race_between_threads.tir")
MERGED = {"best": "dataflow", "tvm": "outer", "tilelang": "inner"}

OPTIONAL = {"line", "size", "arena", "baseline", "mending"}
"""Fields that are not always there."""

MAPS = {
    *("offsets", "live", "lifetimes", "loops", "blocks", "alloc_level", "gen", "kill"),
    *("config", "flops_per_byte", "seconds_by_term", "terms_seconds"),
}
"""Objects whose keys are names in a kernel or a configuration."""


def answer(*args: str | Path) -> Any:
    return json.loads(run(*args, "--format", "json").stdout)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_schemas(name: str) -> None:
    schema = schema_named(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert name == "common.json" or schema["properties"]["schema"] == {
        "const": f"smemreuse.{name.removesuffix('.json')}/1"
    }


@pytest.mark.parametrize("verb", ["compare", "check", "lint"])
def test_batches(verb: str) -> None:
    document = answer(verb, *PATHS)
    assert len({kernel["file"] for kernel in document["kernels"]}) == len(PATHS)
    require_valid(document)


@pytest.mark.parametrize("path", PATHS, ids=EVERY_FIELD)
def test_single_dumps(path: Path, tmp_path: Path) -> None:
    require_valid(answer("explain", path))
    for policy in ("dataflow", "outer", "inner"):
        require_valid(answer("analyze", path, "--policy", policy))
    plan = answer("plan", path)
    require_valid(plan)
    if path.parent.name == "dumps":
        file = tmp_path / "plan.json"
        file.write_text(json.dumps(plan))
        require_valid(answer("check", path, "--plan", file))


@pytest.mark.parametrize(("packer", "policy"), MERGED.items())
def test_plans_of_other_packers(packer: str, policy: str) -> None:
    require_valid(answer("plan", BATCHED, "--packer", packer, "--policy", policy))
    require_valid(answer("plan", BATCHED, "--objective", "speed"))


@pytest.mark.parametrize("verb", ["compare", "check"])
def test_answers_with_a_baseline(verb: str, tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    known.write_text(json.dumps(answer(verb, BATCHED)))
    document = answer(verb, BATCHED, RACE, "--baseline", known)
    assert {each["baseline"]["verdict"] for each in document["kernels"]} == {"sound", None}
    require_valid(document)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("batched_gemm", "halo"),
        ("divergent_arms", "divergent_sequence"),
        ("halo", "divergent_arms"),
        ("two_kernels", "halo"),
        ("two_kernels", "two_kernels"),
    ],
)
def test_two_states_of_a_kernel(old: str, new: str) -> None:
    """Between them: each kind of cause, kernels of one side only, and a kernel that was renamed."""
    require_valid(answer("diff", DUMPS / f"{old}.sm_80.tir", DUMPS / f"{new}.sm_80.tir"))


def test_a_mended_kernel(tmp_path: Path) -> None:
    document = answer("lint", RACE, "--mend", "-o", tmp_path / "mended.tir")
    assert document["kernels"][0]["mending"]["mends"]
    require_valid(document)


@pytest.mark.parametrize(
    "problem",
    [
        ["--gemm", "512", "512", "512"],
        ["--attention", "2", "8", "512", "512", "64"],
        ["--elementwise", "1048576"],
    ],
    ids=lambda value: value[0].strip("-"),
)
def test_advice(problem: list[str]) -> None:
    require_valid(answer("advise", *problem, "--top", "3"))


# Strictness -------------------------------------------------------------------------------------


def without_one(document: Any, path: tuple[object, ...] = ()) -> Iterator[tuple[str, Any]]:
    """The document without one field of an object that has fixed fields, for each of those."""
    here = document
    for key in path:
        here = here[key]
    if isinstance(here, list):
        for number in range(len(here)):
            yield from without_one(document, (*path, number))
    if not isinstance(here, dict):
        return
    for key in here:
        yield from without_one(document, (*path, key))
        if (path and path[-1] in MAPS) or key in OPTIONAL:
            continue
        less = copy.deepcopy(document)
        place = less
        for each in path:
            place = place[each]
        del place[key]
        yield ".".join(map(str, (*path, key))), less


@pytest.mark.parametrize(
    "args",
    [
        ("compare", DUMPS / "data_dependent_refill.sm_80.tir"),
        ("plan", DUMPS / "data_dependent_refill.sm_80.tir"),
        ("analyze", DUMPS / "leaf_both.sm_80.tir"),
        ("check", FIXTURES / "tvm_dumps" / "same_index.tir"),
        ("lint", RACE),
        ("explain", DUMPS / "leaf_both.sm_80.tir"),
        ("advise", "--gemm", "512", "512", "512", "--top", "1"),
        ("diff", DUMPS / "two_kernels.sm_80.tir", DUMPS / "gemm.sm_80.tir"),
        ("diff", DUMPS / "divergent_sequence.sm_80.tir", DUMPS / "divergent_arms.sm_80.tir"),
    ],
    ids=lambda args: str(args[0]),
)
def test_a_missing_field_is_refused(args: tuple[str | Path, ...]) -> None:
    document = answer(*args)
    name = document["schema"].removeprefix("smemreuse.").removesuffix("/1")
    validator = validator_of(name)
    passed = [field for field, less in without_one(document) if validator.is_valid(less)]
    allowed = {
        f"summaries.0.peak.{one}" for one in ("statement", "source", "is_end")
    }  # not where all is symbolic
    assert [field for field in passed if field not in allowed] == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sound", "yes"),
        ("verdict", "wonderful"),
        ("arena_bytes", -1),
        ("arena_bytes", 1.5),
        ("violations", [{"rule": 14, "buffers": [], "witness": ""}]),
        ("live", {"As": [1]}),
    ],
)
def test_a_wrong_value_is_refused(field: str, value: object) -> None:
    document = answer("compare", BATCHED)
    document["kernels"][0]["policies"]["dataflow"][field] = value
    assert not validator_of("compare").is_valid(document)
    document["schema"] = "smemreuse.compare/2"
    with pytest.raises(AssertionError):
        require_valid(document)
