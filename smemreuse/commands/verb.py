"""What all verbs are: options in groups, and one line with exit code 2 for a fault of smemreuse."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from smemreuse.errors import InputError, InternalError, SmemReuseError

DEBUG = "SMEMREUSE_DEBUG"
"""The environment variable that has tracebacks of our own faults printed, in any process."""

FINDING = 1
"""The exit code of a verb that has found something."""

_FOR_USERS = (SmemReuseError, click.ClickException, click.Abort, click.exceptions.Exit)
_FILES = ("file", "files", "script", "old")
"""Parameters of verbs that name what is read."""


def say(message: object) -> None:
    """A line on standard error, such as an error of one file among many."""
    click.echo(f"smemreuse: {message}", err=True)


def say_finding(reasons: Iterable[str]) -> None:
    """A line on standard error that says why the exit code is going to be 1: of whatever format the
    answer is, it does not always show there."""
    say(f"exit code {FINDING}: {'; '.join(reasons)}")


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def grouped(name: str, kind: Callable[..., Any], *options: Decorator) -> Decorator:
    """Options whose values a verb gets as one argument: the record `kind`, with those fields."""
    names = [each.name for each in fields(kind) if each.init]  # type: ignore[arg-type]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def verb(**given: Any) -> Any:
            own = {each: given.pop(each) for each in names if each in given}
            return command(**given, **{name: kind(**own)})

        for option in reversed(options):
            option(verb)
        return verb

    return decorate


class Verb(click.Command):
    """A command of which users never see a traceback; its faults name the file that it read."""

    def invoke(self, ctx: click.Context) -> Any:
        with internal_errors(_file_of(ctx.params)):
            return super().invoke(ctx)


def _file_of(given: Mapping[str, Any]) -> str | None:
    """The first file or folder that a verb was given."""
    for name in _FILES:
        value = given.get(name)
        if value:
            return str(value if isinstance(value, str) else value[0])
    return None


@contextmanager
def internal_errors(file: str | None = None) -> Iterator[None]:
    """Inside, an exception that is not meant for users becomes an error of one line.

    Raises `InternalError` for it, or `InputError` where Python's stack was too small for `file`.
    """
    try:
        yield
    except _FOR_USERS:
        raise
    except RecursionError:
        from smemreuse.compilers.text.depth import TOO_DEEP  # and the reader's room with it

        raise InputError(TOO_DEEP, file=file) from None
    except Exception as error:
        if os.environ.get(DEBUG):
            traceback.print_exception(error, file=sys.stderr)
        raise _internal_error(error, file) from None


def _internal_error(error: Exception, file: str | None) -> InternalError:
    """What went wrong, and on which line of which module."""
    where = ""
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        where = f" in {Path(frames[-1].filename).name}:{frames[-1].lineno}"
    what = f"{type(error).__name__}: {error}{where}"
    return InternalError(f"a fault of smemreuse, please report it: {what}", file=file)
