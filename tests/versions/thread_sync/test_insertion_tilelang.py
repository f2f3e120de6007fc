"""Barriers are where they are predicted, as the installed TileLang's `ThreadSync` puts them in."""

from __future__ import annotations

import pytest
import tilelang

from scripts.barrier_places import outcomes
from scripts.own_merge import SCOPE, kernels_of
from tests.checker.small import under
from tests.versions.thread_sync.test_tilelang import BODIES, module_of

pytestmark = pytest.mark.tilelang

STORE, READ, CROSS = "A[tx] = D[tx]\n", "O[tx] = A[tx]\n", "O[tx] = A[63 - tx]\n"
FIFTH = "A[k * 64 + tx] = D[tx]\nO[tx] = A[319 - tx]\n"
"""What collides in the fifth round alone."""
NEAR = f"{STORE}O[tx] = A[63 - tx + k * 64]\n"
"""What collides in the first round alone."""
POINTER = 'T.tvm_access_ptr(T.type_annotation("int32"), {}.data, {}, 1, 3)'
ADD = 'T.evaluate(T.call_intrin("int32", atomic_add_elem_op, {}, 1, 0))\n'
OR = ADD.replace("_add_", "_or_")
OF_B = "B[63 - tx] = D[tx]\n"


def rounds(body: str, count: str = "4") -> str:
    return under(f"for k in range({count})", body)


def arm(condition: str, body: str) -> str:
    return under(f"if {condition}", body)


SEQUENCES = {
    "in a sequence": f"{STORE}{CROSS}{STORE}{CROSS}",
    "a barrier of the kernel": f'{STORE}T.tvm_storage_sync("shared.dyn")\n{CROSS}{STORE}',
    "a barrier of the grid": STORE
    + 'T.evaluate(T.call_intrin("handle", sync_grid))\n'
    + CROSS
    + STORE,
    "one of a warp": f'{STORE}T.tvm_storage_sync("warp")\n{CROSS}',
    "next round": rounds(f"{READ}{STORE}{CROSS}"),
    "only the next round": rounds(f"{CROSS}A[tx + 64] = D[tx]\nO[tx] = A[tx + 65]\n{STORE}"),
    "stores alone": rounds("A[tx] = D[tx + k]\n"),
    "stores that move on": rounds("A[tx + k * 64] = D[tx]\n"),
    "stores round by round": rounds("A[k // 2 * 128 + k % 2 * 64 + tx] = D[tx]\n"),
    "one swizzled bit": rounds("A[k // 2 * 128 + (tx + k) % 2 * 64 + tx // 2] = D[tx]\n"),
    "one swizzled bit of a warp": rounds(
        "A[k // 2 * 128 + (tx % 8 // 4 + k % 2) % 2 * 64 + tx // 8 * 4 + tx % 4] = D[tx]\n"
    ),
    "two swizzled bits": rounds(
        "A[(tx // 2 + k // 2) % 2 * 128 + (tx + k) % 2 * 64 + tx // 2] = D[tx]\n"
    ),
    "stores to two stages": rounds("A[tx + k % 2 * 64] = D[tx]\n", "n"),
    "stores to two stages, read": rounds(
        "A[tx + k % 2 * 64] = D[tx]\nO[tx] = A[63 - tx + k % 2 * 64]\n", "n"
    ),
    "arms": arm("tx < 32", STORE) + under("else", "A[95 - tx] = D[tx]\n") + CROSS,
    "in an arm": arm("tx < 32", f"{STORE}O[tx] = A[31 - tx]\n") + CROSS,
    "in both arms": arm("tx < 32", f"{STORE}O[tx] = A[31 - tx]\n")
    + under("else", f"{STORE}O[tx] = A[95 - tx]\n")
    + OF_B,
    "moved out of an arm": f"{STORE}{arm('c[tx] < 3', f'{CROSS}{STORE}{CROSS}')}{OF_B}",
    "surely moved out of an arm": STORE
    + arm("tx % 32 < 4", CROSS + "A[63 - tx] = D[tx]\n" + CROSS)
    + OF_B,
    "perhaps moved out of an arm": rounds(
        READ
        + arm(
            "tx % 32 < 4",
            under(
                "for i in range(4)",
                "A[(tx // 2 + i // 2) % 2 * 128 + (tx + i) % 2 * 64 + tx // 2] = D[tx + i]\n",
            ),
        )
    ),
    "moved past a barrier of the kernel": rounds(
        READ
        + arm(
            "tx % 32 < 4",
            'T.tvm_storage_sync("shared.dyn")\n'
            + under(
                "for i in range(4)",
                "A[(tx // 2 + i // 2) % 2 * 128 + (tx + i) % 2 * 64 + tx // 2] = D[tx + i]\n",
            ),
        )
    ),
    "not moved out of an arm": f"{STORE}{arm('n < 3', f'{CROSS}{STORE}{CROSS}')}{OF_B}",
    "arm in a loop": rounds(arm("k < n", f"{CROSS}{STORE}") + READ),
    "loop in an arm": arm("tx < 32", rounds(f"{STORE}O[tx] = A[31 - tx]\n")) + OF_B,
    "loop in a loop": rounds(f"{READ}{rounds(f'{STORE}{CROSS}').replace('k', 'j')}{OF_B}"),
    "exposed": rounds(f"{STORE}{CROSS}") + OF_B + rounds(f"{READ}{STORE}{CROSS}"),
    "rows of one index": arm("tx < n", STORE) + READ + arm("tx < n", STORE),
    "far apart": "A[tx] = D[tx]\nO[tx] = A[127 - tx]\nO[tx] = A[tx + 65]\n",
    "apart by a stage": rounds(
        "O[tx] = A[k % 2 * 64 + 63]\n" + arm("tx < 63", "A[(k + 1) % 2 * 64 + tx] = D[tx]\n"), "n"
    ),
    "a condition reads": f"{STORE}{arm('A[63 - tx] < D[0]', OF_B)}",
    "contrary conditions": "v: T.int32 = n % 2\n" + arm("v == 0", STORE) + arm("n % 2 == 1", CROSS),
    "a condition that never holds in that round": rounds(arm("n % 4 == k", FIFTH), "8"),
    "two that never hold in that round": rounds(arm("2 < n", arm("n < k", NEAR)), "8"),
    "never so many rounds": rounds(FIFTH, "n % 4"),
    "stated": under('with T.attr(n == 1, "tl.assume", 1)', f"{STORE}O[0] = A[5 + n * 64]\n"),
    "asserted": f'assert 5 < n, "few"\n{STORE}' + arm("n < 3", CROSS),
    "bound to what it is not": f"v: T.int32 = n % 4 + 1\n{STORE}O[0] = A[5 + v * 64]\n",
    "an index that wraps": 'E[T.Cast("int32", T.Cast("uint8", tx * 8))] = T.Cast("int8", D[tx])\n'
    'O[tx] = T.Cast("float32", E[tx * 8])\n',
    "rounded toward zero": f"A[T.truncmod(tx - 64, 64) + 64] = D[tx]\n{CROSS}",
    "atomics": ADD.format(POINTER.format("U", "tx")) + ADD.format(POINTER.format("U", "63 - tx")),
    "atomics that the pass does not know": arm(
        "n < 3", OR.format(POINTER.format("U", "tx")) + OR.format(POINTER.format("U", "63 - tx"))
    )
    + OF_B,
    "an atomic's value": ADD.replace(", 1, 0", ", {}, 0").format(
        POINTER.format("A", "tx"), POINTER.format("U", "tx")
    )
    + ADD.format(POINTER.format("U", "tx")),
    "an answer is another one each time": arm(
        'T.call_extern("bool", "tl::Any", c.data, 4)',
        "A[tx % 32] = D[tx]\nO[tx] = A[tx % 32]\n",
    )
    + OF_B,
    "an answer is the same": arm(
        'T.call_pure_extern("bool", "tl::Any", n)', "A[tx % 32] = D[tx]\nO[tx] = A[tx % 32]\n"
    )
    + OF_B,
    "rounds of data": rounds(arm("L[bx] < 3", f"{STORE}{CROSS}"), "(n + 31) // 32"),
    "stated of data": under(
        'with T.attr(n % 128 == 0, "tl.assume", 1)',
        rounds(arm("k + 1 < n // 32", f"{STORE}{CROSS}"), "n // 32"),
    ),
    "while": under("while c[0] < 3", f"{CROSS}{STORE}c[0] = c[0] + 1\n") + OF_B,
}
"""Bodies with barriers in several places, or with none where one might be expected."""


@pytest.mark.parametrize("name", [*BODIES, *SEQUENCES])
def test_barriers_are_where_they_are_predicted(name: str) -> None:
    mod = module_of({**BODIES, **SEQUENCES}[name])
    (before,) = kernels_of(mod)
    after = tilelang.transform.ThreadSync(SCOPE)(tilelang.transform.ThreadSync("shared")(mod))
    (behind,) = kernels_of(after)
    # Unmerged buffers of this scope are one to the pass, all at its begin.
    found = outcomes(before, behind, dict.fromkeys(before.allocations(SCOPE), 0))
    assert not found["sure, not there"], after.script()
    assert not found["not predicted, there"], after.script()


@pytest.mark.parametrize("condition", ["ty < 2", "ty == 1", "tx < 8", "n < 3", "tx + ty < 40"])
@pytest.mark.parametrize("axes", [(16, 4), (8, 8), (32, 4), (64, 4)])
def test_only_rows_of_a_warp_have_a_barrier_of_their_own(
    axes: tuple[int, int], condition: str
) -> None:
    """The pass asks of threadIdx.x alone whether neighbours come together."""
    body = arm(condition, "A[tx + ty * 64] = D[tx]\nO[tx] = A[tx + 65 - ty * 64]\n")
    (before,) = kernels_of(mod := module_of(body, axes))
    try:
        after = tilelang.transform.ThreadSync(SCOPE)(mod)
    except Exception as refused:
        if "[ThreadSync] Cannot lower" not in str(refused):
            raise
        pytest.skip("the pass refuses to put a barrier there")
    (behind,) = kernels_of(after)
    found = outcomes(before, behind, dict.fromkeys(before.allocations(SCOPE), 0))
    assert not found["sure, not there"], after.script()
    assert not found["not predicted, there"], after.script()


@pytest.mark.parametrize(
    "name",
    [
        *("in a sequence", "next round", "stores to two stages", "in an arm", "far apart"),
        *("rounds of data", "stated of data"),
    ],
)
def test_most_are_predicted_surely(name: str) -> None:
    (before,) = kernels_of(mod := module_of(SEQUENCES[name]))
    (behind,) = kernels_of(tilelang.transform.ThreadSync(SCOPE)(mod))
    found = outcomes(before, behind, dict.fromkeys(before.allocations(SCOPE), 0))
    assert {*found} <= {"sure, there"}
