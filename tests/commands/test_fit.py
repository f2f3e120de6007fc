"""`smemreuse fit`: what would make kernels fit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from smemreuse.report.fit import FITS_ITSELF, NOT_CHECKED
from tests.commands.running import run
from tests.compilers.text.texts import LAUNCH, dump
from tests.conftest import DUMPS
from tests.schemas import require_valid

FLASH = DUMPS / "flash_attention.sm_90a.tir"
GEMM = DUMPS / "gemm.sm_80.tir"
BATCHED = DUMPS / "batched_gemm.sm_80.tir"


def answer(*arguments: str | Path) -> list[dict[str, Any]]:
    document = json.loads(run("fit", *arguments, "--format", "json").stdout)
    require_valid(document)
    kernels: list[dict[str, Any]] = document["kernels"]
    return kernels


def test_what_fits_is_only_counted() -> None:
    done = run("fit", FLASH, "--limit", "50000")
    assert done.exit_code == 0
    assert " ".join(done.stdout.split()) == (
        "1 kernel, at most 50,000 bytes a block: 1 fits by TileLang's default merge "
        f"{FLASH}: flash_attention_kernel (shared.dyn) fits: 41,984 bytes by TileLang's default "
        "merge, 8,016 left; smemreuse's smallest layout also takes 41,984 "
        "next: nothing to do: every kernel fits as compiled, without smemreuse"
    )


def test_the_fewest_changes_and_the_bytes_after_each() -> None:
    done = run("fit", FLASH, "--limit", "30000")
    assert done.exit_code == 1
    assert re.search(
        r"\n  if the loop at line \d+ had 1 stage instead of 2 \(`num_stages`\), "
        r"so that no load overlaps computation: 25,600 bytes, which fits\n",
        done.stdout,
    )
    assert "1 would fit with changes of its source" in done.stdout.splitlines()[0]
    over = "takes 41,984 bytes even in smemreuse's smallest layout, 11,984 too many; it would fit"
    assert over in " ".join(done.stdout.split())
    assert "next (which statements keep its buffers live" in done.stdout
    (kernel,) = answer(FLASH, "--limit", "30000")
    (step,) = kernel["steps"]
    assert step["kind"] == "stages"
    assert (kernel["bytes"], kernel["after"], step["bytes"]) == (41_984, 25_600, 25_600)
    assert not kernel["fits"]


def test_a_buffer_that_is_too_large_alone_is_named() -> None:
    (kernel,) = answer(GEMM, "--limit", "20000")
    assert kernel["steps"] == []
    assert str(kernel["why"]).startswith("Cs alone takes 32,768 bytes")


def test_what_comes_closest_and_what_is_left() -> None:
    done = run("fit", FLASH, "--limit", "6000")
    assert done.exit_code == 1
    (kernel,) = answer(FLASH, "--limit", "6000")
    assert (kernel["steps"], kernel["smaller"]) == ([], None)
    least = [one["bytes"] for one in kernel["least"]]
    assert 6_000 < least[-1] < kernel["bytes"]
    assert least == sorted(least, reverse=True)
    assert sum(one["bytes"] for one in kernel["apart"]) <= least[-1]
    told = " ".join(done.stdout.split())
    over = f"takes {kernel['bytes']:,} bytes, {kernel['bytes'] - 6_000:,} too many"
    these, first = ("this comes", "") if len(least) == 1 else ("these come", "1. ")
    assert f"{over}; no known changes are enough, {these} closest {first}if" in told
    assert f": {least[0]:,} bytes, {least[0] - 6_000:,} too many" in told
    assert told.count("after that no two of these may share bytes: ") == 1


def test_smaller_tiles_where_no_other_change_is_enough() -> None:
    (kernel,) = answer(FLASH, "--limit", "20000")
    assert (kernel["steps"], kernel["fits"]) == ([], False)
    smaller = kernel["smaller"]
    assert [one["kind"] for one in smaller["steps"]] == ["stages"]
    assert 0 < smaller["bytes"] <= 20_000 < smaller["steps"][-1]["bytes"]
    assert smaller["tiles"]
    for tile in smaller["tiles"]:
        assert tile["after"] in (tile["bytes"] // 2, tile["bytes"] // 4)
    done = run("fit", FLASH, "--limit", "20000")
    assert "1 would fit with smaller tiles" in done.stdout.splitlines()[0]
    assert f"{smaller['bytes']:,} bytes, which fits (estimate)" in " ".join(done.stdout.split())
    assert "next (which statements keep its buffers live" in done.stdout


def test_where_no_change_is_known_the_live_buffers_are_named() -> None:
    done = run("fit", GEMM, "--limit", "8000")
    (kernel,) = answer(GEMM, "--limit", "8000")
    assert (kernel["least"], kernel["smaller"]) == ([], None)
    assert "1 does not fit with any change that smemreuse knows" in done.stdout.splitlines()[0]
    assert all(one["name"] in done.stdout for one in kernel["peak"])


def test_what_can_be_mended_comes_before_what_cannot() -> None:
    """And the counts before both; a kernel that fits only with smemreuse says so."""
    done = run("fit", GEMM, FLASH, BATCHED, "--limit", "33000")
    first, *rest = done.stdout.splitlines()
    counts = "1 fits by TileLang's default merge, 1 fits only in smemreuse's smallest layout, "
    assert first.startswith(f"3 kernels, at most 33,000 bytes a block: {counts}")
    assert rest[0].startswith(f"{FLASH}: ")
    assert " ".join(done.stdout.split()).count(FITS_ITSELF.format(limit=33_000)) == 1
    told = " ".join(done.stdout.split())
    assert "fits: 32,768 bytes in smemreuse's smallest layout, 232 left; 65,536 bytes by " in told
    assert "TileLang's default merge, which does not fit" in told
    assert NOT_CHECKED in told
    alone = run("fit", BATCHED, "--limit", "33000").stdout
    assert "next (write it with the layout that fits): smemreuse apply " in alone
    (kernel,) = answer(BATCHED, "--limit", "33000")
    assert (kernel["bytes"], kernel["default_bytes"]) == (32_768, 65_536)


def test_the_limit_is_that_of_a_gpu() -> None:
    document = json.loads(run("fit", FLASH, "--arch", "sm_120", "--format", "json").stdout)
    assert document["options"] == {"limit": 101_376}


def test_a_limit_is_asked_for() -> None:
    done = run("fit", FLASH)
    assert done.exit_code == 2
    assert "--limit BYTES or --arch SM" in done.stderr


@pytest.mark.parametrize("limit", [20_000, 45_000, 1 << 20])
def test_a_folder_is_as_good_as_its_files(limit: int) -> None:
    together = answer(FLASH, GEMM, "--limit", str(limit))
    apart = [one for file in (FLASH, GEMM) for one in answer(file, "--limit", str(limit))]
    assert together == apart


def test_a_kernel_without_shared_buffers_is_none_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "dump.tir"
    path.write_text(dump(LAUNCH + "A_1 = T.decl_buffer((64,), data=A)\nA_1[bx] = 1.0\n"))
    done = run("fit", path, "--limit", "1000")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "has no shared buffers" in done.stdout
    (kernel,) = answer(path, "--limit", "1000")
    assert (kernel["bytes"], kernel["fits"]) == (0, True)
