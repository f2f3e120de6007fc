"""What a cubin says of its kernels: an ELF file of 64 bits, whose `.nv.info` lists attributes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_ATTRIBUTE = struct.Struct("<BBH")
# Of NVIDIA's EIATTR_*: which symbol, and how much; the first field says that a size follows.
_SIZED, _REGISTERS, _FRAME = 4, 0x2F, 0x11


def resources(binary: bytes) -> tuple[int, int] | None:
    """The most registers of a kernel's thread, and bytes of its stack frame, spills included.

    None for what is no cubin.
    """
    if binary[:5] != b"\x7fELF\x02":
        return None
    found = {_REGISTERS: 0, _FRAME: 0}
    for section in _sections(binary, b".nv.info"):
        at = 0
        while at < len(section):
            form, attribute, size = _ATTRIBUTE.unpack_from(section, at)
            at += _ATTRIBUTE.size
            if form == _SIZED:
                if attribute in found:
                    value = struct.unpack_from("<II", section, at)[1]
                    found[attribute] = max(found[attribute], value)
                at += size
    return found[_REGISTERS], found[_FRAME]


def _sections(binary: bytes, wanted: bytes) -> Iterator[bytes]:
    header = _HEADER.unpack_from(binary)
    start, size, count, names_at = header[6], header[11], header[12], header[13]
    sections = [_SECTION.unpack_from(binary, start + at * size) for at in range(count)]
    names = sections[names_at][4]
    for section in sections:
        begin = names + section[0]
        if binary[begin : binary.index(b"\0", begin)] == wanted:
            yield binary[section[4] : section[4] + section[5]]
