"""What ptxas has given each kernel of a CUDA binary that TileLang compiled."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

ATTRIBUTES = ".nv.info"
"""The section of a cubin that describes its kernels: of each attribute a format, a number and two
bytes, which are its value, or how many bytes of value follow them."""

WITH_BYTE = 0x02
"""The format of an attribute whose value is one byte, in place of a number of bytes."""
BARRIERS = 0x4C
"""The attribute whose value is how many barriers a block has, in the section of its kernel."""

WITH_VALUE = 0x04
REGISTERS = 0x2F
"""The attribute whose value is a symbol and how many registers each thread of it has."""


def registers_of(binary: bytes) -> dict[str, int]:
    """The registers of a thread of each kernel, by its name; none where it is no cubin.

    They are what the hardware gives to each thread at the launch, whatever groups of warps hand to
    each other after that.
    """
    try:
        cubin = ELFFile(io.BytesIO(binary))
        section, symbols = (cubin.get_section_by_name(name) for name in (ATTRIBUTES, ".symtab"))
    except ELFError:
        return {}
    if section is None or symbols is None:
        return {}
    return {
        symbols.get_symbol(symbol).name: count for symbol, count in _register_counts(section.data())
    }


def barriers_of(binary: bytes) -> dict[str, int]:
    """The barriers of a block of each kernel, the one of all its threads included, by the kernel's
    name; none where it is no cubin, and of none that has no barrier."""
    found = {}
    try:
        for section in ELFFile(io.BytesIO(binary)).iter_sections():
            if section.name.startswith(f"{ATTRIBUTES}."):
                for form, number, size, _ in _attributes(section.data()):
                    if (form, number) == (WITH_BYTE, BARRIERS):
                        found[section.name.removeprefix(f"{ATTRIBUTES}.")] = size & 0xFF
    except ELFError:
        return {}
    return found


def _register_counts(attributes: bytes) -> Iterator[tuple[int, int]]:
    for form, number, size, at in _attributes(attributes):
        if form == WITH_VALUE and number == REGISTERS and size == 8:
            yield struct.unpack_from("<II", attributes, at)


def _attributes(attributes: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Each attribute's format, number, the two bytes after these, and where its value begins."""
    at = 0
    while at + 4 <= len(attributes):
        form, number, size = struct.unpack_from("<BBH", attributes, at)
        at += 4
        yield form, number, size, at
        at += size if form == WITH_VALUE else 0
