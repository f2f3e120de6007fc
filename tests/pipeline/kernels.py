"""Kernels that the tests of the pipeline have in common."""

from __future__ import annotations

from smemreuse.compilers.text.reader import parse_dump, read_dump
from smemreuse.ir.kernel import Kernel
from tests.conftest import DUMPS, ROOT

DYN = "shared.dyn"
TVM_DUMPS = ROOT / "fixtures" / "tvm_dumps"


def dumped(name: str) -> Kernel:
    """The only kernel of a dump of TileLang, read anew: nothing is known of it yet."""
    (kernel,) = read_dump(str(DUMPS / f"{name}.tir")).kernels
    return kernel


def apache(name: str) -> Kernel:
    """The only kernel of a dump of Apache TVM, read anew."""
    (kernel,) = read_dump(str(TVM_DUMPS / f"{name}.tir")).kernels
    return kernel


def unfollowed() -> Kernel:
    """A warp-specialized GEMM whose consumer waits for a phase that data decides.

    The trace cannot follow that, so nothing of what its arms share is proved.
    """
    text = (DUMPS / "gemm.sm_90a.tir").read_text()
    known, data = "mbarrier_1[k % 2], k % 4 // 2)", 'mbarrier_1[k % 2], T.Cast("int32", Cl_1[0]))'
    assert known in text
    (kernel,) = parse_dump(text.replace(known, data)).kernels
    return kernel
