"""The table has a row, or a written reason, for all that the installed TileLang has.

For every operation that it registers, and every function of its device headers.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tilelang
from tilelang import tvm
from tilelang.language import dtypes
from tvm.tirx.script.builder import ir as builder

from smemreuse.semantics.rows.device_functions import FUNCTIONS, inside
from tests.semantics.device_headers import device_functions
from tests.semantics.element_types import (
    UNPACKED,
    by_code,
    by_name,
    custom,
    of_another_size,
)
from tests.semantics.registries import beyond_the_operands, without_a_row

pytestmark = pytest.mark.tilelang

# Registered with one operand; they have two.
_MISCOUNTED = {"all_of", "any_of"}


def test_every_operation_of_tilelang_has_a_row() -> None:
    assert len(tvm.ir.Op.list_op_names()) > 600
    assert without_a_row(tvm.ir.Op) == []


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
    assert len(found) > 350
    missing = {
        name: place
        for name, place in found.items()
        if name not in FUNCTIONS and inside(name) is None
    }
    assert missing == {}


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
