"""Asks CUDA how many blocks of each packed cubin's kernels are resident, and holds ours against it.

    python3 -m scripts.ask_occupancy .gpu/cubins --out docs/results/occupancy-kernels-h200.json

The folder is what `scripts/pack_cubins.py` wrote. Needs a CUDA device of that architecture and its
driver, and neither nvcc nor a compiler: cubins are loaded by the driver's API, which is asked
`cuOccupancyMaxActiveBlocksPerMultiprocessor`. Exits with 1 where our answer is another one.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from scripts.results import driver, options_of, today, write

MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
SHARED, REGISTERS = 1, 4  # CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, _NUM_REGS
REFUSED = 1  # CUDA_ERROR_INVALID_VALUE


class DriverError(Exception):
    """A call of the driver that failed."""


class Driver:
    """The first device, by the driver's API."""

    def __init__(self, library: Any = None) -> None:
        self._cuda = library if library is not None else ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)
        name = ctypes.create_string_buffer(100)
        self._call("cuDeviceGetName", name, len(name), device)
        self.name = name.value.decode()

    def _call(self, function: str, *arguments: Any) -> None:
        code = getattr(self._cuda, function)(*arguments)
        if code:
            raise DriverError(f"{function} gives {code}")

    def blocks(self, cubin: bytes, symbol: str, threads: int, dynamic: int) -> dict[str, int]:
        """Resident blocks of a kernel on one SM, its registers and static bytes; 0 blocks where so
        many dynamic bytes are refused."""
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), cubin)
        try:
            self._call("cuModuleGetFunction", ctypes.byref(kernel), module, symbol.encode())
            blocks, found = ctypes.c_int(), {}
            for name, attribute in (("static_bytes", SHARED), ("registers", REGISTERS)):
                value = ctypes.c_int()
                self._call("cuFuncGetAttribute", ctypes.byref(value), attribute, kernel)
                found[name] = value.value
            allow = self._cuda.cuFuncSetAttribute
            code = allow(kernel, MAX_DYNAMIC_SHARED, ctypes.c_int(dynamic))
            if code not in (0, REFUSED):
                raise DriverError(f"cuFuncSetAttribute gives {code}")
            if code == 0:
                ask, size = "cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.c_size_t(dynamic)
                self._call(ask, ctypes.byref(blocks), kernel, ctypes.c_int(threads), size)
            return {"blocks": blocks.value, **found}
        finally:
            self._call("cuModuleUnload", module)


def asked(folder: Path, cuda: Driver) -> Iterator[dict[str, Any]]:
    """What we say of each kernel, and under `cuda` what CUDA does."""
    for row in json.loads((folder / "index.json").read_text()):
        cubin = (folder / row["cubin"]).read_bytes()
        found = cuda.blocks(cubin, row["symbol"], row["threads"], row["dynamic_bytes"])
        yield {**row, "cuda": found}


def summary(rows: Sequence[dict[str, Any]], device: str) -> dict[str, Any]:
    """One document: how often we agree with registers and before ptxas, and where we do not."""
    differs = [row for row in rows if row["cuda"]["blocks"] != row["blocks"]]
    before = [row["blocks_before"] - row["cuda"]["blocks"] for row in rows]
    return {
        "schema": "smemreuse.occupancy-kernels/1",
        "date": today(),
        "device": device,
        "driver": driver(),
        "kernels": len(rows),
        "different": len(differs),
        "differences": differs,
        "before_ptxas": {
            "same": before.count(0),
            "too_few": sum(one < 0 for one in before),
            "too_many": sum(one > 0 for one in before),
            "none_fits_wrongly": sum(
                row["blocks_before"] == 0 < row["cuda"]["blocks"] for row in rows
            ),
        },
        "answers": list(rows),
    }


def main() -> int:
    parser = options_of(__doc__, "out")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    cuda = Driver()
    found = summary([*asked(options.folder, cuda)], cuda.name)
    write(options.out, found)
    print({key: value for key, value in found.items() if key not in ("answers", "differences")})
    for row in found["differences"]:
        print(row)
    return int(bool(found["different"]))


if __name__ == "__main__":
    sys.exit(main())
