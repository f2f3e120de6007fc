"""What tilelang.carver recommends, without a GPU.

Its `CUDA` asks the driver about device 0, and so does its analysis. Here these questions are
answered by hand; all that it does with the answers is its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

from scripts.peers.mapping import Named
from smemreuse.targets.cards import Card

STATIC, OPT_IN = 48 * 1024, 227 * 1024
"""Bytes of a block: what the driver says first, which carver reads, and what can be asked for."""
MOST = 100


def answers(card: Card, shared: int) -> dict[str, Any]:
    """What the driver is made to say; the name and L2's bytes change no tile."""
    return {
        "name": f"NVIDIA {card.name}",
        "multi_processor_count": card.sms,
        "L2_cache_size": card.l2_bytes,
        "shared_memory_per_block": shared,
        "warp_size": 32,
        "compute_version": ".".join(card.arch.removeprefix("sm_")),
    }


@contextmanager
def described(card: Card, shared: int) -> Iterator[Any]:
    """Carver's own device object of a card that is not there; the driver answers while inside."""
    from tilelang import tvm
    from tilelang.carver.arch import CUDA
    from tilelang.carver.arch.driver import cuda_driver

    said = SimpleNamespace(exist=True, **answers(card, shared))
    with ExitStack() as stack:
        for place, name in ((tvm.runtime, "cuda"), (cuda_driver, "get_cuda_device_properties")):
            stack.enter_context(mock.patch.object(place, name, return_value=said))
        yield CUDA(tvm.target.Target({"kind": "cuda", "arch": f"{card.arch}a"}))


def gemm(shape: Mapping[str, int], card: Card, shared: int) -> list[Named]:
    """For `C = A @ B` in float16, sums in float32, row-major. Best first."""
    from tilelang.carver.template import MatmulTemplate

    sizes = {axis: shape[axis] for axis in "MNK"}
    types = {"in_dtype": "float16", "out_dtype": "float16", "accum_dtype": "float32"}
    with described(card, shared) as device:
        template = MatmulTemplate(**sizes, trans_B=False, **types).with_arch(device)
        return [named(hint) for hint in template.recommend_hints(topk=MOST)]


def attention_hints(shape: Mapping[str, int], card: Card, shared: int) -> list[str]:
    """All that is recommended for FlashAttention's forward pass, as it is said.

    Its template is of the two products, with the scores between them whole in shared memory, row by
    row; where there is no room for that, it recommends nothing.
    """
    from tilelang.carver.template import FlashAttentionTemplate

    with described(card, shared) as device:

        class OnDevice(FlashAttentionTemplate):  # type: ignore[misc]
            """Analyses its products when it is made, on whatever GPU there is: on this one."""

            def initialize_function(self) -> None:
                self.with_arch(device)
                super().initialize_function()

        template = OnDevice(
            num_heads=shape["heads"],
            head_dim=shape["dim"],
            seq_length=shape["length"],
            seq_kv_length=shape["length"],
            is_causal=bool(shape["causal"]),
            accum_dtype="float32",
        )
        return [of_products(hint, shape["length"]) for hint in template.recommend_hints(topk=MOST)]


def of_products(hint: Mapping[Any, Any], length: int) -> str:
    """A hint for the two products of attention. Raises `ValueError` for one that tiles the scores'
    rows: that could be compared."""
    by_name = {node.name: one for node, one in hint.items()}
    if by_name["MMA0"].block[-1] != length:
        raise ValueError(f"carver names a block_N: {by_name}")
    return "; ".join(f"{name} {one}" for name, one in by_name.items())


def named(hint: Any) -> Named:
    """A hint as TileLang's own examples read it: a warp for each part of the tile.

    Its stages are always two on sm_90; it does not weigh them.
    """
    from tilelang.carver.roller.rasterization import NoRasterization

    if not hint.use_tc:  # it fell back to a schedule for CUDA cores, and said nothing
        raise ValueError(f"carver found no tensor cores: {hint}")
    block_M, block_N = hint.block
    warps = (block_M // hint.warp[0]) * (block_N // hint.warp[1])
    swizzled = not isinstance(hint.rasterization_plan, NoRasterization)
    return Named(
        {
            "block_M": int(block_M),
            "block_N": int(block_N),
            "block_K": int(hint.rstep[0]),
            "num_stages": int(hint.pipeline_stage),
            "threads": 32 * int(warps),
            "swizzle": int(swizzled),
        },
        f"{hint}, {hint.rasterization_plan}",
    )
