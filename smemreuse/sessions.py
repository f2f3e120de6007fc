"""What a session reports of its kernels: a page, and explanations as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from smemreuse.compilers.observers import SessionLog
from smemreuse.errors import InputError
from smemreuse.results.text import Page, Text

if TYPE_CHECKING:
    from smemreuse.pipeline.lowered import LoweredKernel
    from smemreuse.report.data import Data
    from smemreuse.results.explanation import Explanation
    from smemreuse.results.provenance import ObjectiveName, PackerName, PolicyName
    from smemreuse.results.run import RunKernel

WIDTH = 160
"""Characters of a line where nothing says how wide the terminal is."""


class SessionReports(SessionLog):
    """The verbs of a session, whichever compiler it is inside."""

    policy: PolicyName
    packer: PackerName
    objective: ObjectiveName

    _explained_for: tuple[LoweredKernel, ...] = ()
    _explained_as: Sequence[RunKernel] = ()

    def __repr__(self) -> str:
        """One line: how many kernels, plans and functions that were left there are."""
        counts = f"{len(self.kernels)} kernels, {len(self.plans)} plans, {len(self.left)} left"
        return f"{type(self).__name__}({self.policy}, {self.objective}: {counts})"

    def report(self, file: str | Path | None = None, *, force: bool = False) -> Page:
        """The page of `smemreuse run --report`: each kernel's memory map, with what was applied.

        It is HTML, and is written to `file` if one is given. Raises `InputError` where that is
        there already, but with `force`, or cannot be written.
        """
        from smemreuse.explainer.overview import run_overviews
        from smemreuse.report.page import report_page
        from smemreuse.report.run import run_overview_entry

        entries = [
            run_overview_entry("session", kernel, scope, found)
            for kernel in self._explained
            for scope, found in run_overviews(kernel, self.packer, self.objective)
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
            for kernel in self._explained
            for heading, entry in _maps(kernel)
        )

    def explain(self, kernel: str | None = None, *buffers: str) -> Explanation | Text:
        """What `smemreuse run` prints of all kernels, or of one, as text; of two buffers of one,
        why they may share bytes or not. Beneath all kernels stands what levers were pulled.

        `kernel` is the name of one; where several have it, with a number as in `gemm_kernel #2`.
        Raises `InputError` for a kernel or a buffer that there is not.
        """
        if kernel is None:
            return Text("\n".join([_described(self._explained, self.objective), *self._notes]))
        found = self._named(kernel)
        if not buffers:
            return Text(_described([found], self.objective))
        if len(buffers) != 2:
            raise InputError(f"give two buffers, or none, not {len(buffers)}")
        return _explained_pair(found, *buffers)

    @property
    def _notes(self) -> Sequence[str]:
        """Lines beneath those of all kernels."""
        return ()

    @property
    def _explained(self) -> Sequence[RunKernel]:
        """Its kernels, explained; once more where kernels have been lowered since."""
        from smemreuse.explainer.run import run_kernel
        from smemreuse.report.titles import numbered

        lowered = tuple(self.kernels)
        if [*map(id, lowered)] != [*map(id, self._explained_for)]:
            titles = numbered([each.kernel.name for each in lowered])
            pairs = zip(lowered, titles, strict=True)
            self._explained_as = [run_kernel(each, title) for each, title in pairs]
            self._explained_for = lowered
        return self._explained_as

    def _named(self, title: str) -> RunKernel:
        for each in self._explained:
            if each.title == title:
                return each
        known = ", ".join(each.title for each in self._explained)
        raise InputError(
            f"there is no kernel {title!r}; {f'there are {known}' if known else 'none was lowered'}"
        )


def _maps(kernel: RunKernel) -> Iterator[tuple[str, Data]]:
    """What is drawn of a kernel, a heading and an entry for each plan."""
    from smemreuse.explainer.overview import overview
    from smemreuse.report.run import run_overview_entry

    took = kernel.footprint
    sizes = f"{took.bytes_before or 0:,} to {took.bytes_after or 0:,} bytes"
    for each in kernel.plans:
        shown = overview(kernel.kernel, each.plan.scope, {"applied": (each.plan, each.verdict)}, {})
        heading = f"{kernel.title} ({each.plan.scope}), {sizes}, {each.verdict.verdict}"
        yield heading, run_overview_entry("session", kernel, each.plan.scope, shown)


def _described(kernels: Sequence[RunKernel], objective: str) -> str:
    from io import StringIO

    from rich.console import Console

    from smemreuse.report.run import print_run

    if not kernels:
        return "no kernel was lowered"
    text = StringIO()
    out = Console(file=text, width=WIDTH)
    print_run(out, kernels, objective)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _explained_pair(kernel: RunKernel, one: str, two: str) -> Explanation:
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
