"""`explain`: why two buffers may share, or what forbids it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent

import pytest

from smemreuse.commands.subjects import read_subjects
from smemreuse.report.explanations import KEPT_APART
from smemreuse.report.preconditions import PROVED
from tests.commands.running import assert_one_line_error, run
from tests.compilers.text.texts import BUFFERS, LAUNCH
from tests.compilers.text.texts import dump as dump_text
from tests.conftest import DUMPS, ROOT


def dump(name: str) -> str:
    return str(DUMPS / f"{name}.tir")


def test_two_that_may_share() -> None:
    result = run("explain", dump("batched_gemm.sm_80"), "As", "Cs")
    assert result.exit_code == 0
    assert "As and Cs may share bytes" in result.stdout


def test_two_that_must_not_and_why() -> None:
    result = run("explain", dump("while_table.sm_80"), "scratch", "table")
    assert result.exit_code == 1
    assert "must not share bytes" in result.stdout
    assert "may be carried from one iteration to the next in `while k_1[0] < 6` (line" in (
        result.stdout
    )
    assert "overwrote it" in result.stdout


def test_what_forbids_sharing_is_drawn() -> None:
    drawn = run("explain", dump("while_table.sm_80"), "scratch", "table", "--show").stdout
    assert "  x  table and scratch must not share bytes" in drawn
    assert "writes byte 0 of scratch" in drawn
    refused = run("explain", dump("while_table.sm_80"), "--show")
    assert refused.exit_code == 2
    assert "give A and B" in refused.stderr


def test_mbarriers_settle_what_static_rules_cannot() -> None:
    result = run("explain", dump("gemm.sm_90a"), "As", "Cs", "--format", "json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    assert data["schema"] == "smemreuse.explain/1"
    (kernel,) = data["kernels"]
    assert kernel["may_share"] is True
    assert kernel["reasons"] == []
    assert any(reason.startswith("rule 4") for reason in kernel["settled"])
    assert kernel["checker"]["verdict"] == "sound"


def test_arms_that_run_at_once() -> None:
    result = run("explain", dump("divergent_arms.sm_80"), "left", "right")
    assert result.exit_code == 1
    assert "rule 4: left and right are in branches that threads of one block" in result.stdout


def test_a_name_that_is_not_there_lists_those_that_are() -> None:
    result = run("explain", dump("batched_gemm.sm_80"), "As", "Zs")
    assert result.exit_code == 2
    assert "there is no buffer Zs; the shared buffers are As, Bs, Cs\n" in result.stderr
    both = run("explain", dump("batched_gemm.sm_80"), "Xs", "Zs").stderr
    assert "there is no buffer Xs and no buffer Zs; " in both


def test_names_of_several_kernels_are_listed_once() -> None:
    error = run("explain", dump("two_kernels.sm_80"), "Zs").stderr
    assert error.endswith("the shared buffers are table, one, other\n")
    apart = run("explain", dump("two_kernels.sm_80"), "one", "other").stderr
    assert "one and other are not in the same kernel and scope; " in apart
    (kernel, *_) = (each.kernel.name for each in read_subjects([dump("two_kernels.sm_80")]))
    within = run("explain", dump("two_kernels.sm_80"), "Zs", "--kernel", kernel).stderr
    assert (
        f"there is no buffer Zs in kernel {kernel}; the shared buffers are table, one\n" in within
    )


def test_one_buffer_twice() -> None:
    result = run("explain", dump("batched_gemm.sm_80"), "As", "As")
    assert result.exit_code == 2
    assert "give two buffers" in result.stderr


def test_kernels_are_told_apart() -> None:
    both = run("explain", dump("two_kernels.sm_80"), "table", "one", "--format", "json")
    assert len(json.loads(both.stdout)["kernels"]) == 1
    names = [each.kernel.name for each in read_subjects([dump("two_kernels.sm_80")])]
    for buffers in ((), ("table", "one")):
        none = run("explain", dump("two_kernels.sm_80"), *buffers, "--kernel", "nobody")
        assert_one_line_error(none.exit_code, none.stdout, none.stderr)
        choices = f"those in the file: {', '.join(names)}\n"
        assert none.stderr.endswith(f": there is no kernel nobody; {choices}")


def test_every_pair_and_what_outer_makes_of_it() -> None:
    """Why is nothing reused? One command says it."""
    result = run("explain", "--all", dump("batched_gemm.sm_80"), "--objective", "bytes")
    assert result.exit_code == 0
    assert "chosen: 32,768 bytes, smemreuse's layout (proved sound)" in result.stdout
    assert "TileLang's default merge: 65,536 bytes (proved sound); chosen: 50.0 %" in result.stdout
    assert "both buffers are touched in `for b in serial(4)` (line 27)" in result.stdout
    rows = [line.split("|") for line in result.stdout.splitlines() if "| As and" in line]
    assert [row[2].strip() for row in rows] == ["must not share", "may share"]


def test_it_explains_the_layout_that_ships() -> None:
    """Not the smallest one, where fewer bytes gain nothing."""
    batched = dump("batched_gemm.sm_80")
    text = run("explain", batched).stdout
    assert "chosen: 65,536 bytes, no buffers share bytes (proved sound)" in text
    assert "peak: 32,768 of the 65,536 bytes are live at " in text
    gains = "but that gains 32 KB of L1, which is not worth its barriers in loops"
    other = "the other 32,768 bytes (Cs, not live there) could be shared (--objective bytes)"
    assert f"{other}, {gains}\n" in text
    assert "cheapest change" not in text
    smallest = run("explain", batched, "--objective", "bytes").stdout
    assert "chosen: 32,768 bytes, smemreuse's layout" in smallest
    assert "peak: all 32,768 bytes are live at " in smallest
    assert "the other" not in smallest
    for asked, planned in (("speed", 65_536), ("occupancy", 65_536), ("bytes", 32_768)):
        command = ("explain", batched, "--objective", asked, "--format", "json")
        data = json.loads(run(*command).stdout)
        name = asked.replace("occupancy", "speed")
        assert data["options"] == {"objective": name, "arch": None}
        (summary,) = data["summaries"]
        assert (summary["planned_bytes"], summary["arena_bytes"]) == (planned, 32_768)


def test_the_answer_comes_first_and_fits_a_screen() -> None:
    text = run("explain", dump("mmha_decode.sm_80"), "--objective", "bytes").stdout
    lines = text.splitlines()
    assert len(lines) < 40
    assert "peak: all 33,536 bytes are live at " in text
    (peak,) = (line for line in lines if line.startswith("peak: "))
    assert re.search(r"`.+` \(line \d+\):$", peak)
    stopped = (
        "one more is stopped by shared memory (a block takes 33,536 bytes, without what the "
        "driver reserves; 32,512 would allow it)"
    )
    assert f"blocks per SM of sm_80: 4; {stopped}\n" in text
    change = (
        "cheapest change (fewest statements to rewrite): from 33,536 to 33,040 bytes, 496 fewer, "
        "no block more, if Vs were not used any more once Ps begins at "
    )
    assert change in text
    assert re.search(r"live at the same time: \d+ pairs \(--all lists them\)", text)
    assert "live together from" not in text


def test_ten_buffers_fit_a_screen(tmp_path: Path) -> None:
    """Each is live together with the next, as tiles that are handed on are."""
    body = 'G = T.decl_buffer((1024,), "float32", data=A)\n'
    body += "".join(f'S{n} = T.alloc_buffer((256,), scope="shared.dyn")\n' for n in range(10))
    body += LAUNCH + "S0[0] = G[0]\n"
    body += "".join(f"S{n}[0] = S{n - 1}[0]\nG[{n}] = S{n - 1}[1]\n" for n in range(1, 10))
    path = tmp_path / "kernel.tir"
    path.write_text(dump_text(body + "G[10] = S9[0]\n"))
    lines = run("explain", path).stdout.splitlines()
    assert len(lines) < 40
    assert all(len(line) <= 160 for line in lines)
    assert "may share, each pair by itself, 36 of 45 pairs:" in lines
    beside = lines[lines.index(f"{KEPT_APART}, 9 of 45 pairs:") + 1]
    assert beside.startswith("  their live ranges overlap, so that no plan lets them share; ")
    assert len(run("explain", "--all", path).stdout.splitlines()) > 45


def test_the_next_block_is_of_the_architecture_asked_for() -> None:
    text = run("explain", dump("mmha_decode.sm_80"), "--arch", "sm_90").stdout
    assert "blocks per SM of sm_90: 6; " in text


def test_pointer_expressions_are_elided() -> None:
    text = run("explain", "--all", dump("flash_attention.sm_90a")).stdout
    assert "tvm_access_ptr" not in text
    assert "tma_load(K_desc, mbarrier_1[k % 2], Ks[...], 0, k * 64, by, 0)" in " ".join(
        text.replace("|", " ").split()
    )


def test_two_that_are_asked_for_tell_where_they_live() -> None:
    text = run("explain", dump("batched_gemm.sm_80"), "As", "Cs").stdout
    assert re.search(r"As is live from `.+` \(line 33\) to `.+` \(line 62\)\n", text)


def test_what_it_hangs_on_is_told_to_programs() -> None:
    data = json.loads(run("explain", dump("miss_tiles.sm_80"), "--format", "json").stdout)
    (summary,) = data["summaries"]
    assert (summary["arena_bytes"], summary["peak"]["bytes"]) == (16_384, 16_384)
    residents = summary["residents"]
    assert (residents["blocks"], residents["blocks_by_memory"]) == (6, 9)
    assert residents["stopped_by"] == ["registers"]
    assert (residents["registers"], residents["registers_from"]) == (80, "estimate")
    (change,) = summary["changes"]
    assert (change["kind"], change["buffers"], change["arena_bytes"], change["adds_block"]) == (
        "live range",
        ["Ss", "Bs"],
        8_192,
        False,
    )
    two = json.loads(
        run("explain", dump("miss_tiles.sm_80"), "Ss", "Bs", "--format", "json").stdout
    )
    assert two["summaries"] == []


@pytest.mark.parametrize(
    ("name", "pair", "sharing"),
    [
        ("batched_gemm.sm_80", ("As", "Cs"), "may"),
        ("while_table.sm_80", ("scratch", "table"), "must not"),
        ("data_dependent_refill.sm_80", ("table", "scratch"), "not proved"),
    ],
)
def test_what_is_not_proved_is_not_called_forbidden(
    name: str, pair: tuple[str, str], sharing: str
) -> None:
    result = run("explain", dump(name), *pair, "--format", "json")
    (found,) = json.loads(result.stdout)["kernels"]
    assert found["sharing"] == sharing
    assert found["may_share"] is (sharing == "may")
    text = run("explain", dump(name), *pair).stdout
    share = "are not proved to share" if sharing == "not proved" else f"{sharing} share"
    assert f"{pair[0]} and {pair[1]} {share} bytes" in text


def test_an_unproved_plan_is_called_so() -> None:
    text = run("explain", "--all", ROOT / "fixtures" / "legacy" / "stream_k_2024.tir").stdout
    assert "which is kept (unproved)" in text
    assert text.count("not proved to share") == 5
    assert text.count("must not share") == 1


@pytest.mark.parametrize(
    ("more", "side_by_side"),
    [("", "36"), ("Cs[0] = 1.0\n", "52")],
)
def test_gaps_for_alignment_are_no_reuse(tmp_path: Path, more: str, side_by_side: str) -> None:
    """Each buffer begins a word of 16 bytes, so four bytes take more than four."""
    body = 'G = T.decl_buffer((1024,), "float32", data=A)\n'
    for name, size in (("As", 1), ("Bs", 1), ("Ws", 1), ("Cs", 4)):
        body += f'{name} = T.alloc_buffer(({size},), scope="shared.dyn")\n'
    body += LAUNCH + "Ws[0] = G[0]\nAs[0] = G[0]\nG[0] = As[0]\n"
    body += "Bs[0] = G[1]\nG[1] = Bs[0] + Ws[0]\n"
    path = tmp_path / "kernel.tir"
    path.write_text(dump_text(body + more))
    text = run("explain", path, "--objective", "bytes").stdout
    assert "chosen: 20 bytes, smemreuse's layout (proved sound)" in text
    assert f"buffers side by side: {side_by_side} bytes; chosen: " in text
    row = next(line for line in run("compare", path).stdout.splitlines() if "| chosen" in line)
    assert row.split("|")[3].strip() == side_by_side


def test_a_buffer_that_is_not_used_is_called_so(tmp_path: Path) -> None:
    body = LAUNCH + 'Us = T.alloc_buffer((4,), scope="shared.dyn")\n'
    path = tmp_path / "kernel.tir"
    path.write_text(dump_text(body + BUFFERS + "As[0] = 0.0\nBs[0] = 0.0\n"))
    assert "Us is not used" in run("explain", path, "Us").stdout
    path.write_text(dump_text(body + "Us[0] = 0.0\n"))
    assert "buffers that are used: 1, so none may" in run("explain", path, "Us").stdout


def test_one_buffer_against_the_others() -> None:
    data = json.loads(run("explain", dump("batched_gemm.sm_80"), "Cs", "--format", "json").stdout)
    assert [kernel["buffers"] for kernel in data["kernels"]] == [["As", "Cs"], ["Bs", "Cs"]]


def test_three_buffers_are_too_many() -> None:
    result = run("explain", dump("batched_gemm.sm_80"), "As", "Bs", "Cs")
    assert result.exit_code == 2
    assert "at most two buffers, not 3" in result.stderr


def test_what_is_unused_or_symbolic_is_not_called_reused(tmp_path: Path) -> None:
    body = LAUNCH + "n = T.int32()\n"
    for name, size in (("As", "n"), ("Bs", "256"), ("unused", "16")):
        body += f'{name} = T.alloc_buffer(({size},), scope="shared.dyn")\n'
    path = tmp_path / "kernel.tir"
    path.write_text(dump_text(body + "for i in range(4):\n    As[i] = Bs[i]\n"))
    text = run("explain", path).stdout
    shipped = "chosen: 1,024 bytes and those of symbolic size, no buffers share bytes"
    assert shipped in text


def test_what_sharing_rests_on_is_told() -> None:
    result = run("explain", dump("batched_gemm.sm_80"), "--format", "json")
    rests = {tuple(one["buffers"]): one["rests_on"] for one in json.loads(result.stdout)["kernels"]}
    proved = {"lint": "clean", "proved": True, "open": [], "assumptions": []}
    assert rests == {("As", "Bs"): None, ("As", "Cs"): proved, ("Bs", "Cs"): proved}
    for asked in (("--objective", "bytes"), ("As", "Cs")):
        told = run("explain", dump("batched_gemm.sm_80"), *asked).stdout
        assert PROVED in " ".join(told.split())


def test_an_assumption_that_is_open_is_told(tmp_path: Path) -> None:
    """The last thread reads behind the end of As, whatever is merged."""
    body = """
        tx = T.launch_thread("threadIdx.x", 64)
        As[tx] = T.float32(1)
        A_1 = T.decl_buffer((64,), data=A)
        A_1[tx] = As[tx + 1]
        Bs[tx] = T.float32(2)
        A_1[tx] = Bs[63 - tx]
    """
    path = tmp_path / "dump.tir"
    path.write_text(dump_text(LAUNCH + BUFFERS + dedent(body)))
    told = " ".join(run("explain", str(path)).stdout.split())
    hazard = r"an access leaves its buffer at line \d+ \(As\)"
    assert re.search(rf"\(proved, but for a hazard of the kernel itself: {hazard}\)", told)
    assert f"and their fixes): smemreuse lint {path}" in told


def test_resident_blocks_count_what_ships_in_every_scope(tmp_path: Path) -> None:
    """Buffers of the other scope lie as they ship, and not side by side."""
    body = 'G = T.decl_buffer((1024,), "float32", data=A)\n'
    for name in ("As", "Bs"):
        body += f'{name} = T.alloc_buffer((8192,), scope="shared.dyn")\n'
    body += 'Ss = T.alloc_buffer((256,), scope="shared")\n'
    body += 'bx = T.launch_thread("blockIdx.x", 8)\ntx = T.launch_thread("threadIdx.x", 32)\n'
    body += "Ss[tx] = G[tx]\n"
    for name in ("As", "Bs"):
        body += f"{name}[tx] = G[tx]\nG[tx] = {name}[tx] + Ss[tx]\n"
    path = tmp_path / "kernel.tir"
    path.write_text(dump_text(body))
    text = run("explain", path, "--objective", "bytes", "--arch", "sm_90").stdout
    blocks = re.findall(r"blocks per SM of sm_90: (\d+); one more .*a block takes ([\d,]+)", text)
    assert len(blocks) == 2
    assert len({*blocks}) == 1


def test_live_ranges_that_rules_widened_are_called_so() -> None:
    table = dump("while_table.sm_80")
    text = run("explain", table, "scratch", "table").stdout
    assert "with live ranges that long, live together from `" in text
    assert "widened" not in text
    data = run("explain", table, "scratch", "table", "--format", "json").stdout
    assert "so widened, live together" in data
