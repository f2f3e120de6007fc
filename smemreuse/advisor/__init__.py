"""Which tile: what a kernel does, counted from its own IR, and how long a card takes for it."""
