"""The operations that a compiler registers, held against the table of effects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smemreuse.semantics.effects import Effect
from smemreuse.semantics.rows import elsewhere, lookup
from smemreuse.semantics.rows.positions import positions


def registered(op_class: Any) -> Iterator[tuple[str, str, int]]:
    """Registered names without the namespace, names as printed, and numbers of operands."""
    for full in op_class.list_op_names():
        op = op_class.get(full)
        name = full if full.startswith("relax.") else full.partition(".")[2]
        type_first = op.get_attr("TScriptDtypePrintLocation") in (1, 2)
        count = -1 if op.num_inputs < 0 else op.num_inputs + type_first
        yield name, str(op.get_attr("TScriptPrinterName") or name), count


def without_a_row(op_class: Any) -> list[str]:
    return [
        printed
        for name, printed, _ in registered(op_class)
        if elsewhere(name) is None and lookup(printed) is None
    ]


def beyond_the_operands(op_class: Any) -> list[str]:
    """Rows that name an operand which the registered operation does not have."""
    return [
        printed
        for name, printed, count in registered(op_class)
        if elsewhere(name) is None and count >= 0
        for row in [lookup(printed)]
        if isinstance(row, Effect) and any(at >= count for at in positions(row) if at > 0)
    ]
