"""Architectures, and what a block takes of their shared memory."""
