"""Which functions the compiler's own pass merges instead (rule 9)."""

from __future__ import annotations

import pytest

from smemreuse.errors import PlanError
from smemreuse.pipeline.fallback import require_sizes
from tests.checker.small import kernel_of

DYN = "shared.dyn"


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        (
            'v = T.decl_buffer((65,), "int32", data=As.data, scope="shared.dyn")',
            "v is a view larger",
        ),
        ('e = T.alloc_buffer((0,), "int32", scope="shared.dyn")', "e is allocated without a size"),
    ],
)
def test_buffers_that_may_reach_beyond_their_bytes_are_refused(declared: str, reason: str) -> None:
    kernel = kernel_of("As[tx] = tx\n", declared=declared)
    with pytest.raises(PlanError, match=reason):
        require_sizes([kernel], [[DYN]])
    require_sizes([kernel], [[]])  # nothing of it is merged


def test_known_sizes_are_enough() -> None:
    require_sizes([kernel_of("As[tx] = tx\n")], [[DYN]])
