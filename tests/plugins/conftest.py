"""The tests of this folder begin with nothing loaded."""

from tests.plugins.added import nothing_added

__all__ = ["nothing_added"]
