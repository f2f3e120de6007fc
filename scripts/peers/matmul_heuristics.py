"""What NVIDIA's nvMatmulHeuristics recommends for GEMM; the package is optional.

It is asked as CUTLASS asks it: backend CUTLASS3, all candidates ordered by its model of time, with
the measurements that it brings ("discovery").
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

from scripts.peers.mapping import Named

PACKAGE, MODULE = "nvidia-matmul-heuristics", "nvMatmulHeuristics"
GPU, PRECISION = "H200_SXM", "HSH"
"""float16 in, sums in float32, float16 out."""
MOST = 64


def installed() -> bool:
    return importlib.util.find_spec(MODULE) is not None


def gemm(shape: Mapping[str, int], *, clusters: bool = True) -> list[Named]:
    """For `C = A @ B` in float16, row-major. Best first.

    What splits K is left out, since no configuration of the spaces does. Without `clusters` it is
    told that the kernels have neither clusters nor a split K, and chooses for such kernels.
    """
    library = importlib.import_module(MODULE)
    backend_kind = library.NvMatmulHeuristicsTarget.CUTLASS3
    asked = library.NvMatmulHeuristicsInterfaceEx(
        backend=backend_kind,
        flags=library.NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING,
        load_discovery_implicitly=True,
        gpu=library.NvMatmulHeuristicsNvidiaGpu[GPU],
    )
    layout = library.NvMatmulHeuristicsMatmulLayout.NN_ROW_MAJOR
    if not asked.loadInternalDiscoverySet(layout, PRECISION):
        raise RuntimeError(f"{MODULE} has no measurements of {PRECISION} on {GPU}")
    backend = asked.createBackend(backend_kind)
    try:
        if not clusters:
            has = library.NvMatmulHeuristicsBackendProperty
            for property_ in (has.SUPPORTS_CLUSTER_CONFIG, has.SPLIT_K_KIND):
                none = ctypes.c_int(0)
                asked.setBackendValueProperty(
                    backend, property_, ctypes.byref(none), ctypes.sizeof(none)
                )
        sizes = (shape[axis] for axis in "MNK")
        problem = asked.makeNvMatmulHeuristicsProblem(*sizes, layout)
        found = asked.getEx(problem, MOST, backend, precision=PRECISION)
    finally:
        asked.destroyBackend(backend)
    return [named(one["kernel"]) for one in found if one["kernel"].split_k == 1]


def named(kernel: Any) -> Named:
    """Its tile, stages and whether blocks are swizzled. For CUTLASS 3 it names no threads."""
    return Named(
        {
            "block_M": kernel.cta_tile_m,
            "block_N": kernel.cta_tile_n,
            "block_K": kernel.cta_tile_k,
            "num_stages": kernel.stages,
            "swizzle": int(kernel.swizzle_factor > 1),
        },
        str(kernel),
    )
