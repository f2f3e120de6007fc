"""The element types that an installed compiler knows, by the names that it prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from smemreuse.ir.kernel import element_bits

WIDTHS = (1, 2, 4, 6, 8, 16, 32, 64, 128)
LANES = (1, 2, 4, 8, 16, 32)
CUSTOM = range(129, 256)
"""Type codes that registered types have."""


def by_code(runtime: Any) -> Iterator[str]:
    """Every type code of the runtime, in each width and number of lanes that it has."""
    from tvm_ffi._dtype import DataTypeCode

    for code in DataTypeCode:
        for width in WIDTHS if code.name != "HANDLE" else (64,):
            for lanes in LANES if code.name != "HANDLE" else (1,):
                if _is_native(code.name, width):
                    yield str(runtime.DataType.from_dlpack_data_type((int(code), width, lanes)))


def _is_native(name: str, width: int) -> bool:
    """The floats of fewer than 16 bits have their width in their names."""
    for narrow in ("Float8", "Float6", "Float4"):
        if name.startswith(narrow):
            return width == int(narrow[-1])
    return {"BFLOAT": width == 16, "BOOL": width == 8, "FLOAT": width >= 16}.get(name, True)


def by_name(runtime: Any, names: Iterable[str]) -> Iterator[str]:
    """Those of some names that are types of something: of `void` there is nothing in memory."""
    for name in names:
        try:
            found = runtime.DataType(name)
        except (ValueError, TypeError):
            continue
        if found.bits:
            yield str(found)


def custom(runtime: Any) -> Iterator[str]:
    """The types that were registered by name; none where there is no registry."""
    name_of = runtime.get_global_func("dtype.get_custom_type_name", allow_missing=True)
    for code in CUSTOM if name_of is not None else ():
        try:
            yield f"custom[{name_of(code)}]"
        except Exception:  # whatever error the runtime makes of a code that nobody has
            continue


UNPACKED = "custom[float4_e2m1_unpacked]"
"""TileLang makes it of 8 bits; Python's reading of what it prints says 32."""


def of_another_size(runtime: Any, names: Iterable[str]) -> dict[str, int]:
    """Types whose elements should take other than whole bytes for each lane, 4 bits for 4; raises
    for one that has no size."""
    found = {}
    for name in dict.fromkeys(names):
        dtype = runtime.DataType(name)
        packed = dtype.bits == 4
        each = 4 if packed else 8 if name.startswith(UNPACKED) else -(-dtype.bits // 8) * 8
        if element_bits(name) != each * dtype.lanes:
            found[name] = element_bits(name)
    return found
