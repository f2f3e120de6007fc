"""What a session tells of its kernels: a page, and explanations as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from smemreuse.errors import InputError
from smemreuse.results.text import Page, Text

if TYPE_CHECKING:
    from smemreuse.pipeline.lowered import LoweredKernel
    from smemreuse.report.data import Data
    from smemreuse.results.explanation import Explanation
    from smemreuse.results.provenance import ObjectiveName, PackerName
    from smemreuse.results.run import RunKernel

WIDTH = 160
"""Characters of a line where nothing says how wide the terminal is."""


class Told:
    """The verbs of a session, whichever compiler it is inside."""

    kernels: list[LoweredKernel]
    packer: PackerName
    objective: ObjectiveName

    def report(self, file: str | Path | None = None, *, force: bool = False) -> Page:
        """The page of `smemreuse run --report`: each kernel's memory map, with what was applied.

        It is HTML, and is written to `file` if one is given. Raises `InputError` where that is
        there already, but with `force`, or cannot be written.
        """
        from smemreuse.explainer.overview import run_overviews
        from smemreuse.report.page import report_page
        from smemreuse.report.run import run_overview_entry

        entries = [
            run_overview_entry("session", told, scope, found)
            for told in self._told.kernels
            for scope, found in run_overviews(told, self.packer, self.objective)
        ]
        page = report_page(entries, "Shared memory of the kernels of a session")
        if file is not None:
            _write(Path(file), page, force)
        return Page(page)

    def _repr_html_(self) -> str | None:
        """The memory maps of the plans that were applied; None where the package draws none."""
        from smemreuse.errors import BackendError

        try:
            from smemreuse.report.page import map_fragment
        except (BackendError, ImportError):
            return None
        return "".join(
            f"<p><b>{escape(heading)}</b></p>{map_fragment(entry, 'applied')}"
            for told in self._told.kernels
            for heading, entry in _maps(told)
        )

    def explain(self, kernel: str | None = None, *buffers: str) -> Explanation | Text:
        """What `smemreuse run` tells of all kernels, or of one, as text; of two buffers of one,
        why they may share bytes or not.

        `kernel` is the name of one; where several have it, with a number as in `gemm_kernel #2`.
        Raises `InputError` for a kernel or a buffer that there is not.
        """
        if kernel is None:
            return Text(_told_of(self._told.kernels, self.objective))
        found = self._told.named(kernel)
        if not buffers:
            return Text(_told_of([found], self.objective))
        if len(buffers) != 2:
            raise InputError(f"give two buffers, or none, not {len(buffers)}")
        return _explained(found, *buffers)

    @property
    def _told(self) -> _Kernels:
        """Made anew where kernels have been lowered since."""
        known: _Kernels | None = self.__dict__.get("_known")
        if known is None or known.lowered != tuple(map(id, self.kernels)):
            known = self.__dict__["_known"] = _Kernels(self.kernels)
        return known


class _Kernels:
    """The kernels of a session, explained once."""

    def __init__(self, lowered: Sequence[LoweredKernel]):
        self._lowered = [*lowered]
        self.lowered = tuple(map(id, lowered))

    @cached_property
    def kernels(self) -> list[RunKernel]:
        from smemreuse.explainer.run import run_kernel
        from smemreuse.report.titles import numbered

        titles = numbered([each.kernel.name for each in self._lowered])
        pairs = zip(self._lowered, titles, strict=True)
        return [run_kernel(each, title) for each, title in pairs]

    def named(self, title: str) -> RunKernel:
        for each in self.kernels:
            if each.title == title:
                return each
        there = ", ".join(each.title for each in self.kernels)
        raise InputError(
            f"there is no kernel {title!r}; {f'there are {there}' if there else 'none was lowered'}"
        )


def _maps(told: RunKernel) -> Iterator[tuple[str, Data]]:
    """What is drawn of a kernel, a heading and an entry for each plan."""
    from smemreuse.explainer.overview import overview
    from smemreuse.report.run import run_overview_entry

    took = told.footprint
    sizes = f"{took.bytes_before or 0:,} to {took.bytes_after or 0:,} bytes"
    for each in told.plans:
        shown = overview(told.kernel, each.plan.scope, {"applied": (each.plan, each.verdict)}, {})
        heading = f"{told.title} ({each.plan.scope}), {sizes}, {each.verdict.verdict}"
        yield heading, run_overview_entry("session", told, each.plan.scope, shown)


def _told_of(kernels: Sequence[RunKernel], objective: str) -> str:
    from io import StringIO

    from rich.console import Console

    from smemreuse.report.run import run_lines, run_table

    if not kernels:
        return "no kernel was lowered"
    text = StringIO()
    out = Console(file=text, width=WIDTH)
    out.print(run_table(out, kernels, objective))
    for line in (line for each in kernels for line in run_lines(each)):
        out.print(line, soft_wrap=True)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _explained(kernel: RunKernel, one: str, two: str) -> Explanation:
    from smemreuse.explainer.pairs import explained_pairs

    for scope in kernel.kernel.shared_scopes():
        found = explained_pairs(kernel.kernel, scope, (one, two))
        if found:
            return found[0]
    raise InputError(f"{kernel.title} has no two buffers {one} and {two} in one scope")


def _write(file: Path, page: str, force: bool) -> None:
    try:
        with file.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(page)
    except FileExistsError:
        raise InputError("exists already; force=True overwrites it", file=file) from None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=file) from None
