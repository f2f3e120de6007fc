"""Levers: rewrites of a function, before it is lowered, that lower its shared memory's peak."""
