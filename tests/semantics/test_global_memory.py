"""Which global memory may change while a kernel runs."""

from __future__ import annotations

import pytest

from smemreuse.results.verdict import SOUND, UNPROVED
from tests.checker.small import SYNC, USE_B, X_MAY_BE_Y, init_barrier, judge, tma_load, under

HANDLE = 'Z: T.handle("int32", "global") = {}\nV = T.decl_buffer((4096,), "int32", data=Z)\n'
SPARE = 'S = T.alloc_buffer((64,), "int32", scope="shared.dyn")\n'


def verdict(between: str, declared: str = "") -> str:
    """On a kernel that waits for a load under the condition under which it was begun."""
    begin = "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("As")
    body = init_barrier(1) + under("if D[0] > 0", under("if tx == 0", begin)) + between
    body += under("if D[0] > 0", "T.mbarrier_wait_parity(full[0], 0)\n") + SYNC + USE_B
    return judge(body, declared=SPARE + declared, offsets={"S": 1024}).verdict


@pytest.mark.parametrize(
    "made",
    [
        "X",
        "T.handle_add_byte_offset(X, 0)",
        "T.handle_add_byte_offset(X, bx * 4)",
        'T.reinterpret("handle", X)',
        "T.address_of(D[bx])",
        "T.if_then_else(bx > 0, X, Y)",
    ],
)
def test_a_variable_made_of_a_handle_names_the_same_memory(made: str) -> None:
    assert verdict("V[tx] = 1\n", HANDLE.format(made)) is UNPROVED


def test_another_handle_names_other_memory() -> None:
    assert verdict("O[tx] = 1\n") is SOUND
    assert verdict("V[tx] = 1\n", HANDLE.format("T.handle_add_byte_offset(Y, 4)")) is SOUND


@pytest.mark.parametrize("write", ["O[tx] = 1\n", "T.stg32(Y, 1)\n"])
def test_parameters_that_may_overlap_may_be_the_same_memory(write: str) -> None:
    """What a kernel writes through the one it reads through the other."""
    assert verdict(write) is SOUND
    assert verdict(write, X_MAY_BE_Y) is UNPROVED


def test_a_handle_that_was_loaded_may_name_any_memory() -> None:
    table = 'P = T.handle("int64", "global")\nQ = T.decl_buffer((64,), "int64", data=P)\n'
    made = table + HANDLE.format('T.reinterpret("handle", Q[0])')
    assert verdict("V[tx] = 1\n", made) is UNPROVED
    assert verdict("O[tx] = V[tx]\n", made) is SOUND


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("T.stg32(X, 1)", UNPROVED),
        ("T.stg32(Y, 1)", SOUND),
        ("c[0] = T.ldg32(X)", SOUND),
        ('T.call_extern("int32", "AtomicAdd", X, 1)', UNPROVED),
        ('T.call_extern("int32", "AtomicAdd", T.address_of(D[9]), 1)', UNPROVED),
        (
            'T.call_extern("int32", "f", T.tvm_access_ptr(T.type_annotation("int32"), X, 0, 9, 2))',
            UNPROVED,
        ),
    ],
)
def test_what_is_handed_a_handle_may_write_through_it(call: str, expected: str) -> None:
    assert verdict(call + "\n") is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("D_desc", UNPROVED), ("X_desc", UNPROVED), ("map", UNPROVED), ("Out_desc", SOUND)],
)
def test_a_tensor_map_is_known_by_its_name(name: str, expected: str) -> None:
    source = 'T.tvm_access_ptr(T.type_annotation("int32"), S.data, 0, 64, 1)'
    store = f"T.tma_store({name}, {source}, 0, 0)\nT.tma_store_arrive()\nT.tma_store_wait(0)\n"
    declared = f'{name} = T.handle("uint8x128", "grid_constant")\n'
    assert verdict(store, declared) is expected


def test_a_tensor_map_is_of_a_parameter_that_may_overlap_others() -> None:
    source = 'T.tvm_access_ptr(T.type_annotation("int32"), S.data, 0, 64, 1)'
    store = f"T.tma_store(Y_desc, {source}, 0, 0)\nT.tma_store_arrive()\nT.tma_store_wait(0)\n"
    declared = 'Y_desc = T.handle("uint8x128", "grid_constant")\n'
    assert verdict(store, declared) is SOUND
    assert verdict(store, declared + X_MAY_BE_Y) is UNPROVED
