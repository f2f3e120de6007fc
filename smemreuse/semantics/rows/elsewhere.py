"""Operations that cannot stand in a device function of a CUDA kernel where shared memory is merged.

One that does stand there is not understood.
"""

from __future__ import annotations

from collections.abc import Mapping

_GRAPH = "an operator on whole tensors, lowered to kernels long before"
_TILE = "an operator on tiles, lowered to loops and intrinsics before"
_HOST = "runs on the host"
_OTHER_DEVICE = "for devices that are no NVIDIA GPU"
_ASCEND = "for Ascend NPUs"

FAMILIES: Mapping[str, str] = {
    # Graphs and tiles.
    "relax.": _GRAPH,
    "tileop.": _TILE,
    "tile.": _TILE,
    "region": "a region of a buffer, as an operand of operators on tiles",
    "access_ptr": "an access pointer that keeps its buffer, lowered to `tvm_access_ptr` before",
    "tensor_load": "an element of a tensor expression, before there are buffers",
    "reducer_update": _TILE,
    "deallocate_tmem": "lowered to `ptx_deallocate_tensor_memory` before",
    "GemmWarpPolicy": "a class of TileLang's, registered beside the operators on tiles",
    "GemmSPWarpPolicy": "a class of TileLang's, registered beside the operators on tiles",
    "selector": "a note of the compiler's analysis, which never reaches code",
    # The host.
    "TVMBackendAllocWorkspace": _HOST,
    "TVMBackendFreeWorkspace": _HOST,
    "TVMBackendAnyListMoveFromPackedReturn": _HOST,
    "TVMBackendAnyListSetPackedArg": _HOST,
    "anylist_": _HOST,
    "call_packed": _HOST,
    "call_packed_lowered": _HOST,
    "call_cpacked": _HOST,
    "call_cpacked_lowered": _HOST,
    "tvm_call_": _HOST,
    "tvm_ffi_call_with_result": _HOST,
    "call_ffi_kernel": _HOST,
    "tvm_stack_": _HOST,
    "tvm_struct_": _HOST,
    "tvm_static_handle": _HOST,
    "tvm_throw_last_error": _HOST,
    "tvm_context_id": _HOST,
    "tvm_thread_context": _HOST,
    "lookup_param": _HOST,
    "nd_mem_alloc_with_scope": _HOST,
    "create_tma_descriptor": _HOST,
    "create_tma_im2col_descriptor": _HOST,
    "tensormap_encode_tiled": _HOST,
    "tvm_global_barrier_kinit": "prepares a barrier of the grid, before the kernel's body",
    "tvm_kernel_replace_point": "a mark in code that a transformation has still to replace",
    # Other hardware.
    "ascend_": _ASCEND,
    "simd.": _ASCEND,
    "tl.simd.": _ASCEND,
    "call_llvm_intrin": _OTHER_DEVICE,
    "call_llvm_pure_intrin": _OTHER_DEVICE,
    "call_spirv_pure_glsl450": _OTHER_DEVICE,
    "cooperative_tensor_": _OTHER_DEVICE,
    "dma_": _OTHER_DEVICE,
    "ds_read_": _OTHER_DEVICE,
    "hip.": _OTHER_DEVICE,
    "make_filled_simdgroup_matrix": _OTHER_DEVICE,
    "metal.": _OTHER_DEVICE,
    "nki.": _OTHER_DEVICE,
    "simdgroup_": _OTHER_DEVICE,
    "texture2d_": _OTHER_DEVICE,
    "tvm_mfma": _OTHER_DEVICE,
    "tvm_mfma_store": _OTHER_DEVICE,
    "tvm_rdna_": _OTHER_DEVICE,
    "webgpu.": _OTHER_DEVICE,
}
"""Names, and beginnings of names that end in `.` or `_`, with the reason why no kernel has them."""


def elsewhere(name: str) -> str | None:
    """The reason why an operation never stands in a kernel; None if it may.

    `name` has no compiler namespace, except `relax.`, whose operators share names with kernels'
    ones.
    """
    beginnings = (family for family in FAMILIES if family.endswith((".", "_")))
    return FAMILIES.get(name) or next(
        (FAMILIES[family] for family in beginnings if name.startswith(family)), None
    )
