"""A function that `smemreuse.toml` declares, in a TileLang lowering."""

from __future__ import annotations

import shutil

import pytest

import smemreuse.tilelang
from fixtures.declared import make_tiles
from fixtures.kernels.lowering import capture
from smemreuse import plugins
from smemreuse.pipeline.options import checked_options
from smemreuse.tilelang import Session
from tests.compilers.tilelang.lowering import arena_of, lower
from tests.conftest import ROOT
from tests.plugins.added import nothing_added

__all__ = ["nothing_added"]

pytestmark = pytest.mark.tilelang
DECLARED = ROOT / "fixtures" / "declared"


def merged() -> tuple[int, smemreuse.tilelang.AppliedPlan]:
    """The bytes of the arena, and the plan."""
    with smemreuse.tilelang.merge(objective="bytes") as session:
        lowered = lower(make_tiles(4, 1024, 128), "sm_80")
    ((arena, _),) = arena_of(lowered.after).values()
    (applied,) = session.plans
    return arena, applied


def test_without_the_file_the_tile_shares_nothing() -> None:
    arena, applied = merged()
    assert arena == 8_192
    assert not any("declared" in one for one in applied.verdict.assumptions)


def test_with_it_the_plan_is_applied_and_says_on_whose_word() -> None:
    shutil.copy(DECLARED / "smemreuse.toml", "smemreuse.toml")
    arena, applied = merged()
    assert arena == 4_096
    assert applied.verdict.sound
    told = "`mylib_load_tile` does as declared by smemreuse.toml, line 4"
    assert told in applied.verdict.assumptions


def test_what_it_leaves_out_costs_the_sharing() -> None:
    text = (DECLARED / "smemreuse.toml").read_text()
    shutil.copy(DECLARED / "smemreuse.toml", "smemreuse.toml")
    with open("smemreuse.toml", "w") as file:
        file.write(text.replace("escapes = false", "escapes = true"))
    assert merged()[0] == 8_192


def test_kernels_made_with_it_have_a_place_of_their_own_in_the_caches() -> None:
    options = checked_options("dataflow", "best", "speed")
    without = Session.of(options).cache_token
    plugins.configure(DECLARED / "smemreuse.toml")
    assert Session.of(options).cache_token != without


def test_the_dump_is_what_tilelang_lowers() -> None:
    assert (
        capture(make_tiles(4, 1024, 128), "sm_80", {}) == (DECLARED / "tiles.sm_80.tir").read_text()
    )
