"""Hazards that there may be because nobody knows what a device function does: declare it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from smemreuse.ir.kernel import Buffer, Stmt
from smemreuse.linter.collected import Key
from smemreuse.results.hazards import Hazard, HazardKind, Mend, Remedy
from smemreuse.semantics.undeclared import declare_it, undeclared_function

_OF_CONTENTS = (HazardKind.UNINITIALISED_READ, HazardKind.MISSING_WAIT)
"""What depends on what a function writes and when it is done; nothing else mends it."""


def with_declarations(
    hazards: Mapping[Key, Hazard], handed: Mapping[Buffer, Stmt]
) -> dict[Key, Hazard]:
    """The hazards, of which those that an unknown function makes possible are mended by declaring
    it.

    `handed` are the buffers that such functions may access, each with the statement.
    """
    return {key: _mended(one, key[2], handed) for key, one in hazards.items()}


def _mended(hazard: Hazard, buffers: frozenset[Buffer], handed: Mapping[Buffer, Stmt]) -> Hazard:
    if hazard.certain:
        return hazard
    sites = (one.stmt for one in (hazard.other, hazard.site) if one is not None)
    stmts = [one for one in sites if one is not None]
    if hazard.kind in _OF_CONTENTS:
        stmts += [handed[one] for one in buffers if one in handed]
    for stmt in stmts:
        sentence = declare_it([stmt])
        if sentence:
            line = f" (called at line {stmt.line})" if stmt.line else ""
            mend = _declaring(f"{sentence}{line}", hazard)
            return replace(hazard, mend=replace(mend, undeclared=undeclared_function(stmt) or ""))
    return hazard


def _declaring(sentence: str, hazard: Hazard) -> Mend:
    """What mends the hazard as the function is now may be needed still where it is one of order."""
    if hazard.kind in _OF_CONTENTS:
        return Mend(Remedy.CODE, f"{sentence}.", before=hazard.site)
    return replace(hazard.mend, sentence=f"{sentence}; or {hazard.mend.sentence}")
