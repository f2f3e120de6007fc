"""Checks a merged function on the IR that has its barriers (rule 6).

TileLang inserts barriers behind the merge, with `ThreadSync`, which sees the aliases. The plan is
checked on what that returns, with no barrier assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tilelang
from tilelang import tvm

from smemreuse.compilers.tilelang.visitor import TirVisitor
from smemreuse.pipeline.judging import judge_with_barriers
from smemreuse.results.sequence import Plan
from smemreuse.results.verdict import Verdict


def with_barriers(name: str, func: Any) -> Any:
    """The function as the passes between the merge and code generation synchronize it."""
    mod = tvm.IRModule({name: func})
    mod = tilelang.cuda.transform.InjectFenceProxy()(mod)
    for scope in ("shared", "shared.dyn"):
        mod = tilelang.transform.ThreadSync(scope)(mod)
    return mod[name]


def verdicts(
    name: str, synchronized: Any, before: TirVisitor, plans: Sequence[Sequence[Plan]]
) -> list[Verdict]:
    """One verdict for each plan of each launch, in their order, on a function with its barriers."""
    return judge_with_barriers(TirVisitor(before.allocated).kernels(name, synchronized), plans)
