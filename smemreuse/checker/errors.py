"""How the byte trace gives up."""


class Uncovered(Exception):
    """The trace cannot go on; the plan stays unproved."""


class Stuck(Uncovered):
    """All threads that are followed wait for each other."""
