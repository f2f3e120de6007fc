"""Lines of delays in CUDA: nothing else tells a delayed source from the original."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from smemreuse.errors import BackendError
from smemreuse.reproduce.cuda import (
    DEFINITIONS,
    DELAY,
    FILL,
    PRODUCTS,
    changes,
    digest,
    require_original,
    with_definitions,
    with_products,
    without_delays,
)

ORIGINAL = """#include <cuda.h>
extern "C" __global__ void kernel(int* X);
extern "C" __global__ void kernel(int* X) {
  for (int k = 0; k < 8; ++k) {
    X[k] = k;
  }
}
"""
CALL = f"    {DELAY}(0, 32, 20000, (k == 0));\n"
DELAYED = ORIGINAL.replace("    X[k]", f"{CALL}    X[k]")


def test_a_definition_stands_before_the_first_kernel_where_it_is_called() -> None:
    source = with_definitions(DELAYED)
    assert source.index(DEFINITIONS[DELAY]) < source.index('extern "C"')
    assert DEFINITIONS[FILL] not in source
    assert with_definitions(ORIGINAL) == ORIGINAL


def test_each_definition_is_one_line() -> None:
    assert all("\n" not in text for text in DEFINITIONS.values())


PRODUCT = "    tl::wgmma_ss<64>(uint64_t(a + 2), uint64_t(b), out, 1);"
MULTIPLIED = f"{{\n    {PRODUCTS}(0, 128, 256, (k == 0));\n    settle();\n{PRODUCT}\n}}"


def test_products_repeat_the_next_wgmma_on_zeros_of_the_names_of_its_descriptors() -> None:
    _, line, *rest = with_products(MULTIPLIED).split("\n")
    assert rest == ["    settle();", PRODUCT, "}"]
    assert line.startswith("    { smemreuse_zeros a; smemreuse_zeros b; for (int smemreuse_i")
    assert f"= {PRODUCTS}(0, 128, 256, (k == 0));" in line
    assert PRODUCT.strip() in line
    with pytest.raises(BackendError, match="no wgmma"):
        with_products(MULTIPLIED.replace("wgmma", "mma"))


def test_nvcc_compiles_all_device_functions() -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("needs nvcc")
    names = (name for name in DEFINITIONS if name not in (FILL, PRODUCTS))
    calls = [f"{name}(0, 32, 64, true);" for name in names]
    calls += [f"{FILL}(1);", f"smemreuse_zeros a; a = a + {PRODUCTS}(0, 32, 64, true);"]
    body = "\n".join(calls)
    source = with_definitions(f'extern "C" __global__ void kernel() {{\n{body}\n}}\n')
    command = ["nvcc", "-arch=sm_90a", "-cubin", "-x", "cu", "-", "-o", "/dev/null"]
    subprocess.run(command, input=source, text=True, check=True, capture_output=True)


def test_without_its_delays_it_is_the_original() -> None:
    source = with_definitions(DELAYED)
    assert source != ORIGINAL
    assert without_delays(source) == ORIGINAL
    require_original(source, ORIGINAL)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [("X[k] = k", "X[k] = k + 1", 5), ("  }\n}\n", "  }\n  X[0] = 0;\n}\n", 7), ("}\n", "}", 8)],
)
def test_any_other_change_is_refused(old: str, new: str, line: int) -> None:
    changed = with_definitions(DELAYED[::-1].replace(old[::-1], new[::-1], 1)[::-1])
    with pytest.raises(BackendError, match=f"in line {line}"):
        require_original(changed, ORIGINAL)


def test_changes_make_one_source_of_the_other() -> None:
    mended = ORIGINAL.replace("  }\n}", "    __syncthreads();\n  }\n}").replace("k = 0", "k = 1")
    lines = ORIGINAL.split("\n")
    for at, count, new in reversed(changes(ORIGINAL, mended)):
        lines[at : at + count] = new
    assert "\n".join(lines) == mended
    assert changes(ORIGINAL, ORIGINAL) == ()
    assert digest(ORIGINAL) != digest(mended)
