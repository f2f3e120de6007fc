"""The barriers of a block, and the resident blocks that they allow."""

from __future__ import annotations

import pytest

from scripts.results import read
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.explainer.plans import side_by_side
from smemreuse.ir.kernel import Kernel
from smemreuse.results.residents import BARRIERS
from smemreuse.targets.architectures import architecture
from smemreuse.targets.barriers import barriers_of
from smemreuse.targets.residents import residents_of
from tests.compilers.text.texts import launched

SYNC = 'T.call_extern("handle", "tl::__sync_thread_partial<{}, 32>")\n'


def kernel_of(*barriers: int | str) -> Kernel:
    """A kernel of one warp that names these barriers."""
    lines = "".join(f"T.evaluate({SYNC.format(one).strip()})\n" for one in barriers)
    (kernel,) = parse_dump(launched(f"As[0] = Bs[0]\n{lines}")).kernels
    return kernel


@pytest.mark.parametrize(("named", "held"), [((), 1), ((3,), 4), ((1, 2), 3), ((4, 3), 5)])
def test_a_block_has_all_up_to_its_highest_number(named: tuple[int, ...], held: int) -> None:
    assert barriers_of(kernel_of(*named)) == held


def test_they_stop_blocks_where_an_sm_has_no_more() -> None:
    kernel = kernel_of(7)
    plan = side_by_side(kernel, "shared.dyn")
    few, many = (residents_of(kernel, [plan], architecture(one)) for one in ("sm_120", "sm_90"))
    assert few is not None
    assert many is not None
    assert (few.blocks, few.by_memory, few.barriers, few.limits) == (3, 3, 8, (BARRIERS,))
    assert (many.blocks, many.limits) == (8, (BARRIERS,))
    old = residents_of(kernel, [plan], architecture("sm_80"))
    assert old is not None
    assert BARRIERS not in old.limits
    told = residents_of(kernel, [plan], architecture("sm_120"), barriers=1)
    assert told is not None
    assert told.blocks > few.blocks


def test_cuda_says_the_same_of_every_kernel_that_was_compiled() -> None:
    """Its answers were measured; ours are of today, with the registers and barriers of cubins."""
    answers = read("occupancy-kernels-h200")["answers"]
    arch = architecture("sm_90")
    unlike = [
        one["symbol"]
        for one in answers
        if one["cuda"]["blocks"]
        != arch.resident_blocks(
            one["block_bytes"], one["threads"], one["registers"], one.get("barriers", 1)
        )
    ]
    assert (len(answers), unlike) == (258, [])
