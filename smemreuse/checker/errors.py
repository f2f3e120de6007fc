"""How the byte trace gives up."""


class Uncovered(Exception):
    """The trace cannot go on; the plan stays unproved."""
