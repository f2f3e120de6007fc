"""All that a trace of a kernel of itself finds."""

from __future__ import annotations

from smemreuse.linter.contents import ContentHazards
from smemreuse.linter.ordering import OrderHazards
from smemreuse.linter.waiting import WaitingHazards


class Hazards(ContentHazards, OrderHazards, WaitingHazards):
    """The findings of one trace of a kernel of itself."""
