"""The table has a row, or a written reason, for all that the installed TileLang has.

For every operation that it registers, and every function of its device headers.
"""

from __future__ import annotations

import functools
import importlib
from pathlib import Path

import pytest
import tilelang
from tilelang import tvm
from tilelang.language import dtypes

from smemreuse.ir.expr import Call, Const, Var
from smemreuse.semantics.effects import Effect, Group
from smemreuse.semantics.rows.device_functions import FUNCTIONS, function_row, inside
from tests.semantics.device_headers import device_functions
from tests.semantics.device_texts import DeviceText, device_texts, saying
from tests.semantics.element_types import (
    UNPACKED,
    by_code,
    by_name,
    custom,
    of_another_size,
)
from tests.semantics.registries import beyond_the_operands, without_a_row

pytestmark = pytest.mark.tilelang

BUILDER = "tvm.tirx.script.builder.ir" if hasattr(tvm, "tirx") else "tvm.script.ir_builder.tir.ir"
builder = importlib.import_module(BUILDER)

# Without a row, which lets them do anything: calls of the library by name, up to 0.1.11, and what
# it had then for kernels that are written around it.
_NOT_UNDERSTOOD = {"tl_gemm", "tl_gemm_sp"}
_FUNCTIONS_NOT_UNDERSTOOD = {
    *("tl::tcgen5mma_gemm_ss", "tl::mma_init"),
    *("tl::warp_scheduler_barrier_sync", "tl::warp_scheduler_barrier_arrive"),
}

# Registered with one operand; they have two.
_MISCOUNTED = {"all_of", "any_of"}


def test_every_operation_of_tilelang_has_a_row() -> None:
    assert len(tvm.ir.Op.list_op_names()) > 500
    assert set(without_a_row(tvm.ir.Op)) <= _NOT_UNDERSTOOD


def test_every_element_type_of_tilelang_has_a_size() -> None:
    """Those of its language too: tfloat32, and the 4-bit floats that take a byte."""
    own = [str(one) for one in vars(dtypes).values() if isinstance(one, tvm.DataType)]
    names = [*by_code(tvm), *by_name(tvm, builder.__all__), *custom(tvm), *own]
    assert {"custom[tfloat32]", "custom[tfloat32]x4", UNPACKED} <= set(names)
    assert len(set(names)) > 200
    assert of_another_size(tvm, names) == {}


def test_rows_name_operands_that_tilelang_s_operations_have() -> None:
    assert set(beyond_the_operands(tvm.ir.Op)) == _MISCOUNTED


def _headers() -> list[Path]:
    folder = Path(tilelang.__file__).parent / "src" / "tl_templates" / "cuda"
    return sorted(path for path in folder.rglob("*") if path.suffix in (".h", ".cuh", ".hpp"))


def test_every_device_function_of_tilelang_has_a_row() -> None:
    found = {
        name: f"{path.name}:{line}" for path in _headers() for name, line in device_functions(path)
    }
    assert len(found) > 300
    missing = {
        name: place
        for name, place in found.items()
        if name not in FUNCTIONS and inside(name) is None
    }
    assert missing.keys() <= _FUNCTIONS_NOT_UNDERSTOOD, missing


def test_the_scan_finds_as_many_functions_as_the_headers_mark() -> None:
    text = "".join(path.read_text() for path in _headers())
    marks = text.count("TL_DEVICE ") + text.count("__device__ __forceinline__")
    found = sum(1 for path in _headers() for _ in device_functions(path))
    assert 0.95 * marks < found


def test_every_function_of_the_library_that_has_a_row_is_there_or_was_once() -> None:
    """So a function that is renamed does not leave its row behind unseen."""
    found = {name for path in _headers() for name, _ in device_functions(path)}
    gone = {name for name in FUNCTIONS if name.startswith("tl::") and name not in found}
    once = {f"tl::gemm_{kind}" for kind in ("ss", "rs", "sr", "sp_ss", "sp_rs", "sp_sr")}
    once.add("tl::AllReduce::run_hopper")
    shapes = {name for name in gone if name.startswith(("tl::ptx_stmatrix_", "tl::load_shared_"))}
    shapes |= {name for name in gone if name.startswith("tl::store_shared_")}
    assert gone - once - shapes == set()


# What meets, signals or converges inside ----------------------------------------------------------


def _meets(effect: Effect) -> bool:
    return any(one.group is not Group.WARP for one in effect.meetings)


def _meets_in_a_warp(effect: Effect) -> bool:
    return any(one.group is Group.WARP for one in effect.meetings)


def _signals(effect: Effect) -> bool:
    """A row without a signal says in words why that proves nothing, or is a fence for mbarriers."""
    return effect.mbarrier is not None or effect.fences_mbarriers or bool(effect.words)


def _converges(effect: Effect) -> bool:
    return effect.converges or bool(effect.meetings)


_SIGNS = {
    r"__syncthreads|\bbar\.(?:sync|arrive|red)|\bbarrier\.(?:cluster|sync|arrive|red)": _meets,
    r"__syncwarp|\bbar\.warp": _meets_in_a_warp,
    r"\bmbarrier": _signals,
    r"__shfl\w*_sync|__(?:any|all|ballot|match\w*|reduce_\w+)_sync|\b(?:shfl|vote|match|redux)\.sync"
    r"|elect_one_sync|\belect\.sync": _converges,
}
"""What the text of a function says, or of one that it calls, and whether a row has that."""

_FORMS = {
    **dict.fromkeys(("tl::AllReduce::run", "tl::AllReduce::run_batch"), ("<tl::SumOp, 64, 1>", 2)),
    "tl::NamedBarrier::sync": ("<64>", 0),
    "tl::__sync_thread_partial": ("", 2),
    "tl::mbarrier_arrive": ("", 1),
    "tl::mbarrier_arrive_expect_tx": ("", 2),
}
"""Template arguments and a number of parameters, where a row depends on them."""


@functools.cache
def _texts() -> tuple[DeviceText, ...]:
    return tuple(one for path in _headers() for one in device_texts(path))


def _row(name: str) -> Effect | None:
    arguments, parameters = _FORMS.get(name, ("", 0))
    owner, _, last = name.rpartition("::")
    written = f"{owner}{arguments}::{last}" if arguments else name
    operands = (Var(f"x{at}") for at in range(parameters))
    row = function_row(Call("call_extern", (Const("handle"), Const(written), *operands)))
    plain = FUNCTIONS.get(name)
    return row if row is not None else plain if isinstance(plain, Effect) else None


@pytest.mark.parametrize("sign", _SIGNS)
def test_what_a_device_function_has_inside_is_in_its_row(sign: str) -> None:
    """A barrier, a signal to an mbarrier, a shuffle or a vote, in its text or in one it calls."""
    found = saying(_texts(), sign)
    assert found
    missing = {}
    for name, place in found.items():
        if inside(name) is None:
            row = _row(name)
            if row is None or not _SIGNS[sign](row):
                missing[name] = place
    assert missing == {}


def test_a_barrier_within_is_found_through_the_functions_that_are_called() -> None:
    assert len(_texts()) > 600
    barriers = saying(_texts(), next(iter(_SIGNS)))
    assert {"tl::AllReduce::run", "tl::AllReduce::run_batch", "tl::cluster_sync"} <= set(barriers)
    assert not any("Cum" in name or "Scan" in name or "warp_reduce" in name for name in barriers)
