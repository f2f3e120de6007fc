"""Standard output, whose reader may leave and whose disk may be full."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from smemreuse.errors import InputError


@contextmanager
def written_to_stdout() -> Iterator[None]:
    """Around what is written to standard output; it is flushed in the end.

    A reader that goes away, as `head` does, is no error: what is written from then on is dropped,
    and the exit code tells what was found. Raises `InputError` for any other failure.
    """
    try:
        yield
        if sys.stdout is not None:  # as under `>&-`
            sys.stdout.flush()
    except BrokenPipeError:
        _drop()
    except OSError as error:
        _drop()
        raise InputError(f"cannot be written: {error.strerror}", file="standard output") from None


def _drop() -> None:
    """Lets what is still buffered, and all that comes, go nowhere, as Python's manual has it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
