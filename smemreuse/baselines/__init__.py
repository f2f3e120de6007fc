"""The merges of today's compilers, as they are, for parity."""
