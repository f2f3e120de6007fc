"""Which tile: what a kernel does, counted from its own IR, and how long a card takes for it.

For who has no kernel yet, `worksheet` has the same by formulas of a problem's sizes.
"""
