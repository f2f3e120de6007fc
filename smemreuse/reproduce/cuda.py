"""The CUDA of a kernel with delays in it, and the proof that it is the kernel's own but for these.

Each delay is a line of its own, a call of a device function that is one line too. What is left
without these lines has to be the original, character by character.
"""

from __future__ import annotations

import difflib
import hashlib
import re

from smemreuse.errors import BackendError

DELAY, FILL, BUSY = "smemreuse_delay", "smemreuse_fill", "smemreuse_busy"

BLOCKS = 1024
"""Only the first blocks of a launch are delayed: it is to end in time, however many there are."""

DEFINITIONS = {
    DELAY: f"static __device__ __forceinline__ void {DELAY}(int first, int end, int cycles, "
    "bool now) { int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); "
    "unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); "
    f'asm volatile("" ::: "memory"); if (now && t >= first && t < end && block < {BLOCKS}) '
    "{ for (long long from = clock64(); clock64() - from < cycles;) { } } "
    'asm volatile("" ::: "memory"); }',
    BUSY: f"static __device__ __forceinline__ void {BUSY}(int first, int end, int reads, "
    "bool now) { int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); "
    "unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); "
    "unsigned from, size, read; "
    'asm volatile("mov.u32 %0, %%reserved_smem_offset_end;" : "=r"(from)); '
    'asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(size)); '
    f"if (now && t >= first && t < end && block < {BLOCKS}) "
    '{ _Pragma("unroll 32") for (int i = 0; i < reads; ++i) '
    'asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(read) '
    ': "r"(from + t % 32 * 128 % (size & ~3u))); } }',
    FILL: f"static __device__ __forceinline__ void {FILL}(unsigned pattern) {{ "
    "unsigned from, size; "
    'asm volatile("mov.u32 %0, %%reserved_smem_offset_end;" : "=r"(from)); '
    'asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(size)); '
    "int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); "
    "for (unsigned at = 4 * t; at + 4 <= size; at += 4 * blockDim.x * blockDim.y * blockDim.z) "
    'asm volatile("st.shared.u32 [%0], %1;" :: "r"(from + at), "r"(pattern) : "memory"); '
    "__syncthreads(); }",
}
"""The device functions, each on one line.

The fill covers all shared memory of the block but what the system reserves. The empty `asm` keeps
nvcc from moving accesses across the delay, and emits nothing. All lanes of a busy warp read words
of one bank, one after the other: nothing waits for these reads, and what is read next comes late.
"""

_OURS = re.compile(rf"\b(?:{DELAY}|{FILL}|{BUSY})\(")
_KERNEL = re.compile(r'^extern "C" ', re.MULTILINE)

Change = tuple[int, int, tuple[str, ...]]
"""From which line on, counted from 0, how many lines are replaced, and by which."""


def with_definitions(source: str) -> str:
    """A source that calls device functions of ours, with these before its first kernel."""
    used = [text for name, text in DEFINITIONS.items() if f"{name}(" in source]
    first = _KERNEL.search(source)
    at = first.start() if first else 0
    return source[:at] + "".join(f"{text}\n" for text in used) + source[at:]


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
