"""The CUDA of a kernel with delays in it, and the proof that it is the kernel's own but for these.

Each delay is a line of its own, a call of a device function that is one line too. What is left
without these lines has to be the original, character by character.
"""

from __future__ import annotations

import difflib
import hashlib
import re

from smemreuse.errors import BackendError

DELAY, FILL = "smemreuse_delay", "smemreuse_fill"
QUEUE, CROWD = "smemreuse_queue", "smemreuse_crowd"
BEYOND = "smemreuse_beyond"
BULK, COPIES, PRODUCTS = "smemreuse_bulk", "smemreuse_copies", "smemreuse_products"

BLOCKS = 1024
"""Only the first blocks of a launch are delayed: it is to end in time, however many there are."""

SINK = 1 << 26
"""Bytes of global memory that are read and written to no end: more than the L2 cache has."""

_BULK_BYTES = 1 << 14
_WHO = (
    "int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); "
    "unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); "
    f"if (!now || t < first || t >= end || block >= {BLOCKS}) return; "
)
_SHARED = (
    "unsigned from, size; "
    'asm volatile("mov.u32 %0, %%reserved_smem_offset_end;" : "=r"(from)); '
    'asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(size)); '
)
_NO_MOVE = 'asm volatile("" ::: "memory"); '
_ONE_BANK = (
    "__shared__ unsigned own[1024]; "
    "unsigned to = (unsigned)__cvta_generic_to_shared(own + t % 32 * 32); "
)
_STORE = 'asm volatile("st.volatile.shared.u32 [%0], %1;" :: "r"(to), "r"(to) : "memory"); '
_SINK = f"static __device__ __align__(128) unsigned char smemreuse_sink_NAME[{SINK}]; "


def _function(name: str, body: str, before: str = "") -> str:
    """A device function for some threads, on one line; `count` is what its caller says."""
    head = f"void {name}(int first, int end, int count, bool now)"
    return (
        f"{before.replace('NAME', name)}static __device__ __forceinline__ {head} "
        f"{{ {_NO_MOVE}{_WHO}{body.replace('NAME', name)}{_NO_MOVE}}}"
    )


DEFINITIONS = {
    DELAY: _function(DELAY, "for (long long from = clock64(); clock64() - from < count;) { } "),
    QUEUE: _function(
        QUEUE, f'{_ONE_BANK}_Pragma("unroll 32") for (int i = 0; i < count; ++i) {_STORE}'
    ),
    CROWD: _function(
        CROWD,
        f"{_ONE_BANK}for (long long from = clock64(); clock64() - from < count;) "
        f'{{ _Pragma("unroll") for (int i = 0; i < 16; ++i) {_STORE}}} ',
    ),
    BEYOND: _function(
        BEYOND,
        f"{_SHARED}extern __shared__ __align__(1024) unsigned char dynamic[]; unsigned own; "
        'asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(own)); '
        "if (count) own = count; "
        "own += (unsigned)__cvta_generic_to_shared(dynamic); "
        "for (; own < from + size; ++own) "
        'asm volatile("st.shared.u8 [%0], %1;" :: "r"(own), "r"(255) : "memory"); ',
    ),
    BULK: _function(
        BULK,
        f"{_SHARED}from = (from + 15) & ~15u; size = (size - 15) & ~15u; "
        f"size = size < {_BULK_BYTES} ? size : {_BULK_BYTES}; "
        "size_t to = __cvta_generic_to_global(smemreuse_sink_NAME + "
        f"block % {SINK // _BULK_BYTES} * {_BULK_BYTES}); "
        "for (int i = 0; i < count; ++i) "
        'asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" '
        ':: "l"(to), "r"(from), "r"(size) : "memory"); ',
        _SINK,
    ),
    COPIES: _function(
        COPIES,
        "__shared__ __align__(16) unsigned char own[16]; "
        "unsigned to = (unsigned)__cvta_generic_to_shared(own); "
        "for (int i = 0; i < count; ++i) "
        'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), '
        '"l"(__cvta_generic_to_global(smemreuse_sink_NAME + '
        f"((block * 8209u + i * 1031u + t) * 4224u % {SINK}u & ~127u))) "
        ': "memory"); ',
        _SINK,
    ),
    PRODUCTS: "struct smemreuse_zeros { unsigned long long tile; "
    "__device__ smemreuse_zeros() { __shared__ __align__(128) unsigned zeros[64]; "
    "for (int i = 0; i < 64; ++i) ((volatile unsigned*)zeros)[i] = 0; __syncwarp(); "
    'asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); '
    "tile = (__cvta_generic_to_shared(zeros) & 0x3ffff) >> 4; } "
    "__device__ smemreuse_zeros operator+(int) const { return *this; } "
    "__device__ operator unsigned long long() const { return tile; } }; "
    f"static __device__ __forceinline__ int {PRODUCTS}(int, int, int count, bool now) {{ "
    "unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); "
    f"return now && block < {BLOCKS} ? count : 0; }}",
    FILL: f"static __device__ __forceinline__ void {FILL}(unsigned pattern) {{ {_SHARED}"
    "int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); "
    "for (unsigned at = 4 * t; at + 4 <= size; at += 4 * blockDim.x * blockDim.y * blockDim.z) "
    'asm volatile("st.shared.u32 [%0], %1;" :: "r"(from + at), "r"(pattern) : "memory"); '
    "__syncthreads(); }",
}
"""The device functions, each on one line.

The fill covers all shared memory of the block but what the system reserves, and `BEYOND` what comes
after the kernel's own of that: what is left of the last unit in which it is allotted. The empty
`asm` keeps nvcc from moving accesses across a call, and emits nothing. All lanes of a warp store to
words of one bank, one after the other: nothing waits for a store, and what comes next comes late.
Engines are kept busy by work of the same kind that comes before the kernel's own, and is of no use:
what the kernel commits and waits for has this in it, too, so a kernel that waits stays right. A
product adds tiles of zeros to the kernel's own accumulators: ptxas drops one whose result nothing
reads, and has others wait for it.
"""

_OURS = re.compile(rf"\b(?:{'|'.join(DEFINITIONS)})\(")
_PRODUCT = "tl::wgmma_"
_DESCRIPTOR = re.compile(r"uint64_t\((\w+)")
_KERNEL = re.compile(r'^extern "C" ', re.MULTILINE)

Change = tuple[int, int, tuple[str, ...]]
"""From which line on, counted from 0, how many lines are replaced, and by which."""


def with_definitions(source: str) -> str:
    """A source that calls device functions of ours, with these before its first kernel."""
    used = [text for name, text in DEFINITIONS.items() if f"{name}(" in source]
    first = _KERNEL.search(source)
    at = first.start() if first else 0
    return source[:at] + "".join(f"{text}\n" for text in used) + source[at:]


def with_products(source: str) -> str:
    """A source in which a call of `PRODUCTS` repeats the wgmma that comes next, on zeros.

    Raises `BackendError` where none does.
    """
    lines = source.split("\n")
    for at, line in enumerate(lines):
        if f"{PRODUCTS}(" in line:
            product = next((one.strip() for one in lines[at + 1 :] if _PRODUCT in one), None)
            if product is None:
                raise BackendError("no wgmma comes after it")
            lines[at] = _repeated(line, product)
    return "\n".join(lines)


def _repeated(call: str, product: str) -> str:
    count = call.strip().removesuffix(";")
    names = dict.fromkeys(_DESCRIPTOR.findall(product))
    zeros = "".join(f"smemreuse_zeros {name}; " for name in names)
    indent = call[: len(call) - len(call.lstrip())]
    loop = f"for (int smemreuse_i = {count}; smemreuse_i; --smemreuse_i)"
    return f"{indent}{{ {zeros}{loop} {{ {product} }} }}"


def without_delays(source: str) -> str:
    """A source without the lines that are ours."""
    return "\n".join(line for line in source.split("\n") if not _OURS.search(line))


def require_original(delayed: str, original: str) -> None:
    """Raises `BackendError` if more than delays tells the two apart."""
    left, must = without_delays(delayed).split("\n"), original.split("\n")
    if left != must:
        same = [one == two for one, two in zip(left, must, strict=False)]
        line = same.index(False) + 1 if False in same else len(same) + 1
        raise BackendError(f"without its delays the CUDA is not the original, in line {line}")


def changes(original: str, source: str) -> tuple[Change, ...]:
    """What makes `source` of `original`, line by line."""
    one, two = original.split("\n"), source.split("\n")
    matcher = difflib.SequenceMatcher(None, one, two, autojunk=False)
    return tuple(
        (i, j - i, tuple(two[k:end]))
        for tag, i, j, k, end in matcher.get_opcodes()
        if tag != "equal"
    )


def digest(source: str) -> str:
    """What tells one source from any other."""
    return hashlib.sha256(source.encode()).hexdigest()
