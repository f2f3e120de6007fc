"""What nvcc makes of a kernel while TileLang compiles it, and what its cubin says."""

from __future__ import annotations

import io
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

# Of NVIDIA's EIATTR_*: which symbol, and how much; the first field says that a size follows.
_SIZED, _REGISTERS, _FRAME = 4, 0x2F, 0x11


@dataclass
class Nvcc:
    """What TileLang had compiled from CUDA C++ meanwhile, or its cache had of it."""

    seconds: float = 0.0
    failed: bool = False
    binary: bytes = b""


@contextmanager
def watched() -> Iterator[Nvcc]:
    """Notes what nvcc makes, whether it fails, and how long it takes."""
    import tvm_ffi
    from tilelang.cache.cuda_binary_cache import CUDABinaryCache

    from smemreuse.compilers.tilelang.hooks import COMPILE

    stock, load = tvm_ffi.get_global_func(COMPILE), CUDABinaryCache.load
    seen = Nvcc()

    def timed(code: Any, target: Any, pass_config: Any = None) -> Any:
        begin = time.monotonic()
        try:
            binary = stock(code, target, pass_config)
        except Exception:
            seen.failed = True
            raise
        finally:
            seen.seconds += time.monotonic() - begin
        seen.binary = bytes(binary)
        return binary

    def loaded(*arguments: Any) -> Any:
        binary = load(*arguments)
        seen.binary = seen.binary if binary is None else bytes(binary)
        return binary

    tvm_ffi.register_global_func(COMPILE, timed, override=True)
    try:
        with mock.patch.object(CUDABinaryCache, "load", loaded):
            yield seen
    finally:
        tvm_ffi.register_global_func(COMPILE, stock, override=True)


def resources(binary: bytes) -> tuple[int, int] | None:
    """The most registers of a kernel's thread, and bytes of its stack frame, spills included.

    None for what is no cubin.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        section = ELFFile(io.BytesIO(binary)).get_section_by_name(".nv.info")
    except ELFError:
        return None
    found, attributes, at = {_REGISTERS: 0, _FRAME: 0}, section.data() if section else b"", 0
    while at < len(attributes):
        form, attribute, size = struct.unpack_from("<BBH", attributes, at)
        at += 4
        if form == _SIZED:
            if attribute in found:
                _, value = struct.unpack_from("<II", attributes, at)
                found[attribute] = max(found[attribute], value)
            at += size
    return found[_REGISTERS], found[_FRAME]
