"""The rows of the table of effects, one file a family of operations.

Operations go by the names that the printers give them, without the compiler's namespace.
"""

from __future__ import annotations

from collections.abc import Mapping

from smemreuse.semantics.effects import Row, Rows
from smemreuse.semantics.rows import (
    addresses,
    apache,
    arithmetic,
    barriers,
    copies,
    matrices,
    memory,
    ptx_barriers,
    ptx_copies,
    ptx_matrices,
    ptx_memory,
    ptx_values,
    tensor_memory,
    threads,
)
from smemreuse.semantics.rows.device_functions import function_row
from smemreuse.semantics.rows.elsewhere import FAMILIES, elsewhere
from smemreuse.semantics.rows.forms import merged

__all__ = ["FAMILIES", "TABLE", "elsewhere", "function_row", "lookup"]

_FILES = (
    *(addresses, apache, arithmetic, barriers, copies, matrices, memory),
    *(ptx_barriers, ptx_copies, ptx_matrices, ptx_memory, ptx_values),
    *(tensor_memory, threads),
)

_FOREIGN: Rows = dict.fromkeys(("call_extern", "call_pure_extern", "cuda.func_call"), function_row)

TABLE: Mapping[str, Row] = merged(_FOREIGN, *(file.ROWS for file in _FILES))
"""Every operation that is understood. Two rows for one are a `ValueError`."""


def lookup(name: str) -> Row | None:
    """The row of an operation, by its script name; None where there is none: it is uncovered."""
    return TABLE.get(name)
