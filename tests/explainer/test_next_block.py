"""What it takes to gain a resident block: the fewest changes, planned together."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from smemreuse.explainer.conditions import Conditions
from smemreuse.explainer.headroom import headroom_of
from smemreuse.explainer.pairs import explainer_of
from smemreuse.ir.kernel import Kernel
from smemreuse.report.headroom import ShippedHeadroom, headroom_lines
from smemreuse.results.headroom import ChangeKind, Headroom, NextBlock
from smemreuse.targets.architectures import architecture
from tests.commands.running import run
from tests.compilers.text.texts import LAUNCH, dump, kernel_of
from tests.conftest import DUMPS
from tests.dumps import kernels_of

SM_90 = architecture("sm_90")


def of(kernel: Kernel) -> Headroom:
    return headroom_of(kernel, "shared.dyn", SM_90)


def lines(found: Headroom) -> list[str]:
    return [line.plain for line in headroom_lines(ShippedHeadroom(found, found))]


def held(*sizes: int, also: str = "") -> Kernel:
    """Buffers of so many elements: each is filled, and read again when all are filled."""
    body = 'G = T.decl_buffer((1024,), "float32", data=A)\n'
    names = [f"B{number}" for number in range(len(sizes))]
    for name, size in zip(names, sizes, strict=True):
        body += f'{name} = T.alloc_buffer(({size},), scope="shared.dyn")\n'
    body += 'bx = T.launch_thread("blockIdx.x", 8)\ntx = T.launch_thread("threadIdx.x", 32)\n'
    body += "".join(f"{name}[tx] = G[tx]\n" for name in names)
    body += "".join(f"G[tx] = {name}[tx]\n" for name in names) + also
    return kernel_of(dump(body))


def test_several_changes_together_where_no_single_one_is_enough() -> None:
    """Of three tiles of 16 KB one saved gains a block, of five of 32 KB only two together."""
    found = of(held(4_096, 4_096, 4_096))
    assert found.residents is not None
    assert (found.residents.blocks, found.residents.block_bytes) == (4, 49_152)
    assert found.next_block is not None
    assert found.next_block.bytes_over == 49_152 - (46_592 - 1_024)
    (change,) = found.next_block.changes
    assert change.kind is ChangeKind.RANGE
    both = of(held(8_192, 8_192, 8_192, 8_192, 8_192))
    assert both.residents is not None
    assert both.residents.blocks == 1
    assert both.next_block is not None
    assert not any(one.adds_block for one in both.changes)
    assert len(both.next_block.changes) == 2
    assert both.next_block.blocks == 2
    assert both.next_block.arena_bytes == 3 * 32_768
    told = lines(both)
    assert "one more block: 98,304 bytes, 2 blocks, with 2 changes:" in told
    assert sum(line.startswith("  and if B") for line in told) == 1


def test_the_changes_are_the_fewest_that_fit() -> None:
    """Without one of the two that are told the plan gains no block."""
    kernel = held(8_192, 8_192, 8_192, 8_192, 8_192)
    found = of(kernel)
    assert found.next_block is not None
    touched = {name for change in found.next_block.changes for name in change.buffers}
    assert len(touched) >= 3
    for change in found.changes:
        assert change.arena_bytes > (found.next_block.arena_bytes or 0)


def test_a_single_change_is_told_once() -> None:
    told = lines(of(held(4_096, 4_096, 4_096)))
    assert sum("5 blocks" in line or "6 blocks" in line for line in told) == 1
    assert not any(line.startswith("one more block") for line in told)


def test_registers_are_told_in_one_line() -> None:
    (kernel,) = kernels_of(DUMPS / "flash_attention.sm_90a.tir")
    found = headroom_of(kernel, "shared.dyn")
    assert found.next_block == NextBlock(0, stopped_by=("registers",))
    registers = "one more is stopped by registers ("
    assert any(registers in line and " would allow it)" in line for line in lines(found))
    assert not any(line.startswith("one more block") and "changes" in line for line in lines(found))


def test_nothing_that_is_known_gains_a_block() -> None:
    (kernel,) = kernels_of(DUMPS / "miss_rows.sm_80.tir")
    found = headroom_of(kernel, "shared.dyn")
    assert found.changes
    assert (
        "one more block: no combination of the changes that smemreuse knows gains a block"
        in lines(found)
    )
    assert found.residents is not None
    told = lines(replace(found, residents=replace(found.residents, blocks=0)))
    known = "no combination of the changes that smemreuse knows is enough"
    assert f"to launch at all: {known}; smaller tiles may be" in told


def test_orders_that_go_round_in_a_circle_do_not_agree() -> None:
    kernel = held(64, 64, 64)
    one, two, three = kernel.allocations("shared.dyn")
    conditions = Conditions(kernel, explainer_of(kernel, "shared.dyn"))
    assert conditions.agree([(one, two), (two, three), (one, three)])
    assert not conditions.agree([(one, two), (two, three), (three, one)])


def test_orders_agree_only_where_what_follows_from_them_can_be() -> None:
    """`Vs` is the second matrix of a product whose first is made of `Ks`."""
    (kernel,) = kernels_of(DUMPS / "flash_attention.sm_90a.tir")
    by_name = {one.name: one for one in kernel.allocations("shared.dyn")}
    q, k, v = (by_name[name] for name in ("Qs", "Ks", "Vs"))
    conditions = Conditions(kernel, explainer_of(kernel, "shared.dyn"))
    assert conditions.agree([(q, k), (k, v)])
    assert not conditions.agree([(v, q), (q, k)])


PIPELINE = """
bx = T.launch_thread("blockIdx.x", 8)
tx = T.launch_thread("threadIdx.x", 128)
G = T.decl_buffer((65536,), "float32", data=A)
R = T.alloc_buffer((49152,), "float32", scope="shared.dyn")
for k in range(8):
    for i in range(16):
        T.ptx_cp_async(
            T.tvm_access_ptr(
                T.type_annotation("float32"), R.data, k % 3 * 16384 + i * 1024 + tx * 4, 4, 2
            ),
            T.tvm_access_ptr(T.type_annotation("float32"), A, i * 512 + tx * 4, 4, 1),
            16,
        )
    T.ptx_commit_group()
    T.ptx_wait_group(0)
    T.tvm_storage_sync("shared")
    G[tx] = R[k % 3 * 16384 + tx]
"""


def test_a_stage_less_may_not_be_enough_and_two_are() -> None:
    """Three stages of 64 KB: with two of them there is one block, with one there are three."""
    found = of(kernel_of(dump(PIPELINE)))
    assert found.residents is not None
    assert (found.residents.blocks, found.arena_bytes) == (1, 196_608)
    assert [(one.kind, one.adds_block) for one in found.changes] == [(ChangeKind.STAGES, False)]
    assert found.next_block is not None
    (change,) = found.next_block.changes
    assert change.kind is ChangeKind.STAGES
    assert change.condition.endswith(
        "had 1 stage instead of 3 (`num_stages`), so that no load overlaps computation"
    )
    assert (found.next_block.blocks, found.next_block.arena_bytes) == (3, 65_536)
    assert "one more block: 65,536 bytes, 3 blocks, with one change:" in lines(found)


def test_an_element_of_a_loop_s_own_statement_moves_one_statement() -> None:
    """A scope that reads one buffer itself, and the other one inside of it."""
    body = 'G = T.decl_buffer((1024,), "float32", data=A)\n'
    for name in ("As", "Bs"):
        body += f'{name} = T.alloc_buffer((256,), "int32", scope="shared.dyn")\n'
    body += LAUNCH + "As[0] = 1\nif As[0] > 0:\n    Bs[0] = 1\n    G[0] = Bs[0]\n"
    found = of(kernel_of(dump(body)))
    assert all(one.statements > 0 for one in found.changes)


@pytest.mark.parametrize("name", sorted(path.name for path in DUMPS.glob("*.tir")))
def test_every_kernel_is_told_what_gains_a_block_or_that_nothing_does(name: str) -> None:
    for summary in json.loads(run("explain", DUMPS / name, "--format", "json").stdout)["summaries"]:
        found, residents = summary["next_block"], summary["residents"]
        if found["changes"]:
            assert found["blocks"] > residents["blocks"]
            assert not found["why_not"]
        else:
            assert found["why_not"]
        stopped = [one for one in residents["stopped_by"] if one != "shared memory"]
        assert found["stopped_by"] == stopped
        assert found["bytes_over"] == residents["bytes_over"]


def test_operands_of_one_product_wait_in_registers() -> None:
    (kernel,) = kernels_of(DUMPS / "miss_tiles.sm_80.tir")
    (change,) = headroom_of(kernel, "shared.dyn").changes
    words = "if Ss were loaded to registers (16+ registers per thread) before Bs begins at "
    assert change.condition.startswith(words)
    assert "both are operands of an mma, which takes them from registers anyway" in change.condition


def test_registers_that_a_change_takes_count_against_its_block() -> None:
    """Ss in registers would take 64 more: then these allow no more blocks than there are."""
    (kernel,) = kernels_of(DUMPS / "miss_tiles.sm_80.tir")
    found = headroom_of(kernel, "shared.dyn")
    (change,) = found.changes
    assert found.residents is not None
    assert change.blocks == 5 < found.residents.blocks == 6


def test_a_peak_of_buffers_that_only_the_text_has_together_is_assumed() -> None:
    found = of(held(64, 64))
    both = ShippedHeadroom(found, found)
    first, *_ = (line.plain for line in headroom_lines(both, unordered=[("B0", "B1")]))
    assert first.startswith("peak: all 512 bytes are taken to be live at `")
    assert first.endswith(", by the order of the text:")
    first, *_ = (line.plain for line in headroom_lines(both, unordered=[("B0", "elsewhere")]))
    assert first.startswith("peak: all 512 bytes are live at `")
