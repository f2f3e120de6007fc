"""The operational model: what a GPU may do with a kernel, as PTX's documents say, in bytes.

Nothing here is imported from `smemreuse.checker`, `smemreuse.analysis` or the table of effects:
what an operation does is written down once more, from the ISA.
"""
