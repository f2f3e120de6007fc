"""Which buffers a product needs at once, and which of them may wait in registers."""

from __future__ import annotations

import pytest

from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.semantics.products import Ahead, Products
from tests.compilers.text.texts import LAUNCH, dump, kernel_of
from tests.conftest import DUMPS
from tests.dumps import kernels_of


def ahead(kernel: Kernel, one: str, two: str) -> Ahead:
    """How one of a kernel's buffers can be done with before another begins."""
    facts = facts_of(kernel)
    found = Products.of(kernel.body, facts.accesses, facts.pointers)
    by_name = {buffer.name: buffer for buffer in kernel.allocations()}
    return found.before(by_name[one], by_name[two])


@pytest.mark.parametrize(
    ("name", "one", "two", "how"),
    [
        ("batched_gemm.sm_80", "As", "Bs", Ahead.IN_REGISTERS),
        ("batched_gemm.sm_80", "Bs", "As", Ahead.IN_REGISTERS),
        ("batched_gemm.sm_90a", "As", "Bs", Ahead.AS_FIRST_MATRIX),
        ("batched_gemm.sm_90a", "Bs", "As", Ahead.NEVER),
        ("batched_gemm.sm_90a", "As", "Cs", Ahead.FREELY),
        ("batched_gemm.sm_90a", "Cs", "As", Ahead.NEVER),
        ("flash_attention.sm_90a", "Qs", "Ks", Ahead.AS_FIRST_MATRIX),
        ("flash_attention.sm_90a", "Ks", "Vs", Ahead.FREELY),
        ("flash_attention.sm_90a", "Vs", "Ks", Ahead.NEVER),
        ("miss_gemm.sm_80", "Bs", "Ss", Ahead.IN_REGISTERS),
    ],
)
def test_real_kernels(name: str, one: str, two: str, how: Ahead) -> None:
    """`Vs` is the second matrix of a product whose first one is made of `Ks`."""
    (kernel,) = kernels_of(DUMPS / f"{name}.tir")
    assert ahead(kernel, one, two) is how


def staged(body: str) -> Kernel:
    declared = 'G = T.decl_buffer((1024,), "float32", data=A)\n'
    for name in ("As", "Bs", "Index"):
        declared += f'{name} = T.alloc_buffer((256,), "int32", scope="shared.dyn")\n'
    declared += 'r = T.alloc_buffer((4,), "int32", scope="local")\n'
    return kernel_of(dump(declared + LAUNCH + body))


def test_what_is_made_of_a_buffer_is_not_over_before_it() -> None:
    kernel = staged("r[0] = As[0]\nBs[0] = r[0] + 1\n")
    assert ahead(kernel, "Bs", "As") is Ahead.NEVER
    assert ahead(kernel, "As", "Bs") is Ahead.FREELY


def test_a_bound_value_is_followed() -> None:
    kernel = staged("v = As[0] * 2\nBs[0] = v\n")
    assert ahead(kernel, "Bs", "As") is Ahead.NEVER


def test_what_only_chooses_the_element_makes_nothing() -> None:
    kernel = staged("r[0] = As[Index[0]]\nBs[0] = r[0]\n")
    assert ahead(kernel, "Bs", "As") is Ahead.NEVER
    assert ahead(kernel, "Bs", "Index") is Ahead.FREELY


def test_what_was_stored_later_made_nothing_before() -> None:
    kernel = staged("Bs[0] = r[0]\nr[0] = As[0]\n")
    assert ahead(kernel, "Bs", "As") is Ahead.FREELY
