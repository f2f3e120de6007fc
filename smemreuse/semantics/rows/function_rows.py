"""What a row of a function looks like that is called by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from smemreuse.semantics.effects import Effect
from smemreuse.semantics.rows.function_names import FunctionName

FunctionRow: TypeAlias = Effect | Callable[[FunctionName, int], Effect | None]
"""An effect whose positions are those of the function's parameters, or what finds it by the
template arguments and the number of parameters. None where the form is not understood."""

FunctionRows: TypeAlias = dict[str, FunctionRow]
"""Rows by the name without template arguments: `tl::AllReduce::run`."""
