"""Whether two forms of a kernel are reads-from equivalent.

They are if every read that reaches a write to global memory sees the same writer instance, and
global memory gets the same in the end.

Both are executed on value numbers, for one block whose number is a symbol: what is computed is an
uninterpreted function of what it is computed from, so that no arithmetic is needed, and equal
numbers mean equal values whatever these functions are.
"""

from smemreuse.equivalence.peak import estimated_bytes, least_bytes
from smemreuse.equivalence.program import (
    Bound,
    Branch,
    Fill,
    Fold,
    Loop,
    Marker,
    Operation,
    Region,
    Repeat,
    Statement,
    TileCopy,
    TileProgram,
    Unfollowed,
    Write,
)
from smemreuse.equivalence.proof import Proof, Reference, equivalence

__all__ = [
    "Bound",
    "Branch",
    "Fill",
    "Fold",
    "Loop",
    "Marker",
    "Operation",
    "Proof",
    "Reference",
    "Region",
    "Repeat",
    "Statement",
    "TileCopy",
    "TileProgram",
    "Unfollowed",
    "Write",
    "equivalence",
    "estimated_bytes",
    "least_bytes",
]
