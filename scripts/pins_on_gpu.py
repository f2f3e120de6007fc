"""Launch production kernels of other projects merged and unmerged, and compare their bits.

    python -m scripts.pins_on_gpu --table scripts/production/kernels.csv \
        --checkout sglang=DIR ... --out $OUT/pins.json

Each kernel (`scripts/production/loading.py`) is compiled side by side, with TileLang's default
merge and with ours, and launched on the same random inputs, in a process of its own with a limit of
time. Sizes that the kernel leaves open are those of `SIZES`; integers are 0, which every index may
be, but for those of `FILLED`. Told is whether all that was handed over and returned has the same
bits, and whether two launches of the same kernel have.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from scripts.applied.pool import forked
from scripts.production.loading import Made, asked_for, factory_of, production_options
from scripts.results import about_gpu, first_line, write

MERGES = {"side by side": "none", "TileLang default": None, "ours": "bytes", "ours, speed": "speed"}
"""Each way to merge by the objective of a session; None is no session."""

SIZES = {"num_tokens": 512, "n_tokens": 512, "batch": 4, "batch_size": 4, "n_seq_plus_one": 5}
OTHER_SIZE = 64
LONGEST = 512
RAGGED = 500
"""Tokens of several sequences, none of whose lengths is a multiple of a chunk's."""

CHUNK = 64
TYPES = {"float8_e4m3": "float8_e4m3fn", "float8_e5m2": "float8_e5m2", "bool": "bool"}

Fill = Callable[[Any, tuple[int, ...]], Any]


def _boundaries(torch: Any, shape: tuple[int, ...]) -> Any:
    return torch.arange(shape[-1], device="cuda") * RAGGED // max(shape[-1] - 1, 1)


def _chunks(torch: Any, shape: tuple[int, ...]) -> Any:
    """How many chunks the sequences before one have."""
    longest = math.ceil(RAGGED / max(shape[-1] - 1, 1))
    return torch.arange(shape[-1], device="cuda") * math.ceil(longest / CHUNK)


def _all(number: int) -> Fill:
    return lambda torch, shape: torch.full(shape, number, device="cuda")


def _below(number: int) -> Fill:
    return lambda torch, shape: torch.randint(number, shape, device="cuda")


FILLED: Mapping[str, Fill] = {
    "cu_seqlens_": _all(0),  # of two tensors whose sizes are open
    "cu_seqlens": _boundaries,
    "chunk_offsets": _chunks,
    "seq_lens": _all(LONGEST),
    "contextlens": _all(OTHER_SIZE),
    "ends": _all(OTHER_SIZE),
    "topk_length": _all(OTHER_SIZE),
    "table": _below(OTHER_SIZE),
    "indices": _below(OTHER_SIZE),
    "_u8": _below(96),  # the bytes of small numbers, none of them NaN
}
"""Integers that are not 0, by a part of the parameter's name."""


def launched(made: Made, checkouts: Mapping[str, Path]) -> dict[str, Any]:
    """What came of one kernel, in this process."""
    import torch

    row: dict[str, Any] = {"repository": made.repository, "kernel": made.name, "launches": {}}
    wanted: list[Any] | None = None
    for name, objective in MERGES.items():
        try:
            kernel, size = compiled(made, checkouts, objective)
            found = outputs(kernel, torch)
            again = outputs(kernel, torch)
        except Exception as error:  # too much shared memory is a finding
            row["launches"][name] = {"error": first_line(error)}
            continue
        wanted = wanted or found
        row["launches"][name] = {
            "bytes": size,
            "steady": _same(found, again),
            "same": _same(found, wanted),
        }
    return row


def compiled(
    made: Made, checkouts: Mapping[str, Path], objective: str | None
) -> tuple[Any, int | None]:
    """The first kernel that a factory compiles, and the bytes of a block where they are known."""
    import tilelang
    from tilelang.jit import JITKernel

    import smemreuse.tilelang

    tilelang.disable_cache()
    found: list[Any] = []
    stock = JITKernel.__init__

    def kept(self: Any, *args: Any, **kwargs: Any) -> None:
        stock(self, *args, **kwargs)
        found.append(self)

    door: AbstractContextManager[Any] = nullcontext()
    if objective is not None:
        door = smemreuse.tilelang.merge(objective=objective)
    with door as session, _no_launch(JITKernel), patch.object(JITKernel, "__init__", kept):
        factory_of(made, checkouts[made.repository])()
    return found[0], session.kernels[0].footprint().bytes_after if session else None


@contextmanager
def _no_launch(kernels: Any) -> Iterator[None]:
    """Inside, a kernel that is called, as one of tensors is by its factory, does nothing."""
    with patch.object(kernels, "__call__", lambda *_args, **_kwargs: None):
        yield


def outputs(kernel: Any, torch: Any) -> list[Any]:
    """All tensors that a launch had in its hands and those that it returned."""
    torch.manual_seed(1)
    func = kernel.prim_func
    given = [
        _argument(torch, func.buffer_map.get(param, param))
        for number, param in enumerate(func.params)
        if number not in _returned(kernel, len(func.params))
    ]
    result = kernel(*given)
    torch.cuda.synchronize()
    made = list(result) if isinstance(result, (list, tuple)) else [result]
    return [one for one in (*given, *made) if isinstance(one, torch.Tensor)]


def _returned(kernel: Any, count: int) -> list[int]:
    places = getattr(kernel.adapter, "result_idx", None) or []
    return [one % count for one in ([places] if isinstance(places, int) else places)]


def _argument(torch: Any, param: Any) -> Any:
    if not hasattr(param, "shape"):  # a number by itself
        return 1
    name, shape = str(param.name).lower(), tuple(map(_size, param.shape))
    dtype = getattr(torch, TYPES.get(str(param.dtype), str(param.dtype)))
    if dtype.is_floating_point:
        return (torch.randn(shape, device="cuda") * 0.1).to(dtype)
    fill = next((one for part, one in FILLED.items() if part in name), None)
    if fill is not None:
        return fill(torch, shape).to(dtype).contiguous()
    return torch.zeros(shape, dtype=dtype, device="cuda")


def _size(size: Any) -> int:
    """A size, with those that are open bound."""
    from tilelang import tvm

    from smemreuse.compilers.tilelang.visitor import tirx

    bound: dict[Any, int] = {}

    def visit(node: Any) -> None:
        if type(node).__name__ in ("Var", "SizeVar"):
            bound[node] = SIZES.get(str(node.name), OTHER_SIZE)

    if isinstance(size, int):
        return size
    tirx.stmt_functor.post_order_visit(size, visit)
    whole = tirx.stmt_functor.substitute(size, bound)
    return int(tvm.arith.Analyzer().simplify(whole))


def _same(one: list[Any], other: list[Any]) -> bool:
    import torch

    pairs = zip(one, other, strict=True)
    return all(torch.equal(a.view(torch.uint8), b.view(torch.uint8)) for a, b in pairs if a.dim())


def main() -> int:
    parser = production_options(__doc__, "jobs", seconds=90)
    parser.add_argument("--most", type=int, default=20, help="kernels")
    options = parser.parse_args()
    checkouts, named = asked_for(options)
    wanted = [one for one in named if one.repository in checkouts]
    rows = []
    run = partial(launched, checkouts=checkouts)
    some = wanted[:: max(math.ceil(len(wanted) / options.most), 1)]
    for made, found, error in forked(some, run, options.jobs, options.limit):
        rows.append(found or {"repository": made.repository, "kernel": made.name, "error": error})
        print(rows[-1], flush=True)
    write(options.out, about_gpu("pins", tilelang=True) | {"rows": rows})
    found_launches = [one for row in rows for one in row.get("launches", {}).values()]
    return int(any(one.get("same") is False for one in found_launches))


if __name__ == "__main__":
    sys.exit(main())
