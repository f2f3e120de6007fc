"""Nothing waits for an asynchronous access: tile in copies_not_waited_for_kernel [c79ef31a].

Cp.async of thread 0 writes byte 0 of tile at `ptx_cp_async(tvm_access_ptr(type_annotation('int32'),
tile.data, tx, 1, 2), tvm_access_ptr(type_annotation('int32'), X, bx * 128 + tx, 1, 1), 1)` (from
late_warps.py:41), and is not waited for when thread 127 reads it at `Y[bx * 128 + tx] = tile[127 -
tx]` (from late_warps.py:47).

To make it show: nothing is delayed. Compared with: fixed. It needs TileLang 0.1.15 and PyTorch; run
it without arguments.
"""

import hashlib, json, os, subprocess, sys, time
from typing import Any

SOURCE = '4cf5494f4abe1250d7d5eec00385c5c82fd36d8cebaa1bd37e4d419d3e039798'
SEED, REFERENCE = 1, 'fixed'
TARGET: Any = {'kind': 'cuda', 'arch': 'sm_90a'}
PASS_CONFIGS: Any = {'tl.disable_thread_storage_sync': True, 'tl.disable_warp_specialized': True}
# Of each argument: dtype, shape, lowest and highest integer, or the values
ARGUMENTS: Any = [('int32', [264, 128], 0, 7, None), ('int32', [264, 128], 0, 7, None)]
# Of each variant: at which line of the CUDA how many lines are replaced, by which
CHANGES: Any = {
    "as it is": [],
    "fixed": [[23, 0, ['  tl::cp_async_wait<0>();']]],
}

import tilelang.language as T
BLOCKS, ROUNDS, THREADS = 264, 8, 128

@T.prim_func
def copies_not_waited_for(
    X: T.Tensor((BLOCKS, THREADS), "int32"), Y: T.Tensor((BLOCKS, THREADS), "int32")
):
    with T.Kernel(BLOCKS, threads=THREADS) as bx:
        tile = T.alloc_shared((THREADS,), "int32")
        tx = T.get_thread_binding(0)
        T.ptx_cp_async(
            T.access_ptr(tile[tx], "w", extent=1), T.access_ptr(X[bx, tx], "r", extent=1), 1
        )
        T.ptx_commit_group()
        T.ptx_wait_group(1)
        T.sync_threads()
        Y[bx, tx] = tile[THREADS - 1 - tx]

def function() -> Any:
    return copies_not_waited_for

OTHER = "this TileLang makes other CUDA than the one that the file is for"

def cuda(source: str, variant: str) -> str:
    """The CUDA of a variant: some lines of TileLang's own are replaced, or put in."""
    if hashlib.sha256(source.encode()).hexdigest() != SOURCE:
        raise RuntimeError(OTHER)
    lines = source.split("\n")
    for at, count, new in reversed(CHANGES[variant]):
        lines[at : at + count] = new
    return "\n".join(lines)

def compiled(variant: str) -> Any:
    import tilelang
    tilelang.disable_cache()
    tilelang.register_cuda_postproc(lambda source, _target: cuda(source, variant))
    for left in reversed(range(8)):  # TileLang may name two workspaces in either order
        try:
            made = function().without_attr("tilelang_out_idx")  # given, too, not allocated
            return tilelang.compile(made, target=TARGET, pass_configs=PASS_CONFIGS)
        except RuntimeError as error:
            if not left or OTHER not in str(error):
                raise
    return None

def argument(dtype: str, shape: Any, low: int, high: int, values: Any, **random: Any) -> Any:
    """A random tensor, the same for the same seed; or what is given."""
    import torch
    if shape is None:
        return values[0]
    if values is not None:
        made = torch.tensor(values, device=random["device"])
        return made.to(getattr(torch, dtype)).reshape(shape)
    if low is None:
        return torch.randn(shape, **random).to(getattr(torch, dtype))
    return torch.randint(low, high + 1, shape, **random).to(getattr(torch, dtype))

def bits(args: Any) -> str:
    """What tells the bits of all tensors, any of which the kernel may have written, from others."""
    import torch
    sums = []
    for one in filter(torch.is_tensor, args):
        total, parts = 0, one.contiguous().view(-1).view(torch.uint8).split(1 << 24)
        for number, part in enumerate(parts):
            at = torch.arange(1, len(part) + 1, device=part.device) * 6364136223846793005 + number
            total += int((part * (at * at + at)).sum())  # 64 bits, that wrap
        sums.append(total % 2**64)
    return " ".join(f"{one:016x}" for one in sums)

def launched(variant: str, launches: int, seconds: float) -> Any:
    """What bits the launches give, each twice on the same inputs; or that one does not end."""
    import torch
    kernel, told = compiled(variant), dict[str, Any](bits=[], before="")
    for number in range(2 * launches):
        random = torch.Generator("cuda").manual_seed(SEED + number // 2)
        args = [argument(*one, generator=random, device="cuda") for one in ARGUMENTS]
        told["before"] = told["before"] or bits(args)
        torch.cuda.synchronize()
        kernel(*args)
        done, until = torch.cuda.Event(), time.monotonic() + seconds
        done.record()
        while not done.query():
            if time.monotonic() > until:
                return {**told, "hangs": True}
        told["bits"].append(bits(args))
    return told

def compared(must: list[str], before: str) -> list[int]:
    """The tensors that the reference writes, and gives the same bits on the same inputs."""
    twice = [(a.split(), b.split()) for a, b in zip(must[::2], must[1::2], strict=False)]
    written = [at for at, old in enumerate(before.split()) if must and must[0].split()[at] != old]
    return [at for at in written if all(a[at] == b[at] for a, b in twice)]

def answer(variant: str, launches: str = "40", seconds: str = "20") -> None:
    """Tells in a line of JSON what came of a variant, and leaves a kernel behind that hangs."""
    try:
        found = launched(variant, int(launches), float(seconds))
    except Exception as error:
        found = {"error": f"{type(error).__name__}: {error}"[:500]}
    print(json.dumps(found), flush=True)
    os._exit(0)

def main() -> None:
    """Each variant in a process of its own, held against the reference."""
    found = {}
    for variant in CHANGES:
        command = [sys.executable, __file__, variant]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        found[variant] = json.loads((done.stdout.splitlines() or [b'{"error": "died"}'])[-1])
    must = found.get(REFERENCE, {}).get("bits", [])
    kept = compared(must, found.get(REFERENCE, {}).get("before", ""))
    for variant, one in found.items():
        rows = zip(one.get("bits", [])[::2], must[::2], strict=False)
        apart = [any(a.split()[at] != b.split()[at] for at in kept) for a, b in rows]
        told = f"{sum(apart)} of {len(apart)} launches differ from `{REFERENCE}`"
        print(f"{variant}:", "hangs" if one.get("hangs") else one.get("error", told))

if __name__ == "__main__":
    answer(*sys.argv[1:]) if sys.argv[1:] else main()
