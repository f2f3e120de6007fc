"""How the byte trace gives up."""


class Uncovered(Exception):
    """The trace cannot go on; the plan stays unproved."""


class BoundReached(Uncovered):
    """A bounded check has found nothing wrong so far, and there is more to follow."""


class Stuck(Uncovered):
    """All threads that are followed wait for each other."""


class Misused(Uncovered):
    """A barrier that may not count as it is meant to: no execution is sure to follow, and the
    kernel itself may be wrong."""
