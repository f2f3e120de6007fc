"""All that a trace of a kernel of itself finds."""

from __future__ import annotations

from smemreuse.lint.contents import ContentHazards
from smemreuse.lint.ordering import OrderHazards
from smemreuse.lint.waiting import WaitingHazards


class Hazards(ContentHazards, OrderHazards, WaitingHazards):
    """The findings of one trace of a kernel of itself."""
