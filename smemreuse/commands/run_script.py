"""Runs a script under the pass, and tells what its compilations shared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import click

from smemreuse import plugins
from smemreuse.commands.output import json_text, write_output, written_to_stdout
from smemreuse.commands.script import End, execute
from smemreuse.commands.suite import (
    NO_GPU,
    Outputs,
    Program,
    print_suite,
    say_exit_code,
    unhooked_failures,
)
from smemreuse.commands.suite_page import Drawing, PageRequest, drawing_of, map_note, write_page
from smemreuse.commands.taking_part import Run, children_taking_part
from smemreuse.commands.verb import internal_errors, say
from smemreuse.compilers.records import Settings
from smemreuse.errors import SmemReuseError
from smemreuse.explainer.overview import run_overviews
from smemreuse.explainer.run import run_kernel
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.progress import track
from smemreuse.report.elaborations import telling
from smemreuse.report.page.rows import overview_row
from smemreuse.report.run import made, print_run, run_entry, run_overview_entry
from smemreuse.report.suite import page_title, suite_data
from smemreuse.report.tables import console
from smemreuse.report.titles import numbered
from smemreuse.results.run import RunKernel
from smemreuse.results.suite import Suite

NOTHING_COMPILED = (
    "no kernel was compiled for CUDA in the script's own process, or in those that it started"
)
RELOADED = "lowered once more for this summary, since they came from TileLang's cache: {}"
IN_CHILDREN = "child process: "


def run_script(
    script: str, args: Sequence[str], settings: Settings, outputs: Outputs, *, linted: bool
) -> int:
    """Runs a script, explains what it compiled, and gives its exit code."""
    from smemreuse.compilers.tilelang.estimate import lower_again
    from smemreuse.compilers.tilelang.failures import own_failures
    from smemreuse.tilelang import merge  # the one verb that needs TileLang

    with children_taking_part(settings) as part:
        with (
            merge(
                settings.policy,
                packer=settings.packer,
                objective=settings.objective,
                strict=settings.strict,
                mend=settings.mend,
            ) as session,
            own_failures() as failed,
        ):
            end = execute(script, args)
            children = part.suite
        reloaded = lower_again(session.cached, session.options, unchecked=session.unchecked)
        kernels = _explained([*session.kernels, *reloaded], script, linted=linted)
        if outputs.json is None:
            with written_to_stdout():
                _print(kernels, children, settings.objective)
        else:
            document = _document(script, args, end, kernels, session.reloaded, children)
            write_output(outputs.json, document.encode(), outputs.force)
        if outputs.page is not None:
            drawing = _drawing(script, kernels, settings, outputs.page)
            _add_children(drawing, part, children, script, outputs.page)
            write_page(outputs.page, drawing, script)
    if end.uncaught:
        for name, why in failed[-1:]:
            say(f"{name} was not compiled: {why}")
    if end.lacked_gpu:
        say(NO_GPU)
    if session.reloaded:
        say(RELOADED.format(", ".join(dict.fromkeys(session.reloaded))))
    elif not kernels and not session.left and not end.uncaught and children.is_empty:
        say(NOTHING_COMPILED)
    own = unhooked_failures(children)
    say_exit_code(end, script, own)
    outputs.emit_next(
        *(Program(None, script, args), settings, (one.lint for one in kernels)),
        is_empty=not kernels and children.is_empty,
        lacked_gpu=end.lacked_gpu,
    )
    return end.exit_code or own.exit_code


def _document(
    script: str,
    args: Sequence[str],
    end: End,
    kernels: Sequence[RunKernel],
    reloaded: Sequence[str],
    children: Suite,
) -> str:
    entries = [run_entry(script, kernel) for kernel in kernels]
    more = {"script": script, "args": [*args], "exit_code": end.exit_code}
    seen = None if children.is_empty else suite_data(children)
    return json_text("run", **more, reloaded=[*reloaded], children=seen, kernels=entries)


def _drawing(
    script: str, kernels: Sequence[RunKernel], settings: Settings, page: PageRequest
) -> Drawing:
    """The script's own kernels, with as many maps as are asked for."""
    drawing, text = Drawing(), telling(made((one.title, one)) for one in kernels)
    for number, kernel in enumerate(track(kernels, "drawing")):
        with _saying(f"{kernel.title} is not in the report"):
            for scope, found in run_overviews(kernel, settings.packer, settings.objective):
                title = page_title(kernel.title, scope)
                entry = run_overview_entry(script, kernel, scope, found)
                below = "; ".join(filter(None, (script, text(made((kernel.title, kernel))))))
                drawing.rows.append({**overview_row(entry, title), "file": below})
                if number < page.maps:
                    drawing.maps[title] = entry
    if page.maps < len(kernels):
        drawing.notes.append(map_note(page.maps, len(kernels), "in the order of the script"))
    return drawing


def _add_children(
    drawing: Drawing, part: Run, children: Suite, script: str, page: PageRequest
) -> None:
    if not children.is_empty:
        drawing.add(drawing_of(part, children, script, page, IN_CHILDREN))


def _print(kernels: Sequence[RunKernel], children: Suite, objective: str) -> None:
    print_run(console(), kernels, objective)
    if not children.is_empty:
        click.echo("In child processes:")
        print_suite(children)


@contextmanager
def _saying(what: str) -> Iterator[None]:
    """Says that something failed, where that must not cost what there is besides."""
    try:
        with internal_errors():
            yield
    except SmemReuseError as error:
        say(f"{what}: {error}")


def _explained(
    lowered: Sequence[LoweredKernel], script: str, *, linted: bool = True
) -> list[RunKernel]:
    """Each kernel, explained, with what the project accepts of its hazards; one for which that
    fails, with its bytes alone."""
    acceptances = plugins.acceptances(of_plans=False)
    titles = numbered([kernel.kernel.name for kernel in lowered])
    kernels: list[RunKernel] = []
    for kernel, title in track([*zip(lowered, titles, strict=True)], "explaining"):
        with _saying(f"{title} is not explained"):
            found = run_kernel(kernel, title, linted=linted)
            if found.lint is not None:
                found = replace(found, lint=found.lint.held_against(acceptances, script))
            kernels.append(found)
            continue
        with _saying(f"{title} is left out"):
            kernels.append(RunKernel(title, kernel.kernel, kernel.footprint()))
    return kernels
