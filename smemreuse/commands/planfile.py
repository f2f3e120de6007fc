"""Reads a plan back from JSON, as `plan --format json` writes it; nothing in it is trusted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from smemreuse.commands.resultfile import read_kernels
from smemreuse.errors import InputError
from smemreuse.explainer.timeline import used_buffers
from smemreuse.ir.kernel import Buffer, unique_names
from smemreuse.report.data import Subject

SCHEMA = "smemreuse.plan/1"


@dataclass(frozen=True)
class PlannedKernel:
    """One kernel's entry: offsets by buffer name, and the arena, in bytes.

    A symbolic offset is an expression; no plan with one is checked.
    """

    name: str
    scope: str
    offsets: Mapping[str, int | str]
    arena: int


@dataclass(frozen=True)
class PlanFile:
    """A plan file's kernels."""

    path: str
    kernels: Sequence[PlannedKernel]

    def planned_for(self, subjects: Sequence[Subject]) -> list[PlannedKernel | None]:
        """The entry of each kernel and scope of a dump; None where the file has none for it.

        Several of one name go by their order. Raises `InputError` for an entry that is of no kernel
        of the dump, and where none is given.
        """
        entries: dict[tuple[str, str], list[PlannedKernel]] = defaultdict(list)
        for planned in self.kernels:
            entries[planned.name, planned.scope].append(planned)
        found = []
        for subject in subjects:
            left = entries[subject.kernel.name, subject.scope]
            found.append(left.pop(0) if left else None)
        there = {(subject.kernel.name, subject.scope) for subject in subjects}
        for planned in (one for left in entries.values() for one in left):
            which = f"kernel {planned.name} ({planned.scope})"
            if (planned.name, planned.scope) in there:
                raise InputError(f"plans {which} more often than it is there", file=self.path)
            raise InputError(f"plans {which}, which the dump does not have", file=self.path)
        if subjects and not self.kernels:
            raise InputError("plans none of the kernels in the dump", file=self.path)
        return found

    def layout_of(self, planned: PlannedKernel, subject: Subject) -> tuple[dict[Buffer, int], int]:
        """The offsets and arena planned for a kernel.

        Raises `InputError` for an offset of what the kernel does not have, for a missing one, and
        for one that is no number.
        """
        names = unique_names(subject.kernel.allocations(subject.scope))
        offsets = self._resolved(planned, names)
        self._require_places(subject, names, offsets)
        return offsets, planned.arena

    def _resolved(self, planned: PlannedKernel, names: Mapping[Buffer, str]) -> dict[Buffer, int]:
        by_name = {name: buffer for buffer, name in names.items()}
        unknown = [name for name in planned.offsets if name not in by_name]
        if unknown:
            there = ", ".join(by_name) or "none"
            raise InputError(
                f"{planned.name} has no buffer {unknown[0]!r}; there are {there}", file=self.path
            )
        offsets = {}
        for name, offset in planned.offsets.items():
            if not isinstance(offset, str):
                offsets[by_name[name]] = offset
            elif by_name[name].size is not None:
                raise _no_number(name, planned.name, self.path)
            else:
                why = f"the offset of {name} in kernel {planned.name} is symbolic"
                mend = "plans are checked by numbers alone; check what `smemreuse apply` writes"
                raise InputError(f"{why}; {mend}", file=self.path)
        return offsets

    def _require_places(
        self, subject: Subject, names: Mapping[Buffer, str], offsets: Mapping[Buffer, int]
    ) -> None:
        """Raises `InputError` for a used buffer of constant size that is planned nowhere."""
        for buffer in used_buffers(subject.kernel, subject.scope):
            if buffer.size is not None and buffer not in offsets:
                name = subject.kernel.name
                raise InputError(
                    f"gives no place to {names[buffer]}, which kernel {name} uses", file=self.path
                )


def read_plan_file(path: str) -> PlanFile:
    """Reads a plan file. Raises `InputError` for anything but the plan schema."""
    kernels = read_kernels(path, [SCHEMA], "give what `plan --format json` wrote")
    return PlanFile(path, [_kernel(entry, path) for entry in kernels])


def _kernel(entry: Mapping[str, object], path: str) -> PlannedKernel:
    name, scope = entry.get("name"), entry.get("scope")
    offsets, arena = entry.get("offsets"), entry.get("arena_bytes")
    if not isinstance(name, str) or not isinstance(scope, str):
        raise InputError("a kernel of the plan has no name or scope", file=path)
    if not isinstance(offsets, dict) or not isinstance(arena, int) or not _is_size(arena):
        raise InputError(f"kernel {name} of the plan has no offsets or arena_bytes", file=path)
    for key, value in offsets.items():
        if not isinstance(value, str) and not _is_size(value):
            raise _no_number(key, name, path)
    return PlannedKernel(name, scope, offsets, arena)


def _no_number(buffer: str, kernel: str, path: str) -> InputError:
    return InputError(f"the offset of {buffer} in kernel {kernel} is no number of bytes", file=path)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
