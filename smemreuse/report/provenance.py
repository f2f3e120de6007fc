"""Where a plan comes from, in words: the one place that tells it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from smemreuse.report.titles import counted
from smemreuse.results.provenance import Occupancy, Origin, Provenance, StockFailure, StockFault

_ORIGINS: Mapping[Origin, str] = {
    Origin.INNER_PROVED: "inner's sharing, as far as the checker proves it",
    Origin.COMPILER_PROVED: "{}'s own layout, proved",
    Origin.KEPT_FROM_COMPILER: (
        "unproved, as {} left it: the checker can neither prove nor refute it"
    ),
}
"""What is not said of the others goes without saying."""

_FAULTS: Mapping[StockFault, str] = {
    StockFault.SMALL: "has no more than 32 bits and gets no place",
    StockFault.ADDRESS_ONLY: "is reached by address_of alone and gets no place",
    StockFault.READ_OUTSIDE: "is read outside of any statement or scope below its allocation",
}


def notes(provenance: Provenance) -> tuple[str, ...]:
    """The notes on how a plan was made, one sentence each, as JSON has them."""
    origin = _ORIGINS.get(provenance.origin, "").format("the compiler")
    return tuple(_notes(provenance, origin))


def notes_for_people(provenance: Provenance, compiler: str) -> tuple[str, ...]:
    """The same for people, who are told the name of the kernel's compiler."""
    origin = _ORIGINS.get(provenance.origin, "").format(compiler)
    if provenance.origin is Origin.INNER_PROVED:
        origin = (
            "planned with the live ranges of policy inner; the checker has proved what shares bytes"
        )
    return tuple(_notes(provenance, origin))


def _notes(provenance: Provenance, origin: str) -> Iterator[str]:
    fallback = provenance.fallback
    if fallback is not None:
        failed = f"packer {fallback.failed!r} fails here: {fallback.why}"
        yield f"packed by `{fallback.used}`, since {failed}"
    if provenance.overlap is not None:
        yield f"Apache TVM's pass lays buffers over each other: {provenance.overlap}"
    if origin:
        yield origin
    yield from map(_failure, provenance.failures)
    if provenance.occupancy is not None:
        yield _occupancy(provenance.occupancy)


def _failure(found: StockFailure) -> str:
    return f"Apache TVM's pass does not compile this: {found.buffer} {_FAULTS[found.fault]}"


def _occupancy(found: Occupancy) -> str:
    on = f"on {found.arch}" + (" (assumed)" if found.assumed else "")
    if not found.fits:
        return f"does not fit {on}"
    blocks = counted(found.blocks, "block")
    if not found.threads_known:
        return f"at most {blocks} per SM {on}; the number of threads is not known"
    l1 = f"{found.l1_left // 1024} KB of the SM's memory are left for L1"
    registers = f"registers ({found.registers.words})" if found.registers else "registers"
    return f"{blocks} per SM {on} by shared memory, threads and {registers}; {l1}"
