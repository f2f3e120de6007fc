"""The barriers that `ThreadSync` does not put in are not counted on in a dump either.

Each kernel is judged under one plan twice: as a dump, and behind the pass itself.
"""

from __future__ import annotations

import pytest

from tests.compilers.tilelang.synchronized import Shared, random_races, random_verdicts, verdicts

pytestmark = pytest.mark.tilelang

A, B = Shared("A", "float32", 320), Shared("B", "float32", 320)
SMALL = Shared("B", "int8", 1280)
WORDS = (Shared("A", "int32", 256), Shared("B", "int32", 256))

ALIAS = (
    'p: T.handle("int32"{}) = T.address_of(A[0])\nV = T.decl_buffer((256,), "int32", data=p{})\n'
)
OF_ANOTHER_SCOPE, OF_ITS_SCOPE = (
    ALIAS.format("", ""),
    ALIAS.format(', "shared.dyn"', ', scope="shared.dyn"'),
)
FILLED = 'A[tx] = L[tx]\nT.tvm_storage_sync("shared.dyn")\n'
POINTER = 'T.tvm_access_ptr(T.type_annotation("int32"), {}, {}, 4, {})'
STORED = (
    'T.evaluate(T.call_intrin("int32", ptx_stmatrix, 0, 4, '
    + POINTER.format("B.data", "tx * 2 % 32", 2)
    + ', r[0], r[1], r[2], r[3], "m8n8"))\n'
)
LOADED = (
    'T.evaluate(T.call_intrin("int32", ptx_ldmatrix, T.bool(False), 4, '
    + f"{POINTER.format('p', 'tx * 2 % 32', 1)}, {POINTER.format('r.data', 0, 2)}))\n"
)
OF_VIEW = 'O[tx] = T.Cast("float32", V[tx])\n'

MISSED = {
    "a view of another scope": (WORDS, OF_ANOTHER_SCOPE + FILLED + OF_VIEW + STORED),
    "a pointer to another scope": (
        WORDS,
        OF_ANOTHER_SCOPE + FILLED + LOADED + "B[63 - tx] = L[tx]\n",
    ),
    "first bytes of elements": ((A, SMALL), "O[tx] = A[tx]\nB[(63 - tx) * 4 + 1] = D[tx]\n"),
    "two rounds apart": (
        (A, B),
        "for k in range(4):\n"
        "    O[tx] = A[tx + k % 4 * 64]\n    B[63 - tx + (k + 2) % 4 * 64] = D[tx]\n",
    ),
    "arms of other rounds": (
        (A, B),
        "for k in range(4):\n"
        "    if k % 2 == 0:\n        O[tx] = A[tx]\n"
        "    if k % 2 == 1:\n        B[63 - tx] = D[tx]\n",
    ),
    "an index in a local": (
        (A, B),
        "c[0] = tx\nO[tx] = A[c[0]]\nB[c[0] + 1] = D[tx]\n",
    ),
}

SEEN = {
    "a view of its scope": (WORDS, OF_ITS_SCOPE + FILLED + OF_VIEW + STORED),
    "a pointer to its scope": (WORDS, OF_ITS_SCOPE + FILLED + LOADED + "B[63 - tx] = L[tx]\n"),
    "first bytes of elements": ((A, SMALL), "O[tx] = A[tx]\nB[(63 - tx) * 4] = D[tx]\n"),
    "one round apart": (
        (A, B),
        "for k in range(4):\n"
        "    O[tx] = A[tx + k % 4 * 64]\n    B[63 - tx + (k + 3) % 4 * 64] = D[tx]\n",
    ),
    "an index that is bound": (
        (A, B),
        "v: T.int32 = 63 - tx\nO[tx] = A[tx]\nB[v] = D[tx]\n",
    ),
}


def _with_cast(body: str, buffers: tuple[Shared, ...]) -> str:
    if buffers[1].dtype == "float32":
        return body
    return body.replace("= D[tx]", f'= T.Cast("{buffers[1].dtype}", D[tx])')


@pytest.mark.parametrize("name", MISSED)
def test_what_it_does_not_see_collide_is_not_ordered(name: str) -> None:
    buffers, body = MISSED[name]
    dump, behind = verdicts(buffers, _with_cast(body, buffers))
    assert not behind.sound
    assert not dump.sound


@pytest.mark.parametrize("name", SEEN)
def test_what_it_sees_collide_gets_its_barrier(name: str) -> None:
    buffers, body = SEEN[name]
    dump, behind = verdicts(buffers, _with_cast(body, buffers))
    assert behind.sound
    assert dump.sound


@pytest.mark.parametrize(("blocks", "ordered"), [("(n + 63) // 64", False), ("4", True)])
def test_no_block_is_past_the_end_of_a_grid_that_an_argument_gives(
    blocks: str, ordered: bool
) -> None:
    """Rows past the last one are filled, the last one is read: no collision where there is one."""
    body = "if n <= bx * 64 + tx:\n    A[tx] = T.float32(0)\n"
    body += "O[tx] = B[T.max(0, T.min(64, n - bx * 64) - 1)]\n"
    dump, behind = verdicts((A, B), body, blocks=blocks)
    assert dump.sound is behind.sound is ordered


@pytest.mark.parametrize("begin", range(0, 40, 20))
def test_random_kernels_that_are_sound_as_a_dump_are_so_behind_the_pass(begin: int) -> None:
    for seed in range(begin, begin + 20):
        dump, behind, text = random_verdicts(seed)
        assert not (dump.sound and behind.violations), text


@pytest.mark.parametrize("begin", [0, 200335, 200535])
def test_random_kernels_without_a_race_as_a_dump_have_none_behind_the_pass(begin: int) -> None:
    for seed in range(begin, begin + 10):
        dump, behind, text = random_races(seed)
        assert dump or not any(one.certain for one in behind), text


@pytest.mark.parametrize(
    ("number", "count", "ordered"),
    [("1 + tx // 64", 64, False), ("1", 64, False), ("1", 128, True)],
)
def test_a_barrier_of_some_that_it_takes_for_one_of_all_orders_none(
    number: str, count: int, *, ordered: bool
) -> None:
    """A group of warps may store what another one has not read yet: all come to a barrier between,
    so the pass puts in none."""
    meeting = 'T.tvm_storage_sync("shared.dyn")\nO[tx] = A[tx]\n'
    named = f'T.evaluate(T.call_intrin("int32", storage_sync, "shared.dyn", {number}, {count}))\n'
    body = f"A[tx] = D[tx]\n{meeting}{named}B[127 - tx] = D[tx]\n"
    dump, behind = verdicts((A, B), body, threads=128)
    assert dump.sound is behind.sound is ordered
