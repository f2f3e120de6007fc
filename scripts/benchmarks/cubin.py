"""What a cubin says of its kernels; the format is ELF, 64 bits."""

from __future__ import annotations

import struct

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")


def registers(binary: bytes) -> int | None:
    """The most registers that a thread of a kernel has; None for what is no cubin.

    The section `.text.<kernel>` has them in the top 8 bits of `sh_info`.
    """
    if binary[:5] != b"\x7fELF\x02":
        return None
    header = _HEADER.unpack_from(binary)
    start, size, count, names_at = header[6], header[11], header[12], header[13]
    sections = [_SECTION.unpack_from(binary, start + at * size) for at in range(count)]
    names = sections[names_at][4]
    found = []
    for section in sections:
        begin = names + section[0]
        if binary[begin : binary.index(b"\0", begin)].startswith(b".text."):
            found.append(section[7] >> 24)
    return max(found, default=None)
